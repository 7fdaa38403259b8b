/* SPDX-License-Identifier: Apache-2.0
 * top_rows.h - rows of a dataset's top domains as CSV or JSON.
 *
 *   dx_top_csv_head(&buf);                              rank,domain,url_count,share,page_count
 *   rc = dx_top_csv_row(&t, &row, &buf, &err);          RFC 4180: CRLF, quotes where they must be
 *   rc = dx_top_json_row(&t, &row, &buf, &err);         {"rank":1,"domain":"…","url_count":2,"share":0.5}
 *
 * What the API gives and what the command `top-domains` prints is the same text. Errors of the
 * buffer are left to its owner. Any thread.
 */
#ifndef DX_QUERY_ANSWERS_TOP_ROWS_H
#define DX_QUERY_ANSWERS_TOP_ROWS_H

#include "base/buf.h"

struct dx_top_domain;
struct dx_top_domains;

void dx_top_csv_head(struct dx_buf *out);
int dx_top_csv_row(const struct dx_top_domains *t, const struct dx_top_domain *row,
                   struct dx_buf *out, struct dx_error *err);
int dx_top_json_row(const struct dx_top_domains *t, const struct dx_top_domain *row,
                    struct dx_buf *out, struct dx_error *err);

#endif
