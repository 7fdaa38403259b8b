/* SPDX-License-Identifier: Apache-2.0
 * remote_root.h - a root on object storage, as the commands use it.
 *
 *   struct dx_remote_root r = DX_REMOTE_ROOT_INIT;
 *   rc = dx_remote_root_open(&r, "s3://bucket/prefix", DX_REMOTE_WRITE, &err);
 *   rc = dx_remote_root_get(&r, "urls/registry.json", cap, &buf, etag, &err);
 *                                           1 it is in buf, 0 there is no such object
 *   ... r.source, r.store (fetch/source.h, fetch/store.h) ...
 *   dx_remote_root_close(&r);
 *
 * To be written to, a root must be one of s3://; http:// and https:// are refused with words. r.store
 * is NULL if the root is only read. A command is more patient than a server: nobody waits for a
 * single range, and a publish of hours should outlive a store that is slow for a minute
 * (dx_remote_root_options, with what the environment sets). dx_remote_root_manifest is so patient
 * too, and takes a directory as well.
 *
 * There is no lock on such a root: two writers at once are told apart by the conditions of
 * their puts. source and store are safe from several threads.
 */
#ifndef DX_BUILDER_REMOTE_ROOT_H
#define DX_BUILDER_REMOTE_ROOT_H

#include "fetch/source.h"

struct dx_manifest;
struct dx_store;

enum dx_remote_use {
    DX_REMOTE_READ,
    DX_REMOTE_LIST, /* read, and listed if it is a store that can: r.store is NULL if not */
    DX_REMOTE_WRITE
};

struct dx_remote_root {
    struct dx_source *source;
    struct dx_store *store;
};

#define DX_REMOTE_ROOT_INIT \
    {                       \
        NULL, NULL          \
    }

int dx_remote_root_options(struct dx_source_options *o, struct dx_error *err);
int dx_remote_root_open(struct dx_remote_root *r, const char *root, enum dx_remote_use use,
                        struct dx_error *err);
void dx_remote_root_close(struct dx_remote_root *r);

/* index/manifest.json of a root of any kind; words of an error name the root. */
int dx_remote_root_manifest(const char *root, struct dx_manifest *m, struct dx_error *err);

/* A small object whole. etag: "" if it is absent or the store gives none. */
int dx_remote_root_get(const struct dx_remote_root *r, const char *object, size_t cap,
                       struct dx_buf *out, char etag[DX_SOURCE_ETAG], struct dx_error *err);

/* What belongs to one store goes by this: dx_source_root_url, or the root if it is a directory. To be
 * freed. */
int dx_remote_root_url(const char *root, char **url, struct dx_error *err);

#define DX_REMOTE_SHOWN 1200

/* A URL as words may show it: without a user's name and password, and without a query or fragment
 * (of s3://, where they belong to the key, with them). Returns out. */
const char *dx_remote_shown(const char *url, char out[DX_REMOTE_SHOWN]);

#endif
