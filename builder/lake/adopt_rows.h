/* SPDX-License-Identifier: Apache-2.0
 * adopt_rows.h - that no row stands in two of the files that an adopt has for one dataset.
 *
 *   struct dx_adopt_rows rows = { .files = &f, .dataset_of = dataset_of, .stopped = stopped };
 *   rc = dx_adopt_rows_check(&rows, &err);        DX_E_EXISTS: two files and the URL of a row in both
 *
 * The footer of each file says which range of domain ids it has. Rows of domains that are in no
 * more than one range are not read: none of them can be in another file. Of all others each row is
 * compared, as rows_twice.h does, however the ranges overlap. Writers that end within a domain, as
 * those of Spark do, share the id of this domain with their neighbour: of their files the column
 * domain_id is read, and the row groups that have the domain.
 *
 * Objects are fetched for this into a work folder, but not where two of them share one id alone and
 * have different footers: then all edge files of a job would be fetched, and its driver has
 * compared their keys. A file whose footer has no bounds of domain_id may have any.
 *
 * Files of `files` were checked (adopt_files.h). Memory: a page of each column of 64 files. One thread.
 */
#ifndef DX_BUILDER_LAKE_ADOPT_ROWS_H
#define DX_BUILDER_LAKE_ADOPT_ROWS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct dx_adopt_files;

struct dx_adopt_rows {
    const struct dx_adopt_files *files;
    const size_t *dataset_of; /* of each file: which ones belong together */
    bool (*stopped)(void);    /* may be NULL */
};

int dx_adopt_rows_check(const struct dx_adopt_rows *rows, struct dx_error *err);

#endif
