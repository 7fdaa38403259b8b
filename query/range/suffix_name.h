/* SPDX-License-Identifier: Apache-2.0
 * suffix_name.h - the name that a question about a suffix gives.
 *
 *   struct dx_suffix_name n;
 *   rc = dx_suffix_name_read(&n, canon, asked, &problem);      1; 0 "not-a-name"
 *   dx_suffix_name_json(&n, &j);                               members "suffix", "suffix_unicode" where it has one, "domain"
 *
 * Any name: a TLD, a public suffix, a domain. It is read as the host of a URL is, dots at its ends do not count. Spans lie in the
 * struct, which must not be moved. canon is needed for the call only. Any thread.
 */
#ifndef DX_QUERY_RANGE_SUFFIX_NAME_H
#define DX_QUERY_RANGE_SUFFIX_NAME_H

#include "base/bytes.h"
#include "canon/host.h"

struct dx_canon;
struct dx_json;
struct dx_problem;

struct dx_suffix_name {
    struct dx_span suffix; /* in lower case and A-labels */
    struct dx_span domain; /* registered domain that it is of; size 0: it is a public suffix */

    /* private */
    uint8_t text[DX_HOST_ROOM];
};

/* The name alone, in lower case and A-labels; *name lies in text. False: it is not one. */
bool dx_suffix_name_text(struct dx_span asked, uint8_t text[DX_HOST_ROOM], struct dx_span *name);
int dx_suffix_name_read(struct dx_suffix_name *n, struct dx_canon *canon, struct dx_span asked,
                        struct dx_problem *problem);
void dx_suffix_name_json(const struct dx_suffix_name *n, struct dx_json *j);

#endif
