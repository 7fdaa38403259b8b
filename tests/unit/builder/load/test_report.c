/* SPDX-License-Identifier: Apache-2.0
 * test_report.c - replies by status, as `domaindex bench` counts them.
 */
#include "builder/load/report.h"

#include <string.h>

#include "tests/support/fail.h"

static int failures;

static const struct {
    unsigned status[4]; /* of one reply each; 0: none */
    const char *want;
    uint64_t answers, failed;
} rows[] = {
    { { 0 }, "none", 0, 0 },
    { { 200 }, "2xx 1", 1, 0 },
    { { 299, 300, 399 }, "2xx 1, 3xx 2", 1, 2 },
    { { 204, 304, 404, 410 }, "2xx 1, 3xx 1, 4xx 2", 2, 0 },
    { { 400, 451, 500, 503 }, "4xx 2, 5xx 2", 0, 3 },
};

int main(void)
{
    static struct dx_mix_part part;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_buf out = DX_BUF_INIT(1000);

        memset(part.status, 0, sizeof part.status);
        for (size_t k = 0; k < 4; k++)
            if (rows[i].status[k] != 0)
                part.status[rows[i].status[k]]++;
        dx_report_statuses(&out, &part);
        dx_buf_u8(&out, 0);
        CHECK(!out.failed && strcmp((const char *)out.data, rows[i].want) == 0, "row %zu: %s", i,
              (const char *)out.data);
        CHECK(dx_report_answers(&part) == rows[i].answers &&
                  dx_report_failed_statuses(&part) == rows[i].failed,
              "row %zu: %llu answers, %llu failed", i, (unsigned long long)dx_report_answers(&part),
              (unsigned long long)dx_report_failed_statuses(&part));
        dx_buf_release(&out);
    }
    return failures > 0;
}
