/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish_etags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "builder/index_scan.h"
#include "builder/publish_lake.h"
#include "fetch/store.h"
#include "format/etags_tsv.h"
#include "format/manifest.h"
#include "format/postings.h"

#define KINDS 2 /* DX_ETAG_IDX and DX_ETAG_DAT, in this order */

/* What a listing says of the postings. */
struct postings {
    char prefix[64]; /* index/VERSION/postings/ */
    struct {
        bool there;
        char etag[DX_SOURCE_ETAG];
    } of[KINDS][DX_POSTINGS_SHARDS];
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

static void postings_name(const struct postings *p, int kind, uint32_t shard, char object[128])
{
    char name[DX_POSTINGS_SHARD_NAME];

    dx_postings_shard_name(shard, name);
    (void)snprintf(object, 128, "%s%s/postings.%s.zst", p->prefix, name,
                   kind == DX_ETAG_DAT ? "dat" : "idx");
}

static int see(void *ctx, const struct dx_listed *listed, struct dx_error *err)
{
    struct postings *p = ctx;
    unsigned long shard = strtoul(listed->object + strlen(p->prefix), NULL, 16);
    char object[128];

    (void)err;
    for (int kind = 0; shard < DX_POSTINGS_SHARDS && kind < KINDS; kind++) {
        postings_name(p, kind, (uint32_t)shard, object);
        if (strcmp(object, listed->object) != 0)
            continue;
        p->of[kind][shard].there = true;
        (void)snprintf(p->of[kind][shard].etag, DX_SOURCE_ETAG, "%s", listed->etag);
    }
    return DX_OK;
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

    if (row->kind == DX_ETAG_LAKE) {
        const struct dx_index_file *f = row->number < c->lake->file_count
                                            ? &c->lake->files[row->number]
                                            : NULL;

        if (f == NULL)
            return; /* the build id would be another one */
        (void)snprintf(object, sizeof object, DX_PUBLISH_PARQUET_ROOT "%s", f->path);
        compare_one(c->e, object, f->etag == NULL ? "" : f->etag, row->etag);
    } else {
        postings_name(c->postings, (int)row->kind, row->number, object);
        if (!c->postings->of[row->kind][row->number].there)
            differs(c->e, object);
        else
            compare_one(c->e, object, c->postings->of[row->kind][row->number].etag, row->etag);
    }
}

static int compare_all(const struct compare *c, struct dx_span file, const char *url,
                       struct dx_store *store, struct dx_error *err)
{
    struct dx_etags r = { 0 };
    struct dx_etags_row row;
    int rc = dx_etags_open(&r, file, DX_FILE_ETAGS, err);

    if (rc == DX_OK && strcmp(r.root, url) == 0) {
        rc = dx_store_list(store, c->postings->prefix, see, c->postings, err);
        while (rc >= 0 && (rc = dx_etags_next(&r, &row, err)) == 1)
            compare_row(c, &row);
    }
    dx_etags_close(&r);
    return rc;
}

/* 1 it is in out, 0 it is not the one that was published, or is gone. */
static int read_file(const struct dx_remote_root *remote, const char *object,
                     const struct dx_manifest_file *file, struct dx_buf *out, struct dx_error *err)
{
    char etag[DX_SOURCE_ETAG];
    struct dx_error why = DX_ERROR_INIT;
    struct dx_hash128 hash;
    int rc = dx_remote_root_get(remote, object, out->max, out, etag, &why);

    if (rc == DX_E_LIMIT)
        return 0;
    if (rc < 0 && err != NULL)
        *err = why;
    if (rc <= 0)
        return rc;
    hash = dx_hash128_of(dx_span_of(out->data, out->size));
    return out->size == file->size && dx_hash128_equal(&hash, &file->hash);
}

int dx_publish_etags_compare(struct dx_publish_etags *e, const struct dx_remote_root *remote,
                             const char *url, const struct dx_manifest_version *version,
                             const struct dx_index_lake *lake, struct dx_error *err)
{
    const struct dx_manifest_file *file = dx_manifest_file(version, DX_FILE_ETAGS);
    struct compare c = { e, lake, NULL };
    struct dx_buf bytes;
    char object[128];
    int rc;

    *e = (struct dx_publish_etags){ 0 };
    if (file == NULL)
        return DX_OK;
    c.postings = calloc(1, sizeof *c.postings);
    if (c.postings == NULL)
        return dx_fail(err, DX_E_NOMEM, DX_FILE_ETAGS ": out of memory");
    (void)snprintf(c.postings->prefix, sizeof c.postings->prefix, "index/%s/postings/",
                   version->version);
    (void)snprintf(object, sizeof object, "index/%s/" DX_FILE_ETAGS, version->version);
    dx_buf_init(&bytes, file->size < SIZE_MAX / 2 ? (size_t)file->size + 1 : SIZE_MAX / 2);
    rc = read_file(remote, object, file, &bytes, err);
    if (rc == 0)
        differs(e, object);
    else if (rc == 1)
        rc = compare_all(&c, dx_span_of(bytes.data, bytes.size), url, remote->store, err);
    dx_buf_release(&bytes);
    free(c.postings);
    return rc < 0 ? rc : DX_OK;
}
