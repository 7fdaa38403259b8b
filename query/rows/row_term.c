/* SPDX-License-Identifier: Apache-2.0 */
#include "query/rows/row_term.h"

#include "base/buf.h"
#include "base/civil_time.h"
#include "format/text/locator.h"
#include "format/version/url_ids.h"
#include "query/rows/listing.h"

static struct dx_span without_first(struct dx_span s)
{
    return dx_span_of(s.data + 1, s.size - 1);
}

static bool begins_with(struct dx_span s, char c)
{
    return s.size > 0 && s.data[0] == (uint8_t)c;
}

/* What a name behind an operator means. */
static void set_field(struct dx_row_term *t)
{
    static const struct {
        const char *name;
        enum dx_row_term_field field;
        const char *extra;
    } fields[] = { { "url", DX_ROW_TERM_URL, NULL },
                   { "host", DX_ROW_TERM_HOST, NULL },
                   { "path", DX_ROW_TERM_PATH, NULL },
                   { "ts", DX_ROW_TERM_TS, NULL },
                   { "mime", DX_ROW_TERM_EXTRA, "content_type" },
                   { "lang", DX_ROW_TERM_EXTRA, "language" } };

    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (!dx_span_equal(t->name, dx_span_str(fields[i].name)))
            continue;
        t->field = fields[i].field;
        if (fields[i].extra != NULL)
            t->name = dx_span_str(fields[i].extra);
        return;
    }
}

const char *dx_row_term_parse(struct dx_span text, struct dx_row_term *term)
{
    const uint8_t *colon;
    bool operator;

    *term = (struct dx_row_term){ .is_not = begins_with(text, '!') };
    if (term->is_not)
        text = without_first(text);
    term->is_regex = begins_with(text, '~');
    operator= term->is_regex || begins_with(text, '=');
    if (operator)
        text = without_first(text);
    colon = text.size == 0 ? NULL : memchr(text.data, ':', text.size);
    if (colon == NULL || colon == text.data)
        return "write the name of an extra, a colon and its value, as digest:ABC, or !digest:ABC; "
               "or "
               "a field and a regular expression, as ~url:[.]pdf$";
    term->name = dx_span_of(text.data, (size_t)(colon - text.data));
    term->value = dx_span_of(colon + 1, text.size - term->name.size - 1);
    if (operator)
        set_field(term);
    if (term->field == DX_ROW_TERM_EXTRA &&
        (dx_span_equal(term->name, dx_span_str(DX_REQUESTED_URL)) ||
         dx_span_equal(term->name, dx_span_str(DX_LOCATOR_COLUMN))))
        return "no rows are selected by requested_url or locator";
    return NULL;
}

static bool url_of(const struct dx_listing_row *row, struct dx_buf *scratch, struct dx_span *value)
{
    dx_buf_clear(scratch);
    dx_buf_append(scratch, row->scheme.data, row->scheme.size);
    dx_buf_str(scratch, "://");
    dx_buf_append(scratch, row->host.data, row->host.size);
    dx_buf_append(scratch, row->path_query.data, row->path_query.size);
    *value = dx_span_of(scratch->data, scratch->size);
    return true;
}

static bool ts_of(const struct dx_listing_row *row, struct dx_buf *scratch, struct dx_span *value)
{
    char text[DX_CIVIL_TEXT];

    if (!row->has_ts)
        return false;
    dx_buf_clear(scratch);
    dx_buf_append(scratch, text, dx_civil_text_us(row->ts_us, text));
    *value = dx_span_of(scratch->data, scratch->size);
    return true;
}

static bool extra_of(const struct dx_row_term *term, const struct dx_listing_row *row,
                     struct dx_span *value)
{
    *value = dx_listing_extra(row, term->name);
    return value->data != NULL;
}

bool dx_row_term_value(const struct dx_row_term *term, const struct dx_listing_row *row,
                       struct dx_buf *scratch, struct dx_span *value)
{
    switch (term->field) {
    case DX_ROW_TERM_URL:
        return url_of(row, scratch, value);
    case DX_ROW_TERM_HOST:
        *value = row->host;
        return true;
    case DX_ROW_TERM_PATH:
        *value = row->path_query;
        return true;
    case DX_ROW_TERM_TS:
        return ts_of(row, scratch, value);
    default:
        return extra_of(term, row, value);
    }
}
