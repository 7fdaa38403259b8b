/* SPDX-License-Identifier: Apache-2.0
 * domain64_registry.h - the registry of domain64 of a root: names to numbers, and back.
 *
 *   rc = dx_domain64_registry_open(&n, root, source, &err);                    1; 0: the root has none
 *   rc = dx_domain64_registry_key(n, &names, &key, &missing, &err);            1; 0: `missing` has no number
 *   rc = dx_domain64_registry_names(n, key, &text, &err);                      1; 0: nothing has this number
 *   rc = dx_domain64_registry_child(n, DX_PART_DOMAIN, parent, name, &number, &err);      1 or 0
 *   rc = dx_domain64_registry_before(n, number, &found, &err);                 the highest below: 1 or 0
 *   dx_domain64_registry_walk_open(&w, n, from, &err);                         all names, by number
 *   while ((rc = dx_domain64_registry_walk_next(&w, &err)) == 1)               w.number, w.part, w.name
 *   dx_domain64_registry_walk_close(&w);
 *   rc = dx_domain64_registry_domain(n, from, &number, &err);                  the lowest domain from there on: 1 or 0
 *   dx_domain64_registry_close(&n);
 *
 *   struct dx_domain64_registry_options o = { .dir = "/var/cache/x", .whole = true };
 *   rc = dx_domain64_registry_open_as(&n, root, source, &o, &err);             to keep it open for long
 *   other = dx_domain64_registry_hold(n);                                      one close more, of any thread
 *   rc = dx_domain64_registry_intact(n, &err);                                 that no file was changed so far
 *
 * A number of a part is the key whose fields behind it are 0: TLD 1 is 0x0100000000000000. So a key
 * of a URL is the number of its last part that is not none, and its fields are those of its
 * parents.
 *
 * source is that of the root and borrowed for the open only. Of a directory the files are mapped,
 * of a remote root they are fetched to a temporary file without a name, and mapped. A registry that
 * is merged meanwhile is reopened, a few times. Read-only after open: threads may share n, each
 * with its own walk.
 *
 * A block of a book is checked when it is first read. Where guards are started (loader/guard/guard.h)
 * mapped files are watched, and what was read before dx_domain64_registry_intact says yes may be
 * believed.
 */
#ifndef DX_LOADER_FOLLOWED_DOMAIN64_REGISTRY_H
#define DX_LOADER_FOLLOWED_DOMAIN64_REGISTRY_H

#include "base/buf.h"
#include "base/map.h"
#include "canon/domain64.h"
#include "fetch/source.h"
#include "format/root/domain64_manifest.h"
#include "format/root/domain64_segment.h"

#include <stdatomic.h>

struct dx_guard;

struct dx_domain64_registry {
    struct dx_domain64_manifest list;
    enum dx_domain64_layout layout;
    char etag[DX_SOURCE_ETAG]; /* of the list; "": the store tells none */
    struct dx_map map[DX_DOMAIN64_SEGMENTS_MAX];
    struct dx_domain64_segment book[DX_DOMAIN64_SEGMENTS_MAX];
    size_t count;

    /* private */
    struct dx_guard *guard;
    _Atomic unsigned holds;
};

struct dx_domain64_registry_options {
    const char *dir; /* where books of a remote root are fetched to; NULL: TMPDIR, or /tmp */
    bool whole;      /* every byte of the books is checked against its sum at once */
};

int dx_domain64_registry_open_as(struct dx_domain64_registry **n, const char *root,
                                 struct dx_source *source,
                                 const struct dx_domain64_registry_options *options,
                                 struct dx_error *err);
int dx_domain64_registry_open(struct dx_domain64_registry **n, const char *root,
                              struct dx_source *source, struct dx_error *err);
void dx_domain64_registry_close(
    struct dx_domain64_registry **n); /* the last one of those who hold it lets it go */
struct dx_domain64_registry *dx_domain64_registry_hold(struct dx_domain64_registry *n);
int dx_domain64_registry_intact(const struct dx_domain64_registry *n, struct dx_error *err);

/* What has been numbered so far, and by which registry: equal ones give equal answers. Another one
 * after a merge, too. */
struct dx_build_id dx_domain64_registry_state(const struct dx_domain64_registry *n);

int dx_domain64_registry_child(const struct dx_domain64_registry *n, enum dx_domain64_part part,
                               uint64_t parent, struct dx_span name, uint64_t *number,
                               struct dx_error *err);
int dx_domain64_registry_before(const struct dx_domain64_registry *n, uint64_t number,
                                uint64_t *found, struct dx_error *err);
int dx_domain64_registry_domain(const struct dx_domain64_registry *n, uint64_t from,
                                uint64_t *number, struct dx_error *err);
int dx_domain64_registry_key(const struct dx_domain64_registry *n,
                             const struct dx_domain64_names *names, uint64_t *key,
                             enum dx_domain64_part *missing, struct dx_error *err);

/* The name that was given this very number, appended to out. */
int dx_domain64_registry_name(const struct dx_domain64_registry *n, uint64_t number,
                              struct dx_buf *out, struct dx_error *err);

/* "teaching.jadud.com/berea", appended to out: host, '/', path. */
int dx_domain64_registry_names(const struct dx_domain64_registry *n, uint64_t key,
                               struct dx_buf *out, struct dx_error *err);

/* Whether the last number of the names below `parent` is given: what was met after it has none. */
int dx_domain64_registry_full(const struct dx_domain64_registry *n, enum dx_domain64_part part,
                              uint64_t parent, struct dx_error *err);

/* Which part has just this number, by the fields that are 0. */
int dx_domain64_registry_part(enum dx_domain64_layout layout, uint64_t number,
                              enum dx_domain64_part *part, struct dx_error *err);

/* The number of the parent; of a TLD 0. */
uint64_t dx_domain64_registry_parent(enum dx_domain64_layout layout, uint64_t number,
                                     enum dx_domain64_part part);

struct dx_domain64_registry_walk {
    uint64_t number;
    enum dx_domain64_part part;
    struct dx_span name;

    /* private */
    const struct dx_domain64_registry *numbers;
    struct dx_number_cursor *cursor; /* one a book */
    bool *there;
    size_t taken;
};

int dx_domain64_registry_walk_open(struct dx_domain64_registry_walk *w,
                                   const struct dx_domain64_registry *n, uint64_t from,
                                   struct dx_error *err);
int dx_domain64_registry_walk_next(struct dx_domain64_registry_walk *w, struct dx_error *err);
void dx_domain64_registry_walk_close(struct dx_domain64_registry_walk *w);

#endif
