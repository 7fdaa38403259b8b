/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/row_ask.h"

#include "fetch/object_url.h"
#include "query/view/fields.h"
#include "server/http/accept.h"
#include "server/routes/route.h"

#include <assert.h>

#define HTML "text/html"

/* By the number of the bit, as dx_field_names. */
static const enum dx_column_type field_types[DX_FIELD_COUNT] = {
    DX_COLUMN_HEX64, DX_COLUMN_TEXT, DX_COLUMN_TIME, DX_COLUMN_TEXT, DX_COLUMN_JSON,
    DX_COLUMN_TEXT,  DX_COLUMN_TEXT, DX_COLUMN_JSON, DX_COLUMN_TEXT
};

/* ---- which format ---- */

static bool gives(const struct dx_route_rows *rows, enum dx_row_format format)
{
    return rows->urls || !dx_row_formats[format].of_urls;
}

bool dx_row_accept_is_plain(struct dx_span accept)
{
    int json;

    if (accept.size == 0 || dx_span_equal(accept, dx_span_str("*/*")))
        return true;
    json = dx_accept_weight(accept, "application/json");
    if (dx_accept_weight(accept, HTML) > json)
        return false;
    for (size_t f = DX_ROWS_JSON + 1; f < DX_ROW_FORMAT_COUNT; f++)
        if (dx_accept_weight(accept, dx_row_formats[f].media) > json)
            return false;
    return true;
}

/* JSON before all that weigh the same; also where a client takes nothing that there is. */
static void choose_format(const struct dx_route_rows *rows, struct dx_span accept, bool web,
                          struct dx_ask *ask)
{
    int best = dx_accept_weight(accept, "application/json");

    for (size_t f = DX_ROWS_JSON + 1; f < DX_ROW_FORMAT_COUNT; f++) {
        int weight = dx_accept_weight(accept, dx_row_formats[f].media);

        if (weight <= best || !gives(rows, (enum dx_row_format)f))
            continue;
        best = weight;
        ask->row_format = (enum dx_row_format)f;
    }
    if (web && rows->page != NULL && dx_accept_weight(accept, HTML) > best) {
        ask->row_format = DX_ROWS_JSON;
        ask->wants_page = true;
    }
}

int dx_row_ask_choose(struct dx_ask *ask, struct dx_span accept, bool web,
                      struct dx_problem *problem)
{
    const struct dx_route_rows *rows = dx_route_rows_of(ask);

    if (dx_routes[ask->route]->choose != NULL)
        dx_routes[ask->route]->choose(accept, ask);
    if (rows == NULL)
        return 1;
    if (!ask->row_format_given && !dx_row_accept_is_plain(accept))
        choose_format(rows, accept, web, ask);
    ask->row_limit = ask->limit_given ? ask->page.limit : INT64_MAX;
    if (ask->row_format != DX_ROWS_JSON && ask->plan > 0)
        return dx_route_refuse(problem,
                               "a plan is JSON: format goes with the cursors that it gives");
    if (!gives(rows, ask->row_format))
        return dx_route_refuse(problem, "format %s is of URLs: it goes with of=urls",
                               dx_row_formats[ask->row_format].word);
    if (dx_row_formats[ask->row_format].of_urls && ask->fields.data != NULL)
        return dx_route_refuse(problem, "format %s has columns of its own: it takes no fields",
                               dx_row_formats[ask->row_format].word);
    return 1;
}

void dx_row_ask_need(struct dx_ask *ask)
{
    if (ask->row_format == DX_ROWS_URLS)
        ask->field_bits = DX_FIELD_URL;
    else if (dx_row_formats[ask->row_format].of_urls)
        ask->field_bits = DX_FIELD_URL | DX_FIELD_TS | DX_FIELD_RAW_URL | DX_FIELD_EXTRAS |
                          DX_FIELD_CONTENT_TYPE | DX_FIELD_LOCATOR;
}

bool dx_row_ask_page(const struct dx_ask *ask, struct dx_buf *path)
{
    dx_buf_str(path, "/#/");
    dx_route_fill(dx_routes[ask->route]->rows->page, ask, path);
    if (ask->version.data != NULL) {
        dx_buf_str(path, "?v=");
        dx_url_encode_span(path, ask->version, false);
    }
    dx_buf_u8(path, '\0');
    return !path->failed;
}

/* ---- rows ---- */

/* Not what `fields` names and leaves out. The first column of a table, which its rows are known by, is always
 * there. */
static bool is_wanted(const struct dx_ask *ask, const char *name)
{
    const struct dx_route_fields *fields = dx_routes[ask->route]->fields;

    if (dx_routes[ask->route] == &dx_route_domain && strcmp(name, "domain_count") == 0)
        return ask->view_icann; /* of one domain it would be empty */
    for (size_t i = 0; fields != NULL && i < fields->count; i++)
        if (strcmp(fields->names[i], name) == 0)
            return (ask->field_bits >> i & 1) != 0;
    return true;
}

size_t dx_row_ask_columns(const struct dx_ask *ask,
                          struct dx_row_column columns[DX_ROW_COLUMNS_MAX])
{
    const struct dx_route_rows *rows = dx_route_rows_of(ask);
    size_t count = 0;

    for (size_t i = 0; rows->urls && i < DX_FIELD_COUNT; i++)
        if ((ask->field_bits >> i & 1) != 0)
            columns[count++] = (struct dx_row_column){ dx_field_names[i], field_types[i] };
    assert(count + rows->column_count <= DX_ROW_COLUMNS_MAX);
    for (size_t i = 0; i < rows->column_count; i++)
        if (rows->urls || i == 0 || is_wanted(ask, rows->columns[i].name))
            columns[count++] = rows->columns[i];
    return count;
}

/* What the cursor of a page says is as good as what a client's says, but for its age: a stream lasts as
 * long as its client takes it, and holds the version meanwhile. */
int dx_row_ask_continue(const struct dx_answers *answers, struct dx_ask *ask,
                        const struct dx_json_next *next, struct dx_problem *problem)
{
    const struct dx_route *route = dx_routes[ask->route];
    int rc;

    if (next->cursor.data == NULL) {
        ask->page.offset = next->offset;
        return 1;
    }
    rc = dx_cursor_read(next->cursor, &answers->cursor_key, ask->principal, &ask->from, problem);
    if (rc != 1)
        return rc;
    ask->cursor = dx_span_str("-"); /* there is one; what it says is in ask->from */
    ask->page.offset = 0;
    return route->take_cursor == NULL ? 1 : route->take_cursor(ask, problem);
}
