/* SPDX-License-Identifier: Apache-2.0
 * library_root.c - a root that is open in a program other than the server: versions, questions, lists of names.
 */
#include "lib/library_root.h"

#include "base/clock.h"
#include "format/version/manifest.h"
#include "lib/domaindex.h"
#include "lib/library_answer.h"
#include "lib/library_error.h"
#include "loader/current.h"
#include "loader/followed/domain64_live.h"
#include "loader/mirror.h"
#include "loader/version.h"
#include "query/suppression/suppression_view.h"
#include "query/view/view.h"
#include "server/http/reply.h"
#include "server/routes/answers.h"
#include "server/routes/route.h"
#include "server/routes/row_pages.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLOTS 16                   /* canonicalisers that are kept for the next question */
#define CURSOR_LIFE_S (7u * 86400) /* versions are not removed by this process, but by gc */

struct domaindex_root {
    struct dx_current *current;
    struct dx_domain64_live *numbers;
    char numbers_dir[DX_MIRROR_PATH]; /* of a remote root */
    char *name;
    char *cache_dir;
    struct dx_source_options source;
    char version[DX_VERSION_NAME]; /* "": the current one */
    struct dx_answers answers;
    pthread_mutex_t refreshing;
    pthread_mutex_t lock; /* of the slots */
    struct dx_canon_slot slots[SLOTS];
    size_t slot_count;
};

/* ---- opening, closing ---- */

static void read_options(struct domaindex_options *o, const struct domaindex_options *given)
{
    *o = (struct domaindex_options){ .size = sizeof *o };
    if (given != NULL)
        memcpy(o, given, given->size < sizeof *o ? given->size : sizeof *o);
}

static int open_current(struct domaindex_root *r, const struct domaindex_options *o,
                        struct dx_error *err)
{
    struct dx_version_options version = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_current_options current = DX_CURRENT_OPTIONS_INIT;
    int rc = dx_version_source_options(&version, &r->source, err);

    if (rc < 0)
        return rc;
    version.source = &r->source;
    version.mirror_dir = r->cache_dir;
    version.verify = o->verify != 0;
    if (o->cache_bytes > 0)
        version.cache_bytes_idx = version.cache_bytes_payload = version.cache_bytes_pages =
            o->cache_bytes / 3;
    current.version = &version;
    current.warm = false;
    current.waits_for_suppressions = true;
    return dx_current_open(&r->current, r->name, &current, err);
}

/* The name of the version, where a number was given; else the text as it is. */
static void name_version(struct domaindex_root *r, const char *said)
{
    struct dx_version *v = dx_current_pin(r->current);
    struct dx_shared_manifest *listed = v != NULL ? dx_version_listed(v) : NULL;
    const struct dx_manifest_version *found = listed != NULL
                                                  ? dx_manifest_said(&listed->manifest, said)
                                                  : NULL;

    (void)snprintf(r->version, sizeof r->version, "%s", found != NULL ? found->version : said);
    dx_shared_manifest_put(&listed);
    dx_version_unpin(v);
}

/* Once, so that a version that is not kept is found now. */
static int take_version(struct domaindex_root *r, const char *name, struct dx_error *err)
{
    struct dx_version *v = NULL;
    int rc;

    if (name == NULL)
        return DX_OK;
    if (strlen(name) >= sizeof r->version)
        return dx_fail(err, DX_E_INVALID, "'%.60s' is neither name nor number of a version", name);
    name_version(r, name);
    rc = dx_current_fetch(r->current, r->version, &v, err);
    dx_version_unpin(v);
    return rc;
}

static int open_numbers(struct domaindex_root *r, struct dx_error *err)
{
    bool remote = dx_source_remote(r->name);
    const struct dx_domain64_registry_where where = { .root = r->name,
                                                      .source = &r->source,
                                                      .options = { .dir = remote ? r->numbers_dir
                                                                                 : NULL },
                                                      .keep_ms = (uint64_t)DX_CURSOR_LIFE_MS };
    int rc = remote ? dx_mirror_place(r->cache_dir, r->numbers_dir, err) : DX_OK;

    return rc == DX_OK ? dx_domain64_live_open(&r->numbers, &where, dx_clock_ms(), err) : rc;
}

static int open_root(struct domaindex_root *r, const char *name, const struct domaindex_options *o,
                     struct dx_error *err)
{
    int rc;

    r->name = strdup(name);
    r->cache_dir = o->cache_dir != NULL ? strdup(o->cache_dir) : NULL;
    if (r->name == NULL || (o->cache_dir != NULL && r->cache_dir == NULL))
        return dx_no_memory(err, "%s", name);
    rc = open_current(r, o, err);
    if (rc == DX_OK)
        rc = take_version(r, o->version, err);
    if (rc == DX_OK)
        rc = open_numbers(r, err);
    if (rc < 0)
        return rc;
    r->answers = dx_answers_of(r->current);
    r->answers.numbers = r->numbers;
    r->answers.cursor_life_s = CURSOR_LIFE_S;
    return DX_OK;
}

int domaindex_open(struct domaindex_root **out, const char *name,
                   const struct domaindex_options *options, struct domaindex_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    struct domaindex_options o;
    struct domaindex_root *r = calloc(1, sizeof *r);
    int rc;

    *out = NULL;
    if (r == NULL)
        return dx_library_failed(err, (dx_no_memory(&why, "%s", name), &why));
    read_options(&o, options);
    (void)pthread_mutex_init(&r->refreshing, NULL);
    (void)pthread_mutex_init(&r->lock, NULL);
    rc = open_root(r, name, &o, &why);
    if (rc < 0) {
        domaindex_close(&r);
        return dx_library_failed(err, &why);
    }
    *out = r;
    return DX_OK;
}

void domaindex_close(struct domaindex_root **root)
{
    struct domaindex_root *r = *root;

    if (r == NULL)
        return;
    for (size_t i = 0; i < r->slot_count; i++)
        dx_canon_slot_release(&r->slots[i], &r->answers);
    dx_domain64_live_close(&r->numbers);
    if (r->current != NULL)
        dx_current_close(&r->current);
    (void)pthread_mutex_destroy(&r->refreshing);
    (void)pthread_mutex_destroy(&r->lock);
    free(r->cache_dir);
    free(r->name);
    free(r);
    *root = NULL;
}

/* ---- what changes ---- */

/* A slot of an older version would keep it mapped. */
static void refresh_slots(struct domaindex_root *r)
{
    (void)pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->slot_count; i++)
        dx_canon_slot_refresh(&r->slots[i], &r->answers);
    (void)pthread_mutex_unlock(&r->lock);
}

int domaindex_refresh(struct domaindex_root *r, struct domaindex_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    int version, rules, numbers;

    (void)pthread_mutex_lock(&r->refreshing);
    version = dx_current_reload(r->current, &why);
    rules = dx_suppression_view_follow(dx_current_caches(r->current), version < 0 ? NULL : &why);
    numbers = dx_domain64_live_poll(r->numbers, true, dx_clock_ms(),
                                    version < 0 || rules < 0 ? NULL : &why);
    (void)dx_current_tend(r->current);
    (void)pthread_mutex_unlock(&r->refreshing);
    refresh_slots(r);
    if (version < 0 || rules < 0 || numbers < 0)
        return dx_library_failed(err, &why);
    return rules > 0 || (version > 0 && r->version[0] == '\0') || numbers > 0 ? 1 : 0;
}

/* ---- questions ---- */

static struct dx_canon_slot take_slot(struct domaindex_root *r)
{
    struct dx_canon_slot slot = { NULL, NULL };

    (void)pthread_mutex_lock(&r->lock);
    if (r->slot_count > 0)
        slot = r->slots[--r->slot_count];
    (void)pthread_mutex_unlock(&r->lock);
    return slot;
}

static void keep_slot(struct domaindex_root *r, struct dx_canon_slot *slot)
{
    (void)pthread_mutex_lock(&r->lock);
    if (slot->canon != NULL && r->slot_count < SLOTS) {
        r->slots[r->slot_count++] = *slot;
        *slot = (struct dx_canon_slot){ NULL, NULL };
    }
    (void)pthread_mutex_unlock(&r->lock);
    dx_canon_slot_release(slot, &r->answers);
}

/* What a server answers itself, or not at all. post: the request has a list. */
static int refuse_own(const struct dx_ask *ask, bool post, struct dx_problem *problem)
{
    const struct dx_route *route = ask->route < DX_ROUTE_COUNT ? dx_routes[ask->route] : NULL;

    if (route != NULL && !route->own && !route->admin)
        return !post || route->post
                   ? 1
                   : dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-request", "Bad request",
                                    "this resource takes no list of names; /v1/domains does");
    return dx_problem_set(problem, DX_PROBLEM_NOT_FOUND, "no-such-resource", "No such resource",
                          "this resource is of a server; the library answers those below /v1/");
}

/* The question of a target, and the version that answers it, pinned. */
static int begin_ask(struct domaindex_root *r, const char *target, bool post, struct dx_ask *ask,
                     struct dx_version **v, struct dx_problem *problem)
{
    int rc = dx_target_parse(dx_span_str(target), post, ask, problem);

    if (rc == 1)
        rc = refuse_own(ask, post, problem);
    if (rc == 1)
        rc = dx_row_ask_choose(ask, dx_span_of(NULL, 0), false, problem);
    if (rc == 1)
        rc = dx_ask_resolve(&r->answers, ask, (int64_t)time(NULL), problem);
    if (rc != 1)
        return rc;
    if (ask->wanted[0] == '\0')
        memcpy(ask->wanted, r->version, sizeof ask->wanted);
    *v = r->answers.pin(r->answers.from, NULL);
    rc = dx_ask_pin(&r->answers, ask, v, problem);
    return rc == DX_ASK_NOT_OPEN ? dx_ask_fetch(&r->answers, ask, v, problem) : rc;
}

/* Whether it could be a request target at all; a server's parser of heads says as much. */
static const char *flaw_of(const char *target, int *status)
{
    size_t size = strlen(target);

    *status = size > DX_TARGET_MAX ? 414 : 400;
    if (size > DX_TARGET_MAX)
        return "the target is too long";
    if (target[0] != '/')
        return "the target does not begin with '/'";
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)target[i] <= ' ' || (unsigned char)target[i] >= 0x7f || target[i] == '#')
            return "the target has a byte that must be percent-encoded";
    return NULL;
}

static int answer_flawed(struct domaindex_answer *a, int status, const char *flaw)
{
    dx_reply_http_problem(status, flaw, &a->body);
    dx_buf_u8(&a->body, '\0');
    a->body.size -= !a->body.failed;
    a->type = "application/problem+json";
    a->status = status;
    return 0;
}

typedef int answer_function(struct domaindex_root *r, struct dx_ask *ask, struct dx_version *v,
                            struct dx_span list, struct domaindex_answer *a,
                            struct dx_problem *problem);

static int answer_one(struct domaindex_root *r, struct dx_ask *ask, struct dx_version *v,
                      struct dx_span list, struct domaindex_answer *a, struct dx_problem *problem)
{
    struct dx_canon_slot slot = take_slot(r);
    struct dx_task *task = NULL;
    struct dx_answer_summary summary = { 0 };
    struct dx_answering asked = {
        .ask = ask, .task = &task, .summary = &summary, .body = &a->body, .problem = problem
    };
    int rc = dx_ask_answer(&r->answers, &slot, v, &asked);

    (void)list;
    rc = dx_task_finish(&task, rc, &a->body, problem);
    keep_slot(r, &slot);
    a->type = "application/json";
    return rc;
}

/* In memory, and whole or not at all. */
static int answer_rows(struct domaindex_root *r, struct dx_ask *ask, struct dx_version *v,
                       struct dx_span list, struct domaindex_answer *a, struct dx_problem *problem)
{
    struct domaindex_answer page = { .body = DX_BUF_INIT(a->body.max) };
    struct dx_row_pages *pages = malloc(sizeof *pages);
    struct dx_error err = DX_ERROR_INIT;
    int rc = 1;

    if (pages == NULL) {
        (void)dx_no_memory(&err, "rows");
        return dx_problem_of_error(problem, &err);
    }
    dx_row_pages_begin(pages, &r->answers, v, ask);
    while (rc == 1 && !pages->ended) {
        struct dx_ask *next = dx_row_pages_next(pages);

        dx_buf_clear(&page.body);
        rc = answer_one(r, next, v, list, &page, problem);
        rc = dx_row_pages_take(pages, v, next, rc, &page.body, &a->body, problem);
    }
    a->type = dx_row_formats[pages->format].media;
    dx_row_pages_release(pages);
    free(pages);
    dx_buf_release(&page.body);
    return rc;
}

static int write_names(struct dx_names *names, struct dx_buf *out, struct dx_problem *problem)
{
    int rc;

    do
        rc = dx_names_write(names, out, SIZE_MAX, problem);
    while (rc == DX_NAMES_MORE);
    return rc;
}

static int write_list(struct dx_names *names, struct dx_name_list *list, struct dx_span text,
                      struct dx_buf *out, struct dx_problem *problem)
{
    bool ended = false;
    int rc = 0;

    while (rc >= 0 && !ended) {
        size_t room;
        uint8_t *to = dx_name_list_room(list, &room);
        size_t part = text.size < room ? text.size : room;
        struct dx_name name;

        ended = part == 0;
        if (ended)
            dx_name_list_end(list);
        else
            memcpy(to, text.data, part);
        dx_name_list_put(list, part);
        text = dx_span_from(text, part);
        while (rc >= 0 && dx_name_list_next(list, &name))
            while (rc >= 0 && !dx_names_add(names, &name))
                rc = write_names(names, out, problem);
    }
    return rc < 0 ? rc : write_names(names, out, problem);
}

/* In memory, with nothing that is sent before the end: a failure leaves no half of a list. */
static int answer_list(struct domaindex_root *r, struct dx_ask *ask, struct dx_version *v,
                       struct dx_span text, struct domaindex_answer *a, struct dx_problem *problem)
{
    const struct dx_view view = { v, NULL, false };
    struct dx_names_ask names_ask = { .format = DX_NAMES_NDJSON, .datasets = ask->datasets };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_name_list *list = NULL;
    struct dx_names *names = NULL;
    int rc = 1;

    (void)r;
    if (ask->format.data != NULL && !dx_names_format_parse(ask->format, &names_ask.format))
        rc = dx_route_refuse(problem, "format is one of ndjson, csv and matrix");
    if (rc == 1)
        rc = dx_names_new(&names, &view, &names_ask, problem);
    if (rc == 1 && dx_name_list_new(&list, DX_NAME_LIST_TEXT, &err) < 0)
        rc = dx_problem_of_error(problem, &err);
    if (rc == 1) {
        dx_names_begin(names, &a->body);
        rc = write_list(names, list, text, &a->body, problem);
        if (rc >= 0) {
            dx_names_end(names, &a->body);
            rc = 1;
        }
    }
    a->type = names_ask.format == DX_NAMES_NDJSON ? "application/x-ndjson"
                                                  : "text/csv; charset=utf-8";
    dx_name_list_free(&list);
    dx_names_free(&names);
    return rc;
}

static int answer_with(struct domaindex_root *r, const char *target, answer_function *function,
                       struct dx_span list, struct domaindex_answer *a, struct dx_error *err)
{
    struct dx_ask *ask = malloc(sizeof *ask); /* too large for the stack of a small thread */
    struct dx_version *v = NULL;
    struct dx_problem problem = { .slug = "" };
    int rc;

    if (ask == NULL)
        return dx_no_memory(err, "answer");
    rc = begin_ask(r, target, function == answer_list, ask, &v, &problem);
    if (rc == 1 && ask->row_format != DX_ROWS_JSON)
        function = answer_rows;
    if (rc == 1)
        rc = function(r, ask, v, list, a, &problem);
    if (rc == 1 && !r->answers.intact(v, &problem))
        rc = 0;
    if (v != NULL)
        (void)strncpy(a->version, dx_version_name(v), sizeof a->version - 1);
    r->answers.unpin(v);
    free(ask);
    return dx_library_answer_end(a, rc, &problem, err);
}

static int answer_target(struct domaindex_root *r, const char *target, answer_function *function,
                         struct dx_span list, struct domaindex_answer **out,
                         struct domaindex_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    struct domaindex_answer *a;
    const char *flaw;
    int status;
    int rc = dx_library_answer_new(&a, &why);

    *out = NULL;
    flaw = flaw_of(target, &status);
    if (rc == DX_OK)
        rc = flaw != NULL ? answer_flawed(a, status, flaw)
                          : answer_with(r, target, function, list, a, &why);
    if (rc < 0) {
        domaindex_answer_free(&a);
        return dx_library_failed(err, &why);
    }
    *out = a;
    return rc;
}

int domaindex_get(struct domaindex_root *root, const char *target, struct domaindex_answer **out,
                  struct domaindex_error *err)
{
    return answer_target(root, target, answer_one, dx_span_of(NULL, 0), out, err);
}

int domaindex_post(struct domaindex_root *root, const char *target, const char *list, size_t size,
                   struct domaindex_answer **out, struct domaindex_error *err)
{
    return answer_target(root, target, answer_list, dx_span_of(list, size), out, err);
}

/* As the one segment or value that it is. */
static void put_escaped(struct dx_buf *b, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '-' || c == '.' || c == '_' || c == '~';

        if (plain)
            dx_buf_u8(b, c);
        else
            dx_buf_fmt(b, "%%%02X", c);
    }
}

static int get_built(struct domaindex_root *root, struct dx_buf *target,
                     struct domaindex_answer **out, struct domaindex_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    int rc;

    *out = NULL;
    dx_buf_u8(target, '\0');
    if (target->no_memory)
        rc = dx_library_failed(err, (dx_no_memory(&why, "the name"), &why));
    else if (target->failed)
        rc = dx_library_failed(err, (dx_fail(&why, DX_E_LIMIT, "the name is too long"), &why));
    else
        rc = domaindex_get(root, (const char *)target->data, out, err);
    dx_buf_release(target);
    return rc;
}

int domaindex_lookup(struct domaindex_root *root, const char *domain, struct domaindex_answer **out,
                     struct domaindex_error *err)
{
    struct dx_buf target = DX_BUF_INIT((size_t)64 << 10);

    dx_buf_str(&target, "/v1/domain/");
    put_escaped(&target, domain);
    return get_built(root, &target, out, err);
}

int domaindex_urls(struct domaindex_root *root, const char *domain, int64_t dataset_id,
                   const char *cursor, uint32_t limit, struct domaindex_answer **out,
                   struct domaindex_error *err)
{
    struct dx_buf target = DX_BUF_INIT((size_t)64 << 10);
    char join = '?';

    dx_buf_str(&target, "/v1/domain/");
    put_escaped(&target, domain);
    if (dataset_id >= 0)
        dx_buf_fmt(&target, "/datasets/%lld", (long long)dataset_id);
    dx_buf_str(&target, "/urls");
    if (limit > 0) {
        dx_buf_fmt(&target, "%climit=%u", join, (unsigned)limit);
        join = '&';
    }
    if (cursor != NULL) {
        dx_buf_fmt(&target, "%ccursor=", join);
        put_escaped(&target, cursor);
    }
    return get_built(root, &target, out, err);
}

/* ---- for lib/library_canon ---- */

int dx_library_canon(struct domaindex_root *r, struct dx_version **v, struct dx_canon **canon,
                     struct dx_error *err)
{
    int rc;

    *canon = NULL;
    *v = NULL;
    if (r->version[0] != '\0') {
        rc = dx_current_fetch(r->current, r->version, v, err);
    } else {
        *v = dx_current_pin(r->current);
        rc = *v != NULL ? DX_OK : dx_fail(err, DX_E_BUSY, "%s: no version is open", r->name);
    }
    return rc == DX_OK ? dx_version_canon_new(*v, canon, err) : rc;
}
