/* SPDX-License-Identifier: Apache-2.0
 * Parts that several open versions have: one mapping each, counted once, closed by the last; a part
 * whose file was changed, or that was not verified, is not given to others; opens and closes
 * from several threads.
 */
#include "loader/open_parts.h"

#include "loader/guard/guard.h"
#include "loader/version_parts.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DOMAINS 60
#define GROWN 2
#define THREADS 4
#define ROUNDS 40

static _Atomic unsigned failures;
static struct dx_test_root root;
static char names[1 + GROWN][DX_VERSION_NAME];
static struct dx_caches *caches;

static struct dx_version *open_named(const char *name, bool verify)
{
    struct dx_version_options o = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_version *v = NULL;

    o.verify = verify;
    EXPECT(dx_version_open_named(&v, root.path, name, caches, &o, &err) == DX_OK, "%s: %s", name,
           err.text);
    if (v == NULL)
        exit(1);
    return v;
}

/* Events of a write may still come, and poison what is opened meanwhile. */
static struct dx_version *open_settled(const char *name)
{
    const struct dx_version_options o = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_version *v = NULL;

    for (unsigned i = 0; i < 500 && v == NULL; i++)
        if (dx_version_open_named(&v, root.path, name, caches, &o, &err) != DX_OK)
            (void)usleep(10000);
    EXPECT(v != NULL, "%s: %s", name, err.text);
    if (v == NULL)
        exit(1);
    return v;
}

static uint64_t mapped(void)
{
    return dx_open_parts_bytes(&caches->parts);
}

static void make(void)
{
    dx_test_root_make(&root, DOMAINS, 2);
    memcpy(names[0], root.version, sizeof names[0]);
    for (unsigned i = 1; i <= GROWN; i++) {
        dx_test_root_grow(&root, 2 - i + 1);
        memcpy(names[i], root.version, sizeof names[i]);
    }
}

static void expect_domains(struct dx_version *v, unsigned count)
{
    for (unsigned i = 0; i < DOMAINS + 3; i++) {
        struct dx_error err = DX_ERROR_INIT;
        const struct dx_part *part;
        uint64_t ordinal;
        uint64_t id;
        char domain[DX_TEST_TEXT];

        dx_test_root_domain(i, domain);
        EXPECT(dx_version_find(v, dx_span_str(domain), &part, &ordinal, &id, &err) == (i < count),
               "%s: domain %u", dx_version_name(v), i);
    }
}

static void check_shared(void)
{
    struct dx_version *old = open_named(names[0], false);
    uint64_t one = mapped();
    struct dx_version *now = open_named(names[1], false);
    uint64_t two = mapped();
    struct dx_manifest m;
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_version_manifest(root.path, &m, &err) == DX_OK, "%s", err.text);
    EXPECT(now->part_count == 2 && now->parts[0].part == old->parts[0].part, "the part is shared");
    EXPECT(one == dx_version_mapped_bytes_of(&m, &old->entry) &&
               two == dx_version_mapped_bytes_of(&m, &now->entry) && one < two,
           "counted once: %llu, then %llu", (unsigned long long)one, (unsigned long long)two);
    EXPECT(dx_version_fresh_bytes_of(caches, root.path, &m, &now->entry) == 0, "all is open");
    EXPECT(dx_version_mapped_bytes_with((struct dx_version *[]){ old, now }, 2, root.path, &m,
                                        &now->entry) == two,
           "two versions and one of them again");
    dx_version_unpin(old);
    EXPECT(mapped() == two, "the newer one has all that the older one had");
    expect_domains(now, DOMAINS + 2);
    old = open_named(names[0], false);
    EXPECT(now->parts[0].part == old->parts[0].part && mapped() == two, "and back");
    dx_version_unpin(now);
    EXPECT(mapped() == one, "its own part is closed");
    expect_domains(old, DOMAINS);
    dx_version_unpin(old);
    EXPECT(mapped() == 0, "all is closed");
    dx_manifest_release(&m);
}

static void check_verified(void)
{
    struct dx_version *lax = open_named(names[1], false);
    struct dx_version *strict = open_named(names[0], true);
    struct dx_version *third;

    EXPECT(strict->parts[0].part != lax->parts[0].part, "its bytes were not all read");
    third = open_named(names[1], true);
    EXPECT(third->parts[0].part == strict->parts[0].part, "this one was read whole");
    EXPECT(third->parts[1].part != lax->parts[1].part, "the other part was not");
    dx_version_unpin(lax);
    dx_version_unpin(strict);
    expect_domains(third, DOMAINS + 2);
    dx_version_unpin(third);
    EXPECT(mapped() == 0, "all is closed");
}

/* A file of the shared part is opened for writing: both versions that have it are poisoned, and the
 * next open maps it again. */
static void check_poisoned(void)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_version *old;
    struct dx_version *now;
    struct dx_version *again;
    char path[256];
    int fd;

    EXPECT(dx_guard_start(DX_GUARD_NO_LEASES, &err) == DX_OK, "%s", err.text);
    old = open_named(names[0], false);
    now = open_named(names[2], false);
    EXPECT(old->parts[0].part == now->parts[0].part && dx_version_intact(now), "sound at first");
    (void)snprintf(path, sizeof path, "%s/index/%s/domain_counts.dxc", root.path, names[0]);
    fd = open(path, O_RDWR);
    if (fd >= 0) {
        char byte;

        EXPECT(pread(fd, &byte, 1, 0) == 1 && pwrite(fd, &byte, 1, 0) == 1 && close(fd) == 0, "%s",
               path);
        EXPECT(!dx_version_intact(old) && !dx_version_intact(now), "both are poisoned");
        again = open_settled(names[2]);
        EXPECT(again->parts[0].part != now->parts[0].part, "a changed part is not given to others");
        EXPECT(again->parts[1].part == now->parts[1].part, "a sound one is");
        EXPECT(dx_version_intact(again), "it was mapped after the write");
        dx_version_unpin(again);
    }
    dx_version_unpin(old);
    dx_version_unpin(now);
    EXPECT(mapped() == 0, "all is closed");
    dx_guard_stop();
}

/* A later part of several is written to. */
static void check_later_poisoned(void)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_version *v;
    char path[256];
    char byte;
    int fd;

    EXPECT(dx_guard_start(DX_GUARD_NO_LEASES, &err) == DX_OK, "%s", err.text);
    v = open_settled(names[1]);
    EXPECT(v->part_count == 2 && !dx_version_poisoned(v), "sound at first");
    (void)snprintf(path, sizeof path, "%s/index/%s/domain_counts.dxc", root.path, names[1]);
    fd = open(path, O_RDWR);
    if (fd >= 0) {
        EXPECT(pread(fd, &byte, 1, 0) == 1 && pwrite(fd, &byte, 1, 0) == 1 && close(fd) == 0, "%s",
               path);
        EXPECT(!dx_version_intact(v) && dx_version_poisoned(v), "its last part is");
    }
    dx_version_unpin(v);
    EXPECT(mapped() == 0, "all is closed");
    dx_guard_stop();
}

/* Numbers of the manifest that are not those of the files. */
static void check_numbers(void)
{
    const struct dx_version_options o = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_manifest m;

    EXPECT(dx_version_manifest(root.path, &m, &err) == DX_OK, "%s", err.text);
    for (unsigned i = 0; i < 5; i++) {
        struct dx_manifest_version *e = NULL;
        struct dx_version *v = NULL;
        int rc;

        for (size_t k = 0; k < m.version_count; k++)
            if (strcmp(m.versions[k].version, names[0]) == 0)
                e = &m.versions[k];
        if (e == NULL)
            abort();
        e->domains += i == 1;
        e->pairs += i == 2;
        e->rows += i == 3;
        e->urls += i == 4;
        rc = dx_version_open(&v, root.path, &m, e, caches, &o, &err);
        EXPECT(i == 0 ? rc == DX_OK
                      : rc == DX_E_CORRUPT && strstr(err.text, ", the manifest says ") != NULL,
               "number %u: %d %s", i, rc, err.text);
        e->domains -= i == 1;
        e->pairs -= i == 2;
        e->rows -= i == 3;
        e->urls -= i == 4;
        dx_version_unpin(v);
    }
    EXPECT(mapped() == 0, "all is closed");
    dx_manifest_release(&m);
}

static void *open_and_close(void *arg)
{
    unsigned number = *(const unsigned *)arg;

    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned which = (number + i) % (1 + GROWN);
        struct dx_version *v = open_named(names[which], (number + i) % 5 == 0);

        expect_domains(v, DOMAINS + (which == 0 ? 0 : which + 1));
        dx_version_unpin(v);
    }
    return NULL;
}

static void check_threads(void)
{
    pthread_t threads[THREADS];
    unsigned numbers[THREADS];

    for (unsigned i = 0; i < THREADS; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, open_and_close, &numbers[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    EXPECT(mapped() == 0, "all is closed");
}

int main(void)
{
    const struct dx_version_options o = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_error err = DX_ERROR_INIT;

    make();
    if (dx_caches_new(&caches, &o, &err) < 0)
        abort();
    check_shared();
    check_verified();
    check_poisoned();
    check_later_poisoned();
    check_numbers();
    check_threads();
    dx_caches_free(&caches);
    dx_test_root_remove(&root);
    return failures != 0;
}
