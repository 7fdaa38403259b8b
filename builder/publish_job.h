/* SPDX-License-Identifier: Apache-2.0
 * publish_job.h - what a publish does alike on a directory and on object storage: read the lake,
 * name the version, write its files into a folder. Internal to publish.h.
 *
 *   job.lake is open, job.psl is read, job.work and job.making are set
 *   rc = dx_publish_job_scan(&job, bring, &err);
 *   if (dx_publish_job_unchanged(&job)) ...                 the current version is of this lake
 *   rc = dx_publish_job_name(&job, sequence, &err);         job.entry: the version, in the manifest
 *   rc = dx_publish_job_build(&job, sync, &err);            its files, in job.making
 *   rc = dx_publish_job_manifest(&job, &text, &err);        the manifest that names it as current
 *   dx_publish_job_release(&job);
 *
 * One thread at a time.
 */
#ifndef DX_BUILDER_PUBLISH_JOB_H
#define DX_BUILDER_PUBLISH_JOB_H

#include <limits.h>

#include "builder/index_identity.h"
#include "builder/publish.h"
#include "builder/publish_lake.h"

struct dx_publish_job {
    const struct dx_publish_options *options;
    struct dx_publish_result *result;
    char work[PATH_MAX];   /* for temporary files */
    char making[PATH_MAX]; /* the version in the making */
    struct dx_buf psl;
    struct dx_publish_lake lake;
    struct dx_index_identity id;
    bool has_id;
    struct dx_manifest_version *entry; /* in result->manifest */
    double begun;                      /* the phase */
    enum dx_publish_phase phase;
};

#define DX_PUBLISH_PSL_MAX (16u << 20)

void dx_publish_job_init(struct dx_publish_job *job, const struct dx_publish_options *options,
                         struct dx_publish_result *result);
void dx_publish_job_release(struct dx_publish_job *job);

/* The time of the phase before is taken down. bytes: what it is about, for progress; 0: unknown. */
void dx_publish_job_enter(struct dx_publish_job *job, enum dx_publish_phase phase, uint64_t bytes);
/* Counters for progress, or NULL. */
_Atomic uint64_t *dx_publish_job_bytes(const struct dx_publish_job *job);
_Atomic uint64_t *dx_publish_job_items(const struct dx_publish_job *job);

int dx_publish_job_path(char out[PATH_MAX], const char *dir, const char *name,
                        struct dx_error *err);
/* The list of --psl or the system's, for a lake that has none. */
int dx_publish_job_psl(struct dx_publish_job *job, struct dx_error *err);
int dx_publish_job_scan(struct dx_publish_job *job, const struct dx_index_bring *bring,
                        struct dx_error *err);
bool dx_publish_job_unchanged(struct dx_publish_job *job);
/* The name alone, into result->version; then the line in the manifest. */
int dx_publish_job_name(struct dx_publish_job *job, uint64_t sequence, struct dx_error *err);
int dx_publish_job_add(struct dx_publish_job *job, struct dx_error *err);
int dx_publish_job_build(struct dx_publish_job *job, enum dx_sync sync, struct dx_error *err);
int dx_publish_job_manifest(struct dx_publish_job *job, struct dx_buf *text, struct dx_error *err);
uint64_t dx_publish_job_index_bytes(const struct dx_publish_job *job); /* of entry */

/* Bytes of index and sort files that a lake of so many may need: a guess, so that a full disk is
 * told before an hour of work and not after it. */
uint64_t dx_publish_job_guess(uint64_t lake_bytes);
/* *room: bytes that are free in dir, at least need. */
int dx_publish_job_space(const char *dir, uint64_t need, uint64_t *room, struct dx_error *err);

#endif
