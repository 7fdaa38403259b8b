/* SPDX-License-Identifier: Apache-2.0
 * dataset_template.h - names of datasets that follow from where an input lies.
 *
 *   rc = dx_dataset_template_parse(&t, "fineweb-{dump}", &err);        t.prefix "fineweb-", t.column "dump"
 *   rc = dx_dataset_template_fill(t.prefix, path, out, sizeof out, &err);
 *
 *   {file}     name of the file without endings such as .json.gz
 *   {folder}   name of the folder that it lies in
 *   {crawl}    the crawl that its path names: of a folder crawl=… (hive_folder.h), CC-MAIN-2024-10, CC-NEWS-20240131… (of
 *              that month), or a folder 2024-10
 *   {C}        column C of each record; must stand last
 *
 * Any other text stands for itself. A path without the part that is asked for is an error. No I/O;
 * any thread.
 */
#ifndef DX_BUILDER_INPUT_RECORDS_DATASET_TEMPLATE_H
#define DX_BUILDER_INPUT_RECORDS_DATASET_TEMPLATE_H

#include "base/error.h"

#include <stddef.h>

#define DX_DATASET_TEMPLATE_MAX 256 /* of a text and of a name, with the NUL */

struct dx_dataset_template {
    char prefix[DX_DATASET_TEMPLATE_MAX]; /* what stands before {C}; may have the others in it */
    char column[DX_DATASET_TEMPLATE_MAX]; /* "": none */
};

int dx_dataset_template_parse(struct dx_dataset_template *t, const char *text,
                              struct dx_error *err);
int dx_dataset_template_fill(const char *prefix, const char *path, char *out, size_t size,
                             struct dx_error *err);

#endif
