/* SPDX-License-Identifier: Apache-2.0
 * scan_pages.h - where the pages of a row group are, with their sums, as pages.dxp has it.
 *
 *   rc = dx_scan_pages(&scan, &file, &buf, &err);     a GRPD record, appended
 *
 * `scan` is at the row group (lake_scan.h); file has path, size and hash.
 */
#ifndef DX_BUILDER_SCAN_SCAN_PAGES_H
#define DX_BUILDER_SCAN_SCAN_PAGES_H

#include "base/buf.h"
#include "builder/lake/lake_files.h"
#include "builder/lake/lake_scan.h"

#define DX_SCAN_GROUP_MAX (512u << 20) /* bytes of a record */

/* DX_E_LIMIT: one row of the group takes more bytes of pages and dictionaries than a server reads
 * for an answer (base/limits.h). */
int dx_scan_pages(const struct dx_lake_scan *s, const struct dx_index_file *file,
                  struct dx_buf *out, struct dx_error *err);

#endif
