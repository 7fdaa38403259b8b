/* SPDX-License-Identifier: Apache-2.0
 * profile.h - public corpora: how their records are read (`ingest --profile`).
 *
 *   rc = dx_profile_get(&p, "cc-index", &err);                        DX_E_INVALID with names that are near
 *   for (size_t i = 0; i < dx_profile_count; i++) dx_profiles[i] ...
 *   dx_profile_apply(p, &want);              what the caller has not asked for otherwise
 *
 * profiles.def has them, an entry each; docs/GUIDE.md shows the same table. Read-only; any thread.
 */
#ifndef DX_BUILDER_INPUT_RECORDS_PROFILE_H
#define DX_BUILDER_INPUT_RECORDS_PROFILE_H

#include "builder/input/records/input_columns.h"

#define DX_PROFILE_TEXTS 8 /* of each list, with the NULL */

struct dx_profile {
    const char *name;
    const char *summary;          /* of what it is */
    const char *source;           /* where it is */
    enum dx_record_format format; /* DX_RECORD_AUTO: as an input begins */
    const char *files;            /* the usual form of its files, for people */
    /* Columns as of --url-column; of several the first that is there. Empty: the usual names. */
    const char *url[DX_PROFILE_TEXTS];
    const char *ts[DX_PROFILE_TEXTS];
    bool no_ts;                          /* its records have no time */
    const char *dataset;                 /* a template of dataset_template.h */
    const char *extra[DX_PROFILE_TEXTS]; /* NAME=C; an input may lack some */
    const char *counts;                  /* as of --counts: records are hosts */
    /* Of folders, as of --include and --exclude. */
    const char *include[DX_PROFILE_TEXTS];
    const char *exclude[DX_PROFILE_TEXTS];
    /* Columns that its files have together, and other corpora do not. */
    const char *sign[DX_PROFILE_TEXTS];
    bool sign_all; /* and they have no other columns */
};

extern const struct dx_profile dx_profiles[];
extern const size_t dx_profile_count;

int dx_profile_get(const struct dx_profile **profile, const char *name, struct dx_error *err);

/* URL, time and extras, where want has none. */
void dx_profile_apply(const struct dx_profile *p, struct dx_columns_want *want);

#endif
