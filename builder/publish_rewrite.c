/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish_rewrite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "builder/publish_job.h"

int dx_rewrite_out_add(struct dx_rewrite_out *out, const char *path, struct dx_error *err)
{
    char whole[DX_LAKE_PATH_MAX];
    struct dx_lake_path parsed;
    char *copy;
    int n = snprintf(whole, sizeof whole, DX_LAKE_DIR "/%s", path);

    if (n < 0 || (size_t)n >= sizeof whole || !dx_lake_path_parse(dx_span_str(whole), &parsed))
        return dx_fail(err, DX_E_INVALID, "%.200s: no path of a lake file", path);
    if (out->path_count == out->path_capacity) {
        size_t capacity = out->path_capacity == 0 ? 64 : out->path_capacity * 2;
        char **grown = realloc(out->paths, capacity * sizeof *grown);

        if (grown == NULL)
            return dx_fail(err, DX_E_NOMEM, "rewrite: out of memory for %zu names", capacity);
        out->paths = grown;
        out->path_capacity = capacity;
    }
    copy = strdup(path);
    if (copy == NULL)
        return dx_fail(err, DX_E_NOMEM, "rewrite: out of memory");
    out->paths[out->path_count++] = copy;
    return DX_OK;
}

static void out_release(struct dx_rewrite_out *out)
{
    for (size_t i = 0; i < out->path_count; i++)
        free(out->paths[i]);
    free(out->paths);
    free(out->goes);
}

static int run(struct dx_publish_job *job, const char *out_dir, const struct dx_index_bring *bring,
               struct dx_rewrite_out *out, struct dx_error *err)
{
    const struct dx_publish_options *o = job->options;
    struct dx_rewrite_in in = { .lake_dir = job->lake.root,
                                .files = job->lake.lake.files,
                                .file_count = job->lake.lake.file_count,
                                .bring = bring,
                                .registry = &job->lake.registry,
                                .out_dir = out_dir,
                                .tmp_dir = job->work,
                                .memory = o->memory,
                                .threads = o->threads,
                                .rows_done = dx_publish_job_items(job),
                                .rules = o->rules,
                                .rules_last = o->rules_last,
                                .psl_text = dx_span_of(job->psl.data, job->psl.size) };
    int rc;

    out->goes = calloc(in.file_count + 1, sizeof *out->goes);
    if (out->goes == NULL)
        return dx_fail(err, DX_E_NOMEM, "rewrite: out of memory");
    rc = o->rewrite->run(o->rewrite->ctx, &in, out, err);
    return rc < 0 ? rc : DX_OK;
}

static bool changes(const struct dx_rewrite_out *out, size_t file_count)
{
    bool any = out->path_count > 0;

    for (size_t i = 0; i < file_count; i++)
        any = any || out->goes[i];
    return any;
}

int dx_publish_job_rewrite(struct dx_publish_job *job, struct dx_store *store,
                           const struct dx_index_bring *bring, struct dx_error *err)
{
    struct dx_rewrite_out out = { 0 };
    char out_dir[PATH_MAX];
    int rc = dx_publish_job_path(out_dir, job->work, "rewrite", err);

    if (rc == DX_OK)
        rc = dx_dir_make(out_dir, err);
    if (rc == DX_OK)
        rc = run(job, out_dir, bring, &out, err);
    job->cleansed = out.cleansed;
    if (rc == DX_OK && changes(&out, job->lake.lake.file_count)) {
        rc = dx_publish_placed_put(&job->placed, store, job->result->version, out_dir, out.paths,
                                   out.path_count, job->options->threads, err);
        if (rc == DX_OK)
            rc = dx_publish_lake_change(&job->lake, out.goes, job->placed.file, job->placed.count,
                                        err);
    }
    if (rc == DX_OK)
        rc = dx_dir_remove(out_dir, err); /* room on the disk */
    out_release(&out);
    return rc;
}
