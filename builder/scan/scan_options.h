/* SPDX-License-Identifier: Apache-2.0
 * scan_options.h - what a scan of lake files is given (index_scan.h, scan_merge.h). Borrowed until
 * it ends.
 */
#ifndef DX_BUILDER_SCAN_SCAN_OPTIONS_H
#define DX_BUILDER_SCAN_SCAN_OPTIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct dx_index_fetch;
struct dx_psl;
struct dx_rules;
struct dx_scan_faults;

struct dx_index_scan_options {
    const char *tmp_dir;
    size_t memory;
    unsigned threads;
    const struct dx_index_fetch *fetch; /* NULL: the files are at lake.root; else sizes are set */
    _Atomic uint64_t *rows_done;        /* for progress; may be NULL */
    /* format/root/rules.h: asked for each row of the files that are scanned, for suppressed_first.
     * For rows that the base knows its entry's `cleansed` speaks. NULL: none. */
    const struct dx_rules *rules;
    bool find_twice;         /* lake.rows_twice is looked for, in the files that are scanned */
    struct dx_span psl_text; /* with rules */
    /* rows must be canonical by it (canon/row_form.h); NULL: of any form */
    const struct dx_psl *psl;
    bool skip_rows; /* with psl: rows that are not are left out, and their files taken */
    /* builder/scan/scan_faults.h; NULL: the first one ends the scan */
    struct dx_scan_faults *faults;
};

#endif
