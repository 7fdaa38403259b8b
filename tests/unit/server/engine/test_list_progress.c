/* SPDX-License-Identifier: Apache-2.0
 * test_list_progress.c - lists that are slow now, whatever they were before.
 */
#include "server/engine/list_progress.h"

#include <stdio.h>

#define K 1024
#define MAX_STEPS 4

static const struct {
    const char *name;
    struct {
        unsigned at_ms;
        uint64_t bytes;
    } notes[MAX_STEPS]; /* until one at 0 ms */
    unsigned asked_ms;
    bool slow;
} rows[] = {
    { "new", { { 0, 0 } }, 999, false },
    { "silent for a second", { { 0, 0 } }, 1000, true },
    { "a trickle", { { 500, 10 }, { 1000, 20 }, { 1500, 30 } }, 1500, true },
    { "as fast as asked", { { 1000, 64 * K }, { 2000, 128 * K }, { 3000, 192 * K } }, 3900, false },
    { "half as fast", { { 1000, 32 * K }, { 2000, 64 * K }, { 3000, 96 * K } }, 3000, true },
    { "fast at first, then nothing", { { 200, 10 << 20 } }, 1300, true },
    { "fast at first, then a trickle",
      { { 200, 10 << 20 }, { 1500, (10 << 20) + 100 } },
      1600,
      true },
    { "fast at first, now too", { { 200, 10 << 20 }, { 900, 12 << 20 } }, 1800, false },
    { "fast after an hour of silence", { { 3600000, 100 }, { 3600100, 200 * K } }, 3600200, false },
};

static bool is_slow(size_t row)
{
    struct dx_list_progress p;

    dx_list_progress_begin(&p, 0);
    for (size_t i = 0; i < MAX_STEPS && rows[row].notes[i].at_ms > 0; i++)
        dx_list_progress_note(&p, rows[row].notes[i].bytes,
                              (int64_t)rows[row].notes[i].at_ms * 1000);
    return dx_list_progress_is_slow(&p, (int64_t)rows[row].asked_ms * 1000);
}

int main(void)
{
    unsigned failures = 0;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is_slow(i) != rows[i].slow) {
            printf("%s: slow: %d expected\n", rows[i].name, rows[i].slow);
            failures++;
        }
    printf("%zu rows, %u failures\n", sizeof rows / sizeof *rows, failures);
    return failures > 0;
}
