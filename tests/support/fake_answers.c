/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/fake_answers.h"

#include "base/json_out.h"
#include "query/view/view.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEPT_MAX 4

struct dx_fake {
    pthread_mutex_t lock;
    pthread_cond_t gate_changed;
    struct dx_version *current;
    unsigned flips;
    bool gate_closed;
    bool keeps; /* flipped ones, until dx_fake_forget */
    struct dx_version *kept[KEPT_MAX];
    unsigned kept_count;
    _Atomic long versions;
    _Atomic long pins;
    _Atomic long canons;
    _Atomic long listings;
    _Atomic long fetched;
};

struct dx_version {
    struct dx_fake *fake;
    _Atomic long pins; /* the current one, and a kept one, has one more */
    bool warm;         /* it was fetched */
    char name[32];
};

struct dx_canon {
    const struct dx_version *of;
};

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void drop(struct dx_version *v)
{
    if (atomic_fetch_sub(&v->pins, 1) > 1)
        return;
    atomic_fetch_sub(&v->fake->versions, 1);
    memset(v->name, '#', sizeof v->name); /* so that a use after this shows */
    free(v);
}

static struct dx_version *pin(void *from, struct dx_version *held)
{
    struct dx_fake *fake = from;
    struct dx_version *v;

    (void)held;
    (void)pthread_mutex_lock(&fake->lock);
    v = fake->current;
    atomic_fetch_add(&v->pins, 1);
    (void)pthread_mutex_unlock(&fake->lock);
    atomic_fetch_add(&fake->pins, 1);
    return v;
}

static bool is_current(void *from, struct dx_version *held)
{
    struct dx_fake *fake = from;
    bool is;

    (void)pthread_mutex_lock(&fake->lock);
    is = held == fake->current;
    (void)pthread_mutex_unlock(&fake->lock);
    return is;
}

static struct dx_version *pin_again(struct dx_version *held)
{
    atomic_fetch_add(&held->pins, 1);
    atomic_fetch_add(&held->fake->pins, 1);
    return held;
}

static bool state(struct dx_version *v, uint64_t out[2])
{
    out[0] = strtoull(v->name + 5, NULL, 10); /* "fake-N" */
    out[1] = 0;
    return true;
}

static void unpin(struct dx_version *v)
{
    atomic_fetch_sub(&v->fake->pins, 1);
    drop(v);
}

static int named(struct dx_fake *fake, const char *name, bool fetch, struct dx_version **v,
                 struct dx_problem *problem)
{
    unsigned n = 0;
    char end;

    if (sscanf(name, "fake-%u%c", &n, &end) != 1)
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-version", "Bad version", "-");
    if (n > fake->flips)
        return dx_problem_set(problem, DX_PROBLEM_UNAVAILABLE, "version-newer", "Newer", "-");
    for (unsigned i = 0; i < fake->kept_count; i++) {
        if (strcmp(fake->kept[i]->name, name) != 0)
            continue;
        if (!fetch && !fake->kept[i]->warm)
            return DX_ASK_NOT_OPEN;
        fake->kept[i]->warm = true;
        *v = fake->kept[i];
    }
    if (strcmp(fake->current->name, name) == 0)
        *v = fake->current;
    if (*v == NULL)
        return dx_problem_set(problem, DX_PROBLEM_GONE, "version-gone", "Gone", "-");
    atomic_fetch_add(&(*v)->pins, 1);
    atomic_fetch_add(&fake->pins, 1);
    return 1;
}

static int pin_named(void *from, const char *name, struct dx_version **v,
                     struct dx_problem *problem)
{
    struct dx_fake *fake = from;
    int rc;

    (void)pthread_mutex_lock(&fake->lock);
    rc = named(fake, name, false, v, problem);
    (void)pthread_mutex_unlock(&fake->lock);
    return rc;
}

static int fetch(void *from, const char *name, struct dx_version **v, struct dx_problem *problem)
{
    struct dx_fake *fake = from;
    int rc;

    (void)pthread_mutex_lock(&fake->lock);
    atomic_fetch_add(&fake->fetched, 1);
    while (fake->gate_closed)
        (void)pthread_cond_wait(&fake->gate_changed, &fake->lock);
    rc = named(fake, name, true, v, problem);
    (void)pthread_mutex_unlock(&fake->lock);
    return rc;
}

static const char *version_name(const struct dx_version *v)
{
    return v->name;
}

static int canon_new(const struct dx_version *v, struct dx_canon **canon, struct dx_error *err)
{
    *canon = malloc(sizeof **canon);
    if (*canon == NULL)
        return dx_no_memory(err, "canon");
    (*canon)->of = v;
    atomic_fetch_add(&v->fake->canons, 1);
    return DX_OK;
}

static void canon_free(struct dx_canon **canon)
{
    atomic_fetch_sub(&(*canon)->of->fake->canons, 1); /* the version must still be there */
    free(*canon);
    *canon = NULL;
}

static bool is(struct dx_span s, const char *word)
{
    return dx_span_equal(s, dx_span_str(word));
}

/* 1: to be answered. */
static int preset(const struct dx_version *v, const struct dx_canon *canon, struct dx_span asked,
                  struct dx_problem *problem)
{
    if (canon != NULL && canon->of != v) {
        (void)dx_problem_set(problem, DX_PROBLEM_DAMAGED, "wrong-canon", "Wrong canonicaliser",
                             "of another version");
        return DX_E_CORRUPT;
    }
    if (is(asked, "absent.example"))
        return dx_problem_set(problem, DX_PROBLEM_NOT_FOUND, "domain-not-found", "Domain not found",
                              "not in version %s", v->name);
    if (is(asked, "bad.example"))
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-domain", "Bad domain",
                              "\"quoted\"\r\nX-Injected: yes");
    if (is(asked, "toomuch.example"))
        return dx_problem_set(problem, DX_PROBLEM_TOO_MUCH, "too-much", "Too much", "ask for less");
    if (is(asked, "damaged.example")) {
        (void)dx_problem_set(problem, DX_PROBLEM_DAMAGED, "damaged", "Damaged", "block 7");
        return DX_E_CORRUPT;
    }
    if (is(asked, "unavailable.example")) {
        (void)dx_problem_set(problem, DX_PROBLEM_UNAVAILABLE, "unavailable", "Unavailable", "disk");
        return DX_E_IO;
    }
    return 1;
}

static int echo(const struct dx_version *v, const char *what, struct dx_span asked,
                struct dx_page_of page, unsigned number, struct dx_buf *body)
{
    struct dx_json j;

    dx_json_open(&j, body);
    dx_json_object(&j);
    dx_json_key(&j, "answer");
    dx_json_str(&j, what);
    dx_json_key(&j, "asked");
    dx_json_text(&j, asked);
    dx_json_key(&j, "offset");
    dx_json_u64(&j, page.offset);
    dx_json_key(&j, "limit");
    dx_json_u64(&j, page.limit);
    dx_json_key(&j, "number");
    dx_json_u64(&j, number);
    if (is(asked, "big.example")) {
        uint8_t *fill;

        dx_json_key(&j, "fill");
        dx_buf_u8(body, '"');
        fill = dx_buf_reserve(body, DX_FAKE_BIG_BYTES);
        must(fill != NULL);
        memset(fill, 'x', DX_FAKE_BIG_BYTES);
        body->size += DX_FAKE_BIG_BYTES;
        dx_buf_u8(body, '"');
    }
    dx_json_key(&j, "version");
    dx_json_str(&j, v->name);
    dx_json_key(&j, "padding"); /* about as long as a usual answer */
    dx_json_str(&j, "----------------------------------------------------------------"
                    "----------------------------------------------------------------"
                    "------------------------------------------------");
    dx_json_end(&j);
    return body->failed ? DX_E_NOMEM : 1;
}

static int listing(const struct dx_answering *a)
{
    struct dx_version *v = a->view->version;
    struct dx_fake *fake = v->fake;
    struct dx_span asked = a->ask->asked;
    int rc = preset(v, a->canon, asked, a->problem);

    atomic_fetch_add(&fake->listings, 1);
    if (is(asked, "slow.example"))
        (void)usleep(200000);
    if (is(asked, "gate.example")) {
        (void)pthread_mutex_lock(&fake->lock);
        while (fake->gate_closed)
            (void)pthread_cond_wait(&fake->gate_changed, &fake->lock);
        (void)pthread_mutex_unlock(&fake->lock);
    }
    return rc != 1 ? rc
                   : echo(v, "urls", asked, a->ask->page,
                          a->ask->dataset_id * 100 + a->ask->field_bits, a->body);
}

/* In place of the answers of all routes. None ever waits. */
static int answer(const struct dx_answering *a)
{
    const struct dx_page_of none = { 0, 0 };
    struct dx_version *v = a->view->version;
    const struct dx_ask *ask = a->ask;
    int rc;

    if (ask->route == DX_ROUTE_DOMAIN || ask->route == DX_ROUTE_URLS)
        dx_answer_summarize(a->summary, DX_FAKE_SUMMARY);
    if (ask->route == DX_ROUTE_URLS)
        return listing(a);
    rc = preset(v, a->canon, ask->route == DX_ROUTE_TOP_DOMAINS ? ask->share : ask->asked,
                a->problem);
    if (rc != 1)
        return rc;
    switch (ask->route) {
    case DX_ROUTE_DOMAIN:
        return echo(v, "domain", ask->asked, none, ask->field_bits, a->body);
    case DX_ROUTE_DATASETS:
        return echo(v, "datasets", dx_span_str(""), ask->page, 0, a->body);
    case DX_ROUTE_DATASET:
        return echo(v, "dataset", dx_span_str(""), none, ask->dataset_id, a->body);
    case DX_ROUTE_DIFF:
        return echo(v, a->before->version->name, ask->asked, none, 0, a->body);
    case DX_ROUTE_CHANGES:
        return echo(v, a->before->version->name, dx_span_str(""),
                    (struct dx_page_of){ 0, ask->page.limit }, 0, a->body);
    case DX_ROUTE_TOP_DOMAINS:
        return echo(v, "top", ask->share, ask->page, ask->dataset_id, a->body);
    default:
        return echo(v, dx_route_name(ask->route), ask->asked, none, 0, a->body);
    }
}

/* The one before the current one is meant by nothing. */
static int version_meant(struct dx_version *v, struct dx_span text, char name[DX_VERSION_NAME],
                         struct dx_problem *problem)
{
    if (text.data == NULL) {
        (void)snprintf(name, DX_VERSION_NAME, "fake-%u", v->fake->flips - 1);
        return 1;
    }
    if (text.size == 0 || text.size >= DX_VERSION_NAME)
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-version", "Bad version", "-");
    memcpy(name, text.data, text.size);
    name[text.size] = '\0';
    return 1;
}

struct dx_answers dx_fake_answers(struct dx_fake *fake)
{
    return (struct dx_answers){ .from = fake,
                                .pin = pin,
                                .is_current = is_current,
                                .pin_again = pin_again,
                                .state = state,
                                .unpin = unpin,
                                .pin_named = pin_named,
                                .fetch = fetch,
                                .cursor_life_s = 900,
                                .version_name = version_name,
                                .canon_new = canon_new,
                                .canon_free = canon_free,
                                .answer = answer,
                                .version_meant = version_meant };
}

void dx_fake_flip(struct dx_fake *fake)
{
    struct dx_version *v = calloc(1, sizeof *v);
    struct dx_version *old;

    must(v != NULL);
    v->fake = fake;
    atomic_init(&v->pins, 1);
    atomic_fetch_add(&fake->versions, 1);
    (void)pthread_mutex_lock(&fake->lock);
    (void)snprintf(v->name, sizeof v->name, "fake-%u", ++fake->flips);
    old = fake->current;
    fake->current = v;
    if (old != NULL && fake->keeps) {
        must(fake->kept_count < KEPT_MAX);
        fake->kept[fake->kept_count++] = old;
        old = NULL;
    }
    (void)pthread_mutex_unlock(&fake->lock);
    if (old != NULL)
        drop(old);
}

void dx_fake_keep(struct dx_fake *fake)
{
    (void)pthread_mutex_lock(&fake->lock);
    fake->keeps = true;
    (void)pthread_mutex_unlock(&fake->lock);
}

void dx_fake_forget(struct dx_fake *fake)
{
    struct dx_version *kept[KEPT_MAX];
    unsigned count;

    (void)pthread_mutex_lock(&fake->lock);
    count = fake->kept_count;
    memcpy(kept, fake->kept, sizeof kept);
    fake->kept_count = 0;
    (void)pthread_mutex_unlock(&fake->lock);
    while (count > 0)
        drop(kept[--count]);
}

struct dx_fake *dx_fake_new(void)
{
    struct dx_fake *fake = calloc(1, sizeof *fake);

    must(fake != NULL);
    (void)pthread_mutex_init(&fake->lock, NULL);
    (void)pthread_cond_init(&fake->gate_changed, NULL);
    dx_fake_flip(fake);
    return fake;
}

void dx_fake_gate(struct dx_fake *fake, bool open)
{
    (void)pthread_mutex_lock(&fake->lock);
    fake->gate_closed = !open;
    (void)pthread_cond_broadcast(&fake->gate_changed);
    (void)pthread_mutex_unlock(&fake->lock);
}

long dx_fake_versions(const struct dx_fake *fake)
{
    return atomic_load(&fake->versions);
}

long dx_fake_pins(const struct dx_fake *fake)
{
    return atomic_load(&fake->pins);
}

long dx_fake_listings(const struct dx_fake *fake)
{
    return atomic_load(&fake->listings);
}

long dx_fake_fetched(const struct dx_fake *fake)
{
    return atomic_load(&fake->fetched);
}

bool dx_fake_free(struct dx_fake **out)
{
    struct dx_fake *fake = *out;
    bool clean;

    dx_fake_forget(fake);
    drop(fake->current);
    clean = atomic_load(&fake->versions) == 0 && atomic_load(&fake->pins) == 0 &&
            atomic_load(&fake->canons) == 0;
    (void)pthread_cond_destroy(&fake->gate_changed);
    (void)pthread_mutex_destroy(&fake->lock);
    free(fake);
    *out = NULL;
    return clean;
}
