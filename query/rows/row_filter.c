/* SPDX-License-Identifier: Apache-2.0 */
#include "query/rows/row_filter.h"

#include "base/buf.h"
#include "format/version/tag_list.h"
#include "format/version/tags.h"
#include "query/rows/listing.h"
#include "query/view/fields.h"
#include "query/view/problem.h"

enum { PARTS = 3 };

/* ---- what may be asked ---- */

static int refused(struct dx_problem *problem, const char *name, const char *why)
{
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                          "%s: %s", name, why);
}

static bool is_word_character(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && strchr("!#$&-^_.+", c) != NULL);
}

/* Characters of a name as RFC 6838 has them. */
static bool is_word(struct dx_span s)
{
    for (size_t i = 0; i < s.size; i++)
        if (!is_word_character(s.data[i]))
            return false;
    return s.size > 0;
}

static struct dx_span before_slash(struct dx_span type)
{
    const uint8_t *slash = type.size == 0 ? NULL : memchr(type.data, '/', type.size);

    return dx_span_of(type.data, slash == NULL ? type.size : (size_t)(slash - type.data));
}

static struct dx_span behind_slash(struct dx_span type)
{
    size_t n = before_slash(type).size;

    return n == type.size ? dx_span_of(NULL, 0) : dx_span_of(type.data + n + 1, type.size - n - 1);
}

static bool is_mime(struct dx_span s)
{
    struct dx_span sub = behind_slash(s);

    return is_word(before_slash(s)) && (dx_span_equal(sub, dx_span_str("*")) || is_word(sub));
}

int dx_row_filter_check(const struct dx_row_filter *f, struct dx_problem *problem)
{
    if (f->tag.data != NULL && !dx_tag_fits(f->tag))
        return refused(problem, "tag",
                       "a tag is a text in UTF-8 without control characters, and not empty");
    if (f->mime.data != NULL && !is_mime(f->mime))
        return refused(
            problem, "mime",
            "a media type is two names with a slash between, as text/html, or text/* for "
            "all of that kind; it has no parameters");
    if (f->prefix.data != NULL && (f->prefix.size == 0 || f->prefix.data[0] != '/'))
        return refused(problem, "prefix", "a path begins with a slash");
    if (f->tag.size + f->mime.size + f->prefix.size > DX_ROW_FILTER_TEXT)
        return refused(problem, "tag, mime, prefix", "together they have over 500 bytes");
    return 1;
}

/* ---- what a row is ---- */

unsigned dx_row_filter_fields(const struct dx_row_filter *f)
{
    return (f->tag.data != NULL ? DX_FIELD_TAGS : 0u) |
           (f->mime.data != NULL ? DX_FIELD_CONTENT_TYPE : 0u) |
           (f->prefix.data != NULL ? DX_FIELD_URL : 0u);
}

/* The first of this name; data NULL: it has none. */
static struct dx_span extra(const struct dx_listing_row *row, const char *name)
{
    for (size_t i = 0; i < row->extra_count; i++)
        if (dx_span_equal(row->extra[i].name, dx_span_str(name)))
            return row->extra[i].value;
    return dx_span_of(NULL, 0);
}

static bool has_tag(struct dx_span tags, struct dx_span tag, struct dx_buf *scratch)
{
    struct dx_tag_list all;
    bool found = false;
    int rc;

    /* Without escapes a tag that is there stands there as it is. */
    if (tags.size == 0 || (memchr(tags.data, '\\', tags.size) == NULL &&
                           memmem(tags.data, tags.size, tag.data, tag.size) == NULL))
        return false;
    dx_tag_list_begin(&all, tags);
    while ((rc = dx_tag_list_next(&all, scratch)) == 1)
        found = found || dx_span_equal(dx_span_of(scratch->data, scratch->size), tag);
    return rc == 0 && found;
}

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t';
}

static struct dx_span without_parameters(struct dx_span type)
{
    const uint8_t *semicolon = type.size == 0 ? NULL : memchr(type.data, ';', type.size);

    if (semicolon != NULL)
        type.size = (size_t)(semicolon - type.data);
    while (type.size > 0 && is_space(type.data[type.size - 1]))
        type.size--;
    while (type.size > 0 && is_space(type.data[0]))
        type = dx_span_of(type.data + 1, type.size - 1);
    return type;
}

static uint8_t lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c;
}

static bool same_word(struct dx_span a, struct dx_span b)
{
    size_t i = 0;

    while (a.size == b.size && i < a.size && lower(a.data[i]) == lower(b.data[i]))
        i++;
    return a.size == b.size && i == a.size;
}

static bool is_of_type(struct dx_span type, struct dx_span mime)
{
    if (type.data == NULL)
        return false;
    type = without_parameters(type);
    if (!dx_span_equal(behind_slash(mime), dx_span_str("*")))
        return same_word(type, mime);
    return behind_slash(type).size > 0 && same_word(before_slash(type), before_slash(mime));
}

enum dx_row_side dx_row_filter_side(const struct dx_row_filter *f, struct dx_span path_query)
{
    size_t n = f->prefix.size < path_query.size ? f->prefix.size : path_query.size;
    int order = n == 0 ? 0 : memcmp(path_query.data, f->prefix.data, n);

    if (order == 0)
        return n == f->prefix.size ? DX_ROW_WITHIN : DX_ROW_BEFORE;
    return order < 0 ? DX_ROW_BEFORE : DX_ROW_BEHIND;
}

bool dx_row_filter_takes(const struct dx_row_filter *f, const struct dx_listing_row *row,
                         struct dx_buf *scratch)
{
    return (f->prefix.data == NULL || dx_row_filter_side(f, row->path_query) == DX_ROW_WITHIN) &&
           (f->mime.data == NULL || is_of_type(extra(row, "content_type"), f->mime)) &&
           (f->tag.data == NULL || has_tag(extra(row, DX_TAGS_COLUMN), f->tag, scratch));
}

/* ---- packed: u16 size of each, 0 if it is not asked, and its bytes ---- */

size_t dx_row_filter_pack(const struct dx_row_filter *f, uint8_t out[DX_ROW_FILTER_MAX])
{
    const struct dx_span parts[PARTS] = { f->tag, f->mime, f->prefix };
    size_t n = 0;

    if (!dx_row_filter_any(f))
        return 0;
    for (unsigned i = 0; i < PARTS; i++) {
        out[n++] = (uint8_t)(parts[i].size & 0xff);
        out[n++] = (uint8_t)(parts[i].size >> 8);
        if (parts[i].size > 0)
            memcpy(out + n, parts[i].data, parts[i].size);
        n += parts[i].size;
    }
    return n;
}

bool dx_row_filter_unpack(struct dx_span packed, struct dx_row_filter *f)
{
    struct dx_span *const parts[PARTS] = { &f->tag, &f->mime, &f->prefix };
    struct dx_bytes r = dx_bytes_of(packed);

    *f = (struct dx_row_filter){ .tag = { NULL, 0 } };
    for (unsigned i = 0; packed.size > 0 && i < PARTS; i++) {
        uint16_t size = dx_bytes_u16(&r);
        struct dx_span part = dx_bytes_take(&r, size);

        if (size > 0)
            *parts[i] = part;
    }
    return !r.failed && dx_bytes_left(&r) == 0;
}
