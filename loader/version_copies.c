/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/version_copies.h"

#include "format/version/manifest.h"
#include "loader/version_options.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const names[DX_COPY_COUNT] = {
    [DX_COPY_DICTIONARY] = DX_FILE_DOMAINS_DICT,
    [DX_COPY_MPHF] = DX_FILE_DOMAINS_MPHF,
    [DX_COPY_MEMBERSHIP] = DX_FILE_MEMBERSHIP,
    [DX_COPY_COUNTS] = DX_FILE_COUNTS,
    [DX_COPY_POSTINGS] = DX_FILE_POSTINGS_DIR,
    [DX_COPY_PAGES] = DX_FILE_PAGES,
    [DX_COPY_DATASET_DOMAINS] = DX_FILE_DATASET_DOMAINS,
    [DX_COPY_COLD] = DX_FILE_COLD,
    [DX_COPY_TAGS] = DX_FILE_TAGS,
    [DX_COPY_DEAD] = DX_FILE_DEAD,
    [DX_COPY_DATASETS] = DX_FILE_DATASETS,
    [DX_COPY_PSL] = DX_FILE_PSL,
    [DX_COPY_ETAGS] = DX_FILE_ETAGS,
};

/* What a version needs of the mirror: first the files with a place in `path`, then those of the
 * tree. */
struct wants {
    struct dx_mirror_want *want;
    char (*object)[DX_MANIFEST_FILE_PATH];
    enum dx_copy *copy; /* of those with a place */
    size_t copies;
    size_t count;
    struct dx_version_copies *c;
    bool believe; /* files that are in the tree */
    bool in_pack[DX_COPY_COUNT];
};

static void add_want(struct wants *w, const struct dx_manifest_version *entry,
                     const struct dx_manifest_file *f)
{
    char *object = w->object[w->count];

    dx_manifest_file_path(entry, f, object);
    w->want[w->count++] = (struct dx_mirror_want){ object, f->size, f->hash, NULL };
}

static void wants_release(struct wants *w)
{
    free(w->want);
    free(w->object);
    free(w->copy);
}

/* Of what answers read by range. */
static bool in_tree(const char *name)
{
    return strcmp(name, DX_FILE_POSTINGS_IDX) == 0 || strcmp(name, DX_FILE_POSTINGS_DAT) == 0 ||
           strcmp(name, DX_FILE_FACTS) == 0 || strcmp(name, DX_FILE_URL_IDS) == 0;
}

/* The pack has all of them, and what is read by range as well. */
static void want_pack(struct wants *w, const struct dx_manifest_version *entry, bool tree)
{
    add_want(w, entry, &entry->pack);
    if (tree)
        add_want(w, entry, &entry->pack);
    for (unsigned i = 0; i < DX_COPY_COUNT; i++)
        w->in_pack[i] = dx_manifest_file(entry, names[i]) != NULL;
    w->copies = 1;
}

static int wants_make(struct wants *w, const struct dx_manifest_version *entry, bool older,
                      bool postings, struct dx_error *err)
{
    *w = (struct wants){ .want = calloc(entry->file_count + 1, sizeof *w->want),
                         .object = calloc(entry->file_count + 1, sizeof *w->object),
                         .copy = calloc(DX_COPY_COUNT, sizeof *w->copy) };
    if (w->want == NULL || w->object == NULL || w->copy == NULL)
        return dx_no_memory(err, "version %s", entry->version);
    if (dx_manifest_packed(entry)) {
        want_pack(w, entry, postings);
        return DX_OK;
    }
    for (unsigned i = 0; i < DX_COPY_COUNT; i++) {
        const struct dx_manifest_file *f = dx_manifest_file(entry, names[i]);

        if (older && (i == DX_COPY_DATASETS || i == DX_COPY_PSL))
            continue;
        if (f == NULL && i != DX_COPY_ETAGS && i != DX_COPY_TAGS && i != DX_COPY_DEAD)
            return dx_fail(err, DX_E_CORRUPT, "manifest: version %s lists no %s", entry->version,
                           names[i]);
        if (f == NULL)
            continue;
        w->copy[w->copies++] = (enum dx_copy)i;
        add_want(w, entry, f);
    }
    for (size_t i = 0; postings && i < entry->file_count; i++)
        if (in_tree(entry->files[i].name))
            add_want(w, entry, &entry->files[i]);
    return DX_OK;
}

static bool have(void *ctx, size_t i)
{
    const struct wants *w = ctx;

    return i >= w->copies && w->believe &&
           dx_mirror_tree_has(w->c->tree, w->object[i], w->want[i].size);
}

static int keep_path(const struct wants *w, enum dx_copy which, const char *path,
                     struct dx_error *err)
{
    w->c->path[which] = strdup(path);
    return w->c->path[which] == NULL ? dx_no_memory(err, "%s", path) : DX_OK;
}

static int got(void *ctx, size_t i, const char *path, struct dx_error *err)
{
    const struct wants *w = ctx;
    bool packed = false;
    int rc = DX_OK;

    if (i >= w->copies)
        return dx_mirror_tree_link(w->c->tree, w->object[i], path, err);
    for (unsigned k = 0; rc == DX_OK && k < DX_COPY_COUNT; k++) {
        packed = packed || w->in_pack[k];
        if (w->in_pack[k])
            rc = keep_path(w, (enum dx_copy)k, path, err);
    }
    return packed || rc < 0 ? rc : keep_path(w, w->copy[i], path, err);
}

/* A tree is named by what is in it: by names, sizes and hashes of all its files. */
static int open_tree(struct dx_mirror *m, const struct wants *w, struct dx_error *err)
{
    struct dx_hash_state *state = dx_hash_state_new();
    struct dx_hash128 key;

    if (state == NULL)
        return dx_no_memory(err, "mirror");
    for (size_t i = w->copies; i < w->count; i++) {
        uint8_t size[8];

        dx_store_u64(size, w->want[i].size);
        dx_hash_state_update(state, dx_span_of(w->object[i], DX_MANIFEST_FILE_PATH));
        dx_hash_state_update(state, dx_span_of(size, sizeof size));
        dx_hash_state_update(state, dx_span_of(w->want[i].hash.bytes, 16));
    }
    key = dx_hash_state_digest(state);
    dx_hash_state_free(&state);
    return dx_mirror_tree_open(m, &key, &w->c->tree, err);
}

static int recheck(struct dx_mirror *m, const struct wants *w, size_t from, size_t *wrong,
                   struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = from; i < w->count && rc >= 0; i++) {
        rc = dx_mirror_recheck(m, &w->want[i], err);
        *wrong += rc == 0;
    }
    return rc < 0 ? rc : DX_OK;
}

int dx_version_copies_fetch(struct dx_version_copies *c, struct dx_source *source,
                            const struct dx_manifest_version *entry, bool older,
                            const struct dx_version_options *options, struct dx_error *err)
{
    struct dx_mirror *m = NULL;
    size_t wrong = 0;
    struct wants w;
    const bool postings = dx_manifest_packed(entry) ||
                          (options->mirror_postings && !(older && options->own_only));
    const bool verify = options->verify && !(older && options->own_only);
    int rc = wants_make(&w, entry, older, postings, err);

    *c = (struct dx_version_copies){ .tree = NULL };
    w.c = c;
    /* The pack in the tree is the one that is mapped: where that was damaged, it is replaced too. */
    w.believe = !verify && !dx_manifest_packed(entry);
    if (rc == DX_OK)
        rc = dx_mirror_open(&m, options->mirror_dir, err);
    if (rc == DX_OK && postings)
        rc = open_tree(m, &w, err);
    if (rc == DX_OK && verify)
        rc = recheck(m, &w, w.copies, &wrong, err);
    if (rc == DX_OK) {
        const struct dx_mirror_batch batch = {
            .wants = w.want,
            .count = w.count,
            .have = have,
            .got = got,
            .ctx = &w,
            .tell = options->tell,
            .tell_ctx = options->tell_ctx,
        };

        rc = dx_mirror_fetch_all(m, source, &batch, err);
    }
    /* What cannot be removed takes room and is wrong in no other way. */
    if (rc == DX_OK && options->mirror_keep_s != 0 && dx_mirror_counts_of(m)->fetched > 0)
        (void)dx_mirror_sweep(m, options->mirror_keep_s, NULL);
    dx_mirror_close(&m);
    wants_release(&w);
    return rc;
}

int dx_version_copies_heal(const struct dx_manifest_version *entry, bool older,
                           const struct dx_version_options *options, struct dx_error *err)
{
    struct dx_mirror *m = NULL;
    size_t wrong = 0;
    struct wants w;
    int rc = wants_make(&w, entry, older, false, err);

    if (rc == DX_OK)
        rc = dx_mirror_open(&m, options->mirror_dir, err);
    if (rc == DX_OK)
        rc = recheck(m, &w, 0, &wrong, err);
    dx_mirror_close(&m);
    wants_release(&w);
    return rc < 0 ? rc : wrong > 0;
}

void dx_version_copies_release(struct dx_version_copies *c)
{
    for (unsigned i = 0; i < DX_COPY_COUNT; i++) {
        free(c->path[i]);
        c->path[i] = NULL;
    }
    dx_mirror_tree_close(&c->tree);
}
