/* SPDX-License-Identifier: Apache-2.0
 * publish_job.h - what a publish does alike on a directory and on object storage: read the lake,
 * name the version, write its files into a folder, name it in the manifest. Internal to publish.h.
 *
 *   rc = dx_publish_job_open(&job, &err);                   job.root, with the right to write
 *   rc = dx_publish_job_manifest(&job, &err);               result->manifest, as it is
 *   job.lake is open, job.psl is read, job.work and job.making are set
 *   rc = dx_publish_job_base(&job, &options, &err);         merged with the current version, or not
 *   rc = dx_publish_job_scan(&job, fetch, &err);
 *   if (dx_publish_job_unchanged(&job)) ...                 the current version is of this lake
 *   rc = dx_publish_job_name(&job, sequence, 0, &err);      result->version
 *   rc = dx_publish_job_build(&job, fetch, sync, &err);     job.entry, and its files in job.making
 *   rc = dx_publish_job_flip(&job, &err);                   the manifest names it as current
 *   dx_publish_job_release(&job);
 *
 * With a rewrite (publish_rewrite.h), after the base was decided on:
 *
 *   rc = dx_publish_job_name(...);
 *   rc = dx_publish_job_rewrite(&job, fetch, &err);  lake and its files are others now
 *   ... scan, unchanged, build ...
 *   dx_publish_placed_undo(&job.placed);                    failed before the flip
 *
 * One thread at a time.
 */
#ifndef DX_BUILDER_PUBLISH_PUBLISH_JOB_H
#define DX_BUILDER_PUBLISH_PUBLISH_JOB_H

#include <limits.h>

#include "base/map.h"
#include "builder/index/index_identity.h"
#include "builder/publish/publish_lake.h"
#include "builder/publish/publish_options.h"
#include "builder/publish/publish_placed.h"
#include "builder/root/manifest_edit.h"
#include "loader/version.h"

struct dx_scan_faults;

struct dx_publish_job {
    const struct dx_publish_options *options;
    struct dx_publish_result *result;
    char work[PATH_MAX];   /* for temporary files */
    char making[PATH_MAX]; /* the version in the making */
    struct dx_root root;
    struct dx_manifest_edit edit;       /* of root */
    char base_current[DX_VERSION_NAME]; /* of the manifest at the beginning */
    uint64_t base_sequence;
    unsigned later_s; /* dx_publish_job_name */
    struct dx_buf psl;
    struct dx_publish_lake lake;
    struct dx_index_identity id;
    bool has_id;
    bool lost_to_merge; /* the flip that came first was a merge of the base: it can be done again */
    struct dx_manifest_version *entry; /* in result->manifest */
    struct dx_caches *caches;
    struct dx_version *base; /* that lake.lake.base is, while it is */
    struct dx_version_options base_options;
    /* why no version can be merged with, whatever the lake's files; or NULL. A rewrite merges with
     * none unless a dataset is frozen. */
    const char *whole_why;
    struct dx_publish_placed placed; /* by the rewrite */
    struct dx_lake_list taken;       /* files that it has merged into these */
    uint64_t cleansed;               /* what the entry says; found by the rewrite, or by the scan */
    double begun;                    /* the phase */
    double cpu_begun;
    enum dx_publish_phase phase;
};

struct dx_caches;

void dx_publish_job_init(struct dx_publish_job *job, const struct dx_publish_options *options,
                         struct dx_publish_result *result);
void dx_publish_job_release(struct dx_publish_job *job);

/* A merge in a directory has no right to write yet: dx_root_enter before the flip. */
int dx_publish_job_open(struct dx_publish_job *job, struct dx_error *err);

/* The time of the phase before is taken down. bytes: what it is about, for progress; 0: unknown. */
void dx_publish_job_enter(struct dx_publish_job *job, enum dx_publish_phase phase, uint64_t bytes);
/* Counters for progress, or NULL. */
_Atomic uint64_t *dx_publish_job_bytes(const struct dx_publish_job *job);
_Atomic uint64_t *dx_publish_job_items(const struct dx_publish_job *job);

/* The list that the lake's domains came from; else that of --psl, or the system's. */
int dx_publish_job_psl(struct dx_publish_job *job, struct dx_error *err);
/* Decides between an increment and the whole lake; result->incremental and result->why say which,
 * and why the whole. options: to open the current version with. */
int dx_publish_job_base(struct dx_publish_job *job, const struct dx_version_options *options,
                        struct dx_error *err);
/* The same after the lake changed; dx_publish_job_base was called before. */
int dx_publish_job_base_again(struct dx_publish_job *job, struct dx_error *err);
/* The whole lake after all, for the reason `why`. Before the build; a scan is void. */
int dx_publish_job_whole(struct dx_publish_job *job, const char *why, struct dx_error *err);
/* If a merge would need more memory than there is, the whole lake is read. Faulty files are left
 * out: publish_refuse.h. */
int dx_publish_job_scan(struct dx_publish_job *job, const struct dx_index_fetch *fetch,
                        struct dx_error *err);
/* Whether faulty rows are left out. */
bool dx_publish_job_skips(const struct dx_publish_job *job);
bool dx_publish_job_unchanged(struct dx_publish_job *job);
/* later_s: than the clock, where another publisher has that name. */
int dx_publish_job_name(struct dx_publish_job *job, uint64_t sequence, unsigned later_s,
                        struct dx_error *err);
/* Adds the entry. If a merge turns out to be impossible, the whole lake is read (fetch), and
 * built. */
int dx_publish_job_build(struct dx_publish_job *job, const struct dx_index_fetch *fetch,
                         enum dx_sync sync, struct dx_error *err);
/* The manifest that the version comes after; empty if there is none yet. Again if it is another one
 * by now. DX_E_LIMIT: it cannot take another version. */
int dx_publish_job_manifest(struct dx_publish_job *job, struct dx_error *err);
int dx_publish_job_room(const struct dx_publish_job *job, struct dx_error *err);
/* Makes the version current, or resolves what became of that: job.edit.may_be_there says whether
 * its files must stay. DX_E_CONFLICT: another was first. DX_E_BUSY: a suppression whose rows a
 * rewrite has left out was lifted meanwhile. */
int dx_publish_job_flip(struct dx_publish_job *job, struct dx_error *err);

int dx_publish_job_rewrite(struct dx_publish_job *job, const struct dx_index_fetch *fetch,
                           struct dx_error *err);
/* Of a scan of what it made; DX_OK: the datasets of these files may be frozen. */
int dx_publish_job_refuse_rewritten(const struct dx_publish_job *job,
                                    const struct dx_scan_faults *faults, struct dx_error *err);

/* After another flip came first, of a lake that was opened again and a name that was taken: 1; 0:
 * what the rewrite made does not hold any more. */
int dx_publish_job_rewrite_again(struct dx_publish_job *job, struct dx_error *err);
/* Nothing is known of the lake any more; what a rewrite made stays in the work folder. */
void dx_publish_job_forget(struct dx_publish_job *job);

/* Maps a file of a new version in dir; DX_E_CORRUPT: it is not what was written. To be closed in each case. */
int dx_publish_job_file(struct dx_map *map, const char *dir, const struct dx_manifest_file *file,
                        struct dx_error *err);

/* Bytes that the version has in its own folder. */
uint64_t dx_publish_job_index_bytes(const struct dx_publish_job *job); /* of entry */

/* Bytes of index and sort files that this publish may need: a guess, so that a full disk is
 * reported before an hour of work and not after it. */
uint64_t dx_publish_job_guess(const struct dx_publish_job *job);
/* *room: bytes that are free in dir, at least need. */
int dx_publish_job_space(const char *dir, uint64_t need, uint64_t *room, struct dx_error *err);

#endif
