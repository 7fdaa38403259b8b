/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish/publish_etags.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "builder/lake/lake_files.h"
#include "builder/publish/publish_lake.h"
#include "fetch/store.h"
#include "format/version/cold.h"
#include "format/version/etags_tsv.h"
#include "format/version/manifest.h"

/* What a listing says of an object. */
struct seen {
    char object[DX_MANIFEST_FILE_PATH]; /* "": the version has none */
    bool there;
    char etag[DX_SOURCE_ETAG];
};

enum paged { PAGED_IDX, PAGED_DAT, PAGED_COLD, PAGED_FILES = PAGED_COLD + DX_COLD_FILES };

/* What listings say of what is read by range. */
struct folder {
    struct seen of[PAGED_FILES];
};

struct compare {
    struct dx_publish_etags *e;
    const struct dx_index_lake *lake;
    struct folder *folder;
};

static void differs(struct dx_publish_etags *e, const char *object)
{
    if (e->differ++ == 0)
        (void)snprintf(e->first, sizeof e->first, "%s", object);
}

static int see(void *ctx, const struct dx_listed *listed, struct dx_error *err)
{
    struct folder *f = ctx;

    (void)err;
    for (unsigned i = 0; i < PAGED_FILES; i++) {
        struct seen *s = &f->of[i];

        if (strcmp(s->object, listed->object) != 0)
            continue;
        s->there = true;
        (void)snprintf(s->etag, sizeof s->etag, "%s", listed->etag);
    }
    return DX_OK;
}

static int list_folder(struct folder *f, const char *version, struct dx_store *store,
                       struct dx_error *err)
{
    char prefix[DX_MANIFEST_FILE_PATH];

    dx_name_of_version(f->of[PAGED_IDX].object, version, DX_FILE_POSTINGS_IDX);
    dx_name_of_version(f->of[PAGED_DAT].object, version, DX_FILE_POSTINGS_DAT);
    for (unsigned i = 0; i < DX_COLD_FILES; i++)
        dx_name_of_version(f->of[PAGED_COLD + i].object, version,
                           dx_cold_file_name((enum dx_cold_file)i));
    dx_name_of_version(prefix, version, "");
    return dx_store_list(store, prefix, see, f, err);
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
        (void)snprintf(object, sizeof object,
                       DX_LAKE_DIR "/"
                                   "%s",
                       f->path);
        compare_one(c->e, object, f->etag == NULL ? "" : f->etag, row->etag);
        return;
    }
    s = &c->folder->of[row->kind == DX_ETAG_COLD  ? PAGED_COLD + row->number
                       : row->kind == DX_ETAG_DAT ? PAGED_DAT
                                                  : PAGED_IDX];
    if (!s->there)
        differs(c->e, s->object);
    else
        compare_one(c->e, s->object, s->etag, row->etag);
}

static int compare_all(const struct compare *c, struct dx_span file, const char *url,
                       const char *version, struct dx_store *store, struct dx_error *err)
{
    struct dx_etags r = { 0 };
    struct dx_etags_row row;
    int rc = dx_etags_open(&r, file, DX_FILE_ETAGS, err);

    if (rc == DX_OK && strcmp(r.root, url) == 0) {
        rc = list_folder(c->folder, version, store, err);
        while (rc >= 0 && (rc = dx_etags_next(&r, &row, err)) == 1)
            compare_row(c, &row);
    }
    dx_etags_close(&r);
    return rc;
}

/* etags.tsv.zst of the version: 1 it is in out, 0 it is not the one that was published, or is
 * gone. */
static int read_file(const struct dx_root *remote, const struct dx_manifest_version *version,
                     char object[DX_MANIFEST_FILE_PATH], struct dx_buf *out, struct dx_error *err)
{
    const struct dx_manifest_file *file = dx_manifest_file(version, DX_FILE_ETAGS);
    char etag[DX_SOURCE_ETAG];
    struct dx_error why = DX_ERROR_INIT;
    struct dx_hash128 hash;
    int rc;

    dx_name_of_version(object, version->version, DX_FILE_ETAGS);
    dx_buf_init(out, file->size < SIZE_MAX / 2 ? (size_t)file->size + 1 : SIZE_MAX / 2);
    rc = dx_root_get(remote, object, out->max, out, etag, &why);
    if (rc == DX_E_LIMIT)
        return 0;
    if (rc < 0 && err != NULL)
        *err = why;
    if (rc <= 0)
        return rc;
    hash = dx_hash128_of(dx_span_of(out->data, out->size));
    return out->size == file->size && dx_hash128_equal(&hash, &file->hash);
}

static int compare_part(struct dx_publish_etags *e, const struct dx_root *remote, const char *url,
                        const struct dx_manifest_version *version, const struct dx_index_lake *lake,
                        struct dx_error *err)
{
    struct folder folder = { 0 };
    const struct compare c = { e, lake, &folder };
    struct dx_buf bytes = { 0 };
    char object[DX_MANIFEST_FILE_PATH];
    int rc;

    if (dx_manifest_file(version, DX_FILE_ETAGS) == NULL)
        return DX_OK;
    rc = read_file(remote, version, object, &bytes, err);
    if (rc == 0)
        differs(e, object);
    else if (rc == 1)
        rc = compare_all(&c, dx_span_of(bytes.data, bytes.size), url, version->version,
                         remote->store, err);
    dx_buf_release(&bytes);
    return rc < 0 ? rc : DX_OK;
}

int dx_publish_etags_compare(struct dx_publish_etags *e, const struct dx_root *remote,
                             const char *url, const struct dx_manifest *m,
                             const struct dx_manifest_version *version,
                             const struct dx_index_lake *lake, struct dx_error *err)
{
    int rc = DX_OK;

    *e = (struct dx_publish_etags){ 0 };
    for (size_t i = 0; rc == DX_OK && i < version->part_count; i++)
        rc = compare_part(e, remote, url, dx_manifest_find(m, version->parts[i]), lake, err);
    return rc == DX_OK ? compare_part(e, remote, url, version, lake, err) : rc;
}
