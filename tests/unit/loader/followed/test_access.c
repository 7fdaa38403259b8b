/* SPDX-License-Identifier: Apache-2.0
 * The access table of a process that runs: tables that come, go, are damaged, older or changed by
 * hand, each with what holds afterwards; and threads that pin while tables are exchanged.
 */
#include "loader/followed/access.c" /* test_hanging reaches into it */

#include "base/file.h"
#include "format/root/access_table.h"
#include "tests/support/damage.h"
#include "tests/support/sample.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

static int failures;
static char root[] = "/tmp/dx_access.XXXXXX";
static char path[64];

static void put_text(const char *text)
{
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_file_replace(path, dx_span_str(text), &err) == DX_OK, "%s", err.text);
}

/* A table that grants dataset `id` to everybody; id 0: one that is out of force. */
static void put_table(unsigned generation, unsigned id)
{
    char text[400];
    char entry[100] = "";

    if (id != 0)
        (void)snprintf(entry, sizeof entry, "{\"dataset_id\":%u,\"principals\":[\"*\"]}", id);
    (void)snprintf(text, sizeof text,
                   "{\"format\":1,\"generation\":%u,\"updated\":\"2026-11-22T04:00:00Z\","
                   "\"enforced\":%s,\"dataset_acl\":[%s],\"principals\":[]}",
                   generation, id == 0 ? "false" : "true", entry);
    put_text(text);
}

/* What everybody may see of the datasets 1 to 9: a digit; '*': there is no table; '-': nothing is
 * known. */
static char seen(struct dx_access *a, uint64_t now_ms)
{
    const struct dx_access_table *t = dx_access_pin(a);
    char found = '*';

    for (uint32_t id = 1; t != NULL && id < 10; id++)
        if (dx_scope_has(dx_access_table_anonymous(t)->scope, id))
            found = (char)('0' + id);
    dx_access_unpin(t);
    return dx_access_known(a, now_ms) ? found : '-';
}

#define LAST (DX_ACCESS_STALE_MS - 1)

enum act { NOTHING, PUT, REMOVE, TEXT, UNREADABLE, HIDE, SHOW };

/* One after the other, from no table on. */
static const struct {
    enum act act;
    unsigned generation, id;
    const char *text;
    uint64_t later_ms;
    int rc; /* of the poll: 1, 0, or -1 for any failure */
    char sees;
    const char *word;
} steps[] = {
    { NOTHING, 0, 0, NULL, 500, 0, '*', NULL },
    { HIDE, 0, 0, NULL, LAST * 9, -1, '*', NULL }, /* none was ever seen */
    { SHOW, 0, 0, NULL, 500, 0, '*', NULL },
    { TEXT, 0, 0, "junk", 500, -1, '*', "line 1" },
    { NOTHING, 0, 0, NULL, LAST, -1, '-', NULL }, /* it is there, whatever it says */
    { PUT, 7, 1, NULL, 500, 1, '1', NULL },
    { NOTHING, 0, 0, NULL, LAST * 9, 0, '1', NULL },
    { PUT, 7, 1, NULL, 500, 0, '1', NULL },
    { PUT, 7, 2, NULL, 500, -1, '1', "another text" },
    { PUT, 6, 2, NULL, 500, -1, '1', "an older one" },
    { PUT, 8, 2, NULL, 500, 1, '2', NULL },
    { REMOVE, 0, 0, NULL, 500, -1, '2', "is gone" },
    { NOTHING, 0, 0, NULL, LAST - 500, -1, '2', "is gone" },
    { NOTHING, 0, 0, NULL, 1, -1, '-', "is gone" },
    { PUT, 7, 3, NULL, 500, -1, '-', "an older one" },
    { PUT, 8, 2, NULL, 500, 0, '2', NULL },
    { TEXT, 0, 0, "{\"format\":2}", 500, -1, '2', "format 1" },
    { NOTHING, 0, 0, NULL, LAST, -1, '-', "format 1" },
    { PUT, 9, 3, NULL, 500, 1, '3', NULL },
    { UNREADABLE, 0, 0, NULL, LAST + 1, -1, '-', "access.json" },
    { REMOVE, 0, 0, NULL, 500, -1, '-', NULL },
    { PUT, 10, 0, NULL, 500, 1, '*', NULL }, /* out of force, by its own word */
    { REMOVE, 0, 0, NULL, LAST + 1, -1, '-', "is gone" },
    { PUT, 11, 4, NULL, 1, 1, '4', NULL },
};

/* The folder is a file for a while: neither there nor not there. */
static void hide(bool away)
{
    char folder[64];
    char aside[64];

    (void)snprintf(folder, sizeof folder, "%s/index", root);
    (void)snprintf(aside, sizeof aside, "%s/aside", root);
    if (away)
        EXPECT(rename(folder, aside) == 0 && dx_file_replace(folder, dx_span_str("x"), NULL) == 0,
               "hide");
    else
        EXPECT(remove(folder) == 0 && rename(aside, folder) == 0, "show");
}

static void act(size_t i)
{
    if (steps[i].act == HIDE || steps[i].act == SHOW)
        hide(steps[i].act == HIDE);
    if (steps[i].act == PUT)
        put_table(steps[i].generation, steps[i].id);
    else if (steps[i].act == TEXT)
        put_text(steps[i].text);
    else if (steps[i].act == REMOVE)
        EXPECT(remove(path) == 0, "step %zu", i);
    else if (steps[i].act == UNREADABLE)
        EXPECT(remove(path) == 0 && mkdir(path, 0700) == 0, "step %zu", i);
}

static void test_steps(void)
{
    const struct dx_access_where where = { .root = root };
    struct dx_access *a = NULL;
    struct dx_error err = DX_ERROR_INIT;
    uint64_t now_ms = 1000000;

    EXPECT(dx_access_open(&a, &where, now_ms, &err) == DX_OK, "%s", err.text);
    for (size_t i = 0; a != NULL && i < sizeof steps / sizeof *steps; i++) {
        struct dx_access_health health;
        uint64_t turn = dx_access_turn(a);
        char got;
        int rc;

        act(i);
        now_ms += steps[i].later_ms;
        rc = dx_access_poll(a, now_ms, &err);
        rc = rc < 0 ? -1 : rc;
        got = seen(a, now_ms);
        EXPECT(rc == steps[i].rc && got == steps[i].sees, "step %zu: %d, sees '%c': %s", i, rc, got,
               err.text);
        EXPECT(rc >= 0 || steps[i].word == NULL || strstr(err.text, steps[i].word) != NULL,
               "step %zu: '%s' without '%s'", i, err.text, steps[i].word);
        EXPECT((dx_access_turn(a) != turn) == (rc == 1), "step %zu: turn", i);
        dx_access_health(a, now_ms, &health);
        EXPECT(health.sound == (rc >= 0) && health.known == (got != '-') &&
                   strcmp(health.text, rc < 0 ? err.text : "sound") == 0,
               "step %zu: health says %s", i, health.text);
        EXPECT(steps[i].act != PUT || rc < 1 || health.generation == steps[i].generation,
               "step %zu: generation", i);
    }
    dx_access_close(&a);
}

static void test_open(void)
{
    static const struct {
        const char *text;
        bool required, named; /* named: the file is where.file */
        bool ok;
    } rows[] = {
        { NULL, false, false, true },
        { NULL, true, false, false },
        { NULL, false, true, false },
        { "junk", false, false, false },
        { "{\"format\":1,\"generation\":1,\"updated\":\"2026-11-22T04:00:00Z\",\"enforced\":false,"
          "\"dataset_acl\":[],\"principals\":[]}",
          false, true, true },
        { "{\"format\":1,\"generation\":1,\"updated\":\"2026-11-22T04:00:00Z\",\"enforced\":false,"
          "\"dataset_acl\":[],\"principals\":[]}",
          true, false, false },
        { "{\"format\":1,\"generation\":1,\"updated\":\"2026-11-22T04:00:00Z\","
          "\"dataset_acl\":[],\"principals\":[]}",
          true, true, true },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct dx_access_where where = { .root = rows[i].named ? "/nowhere" : root,
                                               .file = rows[i].named ? path : NULL,
                                               .required = rows[i].required };
        struct dx_access *a;
        struct dx_error err = DX_ERROR_INIT;
        int rc;

        (void)remove(path);
        if (rows[i].text != NULL)
            put_text(rows[i].text);
        rc = dx_access_open(&a, &where, 1, &err);
        EXPECT((rc == DX_OK) == rows[i].ok && (a != NULL) == rows[i].ok, "row %zu: %d %s", i, rc,
               err.text);
        EXPECT(rc == DX_OK || strstr(err.text, path) != NULL, "row %zu: %s", i, err.text);
        dx_access_close(&a);
    }
    EXPECT(dx_access_pin(NULL) == NULL && dx_access_known(NULL, 5) &&
               dx_access_poll(NULL, 5, NULL) == 0,
           "no table at all");
}

/* What the manifest says of the table that it has at least. */
static void test_least(void)
{
    static const struct {
        unsigned least, generation, id; /* generation 0: no table; id 0: out of force */
        const char *word;               /* of what open says; NULL: it does not refuse */
    } opens[] = {
        { 0, 0, 0, NULL },
        { 7, 0, 0, "the table was lost" },
        { 7, 6, 1, "an older copy" },
        { 7, 7, 1, NULL },
        { 7, 8, 1, NULL },
        { 7, 6, 0, "an older copy" },
        { 7, 8, 0, NULL },
    };
    struct dx_access *a = NULL;
    struct dx_error err = DX_ERROR_INIT;
    _Atomic uint64_t least = 0;
    const struct dx_access_where where = { .root = root, .least = &least };
    uint64_t now_ms = 1000000;

    for (size_t i = 0; i < sizeof opens / sizeof *opens; i++) {
        int rc;

        (void)remove(path);
        if (opens[i].generation != 0)
            put_table(opens[i].generation, opens[i].id);
        atomic_store(&least, opens[i].least);
        rc = dx_access_check(&where, &err);
        EXPECT((rc == DX_OK) == (opens[i].word == NULL), "open %zu: %d", i, rc);
        EXPECT(rc == DX_OK || (strstr(err.text, opens[i].word) != NULL &&
                               strstr(err.text, "access accept --root /tmp/dx_access.") != NULL),
               "open %zu: %s", i, err.text);
    }
    /* Of a process that runs: one that has a table keeps it, */
    atomic_store(&least, 8);
    put_table(8, 1);
    EXPECT(dx_access_open(&a, &where, now_ms, &err) == DX_OK, "%s", err.text);
    atomic_store(&least, 9);
    EXPECT(dx_access_poll(a, ++now_ms, &err) < 0 && seen(a, now_ms) == '1' &&
               strstr(err.text, "8, but 9 was in force") != NULL,
           "the table stays and the manifest goes on: %s", err.text);
    put_table(9, 2);
    EXPECT(dx_access_poll(a, ++now_ms, &err) == 1 && seen(a, now_ms) == '2', "%s", err.text);
    dx_access_close(&a);
    /* and one that has none does not go on without for long. */
    (void)remove(path);
    atomic_store(&least, 0);
    EXPECT(dx_access_open(&a, &where, now_ms, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_access_poll(a, ++now_ms, &err) == 0 && seen(a, now_ms + LAST * 9) == '*', "none");
    atomic_store(&least, 9);
    EXPECT(dx_access_poll(a, now_ms + 1, &err) < 0 &&
               strstr(err.text, "the table was lost") != NULL,
           "%s", err.text);
    EXPECT(seen(a, now_ms + LAST) == '*' && seen(a, now_ms + DX_ACCESS_STALE_MS) == '-',
           "what was known, and then nothing");
    put_table(9, 3);
    EXPECT(dx_access_poll(a, now_ms + LAST * 9, &err) == 1 && seen(a, now_ms + LAST * 9) == '3',
           "%s", err.text);
    dx_access_close(&a);
}

/* ---- threads ---- */

static _Atomic bool over;

static void *pin_again_and_again(void *argument)
{
    struct dx_access *a = argument;
    uintptr_t wrong = 0;

    while (!atomic_load(&over)) {
        const struct dx_access_table *t = dx_access_pin(a);
        const struct dx_access_table *more = dx_access_hold(t);
        uint64_t generation = dx_access_table_generation(t);

        dx_access_unpin(t);
        for (uint32_t id = 1; id < 10; id++)
            wrong += dx_scope_has(dx_access_table_anonymous(more)->scope, id) !=
                     (id == generation % 9 + 1);
        dx_access_unpin(more);
    }
    return (void *)wrong;
}

static void test_threads(void)
{
    const struct dx_access_where where = { .root = root };
    struct dx_access *a = NULL;
    pthread_t threads[3];

    (void)remove(path);
    put_table(100, 100 % 9 + 1);
    EXPECT(dx_access_open(&a, &where, 1, NULL) == DX_OK, "open");
    for (size_t i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, pin_again_and_again, a) != 0)
            abort();
    for (unsigned i = 101; i < 100 + dx_sample(200, 90); i++) {
        put_table(i, i % 9 + 1);
        EXPECT(dx_access_poll(a, i, NULL) == 1, "table %u", i);
    }
    atomic_store(&over, true);
    for (size_t i = 0; i < 3; i++) {
        void *wrong = NULL;

        (void)pthread_join(threads[i], &wrong);
        EXPECT(wrong == NULL, "thread %zu saw what no table says", i);
    }
    dx_access_close(&a);
}

/* ---- a look that does not end ---- */

/* A FIFO is not a table, and no look waits at it. One that hangs, as at a file of a dead network
 * mount, cannot be made here without such a mount: the look is said to have begun. */
static void test_hanging(void)
{
    const struct dx_access_where where = { .root = root };
    uint64_t now_ms = 5000000;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_access *a;

    put_table(100, 5);
    EXPECT(dx_access_open(&a, &where, now_ms, &err) == DX_OK, "%s", err.text);
    EXPECT(seen(a, now_ms + LAST * 9) == '5', "nobody looks");
    EXPECT(remove(path) == 0 && mkfifo(path, 0600) == 0, "fifo");
    now_ms += 1000;
    EXPECT(dx_access_poll(a, now_ms, &err) < 0 && strstr(err.text, "FIFO") != NULL, "%s", err.text);
    EXPECT(seen(a, now_ms) == '5', "a FIFO is no table");
    EXPECT(remove(path) == 0, "fifo");
    put_table(100, 5);
    EXPECT(dx_access_poll(a, now_ms, &err) >= 0, "%s", err.text);
    now_ms += 1000;
    atomic_store(&a->followed.began_ms, now_ms);
    EXPECT(seen(a, now_ms + LAST - 1000) == '5', "a look that takes long");
    EXPECT(seen(a, now_ms + DX_ACCESS_STALE_MS) == '-', "a look that does not end");
    atomic_store(&a->followed.began_ms, 0);
    EXPECT(dx_access_poll(a, now_ms, &err) == 0 && seen(a, now_ms) == '5', "%s", err.text);
    dx_access_close(&a);
}

int main(void)
{
    char folder[64];

    if (mkdtemp(root) == NULL)
        abort();
    (void)snprintf(folder, sizeof folder, "%s/index", root);
    (void)snprintf(path, sizeof path, "%s/index/access.json", root);
    if (mkdir(folder, 0700) != 0)
        abort();
    test_steps();
    test_open();
    test_least();
    test_threads();
    test_hanging();
    (void)dx_dir_remove(root, NULL);
    return failures > 0;
}
