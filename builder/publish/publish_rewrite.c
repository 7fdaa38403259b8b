/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish/publish_rewrite.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/file.h"
#include "base/path.h"
#include "builder/publish/publish_job.h"
#include "builder/publish/publish_refuse.h"

int dx_rewrite_out_add(struct dx_rewrite_out *out, const char *path, struct dx_error *err)
{
    char whole[DX_LAKE_PATH_MAX];
    char **grown;
    struct dx_lake_path parsed;
    char *copy;
    int n = snprintf(whole, sizeof whole, DX_LAKE_DIR "/%s", path);

    if (n < 0 || (size_t)n >= sizeof whole || !dx_lake_path_parse(dx_span_str(whole), &parsed))
        return dx_fail(err, DX_E_INVALID, "%.200s: no path of a lake file", path);
    grown = dx_array_room(out->paths, out->path_count, &out->path_capacity, sizeof *grown);
    if (grown == NULL)
        return dx_no_memory(err, "rewrite: names");
    out->paths = grown;
    copy = strdup(path);
    if (copy == NULL)
        return dx_no_memory(err, "rewrite");
    out->paths[out->path_count++] = copy;
    return DX_OK;
}

static void out_release(struct dx_rewrite_out *out)
{
    for (size_t i = 0; i < out->path_count; i++)
        free(out->paths[i]);
    free(out->paths);
    free(out->goes);
    dx_scan_faults_release(&out->faults);
}

static struct dx_rewrite_in input_of(const struct dx_publish_job *job, const char *out_dir,
                                     const struct dx_index_fetch *fetch)
{
    const struct dx_publish_options *o = job->options;

    return (struct dx_rewrite_in){ .lake_dir = job->lake.root,
                                   .files = job->lake.lake.files,
                                   .file_count = job->lake.lake.file_count,
                                   .fetch = fetch,
                                   .registry = &job->lake.registry,
                                   .out_dir = out_dir,
                                   .tmp_dir = job->work,
                                   .memory = o->memory,
                                   .threads = o->threads,
                                   .rows_done = dx_publish_job_items(job),
                                   .rules = o->rules,
                                   .rules_last = o->rules_last,
                                   .skip_rows = dx_publish_job_skips(job),
                                   .psl_text = dx_span_of(job->psl.data, job->psl.size) };
}

/* What the rewrite has taken, by name. */
static int keep_taken(struct dx_publish_job *job, const struct dx_rewrite_out *out,
                      struct dx_error *err)
{
    struct dx_left_out none = DX_LEFT_OUT_INIT; /* they are in the lake's list already */
    int rc = DX_OK;

    for (size_t i = 0; rc >= 0 && i < job->lake.named.list.count; i++) {
        const struct dx_lake_entry *file = &job->lake.named.list.file[i];

        if (out->goes[i])
            rc = dx_lake_list_add(&job->taken, &none, file->path, file->size, file->etag, err);
    }
    dx_left_out_release(&none);
    return rc < 0 ? rc : DX_OK;
}

static int put_in_lake(struct dx_publish_job *job, const char *out_dir, struct dx_rewrite_out *out,
                       struct dx_error *err)
{
    int rc;

    if (out->path_count == 0 && job->taken.count == 0)
        return DX_OK;
    rc = dx_publish_placed_put(&job->placed, job->root.store, job->result->version, out_dir,
                               out->paths, out->path_count, job->options->threads, err);
    return rc == DX_OK ? dx_publish_lake_change(&job->lake, out->goes, job->placed.file,
                                                job->placed.count, err)
                       : rc;
}

/* Before the lake is changed, as faults have the numbers of in->files. */
static int freeze_faulty(struct dx_publish_job *job, const struct dx_rewrite_out *out,
                         struct dx_error *err)
{
    const struct dx_publish_refusal refusal = { .lake = &job->lake,
                                                .left_out = &job->result->damaged,
                                                .merges = job->whole_why == NULL,
                                                .some = true };

    return out->faults.count == 0 ? DX_OK : dx_publish_refuse(&refusal, &out->faults, err);
}

/* A dataset is as it was only in a version that has it from the current one. */
static int merge_frozen(struct dx_publish_job *job, struct dx_error *err)
{
    struct dx_left_out *damaged = &job->result->damaged;
    const char *text;
    int rc = DX_OK;

    dx_left_out_take(damaged, &job->lake.lost);
    if (job->lake.frozen_count == 0)
        return DX_OK;
    if (job->whole_why == NULL)
        rc = dx_publish_job_base_again(job, err);
    text = damaged->text.size == 0 ? "\n" : (const char *)damaged->text.data;
    return rc < 0 || job->result->incremental
               ? rc
               : dx_fail(err, DX_E_CORRUPT, "%.*s; and the whole lake must be read: %s",
                         (int)strcspn(text, "\n"), text,
                         job->whole_why == NULL ? job->result->why : job->whole_why);
}

int dx_publish_job_rewrite(struct dx_publish_job *job, const struct dx_index_fetch *fetch,
                           struct dx_error *err)
{
    struct dx_rewrite_out out = { 0 };
    struct dx_rewrite_in in;
    char out_dir[PATH_MAX];
    int rc = dx_path_format(out_dir, PATH_MAX, err, "%s/%s", job->work, "rewrite");

    assert(job->options->rewrite != NULL && job->result->version[0] != '\0');
    if (rc == DX_OK)
        rc = dx_dir_make(out_dir, err);
    if (rc == DX_OK)
        rc = dx_publish_without_fresh(&job->lake, err);
    in = input_of(job, out_dir, fetch);
    if (rc == DX_OK && (out.goes = calloc(in.file_count + 1, sizeof *out.goes)) == NULL)
        rc = dx_no_memory(err, "rewrite");
    if (rc == DX_OK)
        rc = job->options->rewrite->run(job->options->rewrite->ctx, &in, &out, err);
    job->cleansed = out.cleansed;
    if (rc >= 0)
        rc = freeze_faulty(job, &out, err);
    if (rc == DX_OK)
        rc = keep_taken(job, &out, err);
    if (rc == DX_OK)
        rc = put_in_lake(job, out_dir, &out, err);
    if (rc == DX_OK)
        rc = merge_frozen(job, err);
    if (rc == DX_OK && job->root.in_place)
        rc = dx_dir_remove(out_dir, err); /* room on the disk; no other writer can come first */
    out_release(&out);
    return rc;
}

static bool has_path(const struct dx_lake_entry *files, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(files[i].path + strlen(DX_LAKE_DIR "/"), path) == 0)
            return true;
    return false;
}

static bool is_taken(const struct dx_publish_job *job, uint32_t dataset_id)
{
    for (size_t i = 0; i < job->taken.count; i++)
        if (job->taken.file[i].dataset_id == dataset_id)
            return true;
    return false;
}

int dx_publish_job_refuse_rewritten(const struct dx_publish_job *job,
                                    const struct dx_scan_faults *faults, struct dx_error *err)
{
    const struct dx_publish_rewrite *rewrite = job->options->rewrite;
    const struct dx_index_file *files = job->lake.lake.files;
    const struct dx_scan_fault *first = &faults->list[0];
    bool again = false;
    int rc = DX_OK;

    for (size_t i = 0; i < faults->count; i++) {
        const struct dx_index_file *file = &files[faults->list[i].file_id];

        if (has_path(job->placed.file, job->placed.count, file->path))
            return dx_fail(err, faults->list[i].err.code, "%s", faults->list[i].err.text);
        again = again || is_taken(job, file->dataset_id);
    }
    for (size_t i = 0; rc == DX_OK && again && i < faults->count; i++)
        rc = rewrite->refuse(rewrite->ctx, files[faults->list[i].file_id].path,
                             &faults->list[i].err, err);
    return rc < 0 || !again ? rc : dx_fail(err, first->err.code, "%s", first->err.text);
}

/* goes: of the lake's files, those that were taken. false: one of them is not current any more. */
static bool find_taken(struct dx_publish_job *job, bool *goes)
{
    const struct dx_lake_list *list = &job->lake.named.list;
    struct dx_lake_list *taken = &job->taken;
    size_t found = 0;

    if (taken->count > 0)
        qsort(taken->file, taken->count, sizeof *taken->file, dx_lake_entry_compare);
    for (size_t i = 0; i < list->count; i++) {
        goes[i] = taken->count > 0 && bsearch(&list->file[i], taken->file, taken->count,
                                              sizeof *taken->file, dx_lake_entry_compare) != NULL;
        found += goes[i];
    }
    return found == taken->count;
}

int dx_publish_job_rewrite_again(struct dx_publish_job *job, struct dx_error *err)
{
    const struct dx_manifest_version *current = dx_manifest_current(&job->result->manifest);
    struct dx_rewrite_out out = { 0 };
    struct dx_rewrite_in in;
    char out_dir[PATH_MAX];
    int rc = dx_path_format(out_dir, PATH_MAX, err, "%s/%s", job->work, "rewrite");

    if (rc == DX_OK)
        rc = dx_publish_without_fresh(&job->lake, err);
    in = input_of(job, out_dir, NULL);
    if (rc == DX_OK && (out.goes = calloc(in.file_count + 1, sizeof *out.goes)) == NULL)
        rc = dx_no_memory(err, "rewrite");
    if (rc == DX_OK && find_taken(job, out.goes)) {
        rc = job->options->rewrite->rename(job->options->rewrite->ctx, &in, &out, err);
        if (rc == DX_OK)
            rc = put_in_lake(job, out_dir, &out, err);
        if (rc == DX_OK)
            rc = merge_frozen(job, err);
        rc = rc == DX_OK ? 1 : rc;
    }
    /* Of the files that the other flip has added, its version says it. */
    if (current != NULL && current->cleansed < job->cleansed)
        job->cleansed = current->cleansed;
    out_release(&out);
    return rc;
}
