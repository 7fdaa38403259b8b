/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/located/stored_record.h"

#include "base/decimal.h"
#include "builder/input/archive/arc_head.h"
#include "builder/input/bytes/container.h"

#define HEAD_MAX (64u << 10)
#define WINDOW_MAX ((uint64_t)128 << 20)
#define STEP (256u << 10) /* bytes that are decompressed at a time */

static int too_long(size_t max, struct dx_error *err)
{
    return dx_fail(err, DX_E_LIMIT, "the record has over %zu bytes; --max-bytes allows more", max);
}

/* Room for the next step of decompressed bytes: *n of them. */
static uint8_t *room(struct dx_stored_record *s, size_t max, size_t *n)
{
    *n = max - s->text.size < STEP ? max - s->text.size : STEP;
    return dx_buf_reserve(&s->text, *n + 1); /* one more tells that it is too long */
}

/* 1 the member is whole; 0 it goes on behind `bytes`. */
static int take_member(struct dx_stored_record *s, struct dx_container *c, struct dx_span bytes,
                       size_t max, struct dx_error *err)
{
    struct dx_span from = bytes;
    int rc = dx_container_reset(c, err);

    while (rc == DX_OK) {
        size_t n, before = from.size;
        uint8_t *data = room(s, max, &n);
        struct dx_container_room to = { data, n + 1 };

        if (data == NULL)
            return dx_buf_fail(&s->text, err, "WARC record");
        rc = dx_container_step(c, &from, &to, err);
        s->text.size += n + 1 - to.size;
        s->size = bytes.size - from.size;
        if (rc >= 0 && s->text.size > max)
            return too_long(max, err);
        if (rc == DX_OK && from.size == 0 && to.size == n + 1 && before == 0)
            return 0;
    }
    return rc == 1 || rc == DX_E_NOMEM
               ? rc
               : dx_fail_in(err, "%s is damaged", dx_container_member(c->kind));
}

static int take_packed(struct dx_stored_record *s, enum dx_container_kind kind,
                       struct dx_span bytes, size_t max, struct dx_error *err)
{
    struct dx_container c;
    int rc = dx_container_open(&c, kind, WINDOW_MAX, err);

    if (rc == DX_OK)
        rc = take_member(s, &c, bytes, max, err);
    dx_container_close(&c);
    return rc;
}

/* The line at *at without its end, which *at moves behind; false: it does not end. */
static bool take_line(struct dx_span s, size_t *at, struct dx_span *line)
{
    const uint8_t *end = *at < s.size ? memchr(s.data + *at, '\n', s.size - *at) : NULL;

    if (end == NULL)
        return false;
    *line = dx_span_of(s.data + *at, (size_t)(end - s.data) - *at);
    if (line->size > 0 && line->data[line->size - 1] == '\r')
        line->size--;
    *at = (size_t)(end - s.data) + 1;
    return true;
}

/* The value of a line "NAME: value"; false: it has another name. */
static bool is_field(struct dx_span line, const char *name, struct dx_span *value)
{
    size_t n = strlen(name);

    if (line.size <= n || line.data[n] != ':' || !dx_span_is_word(dx_span_of(line.data, n), name))
        return false;
    *value = dx_span_trimmed(dx_span_of(line.data + n + 1, line.size - n - 1));
    return true;
}

/* Of old writers <http://...>. */
static struct dx_span without_brackets(struct dx_span uri)
{
    return uri.size >= 2 && uri.data[0] == '<' && uri.data[uri.size - 1] == '>'
               ? dx_span_of(uri.data + 1, uri.size - 2)
               : uri;
}

static int read_arc_head(struct dx_stored_record *s, struct dx_span head, uint64_t *size,
                         struct dx_error *err)
{
    size_t line = dx_arc_head_size(head);
    struct dx_arc_head arc;
    uint64_t block;

    if (line == 0)
        return head.size < HEAD_MAX
                   ? 0
                   : dx_fail(err, DX_E_CORRUPT, "an ARC header of over %u bytes", HEAD_MAX);
    if (!dx_arc_head_parse(dx_span_of(head.data, line), &arc) ||
        !dx_decimal(arc.length, INT64_MAX, &block))
        return dx_fail(err, DX_E_CORRUPT, "no ARC record with a length begins there");
    s->target = arc.url;
    *size = line + block;
    return 1;
}

/* 1: *size is that of header and block; 0: the header does not end. */
static int read_head(struct dx_stored_record *s, struct dx_span text, uint64_t *size,
                     struct dx_error *err)
{
    struct dx_span head = dx_span_of(text.data, text.size < HEAD_MAX ? text.size : HEAD_MAX);
    struct dx_span line, value;
    uint64_t block = 0;
    unsigned lengths = 0;
    size_t at = 0;

    s->target = (struct dx_span){ NULL, 0 };
    if (dx_arc_may_begin(head))
        return read_arc_head(s, head, size, err);
    if (head.size >= 5 && memcmp(head.data, "WARC/", 5) != 0)
        return dx_fail(err, DX_E_CORRUPT, "no WARC record begins there");
    do {
        if (!take_line(head, &at, &line))
            return head.size < HEAD_MAX
                       ? 0
                       : dx_fail(err, DX_E_CORRUPT, "a WARC header of over %u bytes", HEAD_MAX);
        if (is_field(line, "Content-Length", &value)) {
            lengths++;
            if (!dx_decimal(value, INT64_MAX, &block))
                lengths = 2;
        } else if (s->target.data == NULL && is_field(line, "WARC-Target-URI", &value)) {
            s->target = without_brackets(value);
        }
    } while (line.size > 0);
    if (lengths != 1)
        return dx_fail(err, DX_E_CORRUPT, "a WARC header without one Content-Length");
    *size = at + block;
    return 1;
}

static int take_plain(struct dx_stored_record *s, struct dx_span bytes, size_t max,
                      struct dx_error *err)
{
    uint64_t size = 0;
    int rc = read_head(s, bytes, &size, err);

    if (rc <= 0)
        return rc;
    if (size > max)
        return too_long(max, err);
    if (size > bytes.size)
        return 0;
    s->size = (size_t)size;
    if (bytes.size - s->size >= 4 && memcmp(bytes.data + s->size, "\r\n\r\n", 4) == 0)
        s->size += 4;
    s->record = dx_span_of(bytes.data, s->size);
    return 1;
}

/* What ends a record: two line ends, which some writers give as LF alone; or nothing. */
static bool is_end(struct dx_span s)
{
    size_t i = 0;

    while (i < s.size && (s.data[i] == '\r' || s.data[i] == '\n'))
        i++;
    return i == s.size && s.size <= 4;
}

int dx_stored_record_open(struct dx_stored_record *s, struct dx_span bytes, size_t max,
                          struct dx_error *err)
{
    enum dx_container_kind kind = dx_container_find(bytes);
    uint64_t size = 0;
    int rc;

    *s = (struct dx_stored_record){ .size = 0 };
    dx_buf_init(&s->text, max + STEP);
    if (kind == DX_CONTAINER_NONE)
        return take_plain(s, bytes, max, err);
    rc = take_packed(s, kind, bytes, max, err);
    if (rc <= 0)
        return rc;
    s->record = dx_span_of(s->text.data, s->text.size);
    rc = read_head(s, s->record, &size, err);
    if (rc == 0 ||
        (rc == 1 && (s->record.size < size ||
                     !is_end(dx_span_of(s->record.data + size, s->record.size - (size_t)size)))))
        rc = dx_fail(
            err, DX_E_CORRUPT,
            "%zu bytes are compressed together there, and the record's header calls for %llu",
            s->record.size, (unsigned long long)size + 4);
    return rc;
}

void dx_stored_record_close(struct dx_stored_record *s)
{
    dx_buf_release(&s->text);
    s->record = s->target = (struct dx_span){ NULL, 0 };
}
