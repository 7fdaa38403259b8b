/* SPDX-License-Identifier: Apache-2.0
 * domain64_fill.h - numbers for the names of a lake's current version.
 *
 *   struct dx_domain64_fill f = { .root = root, .memory = bytes, .merge_above = 8 };
 *   rc = dx_domain64_fill_run(&f, &err);        f.version, f.added, f.full, f.urls, f.urls_out...
 *
 * Every row that no suppression hits is read, its names are sorted (domain by SURT, then subdomain,
 * then path, by bytes), and those without a number get the next one of their parent, in this order.
 * So numbers depend on the registry and on the set of URLs alone. What is added goes into the
 * registry as one book, or not at all; the second one begins again with the registry of the first.
 * A name whose field is full is counted there and has no number, nor has what is below it.
 *
 * With more than merge_above books all are made one. Memory: what is given, for three sorts one
 * after the other; disk: names and records, in work_dir (NULL: TMPDIR), and of a remote lake one
 * file at a time.
 */
#ifndef DX_BUILDER_EXCHANGE_NUMBERS_DOMAIN64_FILL_H
#define DX_BUILDER_EXCHANGE_NUMBERS_DOMAIN64_FILL_H

#include "format/root/domain64_manifest.h"
#include "format/version/manifest.h"

struct dx_domain64_fill {
    const char *root;
    const char *work_dir;
    size_t memory;
    size_t merge_above;
    bool dry_run;          /* count, and write nothing below root */
    bool (*stopped)(void); /* may be NULL */

    /* results */
    char version[DX_VERSION_NAME];
    uint64_t rows;
    uint64_t urls;     /* distinct hosts and paths */
    uint64_t urls_out; /* that have no number */
    uint64_t added[DX_NUMBER_PARTS];
    uint64_t full[DX_NUMBER_PARTS]; /* names that found their field full */
    uint32_t filling;               /* its number; 0: there was nothing new */
    size_t merged;                  /* books that became one; 0: none did */
};

int dx_domain64_fill_run(struct dx_domain64_fill *f, struct dx_error *err);

#endif
