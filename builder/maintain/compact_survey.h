/* SPDX-License-Identifier: Apache-2.0
 * compact_survey.h - what the current version says of lake files: how many rows they have.
 *
 *   rc = dx_compact_survey_open(&s, &root, &err);
 *   dx_compact_survey_file(&s, path, dataset_id, &file);    path without "urls/"
 *   s.cleansed
 *   dx_compact_survey_close(&s);
 *
 * file is filled for compact_plan.h, but for what suppressions hit; one that the current version
 * does not name is `fixed`. One thread at a time.
 */
#ifndef DX_BUILDER_MAINTAIN_COMPACT_SURVEY_H
#define DX_BUILDER_MAINTAIN_COMPACT_SURVEY_H

#include "base/hash.h"
#include "builder/maintain/compact_plan.h"
#include "builder/root/root.h"

struct dx_compact_row_count;

struct dx_compact_survey {
    struct dx_compact_row_count *known; /* by hash of the path */
    size_t count;
    size_t capacity;
    uint64_t cleansed; /* of the current version */
};

int dx_compact_survey_open(struct dx_compact_survey *s, const struct dx_root *root,
                           struct dx_error *err);
void dx_compact_survey_file(const struct dx_compact_survey *s, const char *path,
                            uint32_t dataset_id, struct dx_compact_file *file);
void dx_compact_survey_close(struct dx_compact_survey *s);

#endif
