/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish/publish_job.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/path.h"
#include "builder/lake/suffix_list.h"
#include "builder/policy/access_binding.h"
#include "builder/policy/suppress.h"
#include "builder/publish/publish_merge.h"
#include "builder/publish/publish_refuse.h"
#include "builder/scan/index_base.h"
#include "builder/scan/index_lake.h"
#include "builder/scan/index_scan.h"
#include "builder/scan/index_tags.h"
#include "builder/scan/parts_policy.h"
#include "builder/scan/scan_faults.h"
#include "canon/psl.h"
#include "format/root/rules.h"
#include "loader/version.h"

/* An entry has less; the rest is for the marks of collectors, who must be able to write when a
 * publish no longer is. */
#define ENTRY_MAX (512u << 10)
#define SPACE_MIN (16u << 20)
#define ROUNDS_MAX 8   /* scans of a publish */
#define INODES_MIN 256 /* files of a version, and those that wait while it is made */

#define REWRITTEN "files of the lake are rewritten"

static void close_base(struct dx_publish_job *job)
{
    dx_version_unpin(job->base);
    job->base = NULL;
    dx_caches_free(&job->caches);
}

static void say_why(struct dx_publish_job *job, const char *why)
{
    job->result->incremental = false;
    (void)snprintf(job->result->why, sizeof job->result->why, "%.*s",
                   (int)sizeof job->result->why - 1, why);
}

void dx_publish_job_init(struct dx_publish_job *job, const struct dx_publish_options *options,
                         struct dx_publish_result *result)
{
    *job = (struct dx_publish_job){ .options = options,
                                    .result = result,
                                    .root = DX_ROOT_INIT,
                                    .edit = { .root = &job->root },
                                    .begun = dx_clock_s(),
                                    .cpu_begun = dx_clock_cpu_s() };
    dx_buf_init(&job->psl, DX_PSL_TEXT_MAX);
}

int dx_publish_job_open(struct dx_publish_job *job, struct dx_error *err)
{
    const struct dx_publish_options *o = job->options;
    int rc = dx_root_open(&job->root, o->root, DX_ROOT_WRITE, err);

    job->root.in_place = job->root.in_place && !o->through_store;
    return rc == DX_OK && !(o->merge && job->root.in_place)
               ? dx_root_enter(&job->root, o->lock_wait_ms, o->now_us, err)
               : rc;
}

static void end_phase(struct dx_publish_job *job)
{
    double t = dx_clock_s();
    double cpu = dx_clock_cpu_s();

    job->result->seconds[job->phase] += t - job->begun;
    job->result->cpu_s[job->phase] += cpu - job->cpu_begun;
    job->begun = t;
    job->cpu_begun = cpu;
}

void dx_publish_job_release(struct dx_publish_job *job)
{
    end_phase(job);
    if (job->has_id)
        dx_index_identity_release(&job->id);
    dx_publish_lake_close(&job->lake);
    close_base(job);
    dx_publish_placed_release(&job->placed);
    dx_lake_list_release(&job->taken);
    dx_manifest_edit_release(&job->edit);
    dx_root_close(&job->root);
    dx_buf_release(&job->psl);
}

void dx_publish_job_forget(struct dx_publish_job *job)
{
    if (job->has_id)
        dx_index_identity_release(&job->id);
    job->has_id = false;
    job->entry = NULL;
    dx_left_out_release(&job->result->left_out);
    dx_left_out_release(&job->result->damaged);
    dx_publish_lake_close(&job->lake);
    close_base(job);
    say_why(job, REWRITTEN);
}

void dx_publish_job_enter(struct dx_publish_job *job, enum dx_publish_phase phase, uint64_t bytes)
{
    static const char *const words[DX_PUBLISH_PHASES] = { "looks for what is in the lake",
                                                          "reads lake files", "builds the index",
                                                          "uploads the index",
                                                          "checks the index and makes it current" };
    struct dx_publish_progress *p = job->options->progress;

    end_phase(job);
    job->phase = phase;
    dx_trace("publish: %s", words[phase]);
    if (p == NULL)
        return;
    atomic_store(&p->bytes, 0);
    atomic_store(&p->items, 0);
    atomic_store(&p->bytes_total, bytes);
    atomic_store(&p->phase, (int)phase);
}

_Atomic uint64_t *dx_publish_job_bytes(const struct dx_publish_job *job)
{
    return job->options->progress == NULL ? NULL : &job->options->progress->bytes;
}

_Atomic uint64_t *dx_publish_job_items(const struct dx_publish_job *job)
{
    return job->options->progress == NULL ? NULL : &job->options->progress->items;
}

int dx_publish_job_psl(struct dx_publish_job *job, struct dx_error *err)
{
    const char *given = job->options->psl_path;
    int rc = dx_suffix_list_of_lake(&job->root, &job->psl, err);

    if (rc == 0) {
        job->result->psl_path = given != NULL ? given : DX_PSL_DEFAULT_PATH;
        rc = dx_suffix_list_read(given, &job->psl, err);
    }
    return rc < 0 ? rc : DX_OK;
}

int dx_publish_job_room(const struct dx_publish_job *job, struct dx_error *err)
{
    const struct dx_manifest *m = &job->result->manifest;
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX - ENTRY_MAX);
    int rc = DX_OK;

    if (m->version_count < DX_MANIFEST_MAX / ENTRY_MAX - 1)
        return DX_OK;
    (void)dx_manifest_write(m, &text, NULL);
    if (text.no_memory)
        rc = dx_no_memory(err, "%s: manifest", job->options->root);
    else if (text.failed)
        rc = dx_fail(err, DX_E_LIMIT,
                     "%s: with %zu versions the manifest has no room for another; "
                     "remove old ones first (domaindex gc --delete)",
                     job->options->root, m->version_count);
    dx_buf_release(&text);
    return rc;
}

/* ---- an increment, or the whole ---- */

/* What is wrong with the base, and not with this machine or the way to the store. */
static bool is_of_base(int rc)
{
    return rc == DX_E_CORRUPT || rc == DX_E_TRUNCATED || rc == DX_E_NOT_FOUND ||
           rc == DX_E_UNSUPPORTED || rc == DX_E_CONFLICT;
}

/* ingest compares new rows with the files that its dataset has then. Files may come together all
 * the same that were never compared: those that were missing and are back, with what was ingested
 * meanwhile; and, on a store, what an ingest puts that was at work during a rollback. A rollback
 * takes a sequence that no version has. */
static bool may_have_twins(const struct dx_publish_job *job)
{
    const struct dx_manifest *m = &job->result->manifest;
    const struct dx_manifest_version *current = dx_manifest_current(m);

    return current != NULL && (current->missing_files > job->lake.named.lacked.count ||
                               (job->lake.named.new_count > 0 && current->sequence != m->sequence));
}

/* NULL: it can be tried. */
static const char *no_base(const struct dx_publish_job *job)
{
    const struct dx_manifest_version *current = dx_manifest_current(&job->result->manifest);
    struct dx_hash128 psl = dx_hash128_of(dx_span_of(job->psl.data, job->psl.size));

    if (current == NULL)
        return "there is no version to merge with";
    if (job->options->full)
        return "it was asked for";
    if (!dx_hash128_equal(&current->psl_hash, &psl))
        return "the suffix list is another one than that of the current version";
    return NULL;
}

static int rebase(struct dx_publish_job *job, char why[DX_INDEX_WHY], struct dx_error *err)
{
    const struct dx_manifest_version *current = dx_manifest_current(&job->result->manifest);
    int rc = job->caches != NULL ? DX_OK : dx_caches_new(&job->caches, &job->base_options, err);

    if (rc == DX_OK && job->base == NULL)
        rc = dx_version_open(&job->base, job->options->root, &job->result->manifest, current,
                             job->caches, &job->base_options, err);
    if (rc == DX_OK && job->options->merge)
        rc = dx_publish_lake_of(&job->lake, &job->root, job->base, job->work, err);
    job->lake.lake.rescan_grown = may_have_twins(job);
    return rc == DX_OK ? dx_index_rebase(&job->lake.lake, job->base, why, err) : rc;
}

static int cannot_merge(const char *why, struct dx_error *err)
{
    return dx_fail(err, DX_E_UNSUPPORTED, "parts of the current version cannot be merged: %s", why);
}

int dx_publish_job_base(struct dx_publish_job *job, const struct dx_version_options *options,
                        struct dx_error *err)
{
    const char *no = no_base(job);

    job->base_options = *options;
    job->whole_why = no;
    if (no != NULL && job->options->merge)
        return cannot_merge(no, err);
    if (no != NULL || job->options->rewrite != NULL) {
        say_why(job, job->options->rewrite != NULL ? REWRITTEN : no);
        return DX_OK;
    }
    return dx_publish_job_base_again(job, err);
}

static int leave_files(struct dx_publish_job *job, const struct dx_scan_faults *faults,
                       struct dx_error *err)
{
    bool rewrites = job->options->rewrite != NULL;
    const struct dx_publish_refusal refusal = { .lake = &job->lake,
                                                .left_out = rewrites ? &job->result->damaged
                                                                     : &job->result->left_out,
                                                .drops = job->options->full,
                                                .merges = job->whole_why == NULL,
                                                .some = rewrites };
    int rc = rewrites ? dx_publish_job_refuse_rewritten(job, faults, err) : DX_OK;

    return rc == DX_OK ? dx_publish_refuse(&refusal, faults, err) : rc;
}

/* Beside a frozen dataset the whole lake cannot be read: one with a file that is another one now
 * stays as the current version has it, too. 1 or 0 as a rebase. */
static int rebase_frozen(struct dx_publish_job *job, char why[DX_INDEX_WHY], struct dx_error *err)
{
    int rc = rebase(job, why, err);

    while (rc == DX_E_CORRUPT && job->lake.frozen_count > 0 && job->lake.lake.replaced != NULL) {
        const struct dx_index_lake *lake = &job->lake.lake;
        struct dx_scan_fault fault = { (uint32_t)(lake->replaced - lake->files), *err };
        const struct dx_scan_faults faults = { &fault, 1, 1 };

        rc = leave_files(job, &faults, err);
        if (rc == DX_OK)
            rc = rebase(job, why, err);
    }
    return rc;
}

int dx_publish_job_base_again(struct dx_publish_job *job, struct dx_error *err)
{
    struct dx_error found = DX_ERROR_INIT;
    char why[DX_INDEX_WHY] = "";
    int rc = rebase_frozen(job, why, &found);

    job->result->incremental = rc == 1;
    if (rc == 1 && job->cleansed > job->base->entry.cleansed)
        job->cleansed = job->base->entry.cleansed; /* of its rows not all are read */
    if (rc == 1)
        return DX_OK;
    if (rc < 0 && job->lake.frozen_count > 0) {
        if (err != NULL)
            *err = found;
        return rc;
    }
    if (rc == 0 || is_of_base(rc))
        return dx_publish_job_whole(job, rc == 0 ? why : found.text, err);
    if (err != NULL)
        *err = found;
    return dx_fail_in(err, "the current version cannot be read to be merged with");
}

int dx_publish_job_whole(struct dx_publish_job *job, const char *why, struct dx_error *err)
{
    int rc;

    assert(job->entry == NULL); /* it is not built */
    if (job->options->merge)
        return cannot_merge(why, err);
    rc = dx_publish_lake_again(&job->lake, err);
    say_why(job, why);
    close_base(job);
    job->cleansed = 0;
    if (job->has_id)
        dx_index_identity_release(&job->id);
    job->has_id = false;
    return rc;
}

/* ---- the lake ---- */

/* As before only by the same suffix list: by another one rows may be faulty that were not. */
bool dx_publish_job_skips(const struct dx_publish_job *job)
{
    const struct dx_manifest_version *current = dx_manifest_current(&job->result->manifest);
    struct dx_hash128 psl = dx_hash128_of(dx_span_of(job->psl.data, job->psl.size));

    if (job->options->foreign_rows != DX_FOREIGN_AS_BEFORE)
        return job->options->foreign_rows == DX_FOREIGN_SKIP;
    return current != NULL && current->rows_left_out > 0 &&
           dx_hash128_equal(&current->psl_hash, &psl);
}

static int scan_lake(struct dx_publish_job *job, const struct dx_index_fetch *fetch,
                     const struct dx_rules *rules, struct dx_scan_faults *faults,
                     struct dx_error *err)
{
    struct dx_span psl_text = dx_span_of(job->psl.data, job->psl.size);
    struct dx_psl *psl = NULL;
    struct dx_index_scan_options options = { .tmp_dir = job->work,
                                             .memory = job->options->memory,
                                             .threads = job->options->threads,
                                             .fetch = fetch,
                                             .rows_done = dx_publish_job_items(job),
                                             .rules = rules,
                                             .psl_text = psl_text,
                                             .find_twice = may_have_twins(job),
                                             .skip_rows = dx_publish_job_skips(job),
                                             .faults = faults };
    int rc = dx_psl_new(&psl, psl_text, err);

    options.psl = psl;
    if (rc == DX_OK)
        rc = dx_index_scan(&job->lake.lake, &options, err);
    dx_psl_free(&psl);
    return rc >= 0 || rc == DX_E_LIMIT || job->base == NULL
               ? rc
               : dx_fail_in(err, "merging with version %s (publish --full does without it)",
                            dx_version_name(job->base));
}

/* Suppressions up to the base's `cleansed` hit no row of its files, so they are not asked for when
 * those are read by the server of them: up to which number that is true of new rows too, is found by
 * the scan. A log that has not all those numbers is another one, and nothing is said of it. */
static int scan_cleansed(struct dx_publish_job *job, const struct dx_index_fetch *fetch,
                         struct dx_scan_faults *faults, struct dx_error *err)
{
    uint64_t cleansed = job->base->entry.cleansed;
    struct dx_suppressions log = DX_SUPPRESSIONS_INIT;
    struct dx_rules *rules = NULL;
    int rc = dx_suppress_read(job->options->root, &log, err);

    if (rc == DX_OK)
        rc = dx_rules_new(&rules, &log, err);
    if (rc == DX_OK)
        rc = scan_lake(job, fetch, rules, faults, err);
    if (rc == DX_OK) {
        uint64_t hit = job->lake.lake.suppressed_first;

        if (log.count < cleansed)
            cleansed = 0;
        job->cleansed = hit != 0 && hit <= cleansed ? hit - 1 : cleansed;
    }
    dx_rules_free(&rules);
    dx_suppressions_release(&log);
    return rc;
}

static int scan_merged(struct dx_publish_job *job, const struct dx_index_fetch *fetch,
                       struct dx_scan_faults *faults, struct dx_error *err)
{
    return job->base != NULL && job->base->entry.cleansed > 0
               ? scan_cleansed(job, fetch, faults, err)
               : scan_lake(job, fetch, NULL, faults, err);
}

static int scan_once(struct dx_publish_job *job, const struct dx_index_fetch *fetch,
                     struct dx_scan_faults *faults, struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    int rc = scan_merged(job, fetch, faults, &why);

    if (rc == DX_E_LIMIT && job->base != NULL) {
        /* A dataset that grew in many files: to read all of them from the beginning needs less
         * memory than to compare them with new ones, whose rows are read by page. */
        dx_scan_faults_release(faults);
        rc = dx_publish_job_whole(job, why.text, &why);
        if (rc == DX_OK)
            rc = scan_merged(job, fetch, faults, &why);
    }
    if (rc < 0 && err != NULL)
        *err = why;
    return rc;
}

/* The lake without them, merged with the same version as before, or with the current one after all
 * if what forbade it is frozen now. */
static int refuse_files(struct dx_publish_job *job, const struct dx_scan_faults *faults,
                        struct dx_error *err)
{
    int rc = leave_files(job, faults, err);

    if (rc == DX_OK && job->lake.named.list.count == 0 && job->result->manifest.version_count == 0)
        rc = dx_fail(err, DX_E_INVALID,
                     "nothing to publish: no file of the lake can be taken (%llu); one of them: "
                     "%.300s",
                     (unsigned long long)job->result->left_out.count, faults->list[0].err.text);
    if (rc != DX_OK || (job->lake.frozen_count == 0 && job->base == NULL))
        return rc;
    return dx_publish_job_base_again(job, err);
}

/* Again without the faulty files. Each round finds all that can be found at a time: files
 * that are faulty alone, then those that are so together, then what a merge could not do. */
static int scan_sound(struct dx_publish_job *job, const struct dx_index_fetch *fetch,
                      struct dx_error *err)
{
    int rc = DX_INDEX_FAULTS;

    for (int round = 0; rc == DX_INDEX_FAULTS && round < ROUNDS_MAX; round++) {
        struct dx_scan_faults faults = DX_SCAN_FAULTS_INIT;

        rc = scan_once(job, fetch, &faults, err);
        if (rc == DX_INDEX_FAULTS) {
            int refused = refuse_files(job, &faults, err);

            rc = refused < 0 ? refused : rc;
        }
        dx_scan_faults_release(&faults);
    }
    return rc != DX_INDEX_FAULTS
               ? rc
               : dx_fail(err, DX_E_INVALID,
                         "%s: after %d scans of the lake there still are faulty files",
                         job->options->root, ROUNDS_MAX);
}

int dx_publish_job_scan(struct dx_publish_job *job, const struct dx_index_fetch *fetch,
                        struct dx_error *err)
{
    const struct dx_parts_policy policy = { job->options->parts_max, job->options->merge_max };
    struct dx_publish_result *result = job->result;
    int rc;

    dx_left_out_take(&result->left_out, &job->lake.named.left_out);
    rc = scan_sound(job, fetch, err);
    if (rc != DX_OK)
        return rc;
    rc = dx_index_retain(&job->lake.lake, &policy, job->options->merge, err);
    if (rc == DX_OK)
        rc = dx_index_identity(&job->lake.lake, dx_span_of(job->psl.data, job->psl.size), &job->id,
                               err);
    job->has_id = rc == DX_OK;
    result->files_out = job->lake.named.out_count;
    result->files_missing = job->lake.named.missing.count + job->lake.named.lacked.count;
    result->files_unlisted = job->lake.named.unlisted_count;
    result->lake_bytes = job->lake.bytes;
    result->files_scanned = job->lake.lake.files_scanned;
    result->rows_scanned = job->lake.lake.rows_scanned;
    result->times_left_out = job->lake.lake.times_left_out;
    result->rows_left_out = dx_index_lake_rows_left_out(&job->lake.lake);
    result->rows_left_out_now = job->lake.lake.rows_left_out;
    memcpy(result->first_left_out, job->lake.lake.first_left_out, sizeof result->first_left_out);
    result->rows_twice = job->lake.lake.rows_twice;
    memcpy(result->twice, job->lake.lake.twice, sizeof result->twice);
    result->skipped_columns = job->lake.lake.skipped_columns;
    memcpy(result->skipped, job->lake.lake.skipped, sizeof result->skipped);
    return rc;
}

/* A version of the whole lake that was asked for, or cleansed, has the same build id as a merged
 * one whose files happen to have those numbers. Fewer parts are made of the same lake too. */
static bool is_as_wanted(const struct dx_publish_job *job, const struct dx_manifest_version *v)
{
    bool whole = job->options->full || (job->options->rewrite != NULL && job->base == NULL);
    size_t parts_max = job->options->parts_max == 0 ? 1 : job->options->parts_max;

    return (!whole || v->base[0] == '\0') && v->part_count < parts_max &&
           job->cleansed <= v->cleansed &&
           dx_index_lake_rows_left_out(&job->lake.lake) == v->rows_left_out;
}

bool dx_publish_job_unchanged(struct dx_publish_job *job)
{
    const struct dx_manifest_version *current = dx_manifest_current(&job->result->manifest);

    if (job->options->merge
            ? job->lake.lake.kept_parts < job->base->part_count
            : current == NULL || job->options->force ||
                  memcmp(&current->build, &job->id.same, sizeof current->build) != 0 ||
                  !is_as_wanted(job, current))
        return false;
    job->result->unchanged = true;
    memcpy(job->result->version, current->version, sizeof job->result->version);
    return true;
}

/* ---- the version ---- */

static int64_t published_us(const struct dx_publish_job *job)
{
    return job->options->now_us - job->options->now_us % 1000000 + job->later_s * (int64_t)1000000;
}

int dx_publish_job_name(struct dx_publish_job *job, uint64_t sequence, unsigned later_s,
                        struct dx_error *err)
{
    job->later_s = later_s;
    if (!dx_version_name_make(sequence, published_us(job), job->result->version))
        return sequence > DX_VERSION_SEQUENCE_MAX
                   ? dx_fail(err, DX_E_LIMIT,
                             "version numbers end at %d, and this root has used them: publish its "
                             "data in a new root",
                             DX_VERSION_SEQUENCE_MAX)
                   : dx_fail(err, DX_E_LIMIT,
                             "no version can have the time of this machine's clock: set the clock");
    return DX_OK;
}

static int add_entry(struct dx_publish_job *job, struct dx_error *err)
{
    int rc = dx_manifest_add(&job->result->manifest, job->result->version, &job->entry, err);

    if (rc != DX_OK)
        return rc;
    job->entry->published_us = published_us(job);
    job->entry->datasets = job->lake.registry.count;
    job->entry->cleansed = job->cleansed;
    if (job->base != NULL)
        memcpy(job->entry->base, job->base->entry.version, sizeof job->entry->base);
    (void)snprintf(job->entry->parquet_root, sizeof job->entry->parquet_root, "%s",
                   DX_LAKE_DIR "/");
    return DX_OK;
}

static int build_once(struct dx_publish_job *job, enum dx_sync sync, struct dx_error *err)
{
    struct dx_index_options options = { .dir = job->making,
                                        .tmp_dir = job->work,
                                        .psl_text = dx_span_of(job->psl.data, job->psl.size),
                                        .memory = job->options->memory,
                                        .threads = job->options->threads,
                                        .stopped = job->options->merge ? job->options->stopped
                                                                       : NULL,
                                        .sync = sync };
    int rc = dx_dir_make(job->making, err);

    if (rc == DX_OK)
        rc = add_entry(job, err);
    if (rc == DX_OK)
        rc = dx_index_build(&job->lake.lake, &job->id, &options, job->entry, &job->result->index,
                            err);
    return rc == DX_OK
               ? dx_publish_missing_write(&job->lake.named, job->making, sync, job->entry, err)
               : rc;
}

int dx_publish_job_build(struct dx_publish_job *job, const struct dx_index_fetch *fetch,
                         enum dx_sync sync, struct dx_error *err)
{
    int rc;

    assert(job->has_id && job->entry == NULL && job->result->version[0] != '\0');
    rc = build_once(job, sync, err);
    if (rc != DX_INDEX_FULL)
        return rc;
    rc = dx_dir_remove(job->making, err);
    if (rc == DX_OK)
        rc = dx_manifest_remove(&job->result->manifest, job->result->version, err);
    job->entry = NULL;
    if (rc == DX_OK)
        rc = dx_publish_job_whole(job, "two domains have the same domain_id", err);
    if (rc == DX_OK)
        rc = dx_publish_job_scan(job, fetch, err);
    if (rc == DX_OK)
        rc = build_once(job, sync, err);
    return rc != DX_INDEX_FULL
               ? rc
               : dx_fail(err, DX_E_UNSUPPORTED,
                         "two domains have the same domain_id, so the whole lake must be read, and "
                         "a lake file of the current version is faulty: restore it (`domaindex "
                         "verify` names it), or remove its dataset");
}

/* Rows that the rewrite has left out must not go if what hit them was lifted since. */
static int check_lifted(const struct dx_publish_job *job, struct dx_error *err)
{
    uint64_t last = job->options->rewrite == NULL ? 0 : job->options->rules_last;
    struct dx_suppressions log = DX_SUPPRESSIONS_INIT;
    int rc = last == 0 ? DX_OK : dx_suppress_read(job->options->root, &log, err);

    for (size_t i = 0; rc == DX_OK && i < last && i < log.count; i++)
        if (!log.lines[i].lift && log.lines[i].other > last)
            rc = dx_fail(err, DX_E_BUSY,
                         "%s: suppression %llu was lifted while its rows were being left out; run "
                         "it again",
                         job->options->root, (unsigned long long)log.lines[i].number);
    dx_suppressions_release(&log);
    return rc;
}

/* By the store's clock, as collectors reckon; a store that tells no time is believed to have
 * ours. */
static int64_t flip_time(const struct dx_publish_job *job)
{
    if (job->options->fixed_time)
        return job->options->now_us;
    return job->edit.now_us > 0 ? job->edit.now_us : (int64_t)time(NULL) * 1000000;
}

/* On top of what is there. Where only collectors were, nothing needs to be looked at again: the
 * base is still current, so all that was referenced is there. */
static int add_to(void *ctx, struct dx_manifest_edit *e, struct dx_error *err)
{
    struct dx_publish_job *job = ctx;
    struct dx_manifest_version *entry;
    int rc = check_lifted(job, err);

    if (rc == DX_OK)
        rc = dx_manifest_add(&e->manifest, job->result->version, &entry, err);
    if (rc == DX_OK)
        rc = dx_manifest_version_copy(job->entry, entry, err);
    if (rc == DX_OK)
        rc = dx_manifest_flip(&e->manifest, job->result->version, job->entry->sequence,
                              flip_time(job), err);
    if (rc == DX_OK) {
        (void)dx_suppress_bind(job->options->root, &e->manifest);
        (void)dx_access_bind(job->options->root, &e->manifest);
    }
    return rc < 0 ? rc : 1;
}

static bool has_entry(void *ctx, const struct dx_manifest *m)
{
    const struct dx_publish_job *job = ctx;
    const struct dx_manifest_version *v = dx_manifest_find(m, job->result->version);

    return v != NULL && memcmp(&v->build, &job->entry->build, sizeof v->build) == 0;
}

static void take_manifest(struct dx_publish_job *job)
{
    dx_manifest_release(&job->result->manifest);
    job->result->manifest = job->edit.manifest;
    job->edit.manifest = (struct dx_manifest)DX_MANIFEST_INIT;
}

int dx_publish_job_manifest(struct dx_publish_job *job, struct dx_error *err)
{
    int rc = dx_manifest_edit_read(&job->edit, err);

    if (rc < 0)
        return rc;
    take_manifest(job);
    job->base_sequence = job->result->manifest.sequence;
    memcpy(job->base_current, job->result->manifest.current, sizeof job->base_current);
    return dx_publish_job_room(job, err);
}

int dx_publish_job_flip(struct dx_publish_job *job, struct dx_error *err)
{
    const struct dx_manifest_change change = { .edit = add_to,
                                               .is_ours = has_entry,
                                               .ctx = job,
                                               .version = job->result->version,
                                               .current = job->base_current,
                                               .sequence = job->base_sequence };
    int rc;

    assert(job->entry != NULL);
    rc = dx_manifest_edit_run(&job->edit, &change, err);
    if (rc < 0) {
        (void)dx_fail_in(err,
                         job->edit.may_be_there
                             ? "version %s is complete, and its files stay"
                             : "version %s was not published, and nothing of it stays",
                         job->result->version);
        job->lost_to_merge = rc == DX_E_CONFLICT &&
                             dx_publish_is_merge_of(&job->edit.manifest, job->base_current);
        return rc;
    }
    take_manifest(job);
    job->entry = NULL;
    return DX_OK;
}

uint64_t dx_publish_job_index_bytes(const struct dx_publish_job *job)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < job->entry->file_count; i++)
        bytes += job->entry->files[i].size;
    return bytes;
}

uint64_t dx_publish_job_guess(const struct dx_publish_job *job)
{
    uint64_t bytes = SPACE_MIN;

    if (job->base == NULL)
        return bytes + job->lake.bytes / 2 +
               (job->options->rewrite == NULL ? 0 : 2 * job->lake.bytes);
    for (size_t k = job->options->merge ? 0 : job->base->part_count - 1; k < job->base->part_count;
         k++) {
        const struct dx_manifest_version *part = &job->base->parts[k].part->entry;

        for (size_t i = 0; i < part->file_count; i++)
            bytes += part->files[i].size;
    }
    return bytes + job->lake.bytes_new;
}

int dx_publish_job_file(struct dx_map *map, const char *dir, const struct dx_manifest_file *file,
                        struct dx_error *err)
{
    struct dx_hash128 hash;
    char path[PATH_MAX];
    int rc = dx_path_format(path, sizeof path, err, "%s/%s", dir, file->name);

    *map = (struct dx_map)DX_MAP_INIT;
    if (rc == DX_OK)
        rc = dx_map_open(map, path, DX_MAP_SEQUENTIAL, err);
    if (rc < 0)
        return rc;
    hash = dx_hash128_of(map->bytes);
    return map->bytes.size == file->size && dx_hash128_equal(&hash, &file->hash)
               ? DX_OK
               : dx_fail(err, DX_E_CORRUPT,
                         "%s: reads otherwise than it was written: check disk and memory", path);
}

int dx_publish_job_space(const char *dir, uint64_t need, uint64_t *room, struct dx_error *err)
{
    struct statvfs st;

    if (statvfs(dir, &st) < 0)
        return dx_fail_errno(err, errno, "%s: cannot ask for free space", dir);
    *room = (uint64_t)st.f_bavail * st.f_frsize;
    if (*room < need)
        return dx_fail(err, DX_E_IO,
                       "%s: %llu MiB are free, about %llu MiB are needed for the "
                       "index and its temporary files",
                       dir, (unsigned long long)(*room >> 20), (unsigned long long)(need >> 20));
    if (st.f_files > 0 && st.f_favail < INODES_MIN)
        return dx_fail(err, DX_E_IO, "%s: %llu inodes are free, up to %d are needed", dir,
                       (unsigned long long)st.f_favail, INODES_MIN);
    return DX_OK;
}
