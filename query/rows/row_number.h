/* SPDX-License-Identifier: Apache-2.0
 * row_number.h - the domain64 of the rows of a domain.
 *
 *   struct dx_row_number r;
 *   dx_row_number_begin(&r, numbers, domain, number);        number: of the domain. Both are borrowed
 *   r.within = &range;
 *   rc = dx_row_number_within(&r, &row, &err);               1: it has one in the range, r.key; 0; <0
 *   dx_row_number_end(&r);                                   also of one that is all zero
 *
 * Rows of a listing come host by host mostly, so the last host is remembered. One thread.
 */
#ifndef DX_QUERY_ROWS_ROW_NUMBER_H
#define DX_QUERY_ROWS_ROW_NUMBER_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"

struct dx_domain64_range;
struct dx_domain64_registry;
struct dx_listing_row;

struct dx_row_number {
    const struct dx_domain64_registry *numbers;
    struct dx_span domain;
    uint64_t number;
    const struct dx_domain64_range *within; /* borrowed */
    uint64_t key;

    /* private */
    struct dx_buf subdomain; /* the last one */
    uint64_t subdomain_number;
    int subdomain_rc;
    bool any;
};

void dx_row_number_begin(struct dx_row_number *r, const struct dx_domain64_registry *numbers,
                         struct dx_span domain, uint64_t number);
int dx_row_number_within(struct dx_row_number *r, const struct dx_listing_row *row,
                         struct dx_error *err);
void dx_row_number_end(struct dx_row_number *r);

#endif
