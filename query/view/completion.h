/* SPDX-License-Identifier: Apache-2.0
 * completion.h - domains of a part that go on from what was typed.
 *
 *   struct dx_completion_typed t;
 *   dx_completion_read(&t, canon, asked);                 a URL is reduced to its host; size 0: nothing to complete
 *   rc = dx_completion_search(part, &t, &filter, found, max, &n, &err);     the first `max` of the part: DX_OK or <0
 *   qsort(found, n, sizeof *found, dx_completion_compare);            to merge those of several parts
 *
 * In this order, each domain once:
 *   1. the registered domain of what was typed;
 *   2. LABEL.SUFFIX, LABEL the first label typed, for each suffix of dx_completion_suffixes in its order;
 *   3. if no dot was typed, the domains LABEL….SUFFIX for each suffix in that order, by byte.
 * With a dot, only suffixes that begin with what follows it. Other suffixes are not searched: the
 * list is constant, so that the answer depends on nothing that the caller may not see, and one
 * search costs a bounded number of look-ups.
 *
 * filter: asked in order of ordinals within a suffix. Any thread; found and typed are plain values.
 */
#ifndef DX_QUERY_VIEW_COMPLETION_H
#define DX_QUERY_VIEW_COMPLETION_H

#include "base/bytes.h"
#include "base/error.h"
#include "format/core/surt.h"

struct dx_canon;
struct dx_part;

struct dx_completion_typed {
    bool dotted;
    size_t size;                 /* of text; 0: nothing */
    size_t label_size;           /* of its first label */
    size_t domain_size;          /* 0: it has no registered domain */
    uint8_t text[DX_SURT_MAX];   /* lower case, A-labels, without a first "www." */
    uint8_t domain[DX_SURT_MAX]; /* the registered domain of all that was typed */
};

struct dx_completion {
    unsigned rank; /* the order above */
    size_t size;
    uint8_t domain[DX_SURT_MAX];
};

struct dx_completion_filter {
    /* The first ordinal from this one on, and below end, that may be shown; `end`: none. */
    int (*next)(void *ctx, const struct dx_part *part, uint64_t from, uint64_t end,
                uint64_t *ordinal, struct dx_error *err);
    /* 1: the domain may be shown; 0: not. */
    int (*shows)(void *ctx, const struct dx_part *part, uint64_t ordinal, struct dx_span domain,
                 struct dx_error *err);
    void *ctx;
};

extern const char *const dx_completion_suffixes[]; /* the last one is NULL */

void dx_completion_read(struct dx_completion_typed *t, struct dx_canon *canon,
                        struct dx_span asked);
int dx_completion_search(const struct dx_part *part, const struct dx_completion_typed *t,
                         const struct dx_completion_filter *filter, struct dx_completion *found,
                         size_t max, size_t *n, struct dx_error *err);
int dx_completion_compare(const void *a, const void *b);

#endif
