/* SPDX-License-Identifier: Apache-2.0
 * domain64_print.h - the domain64 registry as text.
 *
 *   rc = dx_domain64_print_tree(numbers, out, &err);       {"01": {"name": "com", "children": {...}}}
 *   rc = dx_domain64_find(numbers, "com.jadud", &range, &err);       1; 0: it has no number
 *
 * All but find stream: memory does not grow with the registry. A failing `out` is the caller's to
 * see. Threads may share a registry, not a walk or an output.
 */
#ifndef DX_BUILDER_EXCHANGE_NUMBERS_DOMAIN64_PRINT_H
#define DX_BUILDER_EXCHANGE_NUMBERS_DOMAIN64_PRINT_H

#include <stdio.h>

#include "base/buf.h"
#include "loader/followed/domain64_registry.h"

enum dx_number_format { DX_NUMBER_DEC, DX_NUMBER_HEX, DX_NUMBER_BIGINT };

/* Appended to out. */
void dx_number_text(uint64_t number, enum dx_number_format format, struct dx_buf *out);
/* The upper end of a range, where 0 is 2^64, and of a bigint 2^63 is MAXVALUE. */
void dx_number_text_to(uint64_t to, enum dx_number_format format, struct dx_buf *out);

/* TLDs, domains and subdomains; paths are left out. Keys are hex, of two, eight and two digits (six
 * for subdomains of 8-24-24-8); a subdomain is its name alone. */
int dx_domain64_print_tree(const struct dx_domain64_registry *n, FILE *out, struct dx_error *err);

/* The next name of a part up to `last`: at the first that is further down, on to the end of the
 * range that holds it. 1; 0: none is left. */
int dx_domain64_next_above(struct dx_domain64_registry_walk *w, enum dx_domain64_part last,
                           struct dx_error *err);

/* "com", "com.jadud", "uk.co.example.www", "com.jadud.teaching/olin": labels from the TLD on. The
 * TLD is the longest that the registry has. */
int dx_domain64_find(const struct dx_domain64_registry *n, const char *dotted,
                     struct dx_domain64_range *range, struct dx_error *err);

#endif
