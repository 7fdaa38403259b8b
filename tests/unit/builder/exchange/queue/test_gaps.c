/* SPDX-License-Identifier: Apache-2.0
 * What is said of segments that are missing.
 */
#include "builder/exchange/queue/gaps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static const struct {
    uint32_t expected, count;
    const char *seen; /* numbers, one a byte */
    bool all;
    const char *want;
} rows[] = {
    { 3, 9, "\4\5\6\7\10", true, "of 9 segments are missing: 3" },
    { 3, 9, "\10\4\4\6", true, "of 9 segments are missing: 3, 5, 7" },
    { 0, 9, "\5\2\2\3", true, "of 9 segments are missing: 0-1, 4, 6-8" },
    { 3, 9, "\4\5", false, "segment 3 of 9 was expected, segment 5 of 9 is there" },
    { 3, 9, "\1", true,
      "segment 3 of 9 was expected, segment 1 of 9 is there, which has come before with other "
      "bytes" },
    { 0, 100, "\2\4\6\10\12\14\16\20\22\24\26", true,
      "of 100 segments are missing: 0-1, 3, 5, 7, 9, 11, 13, 15 and others" },
};

static void expect(const char *got, const char *want)
{
    if (strcmp(got, want) == 0)
        return;
    printf("FAIL '%s'\nwant '%s'\n", got, want);
    failures++;
}

int main(void)
{
    static struct dx_gaps g = DX_GAPS_INIT;
    struct dx_segment s = { 1, 2, { NULL, 0 } };
    char text[160];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dx_gaps_clear(&g);
        for (const char *c = rows[i].seen; *c != '\0'; c++) {
            s = (struct dx_segment){ (uint32_t)*c, rows[i].count, { NULL, 0 } };
            dx_gaps_add(&g, "key", rows[i].expected, rows[i].count, &s);
        }
        dx_gaps_words(&g, rows[i].all, text, sizeof text);
        expect(text, rows[i].want);
    }
    /* Another transfer's, and more than are remembered. */
    dx_gaps_clear(&g);
    for (uint32_t i = 1; i < DX_GAPS_MAX + 3; i++) {
        s = (struct dx_segment){ i, 10000, { NULL, 0 } };
        dx_gaps_add(&g, i % 2 == 0 ? "other" : "key", 0, 10000, &s);
        dx_gaps_add(&g, "key", 0, 10000, &s);
    }
    dx_gaps_words(&g, true, text, sizeof text);
    expect(text, "segment 0 of 10000 was expected, segment 4098 of 10000 is there");
    dx_gaps_words(&g, true, text, 12);
    expect(text, "segment 0 o");
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
