/* SPDX-License-Identifier: Apache-2.0
 * followed.h - a small text that others replace now and then: a file, or an object of a store.
 *
 *   struct dx_followed f = { .object = "index/x.json", .cap = cap };
 *   rc = dx_followed_open(&f, root, file, &options, &err);     file NULL: the object below root
 *   rc = dx_followed_read(&f, &text, etag, &err);   1 another text, 0 still the one that was taken;
 *                                                   DX_E_NOT_FOUND: there is none
 *   dx_followed_take(&f, etag);                     it was good: read says 0 until there is another one
 *   dx_followed_hangs(&f, &why)                     any thread: a look began long ago and has not ended
 *   dx_followed_close(&f);                          zeroed is fine
 *
 * A look that finds nothing new costs an open and a stat, or a conditional GET. The file is opened
 * each time, since a network file system may answer a stat from what it remembers. A file whose
 * size and times are those of the text that was taken may still be another one if it was written in
 * place within a tick of the file system's clock: for DX_FOLLOWED_SETTLE_MS after a change each
 * look reads the file, and its hash decides.
 *
 * A look never waits for a writer (base/file.h). Nothing can bound a read of a file system that
 * does not answer: the thread that looks hangs, what was taken holds, and dx_followed_hangs says
 * so. One thread at a time, but for hangs and age.
 */
#ifndef DX_LOADER_FOLLOWED_FOLLOWED_H
#define DX_LOADER_FOLLOWED_FOLLOWED_H

#include "base/buf.h"
#include "base/error.h"
#include "base/hash.h"
#include "fetch/source.h"

#include <stdatomic.h>
#include <stdbool.h>

#define DX_FOLLOWED_SETTLE_MS 2000 /* the coarsest clock of a file system in use: FAT's */
#define DX_FOLLOWED_LOOK_MS 10000  /* a look that takes longer is said to hang */

struct dx_followed {
    const char *object;        /* below a root */
    size_t cap;                /* bytes of it */
    char *path;                /* of the file; NULL: an object of source */
    struct dx_source *source;  /* NULL: a file */
    char etag[DX_SOURCE_ETAG]; /* of the text that was taken last; "": none */
    struct dx_hash128 taken;   /* hash of that text; of a file */
    struct dx_hash128 read;    /* of the text that was read last */
    uint64_t settled_ms;       /* from when on the etag of the file is enough */
    _Atomic uint64_t began_ms; /* the look that is under way; 0: none */
    _Atomic uint64_t ended_ms; /* the last look that ended, or open */
};

/* options NULL: the defaults. */
int dx_followed_open(struct dx_followed *f, const char *root, const char *file,
                     const struct dx_source_options *options, struct dx_error *err);
int dx_followed_read(struct dx_followed *f, struct dx_buf *text, char etag[DX_SOURCE_ETAG],
                     struct dx_error *err);
void dx_followed_take(struct dx_followed *f, const char *etag);
void dx_followed_close(struct dx_followed *f);

/* DX_OK, or DX_E_TIMEOUT with the object and since when. */
int dx_followed_hangs(const struct dx_followed *f, struct dx_error *why);
uint64_t dx_followed_age_ms(const struct dx_followed *f); /* since the end of the last look */

#endif
