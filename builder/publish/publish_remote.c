/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish/publish_remote.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/path.h"
#include "builder/index/index_out.h"
#include "builder/lake/lake_fetch.h"
#include "builder/lake/lake_layout.h"
#include "builder/publish/publish_check.h"
#include "builder/publish/publish_etags.h"
#include "builder/publish/publish_job.h"
#include "builder/publish/publish_listing.h"
#include "builder/publish/publish_pack.h"
#include "builder/publish/publish_upload.h"
#include "builder/root/work_folder.h"
#include "format/version/etags_tsv.h"
#include "loader/mirror.h"
#include "loader/version.h"

#define THREADS 8 /* that put or get objects: they wait for the store, not for a core */
#define NAMES_MAX 1000
#define REWRITES_MAX 3 /* flips of others that a rewrite survives */
#define LOST_MAX 4     /* claims with unknown outcome: each was retried for minutes */

struct publish {
    struct dx_publish_job *job; /* work: FOLDER/sort, making: FOLDER/root/index/VERSION */
    const char *root;
    struct dx_source_options source_options;
    struct dx_work_folder folder;
    char lake[PATH_MAX];
    char local_root[PATH_MAX];
    char mirror[PATH_MAX];
    struct dx_mirror *cache; /* of index files, from one publish to the next */
    struct dx_publish_listing listing;
    uint64_t disk_bytes; /* for files of the lake */
    struct dx_publish_upload upload;
};

/* ---- what is there ---- */

static int make_folders(struct publish *p, struct dx_error *err)
{
    struct dx_publish_job *job = p->job;
    int rc = dx_work_folder_make(&p->folder, job->options->work_dir, "publish", err);

    if (rc == DX_OK)
        rc = dx_path_format(job->work, PATH_MAX, err, "%s/%s", p->folder.path, "sort");
    if (rc == DX_OK)
        rc = dx_path_format(p->lake, PATH_MAX, err, "%s/%s", p->folder.path, "lake");
    if (rc == DX_OK)
        rc = dx_path_format(p->local_root, PATH_MAX, err, "%s/%s", p->folder.path, "root");
    if (rc == DX_OK)
        rc = dx_path_format(p->mirror, PATH_MAX, err, "%s/%s", p->folder.path, "mirror");
    if (rc == DX_OK)
        rc = dx_dir_make(job->work, err);
    return rc == DX_OK ? dx_dir_make(p->lake, err) : rc;
}

/* The index twice, and what is left is for files of the lake. */
static int share_space(struct publish *p, struct dx_error *err)
{
    uint64_t index = 2 * dx_publish_job_guess(p->job);
    uint64_t room = 0;
    int rc = dx_publish_job_space(p->folder.path, index, &room, err);

    if (rc == DX_OK)
        p->disk_bytes = room - index;
    return rc;
}

/* The manifest, and what its versions list. */
static int read_state(struct publish *p, uint64_t *sequence, struct dx_error *err)
{
    struct dx_publish_job *job = p->job;
    struct dx_publish_result *result = job->result;
    struct dx_publish_listing *listing = &p->listing;
    int rc = dx_publish_job_manifest(job, err);

    if (rc < 0)
        return rc;
    dx_publish_listing_release(listing);
    dx_publish_listing_init(listing, &result->manifest, job->options->now_us);
    rc = dx_publish_listing_read(listing, p->job->root.store, err);
    *sequence = listing->sequence;
    result->leftovers = listing->leftovers;
    memcpy(result->leftover, listing->leftover, sizeof result->leftover);
    if (rc == DX_OK)
        rc = dx_publish_listing_check_lost(listing, p->root, 2, err);
    if (rc < 0 || job->options->merge)
        return rc;
    return dx_publish_lake_open(&job->lake, &job->root, &result->manifest, &job->options->allow,
                                p->lake, err);
}

/* The manifest that seemed to be lost was put while index/ was listed. */
static bool is_first_now(struct publish *p, int rc)
{
    return rc == DX_E_CORRUPT && p->job->result->manifest.version_count == 0 &&
           dx_manifest_edit_read(&p->job->edit, NULL) == 1;
}

/* Of one moment: a version's list goes after its entry, when a collector removes it. A list that is
 * missing of the same manifest is missing. */
static int look_until_whole(struct publish *p, uint64_t *sequence, struct dx_error *err)
{
    char before[DX_SOURCE_ETAG] = "";

    for (;;) {
        int rc = read_state(p, sequence, err);

        if (is_first_now(p, rc))
            continue;
        if (rc != DX_E_NOT_FOUND || strcmp(before, p->job->edit.etag) == 0)
            return rc;
        memcpy(before, p->job->edit.etag, sizeof before);
        dx_publish_lake_close(&p->job->lake);
    }
}

/* If the default folder cannot be written to, copies are for this publish alone. */
static int open_cache(struct publish *p, struct dx_error *err)
{
    const char *dir = p->job->options->cache_dir;
    char path[PATH_MAX];
    int rc;

    if (dx_mirror_open(&p->cache, dir, dir == NULL ? NULL : err) == DX_OK)
        return DX_OK;
    if (dir != NULL)
        return err == NULL ? DX_E_IO : (int)err->code;
    rc = dx_path_format(path, PATH_MAX, err, "%s/%s", p->folder.path, "base");
    return rc == DX_OK ? dx_mirror_open(&p->cache, path, err) : rc;
}

static int prepare(struct publish *p, uint64_t *sequence, struct dx_error *err)
{
    int rc = dx_root_options(&p->source_options, err);

    if (rc == DX_OK)
        rc = make_folders(p, err);
    if (rc == DX_OK)
        rc = open_cache(p, err);
    p->job->root.copies = p->cache;
    if (rc == DX_OK)
        rc = look_until_whole(p, sequence, err);
    return rc == DX_OK ? dx_publish_job_psl(p->job, err) : rc;
}

/* ---- the new version ---- */

/* The current version, to be merged with: what of it is mapped, and was not here, comes to the cache. */
static int choose_base(struct publish *p, struct dx_error *err)
{
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;

    options.cache_bytes_idx = options.cache_bytes_payload = options.cache_bytes_pages = 1u << 20;
    options.source = &p->source_options;
    options.mirror_dir = dx_mirror_dir_of(p->cache);
    return dx_publish_job_base(p->job, &options, err);
}

/* Whether what the current version has in the store is what it was made with: servers refuse what
 * is not, so the whole lake is published again. Of an increment before the scan: it is made of what
 * that version has. */
static int compare_etags(struct publish *p, struct dx_error *err)
{
    struct dx_publish_result *result = p->job->result;
    const struct dx_publish_etags_of of = { &p->job->root,      p->job->root.url, &result->manifest,
                                            &p->job->lake.lake, &p->listing,      p->cache };
    struct dx_publish_etags e;
    int rc = dx_publish_etags_compare(&e, &of, err);

    if (rc < 0 || e.differ == 0)
        return rc;
    result->other_etags = e.differ;
    memcpy(result->other_etag, e.first, sizeof result->other_etag);
    return result->incremental
               ? dx_publish_job_whole(p->job, "objects have other ETags than they had", err)
               : DX_OK;
}

/* 1 there is nothing to publish; 0 there is, though the lake is as it was: objects were replaced by
 * others of the same bytes. */
static int nothing_new(struct publish *p, struct dx_error *err)
{
    struct dx_publish_result *result = p->job->result;
    int rc = DX_OK;

    if (!dx_publish_job_unchanged(p->job))
        return 0;
    if (!result->incremental && result->other_etags == 0)
        rc = compare_etags(p, err);
    if (rc < 0 || result->other_etags == 0)
        return rc < 0 ? rc : 1;
    result->unchanged = false;
    return 0;
}

/* The next number whose name is free; one whose claim has an unknown outcome is left alone. Another
 * publisher at work now comes before or after us by the manifest; the names only keep our objects
 * apart. Without a manifest a higher number would say, were we to die before our put, that the manifest
 * was lost (publish_listing.h): then it is the next second that is free. */
static int take_name(struct publish *p, uint64_t sequence, struct dx_error *err)
{
    struct dx_publish_job *job = p->job;
    bool is_first = job->result->manifest.version_count == 0;
    int lost = 0;
    int rc = DX_E_EXISTS;

    for (unsigned i = 0;
         (rc == DX_E_EXISTS || (rc == DX_E_UNKNOWN && ++lost < LOST_MAX)) && i < NAMES_MAX; i++) {
        rc = dx_publish_job_name(job, sequence + 1 + (is_first ? 0 : i), is_first ? i : 0, err);
        if (rc == DX_OK)
            rc = dx_publish_upload_claim(p->job->root.store, job->result->version, err);
    }
    return rc < 0 ? rc
                  : dx_path_format(job->making, PATH_MAX, err, "%s/" DX_INDEX_DIR "/%s",
                                   p->local_root, job->result->version);
}

/* Weak ones and none have no line. */
static int add_etag(struct dx_etags_writer *w, enum dx_etag_kind kind, uint32_t number,
                    const char *etag, struct dx_error *err)
{
    return etag[0] != '"' ? DX_OK : dx_etags_writer_add(w, kind, number, etag, err);
}

static int add_own_etags(const struct publish *p, struct dx_etags_writer *w, struct dx_error *err)
{
    int rc = add_etag(w, DX_ETAG_IDX, 0, dx_publish_upload_etag(&p->upload, DX_FILE_POSTINGS_IDX),
                      err);

    if (rc == DX_OK)
        rc = add_etag(w, DX_ETAG_DAT, 0, dx_publish_upload_etag(&p->upload, DX_FILE_POSTINGS_DAT),
                      err);
    for (unsigned i = 0; rc == DX_OK && i < DX_COLD_FILES; i++)
        rc = add_etag(w, DX_ETAG_COLD, i,
                      dx_publish_upload_etag(&p->upload, dx_cold_file_name((enum dx_cold_file)i)),
                      err);
    return rc;
}

/* Of a pack none are known before it is put, and none are needed: it is read whole, by its hash. */
static int add_etags(const struct publish *p, struct dx_etags_writer *w, struct dx_error *err)
{
    const struct dx_index_lake *lake = &p->job->lake.lake;
    int rc = add_own_etags(p, w, err);

    for (size_t i = lake->first_file; rc == DX_OK && i < lake->file_count; i++)
        if (lake->files[i].path != NULL)
            rc = add_etag(w, DX_ETAG_LAKE, (uint32_t)i, lake->files[i].etag, err);
    return rc;
}

static int write_etags(struct publish *p, struct dx_error *err)
{
    struct dx_index_out out = DX_INDEX_OUT_INIT;
    struct dx_etags_writer w = { 0 };
    int rc = dx_index_out_open(&out, p->job->making, DX_FILE_ETAGS, DX_SYNC_LATER, err);

    if (rc == DX_OK)
        rc = dx_etags_writer_begin(&w, p->job->root.url, dx_index_out_sink, &out, err);
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

/* ETags of lake files are known before anything is put, so they go into a pack; those of what is
 * read by range only behind it. */
static int upload_files(struct publish *p, struct dx_error *err)
{
    struct dx_publish_job *job = p->job;
    bool packs = dx_publish_packs(job->entry, job->options->pack_max, DX_PUBLISH_PACK_STORE);
    int rc = packs ? write_etags(p, err) : DX_OK;

    if (rc == DX_OK && packs)
        rc = dx_publish_pack(job->entry, job->making, DX_SYNC_LATER, err);
    if (rc == DX_OK)
        rc = dx_publish_upload_files(&p->upload, err);
    if (rc < 0 || packs)
        return rc;
    rc = write_etags(p, err);
    return rc == DX_OK ? dx_publish_upload_one(&p->upload, DX_FILE_ETAGS, err) : rc;
}

static int upload(struct publish *p, struct dx_error *err)
{
    struct dx_publish_job *job = p->job;

    dx_publish_job_enter(job, DX_PUBLISH_UPLOAD, dx_publish_job_index_bytes(job));
    p->upload = (struct dx_publish_upload){ .store = p->job->root.store,
                                            .dir = job->making,
                                            .entry = job->entry,
                                            .threads = THREADS,
                                            .bytes = dx_publish_job_bytes(job),
                                            .items = dx_publish_job_items(job) };
    return upload_files(p, err);
}

static int check(struct publish *p, struct dx_error *err)
{
    struct dx_publish_check c = { .manifest = &p->job->result->manifest,
                                  .remote_root = p->root,
                                  .local_root = p->local_root,
                                  .mirror_dir = p->mirror,
                                  .cache = p->cache,
                                  .entry = p->job->entry,
                                  .source = p->job->root.source,
                                  .options = &p->source_options,
                                  .threads = THREADS,
                                  .bytes = dx_publish_job_bytes(p->job),
                                  .items = dx_publish_job_items(p->job) };

    dx_publish_job_enter(p->job, DX_PUBLISH_CHECK, dx_publish_job_index_bytes(p->job));
    return dx_publish_check_run(&c, err);
}

/* ---- the steps ---- */

/* The number is taken before files are rewritten, and else after it is known to be needed: a
 * claim stays for ever. */
static int choose(struct publish *p, uint64_t sequence, struct dx_index_fetch *fetch,
                  struct dx_error *err)
{
    int rc = choose_base(p, err);

    if (rc == DX_OK)
        rc = share_space(p, err);
    fetch->disk_bytes = p->disk_bytes;
    if (rc == DX_OK && p->job->result->incremental)
        rc = compare_etags(p, err);
    if (rc == DX_OK && p->job->options->rewrite != NULL) {
        rc = take_name(p, sequence, err);
        if (rc == DX_OK)
            rc = dx_publish_job_rewrite(p->job, fetch, err);
    }
    return rc;
}

static int make(struct publish *p, uint64_t sequence, const struct dx_index_fetch *fetch,
                struct dx_error *err)
{
    struct dx_publish_job *job = p->job;
    int rc = DX_OK;

    dx_publish_job_enter(job, DX_PUBLISH_BUILD, 0);
    if (job->options->rewrite == NULL)
        rc = take_name(p, sequence, err);
    if (rc == DX_OK)
        rc = dx_publish_job_build(job, fetch, DX_SYNC_LATER, err);
    if (rc == DX_OK)
        rc = upload(p, err);
    return rc == DX_OK ? check(p, err) : rc;
}

/* Another flip came first, whose words are in err. What the rewrite has merged is kept, if it
 * holds; names are taken again, as a collector may be on its way with those that lost. */
static int try_again(struct publish *p, struct dx_index_fetch *fetch, struct dx_error *err)
{
    struct dx_publish_job *job = p->job;
    struct dx_error why = DX_ERROR_INIT;
    uint64_t sequence = 0;
    int rc;

    assert(job->options->rewrite != NULL);
    dx_publish_upload_undo(&p->upload);
    dx_publish_upload_release(&p->upload);
    dx_publish_placed_undo(&job->placed);
    dx_publish_placed_release(&job->placed);
    (void)dx_dir_remove(job->making, NULL);
    (void)dx_dir_remove(p->mirror, NULL);
    dx_publish_job_forget(job);
    rc = look_until_whole(p, &sequence, &why);
    if (rc == DX_OK)
        rc = take_name(p, sequence, &why);
    if (rc == DX_OK)
        rc = dx_publish_job_rewrite_again(job, &why);
    if (rc == 0)
        return DX_E_CONFLICT;
    dx_publish_job_enter(job, DX_PUBLISH_SCAN, job->lake.bytes);
    if (rc == 1)
        rc = dx_publish_job_scan(job, fetch, &why);
    if (rc == DX_OK)
        rc = make(p, sequence, fetch, &why);
    if (rc == DX_OK)
        rc = dx_publish_missing_raise(&job->lake.named, &job->root, &why);
    if (rc == DX_OK)
        rc = dx_publish_job_flip(job, &why);
    if (rc < 0 && err != NULL)
        *err = why;
    return rc;
}

static int run_publish(struct publish *p, struct dx_error *err)
{
    struct dx_publish_job *job = p->job;
    struct dx_lake_fetch b = { .lake = &job->lake.lake,
                               .parquet_root = DX_LAKE_DIR "/",
                               .bytes = dx_publish_job_bytes(job) };
    struct dx_index_fetch fetch = { &b, 0, dx_lake_fetch_file, dx_lake_fetch_drop };
    uint64_t sequence = 0;
    int rc = prepare(p, &sequence, err);

    b.source = p->job->root.source;
    dx_publish_job_enter(job, DX_PUBLISH_SCAN, job->lake.bytes);
    if (rc == DX_OK)
        rc = choose(p, sequence, &fetch, err);
    if (rc == DX_OK)
        rc = dx_publish_job_scan(job, &fetch, err);
    if (rc == DX_OK)
        rc = nothing_new(p, err);
    if (rc != DX_OK)
        return rc < 0 ? rc : DX_OK;
    rc = make(p, sequence, &fetch, err);
    if (rc == DX_OK)
        rc = dx_publish_missing_raise(&job->lake.named, &job->root, err);
    if (rc == DX_OK)
        rc = dx_publish_job_flip(job, err);
    for (int i = 0; rc == DX_E_CONFLICT && job->options->rewrite != NULL && i < REWRITES_MAX; i++) {
        rc = try_again(p, &fetch, err);
        if (job->placed.list[0] == '\0' && rc == DX_E_CONFLICT)
            break; /* what was merged does not hold */
    }
    return rc;
}

int dx_publish_remote(struct dx_publish_job *job, struct dx_error *err)
{
    struct publish *p = calloc(1, sizeof *p); /* too large for a small stack */
    int rc;

    assert(!job->root.in_place);
    if (p == NULL)
        return dx_no_memory(err, "publish");
    p->job = job;
    p->root = job->options->root;
    p->folder = (struct dx_work_folder)DX_WORK_FOLDER_INIT;
    rc = run_publish(p, err);
    if (rc != DX_OK && !job->edit.may_be_there)
        dx_publish_upload_undo(&p->upload);
    if ((rc != DX_OK && !job->edit.may_be_there) || job->result->unchanged)
        dx_publish_placed_undo(&job->placed);
    dx_publish_upload_release(&p->upload);
    dx_publish_listing_release(&p->listing);
    dx_mirror_close(&p->cache);
    dx_work_folder_remove(&p->folder);
    free(p);
    return rc;
}
