/* SPDX-License-Identifier: Apache-2.0
 * small_root.h - a root with a small lake and a published version, in a folder of its own.
 *
 *   struct dx_test_root r;
 *   dx_test_root_make(&r, domains, datasets);     name i of dx_test_root_domain; rows by a fixed rule
 *   dx_test_root_make_of(&r, domains, datasets, &shape);    rows by yours, and not of every dataset
 *   ... r.path, r.version ...
 *   dx_test_root_publish(&r);                     again, after the lake was changed
 *   dx_test_root_grow(&r, more);                  domains more, in dataset 1; published as one part more
 *   dx_test_root_remove(&r);
 *
 * Domain i is in dataset d (from 1) when (i + d) % 3 != 0, or d is 1; there it has
 * dx_test_root_rows(i, d) rows, whose URLs dx_test_root_url gives in the order of the listing.
 * An error ends the program with a message.
 */
#ifndef DX_TESTS_SUPPORT_SMALL_ROOT_H
#define DX_TESTS_SUPPORT_SMALL_ROOT_H

#include "base/bytes.h"

struct dx_test_root {
    char path[96];
    char version[32];
    unsigned domains, datasets;
};

#define DX_TEST_TEXT 64

struct dx_test_row {
    char host[DX_TEST_TEXT]; /* the domain, or a name below it */
    char path[DX_TEST_TEXT];
    char raw[2 * DX_TEST_TEXT]; /* raw_url; "", as it is before: none */
};

struct dx_test_shape {
    uint64_t without; /* bit d: dataset d is not there; the others have the same ids as with it */
    unsigned (*rows)(unsigned i, unsigned dataset); /* 0: it does not have the domain */
    /* In any order, no two the same. */
    void (*row)(unsigned i, unsigned dataset, unsigned row, struct dx_test_row *out);
    /* Value of the column `tags` of a row, of those as they are sorted; NULL: no such column. */
    const char *(*tags)(unsigned i, unsigned dataset, unsigned row);
};

void dx_test_root_make(struct dx_test_root *r, unsigned domains, unsigned datasets);
void dx_test_root_make_of(struct dx_test_root *r, unsigned domains, unsigned datasets,
                          const struct dx_test_shape *shape);
void dx_test_root_publish(struct dx_test_root *r);
void dx_test_root_grow(struct dx_test_root *r, unsigned more);
void dx_test_root_remove(struct dx_test_root *r);
/* The first file of dataset 1 again under another part number: the same rows, not the same bytes. */
void dx_test_root_again(const char *path, unsigned part);

void dx_test_root_domain(unsigned i, char out[64]);
/* What dx_test_root_make makes; for a shape that is like it but for something. */
void dx_test_root_usual(struct dx_test_shape *shape);
bool dx_test_root_member(unsigned i, unsigned dataset);
unsigned dx_test_root_rows(unsigned i, unsigned dataset);
void dx_test_root_url(unsigned i, unsigned dataset, unsigned row, char out[128]);

#endif
