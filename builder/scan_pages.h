/* SPDX-License-Identifier: Apache-2.0
 * scan_pages.h - where the pages of a row group are, with their sums, as pages.dxp has it.
 *
 *   rc = dx_scan_pages(&scan, &file, &buf, &err);     a GRPD record, appended
 *
 * `scan` is at the row group (lake_scan.h); file has path, size and hash.
 */
#ifndef DX_BUILDER_SCAN_PAGES_H
#define DX_BUILDER_SCAN_PAGES_H

#include "base/buf.h"
#include "builder/index_scan.h"
#include "builder/lake_scan.h"

int dx_scan_pages(const struct dx_lake_scan *s, const struct dx_index_file *file,
                  struct dx_buf *out, struct dx_error *err);

#endif
