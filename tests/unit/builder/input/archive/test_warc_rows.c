/* SPDX-License-Identifier: Apache-2.0
 * test_warc_rows.c - columns of WARC, WAT and ARC files by all their names, and records that are damaged.
 */
#include "builder/input/archive/warc_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "builder/input/bytes/input.h"
#include "builder/input/records/row_record.h"
#include "tests/runner/fail_alloc.h"
#include "tests/support/fail.h"

#define WINDOW ((size_t)1 << 20)
#define EXTRAS_MAX 4

static int failures;

#define RECORD(fields, length, content) \
    "WARC/1.0\r\n" fields "Content-Length: " length "\r\n\r\n" content "\r\n\r\n"
#define DATE "WARC-Date: 2024-01-02T03:04:05Z\r\n"
#define PAGE                                                                    \
    RECORD("WARC-Type: response\r\n" DATE "WARC-Target-URI: http://a.com/x\r\n" \
           "WARC-IP-Address: 1.2.3.4\r\nWARC-Payload-Digest: sha1:ABC\r\n"      \
           "Content-Type: application/http; msgtype=response\r\n",              \
           "71",                                                                \
           "HTTP/1.1 301 Moved\r\nContent-Type: text/html\r\nLocation: /y\r\nX-A: b\r\n\r\nok")
#define INFO RECORD("WARC-Type: warcinfo\r\n" DATE, "2", "ok")
#define WAT_OF(json, length)                                                        \
    RECORD("WARC-Type: metadata\r\n" DATE                                           \
           "WARC-Target-URI: http://a.com/x\r\nContent-Type: application/json\r\n", \
           length, json)

struct row {
    const char *text;
    enum dx_record_format format;
    const char *url, *ts, *dataset;
    const char *extra[EXTRAS_MAX];
    bool no_ts;
    const char
        *want; /* url@ts#dataset+extra..., each; "!" and the reason; or what the refusal says */
};

static const struct row rows[] = {
    { PAGE,
      DX_RECORD_WARC,
      NULL,
      NULL,
      NULL,
      { NULL },
      false,
      "http://a.com/x@2024-01-02T03:04:05Z#~; " },
    { INFO PAGE INFO,
      DX_RECORD_WARC,
      NULL,
      NULL,
      NULL,
      { "status", "mime", "digest", "type" },
      false,
      "http://a.com/x@2024-01-02T03:04:05Z#~+301+text/html+ABC+response; " },
    { PAGE,
      DX_RECORD_WARC,
      NULL,
      NULL,
      NULL,
      { "statuscode", "mimetype", "redirect", "ip" },
      false,
      "http://a.com/x@2024-01-02T03:04:05Z#~+301+text/html+/y+1.2.3.4; " },
    { INFO PAGE,
      DX_RECORD_WARC,
      NULL,
      NULL,
      NULL,
      { "filename", "offset", "length" },
      false,
      "http://a.com/x@2024-01-02T03:04:05Z#~+a.warc+91+297; " },
    { PAGE,
      DX_RECORD_WARC,
      "original",
      "timestamp",
      "ip",
      { NULL },
      false,
      "http://a.com/x@2024-01-02T03:04:05Z#1.2.3.4; " },
    { PAGE, DX_RECORD_WARC, "url", NULL, "http.X-A", { NULL }, true, "http://a.com/x@~#b; " },
    { PAGE,
      DX_RECORD_WARC,
      NULL,
      "http.Date",
      NULL,
      { "http.x-a", "WARC-Filename" },
      false,
      "http://a.com/x@~#~+b+~; " },
    { PAGE,
      DX_RECORD_WARC,
      NULL,
      NULL,
      NULL,
      { "Content-Type", "content-length" },
      false,
      "http://a.com/x@2024-01-02T03:04:05Z#~+application/http; msgtype=response+71; " },
    { PAGE,
      DX_RECORD_WARC,
      "redirect",
      NULL,
      NULL,
      { NULL },
      false,
      "/y@2024-01-02T03:04:05Z#~; " },
    { PAGE,
      DX_RECORD_WARC,
      NULL,
      NULL,
      NULL,
      { "title" },
      false,
      "the records of a WARC have no 'title'; they have url, timestamp, status" },
    { PAGE,
      DX_RECORD_WARC,
      NULL,
      NULL,
      NULL,
      { "http." },
      false,
      "path 'http.' has an empty part" },
    { PAGE, DX_RECORD_WARC, NULL, NULL, NULL, { "http.\"x\"" }, false, "have no 'http.\"x\"'" },
    { PAGE, DX_RECORD_WARC, NULL, NULL, NULL, { "WARC-\"x" }, false, "have no 'WARC-\"x'" },
    { PAGE, DX_RECORD_WARC, "nothing", NULL, NULL, { NULL }, false, "have no 'nothing'" },
    { PAGE, DX_RECORD_WARC, NULL, "when", NULL, { NULL }, false, "have no 'when'" },
    { PAGE, DX_RECORD_WARC, NULL, NULL, "set", { NULL }, false, "have no 'set'" },
    { PAGE,
      DX_RECORD_WARC,
      NULL,
      NULL,
      NULL,
      { "digest", "x=DIGEST" },
      false,
      "http://a.com/x@2024-01-02T03:04:05Z#~+ABC+ABC; " },
    /* targets that cannot be a page */
    { RECORD("WARC-Type: resource\r\n" DATE "WARC-Target-URI: dns:a.com\r\n", "2",
             "ok") RECORD("WARC-Type: response\r\n" DATE, "2", "ok")
          RECORD("WARC-Type: revisit\r\n" DATE "WARC-Target-URI: <https://b.com/>\r\n", "2", "ok"),
      DX_RECORD_WARC,
      NULL,
      NULL,
      NULL,
      { NULL },
      false,
      "!column_missing; https://b.com/@2024-01-02T03:04:05Z#~; " },
    /* a WAT: what is said of the record that it describes */
    { WAT_OF("{\"Envelope\":{\"WARC-Header-Metadata\":{\"WARC-Type\":\"response\",\"WARC-Target-"
             "URI\":\"http://b.com/\","
             "\"WARC-Date\":\"2023\"},\"Payload-Metadata\":{\"HTTP-Response-Metadata\":{\"Response-"
             "Message\":{\"Status\":\"200\"},"
             "\"Headers\":{\"content-type\":\"text/"
             "plain\"},\"HTML-Metadata\":{\"Head\":{\"Title\":\"T\"}}}}},"
             "\"Container\":{\"Filename\":\"b.gz\",\"Offset\":\"7\",\"Gzip-Metadata\":{\"Deflate-"
             "Length\":\"9\"}}}",
             "362"),
      DX_RECORD_WARC,
      NULL,
      NULL,
      NULL,
      { "status", "mime", "offset",
        "Envelope.Payload-Metadata.HTTP-Response-Metadata.HTML-Metadata.Head.Title" },
      false,
      "http://b.com/@2023#~+200+text/plain+7+T; " },
    { WAT_OF("{\"Envelope\":[]}", "15"), DX_RECORD_WARC, NULL, NULL, NULL, { NULL }, false, "" },
    { WAT_OF("{\"Envelope\":", "12") PAGE,
      DX_RECORD_WARC,
      NULL,
      NULL,
      NULL,
      { NULL },
      false,
      "!record at offset 0: its JSON is broken (http://a.com/x); "
      "http://a.com/x@2024-01-02T03:04:05Z#~; " },
    /* damage */
    { PAGE "garbage\r\n" PAGE,
      DX_RECORD_WARC,
      NULL,
      NULL,
      NULL,
      { NULL },
      false,
      "http://a.com/x@2024-01-02T03:04:05Z#~; !record at offset 301: no WARC record begins there; "
      "http://a.com/x@2024-01-02T03:04:05Z#~; " },
    { RECORD("WARC-Type: response\r\n" DATE "WARC-Target-URI: http://a.com/\r\n", "x", "ok") PAGE,
      DX_RECORD_WARC,
      NULL,
      NULL,
      NULL,
      { NULL },
      false,
      "!record at offset 0: its Content-Length is not a number (http://a.com/); "
      "http://a.com/x@2024-01-02T03:04:05Z#~; " },
    { "WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 5",
      DX_RECORD_WARC,
      NULL,
      NULL,
      NULL,
      { NULL },
      false,
      "!record at offset 0: the file or its member ends inside its head; " },
    { RECORD("WARC-Type: response\r\n" DATE "WARC-Target-URI: http://a.com/\r\n", "999", "ok"),
      DX_RECORD_WARC,
      NULL,
      NULL,
      NULL,
      { NULL },
      false,
      "!record at offset 0: the file ends inside it (http://a.com/); " },
    /* ARC */
    { "filedesc://a.arc 0.0.0.0 20240102030405 text/plain 0\n\nhttp://a.com/ 1.2.3.4 "
      "20240102030405 text/html 25\n"
      "HTTP/1.0 200 OK\r\n\r\nabcdef\n",
      DX_RECORD_ARC,
      NULL,
      NULL,
      NULL,
      { "status", "mime", "ip", "type" },
      false,
      "http://a.com/@2024-01-02T03:04:05Z#~+200+~+1.2.3.4+response; " },
};

static void put_field(struct dx_buf *out, const char *sign, struct dx_span s)
{
    dx_buf_str(out, sign);
    if (s.data == NULL)
        dx_buf_u8(out, '~');
    dx_buf_append(out, s.data, s.size);
}

static int put_records(const struct dx_columns *cols, const struct dx_batch *batch,
                       struct dx_fields *f, struct dx_buf *out, struct dx_error *err)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct dx_span record = dx_batch_record(batch, i);
        int why = batch->records[i].flaw == DX_FLAW_NONE ? dx_columns_pick(cols, record, f) : 0;

        if (why == DX_E_NOMEM)
            return dx_no_memory(err, "a record");
        if (batch->records[i].flaw != DX_FLAW_NONE) {
            struct dx_span text = dx_span_of(NULL, 0);

            (void)dx_row_record_get(record, &text, 1);
            put_field(out, "!", text);
        } else if (why != 0) {
            dx_buf_fmt(out, "!%s", dx_row_reject_name(why));
        } else {
            put_field(out, "", f->url);
            put_field(out, "@", f->ts);
            put_field(out, "#", f->dataset);
            for (size_t k = 0; k < cols->extra_count; k++)
                put_field(out, "+", f->extra[k]);
        }
        dx_buf_str(out, "; ");
    }
    return out->failed ? dx_buf_fail(out, err, "test") : DX_OK;
}

static int read_rows(const struct row *row, const char *path, struct dx_buf *out,
                     struct dx_error *err)
{
    struct dx_columns_want want = {
        .url = row->url, .ts = row->ts, .dataset = row->dataset, .no_ts = row->no_ts
    };
    struct dx_batch batch = { .data = NULL };
    struct dx_warc_rows *w = NULL;
    struct dx_input *in = NULL;
    struct dx_fields f = { .split = NULL };
    int rc = dx_input_open(&in, path, WINDOW, err);

    for (size_t i = 0; i < EXTRAS_MAX && row->extra[i] != NULL; i++)
        dx_columns_want_extra(&want, row->extra[i]);
    if (rc == DX_OK)
        rc = dx_fields_init(&f, err);
    if (rc == DX_OK) {
        rc = dx_warc_rows_is(in, row->format, err);
        if (rc >= 0 && rc != (int)row->format)
            rc = dx_fail(err, DX_E_CORRUPT, "format %d", rc);
        if (rc >= 0)
            rc = dx_warc_rows_open(&w, in, row->format, &want, err);
        while (rc >= 0 && (rc = dx_warc_rows_fill(w, &batch, err)) > 0)
            if (rc != DX_RECORDS_GROW &&
                put_records(dx_warc_rows_columns(w), &batch, &f, out, err) < 0)
                rc = (int)err->code;
        dx_warc_rows_close(&w);
        dx_fields_release(&f);
    }
    dx_batch_release(&batch);
    dx_input_close(&in);
    dx_columns_want_release(&want);
    return rc;
}

static void write_file(const struct row *row, const char *path)
{
    if (dx_file_replace(path, dx_span_str(row->text), NULL) < 0)
        abort();
}

static void test_rows(const char *path)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_buf got = DX_BUF_INIT(1 << 16);
        struct dx_error err = DX_ERROR_INIT;
        int rc;

        write_file(&rows[i], path);
        rc = read_rows(&rows[i], path, &got, &err);
        dx_buf_u8(&got, 0);
        if (rc < 0)
            CHECK(strstr(err.text, rows[i].want) != NULL, "row %zu: %d %s", i, rc, err.text);
        else
            CHECK(strcmp((const char *)got.data, rows[i].want) == 0, "row %zu: %s, want %s", i,
                  (const char *)got.data, rows[i].want);
        dx_buf_release(&got);
    }
}

struct reading {
    const struct row *row;
    const char *path;
};

static int read_again(void *ctx, struct dx_error *err)
{
    const struct reading *r = ctx;
    struct dx_buf got = DX_BUF_INIT(1 << 16);
    int rc = read_rows(r->row, r->path, &got, err);

    if (rc == DX_OK && strncmp((const char *)got.data, r->row->want, got.size) != 0)
        rc = dx_fail(err, DX_E_CORRUPT, "other rows: %.*s", (int)got.size, (const char *)got.data);
    dx_buf_release(&got);
    return rc;
}

/* A lack of memory is not a fault of a record. */
static void test_no_memory(const char *path)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reading r = { &rows[i], path };

        if (rows[i].extra[0] == NULL || strchr(rows[i].want, '@') == NULL)
            continue;
        write_file(&rows[i], path);
        failures += (int)fail_alloc_each(rows[i].extra[0], FAIL_ALLOC_GOES_ON | 60, read_again, &r);
    }
}

int main(void)
{
    char dir[] = "/tmp/test_warc_rows.XXXXXX";
    char path[64];

    if (mkdtemp(dir) == NULL)
        abort();
    (void)snprintf(path, sizeof path, "%s/a.warc", dir);
    test_rows(path);
    test_no_memory(path);
    (void)dx_dir_remove(dir, NULL);
    return failures > 0;
}
