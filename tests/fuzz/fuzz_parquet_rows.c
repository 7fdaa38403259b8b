/* SPDX-License-Identifier: Apache-2.0
 * A whole file as an input of ingest: each of its columns as the URL, with the next ones as extras,
 * nested and repeated ones too; and keys of a map "m", with lists "l" and "l.x".
 */
#include "builder/input/parquet/parquet_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "builder/input/records/row_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define COLUMNS_MAX 8
#define BATCHES_MAX 4
#define MEMORY ((uint64_t)8 << 20)

/* The parts of a file, where it has some, each from its front. */
static void read_parts(struct dx_parquet_rows *p, struct dx_batch *batch)
{
    struct dx_parquet_split split;

    if (dx_parquet_rows_split(p, MEMORY, &split, NULL) <= 0)
        return;
    for (size_t i = 0; i < split.count && i < BATCHES_MAX; i++) {
        if (i > 0 && split.end[i] <= split.end[i - 1])
            abort();
        if (dx_parquet_rows_only(p, &split, i, i % 2 != 0, NULL) == DX_OK)
            (void)dx_parquet_rows_fill(p, batch, NULL);
    }
    dx_parquet_split_release(&split);
}

static void read_all(const char *path, char *const number[COLUMNS_MAX], size_t first)
{
    struct dx_columns_want want = { .url = number[first] };
    struct dx_span field[DX_ROW_EXTRA + COLUMNS_MAX];
    struct dx_parquet_rows *p = NULL;
    struct dx_batch batch = { .data = NULL };

    for (size_t i = first + 1; i < first + 3 && i < COLUMNS_MAX; i++)
        want.extra[want.extra_count++] = number[i];
    want.extras_may_lack = true;
    if (dx_parquet_rows_open(&p, path, &want, MEMORY, NULL) == DX_OK)
        for (int i = 0; i < BATCHES_MAX && dx_parquet_rows_fill(p, &batch, NULL) > 0; i++)
            for (size_t k = 0; k < batch.count; k++)
                if (!dx_row_record_get(dx_batch_record(&batch, k), field,
                                       DX_ROW_EXTRA + want.extra_count))
                    abort();
    if (p != NULL)
        read_parts(p, &batch);
    dx_parquet_rows_close(&p);
    dx_batch_release(&batch);
    dx_columns_want_release(&want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[COLUMNS_MAX][4];
    static char keys[COLUMNS_MAX][8] = { "m.k", "l", "m.k.v", "l.x", "x", "m.key", "m.n", "l.y" };
    char *name[COLUMNS_MAX];
    char *number[COLUMNS_MAX];
    int fd = memfd_create("input", 0);
    char path[64];

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    for (unsigned i = 0; i < COLUMNS_MAX; i++) {
        (void)snprintf(text[i], sizeof text[i], "%u", i + 1);
        number[i] = text[i];
        name[i] = keys[i];
    }
    read_all(path, number, 0);
    read_all(path, number, 1);
    read_all(path, name, 0);
    read_all(path, name, 2);
    (void)close(fd);
    return 0;
}
