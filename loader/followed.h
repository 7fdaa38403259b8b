/* SPDX-License-Identifier: Apache-2.0
 * followed.h - a small text that others replace now and then: a file, or an object of a store.
 *
 *   struct dx_followed f = { .object = "index/x.json", .cap = cap };
 *   rc = dx_followed_open(&f, root, file, &options, &err);     file NULL: the object below root
 *   rc = dx_followed_read(&f, &text, etag, &err);   1 another text, 0 still the one that was taken;
 *                                                   DX_E_NOT_FOUND: there is none
 *   dx_followed_take(&f, etag);                     it was good: read says 0 until there is another one
 *   dx_followed_close(&f);                          zeroed is fine
 *
 * A look that finds nothing new costs a stat, or a conditional GET. One thread at a time.
 */
#ifndef DX_LOADER_FOLLOWED_H
#define DX_LOADER_FOLLOWED_H

#include "base/buf.h"
#include "base/error.h"
#include "fetch/source.h"

struct dx_followed {
    const char *object;        /* below a root */
    size_t cap;                /* bytes of it */
    char *path;                /* of the file; NULL: an object of source */
    struct dx_source *source;  /* NULL: a file */
    char etag[DX_SOURCE_ETAG]; /* of the text that was taken last; "": none */
};

/* options NULL: the defaults. */
int dx_followed_open(struct dx_followed *f, const char *root, const char *file,
                     const struct dx_source_options *options, struct dx_error *err);
int dx_followed_read(struct dx_followed *f, struct dx_buf *text, char etag[DX_SOURCE_ETAG],
                     struct dx_error *err);
void dx_followed_take(struct dx_followed *f, const char *etag);
void dx_followed_close(struct dx_followed *f);

#endif
