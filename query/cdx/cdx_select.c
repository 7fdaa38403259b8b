/* SPDX-License-Identifier: Apache-2.0 */
#include "query/cdx/cdx_select.h"

#include "base/array.h"

#include <assert.h>

#define ENDS (DX_CDX_STORED * sizeof(uint32_t))
#define SPARE 1024 /* rows more than twice of what is kept, before they are sorted */

void dx_cdx_select_init(struct dx_cdx_select *s, uint64_t keep, size_t bytes_max)
{
    *s = (struct dx_cdx_select){ .keep = keep, .bytes_max = bytes_max };
    dx_buf_init(&s->text, bytes_max * 2); /* doubling: data of any size has room */
    dx_buf_init(&s->from_key, bytes_max);
    dx_buf_init(&s->from_text, bytes_max > DX_CDX_KEY_BYTES ? bytes_max : DX_CDX_KEY_BYTES);
    dx_buf_init(&s->rest, DX_CDX_KEY_BYTES);
}

void dx_cdx_select_release(struct dx_cdx_select *s)
{
    free(s->entries);
    s->entries = NULL;
    s->count = s->capacity = 0;
    dx_buf_release(&s->text);
    dx_buf_release(&s->from_key);
    dx_buf_release(&s->from_text);
    dx_buf_release(&s->rest);
}

void dx_cdx_select_from(struct dx_cdx_select *s, const struct dx_cdx_key *key)
{
    dx_buf_append(&s->from_key, key->urlkey.data, key->urlkey.size);
    dx_buf_append(&s->from_text, key->rest.data, key->rest.size);
    s->from_set = !s->from_key.failed; /* without it rows are looked at that were answered */
    s->from_rest = key->rest.data != NULL && !s->from_text.failed;
    s->from_timestamp = key->timestamp;
}

/* ---- order ---- */

/* data NULL: it has none. */
static struct dx_span column_at(const struct dx_buf *text, size_t at, unsigned column)
{
    uint32_t begin = 0;
    uint32_t end;

    memcpy(&end, text->data + at + column * sizeof end, sizeof end);
    if (end == 0)
        return dx_span_of(NULL, 0);
    for (unsigned c = column; c-- > 0 && begin == 0;)
        memcpy(&begin, text->data + at + c * sizeof begin, sizeof begin);
    return dx_span_of(text->data + at + ENDS + begin, end - begin);
}

/* All columns behind the timestamp. */
static int compare_rest(const struct dx_buf *a, size_t a_at, const struct dx_buf *b, size_t b_at)
{
    int order = 0;

    for (unsigned c = DX_CDX_ORIGINAL; c < DX_CDX_STORED && order == 0; c++)
        order = dx_span_compare(column_at(a, a_at, c), column_at(b, b_at, c));
    return order;
}

static int compare(const void *left, const void *right, void *of)
{
    const struct dx_cdx_entry *a = left;
    const struct dx_cdx_entry *b = right;
    const struct dx_buf *text = &((const struct dx_cdx_select *)of)->text;
    int order = (a->group > b->group) - (a->group < b->group);

    if (order == 0)
        order = dx_span_compare(column_at(text, a->at, DX_CDX_URLKEY),
                                column_at(text, b->at, DX_CDX_URLKEY));
    if (order == 0)
        order = (a->timestamp > b->timestamp) - (a->timestamp < b->timestamp);
    if (order == 0)
        order = compare_rest(text, a->at, text, b->at);
    return order != 0 ? order : (a->number > b->number) - (a->number < b->number);
}

static void columns_at(const struct dx_buf *text, size_t at, struct dx_span *columns)
{
    for (unsigned c = 0; c < DX_CDX_STORED; c++)
        columns[c] = column_at(text, at, c);
}

/* Of the row at `at`, which has key and timestamp of a resumeKey. */
static bool is_before_rest(struct dx_cdx_select *s, size_t at)
{
    struct dx_span columns[DX_CDX_STORED];

    columns_at(&s->text, at, columns);
    dx_buf_clear(&s->rest);
    dx_cdx_key_rest(columns, &s->rest);
    return !s->rest.failed && dx_span_compare(dx_span_of(s->rest.data, s->rest.size),
                                              dx_span_of(s->from_text.data, s->from_text.size)) < 0;
}

/* Of the row at `at`. */
static bool is_before(struct dx_cdx_select *s, size_t at, uint64_t timestamp, uint64_t number)
{
    int order;

    if (!s->from_set)
        return false;
    order = (s->group > s->from_group) - (s->group < s->from_group);
    if (order == 0)
        order = dx_span_compare(column_at(&s->text, at, DX_CDX_URLKEY),
                                dx_span_of(s->from_key.data, s->from_key.size));
    if (order == 0)
        order = (timestamp > s->from_timestamp) - (timestamp < s->from_timestamp);
    if (order == 0 && !s->after_row && s->from_rest)
        return is_before_rest(s, at);
    if (order != 0 || !s->after_row)
        return order < 0;
    order = compare_rest(&s->text, at, &s->from_text, 0);
    return order != 0 ? order < 0 : number <= s->from_number;
}

bool dx_cdx_select_is_behind(const struct dx_cdx_select *s, struct dx_span urlkey)
{
    return s->bound > 0 && dx_span_compare(urlkey, column_at(&s->text, s->entries[s->bound - 1].at,
                                                             DX_CDX_URLKEY)) > 0;
}

bool dx_cdx_select_is_before(const struct dx_cdx_select *s, struct dx_span urlkey)
{
    return s->from_set &&
           dx_span_compare(urlkey, dx_span_of(s->from_key.data, s->from_key.size)) <= 0;
}

/* ---- room ---- */

static size_t entry_size(const struct dx_cdx_select *s, size_t at)
{
    uint32_t size = 0;

    for (unsigned c = DX_CDX_STORED; c-- > 0 && size == 0;)
        memcpy(&size, s->text.data + at + c * sizeof size, sizeof size);
    return ENDS + size;
}

static size_t bytes_of(const struct dx_cdx_select *s)
{
    return s->text.size + s->count * sizeof *s->entries;
}

/* The first ones, of half the bytes at most if there are too many of these. */
static size_t count_kept(const struct dx_cdx_select *s)
{
    size_t max = bytes_of(s) > s->bytes_max ? s->bytes_max / 2 : SIZE_MAX;
    size_t bytes = 0;
    size_t n = 0;

    while (n < s->count && n < s->keep) {
        bytes += entry_size(s, s->entries[n].at) + sizeof *s->entries;
        if (bytes > max)
            break;
        n++;
    }
    return n;
}

/* Text of the first n alone. */
static int compact_text(struct dx_cdx_select *s, size_t n, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(s->bytes_max * 2);

    for (size_t i = 0; i < n; i++) {
        size_t at = text.size;

        dx_buf_append(&text, s->text.data + s->entries[i].at, entry_size(s, s->entries[i].at));
        s->entries[i].at = at;
    }
    if (text.failed) {
        dx_buf_release(&text);
        return dx_no_memory(err, "rows of a CDX answer");
    }
    dx_buf_release(&s->text);
    s->text = text;
    s->count = n;
    return DX_OK;
}

static int sort(struct dx_cdx_select *s, struct dx_error *err)
{
    size_t n;

    if (s->count > 1)
        qsort_r(s->entries, s->count, sizeof *s->entries, compare, s);
    n = count_kept(s);
    if (n == s->count) {
        s->bound = s->cut ? n : 0;
        return DX_OK;
    }
    if (n == 0 && s->keep > 0)
        return dx_fail(err, DX_E_LIMIT, "a row has columns of over %zu bytes", s->bytes_max / 2);
    s->cut = true;
    s->bound = n;
    return compact_text(s, n, err);
}

/* ---- rows ---- */

static void put_row(struct dx_cdx_select *s, const struct dx_span *columns)
{
    uint32_t ends[DX_CDX_STORED];
    uint32_t end = 0;

    for (unsigned c = 0; c < DX_CDX_STORED; c++) {
        end += (uint32_t)columns[c].size;
        ends[c] = columns[c].size == 0 ? 0 : end;
    }
    dx_buf_append(&s->text, ends, sizeof ends);
    for (unsigned c = 0; c < DX_CDX_STORED; c++)
        dx_buf_append(&s->text, columns[c].data, columns[c].size);
}

int dx_cdx_select_add(struct dx_cdx_select *s, const struct dx_span *columns, uint64_t timestamp,
                      uint64_t number, struct dx_error *err)
{
    struct dx_cdx_entry *entries;
    size_t at = s->text.size;

    entries = dx_array_room(s->entries, s->count, &s->capacity, sizeof *entries);
    if (entries == NULL)
        return dx_no_memory(err, "rows of a CDX answer");
    s->entries = entries;
    put_row(s, columns);
    if (s->text.failed)
        return dx_buf_fail(&s->text, err, "rows of a CDX answer");
    s->entries[s->count] = (struct dx_cdx_entry){ s->group, timestamp, number, at };
    if (is_before(s, at, timestamp, number) ||
        (s->bound > 0 && compare(&s->entries[s->count], &s->entries[s->bound - 1], s) > 0)) {
        s->text.size = at; /* or behind what is kept */
        return DX_OK;
    }
    s->count++;
    if ((s->count / 2 > s->keep && s->count - 2 * s->keep > SPARE) || bytes_of(s) > s->bytes_max)
        return sort(s, err);
    return DX_OK;
}

int dx_cdx_select_trim(struct dx_cdx_select *s, struct dx_error *err)
{
    return s->count > s->keep ? sort(s, err) : DX_OK;
}

int dx_cdx_select_end(struct dx_cdx_select *s, struct dx_error *err)
{
    return sort(s, err);
}

uint64_t dx_cdx_select_row(const struct dx_cdx_select *s, size_t i, struct dx_span *columns)
{
    assert(i < s->count);
    columns_at(&s->text, s->entries[i].at, columns);
    return s->entries[i].timestamp;
}

int dx_cdx_select_again(struct dx_cdx_select *s, struct dx_error *err)
{
    const struct dx_cdx_entry *last = &s->entries[s->count - 1];
    struct dx_span key = column_at(&s->text, last->at, DX_CDX_URLKEY);

    assert(s->cut && s->count > 0);
    dx_buf_clear(&s->from_key);
    dx_buf_clear(&s->from_text);
    dx_buf_append(&s->from_key, key.data, key.size);
    dx_buf_append(&s->from_text, s->text.data + last->at, entry_size(s, last->at));
    if (s->from_key.failed || s->from_text.failed)
        return dx_no_memory(err, "rows of a CDX answer");
    s->from_set = s->after_row = true;
    s->from_timestamp = last->timestamp;
    s->from_number = last->number;
    s->from_group = last->group;
    s->count = s->bound = 0;
    s->cut = false;
    dx_buf_clear(&s->text);
    return DX_OK;
}

int dx_cdx_select_behind(struct dx_cdx_select *s, struct dx_span bound, struct dx_error *err)
{
    dx_buf_clear(&s->from_key);
    dx_buf_append(&s->from_key, bound.data, bound.size);
    if (s->from_key.failed)
        return dx_no_memory(err, "rows of a CDX answer");
    s->from_set = true;
    s->after_row = s->from_rest = s->cut = false;
    s->from_timestamp = s->from_number = s->from_group = 0;
    s->count = s->bound = 0;
    dx_buf_clear(&s->text);
    return DX_OK;
}
