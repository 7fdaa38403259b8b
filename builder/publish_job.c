/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish_job.h"

#include <errno.h>
#include <stdio.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/file.h"
#include "format/postings.h"

#define SPACE_MIN (16u << 20)
#define INODES_MIN (3 * DX_POSTINGS_SHARDS + 64)

void dx_publish_job_init(struct dx_publish_job *job, const struct dx_publish_options *options,
                         struct dx_publish_result *result)
{
    *job = (struct dx_publish_job){ .options = options, .result = result, .begun = dx_clock_s() };
    dx_buf_init(&job->psl, DX_PUBLISH_PSL_MAX);
}

void dx_publish_job_release(struct dx_publish_job *job)
{
    job->result->seconds[job->phase] += dx_clock_s() - job->begun;
    if (job->has_id)
        dx_index_identity_release(&job->id);
    dx_publish_lake_close(&job->lake);
    dx_buf_release(&job->psl);
}

void dx_publish_job_enter(struct dx_publish_job *job, enum dx_publish_phase phase, uint64_t bytes)
{
    struct dx_publish_progress *p = job->options->progress;
    double t = dx_clock_s();

    job->result->seconds[job->phase] += t - job->begun;
    job->begun = t;
    job->phase = phase;
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

int dx_publish_job_path(char out[PATH_MAX], const char *dir, const char *name, struct dx_error *err)
{
    int n = snprintf(out, PATH_MAX, "%s/%s", dir, name);

    return n < 0 || n >= PATH_MAX ? dx_fail(err, DX_E_INVALID, "%s/%s: path too long", dir, name)
                                  : DX_OK;
}

int dx_publish_job_psl(struct dx_publish_job *job, struct dx_error *err)
{
    const char *path = job->options->psl_path != NULL ? job->options->psl_path
                                                      : DX_PUBLISH_PSL_SYSTEM;
    int rc = dx_file_read(path, DX_PUBLISH_PSL_MAX, &job->psl, err);

    (void)snprintf(job->result->psl_path, sizeof job->result->psl_path, "%s", path);
    if (rc == DX_E_NOT_FOUND)
        rc = dx_fail(err, rc, "%s: no Public Suffix List there; name one with --psl", path);
    return rc;
}

int dx_publish_job_scan(struct dx_publish_job *job, const struct dx_index_bring *bring,
                        struct dx_error *err)
{
    struct dx_index_scan_options options = { .tmp_dir = job->work,
                                             .memory = job->options->memory,
                                             .threads = job->options->threads,
                                             .bring = bring,
                                             .rows_done = dx_publish_job_items(job) };
    int rc = dx_index_scan(&job->lake.lake, &options, err);

    if (rc != DX_OK)
        return rc;
    rc = dx_index_identity(&job->lake.lake, dx_span_of(job->psl.data, job->psl.size), &job->id,
                           err);
    job->has_id = rc == DX_OK;
    job->result->skipped_columns = job->lake.lake.skipped_columns;
    memcpy(job->result->skipped, job->lake.lake.skipped, sizeof job->result->skipped);
    return rc;
}

bool dx_publish_job_unchanged(struct dx_publish_job *job)
{
    const struct dx_manifest_version *current = dx_manifest_current(&job->result->manifest);

    if (current == NULL || job->options->force ||
        memcmp(&current->build, &job->id.build, sizeof current->build) != 0)
        return false;
    job->result->unchanged = true;
    memcpy(job->result->version, current->version, sizeof job->result->version);
    return true;
}

static int64_t published_us(const struct dx_publish_job *job)
{
    return job->options->now_us - job->options->now_us % 1000000;
}

int dx_publish_job_name(struct dx_publish_job *job, uint64_t sequence, struct dx_error *err)
{
    if (!dx_version_name_make(sequence, published_us(job), job->result->version))
        return dx_fail(err, DX_E_LIMIT, "version %llu at this time has no name",
                       (unsigned long long)sequence);
    return DX_OK;
}

int dx_publish_job_add(struct dx_publish_job *job, struct dx_error *err)
{
    int rc = dx_manifest_add(&job->result->manifest, job->result->version, &job->entry, err);

    if (rc != DX_OK)
        return rc;
    job->entry->published_us = published_us(job);
    job->entry->datasets = job->lake.registry.count;
    (void)snprintf(job->entry->parquet_root, sizeof job->entry->parquet_root, "%s",
                   DX_PUBLISH_PARQUET_ROOT);
    return DX_OK;
}

int dx_publish_job_build(struct dx_publish_job *job, enum dx_sync sync, struct dx_error *err)
{
    struct dx_index_options options = { .dir = job->making,
                                        .tmp_dir = job->work,
                                        .psl_text = dx_span_of(job->psl.data, job->psl.size),
                                        .memory = job->options->memory,
                                        .threads = job->options->threads,
                                        .sync = sync };
    int rc = dx_dir_make(job->making, err);

    return rc == DX_OK ? dx_index_build(&job->lake.lake, &job->id, &options, job->entry,
                                        &job->result->index, err)
                       : rc;
}

int dx_publish_job_manifest(struct dx_publish_job *job, struct dx_buf *text, struct dx_error *err)
{
    struct dx_manifest *m = &job->result->manifest;

    int rc = dx_manifest_flip(m, job->result->version, job->entry->sequence,
                              job->entry->published_us, err);

    return rc == DX_OK ? dx_manifest_write(m, text, err) : rc;
}

uint64_t dx_publish_job_index_bytes(const struct dx_publish_job *job)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < job->entry->file_count; i++)
        bytes += job->entry->files[i].size;
    return bytes;
}

uint64_t dx_publish_job_guess(uint64_t lake_bytes)
{
    return lake_bytes / 2 + SPACE_MIN;
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
