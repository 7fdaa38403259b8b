/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish_etags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "builder/index_scan.h"
#include "builder/publish_lake.h"
#include "fetch/store.h"
#include "format/cold.h"
#include "format/etags_tsv.h"
#include "format/manifest.h"
#include "format/postings.h"

#define KINDS 2 /* DX_ETAG_IDX and DX_ETAG_DAT, in this order */

/* What a listing says of an object. */
struct seen {
    char object[DX_MANIFEST_FILE_PATH]; /* "": the version has none */
    bool there;
    char etag[DX_SOURCE_ETAG];
};

/* What listings say of what is read by range. */
struct postings {
    const struct dx_manifest_version *version;
    char prefix[64]; /* index/VERSION/, that is being listed */
    struct seen of[KINDS][DX_POSTINGS_SHARDS];
    struct seen cold[DX_COLD_FILES];
};

struct compare {
    struct dx_publish_etags *e;
    const struct dx_index_lake *lake;
    struct postings *postings;
};

static void differs(struct dx_publish_etags *e, const char *object)
{
    if (e->differ++ == 0)
        (void)snprintf(e->first, sizeof e->first, "%s", object);
}

static const struct dx_manifest_file *shard_file(const struct dx_manifest_version *v, int kind,
                                                 uint32_t shard)
{
    char folder[DX_POSTINGS_SHARD_NAME];
    char name[DX_MANIFEST_FILE_NAME];

    dx_postings_shard_name(shard, folder);
    (void)snprintf(name, sizeof name, "postings/%s/postings.%s.zst", folder,
                   kind == DX_ETAG_DAT ? "dat" : "idx");
    return dx_manifest_file(v, name);
}

static void name_objects(struct postings *p)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (uint32_t shard = 0; shard < DX_POSTINGS_SHARDS; shard++) {
            const struct dx_manifest_file *file = shard_file(p->version, kind, shard);

            if (file != NULL)
                dx_manifest_file_path(p->version, file, p->of[kind][shard].object);
        }
    for (unsigned i = 0; i < DX_COLD_FILES; i++) {
        const struct dx_manifest_file *file = dx_manifest_file(
            p->version, dx_cold_file_name((enum dx_cold_file)i));

        if (file != NULL)
            dx_manifest_file_path(p->version, file, p->cold[i].object);
    }
}

static void see_one(struct seen *s, const struct dx_listed *listed)
{
    if (strcmp(s->object, listed->object) != 0)
        return;
    s->there = true;
    (void)snprintf(s->etag, sizeof s->etag, "%s", listed->etag);
}

static int see(void *ctx, const struct dx_listed *listed, struct dx_error *err)
{
    static const char postings[] = "postings/";
    struct postings *p = ctx;
    const char *name = listed->object + strlen(p->prefix);
    unsigned long shard;

    (void)err;
    for (unsigned i = 0; i < DX_COLD_FILES; i++)
        see_one(&p->cold[i], listed);
    if (strncmp(name, postings, sizeof postings - 1) != 0)
        return DX_OK;
    shard = strtoul(name + sizeof postings - 1, NULL, 16);
    for (int kind = 0; shard < DX_POSTINGS_SHARDS && kind < KINDS; kind++)
        see_one(&p->of[kind][shard], listed);
    return DX_OK;
}

static int list_folder(struct postings *p, const char *version, struct dx_store *store,
                       struct dx_error *err)
{
    (void)snprintf(p->prefix, sizeof p->prefix, "index/%s/", version);
    return dx_store_list(store, p->prefix, see, p, err);
}

/* Whether a file before this one is in the same folder. */
static bool is_listed(const struct dx_manifest_version *v, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(v->files[k].in, v->files[i].in) == 0)
            return true;
    return false;
}

/* Cold files, own shards, and those that older versions have. */
static int list_postings(struct postings *p, struct dx_store *store, struct dx_error *err)
{
    const struct dx_manifest_version *v = p->version;
    int rc;

    name_objects(p);
    rc = list_folder(p, v->version, store, err);
    for (size_t i = 0; rc == DX_OK && i < v->file_count; i++)
        if (v->files[i].in[0] != '\0' && !is_listed(v, i))
            rc = list_folder(p, v->files[i].in, store, err);
    return rc;
}

/* etag: what the store says now, "": nothing. */
static void compare_one(struct dx_publish_etags *e, const char *object, const char *etag,
                        const char *published)
{
    if (etag[0] != '\0' && strcmp(etag, published) != 0)
        differs(e, object);
}

static void compare_row(const struct compare *c, const struct dx_etags_row *row)
{
    char object[DX_OBJECT_NAME_MAX + 1];
    const struct seen *s;

    if (row->kind == DX_ETAG_LAKE) {
        const struct dx_index_file *f = row->number < c->lake->file_count
                                            ? &c->lake->files[row->number]
                                            : NULL;

        if (f == NULL || f->path == NULL)
            return; /* taken out since */
        (void)snprintf(object, sizeof object, DX_PUBLISH_PARQUET_ROOT "%s", f->path);
        compare_one(c->e, object, f->etag == NULL ? "" : f->etag, row->etag);
        return;
    }
    s = row->kind == DX_ETAG_COLD ? &c->postings->cold[row->number]
                                  : &c->postings->of[row->kind][row->number];
    if (!s->there)
        differs(c->e, s->object);
    else
        compare_one(c->e, s->object, s->etag, row->etag);
}

static int compare_all(const struct compare *c, struct dx_span file, const char *url,
                       struct dx_store *store, struct dx_error *err)
{
    struct dx_etags r = { 0 };
    struct dx_etags_row row;
    int rc = dx_etags_open(&r, file, DX_FILE_ETAGS, err);

    if (rc == DX_OK && strcmp(r.root, url) == 0) {
        rc = list_postings(c->postings, store, err);
        while (rc >= 0 && (rc = dx_etags_next(&r, &row, err)) == 1)
            compare_row(c, &row);
    }
    dx_etags_close(&r);
    return rc;
}

static int read_shards(struct dx_publish_shard_etags *shards, struct dx_span file, const char *url,
                       struct dx_error *err)
{
    struct dx_etags r = { 0 };
    struct dx_etags_row row;
    int rc = dx_etags_open(&r, file, DX_FILE_ETAGS, err);

    if (rc == DX_OK && strcmp(r.root, url) == 0)
        while ((rc = dx_etags_next(&r, &row, err)) == 1 && row.kind < KINDS)
            memcpy(shards->of[row.kind][row.number], row.etag, sizeof row.etag);
    dx_etags_close(&r);
    return rc < 0 ? rc : DX_OK;
}

/* etags.tsv.zst of the version: 1 it is in out, 0 it is not the one that was published, or is
 * gone. */
static int read_file(const struct dx_remote_root *remote, const struct dx_manifest_version *version,
                     char object[128], struct dx_buf *out, struct dx_error *err)
{
    const struct dx_manifest_file *file = dx_manifest_file(version, DX_FILE_ETAGS);
    char etag[DX_SOURCE_ETAG];
    struct dx_error why = DX_ERROR_INIT;
    struct dx_hash128 hash;
    int rc;

    (void)snprintf(object, 128, "index/%s/" DX_FILE_ETAGS, version->version);
    dx_buf_init(out, file->size < SIZE_MAX / 2 ? (size_t)file->size + 1 : SIZE_MAX / 2);
    rc = dx_remote_root_get(remote, object, out->max, out, etag, &why);
    if (rc == DX_E_LIMIT)
        return 0;
    if (rc < 0 && err != NULL)
        *err = why;
    if (rc <= 0)
        return rc;
    hash = dx_hash128_of(dx_span_of(out->data, out->size));
    return out->size == file->size && dx_hash128_equal(&hash, &file->hash);
}

int dx_publish_etags_shards(struct dx_publish_shard_etags **shards,
                            const struct dx_remote_root *remote, const char *url,
                            const struct dx_manifest_version *version, struct dx_error *err)
{
    struct dx_buf bytes = { 0 };
    char object[128];
    int rc;

    *shards = calloc(1, sizeof **shards);
    if (*shards == NULL)
        return dx_fail(err, DX_E_NOMEM, DX_FILE_ETAGS ": out of memory");
    if (dx_manifest_file(version, DX_FILE_ETAGS) == NULL)
        return DX_OK;
    rc = read_file(remote, version, object, &bytes, err);
    if (rc == 0)
        rc = dx_fail(err, DX_E_CONFLICT, "%s: is not the object that was published", object);
    if (rc == 1)
        rc = read_shards(*shards, dx_span_of(bytes.data, bytes.size), url, err);
    dx_buf_release(&bytes);
    return rc;
}

int dx_publish_etags_compare(struct dx_publish_etags *e, const struct dx_remote_root *remote,
                             const char *url, const struct dx_manifest_version *version,
                             const struct dx_index_lake *lake, struct dx_error *err)
{
    struct compare c = { e, lake, NULL };
    struct dx_buf bytes = { 0 };
    char object[128];
    int rc;

    *e = (struct dx_publish_etags){ 0 };
    if (dx_manifest_file(version, DX_FILE_ETAGS) == NULL)
        return DX_OK;
    c.postings = calloc(1, sizeof *c.postings);
    if (c.postings == NULL)
        return dx_fail(err, DX_E_NOMEM, DX_FILE_ETAGS ": out of memory");
    c.postings->version = version;
    rc = read_file(remote, version, object, &bytes, err);
    if (rc == 0)
        differs(e, object);
    else if (rc == 1)
        rc = compare_all(&c, dx_span_of(bytes.data, bytes.size), url, remote->store, err);
    dx_buf_release(&bytes);
    free(c.postings);
    return rc < 0 ? rc : DX_OK;
}
