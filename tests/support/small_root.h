/* SPDX-License-Identifier: Apache-2.0
 * small_root.h - a root with a small lake and a published version, in a folder of its own.
 *
 *   struct dx_test_root r;
 *   dx_test_root_make(&r, domains, datasets);     name i of dx_test_root_domain; rows by a fixed rule
 *   ... r.path, r.version ...
 *   dx_test_root_publish(&r);                     again, after the lake was changed
 *   dx_test_root_remove(&r);
 *
 * Domain i is in dataset d (from 1) when (i + d) % 3 != 0, or d is 1; there it has
 * dx_test_root_rows(i, d) rows, whose URLs dx_test_root_url gives in the order of the listing.
 * Trouble ends the program with words.
 */
#ifndef DX_TESTS_SUPPORT_SMALL_ROOT_H
#define DX_TESTS_SUPPORT_SMALL_ROOT_H

#include "base/bytes.h"

struct dx_test_root {
    char path[96];
    char version[32];
    unsigned domains, datasets;
};

void dx_test_root_make(struct dx_test_root *r, unsigned domains, unsigned datasets);
void dx_test_root_publish(struct dx_test_root *r);
void dx_test_root_remove(struct dx_test_root *r);

void dx_test_root_domain(unsigned i, char out[64]);
bool dx_test_root_member(unsigned i, unsigned dataset);
unsigned dx_test_root_rows(unsigned i, unsigned dataset);
void dx_test_root_url(unsigned i, unsigned dataset, unsigned row, char out[128]);

#endif
