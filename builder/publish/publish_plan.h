/* SPDX-License-Identifier: Apache-2.0
 * publish_plan.h - what a publish would find in the lake, without writing anything.
 *
 *   struct dx_publish_plan p;
 *   rc = dx_publish_plan(&options, &p, &err);      root and allow of the options alone
 *
 * The manifest, the lists of its versions and the lake are read as publish reads them, without its
 * lock: a run that is going on may change what is found. No file of the lake is opened.
 */
#ifndef DX_BUILDER_PUBLISH_PUBLISH_PLAN_H
#define DX_BUILDER_PUBLISH_PUBLISH_PLAN_H

#include "builder/publish/publish_options.h"

struct dx_publish_plan {
    char current[DX_VERSION_NAME]; /* "": none yet */
    uint64_t files;                /* of the next version */
    uint64_t bytes;
    uint64_t files_new; /* of these: that no version ever had */
    uint64_t bytes_new;
    uint64_t files_out;  /* taken out by a removal, compaction or rollback */
    uint64_t files_gone; /* that the current version has and the lake has not */
};

int dx_publish_plan(const struct dx_publish_options *options, struct dx_publish_plan *plan,
                    struct dx_error *err);

#endif
