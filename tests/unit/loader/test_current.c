/* SPDX-License-Identifier: Apache-2.0
 * The versions that requests are answered from: flips, refusals, names, what stays and what goes,
 * leases, and all of it from many threads.
 */
#include "loader/current.h"

#include "base/clock.h"
#include "base/file.h"
#include "format/version/manifest.h"
#include "loader/lease.h"
#include "loader/version.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DOMAINS 40
#define DATASETS 4
#define VERSIONS 4

static unsigned failures;

static struct dx_test_root root;
static char names[VERSIONS][DX_VERSION_NAME]; /* in order of publication */

/* ---- the manifest, as publishers and collectors change it ---- */

static void read_manifest(struct dx_manifest *m)
{
    struct dx_error err = DX_ERROR_INIT;

    if (dx_version_manifest(root.path, m, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
}

static void write_manifest(struct dx_manifest *m)
{
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    struct dx_error err = DX_ERROR_INIT;
    char path[256];

    (void)snprintf(path, sizeof path, "%s/index/manifest.json", root.path);
    if (dx_manifest_write(m, &text, &err) < 0 ||
        dx_file_replace(path, dx_span_of(text.data, text.size), &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    dx_buf_release(&text);
    dx_manifest_release(m);
}

static void flip_to(const char *name)
{
    struct dx_manifest m;

    read_manifest(&m);
    EXPECT(dx_manifest_flip(&m, name, m.sequence + 1, INT64_C(1770000000000000), NULL) == DX_OK,
           "flip to %s", name);
    write_manifest(&m);
}

static void set_state(const char *name, enum dx_version_state state)
{
    struct dx_manifest m;

    read_manifest(&m);
    for (size_t i = 0; i < m.version_count; i++)
        if (strcmp(m.versions[i].version, name) == 0) {
            m.versions[i].state = state;
            m.versions[i].condemned_us = state == DX_VERSION_LISTED ? DX_MANIFEST_NEVER
                                                                    : INT64_C(1770000000000000);
        }
    write_manifest(&m);
}

static void make_versions(void)
{
    dx_test_root_make(&root, DOMAINS, DATASETS);
    memcpy(names[0], root.version, sizeof names[0]);
    for (unsigned i = 1; i < VERSIONS; i++) {
        char path[256];

        (void)snprintf(path, sizeof path,
                       "%s/urls/dataset_id=%u/domain_prefix=00-ff/part-00000.parquet", root.path,
                       DATASETS + 1 - i);
        EXPECT(remove(path) == 0, "%s", path);
        dx_test_root_publish(&root);
        memcpy(names[i], root.version, sizeof names[i]);
    }
}

/* ---- current versions with options ---- */

struct prepared {
    _Atomic unsigned calls;
    _Atomic bool refuses;
    _Atomic unsigned takes_ms;
};

static int count_call(void *ctx, struct dx_version *v, struct dx_error *err)
{
    struct prepared *p = ctx;

    atomic_fetch_add(&p->calls, 1);
    (void)usleep(atomic_load(&p->takes_ms) * 1000);
    if (atomic_load(&p->refuses))
        return dx_fail(err, DX_E_CORRUPT, "%s is not to my liking", dx_version_name(v));
    return DX_OK;
}

static const struct dx_version_options version_options = DX_VERSION_OPTIONS_DEFAULT;

static struct dx_current_options options_with(struct prepared *p)
{
    struct dx_current_options o = DX_CURRENT_OPTIONS_INIT;

    o.version = &version_options;
    o.prepare[o.prepare_count++] = (struct dx_prepare){ "taste", count_call, p };
    return o;
}

static struct dx_current *open_with(const struct dx_current_options *o)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_current *cur;

    if (dx_current_open(&cur, root.path, o, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return cur;
}

static void expect_current(struct dx_current *cur, const char *name, const char *when)
{
    struct dx_version *v = dx_current_pin(cur);

    EXPECT(v != NULL && strcmp(dx_version_name(v), name) == 0, "%s: %s, not %s", when,
           v == NULL ? "none" : dx_version_name(v), name);
    dx_version_unpin(v);
}

static struct dx_current_stats stats_of(struct dx_current *cur)
{
    struct dx_current_stats s;

    dx_current_stats(cur, &s);
    return s;
}

static bool health_says(struct dx_current *cur, const char *words)
{
    struct dx_current_health h;

    dx_current_health(cur, &h);
    return strstr(h.text, words) != NULL;
}

/* ---- flips and refusals ---- */

static void check_flips(void)
{
    struct prepared p = { 0 };
    const struct dx_current_options o = options_with(&p);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_current *cur;
    struct dx_version *held;

    flip_to(names[0]);
    cur = open_with(&o);
    expect_current(cur, names[0], "at first");
    EXPECT(p.calls == 1, "the first is prepared too: %u", p.calls);
    EXPECT(dx_current_reload(cur, &err) == 0, "nothing new");
    held = dx_current_pin(cur);
    flip_to(names[1]);
    EXPECT(dx_current_reload(cur, &err) == 1, "%s", err.text);
    expect_current(cur, names[1], "flipped");
    EXPECT(strcmp(dx_version_name(held), names[0]) == 0, "a pin stays on its version");
    dx_version_unpin(held);
    flip_to(names[0]);
    EXPECT(dx_current_reload(cur, &err) == 1, "%s", err.text);
    held = dx_current_pin_again(cur, NULL);
    EXPECT(strcmp(dx_version_name(held), names[0]) == 0, "rolled back");
    EXPECT(p.calls == 2, "what is resident is not loaded again: %u", p.calls);
    EXPECT(stats_of(cur).mapped_versions == 2 && stats_of(cur).resident_count == 2, "two stay");
    dx_version_unpin(held);
    dx_current_close(&cur);
}

/* A candidate that fails is not tried again until something changed, or a caller asks. */
static void check_refusals(void)
{
    struct prepared p = { 0 };
    const struct dx_current_options o = options_with(&p);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_current *cur;
    unsigned calls;

    flip_to(names[0]);
    cur = open_with(&o);
    p.refuses = true;
    flip_to(names[1]);
    for (int i = 0; i < 3; i++)
        EXPECT(dx_current_reload(cur, &err) == DX_E_CORRUPT && strstr(err.text, "liking") != NULL,
               "%s", err.text);
    EXPECT(p.calls == 2, "tried once: %u", p.calls);
    EXPECT(stats_of(cur).reloads[DX_RELOAD_PREPARE] == 1, "counted once");
    EXPECT(health_says(cur, "the last reload failed: taste of version"), "health says the step");
    expect_current(cur, names[0], "refused");
    dx_current_retry(cur);
    EXPECT(dx_current_reload(cur, &err) < 0 && p.calls == 3, "asked for: %u", p.calls);
    set_state(names[2], DX_VERSION_CONDEMNED);
    EXPECT(dx_current_reload(cur, &err) < 0 && p.calls == 4, "another manifest: %u", p.calls);
    set_state(names[2], DX_VERSION_LISTED);
    calls = p.calls;
    flip_to(names[0]);
    EXPECT(dx_current_reload(cur, &err) == 0 && p.calls == calls, "back to what is served");
    EXPECT(health_says(cur, "sound"), "and all is well");
    p.refuses = false;
    flip_to(names[1]);
    EXPECT(dx_current_reload(cur, &err) == 1, "%s", err.text);
    dx_current_close(&cur);
}

static void check_sequence(void)
{
    struct prepared p = { 0 };
    const struct dx_current_options o = options_with(&p);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_manifest old;
    struct dx_manifest other;
    struct dx_current *cur;

    read_manifest(&old);
    flip_to(names[0]);
    cur = open_with(&o);
    read_manifest(&other);
    memcpy(other.current, names[2], sizeof other.current);
    write_manifest(&other);
    EXPECT(dx_current_reload(cur, &err) == DX_E_INVALID && strstr(err.text, "must raise") != NULL,
           "one sequence, two versions: %s", err.text);
    write_manifest(&old);
    EXPECT(dx_current_reload(cur, &err) == DX_E_INVALID && strstr(err.text, "went back") != NULL,
           "%s", err.text);
    EXPECT(stats_of(cur).reloads[DX_RELOAD_MANIFEST] == 2, "both counted");
    expect_current(cur, names[0], "after a manifest of long ago");
    for (int i = 0; i < 3; i++)
        flip_to(names[0]); /* sequences above all that was seen */
    EXPECT(dx_current_reload(cur, &err) == 0 && health_says(cur, "sound"), "%s", err.text);
    dx_current_close(&cur);
}

static void bind_access(uint64_t least)
{
    struct dx_manifest m;

    read_manifest(&m);
    m.access = least;
    write_manifest(&m);
}

/* What a manifest says of the access table is known without a flip, and no manifest takes it back. */
static void check_access(void)
{
    static const struct {
        uint64_t manifest, known;
    } rows[] = { { 0, 5 }, { 7, 7 }, { 6, 7 }, { 0, 7 } };
    struct prepared p = { 0 };
    const struct dx_current_options o = options_with(&p);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_current *cur;

    bind_access(5);
    cur = open_with(&o);
    EXPECT(atomic_load(dx_current_access(cur)) == 5, "at open");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bind_access(rows[i].manifest);
        EXPECT(dx_current_reload(cur, &err) == 0, "row %zu: %s", i, err.text);
        EXPECT(atomic_load(dx_current_access(cur)) == rows[i].known, "row %zu", i);
    }
    dx_current_close(&cur);
}

/* ---- names ---- */

static enum dx_pin_result pin_named(struct dx_current *cur, const char *name)
{
    struct dx_version *v;
    enum dx_pin_result result = dx_current_pin_named(cur, name, &v);

    EXPECT((v != NULL) == (result == DX_PIN_HELD), "%s: a pin only if it is held", name);
    if (v != NULL)
        EXPECT(strcmp(dx_version_name(v), name) == 0, "%s: %s", name, dx_version_name(v));
    dx_version_unpin(v);
    return result;
}

static void check_names(void)
{
    struct prepared p = { 0 };
    const struct dx_current_options o = options_with(&p);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_current *cur;
    struct dx_version *v;

    flip_to(names[3]);
    cur = open_with(&o);
    EXPECT(pin_named(cur, names[3]) == DX_PIN_HELD, "the current one");
    EXPECT(pin_named(cur, names[1]) == DX_PIN_NOT_OPEN, "kept");
    EXPECT(pin_named(cur, "000001-20010101T000000Z") == DX_PIN_GONE, "never heard of, and old");
    EXPECT(pin_named(cur, "999999-20260101T000000Z") == DX_PIN_NEWER, "not yet");
    EXPECT(pin_named(cur, "000001") == DX_PIN_UNKNOWN, "no name");
    EXPECT(pin_named(cur, "000001-20261341T000000Z") == DX_PIN_GONE,
           "formed as a name: none has it");
    EXPECT(dx_current_fetch(cur, names[1], &v, &err) == DX_OK, "%s", err.text);
    EXPECT(v != NULL && strcmp(dx_version_name(v), names[1]) == 0 && p.calls == 2, "prepared too");
    dx_version_unpin(v);
    EXPECT(pin_named(cur, names[1]) == DX_PIN_HELD, "it stays");
    set_state(names[2], DX_VERSION_DROPPED);
    set_state(names[1], DX_VERSION_CONDEMNED);
    EXPECT(dx_current_reload(cur, &err) == 0, "%s", err.text);
    EXPECT(pin_named(cur, names[2]) == DX_PIN_GONE, "dropped");
    EXPECT(pin_named(cur, names[1]) == DX_PIN_HELD, "condemned, still here");
    EXPECT(dx_current_fetch(cur, names[2], &v, &err) == DX_E_NOT_FOUND && v == NULL, "%s",
           err.text);
    set_state(names[1], DX_VERSION_LISTED);
    set_state(names[2], DX_VERSION_LISTED);
    EXPECT(dx_current_reload(cur, &err) == 0, "%s", err.text);
    p.refuses = true;
    EXPECT(dx_current_fetch(cur, names[2], &v, &err) == DX_E_CORRUPT && v == NULL, "%s", err.text);
    EXPECT(stats_of(cur).fetch_failures == 1 && stats_of(cur).fetched == 1, "counted");
    EXPECT(pin_named(cur, names[2]) == DX_PIN_NOT_OPEN, "refused: still to be fetched");
    dx_current_close(&cur);
}

/* ---- what stays and what goes ---- */

static void check_open_versions(void)
{
    struct prepared p = { 0 };
    struct dx_current_options o = options_with(&p);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_current *cur;
    struct dx_version *v;

    o.resident_versions = 3;
    flip_to(names[0]);
    cur = open_with(&o);
    flip_to(names[1]);
    EXPECT(dx_current_reload(cur, &err) == 1, "%s", err.text);
    EXPECT(dx_current_fetch(cur, names[2], &v, &err) == DX_OK, "%s", err.text);
    dx_version_unpin(v);
    EXPECT(stats_of(cur).resident_count == 3, "current, superseded, fetched");
    EXPECT(dx_current_fetch(cur, names[3], &v, &err) == DX_OK, "%s", err.text);
    EXPECT(pin_named(cur, names[2]) == DX_PIN_NOT_OPEN,
           "the fetched one that was used longest ago");
    EXPECT(pin_named(cur, names[0]) == DX_PIN_HELD, "not the one that cursors need");
    EXPECT(stats_of(cur).mapped_versions == 3, "closed");
    flip_to(names[2]);
    EXPECT(dx_current_reload(cur, &err) == 1, "%s", err.text);
    EXPECT(pin_named(cur, names[0]) == DX_PIN_NOT_OPEN && pin_named(cur, names[1]) == DX_PIN_HELD,
           "the one that was superseded first makes room");
    EXPECT(pin_named(cur, names[3]) == DX_PIN_HELD, "one place is for what is fetched");
    flip_to(names[3]);
    EXPECT(dx_current_reload(cur, &err) == 1, "%s", err.text);
    EXPECT(stats_of(cur).resident_count == 2 && pin_named(cur, names[2]) == DX_PIN_HELD,
           "what was fetched is current");
    dx_version_unpin(v);
    dx_current_close(&cur);
    o.cursor_life_ms = 900;
    flip_to(names[0]);
    cur = open_with(&o);
    EXPECT(dx_current_tend(cur) == 1000, "the current one has no end, but others may come");
    flip_to(names[1]);
    EXPECT(dx_current_reload(cur, &err) == 1, "%s", err.text);
    EXPECT(dx_current_tend(cur) <= 900 && stats_of(cur).resident_count == 2, "for a cursor's life");
    (void)usleep(910000);
    EXPECT(dx_current_tend(cur) == 1000 && stats_of(cur).mapped_versions == 1, "and over");
    dx_current_close(&cur);
}

/* What the manifest says of the size of a version's mapped files. */
static void scale_files(const char *name, uint64_t times, uint64_t parts)
{
    struct dx_manifest m;

    read_manifest(&m);
    for (size_t i = 0; i < m.version_count; i++)
        for (size_t k = 0; k < m.versions[i].file_count; k++)
            if (strcmp(m.versions[i].version, name) == 0)
                m.versions[i].files[k].size = m.versions[i].files[k].size * times / parts;
    write_manifest(&m);
}

static void check_memory(void)
{
    struct prepared p = { 0 };
    struct dx_current_options o = options_with(&p);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_current *cur;
    struct dx_version *held;
    uint64_t one;

    flip_to(names[0]);
    cur = open_with(&o);
    one = stats_of(cur).mapped_bytes;
    dx_current_close(&cur);
    o.resident_bytes = one - 1;
    EXPECT(dx_current_open(&cur, root.path, &o, &err) == DX_E_LIMIT && cur == NULL &&
               strstr(err.text, "resident-max") != NULL,
           "the first one is larger than all that may be mapped: %s", err.text);
    o.resident_bytes = 2 * one +
                       one / 4; /* two of them, not three: a version of one part more adds half */
    cur = open_with(&o);
    held = dx_current_pin(cur);
    flip_to(names[1]);
    EXPECT(dx_current_reload(cur, &err) == 1, "%s", err.text);
    flip_to(names[2]);
    EXPECT(dx_current_reload(cur, &err) == DX_E_BUSY && strstr(err.text, "resident-max") != NULL,
           "the pinned one is still mapped: %s", err.text);
    EXPECT(stats_of(cur).reloads[DX_RELOAD_MEMORY] == 1, "counted");
    expect_current(cur, names[1], "refused for memory");
    dx_version_unpin(held);
    dx_current_retry(cur);
    EXPECT(dx_current_reload(cur, &err) == 1, "%s", err.text);
    expect_current(cur, names[2], "there is room now");
    EXPECT(dx_current_fetch(cur, names[3], &held, &err) == DX_E_BUSY && held == NULL,
           "what cursors need does not give way to what is fetched: %s", err.text);
    scale_files(names[3], 100, 1);
    flip_to(names[3]);
    EXPECT(dx_current_reload(cur, &err) == DX_E_BUSY && strstr(err.text, "resident-max") != NULL,
           "larger than all: %s", err.text);
    EXPECT(stats_of(cur).resident_count == 2 && pin_named(cur, names[1]) == DX_PIN_HELD,
           "nothing goes for what there is no room for anyway");
    scale_files(names[3], 1, 100);
    dx_current_close(&cur);
}

/* ---- leases ---- */

#define TTL_S 2
#define REQUEST_MS 300

static void check_fence(void)
{
    const struct dx_lease_options lo = {
        .server = "t", .ttl_s = TTL_S, .cursor_life_s = 1, .request_s = 1
    };
    struct prepared p = { 0 };
    struct dx_current_options o = options_with(&p);
    struct dx_error err = DX_ERROR_INIT;
    char rival[DX_RIVAL_TEXT];
    struct dx_current *cur;
    struct dx_version *held;
    struct dx_version *v;
    char path[256];
    uint64_t begin;

    (void)snprintf(path, sizeof path, "%s/leases/t.json", root.path);
    if (dx_lease_open(&o.lease, root.path, &lo, &err) < 0) {
        EXPECT(false, "%s", err.text);
        return;
    }
    o.request_ms = REQUEST_MS;
    flip_to(names[0]);
    begin = dx_clock_ms();
    cur = open_with(&o);
    EXPECT(dx_lease_until(o.lease, names[0]) > begin, "held before it is served");
    EXPECT(dx_current_fetch(cur, names[1], &v, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_lease_until(o.lease, names[1]) > begin, "and what is fetched");
    dx_version_unpin(v);
    held = dx_current_pin(cur);
    while (dx_clock_ms() < begin + TTL_S * 1000)
        (void)usleep(10000);
    EXPECT(dx_current_pin(cur) == NULL && dx_current_pin_again(cur, held) == NULL, "fenced");
    EXPECT(pin_named(cur, names[1]) == DX_PIN_NOT_OPEN, "so is what has a name");
    EXPECT(dx_current_renew(cur, rival, &err) == DX_OK, "%s", err.text);
    expect_current(cur, names[0], "renewed");
    EXPECT(pin_named(cur, names[1]) == DX_PIN_HELD, "all of it");
    EXPECT(p.calls == 2, "nothing was loaded again");
    dx_version_unpin(held);
    p.takes_ms = TTL_S * 1000 - REQUEST_MS + 100;
    EXPECT(dx_current_fetch(cur, names[3], &v, &err) == DX_E_BUSY && v == NULL,
           "opened for longer than it was held: %s", err.text);
    p.takes_ms = 0;
    while (dx_clock_ms() < begin + 2 * TTL_S * 1000 + 500)
        (void)usleep(10000);
    set_state(names[1], DX_VERSION_DROPPED);
    flip_to(names[2]);
    EXPECT(dx_current_renew(cur, rival, &err) == DX_OK, "%s", err.text);
    EXPECT(pin_named(cur, names[1]) == DX_PIN_GONE, "dropped while nothing was held");
    EXPECT(dx_current_reload(cur, &err) == 1, "%s", err.text);
    expect_current(cur, names[2], "flipped under a lease");
    EXPECT(dx_lease_until(o.lease, names[2]) > dx_clock_ms(), "held");
    set_state(names[1], DX_VERSION_LISTED);
    dx_current_close(&cur);
    dx_lease_close(&o.lease);
}

/* ---- many threads ---- */

enum { READERS = 4, BRINGERS = 2, ROUNDS = 60 };

static struct dx_current *shared;
static _Atomic bool over;
static _Atomic uint64_t pins;

static void look_at(struct dx_version *v)
{
    uint8_t domain[DX_SURT_MAX];
    struct dx_error err = DX_ERROR_INIT;
    size_t size;

    EXPECT(dx_dictionary_get(&dx_version_own(v)->dictionary, v->entry.domains - 1, domain, &size,
                             &err) == 1,
           "%s", err.text);
    atomic_fetch_add(&pins, 1);
}

static void *read_current(void *unused)
{
    struct dx_version *held = dx_current_pin(shared);

    (void)unused;
    while (!atomic_load(&over)) {
        struct dx_version *v = dx_current_pin_again(shared, held);

        look_at(v);
        if (v != held) {
            dx_version_unpin(held);
            held = v;
        } else {
            dx_version_unpin(v);
        }
    }
    dx_version_unpin(held);
    return NULL;
}

static void *fetch_named(void *seed)
{
    unsigned n = (unsigned)(uintptr_t)seed;

    while (!atomic_load(&over)) {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_version *v;

        n = n * 1664525 + 1013904223;
        if (dx_current_fetch(shared, names[n >> 30], &v, &err) == DX_OK)
            look_at(v);
        else
            EXPECT(false, "%s: %s", names[n >> 30], err.text);
        dx_version_unpin(v);
        (void)pin_named(shared, names[n >> 28 & 3]);
    }
    return NULL;
}

static void check_threads(void)
{
    struct prepared p = { 0 };
    struct dx_current_options o = options_with(&p);
    struct dx_error err = DX_ERROR_INIT;
    pthread_t threads[READERS + BRINGERS];
    unsigned flips = 0;

    o.resident_versions = 3;
    flip_to(names[0]);
    shared = open_with(&o);
    for (uintptr_t i = 0; i < READERS + BRINGERS; i++)
        if (pthread_create(&threads[i], NULL, i < READERS ? read_current : fetch_named,
                           (void *)i) != 0)
            exit(1);
    for (unsigned i = 1; i <= ROUNDS; i++) {
        struct dx_current_health health;

        flip_to(names[i % VERSIONS]);
        flips += dx_current_reload(shared, &err) == 1;
        (void)dx_current_tend(shared);
        dx_current_health(shared, &health);
        EXPECT(health.sound, "%s", health.text);
        (void)stats_of(shared);
    }
    atomic_store(&over, true);
    for (size_t i = 0; i < READERS + BRINGERS; i++)
        (void)pthread_join(threads[i], NULL);
    EXPECT(flips == ROUNDS, "%u of %d flips", flips, ROUNDS);
    EXPECT(atomic_load(&pins) > ROUNDS, "%llu pins", (unsigned long long)atomic_load(&pins));
    EXPECT(stats_of(shared).mapped_versions == stats_of(shared).resident_count,
           "none is forgotten");
    dx_current_close(&shared);
}

/* All who want one version wait for one open. */
static void *fetch_one(void *unused)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_version *v;

    (void)unused;
    EXPECT(dx_current_fetch(shared, names[1], &v, &err) == DX_OK, "%s", err.text);
    dx_version_unpin(v);
    return NULL;
}

static int take_time(void *ctx, struct dx_version *v, struct dx_error *err)
{
    (void)usleep(50000);
    return count_call(ctx, v, err);
}

static void check_single_flight(void)
{
    struct prepared p = { 0 };
    struct dx_current_options o = options_with(&p);
    pthread_t threads[8];

    o.prepare[0].run = take_time;
    flip_to(names[0]);
    shared = open_with(&o);
    for (size_t i = 0; i < 8; i++)
        if (pthread_create(&threads[i], NULL, fetch_one, NULL) != 0)
            exit(1);
    for (size_t i = 0; i < 8; i++)
        (void)pthread_join(threads[i], NULL);
    EXPECT(p.calls == 2 && stats_of(shared).fetched == 1, "opened once: %u", p.calls);
    dx_current_close(&shared);
}

int main(void)
{
    make_versions();
    check_flips();
    check_refusals();
    check_sequence();
    check_access();
    check_names();
    check_open_versions();
    check_memory();
    check_fence();
    check_single_flight();
    check_threads();
    dx_test_root_remove(&root);
    return failures > 0;
}
