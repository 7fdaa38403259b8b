/* SPDX-License-Identifier: Apache-2.0
 * psl.h - a Public Suffix List, read from its text.
 *
 *   dx_psl_new(&psl, text, &err);       text of public_suffix_list.dat, ICANN and private rules
 *   dx_psl_new_below(&psl, text, tail, &err);       for the hostname `tail` and those below it alone
 *   found = dx_psl_domain(psl, hostname, &domain);   1 found, 0 the host has no domain
 *   found = dx_psl_icann_domain(psl, hostname, &domain);    the same by the ICANN section alone
 *   dx_psl_free(&psl);
 *
 * hostname: lower-case A-labels; no port. `domain` points into it. One trailing dot is
 * not part of the domain. A name under no rule falls under "*": its last two labels are
 * its domain. A public suffix, a name with a leading dot or two trailing dots, and a
 * domain over DX_DOMAIN_MAX bytes have none. Read-only after new: threads may share it.
 * The text is part of an index version, so builder and server reduce names by the same
 * list.
 */
#ifndef DX_CANON_PSL_H
#define DX_CANON_PSL_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/limits.h"

/* Debian's package `publicsuffix`: the default list. */
#define DX_PSL_DEFAULT_PATH "/usr/share/publicsuffix/public_suffix_list.dat"
#define DX_PSL_TEXT_MAX ((size_t)16 << 20) /* the list of 2026 has 330 kB */

struct dx_psl;

int dx_psl_new(struct dx_psl **psl, struct dx_span text, struct dx_error *err);
/* In a twentieth of the time: for a process that asks about one name. tail: as in canon/suffix_rules.h. */
int dx_psl_new_below(struct dx_psl **psl, struct dx_span text, struct dx_span tail,
                     struct dx_error *err);
void dx_psl_free(struct dx_psl **psl);
int dx_psl_domain(const struct dx_psl *psl, struct dx_span hostname, struct dx_span *domain);
/* Of a list without the markers of its sections no rule is ICANN's but "*". */
int dx_psl_icann_domain(const struct dx_psl *psl, struct dx_span hostname, struct dx_span *domain);

#endif
