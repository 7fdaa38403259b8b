/* SPDX-License-Identifier: Apache-2.0
 * mirror.h - local copies of objects that never change, by their content.
 *
 *   rc = dx_mirror_open(&m, dir, &err);                     NULL: the default, see below
 *   struct dx_mirror_want want = { "index/v/domains.mphf", size, hash, etag };
 *   rc = dx_mirror_fetch(m, source, &want, path, &err);     path: a file with those bytes
 *   rc = dx_mirror_obtain(m, source, &want, path, &err);    the same: 1 they came, 0 were there
 *   rc = dx_mirror_fetch_all(m, source, &batch, &err);      many, some at a time
 *   rc = dx_mirror_adopt(m, other, &want, &err);            1 there, 0 other lacks it, or is on another disk
 *   rc = dx_mirror_recheck(m, &want, &err);                 1 sound, 0 it was not and is removed
 *   rc = dx_mirror_sweep(m, max_age_s, &err);               removes what was not used for so long
 *   dx_mirror_close(&m);
 *
 * DIR/objects/HH/<hash>-<size> is a whole, verified object; DIR/partial/ holds what is on its way,
 * one lock a file, so that several processes may share DIR: what one is fetching, others wait for.
 * A broken-off download goes on where it ended. A file is given its final name only after its size
 * and XXH3-128 were found right; with wrong ones it is fetched once more from the beginning, then
 * it is an error. The same bytes under another version's name are there already.
 *
 *   rc = dx_mirror_tree_open(m, &key, &tree, &err);         a folder: objects under names
 *   rc = dx_mirror_tree_link(tree, "a/b", path, &err);       again is fine
 *   ... dx_mirror_tree_path(tree) ...                       stays whole until the close
 *   dx_mirror_tree_close(&tree);
 *
 * DIR/trees/<key>/ are hard links to objects. A process that has one open holds a lock that a sweep respects.
 *
 * Default directory: $CACHE_DIRECTORY (systemd), else $XDG_CACHE_HOME/domaindex, else
 * ~/.cache/domaindex. It must be on a file system with locks and hard links, and only those may
 * write to it whom its readers trust: what is there already is not hashed again. So what it creates
 * is for its owner alone (directories 0700, files 0400); to share it between users, create the
 * directories beforehand. Objects may be removed at any time, also while they are mapped. A sweep
 * removes files and trees with names of the form above, and nothing else that lies there.
 *
 * fetch, recheck and sweep are safe from several threads and processes at once; a tree belongs to
 * its opener, who may link from several threads.
 */
#ifndef DX_LOADER_MIRROR_H
#define DX_LOADER_MIRROR_H

#include "base/hash.h"
#include "fetch/source.h"

#include <stdatomic.h>

#define DX_MIRROR_PATH 4096

struct dx_mirror;
struct dx_mirror_tree;

struct dx_mirror_want {
    const char *object;
    uint64_t size;
    struct dx_hash128 hash;
    const char *etag; /* NULL: not known */
};

struct dx_mirror_counts {
    _Atomic uint64_t reused; /* objects that were there */
    _Atomic uint64_t fetched;
    _Atomic uint64_t bytes; /* that came over the network */
};

int dx_mirror_open(struct dx_mirror **m, const char *dir, struct dx_error *err);

/* The directory that open takes; nothing is made. */
int dx_mirror_place(const char *dir, char path[DX_MIRROR_PATH], struct dx_error *err);
int dx_mirror_fetch(struct dx_mirror *m, struct dx_source *source,
                    const struct dx_mirror_want *want, char path[DX_MIRROR_PATH],
                    struct dx_error *err);
int dx_mirror_obtain(struct dx_mirror *m, struct dx_source *source,
                     const struct dx_mirror_want *want, char path[DX_MIRROR_PATH],
                     struct dx_error *err);
/* A second name of what another mirror has fetched and found right. */
int dx_mirror_adopt(struct dx_mirror *m, const struct dx_mirror *other,
                    const struct dx_mirror_want *want, struct dx_error *err);
int dx_mirror_recheck(struct dx_mirror *m, const struct dx_mirror_want *want, struct dx_error *err);
int dx_mirror_sweep(struct dx_mirror *m, uint64_t max_age_s, struct dx_error *err);
const struct dx_mirror_counts *dx_mirror_counts_of(const struct dx_mirror *m);
void dx_mirror_close(struct dx_mirror **m);
const char *dx_mirror_dir_of(const struct dx_mirror *m);

/* How far a batch is. Called every two seconds, and at the end with `object` NULL; in between for
 * each object that came, but not for those that were there. */
struct dx_mirror_progress {
    const char *object; /* that has come, in so many ms; NULL: of the batch as a whole */
    uint64_t size;
    uint64_t ms;
    uint64_t bytes; /* that came in this batch so far */
    uint64_t objects_reused;
    uint64_t objects_fetched;
    uint64_t objects; /* of the batch */
};

/* From the thread that called fetch_all and from its helpers, one at a time. */
typedef void dx_mirror_tell(void *ctx, const struct dx_mirror_progress *progress);

#define DX_MIRROR_LINE 256
/* "fetched index/v/domains.mphf: 12.3 MB in 0.4 s, 30.8 MB/s", or of the batch. */
void dx_mirror_progress_text(const struct dx_mirror_progress *progress, char text[DX_MIRROR_LINE]);

/* At once, in threads of their own: enough to fill a line with 20 ms to each reply. Each holds at
 * most a DX_DOWNLOAD_WINDOW. */
#define DX_MIRROR_THREADS 8

struct dx_mirror_batch {
    const struct dx_mirror_want *wants;
    size_t count;
    /* For each want when its file is there, from any thread; a negative result ends the batch.
     * A want whose `have` says true is left out. Both may be NULL. */
    bool (*have)(void *ctx, size_t i);
    int (*got)(void *ctx, size_t i, const char *path, struct dx_error *err);
    void *ctx;
    dx_mirror_tell *tell; /* NULL: none */
    void *tell_ctx;
};

int dx_mirror_fetch_all(struct dx_mirror *m, struct dx_source *source,
                        const struct dx_mirror_batch *batch, struct dx_error *err);

int dx_mirror_tree_open(struct dx_mirror *m, const struct dx_hash128 *key,
                        struct dx_mirror_tree **tree, struct dx_error *err);
const char *dx_mirror_tree_path(const struct dx_mirror_tree *tree);
bool dx_mirror_tree_has(const struct dx_mirror_tree *tree, const char *name, uint64_t size);
int dx_mirror_tree_link(struct dx_mirror_tree *tree, const char *name, const char *path,
                        struct dx_error *err);
void dx_mirror_tree_close(struct dx_mirror_tree **tree);

#endif
