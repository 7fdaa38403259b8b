/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish/publish_etags.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "builder/lake/lake_files.h"
#include "builder/publish/publish_lake.h"
#include "builder/publish/publish_listing.h"
#include "builder/root/version_files.h"
#include "format/version/cold.h"
#include "format/version/etags_tsv.h"
#include "format/version/manifest.h"
#include "loader/mirror.h"

struct compare {
    struct dx_publish_etags *e;
    const struct dx_publish_etags_of *of;
    const struct dx_manifest_version *version; /* the part */
};

static void differs(struct dx_publish_etags *e, const char *object)
{
    if (e->differ++ == 0)
        (void)snprintf(e->first, sizeof e->first, "%s", object);
}

/* etag: what the store says now, "": nothing. */
static void compare_one(struct dx_publish_etags *e, const char *object, const char *etag,
                        const char *published)
{
    if (etag[0] != '\0' && strcmp(etag, published) != 0)
        differs(e, object);
}

static void compare_lake(const struct compare *c, const struct dx_etags_row *row)
{
    const struct dx_index_lake *lake = c->of->lake;
    const struct dx_index_file *f = row->number < lake->file_count ? &lake->files[row->number]
                                                                   : NULL;
    char object[DX_OBJECT_NAME_MAX + 1];

    if (f == NULL || f->path == NULL)
        return; /* taken out since */
    (void)snprintf(object, sizeof object,
                   DX_LAKE_DIR "/"
                               "%s",
                   f->path);
    compare_one(c->e, object, f->etag == NULL ? "" : f->etag, row->etag);
}

static void compare_row(const struct compare *c, const struct dx_etags_row *row)
{
    const char *name = row->kind == DX_ETAG_IDX   ? DX_FILE_POSTINGS_IDX
                       : row->kind == DX_ETAG_DAT ? DX_FILE_POSTINGS_DAT
                       : row->kind == DX_ETAG_COLD
                           ? dx_cold_file_name((enum dx_cold_file)row->number)
                           : NULL;
    const struct dx_publish_listed *listed;
    char object[DX_MANIFEST_FILE_PATH];

    if (name == NULL) {
        compare_lake(c, row);
        return;
    }
    dx_name_of_version(object, c->version->version, name);
    listed = dx_publish_listing_find(c->of->listing, object);
    if (listed != NULL)
        compare_one(c->e, object, listed->etag, row->etag);
}

/* Copies on this machine (loader/mirror.h) may be all that is read of a file: whether the store still
 * has it, its listing says. */
static void compare_sizes(const struct compare *c)
{
    for (size_t i = 0; i < dx_manifest_object_count(c->version); i++) {
        const struct dx_manifest_file *f = dx_manifest_object(c->version, i);
        const struct dx_publish_listed *listed;
        char object[DX_MANIFEST_FILE_PATH];

        dx_manifest_file_path(c->version, f, object);
        listed = dx_publish_listing_find(c->of->listing, object);
        if (listed == NULL || listed->size != f->size)
            differs(c->e, object);
    }
}

static int compare_rows(const struct compare *c, struct dx_span file, struct dx_error *err)
{
    struct dx_etags r = { 0 };
    struct dx_etags_row row;
    int rc = dx_etags_open(&r, file, DX_FILE_ETAGS, err);

    if (rc == DX_OK && strcmp(r.root, c->of->url) == 0)
        while ((rc = dx_etags_next(&r, &row, err)) == 1)
            compare_row(c, &row);
    dx_etags_close(&r);
    return rc;
}

/* etags.tsv.zst of the version, mapped if it is there: 1, or 0 if it is not the one that was
 * published. */
static int map_file(const struct compare *c, const struct dx_manifest_place *place,
                    struct dx_map *map, struct dx_error *err)
{
    const struct dx_version_files files = { .mirror = c->of->mirror,
                                            .source = c->of->remote->source,
                                            .entry = c->version };
    const struct dx_publish_listed *listed = dx_publish_listing_find(c->of->listing, place->object);
    struct dx_error why = DX_ERROR_INIT;
    int rc;

    if (listed == NULL || listed->size != place->total)
        return 1; /* which compare_sizes has counted */
    rc = dx_version_files_map(&files, DX_FILE_ETAGS, map, &why);
    if (rc == DX_E_NOT_FOUND || rc == DX_E_CORRUPT || rc == DX_E_TRUNCATED || rc == DX_E_CONFLICT)
        return 0;
    if (rc < 0 && err != NULL)
        *err = why;
    return rc < 0 ? rc : 1;
}

static int compare_part(struct dx_publish_etags *e, const struct dx_publish_etags_of *of,
                        const struct dx_manifest_version *version, struct dx_error *err)
{
    const struct compare c = { e, of, version };
    const struct dx_manifest_file *file = dx_manifest_file(version, DX_FILE_ETAGS);
    struct dx_map map = DX_MAP_INIT;
    struct dx_manifest_place place;
    int rc;

    compare_sizes(&c);
    if (file == NULL)
        return DX_OK;
    dx_manifest_place(version, file, &place);
    rc = map_file(&c, &place, &map, err);
    if (rc == 0)
        differs(e, place.object);
    else if (rc == 1 && map.bytes.size > 0)
        rc = compare_rows(&c, map.bytes, err);
    dx_map_close(&map);
    return rc < 0 ? rc : DX_OK;
}

int dx_publish_etags_compare(struct dx_publish_etags *e, const struct dx_publish_etags_of *of,
                             struct dx_error *err)
{
    const struct dx_manifest_version *version = dx_manifest_current(of->manifest);
    int rc = DX_OK;

    assert(version != NULL); /* something is published */
    *e = (struct dx_publish_etags){ 0 };
    for (size_t i = 0; rc == DX_OK && i < version->part_count; i++)
        rc = compare_part(e, of, dx_manifest_find(of->manifest, version->parts[i]), err);
    return rc == DX_OK ? compare_part(e, of, version, err) : rc;
}
