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
#define COLLECTORS_MAX 32 /* that may change the manifest between our reading and our put */
#define LOST_MAX 4        /* claims whose fate nobody can tell: each has been asked for minutes */

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
    char manifest_etag
        [DX_SOURCE_ETAG];   /* that the flip is on the condition of; "": there was none */
    uint64_t base_sequence; /* of the manifest at the beginning */
    char base_current[DX_VERSION_NAME];
    uint64_t disk_bytes; /* for files of the lake */
    struct dx_publish_upload upload;
    struct dx_publish_shard_etags *shared; /* of the base */
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
    uint64_t index = 2 * dx_publish_job_guess(p->job);
    uint64_t room = 0;
    int rc = dx_publish_job_space(p->folder.path, index, &room, err);

    if (rc == DX_OK)
        p->disk_bytes = room - index;
    return rc;
}

/* The manifest, and what its versions list. */
static int look(struct publish *p, uint64_t *sequence, struct dx_error *err)
{
    struct dx_publish_job *job = p->job;
    struct dx_publish_result *result = job->result;
    struct dx_publish_listing listing;
    int rc = read_manifest(p, &result->manifest, p->manifest_etag, err);

    if (rc >= 0)
        rc = dx_publish_job_room(job, err);
    if (rc < 0)
        return rc;
    p->base_sequence = result->manifest.sequence;
    memcpy(p->base_current, result->manifest.current, sizeof p->base_current);
    dx_publish_listing_init(&listing, &result->manifest, job->options->now_us);
    rc = dx_publish_listing_read(&listing, p->remote.store, err);
    *sequence = listing.sequence;
    result->leftovers = listing.leftovers;
    memcpy(result->leftover, listing.leftover, sizeof result->leftover);
    return rc == DX_OK ? dx_publish_lake_open_remote(&job->lake, &p->remote, p->root,
                                                     &result->manifest, p->lake, err)
                       : rc;
}

/* Of one moment: a version's list goes after its entry, when a collector removes it. A list that is
 * missing of the same manifest is missing. */
static int look_until_whole(struct publish *p, uint64_t *sequence, struct dx_error *err)
{
    char before[DX_SOURCE_ETAG] = "";

    for (;;) {
        int rc = look(p, sequence, err);

        if (rc != DX_E_NOT_FOUND || strcmp(before, p->manifest_etag) == 0)
            return rc;
        memcpy(before, p->manifest_etag, sizeof before);
        dx_publish_lake_close(&p->job->lake);
        dx_manifest_release(&p->job->result->manifest);
    }
}

static int prepare(struct publish *p, uint64_t *sequence, struct dx_error *err)
{
    int rc = open_remote(p, err);

    if (rc == DX_OK)
        rc = dx_publish_probe(&p->remote, p->url, p->job->options->now_us, err);
    if (rc == DX_OK)
        rc = make_folders(p, err);
    if (rc == DX_OK)
        rc = look_until_whole(p, sequence, err);
    return rc == DX_OK ? read_psl(p, err) : rc;
}

/* ---- the new version ---- */

/* The current version, to be merged with: what of it is mapped comes to the work folder. */
static int choose_base(struct publish *p, struct dx_error *err)
{
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    char mirror[PATH_MAX];
    int rc = dx_publish_job_path(mirror, p->folder.path, "base", err);

    options.cache_bytes_idx = options.cache_bytes_payload = options.cache_bytes_pages = 1u << 20;
    options.source = &p->source_options;
    options.mirror_dir = mirror;
    return rc == DX_OK ? dx_publish_job_base(p->job, &options, err) : rc;
}

/* Whether what the current version has in the store is what it was made with: servers refuse what
 * is not, so the whole lake is published anew. Of an increment before the scan: it shares objects
 * with that version. */
static int compare_etags(struct publish *p, struct dx_error *err)
{
    struct dx_publish_result *result = p->job->result;
    struct dx_publish_etags e;
    int rc = dx_publish_etags_compare(
        &e, &p->remote, p->url, dx_manifest_current(&result->manifest), &p->job->lake.lake, err);

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
    (void)snprintf(path, sizeof path, "index/%s", job->result->version);
    return rc == DX_OK ? dx_publish_job_path(job->making, p->local_root, path, err) : rc;
}

/* Weak ones and none have no line. */
static int add_etag(struct dx_etags_writer *w, enum dx_etag_kind kind, uint32_t number,
                    const char *etag, struct dx_error *err)
{
    return etag[0] != '"' ? DX_OK : dx_etags_writer_add(w, kind, number, etag, err);
}

/* As the store gave it for the upload; of a shard that an older version has, as the base says. */
static const char *shard_etag(const struct publish *p, int dat, uint32_t shard)
{
    char folder[DX_POSTINGS_SHARD_NAME];
    char name[DX_MANIFEST_FILE_NAME];
    const struct dx_manifest_file *file;

    dx_postings_shard_name(shard, folder);
    (void)snprintf(name, sizeof name, "postings/%s/postings.%s.zst", folder, dat ? "dat" : "idx");
    file = dx_manifest_file(p->job->entry, name);
    if (file == NULL || file->in[0] == '\0')
        return dx_publish_upload_etag(&p->upload, name);
    return p->shared == NULL ? "" : p->shared->of[dat ? 1 : 0][shard];
}

static int add_etags(const struct publish *p, struct dx_etags_writer *w, struct dx_error *err)
{
    const struct dx_index_lake *lake = &p->job->lake.lake;
    int rc = DX_OK;

    for (int dat = 0; dat < 2; dat++)
        for (uint32_t i = 0; rc == DX_OK && i < DX_POSTINGS_SHARDS; i++)
            rc = add_etag(w, dat ? DX_ETAG_DAT : DX_ETAG_IDX, i, shard_etag(p, dat, i), err);
    for (unsigned i = 0; rc == DX_OK && i < DX_COLD_FILES; i++)
        rc = add_etag(w, DX_ETAG_COLD, i,
                      dx_publish_upload_etag(&p->upload, dx_cold_file_name((enum dx_cold_file)i)),
                      err);
    for (size_t i = 0; rc == DX_OK && i < lake->file_count; i++)
        if (lake->files[i].path != NULL)
            rc = add_etag(w, DX_ETAG_LAKE, (uint32_t)i, lake->files[i].etag, err);
    return rc;
}

static int write_etags(struct publish *p, struct dx_error *err)
{
    struct dx_index_out out = DX_INDEX_OUT_INIT;
    struct dx_etags_writer w = { 0 };
    int rc = dx_index_out_open(&out, p->job->making, DX_FILE_ETAGS, DX_SYNC_LATER, err);

    if (rc == DX_OK && p->job->base != NULL)
        rc = dx_publish_etags_shards(&p->shared, &p->remote, p->url, &p->job->base->entry, err);
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
                                  .shares = p->job->result->incremental,
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

/* By the store's clock, as collectors reckon. A store that tells no time is believed to have ours:
 * what it has to say against the flip, the put will tell. */
static int64_t flip_time(const struct publish *p)
{
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    struct dx_store_stamp stamp = { .now_us = 0 };
    int rc = DX_E_UNSUPPORTED;

    if (!p->job->options->fixed_time)
        rc = dx_store_read(p->remote.store, MANIFEST, 0, &text, &stamp, NULL);
    dx_buf_release(&text);
    return rc < 0 || stamp.now_us <= 0 ? dx_publish_job_time(p->job) : stamp.now_us;
}

static int put_manifest(struct publish *p, bool *may_be_named, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    char etag[DX_SOURCE_ETAG];
    struct dx_put put = { .object = MANIFEST,
                          .if_absent = p->manifest_etag[0] == '\0',
                          .if_match = p->manifest_etag[0] == '\0' ? NULL : p->manifest_etag };
    int rc = dx_publish_job_manifest(p->job, flip_time(p), &text, err);

    if (rc == DX_OK) {
        *may_be_named = true;
        put.bytes = dx_span_of(text.data, text.size);
        rc = dx_store_put(p->remote.store, &put, etag, err);
    }
    dx_buf_release(&text);
    return rc;
}

/* 1: the manifest that refused ours has still the sequence that we began with, so only a collector
 * was there; our entry is on top of its entries now, and nothing needs to be looked at again: the
 * base is still current, so all that was referenced is there. 0: it is another one's turn. */
static int only_a_collector(struct publish *p, struct dx_error *err)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    char etag[DX_SOURCE_ETAG];
    int rc = read_manifest(p, &m, etag, err);

    if (rc == 1)
        rc = p->manifest_etag[0] != '\0' && m.sequence == p->base_sequence &&
             strcmp(m.current, p->base_current) == 0 &&
             dx_manifest_find(&m, p->job->result->version) == NULL;
    if (rc == 1) {
        memcpy(p->manifest_etag, etag, sizeof p->manifest_etag);
        rc = dx_publish_job_onto(p->job, &m, err);
        rc = rc == DX_OK ? 1 : rc;
    }
    dx_manifest_release(&m);
    return rc;
}

/* Steps 6 to 8 of docs/model/README.md. A manifest that was refused is not there and will not be. */
static int flip(struct publish *p, bool *may_be_named, struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    int rc = put_manifest(p, may_be_named, err);

    for (int i = 0; rc == DX_E_CONFLICT && i < COLLECTORS_MAX; i++) {
        int again = only_a_collector(p, &why);

        if (again != 1)
            break;
        rc = put_manifest(p, may_be_named, err);
    }
    return rc < 0 ? resolve(p, rc, may_be_named, err) : rc;
}

/* The number is taken before files are rewritten, and else after it is known to be needed: a
 * claim stays for ever. */
static int choose(struct publish *p, uint64_t sequence, struct dx_index_bring *bring,
                  struct dx_error *err)
{
    int rc = choose_base(p, err);

    if (rc == DX_OK)
        rc = share_space(p, err);
    bring->disk_bytes = p->disk_bytes;
    if (rc == DX_OK && p->job->result->incremental)
        rc = compare_etags(p, err);
    if (rc == DX_OK && p->job->options->rewrite != NULL) {
        rc = take_name(p, sequence, err);
        if (rc == DX_OK)
            rc = dx_publish_job_rewrite(p->job, p->remote.store, bring, err);
    }
    return rc;
}

static int make(struct publish *p, uint64_t sequence, const struct dx_index_bring *bring,
                struct dx_error *err)
{
    struct dx_publish_job *job = p->job;
    int rc = DX_OK;

    dx_publish_job_enter(job, DX_PUBLISH_BUILD, 0);
    if (job->options->rewrite == NULL)
        rc = take_name(p, sequence, err);
    if (rc == DX_OK)
        rc = dx_publish_job_build(job, bring, DX_SYNC_LATER, err);
    if (rc == DX_OK)
        rc = upload(p, err);
    return rc == DX_OK ? check(p, err) : rc;
}

static int run(struct publish *p, bool *may_be_named, struct dx_error *err)
{
    struct dx_publish_job *job = p->job;
    struct dx_lake_bring b = { .lake = &job->lake.lake,
                               .parquet_root = DX_PUBLISH_PARQUET_ROOT,
                               .bytes = dx_publish_job_bytes(job) };
    struct dx_index_bring bring = { &b, 0, dx_lake_bring_file, dx_lake_bring_drop };
    uint64_t sequence = 0;
    int rc = prepare(p, &sequence, err);

    b.source = p->remote.source;
    dx_publish_job_enter(job, DX_PUBLISH_SCAN, job->lake.bytes);
    if (rc == DX_OK)
        rc = choose(p, sequence, &bring, err);
    if (rc == DX_OK)
        rc = dx_publish_job_scan(job, &bring, err);
    if (rc == DX_OK)
        rc = nothing_new(p, err);
    if (rc != DX_OK)
        return rc < 0 ? rc : DX_OK;
    rc = make(p, sequence, &bring, err);
    return rc == DX_OK ? flip(p, may_be_named, err) : rc;
}

int dx_publish_remote(struct dx_publish_job *job, struct dx_error *err)
{
    struct publish p = { .job = job,
                         .root = job->options->root,
                         .remote = DX_REMOTE_ROOT_INIT,
                         .folder = DX_WORK_FOLDER_INIT };
    bool may_be_named = false;
    int rc = run(&p, &may_be_named, err);

    if (rc != DX_OK && !may_be_named)
        dx_publish_upload_undo(&p.upload);
    if ((rc != DX_OK && !may_be_named) || job->result->unchanged)
        dx_publish_placed_undo(&job->placed);
    dx_publish_upload_release(&p.upload);
    free(p.shared);
    dx_work_folder_remove(&p.folder);
    dx_remote_root_close(&p.remote);
    free(p.url);
    return rc;
}
