/* SPDX-License-Identifier: Apache-2.0
 * Input of each format, plain and packed, is cut into records and columns while memory runs out. */
#include "builder/input/bytes/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "builder/input/records/input_columns.h"
#include "builder/input/records/input_format.h"
#include "builder/input/records/input_records.h"
#include "tests/runner/fail_alloc.h"

static int pick_all(struct dx_records *r, const struct dx_columns *cols, struct dx_error *err)
{
    struct dx_batch batch = { 0 };
    struct dx_fields fields;
    int rc = dx_fields_init(&fields, err);

    while (rc >= 0 && (rc = dx_records_fill(r, &batch, err)) > 0)
        for (size_t i = 0; rc > 0 && i < batch.count; i++)
            switch (dx_columns_pick(cols, dx_batch_record(&batch, i), &fields)) {
            case 0:
                break;
            case DX_E_NOMEM:
                rc = dx_no_memory(err, "record");
                break;
            default:
                rc = dx_fail(err, DX_E_INVALID, "a record was rejected");
            }
    dx_fields_release(&fields);
    dx_batch_release(&batch);
    return rc;
}

static int read_all(struct dx_records *r, struct dx_error *err)
{
    struct dx_columns_want want = { .url = NULL };
    struct dx_columns cols = { 0 };
    enum dx_record_format format = DX_RECORD_AUTO;
    struct dx_input_head head = { .name = "file" };
    int rc = dx_columns_want_check(&want, err);

    if (rc == DX_OK)
        rc = dx_records_head(r, &head.bytes, &head.whole, err);
    if (rc >= 0)
        rc = dx_input_format_find(&head, DX_RECORD_AUTO, false, &format, err);
    if (rc >= 0) {
        struct dx_span first = head.bytes;
        const uint8_t *end = memchr(first.data, '\n', first.size);
        struct dx_span records[1];
        const struct dx_columns_sample sample = { .record = records, .count = 1 };

        first.size = end == NULL ? first.size : (size_t)(end - first.data);
        records[0] = first;
        dx_records_set_format(r, format);
        rc = dx_columns_resolve(&cols, &want, format, &sample, "file", err);
    }
    if (rc >= 0)
        rc = pick_all(r, &cols, err);
    dx_columns_want_release(&want);
    return rc;
}

static int file(void *ctx, struct dx_error *err)
{
    struct dx_records *r = NULL;
    struct dx_input *in = NULL;
    int rc = dx_input_open(&in, ctx, 1 << 20, err);

    if (rc == DX_OK)
        rc = dx_records_new(&r, in, DX_LINE_MAX, err);
    if (rc == DX_OK)
        rc = read_all(r, err);
    dx_records_free(&r);
    dx_input_close(&in);
    return rc;
}

#define SCRIPT                                                                                     \
    "cd \"$DIR\" && for i in $(seq 200); do echo \"https://a.org/$i,\\\"2024-01-02\\\"\"; done | " \
    "(echo url,date; cat) > a.csv && tr , '\\t' < a.csv | tr -d '\"' > a.tsv && sed -n "           \
    "'2,$s/,.*//p' a.csv > a.txt && sed 's/.*/{\"url\": \"&\", \"x\": [1, "                        \
    "{\"y\": \"z\\\\n\"}]}/' a.txt > a.jsonl && gzip -k a.csv && (zstd -qk a.jsonl || true)"

/* bzip2 and xz of Python: their programs need not be there. */
#define STREAMS                                                                           \
    "cd \"$DIR\" && python3 -c 'import bz2, lzma; data = open(\"a.csv\", \"rb\").read();" \
    "open(\"a.csv.bz2\", \"wb\").write(bz2.compress(data));"                              \
    "open(\"a.csv.xz\", \"wb\").write(lzma.compress(data, preset=0))'"

static void make_files(const char *dir)
{
    if (setenv("DIR", dir, 1) != 0 || system(SCRIPT) != 0 || system(STREAMS) != 0)
        abort();
}

int main(void)
{
    static const char *const names[] = { "a.csv",    "a.tsv",       "a.jsonl",   "a.txt",
                                         "a.csv.gz", "a.jsonl.zst", "a.csv.bz2", "a.csv.xz" };
    char dir[] = "/tmp/test_input_no_memory.XXXXXX";
    struct dx_error err = DX_ERROR_INIT;
    size_t failures = 0;

    if (mkdtemp(dir) == NULL)
        abort();
    make_files(dir);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[64];

        (void)snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        if (access(path, R_OK) != 0)
            continue; /* no zstd here */
        failures += fail_alloc_each(names[i], FAIL_ALLOC_GOES_ON | 300, file, path);
    }
    (void)dx_dir_remove(dir, &err);
    return failures > 0;
}
