/* SPDX-License-Identifier: Apache-2.0
 * test_accept.c - weights of media types.
 */
#include "server/http/accept.h"

#include <stdio.h>

static const struct {
    const char *field, *type;
    int want;
} rows[] = {
    { "", "text/csv", 1000 },
    { ",, ,", "text/csv", 1000 },
    { "*/*", "text/csv", 1000 },
    { "text/csv", "text/csv; charset=utf-8", 1000 },
    { "TEXT/Csv;q=0.5", "text/csv", 500 },
    { "text/csv ; header=present ; Q=0.25", "text/csv", 250 },
    { "text/csv;q=0.5;ext=1", "text/csv", 500 },
    { "text/*;q=0.3, */*;q=0.9", "text/csv", 300 },
    { "*/*;q=0.9, text/*;q=0.3, text/csv;q=0", "text/csv", 0 },
    { "application/json", "text/csv", 0 },
    { "text/csv;q=1.001", "text/csv", 0 },
    { "text/csv;q=x", "text/csv", 0 },
    { "text/csv;q=", "text/csv", 0 },
    { "text/csv;q=0.1, text/csv;q=0.7", "text/csv", 700 },
    { "text", "text/csv", 0 },
    { "text/", "text/csv", 0 },
    { "*", "text/csv", 0 },
    { "text/cs*", "text/csv", 0 },
};

int main(void)
{
    int failures = 0;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int got = dx_accept_weight(dx_span_str(rows[i].field), rows[i].type);

        if (got == rows[i].want)
            continue;
        failures++;
        (void)fprintf(stderr, "'%s' and %s: %d, want %d\n", rows[i].field, rows[i].type, got,
                      rows[i].want);
    }
    return failures > 0;
}
