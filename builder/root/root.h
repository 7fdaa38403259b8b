/* SPDX-License-Identifier: Apache-2.0
 * root.h - a root, in a directory or on object storage, as the commands use it.
 *
 *   struct dx_root r = DX_ROOT_INIT;
 *   rc = dx_root_open(&r, "s3://bucket/prefix", DX_ROOT_WRITE, &err);
 *   rc = dx_root_enter(&r, wait_ms, now_us, &err);          the right to write, until close
 *   rc = dx_root_get(&r, "registry.json", cap, &buf, etag, &err);
 *                                           1 it is in buf, 0 there is no such object
 *   ... r.source, r.store (fetch/source.h, fetch/store/store.h) ...
 *   dx_root_close(&r);                      gives the lock back, too
 *
 * Source and store mean the same for both kinds, so most callers do not ask which it is. The others
 * ask for r.in_place: its files have paths, under which they are mapped, renamed and synced, and
 * its writers come one at a time, by a lock. Of a root that is not in place, objects are fetched
 * and put, and writers are kept apart by the conditions of their puts.
 *
 * To be written to, a root must be a directory or one of s3://; http:// and https:// are refused
 * with a message. r.store is NULL if the root is only read. DX_ROOT_WRITE makes a directory that is
 * not there. A command is more patient than a server: nothing waits for a single range, and a
 * publish of hours should outlive a store that is slow for a minute (dx_root_options, with what the
 * environment sets).
 *
 * source and store are safe from several threads.
 */
#ifndef DX_BUILDER_ROOT_ROOT_H
#define DX_BUILDER_ROOT_ROOT_H

#include "builder/root/root_lock.h"
#include "fetch/source.h"

struct dx_manifest;
struct dx_mirror;
struct dx_store;

enum dx_root_use {
    DX_ROOT_READ,
    DX_ROOT_LIST, /* read, and listed if it is a store that can: r.store is NULL if not */
    DX_ROOT_WRITE
};

struct dx_root {
    const char *name; /* as it was given; the caller's */
    struct dx_source *source;
    struct dx_store *store;
    bool in_place;            /* tests set it to false to treat a directory as object storage */
    struct dx_root_lock lock; /* if it is in place and was entered */
    char *
        url; /* of DX_ROOT_WRITE: what belongs to one store goes by this: dx_source_root_url, or the name of a directory */
    /* borrowed, set after open: lists of lake files are read from these copies, by content; NULL: none */
    struct dx_mirror *copies;
};

#define DX_ROOT_INIT                                           \
    {                                                          \
        NULL, NULL, NULL, false, DX_ROOT_LOCK_INIT, NULL, NULL \
    }

/* Whether the name is that of a directory. */
bool dx_root_in_place(const char *name);

int dx_root_options(struct dx_source_options *o, struct dx_error *err);
int dx_root_open(struct dx_root *r, const char *name, enum dx_root_use use, struct dx_error *err);

/* In place: takes the lock; DX_E_BUSY after wait_ms. Else: DX_E_UNSUPPORTED if the store does not
 * keep conditions; it is tried once (root_probe.h), and now_us is noted. */
int dx_root_enter(struct dx_root *r, uint64_t wait_ms, int64_t now_us, struct dx_error *err);
void dx_root_close(struct dx_root *r);

/* index/manifest.json of a root of any kind; words of an error name the root. */
int dx_root_manifest(const char *name, struct dx_manifest *m, struct dx_error *err);

/* A small object whole. etag: "" if it is absent or the store gives none. */
int dx_root_get(const struct dx_root *r, const char *object, size_t cap, struct dx_buf *out,
                char etag[DX_SOURCE_ETAG], struct dx_error *err);

/* The same for one root however it is written, without what is secret; of a directory, which must
 * be there, its path. To be freed. */
int dx_root_identity(const char *name, char **id, struct dx_error *err);

#define DX_ROOT_SHOWN 1200

/* A URL as words may show it: without a user's name and password, and without a query or fragment
 * (of s3://, where they belong to the key, with them). Returns out. */
const char *dx_root_shown(const char *url, char out[DX_ROOT_SHOWN]);

/* The URL of one object: "https://host/a/b%2B.gz" is root "https://host/a" and object "b+.gz", both to be
 * freed. Of s3:// the object is the key as it stands. Of http(s):// a query or fragment is refused. */
int dx_root_split(const char *url, char **root, char **object, struct dx_error *err);

#endif
