/* SPDX-License-Identifier: Apache-2.0
 * row_term.h - one term of filter=: "[!][=|~]field:value".
 *
 *   why = dx_row_term_parse(text, &term);           NULL; else what is wrong. Spans borrow from text
 *   has = dx_row_term_value(&term, &row, &scratch, &value);      false: the row has no such value, or a null
 *
 *   name:value       the row's extra of this name is the value, byte by byte
 *   =field:value     the same of a field: url, host, path (with the query), ts, mime (content_type), lang (language), else an extra
 *   ~field:regex     the regular expression matches somewhere in it (query/view/regex.h); ^ and $ stand for its ends
 *   !...             it is not so, or the row has no such value
 *
 * The text of a ts is that of an answer: 2019-07-04T10:20:30Z. Nothing is selected by requested_url and locator, which rules may hide in a row that is
 * shown. Pure; any thread.
 */
#ifndef DX_QUERY_ROWS_ROW_TERM_H
#define DX_QUERY_ROWS_ROW_TERM_H

#include "base/bytes.h"

struct dx_buf;
struct dx_listing_row;

enum dx_row_term_field {
    DX_ROW_TERM_EXTRA,
    DX_ROW_TERM_URL,
    DX_ROW_TERM_HOST,
    DX_ROW_TERM_PATH,
    DX_ROW_TERM_TS
};

struct dx_row_term {
    bool is_not, is_regex;
    enum dx_row_term_field field;
    struct dx_span name; /* of the extra */
    struct dx_span value;
};

const char *dx_row_term_parse(struct dx_span text, struct dx_row_term *term);
bool dx_row_term_value(const struct dx_row_term *term, const struct dx_listing_row *row,
                       struct dx_buf *scratch, struct dx_span *value);

#endif
