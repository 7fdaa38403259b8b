/* SPDX-License-Identifier: Apache-2.0
 * domain64_print.h - the registry of numbers as text.
 *
 *   rc = dx_domain64_print_tree(numbers, out, &err);       {"01": {"name": "com", "children": {...}}}
 *   rc = dx_domain64_print_ddl(numbers, "urls", DX_PART_DOMAIN, out, &err);      PostgreSQL
 *   rc = dx_domain64_find(numbers, "com.jadud", &range, &err);       1; 0: it has no number
 *
 * All but find stream: memory does not grow with the registry. A failing `out` is the caller's to see.
 */
#ifndef DX_BUILDER_DOMAIN64_PRINT_H
#define DX_BUILDER_DOMAIN64_PRINT_H

#include <stdio.h>

#include "loader/numbers.h"

enum dx_number_format { DX_NUMBER_DEC, DX_NUMBER_HEX, DX_NUMBER_BIGINT, DX_NUMBER_FORMATS };

/* "dec", "hex", "bigint". */
bool dx_number_format_parse(const char *text, enum dx_number_format *format);
void dx_number_print(uint64_t number, enum dx_number_format format, FILE *out);
/* The upper end of a range, where 0 is 2^64, and of a bigint 2^63 is MAXVALUE. */
void dx_number_print_to(uint64_t to, enum dx_number_format format, FILE *out);

/* TLDs, domains and subdomains; paths are left out. Keys are hex, of two, eight and two digits (six for
 * subdomains of 8-24-24-8); a subdomain is its name alone. */
int dx_domain64_print_tree(const struct dx_numbers *n, FILE *out, struct dx_error *err);

/* A table that is partitioned by domain64 down to `part`, with a default partition at each step. */
int dx_domain64_print_ddl(const struct dx_numbers *n, const char *name, enum dx_domain64_part part,
                          FILE *out, struct dx_error *err);

/* "com", "com.jadud", "uk.co.example.www", "com.jadud.teaching/olin": labels from the TLD on. The TLD is
 * the longest that the registry has. */
int dx_domain64_find(const struct dx_numbers *n, const char *dotted,
                     struct dx_domain64_range *range, struct dx_error *err);

#endif
