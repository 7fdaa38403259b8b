/* SPDX-License-Identifier: Apache-2.0
 * publish_job.h - what a publish does alike on a directory and on object storage: read the lake,
 * name the version, write its files into a folder, name it in the manifest. Internal to publish.h.
 *
 *   job.lake is open, job.psl is read, job.work and job.making are set
 *   rc = dx_publish_job_base(&job, &options, &err);         merged with the current version, or not
 *   rc = dx_publish_job_scan(&job, bring, &err);
 *   if (dx_publish_job_unchanged(&job)) ...                 the current version is of this lake
 *   rc = dx_publish_job_name(&job, sequence, &err);         result->version
 *   rc = dx_publish_job_build(&job, bring, sync, &err);     job.entry, and its files in job.making
 *   rc = dx_publish_job_manifest(&job, &text, &err);        the manifest that names it as current
 *   rc = dx_publish_job_onto(&job, &manifest, &err);        on top of a manifest that came meanwhile
 *   dx_publish_job_release(&job);
 *
 * With a rewrite (publish_rewrite.h), after the base was decided on:
 *
 *   rc = dx_publish_job_name(...);
 *   rc = dx_publish_job_rewrite(&job, store, bring, &err);  lake and its files are others now
 *   ... scan, unchanged, build ...
 *   dx_publish_placed_undo(&job.placed);                    failed before the flip
 *
 * One thread at a time.
 */
#ifndef DX_BUILDER_PUBLISH_JOB_H
#define DX_BUILDER_PUBLISH_JOB_H

#include <limits.h>

#include "builder/index_identity.h"
#include "builder/publish.h"
#include "builder/publish_lake.h"
#include "builder/publish_placed.h"

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
    struct dx_caches *caches;
    struct dx_version *base;         /* that lake.lake.base is, while it is */
    struct dx_publish_placed placed; /* by the rewrite */
    uint64_t cleansed;               /* what the entry says; found by the rewrite, or by the scan */
    double begun;                    /* the phase */
    double cpu_begun;
    enum dx_publish_phase phase;
};

struct dx_caches;
struct dx_store;
struct dx_version_options;

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
/* DX_E_LIMIT with words: the manifest that was read cannot take another version. */
int dx_publish_job_room(const struct dx_publish_job *job, struct dx_error *err);
/* The list of --psl or the system's, for a lake that has none. */
int dx_publish_job_psl(struct dx_publish_job *job, struct dx_error *err);
/* Decides between an increment and the whole lake; result->incremental and result->why say which,
 * and why the whole. options: to open the current version with. */
int dx_publish_job_base(struct dx_publish_job *job, const struct dx_version_options *options,
                        struct dx_error *err);
/* The whole lake after all, for the reason `why`. Before the build; a scan is void. */
int dx_publish_job_whole(struct dx_publish_job *job, const char *why, struct dx_error *err);
/* If a merge would need more memory than there is, the whole lake is read. */
int dx_publish_job_scan(struct dx_publish_job *job, const struct dx_index_bring *bring,
                        struct dx_error *err);
bool dx_publish_job_unchanged(struct dx_publish_job *job);
int dx_publish_job_name(struct dx_publish_job *job, uint64_t sequence, struct dx_error *err);
/* Adds the entry. If a merge turns out to be impossible, the whole lake is read (bring), and built. */
int dx_publish_job_build(struct dx_publish_job *job, const struct dx_index_bring *bring,
                         enum dx_sync sync, struct dx_error *err);
/* By this machine's clock, if the options have no time of their own. */
int64_t dx_publish_job_time(const struct dx_publish_job *job);
/* DX_E_BUSY: a suppression whose rows a rewrite has left out was lifted meanwhile. */
int dx_publish_job_manifest(struct dx_publish_job *job, int64_t now_us, struct dx_buf *text,
                            struct dx_error *err);
/* m, which is emptied, takes the place of result->manifest, with the entry added. */
int dx_publish_job_onto(struct dx_publish_job *job, struct dx_manifest *m, struct dx_error *err);

int dx_publish_job_rewrite(struct dx_publish_job *job, struct dx_store *store,
                           const struct dx_index_bring *bring, struct dx_error *err);

/* Bytes that the version has in its own folder. */
uint64_t dx_publish_job_index_bytes(const struct dx_publish_job *job); /* of entry */

/* Bytes of index and sort files that this publish may need: a guess, so that a full disk is told
 * before an hour of work and not after it. */
uint64_t dx_publish_job_guess(const struct dx_publish_job *job);
/* *room: bytes that are free in dir, at least need. */
int dx_publish_job_space(const char *dir, uint64_t need, uint64_t *room, struct dx_error *err);

#endif
