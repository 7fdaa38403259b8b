/* SPDX-License-Identifier: Apache-2.0
 * store.h - where objects are written: the other side of source.h, for the builder alone.
 *
 *   rc = dx_store_open(&store, "s3://bucket/prefix", &options, &err);      or a directory
 *   struct dx_put put = { .object = "index/manifest.json", .bytes = text, .if_match = etag };
 *   rc = dx_store_put(store, &put, etag, &err);          all of it or nothing is there
 *   struct dx_put file = { .object = "urls/...", .path = "/tmp/x", .if_absent = true };
 *   rc = dx_store_put(store, &file, etag, &err);         in parts if it is large
 *   struct dx_put copy = { .object = "urls/...", .from = "spool/...", .from_size = n };
 *   rc = dx_store_put(store, &copy, etag, &err);         the store copies it; at most 5 GiB
 *   rc = dx_store_list(store, "urls/", each, ctx, &err); every object below, in byte order
 *   rc = dx_store_remove(store, "urls/...", &err);       absent is fine
 *   rc = dx_store_read(store, "leases/a.json", 0, &buf, &stamp, &err);
 *                                                        1: whole, with times; 0: there is none
 *   rc = dx_store_probe(store, &err);                    are its conditions honest?
 *   dx_store_close(&store);
 *
 * A condition is checked by the store in the same step as the write:
 *   if_absent   there must be no such object          DX_E_EXISTS if there is
 *   if_match    it must be the one with that ETag     DX_E_CONFLICT if it is not, or is gone
 * After a put whose reply was lost, the object is looked up: if it is the one that was put (by its
 * checksum and a nonce in its metadata), the put has succeeded; if the outcome stays unknown, the
 * error is DX_E_UNKNOWN. A store that does not answer, or asks to come later, is asked again for
 * two minutes (12 x options.deadline_ms) beyond what the bytes take: a request that fails for good
 * takes as long. Timeouts and limits are those of the source's options.
 *
 * A caller that may lose the right to write while a put waits says so by `may`: it is asked before each
 * attempt of the request that makes the object appear (of an upload in parts, its completion; of a
 * directory, the link or rename). A negative result ends the put with that code and text, unless
 * an attempt before it is found to have succeeded. It narrows the window in which a late write can
 * happen to one attempt and does not close it: conditions do.
 *
 * A directory does the same by a temporary file, fsync, link or rename, and fsync of the folder;
 * if_match compares with what dx_source_get gave and is for one writer at a time (root_lock). A
 * list leaves out temporary names (.tmp-..., and ....tmp- and a number) and does not follow
 * symbolic links: they are an error. In a bucket, keys that end in a slash are marks for folders
 * and left out; a key that is not an object name (source.h) is an error that names it, and so is a
 * store that lists out of order.
 *
 * Uploads in parts that fail are taken back. If the reply to their beginning was lost, or this
 * process ends, parts stay behind that only the store's own rule for old uploads removes.
 *
 * Names are those of source.h. Safe from several threads at once; may block.
 */
#ifndef DX_FETCH_STORE_STORE_H
#define DX_FETCH_STORE_STORE_H

#include "fetch/source.h"

struct dx_store;

struct dx_put {
    const char *object;
    struct dx_span bytes;  /* what is written, or */
    const char *path;      /* the file that is, or */
    const char *from;      /* the object of this store that is */
    uint64_t from_size;    /* its bytes, and */
    const char *from_etag; /* the ETag that it must have, or it is DX_E_CONFLICT; NULL: any */
    bool if_absent;
    const char *if_match; /* as dx_source_get and dx_store_put give it; NULL: no condition */
    bool in_parts;        /* as a large file goes, whatever the size; a directory knows no parts */
    uint64_t deadline_ms; /* 0: by the size */
    int (*may)(void *ctx, struct dx_error *err); /* NULL: it may */
    void *may_ctx;
};

struct dx_listed {
    const char *object; /* relative to the root; valid during the call */
    uint64_t size;
    const char *etag; /* strong, with quotes; "" if the store gives none */
};

typedef int dx_store_each(void *ctx, const struct dx_listed *listed, struct dx_error *err);

/* Times are by one clock, the store's: that of a directory is the one its file system stamps files
 * with. HTTP tells whole seconds, so the difference of two can be a second off. */
struct dx_store_stamp {
    char etag[DX_SOURCE_ETAG]; /* as dx_store_put gives it */
    int64_t modified_us;       /* when the object was written */
    int64_t now_us;            /* when it was read; set also if there is none */
};

struct dx_store_ops {
    int (*put)(struct dx_store *store, const struct dx_put *put, char etag[DX_SOURCE_ETAG],
               struct dx_error *err);
    int (*list)(struct dx_store *store, const char *prefix, dx_store_each *each, void *ctx,
                struct dx_error *err);
    int (*remove)(struct dx_store *store, const char *object, struct dx_error *err);
    int (*read)(struct dx_store *store, const char *object, uint64_t deadline_ms,
                struct dx_buf *out, struct dx_store_stamp *stamp, struct dx_error *err);
    void (*close)(struct dx_store *store);
};

/* The first member of each kind of store. */
struct dx_store {
    const struct dx_store_ops *ops;
};

/* http:// and https:// roots are for reading: DX_E_UNSUPPORTED. A directory is created. */
int dx_store_open(struct dx_store **store, const char *root,
                  const struct dx_source_options *options, struct dx_error *err);
void dx_store_close(struct dx_store **store);

/* etag: of what is there now. */
int dx_store_put(struct dx_store *store, const struct dx_put *put, char etag[DX_SOURCE_ETAG],
                 struct dx_error *err);

/* prefix ends in a slash or is "". The first negative result of each ends it. */
int dx_store_list(struct dx_store *store, const char *prefix, dx_store_each *each, void *ctx,
                  struct dx_error *err);
int dx_store_remove(struct dx_store *store, const char *object, struct dx_error *err);

/* A small object, appended to out, which must be able to hold it: 1; 0: there is no such object.
 * Always asks the store, waits for it as a put does (deadline_ms 0), and fails if it tells no
 * times. */
int dx_store_read(struct dx_store *store, const char *object, uint64_t deadline_ms,
                  struct dx_buf *out, struct dx_store_stamp *stamp, struct dx_error *err);

/* Tries the four conditions on a small object of its own, probe/<nonce>, and `if_absent` once more
 * on an upload in parts, and removes it. A store that ignores or inverts one is DX_E_UNSUPPORTED,
 * and the message names it. */
int dx_store_probe(struct dx_store *store, struct dx_error *err);

int dx_store_open_local(struct dx_store **store, const char *root, struct dx_error *err);
int dx_store_open_s3(struct dx_store **store, const char *root,
                     const struct dx_source_options *options, struct dx_error *err);

#endif
