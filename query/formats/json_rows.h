/* SPDX-License-Identifier: Apache-2.0
 * json_rows.h - the rows of a JSON answer as spans of its text, and how the answer goes on.
 *
 *   rc = dx_json_rows_open(&rows, body, "items", &err);      the array of that name
 *   while ((rc = dx_json_rows_next(&rows, &row, &err)) == 1)
 *       ...                                                  row: "{...}"
 *   rc = dx_json_rows_end(&rows, &next, &err);               members behind it
 *
 *   dx_json_members_begin(&m, row);
 *   while ((rc = dx_json_members_next(&m, &name, &value, &err)) == 1)
 *       ...                                                  both as they are written, name without its quotes
 *   ok = dx_json_plain(value, &scratch, &text);              the text of a string; false: it is none
 *
 * Of the answers of this program: the structure is checked as far as it is walked, and what does not
 * hold is DX_E_CORRUPT. Spans lie in the body, or in scratch. One thread.
 */
#ifndef DX_QUERY_FORMATS_JSON_ROWS_H
#define DX_QUERY_FORMATS_JSON_ROWS_H

#include "base/buf.h"
#include "base/bytes.h"

struct dx_json_rows {
    const uint8_t *at, *end;
    bool any; /* a row came before */
};

struct dx_json_next {
    struct dx_span cursor; /* text of next_cursor; data NULL: null, or not there */
    bool has_offset;
    uint64_t offset;
};

int dx_json_rows_open(struct dx_json_rows *r, struct dx_span body, const char *member,
                      struct dx_error *err);
int dx_json_rows_next(struct dx_json_rows *r, struct dx_span *row, struct dx_error *err);
int dx_json_rows_end(struct dx_json_rows *r, struct dx_json_next *next, struct dx_error *err);

struct dx_json_members {
    const uint8_t *at, *end;
};

void dx_json_members_begin(struct dx_json_members *m, struct dx_span object);
int dx_json_members_next(struct dx_json_members *m, struct dx_span *name, struct dx_span *value,
                         struct dx_error *err);

/* scratch: where a text with escapes is put, behind what it holds; the span is of its place now. */
bool dx_json_plain(struct dx_span value, struct dx_buf *scratch, struct dx_span *text);

#endif
