/* SPDX-License-Identifier: Apache-2.0
 * index_lake.h - what a scan made of a lake: how much of the files it left out, and letting go of
 * it.
 *
 *   dx_index_lake_release(&lake);        sorters, spools and changes; `files` and `registry` stay the caller's
 *
 *   n = dx_index_lake_rows_left_out(&lake);        rows of its files that no pair has (index_scan.h: skip_rows)
 *
 * release may be called twice, and for a lake that was never scanned. One thread.
 */
#ifndef DX_BUILDER_SCAN_INDEX_LAKE_H
#define DX_BUILDER_SCAN_INDEX_LAKE_H

#include <stdint.h>

struct dx_index_lake;

/* Of a lake that was scanned, with or without a base. */
uint64_t dx_index_lake_rows_left_out(const struct dx_index_lake *lake);
void dx_index_lake_release(struct dx_index_lake *lake);

#endif
