/* SPDX-License-Identifier: Apache-2.0
 * numbers.h - the registry of domain64 of a root: names to numbers, and back.
 *
 *   rc = dx_numbers_open(&n, root, source, &err);                    1; 0: the root has none
 *   rc = dx_numbers_key(n, &names, &key, &missing, &err);            1; 0: `missing` has no number
 *   rc = dx_numbers_names(n, key, &text, &err);                      1; 0: nothing has this number
 *   rc = dx_numbers_child(n, DX_PART_DOMAIN, parent, name, &number, &err);      1 or 0
 *   rc = dx_numbers_before(n, number, &found, &err);                 the highest below: 1 or 0
 *   dx_numbers_walk_open(&w, n, from, &err);                         all names, by number
 *   while ((rc = dx_numbers_walk_next(&w, &err)) == 1)               w.number, w.part, w.name
 *   dx_numbers_walk_close(&w);
 *   rc = dx_numbers_domain(n, from, &number, &err);                  the lowest domain from there on: 1 or 0
 *   dx_numbers_close(&n);
 *
 *   struct dx_numbers_options o = { .dir = "/var/cache/x", .whole = true };
 *   rc = dx_numbers_open_as(&n, root, source, &o, &err);             for who keeps it open for long
 *   other = dx_numbers_hold(n);                                      one close more, of any thread
 *   rc = dx_numbers_intact(n, &err);                                 that no file was changed so far
 *
 * A number of a part is the key whose fields behind it are 0: TLD 1 is 0x0100000000000000. So a key of
 * a URL is the number of its last part that is not none, and its fields are those of its parents.
 *
 * source is that of the root and borrowed for the open only. Of a directory the files are mapped, of a
 * remote root they are brought to a temporary file without a name, and mapped. A registry that is
 * merged meanwhile is opened anew, a few times. Read-only after open: threads may share n, each
 * with its own walk.
 *
 * A block of a book is checked when it is first read. Where guards are started (loader/guard.h) mapped files are
 * watched, and what was read before dx_numbers_intact says yes may be believed.
 */
#ifndef DX_LOADER_NUMBERS_H
#define DX_LOADER_NUMBERS_H

#include "base/buf.h"
#include "base/map.h"
#include "canon/domain64.h"
#include "fetch/source.h"
#include "format/number_book.h"
#include "format/number_list.h"

#include <stdatomic.h>

struct dx_guard;

struct dx_numbers {
    struct dx_number_list list;
    enum dx_domain64_layout layout;
    char etag[DX_SOURCE_ETAG]; /* of the list; "": the store tells none */
    struct dx_map map[DX_NUMBER_BOOKS_MAX];
    struct dx_number_book book[DX_NUMBER_BOOKS_MAX];
    size_t count;

    /* private */
    struct dx_guard *guard;
    _Atomic unsigned holds;
};

struct dx_numbers_options {
    const char *dir; /* where books of a remote root are brought to; NULL: TMPDIR, or /tmp */
    bool whole;      /* every byte of the books is checked against its sum at once */
};

int dx_numbers_open_as(struct dx_numbers **n, const char *root, struct dx_source *source,
                       const struct dx_numbers_options *options, struct dx_error *err);
int dx_numbers_open(struct dx_numbers **n, const char *root, struct dx_source *source,
                    struct dx_error *err);
void dx_numbers_close(struct dx_numbers **n); /* the last one of those who hold it lets it go */
struct dx_numbers *dx_numbers_hold(struct dx_numbers *n);
int dx_numbers_intact(const struct dx_numbers *n, struct dx_error *err);

/* What has been numbered so far, and by which registry: equal ones give equal answers. Another one after a merge, too. */
struct dx_build_id dx_numbers_state(const struct dx_numbers *n);

int dx_numbers_child(const struct dx_numbers *n, enum dx_domain64_part part, uint64_t parent,
                     struct dx_span name, uint64_t *number, struct dx_error *err);
int dx_numbers_before(const struct dx_numbers *n, uint64_t number, uint64_t *found,
                      struct dx_error *err);
int dx_numbers_domain(const struct dx_numbers *n, uint64_t from, uint64_t *number,
                      struct dx_error *err);
int dx_numbers_key(const struct dx_numbers *n, const struct dx_domain64_names *names, uint64_t *key,
                   enum dx_domain64_part *missing, struct dx_error *err);

/* The name that was given this very number, appended to out. */
int dx_numbers_name(const struct dx_numbers *n, uint64_t number, struct dx_buf *out,
                    struct dx_error *err);

/* "teaching.jadud.com/berea", appended to out: host, '/', path. */
int dx_numbers_names(const struct dx_numbers *n, uint64_t key, struct dx_buf *out,
                     struct dx_error *err);

/* Whether the last number of the names below `parent` is given: what was met after it has none. */
int dx_numbers_full(const struct dx_numbers *n, enum dx_domain64_part part, uint64_t parent,
                    struct dx_error *err);

/* Which part has just this number, by the fields that are 0. */
int dx_numbers_part(enum dx_domain64_layout layout, uint64_t number, enum dx_domain64_part *part,
                    struct dx_error *err);

/* The number of the parent; of a TLD 0. */
uint64_t dx_numbers_parent(enum dx_domain64_layout layout, uint64_t number,
                           enum dx_domain64_part part);

struct dx_numbers_walk {
    uint64_t number;
    enum dx_domain64_part part;
    struct dx_span name;

    /* private */
    const struct dx_numbers *numbers;
    struct dx_number_cursor *cursor; /* one a book */
    bool *there;
    size_t taken;
};

int dx_numbers_walk_open(struct dx_numbers_walk *w, const struct dx_numbers *n, uint64_t from,
                         struct dx_error *err);
int dx_numbers_walk_next(struct dx_numbers_walk *w, struct dx_error *err);
void dx_numbers_walk_close(struct dx_numbers_walk *w);

#endif
