/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/located/located_record.h"

#include <stdlib.h>
#include <string.h>

#include "builder/input/bytes/input.h"
#include "builder/input/bytes/input_ranges.h"
#include "builder/input/located/located_path.h"
#include "builder/input/located/stored_record.h"
#include "builder/input/parquet/parquet_row.h"
#include "canon/url_mention.h"
#include "parquet/page.h"

#define FIRST_READ (256u << 10) /* of a WARC record whose length nothing says */
#define STEP (256u << 10)       /* of compressed text */
#define SHOWN 200               /* bytes of a URL in a message */

struct reading {
    const struct dx_located_ask *ask;
    const char *path;
    struct dx_buf *out;
    bool seen; /* one of the wanted URLs */
};

static uint64_t first_of(const struct reading *r)
{
    return r->ask->locator->place[0];
}

static uint64_t second_of(const struct reading *r)
{
    return r->ask->locator->place[1];
}

static int changed(const struct reading *r, struct dx_span found, struct dx_error *err)
{
    struct dx_span want = r->ask->url[0];

    return dx_fail(err, DX_E_CORRUPT,
                   "%s: the record at %llu is not of %.*s%s%.*s; the file has changed since it was "
                   "ingested, or --base leads to another one",
                   r->path, (unsigned long long)first_of(r),
                   (int)(want.size < SHOWN ? want.size : SHOWN), (const char *)want.data,
                   found.size > 0 ? " but of " : "", (int)(found.size < SHOWN ? found.size : SHOWN),
                   found.size > 0 ? (const char *)found.data : "");
}

static int check_size(const struct reading *r, uint64_t size, struct dx_error *err)
{
    return size <= r->ask->max_bytes
               ? DX_OK
               : dx_fail(err, DX_E_LIMIT, "%s: %llu bytes to be read, and --max-bytes is %zu",
                         r->path, (unsigned long long)size, r->ask->max_bytes);
}

/* ---- the URL ---- */

static struct dx_url_mention wanted(const struct reading *r)
{
    return (struct dx_url_mention){ .canon = r->ask->canon,
                                    .url = r->ask->url,
                                    .count = r->ask->url_count };
}

/* A string of a row, which may be JSON. */
static void see(void *ctx, struct dx_span text)
{
    struct reading *r = ctx;
    struct dx_url_mention m = wanted(r);

    r->seen = r->seen || dx_url_mention_row(&m, text);
}

/* ---- WARC ---- */

/* is_all: nothing of the file, or of what the locator says, follows. */
static int take_record(const struct reading *r, struct dx_span bytes, bool is_all,
                       struct dx_error *err)
{
    struct dx_url_mention m = wanted(r);
    struct dx_stored_record s;
    int rc = dx_stored_record_open(&s, bytes, r->ask->max_bytes, err);

    if (rc == 1 && second_of(r) != 0 && s.size != bytes.size)
        rc = dx_fail(err, DX_E_CORRUPT, "the record ends after %zu bytes, and the locator says %zu",
                     s.size, bytes.size);
    else if (rc == 0 && is_all)
        rc = dx_fail(err, DX_E_CORRUPT, "the record does not end within the %s's %zu bytes",
                     second_of(r) != 0 ? "locator" : "file", bytes.size);
    if (rc < 0) {
        (void)dx_fail_in(err, "%s: at %llu", r->path, (unsigned long long)first_of(r));
    } else if (rc == 1 && r->ask->url_count > 0 && !dx_url_mention_is(&m, s.target)) {
        rc = changed(r, s.target, err);
    } else if (rc == 1) {
        dx_buf_clear(r->out);
        if (r->ask->decompress)
            dx_buf_append(r->out, s.record.data, s.record.size);
        else
            dx_buf_append(r->out, bytes.data, s.size);
        rc = r->out->failed ? dx_buf_fail(r->out, err, "WARC record") : 1;
    }
    dx_stored_record_close(&s);
    return rc;
}

/* Twice as much each time, until the record ends. */
static int read_open_end(const struct reading *r, struct dx_buf *b, struct dx_error *err)
{
    struct dx_input_ranges *ranges = NULL;
    uint64_t offset = first_of(r);
    uint64_t left = 0;
    size_t want = FIRST_READ;
    int rc = dx_input_ranges_open(&ranges, r->path, err);

    if (rc == DX_OK && offset >= dx_input_ranges_size(ranges))
        rc = dx_fail(err, DX_E_CORRUPT, "%s: has %llu bytes, and the record begins at %llu",
                     r->path, (unsigned long long)dx_input_ranges_size(ranges),
                     (unsigned long long)offset);
    if (rc == DX_OK)
        left = dx_input_ranges_size(ranges) - offset;
    while (rc == 0) {
        size_t n = want < left ? want : (size_t)left;
        uint8_t *to;

        dx_buf_clear(b);
        rc = check_size(r, n, err);
        to = rc == DX_OK ? dx_buf_reserve(b, n) : NULL;
        if (rc == DX_OK && to == NULL)
            rc = dx_buf_fail(b, err, "WARC record");
        if (rc == DX_OK)
            rc = dx_input_ranges_read(ranges, offset, n, to, err);
        if (rc == DX_OK)
            rc = take_record(r, dx_span_of(to, n), n == left, err);
        want *= 2;
    }
    dx_input_ranges_close(&ranges);
    return rc;
}

/* One range. */
static int read_range(const struct reading *r, struct dx_buf *b, struct dx_error *err)
{
    size_t size = (size_t)second_of(r);
    int rc = check_size(r, second_of(r), err);
    uint8_t *to = rc == DX_OK ? dx_buf_reserve(b, size) : NULL;

    if (rc == DX_OK && to == NULL)
        return dx_buf_fail(b, err, "record");
    if (rc == DX_OK)
        rc = dx_input_range_read(r->path, first_of(r), size, to, err);
    b->size = rc == DX_OK ? size : 0;
    return rc;
}

static int read_warc(const struct reading *r, struct dx_buf *b, struct dx_error *err)
{
    int rc;

    if (second_of(r) == 0)
        return read_open_end(r, b, err);
    rc = read_range(r, b, err);
    return rc < 0 ? rc : take_record(r, dx_span_of(b->data, b->size), true, err);
}

/* ---- text ---- */

static int give_line(struct reading *r, struct dx_span line, struct dx_error *err)
{
    struct dx_url_mention m = wanted(r);

    if (m.count > 0 && !dx_url_mention_line(&m, line))
        return changed(r, dx_span_of(NULL, 0), err);
    dx_buf_append(r->out, line.data, line.size);
    dx_buf_u8(r->out, '\n');
    return r->out->failed ? dx_buf_fail(r->out, err, "a line") : DX_OK;
}

static int read_text(struct reading *r, struct dx_buf *b, struct dx_error *err)
{
    int rc = read_range(r, b, err);

    return rc < 0 ? rc : give_line(r, dx_span_of(b->data, b->size), err);
}

/* Of `n` bytes what belongs to the line; *line counts down to 0 as they end. */
static bool take_line_part(struct dx_buf *b, const uint8_t *at, size_t n, uint64_t *line)
{
    while (n > 0 && *line > 0) {
        const uint8_t *end = memchr(at, '\n', n);
        size_t part = end == NULL ? n : (size_t)(end - at);

        if (*line == 1)
            dx_buf_append(b, at, part);
        *line -= end != NULL;
        part += end != NULL;
        at += part;
        n -= part;
    }
    return *line == 0;
}

static int read_line(struct reading *r, struct dx_buf *b, struct dx_error *err)
{
    struct dx_input *in = NULL;
    uint8_t *chunk = malloc(STEP);
    uint64_t line = first_of(r);
    ssize_t n = 1;
    int rc;

    if (chunk == NULL)
        return dx_no_memory(err, "a line");
    rc = dx_input_open(&in, r->path, r->ask->max_bytes, err);
    while (rc == DX_OK && n > 0 && line > 0 && !b->failed) {
        n = dx_input_read(in, chunk, STEP, err);
        if (n < 0)
            rc = (int)n;
        else if (n > 0 && take_line_part(b, chunk, (size_t)n, &line))
            break;
    }
    if (rc == DX_OK && b->failed)
        rc = dx_buf_fail(b, err, "a line (--max-bytes)");
    if (rc == DX_OK && line > (b->size > 0)) /* the last line may have no end */
        rc = dx_fail(err, DX_E_CORRUPT,
                     "%s: has no line %llu; it has changed since it was ingested", r->path,
                     (unsigned long long)first_of(r));
    dx_input_close(&in);
    free(chunk);
    if (b->size > 0 && b->data[b->size - 1] == '\r')
        b->size--;
    return rc < 0 ? rc : give_line(r, dx_span_of(b->data, b->size), err);
}

/* ---- Parquet ---- */

static int read_row(struct reading *r, struct dx_error *err)
{
    struct dx_pq_limits limits = DX_PQ_LIMITS_DEFAULT;
    struct dx_input_ranges *ranges = NULL;
    struct dx_url_mention m = wanted(r);
    int rc = dx_input_ranges_open(&ranges, r->path, err);

    if (r->ask->max_bytes < limits.page_bytes)
        limits.page_bytes = (uint32_t)r->ask->max_bytes;
    if (rc == DX_OK)
        rc = dx_parquet_row_read(ranges, r->ask->locator, &limits, r->out, see, r, err);
    dx_input_ranges_close(&ranges);
    if (rc < 0)
        return rc;
    if (m.count > 0 && !r->seen && !dx_url_mention_path(&m, r->ask->locator->name))
        return changed(r, dx_span_of(NULL, 0), err);
    dx_buf_u8(r->out, '\n');
    return r->out->failed ? dx_buf_fail(r->out, err, "a row") : DX_OK;
}

int dx_located_record_read(const struct dx_located_ask *ask, struct dx_buf *out,
                           struct dx_error *err)
{
    struct reading r = { .ask = ask, .out = out };
    struct dx_buf bytes = DX_BUF_INIT(ask->max_bytes);
    char *path = NULL;
    int rc = dx_located_path(ask->base, ask->locator->name, &path, err);

    r.path = path;
    if (rc == DX_OK && ask->locator->kind == DX_LOCATOR_WARC)
        rc = read_warc(&r, &bytes, err);
    else if (rc == DX_OK && ask->locator->kind == DX_LOCATOR_TEXT)
        rc = read_text(&r, &bytes, err);
    else if (rc == DX_OK && ask->locator->kind == DX_LOCATOR_LINE)
        rc = read_line(&r, &bytes, err);
    else if (rc == DX_OK)
        rc = read_row(&r, err);
    dx_buf_release(&bytes);
    free(path);
    return rc < 0 ? rc : DX_OK;
}
