/* SPDX-License-Identifier: Apache-2.0
 * row_ask.h - rows of an answer in another format than JSON: which one, and page after page.
 *
 *   if (dx_row_accept_is_plain(accept)) ...          no other format can follow from this field
 *   rc = dx_row_ask_choose(&ask, accept, web, &problem);   sets ask->row_format; accept: value of the field, size 0: none
 *   if (dx_row_ask_page(&ask, &path)) ...            ask->wants_page: where the web page shows it
 *
 *   n = dx_row_ask_columns(&ask, columns);           behind dx_ask_resolve
 *   rc = dx_row_ask_continue(&answers, &ask, &next, &problem);    ask goes on there, in the same version
 *
 * Of routes that say what their rows are (struct dx_route_rows). Pure; any thread.
 */
#ifndef DX_SERVER_ROUTES_ROW_ASK_H
#define DX_SERVER_ROUTES_ROW_ASK_H

#include "base/buf.h"
#include "query/formats/json_rows.h"
#include "query/formats/row_columns.h"
#include "server/routes/answers.h"

bool dx_row_accept_is_plain(struct dx_span accept);
int dx_row_ask_choose(struct dx_ask *ask, struct dx_span accept, bool web,
                      struct dx_problem *problem);
bool dx_row_ask_page(const struct dx_ask *ask, struct dx_buf *path);

/* Of a format with columns of its own: those are read. Behind dx_ask_resolve. */
void dx_row_ask_need(struct dx_ask *ask);
size_t dx_row_ask_columns(const struct dx_ask *ask,
                          struct dx_row_column columns[DX_ROW_COLUMNS_MAX]);
int dx_row_ask_continue(const struct dx_answers *answers, struct dx_ask *ask,
                        const struct dx_json_next *next, struct dx_problem *problem);

#endif
