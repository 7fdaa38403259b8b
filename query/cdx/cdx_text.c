/* SPDX-License-Identifier: Apache-2.0 */
#include "query/cdx/cdx_text.h"

#include <assert.h>
#include <stdio.h>

#include "base/civil_time.h"
#include "base/json_out.h"

/* Members of an object, as Common Crawl has them. */
static const enum dx_cdx_column members[] = {
    DX_CDX_URLKEY,      DX_CDX_TIMESTAMP,     DX_CDX_ORIGINAL,   DX_CDX_MIME,
    DX_CDX_STATUS,      DX_CDX_DIGEST,        DX_CDX_LENGTH,     DX_CDX_OFFSET,
    DX_CDX_FILENAME,    DX_CDX_REDIRECT,      DX_CDX_ROBOTFLAGS, DX_CDX_ORIG_LENGTH,
    DX_CDX_ORIG_OFFSET, DX_CDX_ORIG_FILENAME,
};
#define MEMBERS (sizeof members / sizeof *members)

void dx_cdx_text_begin(struct dx_cdx_text *t, const struct dx_cdx_ask *ask, struct dx_buf *out)
{
    *t = (struct dx_cdx_text){ ask, out, 0 };
}

static void put_quoted(struct dx_buf *out, struct dx_span s)
{
    dx_buf_u8(out, '"');
    dx_json_escape(out, s);
    dx_buf_u8(out, '"');
}

static struct dx_span or_dash(struct dx_span value)
{
    return value.data == NULL ? dx_span_str("-") : value;
}

/* The i-th of a line or array, and its name; false: there are no more. */
static bool nth(const struct dx_cdx_ask *ask, size_t i, enum dx_cdx_column *column,
                struct dx_span *name)
{
    size_t usual = DX_CDX_USUAL + (ask->resolve_revisits ? 3 : 0);

    if (ask->field_count > 0) {
        *column = i < ask->field_count ? ask->fields[i].column : DX_CDX_NONE;
        *name = i < ask->field_count ? ask->fields[i].name : dx_span_of(NULL, 0);
        return i < ask->field_count;
    }
    *column = (enum dx_cdx_column)(i < DX_CDX_USUAL ? i : DX_CDX_ORIG_LENGTH + i - DX_CDX_USUAL);
    if (i < usual)
        *name = dx_span_str(dx_cdx_column_name(*column, ask->dialect));
    return i < usual;
}

static struct dx_span value_of(const struct dx_span *columns, enum dx_cdx_column column)
{
    return column == DX_CDX_NONE ? dx_span_of(NULL, 0) : columns[column];
}

/* ---- lines ---- */

static void put_words(const struct dx_cdx_ask *ask, const struct dx_span *columns,
                      struct dx_buf *out)
{
    enum dx_cdx_column column;
    struct dx_span name;

    for (size_t i = 0; nth(ask, i, &column, &name); i++) {
        struct dx_span value = or_dash(value_of(columns, column));

        if (i > 0)
            dx_buf_u8(out, ' ');
        dx_buf_append(out, value.data, value.size);
    }
    dx_buf_u8(out, '\n');
}

/* Of pywb with resolveRevisits: the values that there are. */
static void put_present(const struct dx_span *columns, struct dx_buf *out)
{
    for (size_t i = 0, n = 0; i < MEMBERS; i++) {
        struct dx_span value = columns[members[i]];

        if (value.data == NULL && members[i] < DX_CDX_ORIG_LENGTH)
            continue;
        if (n++ > 0)
            dx_buf_u8(out, ' ');
        value = or_dash(value);
        dx_buf_append(out, value.data, value.size);
    }
    dx_buf_u8(out, '\n');
}

/* ---- objects ---- */

static void put_member(struct dx_buf *out, size_t *count, struct dx_span name, struct dx_span value)
{
    if ((*count)++ > 0)
        dx_buf_str(out, ", ");
    put_quoted(out, name);
    dx_buf_str(out, ": ");
    put_quoted(out, value);
}

/* first: of members, without the fields that stand in front of it. */
static void put_object(const struct dx_cdx_ask *ask, const struct dx_span *columns, size_t first,
                       bool all, struct dx_buf *out)
{
    size_t count = 0;

    dx_buf_u8(out, '{');
    for (size_t i = 0; !all && i < ask->field_count; i++) {
        struct dx_span value = value_of(columns, ask->fields[i].column);

        if (value.data != NULL && ask->fields[i].column >= first)
            put_member(out, &count, ask->fields[i].name, value);
    }
    for (size_t i = first; (all || ask->field_count == 0) && i < MEMBERS; i++) {
        struct dx_span value = columns[members[i]];

        if (value.data != NULL)
            put_member(out, &count, dx_span_str(dx_cdx_column_name(members[i], ask->dialect)),
                       value);
    }
    dx_buf_u8(out, '}');
}

static void put_cdxj(const struct dx_cdx_ask *ask, const struct dx_span *columns, bool all,
                     struct dx_buf *out)
{
    dx_buf_append(out, columns[DX_CDX_URLKEY].data, columns[DX_CDX_URLKEY].size);
    dx_buf_u8(out, ' ');
    dx_buf_append(out, columns[DX_CDX_TIMESTAMP].data, columns[DX_CDX_TIMESTAMP].size);
    dx_buf_u8(out, ' ');
    put_object(ask, columns, DX_CDX_ORIGINAL, all, out);
}

void dx_cdx_text_line(const struct dx_cdx_ask *ask, const struct dx_span *columns,
                      struct dx_buf *out)
{
    put_cdxj(ask, columns, true, out);
}

/* ---- links ---- */

#define BETWEEN_LINKS ",\n"

/* "; datetime="Fri, 14 Jun 2024 08:15:30 GMT"" */
static void put_datetime(struct dx_span timestamp, struct dx_buf *out)
{
    const char *t = (const char *)timestamp.data;
    char iso[DX_CIVIL_TEXT];
    char date[DX_HTTP_DATE_TEXT];
    int64_t us;

    if (timestamp.size != 14) /* it has no time */
        return;
    (void)snprintf(iso, sizeof iso, "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", t, t + 4, t + 6, t + 8,
                   t + 10, t + 12);
    if (!dx_civil_parse(dx_span_str(iso), &us))
        return;
    dx_http_date((time_t)(us / 1000000), date);
    dx_buf_fmt(out, "; datetime=\"%s\"", date);
}

static void put_link(const struct dx_span *columns, struct dx_buf *out)
{
    dx_buf_u8(out, '<');
    dx_buf_append(out, columns[DX_CDX_ORIGINAL].data, columns[DX_CDX_ORIGINAL].size);
    dx_buf_str(out, ">; rel=\"memento\"");
    put_datetime(columns[DX_CDX_TIMESTAMP], out);
}

/* ---- arrays ---- */

static void put_header(const struct dx_cdx_ask *ask, struct dx_buf *out)
{
    enum dx_cdx_column column;
    struct dx_span name;

    dx_buf_str(out, "[[");
    for (size_t i = 0; nth(ask, i, &column, &name); i++) {
        if (i > 0)
            dx_buf_u8(out, ',');
        put_quoted(out, name);
    }
    dx_buf_u8(out, ']');
}

static void put_array(const struct dx_cdx_ask *ask, const struct dx_span *columns,
                      struct dx_buf *out)
{
    enum dx_cdx_column column;
    struct dx_span name;

    dx_buf_str(out, ",\n[");
    for (size_t i = 0; nth(ask, i, &column, &name); i++) {
        if (i > 0)
            dx_buf_str(out, ", ");
        put_quoted(out, or_dash(value_of(columns, column)));
    }
    dx_buf_u8(out, ']');
}

/* ---- an answer ---- */

static bool in_arrays(const struct dx_cdx_ask *ask)
{
    return ask->dialect == DX_CDX_WAYBACK && ask->output == DX_CDX_JSON;
}

void dx_cdx_text_row(struct dx_cdx_text *t, const struct dx_span *columns)
{
    const struct dx_cdx_ask *ask = t->ask;

    if (t->rows++ == 0 && in_arrays(ask))
        put_header(ask, t->out);
    if (in_arrays(ask)) {
        put_array(ask, columns, t->out);
    } else if (ask->output == DX_CDX_LINK) {
        if (t->rows > 1)
            dx_buf_str(t->out, BETWEEN_LINKS);
        put_link(columns, t->out);
    } else if (ask->output == DX_CDX_JSON) {
        put_object(ask, columns, 0, false, t->out);
        dx_buf_u8(t->out, '\n');
    } else if (ask->output == DX_CDX_TEXT &&
               (ask->dialect == DX_CDX_WAYBACK || ask->field_count > 0)) {
        put_words(ask, columns, t->out);
    } else if (ask->output == DX_CDX_TEXT && ask->resolve_revisits) {
        put_present(columns, t->out);
    } else {
        put_cdxj(ask, columns, ask->output == DX_CDX_TEXT, t->out);
        dx_buf_u8(t->out, '\n');
    }
}

void dx_cdx_text_piece(struct dx_cdx_text *t, struct dx_span row)
{
    size_t skip = t->rows == 0 && t->ask->output == DX_CDX_LINK ? sizeof BETWEEN_LINKS - 1 : 0;

    if (t->rows++ == 0 && in_arrays(t->ask))
        put_header(t->ask, t->out);
    dx_buf_append(t->out, row.data + skip, row.size - skip);
}

void dx_cdx_text_end(struct dx_cdx_text *t, struct dx_span key)
{
    if (!in_arrays(t->ask)) {
        if (t->ask->output == DX_CDX_LINK && t->rows > 0)
            dx_buf_u8(t->out, '\n');
        if (key.size > 0) {
            dx_buf_u8(t->out, '\n');
            dx_buf_append(t->out, key.data, key.size);
            dx_buf_u8(t->out, '\n');
        }
        return;
    }
    if (t->rows == 0)
        dx_buf_u8(t->out, '[');
    if (key.size > 0) {
        dx_buf_str(t->out, t->rows == 0 ? "[],\n[" : ",\n[],\n[");
        put_quoted(t->out, key);
        dx_buf_u8(t->out, ']');
    }
    dx_buf_str(t->out, "]\n");
}

uint64_t dx_cdx_pages(const struct dx_cdx_ask *ask, uint64_t rows)
{
    uint64_t page = (uint64_t)ask->page_size * DX_CDX_BLOCK_ROWS;

    assert(page > 0); /* dx_cdx_query_parse refuses a pageSize of 0 */
    return rows / page + (rows % page > 0);
}

void dx_cdx_text_pages(const struct dx_cdx_ask *ask, uint64_t rows, struct dx_buf *out)
{
    unsigned long long pages = dx_cdx_pages(ask, rows);
    unsigned long long blocks = rows / DX_CDX_BLOCK_ROWS + (rows % DX_CDX_BLOCK_ROWS > 0);

    if (ask->dialect == DX_CDX_PYWB)
        dx_buf_fmt(out, "{\"pages\": %llu, \"pageSize\": %u, \"blocks\": %llu}\n", pages,
                   ask->page_size, blocks);
    else if (ask->output == DX_CDX_JSON)
        dx_buf_fmt(out, "[[\"numpages\"],\n[\"%llu\"]]\n", pages);
    else
        dx_buf_fmt(out, "%llu\n", pages);
}

const char *dx_cdx_text_type(const struct dx_cdx_ask *ask)
{
    if (ask->count_pages)
        return ask->dialect == DX_CDX_PYWB || ask->output == DX_CDX_JSON ? "application/json"
                                                                         : "text/plain";
    if (in_arrays(ask))
        return "application/json";
    if (ask->output == DX_CDX_LINK)
        return "application/link-format";
    if (ask->output == DX_CDX_JSON)
        return "text/x-ndjson";
    return ask->output == DX_CDX_CDXJ ? "text/x-cdxj" : "text/plain";
}
