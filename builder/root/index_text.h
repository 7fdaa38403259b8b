/* SPDX-License-Identifier: Apache-2.0
 * index_text.h - a small text in index/ of a root, read and changed as a whole.
 *
 *   rc = dx_index_text_read(root, "index/x.json", cap, &buf, &err);      1, or 0: the root has no such object; a directory that is not a root is an error
 *   const struct dx_index_text_change c = { .object = "index/x.json", .cap = cap, .edit = edit, ... };
 *   rc = dx_index_text_change(root, &c, &err);                           1 written, 0 nothing to write
 *
 * It is replaced only if it is still the one that was edited, so of two writers at once nothing is
 * lost. A directory: by rename, under the lock ROOT/index/.lock, which is held for an instant: a
 * change does not wait for the end of a publish, which has the root's. Object storage:
 * If-Match; a writer that is refused reads again and edits again. One that is killed leaves the old text or the
 * new one. One thread at a time.
 */
#ifndef DX_BUILDER_ROOT_INDEX_TEXT_H
#define DX_BUILDER_ROOT_INDEX_TEXT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"

/* From the text that is there (data NULL: none) to the one that shall be, into out, which is empty:
 * 1, or 0 if it is right already. It may be called again, also with a text that has what an earlier
 * call made in it: then the reply of the store was lost. */
typedef int dx_index_text_edit(void *ctx, struct dx_span text, struct dx_buf *out,
                               struct dx_error *err);

struct dx_index_text_change {
    const char *object;       /* "index/" and a name */
    size_t cap;               /* bytes of it */
    void (*begin)(void *ctx); /* NULL, or called each time before the text is read */
    dx_index_text_edit *edit;
    void *ctx;
    unsigned tries,
        wait_ms; /* of object storage: how often, and how long between; 0: as small texts need */
    bool (*stopped)(void); /* may be NULL: true ends the tries */
};

int dx_index_text_read(const char *root, const char *object, size_t cap, struct dx_buf *out,
                       struct dx_error *err);

/* DX_E_UNKNOWN: it may have been written; the same command again does no harm. DX_E_BUSY: others
 * were faster each time. */
int dx_index_text_change(const char *root, const struct dx_index_text_change *change,
                         struct dx_error *err);

/* On object storage that is open and was probed; the object may be anywhere below the root. */
struct dx_root;
int dx_index_text_change_on(const struct dx_root *remote, const struct dx_index_text_change *change,
                            struct dx_error *err);

#endif
