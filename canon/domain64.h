/* SPDX-License-Identifier: Apache-2.0
 * domain64.h - four numbers of a URL in one that sorts by them.
 *
 *   struct dx_domain64 d = { .tld = 1, .domain = 1, .subdomain = 2, .path = 1 };
 *   rc = dx_domain64_unpack(key, DX_DOMAIN64_SUB8, &d, &err);        DX_E_INVALID: of no URL
 *   rc = dx_domain64_range(&d, DX_PART_DOMAIN, layout, &range, &err);   all that share tld and domain; DX_E_LIMIT: a
 *                                                                    field is full. DX_PART_PATH: from is its number
 *   int64_t v = dx_domain64_signed(key);                             as SQL's bigint has it
 *
 *   layout      TLD  domain  subdomain  path
 *   8-24-8-24     8      24          8    24
 *   8-24-24-8     8      24         24     -    the low byte is reserved and 0
 *
 * The second one has no room for paths: all URLs of a host share its number, and a path that is not
 * 0 is an error. 0 is "none" in subdomain and path, and is given to no TLD and no domain.
 *
 * Ranges are half-open, [from, to), because SQL's partitions are. `to` of the last TLD is 2^64,
 * written 0. In a bigint numbers from 2^63 on are negative and in order among themselves: TLDs 0x80
 * to 0xff sort before 0x01 there, and a range that ends at 2^63 has no upper bound as a bigint
 * (MAXVALUE). No state; any thread.
 */
#ifndef DX_CANON_DOMAIN64_H
#define DX_CANON_DOMAIN64_H

#include "base/bytes.h"
#include "base/error.h"

enum dx_domain64_layout { DX_DOMAIN64_SUB8, DX_DOMAIN64_SUB24, DX_DOMAIN64_LAYOUTS };

enum dx_domain64_part {
    DX_PART_TLD,
    DX_PART_DOMAIN,
    DX_PART_SUBDOMAIN,
    DX_PART_PATH,
    DX_DOMAIN64_PARTS
};

struct dx_domain64 {
    uint32_t tld;
    uint32_t domain;
    uint32_t subdomain;
    uint32_t path;
};

struct dx_domain64_range {
    uint64_t from;
    uint64_t to; /* not in it; 0: beyond all numbers */
};

/* "8-24-8-24", "8-24-24-8". */
const char *dx_domain64_layout_name(enum dx_domain64_layout layout);

/* "TLD", "domain", "subdomain", "path". */
const char *dx_domain64_part_name(enum dx_domain64_part part);

/* The highest number of a field: 255, 16777215, or 0 for the paths of 8-24-24-8. */
uint32_t dx_domain64_most(enum dx_domain64_layout layout, enum dx_domain64_part part);

uint32_t dx_domain64_field(const struct dx_domain64 *d, enum dx_domain64_part part);
int dx_domain64_unpack(uint64_t key, enum dx_domain64_layout layout, struct dx_domain64 *d,
                       struct dx_error *err);

/* Numbers that agree with d up to and with `part`; fields behind it are not looked at. */
int dx_domain64_range(const struct dx_domain64 *d, enum dx_domain64_part part,
                      enum dx_domain64_layout layout, struct dx_domain64_range *range,
                      struct dx_error *err);

/* The names that the numbers are of, in the order of the parts. */
struct dx_domain64_names {
    struct dx_span part[DX_DOMAIN64_PARTS];
};

/* Of a row, or of struct dx_url: TLD is what follows the first dot of the domain, its public
 * suffix; subdomain what stands before the domain in the host, path what follows the first '/';
 * both may be "", and paths of 8-24-24-8 are. Port and a dot behind the host are left out. An
 * address has the TLD "[ip]", which no suffix can be. false: a domain of one label. Borrowed from
 * the arguments. */
bool dx_domain64_names(struct dx_span domain, struct dx_span host, struct dx_span path_query,
                       enum dx_domain64_layout layout, struct dx_domain64_names *names);

static inline bool dx_domain64_in(const struct dx_domain64_range *range, uint64_t key)
{
    return key >= range->from && (range->to == 0 || key < range->to);
}

static inline int64_t dx_domain64_signed(uint64_t key)
{
    return key <= (uint64_t)INT64_MAX ? (int64_t)key : -(int64_t)(UINT64_MAX - key) - 1;
}

#endif
