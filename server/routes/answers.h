/* SPDX-License-Identifier: Apache-2.0
 * answers.h - what the server needs from below, as one table of functions.
 *
 *   struct dx_answers live = dx_answers_of(current);     the published version
 *   struct dx_version *v = live.pin(live.from, NULL);
 *
 *   struct dx_canon_slot slot = { 0 };                   one for each loop and worker
 *   rc = dx_ask_answer(&live, &slot, v, &answering);     as query/answers/task.h
 *   dx_canon_slot_refresh(&slot, &live);                 now and then, and after a reload
 *   dx_canon_slot_release(&slot, &live);
 *
 * A request may name a version, by a parameter or in a cursor:
 *
 *   rc = dx_ask_resolve(&live, &ask, now_s, &problem);   1, or as query/answers/answer.h: reads the cursor
 *   rc = dx_ask_pin(&live, &ask, &v, &problem);          v: the current one, in, the wanted one, out
 *   if (rc == DX_ASK_NOT_OPEN)                               in a worker, before dx_ask_answer:
 *       rc = dx_ask_fetch(&live, &ask, &v, &problem);
 *
 * The server holds no other reference to query/ and loader/, so its tests answer from a
 * double and later layers (access rules, metrics) can wrap a table in a table.
 *
 * A canonicaliser belongs to one thread and is made from one version's suffix list. The
 * slot keeps that version pinned; refresh lets it go when it is no longer current, so that
 * a thread without requests does not keep an old version mapped.
 */
#ifndef DX_SERVER_ROUTES_ANSWERS_H
#define DX_SERVER_ROUTES_ANSWERS_H

#include "query/answers/answer_names.h"
#include "query/answers/task.h"
#include "query/changes/answer_changes.h"
#include "query/range/range_ask.h"
#include "query/rows/cursor.h"
#include "server/routes/target.h"

struct dx_answers;
struct dx_current;
struct dx_foreign_folder;

/* One question at work, as the answer function of a route gets it (server/routes/route.h): the
 * arguments of the functions of query/answers/answer.h and task.h. */
struct dx_answering {
    const struct dx_answers *answers;
    const struct dx_view *view;
    const struct dx_view *before; /* of a route that compares, else NULL */
    struct dx_canon *canon;       /* of a route that needs one, else NULL */
    const struct dx_ask *ask;
    uint64_t deadline_ms;
    struct dx_task **task;
    struct dx_answer_summary *summary;
    struct dx_buf *body;
    struct dx_problem *problem;
};

/* Of a route with cursors. */
struct dx_paging dx_answering_paging(const struct dx_answering *a);
/* What a listing of many domains is asked for. */
struct dx_range_ask dx_answering_range(const struct dx_answering *a);

struct dx_answers {
    void *from; /* first argument of pin */
    /* held: NULL or a version that the caller has pinned: while it is current, no lock. */
    struct dx_version *(*pin)(void *from, struct dx_version *held);
    /* Whether pin would give this one, which the caller has pinned. No write that others see. */
    bool (*is_current)(void *from, struct dx_version *held);
    struct dx_version *(*pin_again)(struct dx_version *held); /* one pin more: held */
    void (*unpin)(struct dx_version *v);
    /* By name: 1 with *v pinned, DX_ASK_NOT_OPEN, or 0 and <0 with a problem. No I/O. */
    int (*pin_named)(void *from, const char *name, struct dx_version **v,
                     struct dx_problem *problem);
    /* The same but for DX_ASK_NOT_OPEN; blocks. */
    int (*fetch)(void *from, const char *name, struct dx_version **v, struct dx_problem *problem);
    const char *(*version_name)(const struct dx_version *v);
    struct dx_build_id (*version_build)(const struct dx_version *v); /* NULL: unknown */

    /* Whether all that was computed from v so far may be believed; false: problem says why not.
     * Asked for each answer, before it is sent. NULL: always. */
    bool (*intact)(struct dx_version *v, struct dx_problem *problem);
    /* What answers of v may depend on beside the question: two numbers that are the same only while
     * all of it is the same. False: it is changing just now. NULL: unknown, so no answer is
     * cached. */
    bool (*state)(struct dx_version *v, uint64_t state[2]);
    /* Called for a request that was answered without looking at v. NULL: it is not. */
    void (*asked_again)(struct dx_version *v, struct dx_span asked);
    int (*canon_new)(const struct dx_version *v, struct dx_canon **canon, struct dx_error *err);
    void (*canon_free)(struct dx_canon **canon);

    /* Instead of the answer function of each route; NULL: those are called. */
    int (*answer)(const struct dx_answering *a);
    /* Of a dataset's name, "name:NAME" or "id:N": 1 with its id, or 0 with the problem. NULL: they
     * have no names. */
    int (*dataset_named)(const struct dx_view *view, struct dx_span name, uint32_t *id,
                         struct dx_problem *problem);
    int (*version_meant)(struct dx_version *v, struct dx_span text, char name[DX_VERSION_NAME],
                         struct dx_problem *problem); /* as dx_answer_version_meant */
    /* As dx_names_new of query/answers/answer_names.h. NULL: no many names at once. */
    int (*names)(struct dx_names **n, const struct dx_view *view, const struct dx_names_ask *ask,
                 struct dx_problem *problem);
    bool urls_brief; /* urls heeds `brief`, so that a loop may ask it */
    struct dx_cursor_key cursor_key;
    unsigned cursor_life_s; /* 0: no cursors are given, and none is taken */

    /* Of what lies below; NULL: nothing is said. */
    void (*metrics)(void *from, struct dx_buf *out); /* as server/engine/metrics.h */
    bool (*sound)(void *from, struct dx_buf *words); /* words: what is wrong, if false */

    struct dx_domain64_live *numbers; /* of the root; NULL: none */
    const struct dx_foreign_folder
        *foreign; /* that rows of foreign files are read below; NULL: none are */
};

struct dx_answers dx_answers_of(struct dx_current *current);

enum { DX_ASK_NOT_OPEN = 3 }; /* beside 1 and DX_TASK_WAITS */

struct dx_canon_slot {
    struct dx_canon *canon;     /* NULL: none yet */
    struct dx_version *version; /* pinned while canon is there */
};

void dx_canon_slot_refresh(struct dx_canon_slot *slot, const struct dx_answers *answers);
void dx_canon_slot_release(struct dx_canon_slot *slot, const struct dx_answers *answers);

/* Sets what target.h says is made here. */
int dx_ask_resolve(const struct dx_answers *answers, struct dx_ask *ask, int64_t now_s,
                   struct dx_problem *problem);

/* Since when cursors of the answer count: rounded down, so that for a while the same page has the
 * same bytes and ETag. */
int64_t dx_ask_began_s(const struct dx_answers *answers, const struct dx_ask *ask);

/* Where the wanted version is found the old pin is let go, and *v is that one. Then the datasets that
 * ask names are looked up in *v, as ask->scope shows them: 0 with the problem if one is not there. */
int dx_ask_pin(const struct dx_answers *answers, struct dx_ask *ask, struct dx_version **v,
               struct dx_problem *problem);
int dx_ask_fetch(const struct dx_answers *answers, struct dx_ask *ask, struct dx_version **v,
                 struct dx_problem *problem);

/* Whether the answer may read the lake or is long: it belongs to a worker, not to a loop. */
bool dx_ask_may_block(const struct dx_ask *ask);

/* Whether it may all the same be begun on a loop, with ask->brief set: a page of a listing that is
 * short enough, a domain of which not all may be seen, one URL. What of it has to be read or takes long is
 * left to a worker. */
bool dx_ask_may_be_brief(const struct dx_answers *answers, const struct dx_ask *ask);

/* The answer of v as a->ask->scope shows it, which is held as long as v is pinned; the caller sets
 * ask, deadline_ms and what the answer is put into. The route is none of the server's own, and not
 * one of POST, whose answer is made elsewhere, as its names come (server/engine/bulk.h): then this
 * is 1 and no body. May be DX_TASK_WAITS with *a->task set, but only if dx_ask_may_block;
 * deadline_ms as in query/answers/task.h. */
int dx_ask_answer(const struct dx_answers *answers, struct dx_canon_slot *slot,
                  struct dx_version *v, struct dx_answering *a);

#endif
