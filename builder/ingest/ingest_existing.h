/* SPDX-License-Identifier: Apache-2.0
 * ingest_existing.h - finds the rows of a run that the lake has already.
 *
 *   rc = dx_ingest_existing(&e, &err);      after reading, before the merge
 *
 * For each dataset of the run that has files in the lake which count (lake_membership.h): the run's
 * row keys go into a Bloom filter of at most filter_bytes, the dataset's files are read, and rows
 * that may be in the run join the sort marked `existing`. The merge then drops every row that has
 * such a twin. Exact: the filter only saves sorting; a small one costs time, not truth. A row that
 * no version shows for a fault of its own (builder/lake/row_fault.h) drops nothing.
 * A file that cannot be read, or is not there though the current version has it, would make rows stand twice: its dataset is
 * left_out, none of its rows is stored, and e.left says the first such file. Other datasets go on; where there are none, that is
 * the error. Of a root on object storage each file is downloaded, read and removed; it must be the one that was listed, by
 * its ETag.
 */
#ifndef DX_BUILDER_INGEST_INGEST_EXISTING_H
#define DX_BUILDER_INGEST_INGEST_EXISTING_H

#include "builder/ingest/ingest_options.h"

struct dx_ingest_dataset;
struct dx_ingest_datasets;
struct dx_lake_membership;
struct dx_psl;
struct dx_root;
struct dx_spill_sort;

/* Datasets of which a file cannot be compared. */
struct dx_ingest_left {
    size_t sets;
    const struct dx_ingest_dataset *first;
    struct dx_error why; /* of that one */
    bool all;            /* there is no other dataset with rows: it is the error */
};

struct dx_ingest_existing {
    const struct dx_ingest_options *options;
    const struct dx_lake_membership *lake; /* files that are out have no rows to be compared with */
    struct dx_ingest_datasets *datasets;   /* ids of known names set; in_lake is set here */
    struct dx_spill_sort *sort;
    size_t filter_bytes;
    const struct dx_psl *psl; /* of the lake: faulty rows of it do not count as equal */
    const struct dx_root *root;
    struct dx_ingest_left left;
    const char *dir; /* of object storage: files come here, one at a time */
};

int dx_ingest_existing(struct dx_ingest_existing *e, struct dx_error *err);

#endif
