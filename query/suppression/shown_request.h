/* SPDX-License-Identifier: Apache-2.0
 * shown_request.h - whether a row that is shown may also show the URL that it was requested by.
 *
 *   struct dx_shown_request s;
 *   dx_shown_request_init(&s, v);                         v: whose suppressions hold; NULL: none do
 *   rc = dx_shown_request_text(&s, text, &err);           1; 0: a rule hides this URL; <0: unknown
 *   rc = dx_shown_request_locator(&s, &row, &err);        the same of the record that its locator leads to
 *   dx_shown_request_release(&s);
 *
 * A row is hidden by its canonical URL. The raw URL, the requested one and the record may name another one. Of a row for
 * dx_shown_request_locator the columns of DX_FIELD_LOCATOR were read. One thread at a time.
 */
#ifndef DX_QUERY_SUPPRESSION_SHOWN_REQUEST_H
#define DX_QUERY_SUPPRESSION_SHOWN_REQUEST_H

#include "base/bytes.h"
#include "base/error.h"

struct dx_canon;
struct dx_listing_row;
struct dx_version;

struct dx_shown_request {
    struct dx_version *version;
    struct dx_canon *canon; /* once it is needed */
};

void dx_shown_request_init(struct dx_shown_request *s, struct dx_version *v);
int dx_shown_request_text(struct dx_shown_request *s, struct dx_span text, struct dx_error *err);
int dx_shown_request_locator(struct dx_shown_request *s, const struct dx_listing_row *row,
                             struct dx_error *err);
void dx_shown_request_release(struct dx_shown_request *s);

#endif
