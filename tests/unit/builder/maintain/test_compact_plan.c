/* SPDX-License-Identifier: Apache-2.0
 * Which files are merged: by number, by ranges that a wide file joins, by rows that must go. */
#include "builder/maintain/compact_plan.h"

#include <stdio.h>
#include <string.h>

#include "builder/lake/lake_layout.h"
#include "tests/support/fail.h"

static int failures;

#define FILES 8
#define FULL DX_LAKE_ROWS_A_FILE
#define SMALL 1000u

static const struct row {
    const char *words;
    struct dx_compact_file file[FILES];
    const char *want; /* a digit a file: its group, 0 none */
    unsigned ranges;  /* of the first group */
    uint64_t rows;    /* of it */
} rows[] = {
    { "one file", { { .last = 255, .ours = true, .rows = SMALL } }, "0", 0, 0 },
    { "two small ones",
      { { .last = 255, .ours = true, .rows = SMALL }, { .last = 255, .ours = true, .rows = 7 } },
      "11",
      1,
      SMALL + 7 },
    { "one of them is new",
      { { .last = 255, .ours = true, .rows = SMALL },
        { .last = 255, .ours = true, .fixed = true, .rows = 7 } },
      "00",
      0,
      0 },
    { "one of another writer",
      { { .last = 255, .ours = true, .rows = SMALL }, { .last = 255, .rows = 7 } },
      "00",
      0,
      0 },
    { "of two datasets",
      { { .dataset_id = 1, .last = 255, .ours = true, .rows = SMALL },
        { .dataset_id = 2, .last = 255, .ours = true, .rows = 7 },
        { .dataset_id = 2, .last = 255, .ours = true, .rows = 8 } },
      "011",
      1,
      15 },
    { "two full ones",
      { { .last = 255, .ours = true, .rows = FULL }, { .last = 255, .ours = true, .rows = FULL } },
      "00",
      0,
      0 },
    { "two full ones and a small one: three is what they would be",
      { { .last = 255, .ours = true, .rows = FULL },
        { .last = 255, .ours = true, .rows = FULL },
        { .last = 255, .ours = true, .rows = 1 } },
      "000",
      0,
      0 },
    { "a full one and two small ones",
      { { .last = 255, .ours = true, .rows = FULL },
        { .last = 255, .ours = true, .rows = 5 },
        { .last = 255, .ours = true, .rows = 1 } },
      "111",
      16,
      FULL + 6 },
    { "a file a range, as a compaction leaves it",
      { { .first = 0, .last = 15, .ours = true, .rows = FULL / 2 },
        { .first = 16, .last = 31, .ours = true, .rows = FULL / 2 },
        { .first = 32, .last = 47, .ours = true, .rows = SMALL } },
      "000",
      0,
      0 },
    { "two in one range",
      { { .first = 0, .last = 15, .ours = true, .rows = FULL / 2 },
        { .first = 16, .last = 31, .ours = true, .rows = FULL / 4 },
        { .first = 16, .last = 31, .ours = true, .rows = FULL / 4 },
        { .first = 32, .last = 47, .ours = true, .rows = SMALL } },
      "0110",
      16,
      FULL / 2 },
    { "a wide one joins two ranges, not the third",
      { { .first = 0, .last = 15, .ours = true, .rows = FULL / 4 },
        { .first = 0, .last = 31, .ours = true, .rows = SMALL },
        { .first = 16, .last = 31, .ours = true, .rows = FULL / 4 },
        { .first = 32, .last = 47, .ours = true, .rows = SMALL } },
      "1110",
      16,
      FULL / 2 + SMALL },
    { "ranges of a dataset that is small by now are merged",
      { { .first = 0, .last = 15, .ours = true, .rows = 5 },
        { .first = 16, .last = 31, .ours = true, .rows = 6 } },
      "11",
      1,
      11 },
    { "rows that must go, in one file",
      { { .last = 255, .ours = true, .hit = true, .rows = FULL },
        { .last = 255, .ours = true, .rows = FULL } },
      "10",
      16,
      FULL },
    { "in another writer's, too",
      { { .last = 255, .ours = true, .rows = SMALL },
        { .last = 255, .hit = true, .rows = 7 },
        { .last = 255, .rows = 7 } },
      "010",
      1,
      7 },
    { "in a new one: not now",
      { { .last = 255, .ours = true, .fixed = true, .hit = true, .rows = SMALL } },
      "0",
      0,
      0 },
    { "no row at all",
      { { .last = 255, .ours = true }, { .last = 255, .ours = true } },
      "11",
      1,
      0 },
};

static void test_row(const struct row *row)
{
    struct dx_compact_file file[FILES];
    struct dx_compact_plan plan;
    struct dx_error err = DX_ERROR_INIT;
    size_t count = strlen(row->want);
    char got[FILES + 1] = "";

    memcpy(file, row->file, sizeof file);
    if (dx_compact_plan(&plan, file, count, 1, &err) < 0) {
        FAIL("%s: %s", row->words, err.text);
        return;
    }
    for (size_t i = 0; i < count; i++)
        got[i] = (char)('0' + file[i].group);
    if (strcmp(got, row->want) != 0)
        FAIL("%s: %s, expected %s", row->words, got, row->want);
    if (plan.count > 0 && (plan.group[0].ranges != row->ranges || plan.group[0].rows != row->rows))
        FAIL("%s: %u ranges, %llu rows", row->words, plan.group[0].ranges,
             (unsigned long long)plan.group[0].rows);
    dx_compact_plan_release(&plan);
}

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        test_row(&rows[i]);
    return failures == 0 ? 0 : 1;
}
