/* SPDX-License-Identifier: Apache-2.0
 * index_scan.h - reads all lake files once and finds what the index must say.
 *
 *   struct dx_index_lake lake = { .root, .files, .file_count, .registry };
 *   rc = dx_index_scan(&lake, &options, &err);
 *   lake.pairs    one record a (domain, dataset), sorted      builder/scan/index_pair.h
 *   lake.groups   one record a row group, sorted: key u32 file_id, u32 row group (both
 *                 big-endian), value a GRPD record of pages.dxp
 *   lake.url_places  the places of their URLs                    builder/scan/index_urls.h
 *   lake.tags     which of their rows have which tags            builder/scan/index_tags.h
 *   lake.files[]  size, rows, row groups, hash; lake.registry: totals of each dataset
 *   dx_index_lake_release(&lake);                             builder/scan/index_lake.h
 *
 * Runs of a pair stand in order of the paths of the files, whatever their numbers. With lake.base
 * (index_base.h) only what the base does not know is read: lake.pairs then has the pairs that came
 * or changed, whole, and lake.groups the row groups of the files that were read; the totals are
 * those of the whole lake.
 *
 * Files of one dataset whose prefix ranges overlap are merged row by row, so a URL that stands in
 * several files counts once. Refused, with file and row: a file that is not sorted by (domain,
 * host, path_query), a dataset_id other than the path's, a domain_id that is not XXH3 of the
 * domain, a domain outside of the file's prefix range; with a psl, also a row that is not in
 * canonical form (canon/row_form.h), and a url_id that is not XXH3 of the URL. With skip_rows such
 * a row, and one with another domain_id (builder/lake/row_fault.h), is left out instead: no pair,
 * place of a URL or tag has it, though the rows of its file and row group count it. A time outside
 * of years 0000..9999 counts as none.
 *
 * Without options.faults the first faulty file ends the scan. With it the scan goes on, finds all
 * of them and returns DX_INDEX_FAULTS, with nothing in `lake`: leave those files out, and scan
 * again. Where the files of a dataset can be read each alone and not together, all fresh ones have
 * the fault. An error that is not of a file (a full disk, no memory) ends every scan.
 *
 * Each byte is read twice: to be hashed (with the sum of each page), and to be decoded.
 * Results do not depend on the number of threads. On error the lake is released.
 */
#ifndef DX_BUILDER_SCAN_INDEX_SCAN_H
#define DX_BUILDER_SCAN_INDEX_SCAN_H

#include "base/error.h"
#include "builder/lake/lake_files.h"
#include "builder/scan/scan_options.h"

#define DX_INDEX_FAULTS 2

int dx_index_scan(struct dx_index_lake *lake, const struct dx_index_scan_options *options,
                  struct dx_error *err);

#endif
