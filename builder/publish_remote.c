/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish_remote.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "builder/index_out.h"
#include "builder/lake_bring.h"
#include "builder/publish_check.h"
#include "builder/publish_etags.h"
#include "builder/publish_job.h"
#include "builder/publish_listing.h"
#include "builder/publish_probe.h"
#include "builder/publish_upload.h"
#include "builder/work_folder.h"
#include "format/etags_tsv.h"
#include "format/postings.h"
#include "loader/version.h"

#define MANIFEST "index/manifest.json"
#define PSL "urls/psl.dat"
#define THREADS 8 /* that put or get objects: they wait for the store, not for a core */
#define NAMES_MAX 1000
#define LOST_MAX 4 /* claims whose fate nobody can tell: each has been asked for minutes */

struct publish {
    struct dx_publish_job *job; /* work: FOLDER/sort, making: FOLDER/root/index/VERSION */
    const char *root;
    char *url; /* that ETags belong to; the root itself if it is a directory */
    struct dx_source_options source_options;
    struct dx_remote_root remote;
    struct dx_work_folder folder;
    char lake[PATH_MAX];
    char local_root[PATH_MAX];
    char mirror[PATH_MAX];
    char manifest_etag[DX_SOURCE_ETAG]; /* of the manifest at the beginning; "": there was none */
    uint64_t disk_bytes;                /* for files of the lake */
    struct dx_publish_upload upload;
};

/* ---- what is there ---- */

/* 1 it is in m, 0 there is none. */
static int read_manifest(const struct publish *p, struct dx_manifest *m, char etag[DX_SOURCE_ETAG],
                         struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    int rc = dx_version_manifest_get(p->remote.source, p->root, NULL, etag, m, &why);

    if (rc == DX_E_NOT_FOUND)
        return 0;
    if (rc == 1 && etag[0] == '\0')
        rc = dx_fail(&why, DX_E_UNSUPPORTED,
                     "%s: the store gives no ETag of " MANIFEST ", so nothing can be put on the "
                     "condition that it is still the same",
                     p->root);
    if (rc < 0 && err != NULL)
        *err = why;
    return rc;
}

static int read_psl(struct publish *p, struct dx_error *err)
{
    char etag[DX_SOURCE_ETAG];
    int rc = dx_remote_root_get(&p->remote, PSL, DX_PUBLISH_PSL_MAX, &p->job->psl, etag, err);

    if (rc == 0)
        return dx_publish_job_psl(p->job, err);
    (void)snprintf(p->job->result->psl_path, sizeof p->job->result->psl_path, "%s/" PSL, p->root);
    p->job->result->psl_own = true;
    return rc < 0 ? rc : DX_OK;
}

static int open_remote(struct publish *p, struct dx_error *err)
{
    int rc = dx_remote_root_options(&p->source_options, err);

    if (rc == DX_OK)
        rc = dx_remote_root_url(p->root, &p->url, err);
    return rc == DX_OK ? dx_remote_root_open(&p->remote, p->root, DX_REMOTE_WRITE, err) : rc;
}

static int make_folders(struct publish *p, struct dx_error *err)
{
    struct dx_publish_job *job = p->job;
    int rc = dx_work_folder_make(&p->folder, job->options->work_dir, "publish", err);

    if (rc == DX_OK)
        rc = dx_publish_job_path(job->work, p->folder.path, "sort", err);
    if (rc == DX_OK)
        rc = dx_publish_job_path(p->lake, p->folder.path, "lake", err);
    if (rc == DX_OK)
        rc = dx_publish_job_path(p->local_root, p->folder.path, "root", err);
    if (rc == DX_OK)
        rc = dx_publish_job_path(p->mirror, p->folder.path, "mirror", err);
    if (rc == DX_OK)
        rc = dx_dir_make(job->work, err);
    return rc == DX_OK ? dx_dir_make(p->lake, err) : rc;
}

/* The index twice, and what is left is for files of the lake. */
static int share_space(struct publish *p, struct dx_error *err)
{
    uint64_t index = 2 * dx_publish_job_guess(p->job->result->lake_bytes);
    uint64_t room = 0;
    int rc = dx_publish_job_space(p->folder.path, index, &room, err);

    if (rc == DX_OK)
        p->disk_bytes = room - index;
    return rc;
}

static int prepare(struct publish *p, uint64_t *sequence, struct dx_error *err)
{
    struct dx_publish_job *job = p->job;
    struct dx_publish_result *result = job->result;
    struct dx_publish_listing listing;
    int rc = open_remote(p, err);

    if (rc == DX_OK)
        rc = dx_publish_probe(&p->remote, p->url, job->options->now_us, err);
    if (rc == DX_OK)
        rc = read_manifest(p, &result->manifest, p->manifest_etag, err);
    if (rc < 0)
        return rc;
    dx_publish_listing_init(&listing, &result->manifest, job->options->now_us);
    rc = dx_publish_listing_read(&listing, p->remote.store, err);
    *sequence = listing.sequence;
    result->leftovers = listing.leftovers;
    memcpy(result->leftover, listing.leftover, sizeof result->leftover);
    if (rc == DX_OK)
        rc = make_folders(p, err);
    if (rc == DX_OK)
        rc = dx_publish_lake_open_remote(&job->lake, &p->remote, p->root, p->lake,
                                         &result->lake_bytes, err);
    if (rc == DX_OK)
        rc = read_psl(p, err);
    return rc == DX_OK ? share_space(p, err) : rc;
}

/* ---- the new version ---- */

static int scan(struct publish *p, struct dx_error *err)
{
    struct dx_lake_bring b = { .source = p->remote.source,
                               .lake = &p->job->lake.lake,
                               .parquet_root = DX_PUBLISH_PARQUET_ROOT,
                               .bytes = dx_publish_job_bytes(p->job) };
    struct dx_index_bring bring = { &b, p->disk_bytes, dx_lake_bring_file, dx_lake_bring_drop };

    return dx_publish_job_scan(p->job, &bring, err);
}

/* 1 there is nothing to publish; 0 there is, though the lake is as it was: objects were replaced by
 * others of the same bytes, which readers of the current version refuse. */
static int nothing_new(struct publish *p, struct dx_error *err)
{
    struct dx_publish_result *result = p->job->result;
    struct dx_publish_etags e;
    int rc;

    if (!dx_publish_job_unchanged(p->job))
        return 0;
    rc = dx_publish_etags_compare(&e, &p->remote, p->url, dx_manifest_current(&result->manifest),
                                  &p->job->lake.lake, err);
    if (rc < 0 || e.differ == 0)
        return rc < 0 ? rc : 1;
    result->unchanged = false;
    result->other_etags = e.differ;
    memcpy(result->other_etag, e.first, sizeof result->other_etag);
    return 0;
}

/* The next number whose name nobody has taken; one of which nobody can tell whether we have taken it
 * is left alone. Who else is at work now comes before or after us
 * by the manifest; the names only keep our objects apart. */
static int take_name(struct publish *p, uint64_t sequence, struct dx_error *err)
{
    struct dx_publish_job *job = p->job;
    int lost = 0;
    char path[64];
    int rc = DX_E_EXISTS;

    for (int i = 0;
         (rc == DX_E_EXISTS || (rc == DX_E_UNKNOWN && ++lost < LOST_MAX)) && i < NAMES_MAX; i++) {
        rc = dx_publish_job_name(job, ++sequence, err);
        if (rc == DX_OK)
            rc = dx_publish_upload_claim(p->remote.store, job->result->version, err);
    }
    if (rc == DX_OK)
        rc = dx_publish_job_add(job, err);
    (void)snprintf(path, sizeof path, "index/%s", job->result->version);
    return rc == DX_OK ? dx_publish_job_path(job->making, p->local_root, path, err) : rc;
}

/* Weak ones and none have no line. */
static int add_etag(struct dx_etags_writer *w, enum dx_etag_kind kind, uint32_t number,
                    const char *etag, struct dx_error *err)
{
    return etag[0] != '"' ? DX_OK : dx_etags_writer_add(w, kind, number, etag, err);
}

static int add_etags(const struct publish *p, struct dx_etags_writer *w, struct dx_error *err)
{
    const struct dx_index_lake *lake = &p->job->lake.lake;
    int rc = DX_OK;

    for (int dat = 0; dat < 2; dat++)
        for (uint32_t i = 0; rc == DX_OK && i < DX_POSTINGS_SHARDS; i++) {
            char shard[DX_POSTINGS_SHARD_NAME];
            char name[DX_MANIFEST_FILE_NAME];

            dx_postings_shard_name(i, shard);
            (void)snprintf(name, sizeof name, "postings/%s/postings.%s.zst", shard,
                           dat ? "dat" : "idx");
            rc = add_etag(w, dat ? DX_ETAG_DAT : DX_ETAG_IDX, i,
                          dx_publish_upload_etag(&p->upload, name), err);
        }
    for (size_t i = 0; rc == DX_OK && i < lake->file_count; i++)
        rc = add_etag(w, DX_ETAG_LAKE, (uint32_t)i, lake->files[i].etag, err);
    return rc;
}

static int write_etags(struct publish *p, struct dx_error *err)
{
    struct dx_index_out out = DX_INDEX_OUT_INIT;
    struct dx_etags_writer w = { 0 };
    int rc = dx_index_out_open(&out, p->job->making, DX_FILE_ETAGS, DX_SYNC_LATER, err);

    if (rc == DX_OK)
        rc = dx_etags_writer_begin(&w, p->url, dx_index_out_sink, &out, err);
    if (rc == DX_OK)
        rc = add_etags(p, &w, err);
    if (rc == DX_OK)
        rc = dx_etags_writer_finish(&w, err);
    dx_etags_writer_release(&w);
    if (rc == DX_OK)
        rc = dx_index_out_commit(&out, p->job->entry, err);
    dx_index_out_abort(&out);
    return rc;
}

static int upload(struct publish *p, struct dx_error *err)
{
    struct dx_publish_job *job = p->job;
    int rc;

    dx_publish_job_enter(job, DX_PUBLISH_UPLOAD, dx_publish_job_index_bytes(job));
    p->upload = (struct dx_publish_upload){ .store = p->remote.store,
                                            .dir = job->making,
                                            .entry = job->entry,
                                            .threads = THREADS,
                                            .bytes = dx_publish_job_bytes(job),
                                            .items = dx_publish_job_items(job) };
    rc = dx_publish_upload_files(&p->upload, err);
    if (rc == DX_OK)
        rc = write_etags(p, err);
    return rc == DX_OK ? dx_publish_upload_one(&p->upload, DX_FILE_ETAGS, err) : rc;
}

static int check(struct publish *p, struct dx_error *err)
{
    struct dx_publish_check c = { .remote_root = p->root,
                                  .local_root = p->local_root,
                                  .mirror_dir = p->mirror,
                                  .entry = p->job->entry,
                                  .source = p->remote.source,
                                  .options = &p->source_options,
                                  .threads = THREADS,
                                  .bytes = dx_publish_job_bytes(p->job),
                                  .items = dx_publish_job_items(p->job) };

    dx_publish_job_enter(p->job, DX_PUBLISH_CHECK, dx_publish_job_index_bytes(p->job));
    return dx_publish_check_run(&c, err);
}

/* ---- the flip ---- */

enum outcome { NOT_OURS, OURS, NOBODY_KNOWS };

/* What the manifest says, after a put that failed. */
static enum outcome ask_manifest(const struct publish *p, struct dx_manifest *m)
{
    const struct dx_manifest_version *v;
    char etag[DX_SOURCE_ETAG];
    int rc = read_manifest(p, m, etag, NULL);

    if (rc < 0)
        return NOBODY_KNOWS;
    v = dx_manifest_find(m, p->job->result->version);
    return v != NULL && memcmp(&v->build, &p->job->entry->build, sizeof v->build) == 0 ? OURS
                                                                                       : NOT_OURS;
}

static int beaten(const struct publish *p, const struct dx_manifest *m, struct dx_error *err)
{
    return dx_fail(err, DX_E_CONFLICT,
                   "%s: another publisher was first: %s%s is current now. Nothing of this "
                   "publish stays; publish again if the lake has more than that version",
                   p->root, m->current[0] == '\0' ? "another version" : "version ", m->current);
}

static int unknown(const struct publish *p, struct dx_error *err)
{
    (void)dx_fail_in(err,
                     "%s: nobody can tell whether version %s was published or still will be "
                     "(see `domaindex versions`); its objects stay",
                     p->root, p->job->result->version);
    if (err != NULL)
        err->code = DX_E_UNKNOWN;
    return DX_E_UNKNOWN;
}

/* rc: of a put that failed. DX_OK: it has arrived all the same. Only a put of which the store could
 * not say whether it was applied may still be: any other error is what it says. */
static int resolve(const struct publish *p, int rc, bool *may_be_named, struct dx_error *err)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    enum outcome outcome = ask_manifest(p, &m);

    *may_be_named = outcome != NOT_OURS || rc == DX_E_UNKNOWN;
    if (outcome == OURS)
        rc = DX_OK;
    else if (*may_be_named)
        rc = unknown(p, err);
    else if (rc == DX_E_CONFLICT || rc == DX_E_EXISTS)
        rc = beaten(p, &m, err);
    else
        (void)dx_fail_in(err, "%s: nothing was published, and nothing of this publish stays",
                         p->root);
    dx_manifest_release(&m);
    return rc;
}

static int flip(struct publish *p, bool *may_be_named, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    char etag[DX_SOURCE_ETAG];
    struct dx_put put = { .object = MANIFEST,
                          .if_absent = p->manifest_etag[0] == '\0',
                          .if_match = p->manifest_etag[0] == '\0' ? NULL : p->manifest_etag };
    int rc = dx_publish_job_manifest(p->job, &text, err);

    if (rc == DX_OK) {
        *may_be_named = true;
        put.bytes = dx_span_of(text.data, text.size);
        rc = dx_store_put(p->remote.store, &put, etag, err);
        if (rc < 0)
            rc = resolve(p, rc, may_be_named, err);
    }
    dx_buf_release(&text);
    return rc;
}

static int run(struct publish *p, struct dx_error *err)
{
    struct dx_publish_job *job = p->job;
    bool may_be_named = false;
    uint64_t sequence = 0;
    int rc = prepare(p, &sequence, err);

    dx_publish_job_enter(job, DX_PUBLISH_SCAN, job->result->lake_bytes);
    if (rc == DX_OK)
        rc = scan(p, err);
    if (rc == DX_OK)
        rc = nothing_new(p, err);
    if (rc != DX_OK)
        return rc < 0 ? rc : DX_OK;
    dx_publish_job_enter(job, DX_PUBLISH_BUILD, 0);
    rc = take_name(p, sequence, err);
    if (rc == DX_OK)
        rc = dx_publish_job_build(job, DX_SYNC_LATER, err);
    if (rc == DX_OK)
        rc = upload(p, err);
    if (rc == DX_OK)
        rc = check(p, err);
    if (rc == DX_OK)
        rc = flip(p, &may_be_named, err);
    if (rc != DX_OK && !may_be_named)
        dx_publish_upload_undo(&p->upload);
    return rc;
}

int dx_publish_remote(struct dx_publish_job *job, struct dx_error *err)
{
    struct publish p = { .job = job,
                         .root = job->options->root,
                         .remote = DX_REMOTE_ROOT_INIT,
                         .folder = DX_WORK_FOLDER_INIT };
    int rc = run(&p, err);

    dx_publish_upload_release(&p.upload);
    dx_work_folder_remove(&p.folder);
    dx_remote_root_close(&p.remote);
    free(p.url);
    return rc;
}
