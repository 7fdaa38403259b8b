/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/ingest_writers.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define HEAD "domaindex-writers 1\n"

void dx_writers_release(struct dx_writers *w)
{
    free(w->writer);
    *w = (struct dx_writers)DX_WRITERS_INIT;
}

struct dx_writer *dx_writers_find(const struct dx_writers *w, uint64_t nonce)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->writer[i].nonce == nonce)
            return &w->writer[i];
    return NULL;
}

void dx_writers_remove(struct dx_writers *w, uint64_t nonce)
{
    struct dx_writer *found = dx_writers_find(w, nonce);

    if (found == NULL)
        return;
    w->count--;
    memmove(found, found + 1, (size_t)(w->writer + w->count - found) * sizeof *found);
}

int dx_writers_add(struct dx_writers *w, const struct dx_writer *writer, struct dx_error *err)
{
    struct dx_writer *grown;

    assert(writer->range_count > 0 && dx_writers_find(w, writer->nonce) == NULL);
    if (w->count == DX_WRITERS_MAX)
        return dx_fail(err, DX_E_BUSY, DX_WRITERS_FILE ": %d runs are writing; wait for one",
                       DX_WRITERS_MAX);
    grown = dx_array_room(w->writer, w->count, &w->capacity, sizeof *grown);
    if (grown == NULL)
        return dx_no_memory(err, DX_WRITERS_FILE "");
    w->writer = grown;
    w->writer[w->count++] = *writer;
    return DX_OK;
}

bool dx_writer_overlap(const struct dx_writer *a, const struct dx_writer *b)
{
    size_t i = 0;
    size_t k = 0;

    while (i < a->range_count && k < b->range_count) {
        if (a->range[i].last < b->range[k].first)
            i++;
        else if (b->range[k].last < a->range[i].first)
            k++;
        else
            return true;
    }
    return false;
}

struct dx_writer *dx_writers_ahead(const struct dx_writers *w, const struct dx_writer *mine)
{
    for (size_t i = 0; i < w->count && w->writer[i].nonce != mine->nonce; i++)
        if (dx_writer_overlap(&w->writer[i], mine))
            return &w->writer[i];
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    const uint32_t *x = a;
    const uint32_t *y = b;

    return (*x > *y) - (*x < *y);
}

void dx_writer_claim(struct dx_writer *w, uint32_t *ids, size_t count)
{
    size_t n = 0;

    assert(count > 0);
    qsort(ids, count, sizeof *ids, by_value);
    for (size_t i = 0; i < count; i++) {
        if (n > 0 && ids[i] - w->range[n - 1].last <= 1) {
            w->range[n - 1].last = ids[i];
        } else if (n == DX_WRITER_RANGES) {
            n = 1;
            w->range[0].last = ids[count - 1];
            break;
        } else {
            w->range[n++] = (struct dx_id_range){ ids[i], ids[i] };
        }
    }
    w->range_count = n;
}

void dx_writer_word(char out[DX_WRITER_WORD], const char *text)
{
    size_t n = 0;

    for (; text[n] != '\0' && n + 1 < DX_WRITER_WORD; n++)
        out[n] = (char)(text[n] > ' ' && text[n] < 0x7f ? text[n] : '_');
    if (n == 0)
        out[n++] = '-';
    out[n] = '\0';
}

/* ---- text ---- */

static bool take(struct dx_bytes *r, char want)
{
    return dx_bytes_u8(r) == (uint8_t)want && !r->failed;
}

static bool number(struct dx_bytes *r, uint64_t max, uint64_t *v)
{
    const uint8_t *from = r->at;

    for (*v = 0; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        unsigned digit = (unsigned)(*r->at - '0');

        if (*v > (max - digit) / 10)
            return false;
        *v = *v * 10 + digit;
    }
    return r->at > from && (*from != '0' || r->at == from + 1);
}

static bool nonce(struct dx_bytes *r, uint64_t *v)
{
    *v = 0;
    for (int i = 0; i < 16; i++) {
        uint8_t c = dx_bytes_u8(r);

        if (c >= '0' && c <= '9')
            *v = *v << 4 | (uint8_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            *v = *v << 4 | (uint8_t)(c - 'a' + 10);
        else
            return false;
    }
    return true;
}

static bool word(struct dx_bytes *r, char out[DX_WRITER_WORD])
{
    size_t n = 0;

    while (r->at<r->end && * r->at> ' ' && *r->at < 0x7f && n + 1 < DX_WRITER_WORD)
        out[n++] = (char)*r->at++;
    out[n] = '\0';
    return n > 0;
}

static bool read_ranges(struct dx_bytes *r, struct dx_writer *w)
{
    uint64_t above = 0;

    for (w->range_count = 0; w->range_count < DX_WRITER_RANGES;) {
        uint64_t first;
        uint64_t last;

        if (!number(r, UINT32_MAX, &first) || first < above)
            return false;
        last = first;
        if (r->at < r->end && *r->at == '-') {
            r->at++;
            if (!number(r, UINT32_MAX, &last) || last <= first)
                return false;
        }
        w->range[w->range_count++] = (struct dx_id_range){ (uint32_t)first, (uint32_t)last };
        above = last + 2; /* neighbours would be one range */
        if (r->at == r->end || *r->at != ',')
            return true;
        r->at++;
    }
    return false;
}

static bool line(struct dx_bytes *r, struct dx_writer *w)
{
    uint64_t pid;

    if (!nonce(r, &w->nonce) || !take(r, ' ') || !number(r, UINT64_MAX, &w->beat) ||
        !take(r, ' ') || !word(r, w->place) || !take(r, ' ') || !word(r, w->host) ||
        !take(r, ' ') || !number(r, INT32_MAX, &pid) || !take(r, ' ') ||
        !number(r, UINT64_MAX, &w->started) || !take(r, ' ') || !read_ranges(r, w) ||
        !take(r, '\n'))
        return false;
    w->pid = (uint32_t)pid;
    return true;
}

int dx_writers_parse(struct dx_writers *w, struct dx_span text, const char *name,
                     struct dx_error *err)
{
    struct dx_bytes r = dx_bytes_of(text);
    struct dx_writer one;
    int rc = DX_OK;

    *w = (struct dx_writers)DX_WRITERS_INIT;
    if (text.size == 0)
        return DX_OK;
    if (text.size > DX_WRITERS_TEXT_MAX)
        return dx_fail(err, DX_E_LIMIT, "%s: %zu bytes, at most %u", name, text.size,
                       DX_WRITERS_TEXT_MAX);
    if (!dx_span_equal(dx_bytes_take(&r, strlen(HEAD)), dx_span_str(HEAD)))
        return dx_fail(err, DX_E_CORRUPT, "%s: does not begin with '%.*s'", name,
                       (int)strlen(HEAD) - 1, HEAD);
    while (rc == DX_OK && r.at < r.end) {
        size_t at = (size_t)(r.at - text.data);

        memset(&one, 0, sizeof one);
        if (!line(&r, &one) || dx_writers_find(w, one.nonce) != NULL)
            rc = dx_fail(err, DX_E_CORRUPT,
                         "%s: bad line at offset %zu; remove the object when no "
                         "ingest is running",
                         name, at);
        else
            rc = dx_writers_add(w, &one, err);
    }
    if (rc < 0)
        dx_writers_release(w);
    return rc;
}

int dx_writers_write(const struct dx_writers *w, struct dx_buf *out, struct dx_error *err)
{
    dx_buf_str(out, HEAD);
    for (size_t i = 0; i < w->count; i++) {
        const struct dx_writer *one = &w->writer[i];

        dx_buf_fmt(out, "%016" PRIx64 " %" PRIu64 " %s %s %u %" PRIu64 " ", one->nonce, one->beat,
                   one->place, one->host, one->pid, one->started);
        for (size_t k = 0; k < one->range_count; k++) {
            dx_buf_fmt(out, "%s%u", k == 0 ? "" : ",", one->range[k].first);
            if (one->range[k].last != one->range[k].first)
                dx_buf_fmt(out, "-%u", one->range[k].last);
        }
        dx_buf_u8(out, '\n');
    }
    return out->failed ? dx_buf_fail(out, err, DX_WRITERS_FILE) : DX_OK;
}
