/* SPDX-License-Identifier: Apache-2.0
 * fuzz_records.c - what reads raw records: the CSV/TSV/JSONL cutters, fields, JSON, times.
 *
 * First byte: format and batch size. The same bytes must be cut the same way whatever the
 * batch size, as far as an error lets both come, and the JSON walk must take exactly the objects that jansson takes. The look at the
 * first lines must come to a format or to words, and read no byte behind them.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/civil_time.h"
#include "builder/input/bytes/input.h"
#include "builder/input/records/input_columns.h"
#include "builder/input/records/input_format.h"
#include "builder/input/records/input_records.h"
#include "builder/input/records/input_time.h"

#define LINE_MAX_HERE 200

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void die(const char *why)
{
    fprintf(stderr, "fuzz_records: %s\n", why);
    abort();
}

/* jansson refuses what RFC 8259 leaves open: numbers beyond a double or 64 bits. */
static bool has_number_like(const uint8_t *p, size_t n)
{
    size_t digits = 0;

    for (size_t i = 0; i < n; i++) {
        digits = p[i] >= '0' && p[i] <= '9' ? digits + 1 : 0;
        if (digits > 17 || p[i] == 'e' || p[i] == 'E')
            return true;
    }
    return false;
}

/* Rows of one record are no more than its bytes. */
static void pick_rows(const struct dx_columns *cols, struct dx_span record)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_fields fields;
    size_t rows = 0;

    if (dx_fields_init(&fields, &err) < 0)
        return;
    for (int why = dx_columns_pick(cols, record, &fields); why != DX_COLUMNS_END;
         why = dx_columns_more(cols, &fields))
        if (++rows > record.size + 1)
            die("more rows than bytes");
    dx_fields_release(&fields);
}

static void check_json(const uint8_t *data, size_t size)
{
    static struct dx_columns cols;
    struct dx_columns_want want = { .url = NULL };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_json_value value[DX_JSON_PATHS_MAX];
    struct dx_buf scratch = DX_BUF_INIT(1 << 24);
    struct dx_span sample;
    json_t *other;
    bool ok;

    want.extra[0] = "a.\"b.c\".d";
    want.extra[1] = "a";
    want.extra_count = 2;
    /* A sample that is JSON without a URL is refused, with a list of its keys. */
    sample = dx_span_of(data, size);
    if (dx_columns_resolve(&cols, &want, DX_RECORD_JSONL,
                           &(struct dx_columns_sample){ .record = &sample, .count = 1 }, "in",
                           &err) < 0 &&
        strstr(err.text, "--url-column") == NULL)
        die(err.text);
    ok = dx_json_pick(dx_span_of(data, size), cols.path, cols.path_count, value, &scratch);
    other = json_loadb((const char *)data, size, JSON_ALLOW_NUL, NULL);
    if (ok != json_is_object(other) && !has_number_like(data, size))
        die("jansson thinks otherwise");
    if (ok && other != NULL) {
        json_t *url = json_object_get(other, "url");

        if (url != NULL && json_is_string(url) != (value[0].kind == DX_JSON_STRING))
            die("url: other kind");
        if (json_is_string(url) &&
            !dx_span_equal(value[0].text,
                           dx_span_of(json_string_value(url), json_string_length(url))))
            die("url: other text");
    }
    json_decref(other);
    pick_rows(&cols, sample);
    dx_columns_want_release(&want);
    dx_buf_release(&scratch);
}

/* true: to the end; false: an error ended it, and with it what else was in its batch. */
static bool cut(const char *path, enum dx_record_format format, size_t batch_size,
                struct dx_buf *out)
{
    static struct dx_columns cols;
    struct dx_columns_want want = { .url = "2", .ts = "1", .header = DX_HEADER_NO };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_input *in = NULL;
    struct dx_records *r = NULL;
    struct dx_batch batch = { 0 };
    const struct dx_span first = dx_span_str(format == DX_RECORD_TSV ? "x\ty" : "x,y");
    struct dx_fields fields;
    int rc = dx_input_open(&in, path, 1 << 20, &err);

    if (dx_fields_init(&fields, &err) < 0)
        die(err.text);
    if (format == DX_RECORD_TSV || format == DX_RECORD_CSV)
        (void)dx_columns_resolve(&cols, &want, format,
                                 &(struct dx_columns_sample){ .record = &first, .count = 1 }, "in",
                                 &err);
    if (rc == 0)
        rc = dx_records_new(&r, in, LINE_MAX_HERE, &err);
    if (rc == 0) {
        dx_records_set_format(r, format);
        dx_records_set_batch_size(r, batch_size);
    }
    while (rc >= 0 && (rc = dx_records_fill(r, &batch, &err)) > 0)
        for (size_t i = 0; rc != DX_RECORDS_GROW && i < batch.count; i++) {
            struct dx_span record = dx_batch_record(&batch, i);
            int64_t us;

            if (record.size > LINE_MAX_HERE)
                die("a record over the limit");
            dx_buf_fmt(out, "%llu %d ", (unsigned long long)batch.records[i].line,
                       batch.records[i].flaw);
            dx_buf_append(out, record.data, record.size);
            dx_buf_u8(out, '\n');
            if (format == DX_RECORD_TSV || format == DX_RECORD_CSV) {
                int why = dx_columns_pick(&cols, record, &fields);

                dx_buf_fmt(out, "%d ", why);
                if (why == 0) {
                    dx_buf_append(out, fields.url.data, fields.url.size);
                    if (dx_input_time(fields.ts, DX_TS_AUTO, &us) && !dx_civil_is_stored(us))
                        abort(); /* no answer could write it */
                }
            }
        }
    dx_fields_release(&fields);
    dx_columns_want_release(&want);
    dx_batch_release(&batch);
    dx_records_free(&r);
    dx_input_close(&in);
    return rc >= 0;
}

/* The bytes stand at the end of a block of their own, so that ASan sees a read behind them. */
static void check_format(const uint8_t *data, size_t size)
{
    static const char *const names[] = { "-", "a.csv", "a.tsv.gz", "a.txt" };
    uint8_t *exact = malloc(size + (size == 0));

    if (exact == NULL)
        die("out of memory");
    if (size > 0)
        memcpy(exact, data, size);
    for (size_t i = 0; i < 4 * sizeof names / sizeof names[0]; i++) {
        struct dx_input_head head = { names[i / 4], dx_span_of(exact, size), i % 2 == 0 };
        struct dx_error err = DX_ERROR_INIT;
        enum dx_record_format format = DX_RECORD_AUTO;
        int rc = dx_input_format_find(&head, DX_RECORD_AUTO, i % 4 < 2, &format, &err);

        if (rc < 0 ? err.text[0] == '\0' : format == DX_RECORD_AUTO)
            die("neither a format nor words");
    }
    free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char path[64];
    struct dx_buf a = DX_BUF_INIT(1 << 26);
    struct dx_buf b = DX_BUF_INIT(1 << 26);
    enum dx_record_format format;
    size_t both;
    bool ends;
    FILE *f;

    if (size < 1 || size > 1 << 16)
        return 0;
    if (path[0] == '\0')
        (void)snprintf(path, sizeof path, "/dev/shm/dx-fuzz-records-%ld", (long)getpid());
    format = (enum dx_record_format)(1 + data[0] % 6); /* of text */
    check_format(data + 1, size - 1);
    if (format == DX_RECORD_JSONL)
        check_json(data + 1, size - 1);
    f = fopen(path, "w");
    if (f == NULL || fwrite(data + 1, 1, size - 1, f) != size - 1 || fclose(f) != 0)
        die("cannot write the input");
    ends = cut(path, format, 1 + data[0] / 6, &a);
    if (cut(path, format, 100000, &b) != ends)
        die("an error with one batch size alone");
    both = a.size < b.size ? a.size : b.size;
    if ((ends && a.size != b.size) || (both > 0 && memcmp(a.data, b.data, both) != 0))
        die("other records with another batch size");
    (void)unlink(path);
    dx_buf_release(&a);
    dx_buf_release(&b);
    return 0;
}
