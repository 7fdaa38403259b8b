/* SPDX-License-Identifier: Apache-2.0
 * test_ingest_claim.c - who may add to which datasets: the table, waiting, silence, the dead, a
 * store that fails, and a writer that is stopped in the middle of a put.
 */
#include "builder/lake/ingest_claim.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "builder/ingest/ingest_upload.h"
#include "builder/lake/dataset_registry.h"
#include "builder/lake/ingest_writers.h"
#include "builder/root/root.h"
#include "fetch/store/store.h"
#include "tests/support/fail.h"

#define LEASE_MS 1200 /* long against a busy machine's pauses, short against a test's patience */
#define LONG_LEASE_MS 60000 /* where none is to end: whatever else the machine does */
static unsigned lease_ms = LEASE_MS;

static int failures;
static char root[64];
static struct dx_root remote; /* its store is `faulty` */

/* A store before the real one. */
static struct {
    struct dx_store store; /* the first member */
    struct dx_store *real;
    atomic_int fail;   /* so many puts fail with DX_E_IO and do nothing */
    atomic_int lose;   /* of so many the reply is lost */
    atomic_int doubt;  /* of so many of lake files: done, or not yet */
    bool stops_before; /* a put of a lake file stops this process, as a machine that sleeps */
    bool stops_after;
} faulty;

static int put(struct dx_store *store, const struct dx_put *p, char etag[DX_SOURCE_ETAG],
               struct dx_error *err)
{
    bool lake = strstr(p->object, "parquet") != NULL;
    int rc;

    (void)store;
    if (atomic_fetch_sub(&faulty.fail, 1) > 0)
        return dx_fail(err, DX_E_IO, "the store is away");
    if (lake && faulty.stops_before)
        (void)raise(SIGSTOP);
    if (lake && atomic_fetch_sub(&faulty.doubt, 1) > 0)
        return dx_fail(err, DX_E_UNKNOWN, "a lost reply");
    rc = dx_store_put(faulty.real, p, etag, err);
    if (lake && faulty.stops_after)
        (void)raise(SIGSTOP);
    if (rc == DX_OK && atomic_fetch_sub(&faulty.lose, 1) > 0)
        return dx_fail(err, DX_E_UNKNOWN, "a lost reply");
    return rc;
}

static void close_real(struct dx_store *store)
{
    (void)store;
    dx_store_close(&faulty.real);
}

static const struct dx_store_ops ops = { .put = put, .close = close_real };

static void test_text(void)
{
#define HEAD "domaindex-writers 1\n"
#define LINE "9f3c00d2a1b2c3d4 7 boot-1 farm3 4711 88 "
    static const struct {
        const char *text;
        bool taken;
    } rows[] = {
        { "", true },
        { HEAD, true },
        { HEAD LINE "1\n", true },
        { HEAD LINE "1-5,7,9-4294967295\n", true },
        { HEAD "0000000000000001 0 - - 0 0 1\n" LINE "1\n", true },
        { "domaindex-writers 2\n", false },
        { "domaindex-writers 1", false },
        { HEAD LINE "\n", false },
        { HEAD LINE "1", false },
        { HEAD LINE "1,\n", false },
        { HEAD LINE "1,1\n", false },
        { HEAD LINE "2,1\n", false },
        { HEAD LINE "1,2\n", false }, /* is written 1-2 */
        { HEAD LINE "3-3\n", false },
        { HEAD LINE "3-2\n", false },
        { HEAD LINE "01\n", false },
        { HEAD LINE "4294967296\n", false },
        { HEAD LINE "1 \n", false },
        { HEAD LINE "1\n\n", false },
        { HEAD LINE "1\n" LINE "3\n", false }, /* one nonce twice */
        { HEAD "9F3c00d2a1b2c3d4 7 boot-1 farm3 4711 88 1\n", false },
        { HEAD "9f3c00d2a1b2c3d4 7 boot-1  4711 88 1\n", false },
        { HEAD "9f3c00d2a1b2c3d4 7 boot\t1 farm3 4711 88 1\n", false },
        { HEAD "9f3c00d2a1b2c3d4 18446744073709551616 b f 4711 88 1\n", false },
        { HEAD "9f3c00d2a1b2c3d4 7 b f 2147483648 88 1\n", false },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_writers w = DX_WRITERS_INIT;
        struct dx_error err = DX_ERROR_INIT;
        struct dx_buf out = DX_BUF_INIT(1 << 16);
        bool taken = dx_writers_parse(&w, dx_span_str(rows[i].text), "W", &err) == DX_OK;

        if (taken != rows[i].taken)
            FAIL("row %zu is %s: %s", i, taken ? "taken" : "refused", err.text);
        if (taken && rows[i].text[0] != '\0' &&
            (dx_writers_write(&w, &out, &err) < 0 ||
             !dx_span_equal(dx_span_of(out.data, out.size), dx_span_str(rows[i].text))))
            FAIL("row %zu is written as %.*s", i, (int)out.size, (const char *)out.data);
        dx_writers_release(&w);
        dx_buf_release(&out);
    }
}

static void test_ranges(void)
{
    static const struct {
        uint32_t mine[4];
        size_t count;
        bool overlap; /* with 5-7,10 */
    } rows[] = {
        { { 4 }, 1, false },          { { 5 }, 1, true },           { { 7 }, 1, true },
        { { 8, 9 }, 2, false },       { { 10 }, 1, true },          { { 11, 1, 9, 4 }, 4, false },
        { { 11, 1, 6, 4 }, 4, true }, { { 9, 9, 8, 9 }, 4, false },
    };
    struct dx_writer theirs = { .nonce = 1 };
    struct dx_writers w = DX_WRITERS_INIT;
    struct dx_error err = DX_ERROR_INIT;
    uint32_t ids[] = { 10, 7, 5, 6 };
    uint32_t many[2 * DX_WRITER_RANGES + 2];

    dx_writer_claim(&theirs, ids, 4);
    if (dx_writers_add(&w, &theirs, &err) < 0)
        FAIL("%s", err.text);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_writer mine = { .nonce = 2 };
        uint32_t copy[4];

        memcpy(copy, rows[i].mine, sizeof copy);
        dx_writer_claim(&mine, copy, rows[i].count);
        if ((dx_writers_ahead(&w, &mine) != NULL) != rows[i].overlap)
            FAIL("row %zu", i);
    }
    /* Too many ranges become one: too much is claimed, never too little. */
    for (uint32_t i = 0; i < sizeof many / sizeof many[0]; i++)
        many[i] = 100 + 2 * i;
    dx_writer_claim(&theirs, many, sizeof many / sizeof many[0]);
    if (theirs.range_count != 1 || theirs.range[0].first != 100 ||
        theirs.range[0].last != 100 + 2 * (sizeof many / sizeof many[0] - 1))
        FAIL("%zu ranges, %u-%u", theirs.range_count, theirs.range[0].first, theirs.range[0].last);
    dx_writers_release(&w);
}

static atomic_uint said;

static void say(const char *text)
{
    if (strncmp(text, "waiting for ", 12) != 0)
        FAIL("says: %s", text);
    atomic_fetch_add(&said, 1);
}

static struct dx_ingest_claim *claim(uint32_t from, uint32_t to)
{
    struct dx_ingest_claim_options o = {
        .remote = &remote, .root = root, .say = say, .lease_ms = lease_ms
    };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_ingest_claim *c = NULL;
    uint32_t ids[64];
    size_t n = 0;

    for (uint32_t id = from; id <= to; id++)
        ids[n++] = id;
    if (dx_ingest_claim_take(&c, &o, ids, n, &err) < 0)
        FAIL("%s", err.text);
    return c;
}

/* How many are entered; *beat: of the first. */
static size_t entries_at(uint64_t *beat)
{
    struct dx_buf text = DX_BUF_INIT(1 << 20);
    struct dx_writers w = DX_WRITERS_INIT;
    struct dx_error err = DX_ERROR_INIT;
    char path[128];
    size_t n;

    (void)snprintf(path, sizeof path, "%s/" DX_WRITERS_FILE, root);
    if (dx_file_read(path, text.max, &text, &err) < 0 ||
        dx_writers_parse(&w, dx_span_of(text.data, text.size), path, &err) < 0)
        FAIL("%s", err.text);
    n = w.count;
    if (n > 0)
        *beat = w.writer[0].beat;
    dx_writers_release(&w);
    dx_buf_release(&text);
    return n;
}

static size_t entries(void)
{
    uint64_t beat;

    return entries_at(&beat);
}

static void write_table(const char *text)
{
    struct dx_error err = DX_ERROR_INIT;
    char path[128];

    (void)snprintf(path, sizeof path, "%s/" DX_WRITERS_FILE, root);
    if (dx_file_replace(path, dx_span_str(text), &err) < 0)
        FAIL("%s", err.text);
}

static atomic_bool second_has;

static void *second(void *ignored)
{
    struct dx_ingest_claim *c = claim(5, 9);

    (void)ignored;
    atomic_store(&second_has, true);
    dx_ingest_claim_drop(&c);
    return NULL;
}

/* Others with other datasets do not wait; with a common one until it is given back, and longer
 * than a lease if its owner lives. */
static void test_waiting(void)
{
    struct dx_ingest_claim *a = claim(1, 5);
    struct dx_ingest_claim *b = claim(10, 12);
    struct dx_error err = DX_ERROR_INIT;
    pthread_t thread;

    if (entries() != 2 || atomic_load(&said) != 0)
        FAIL("%zu entries", entries());
    dx_ingest_claim_drop(&b);
    if (pthread_create(&thread, NULL, second, NULL) != 0)
        abort();
    (void)usleep(2 * LEASE_MS * 1000);
    for (int i = 0; i < 6000 && atomic_load(&said) == 0; i++)
        (void)usleep(10 * 1000);
    if (atomic_load(&second_has) || atomic_load(&said) != 1)
        FAIL("two have dataset 5, said %u", atomic_load(&said));
    if (dx_ingest_claim_check(a, &err) < 0)
        FAIL("%s", err.text);
    dx_ingest_claim_drop(&a);
    (void)pthread_join(thread, NULL);
    if (!atomic_load(&second_has) || entries() != 0)
        FAIL("%zu entries at the end", entries());
}

struct turn {
    uint32_t from, to;
    unsigned number; /* in which order they had it, from 1 */
};

static atomic_uint turns;

static void *take_turn(void *arg)
{
    struct turn *t = arg;
    struct dx_ingest_claim *c = claim(t->from, t->to);

    t->number = atomic_fetch_add(&turns, 1) + 1;
    dx_ingest_claim_drop(&c);
    return NULL;
}

static void wait_for_entries(size_t count)
{
    for (int i = 0; i < 3000 && entries() != count; i++)
        (void)usleep(10 * 1000);
    if (entries() != count)
        FAIL("%zu entries, waited for %zu", entries(), count);
}

/* A run that waits for one of its datasets is not passed by later runs that want another of them,
 * whose holders would else follow each other for ever. */
static void test_queue(void)
{
    struct dx_ingest_claim *a;
    struct turn both = { 5, 9, 0 };
    struct turn later = { 9, 9, 0 };
    struct turn apart = { 10, 10, 0 };
    pthread_t threads[2];

    lease_ms = LONG_LEASE_MS;
    a = claim(1, 5);
    if (pthread_create(&threads[0], NULL, take_turn, &both) != 0)
        abort();
    wait_for_entries(2);
    if (pthread_create(&threads[1], NULL, take_turn, &later) != 0)
        abort();
    wait_for_entries(3);
    (void)take_turn(&apart); /* which none of them has */
    if (atomic_load(&turns) != 1)
        FAIL("%u had their turn, before it was theirs", atomic_load(&turns));
    dx_ingest_claim_drop(&a);
    (void)pthread_join(threads[0], NULL);
    (void)pthread_join(threads[1], NULL);
    if (apart.number != 1 || both.number != 2 || later.number != 3 || entries() != 0)
        FAIL("turns %u %u %u, %zu entries", apart.number, both.number, later.number, entries());
    lease_ms = LEASE_MS;
}

/* One of another machine that says nothing for a lease is passed over, not before; and so is one
 * with other datasets. */
static void test_silence(void)
{
    struct dx_ingest_claim *c;
    uint64_t begun = dx_clock_ms();

    write_table(HEAD "9f3c00d2a1b2c3d4 7 elsewhere farm3 1 88 1-5\n"
                     "9f3c00d2a1b2c3d5 7 elsewhere farm3 1 88 90\n");
    c = claim(5, 6);
    if (dx_clock_ms() - begun < LEASE_MS)
        FAIL("passed over after %llu ms", (unsigned long long)(dx_clock_ms() - begun));
    if (entries() != 1)
        FAIL("%zu entries", entries());
    dx_ingest_claim_drop(&c);
    write_table(HEAD "9f3c00d2a1b2c3d4 7 elsewhere farm3 1 88 1-5\n");
    begun = dx_clock_ms();
    c = claim(10, 12);
    if (entries() != 2 && dx_clock_ms() - begun < LEASE_MS)
        FAIL("after %llu ms %zu entries", (unsigned long long)(dx_clock_ms() - begun), entries());
    wait_for_entries(1); /* the silent one goes */
    dx_ingest_claim_drop(&c);
}

/* A table without room is waited for. */
static void test_full(void)
{
    struct dx_buf text = DX_BUF_INIT(1 << 20);
    struct dx_ingest_claim *c;
    uint64_t begun = dx_clock_ms();

    dx_buf_str(&text, HEAD);
    for (int i = 0; i < DX_WRITERS_MAX; i++)
        dx_buf_fmt(&text, "9f3c00d2a1b2%04x 7 elsewhere farm3 1 88 %d\n", i, 1000 + i);
    dx_buf_u8(&text, '\0');
    write_table((const char *)text.data);
    dx_buf_release(&text);
    atomic_store(&said, 0);
    c = claim(1, 1);
    if (c == NULL || dx_clock_ms() - begun < LEASE_MS || entries() != 1 || atomic_load(&said) != 1)
        FAIL("%zu entries, said %u", entries(), atomic_load(&said));
    dx_ingest_claim_drop(&c);
}

/* The entry of a run that has ended without taking it back. */
static void leave_entry(void)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        (void)claim(1, 5);
        _exit(0);
    }
    (void)waitpid(pid, &status, 0);
    if (entries() != 1)
        FAIL("%zu entries", entries());
}

/* A process of this machine that has ended is passed over at once; of another host, which may have
 * this one's boot id, only if it is silent; and so is a number that lives. */
static void test_dead(void)
{
    static const char *const edits[] = {
        NULL, /* as it is */
        "s/^(.{16} [0-9]+ [^ ]+) [^ ]+/\\1 elsewhere/",
        "s/^(.{16} [0-9]+ [^ ]+ [^ ]+) [0-9]+ [0-9]+/\\1 $PPID 0/",
    };

    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        struct dx_ingest_claim *c;
        char command[400];
        uint64_t begun;
        uint64_t took;

        leave_entry();
        if (edits[i] != NULL) {
            (void)snprintf(command, sizeof command, "sed -Ei \"%s\" %s/" DX_WRITERS_FILE, edits[i],
                           root);
            if (system(command) != 0)
                abort();
        }
        begun = dx_clock_ms();
        c = claim(1, 5);
        took = dx_clock_ms() - begun;
        if ((took >= LEASE_MS) != (edits[i] != NULL))
            FAIL("row %zu: took %llu ms", i, (unsigned long long)took);
        if (entries() != 1)
            FAIL("row %zu: %zu entries", i, entries());
        dx_ingest_claim_drop(&c);
    }
}

/* A store that is away is waited for, and an entry from a lost reply is said once more. */
static void test_faults(void)
{
    struct dx_ingest_claim *c;
    uint64_t beat = 0;

    atomic_store(&faulty.fail, 5);
    c = claim(1, 5);
    if (c == NULL || entries_at(&beat) != 1 || beat != 1)
        FAIL("beat %llu", (unsigned long long)beat);
    dx_ingest_claim_drop(&c);
    atomic_store(&faulty.lose, 1);
    c = claim(1, 5);
    if (c == NULL || entries_at(&beat) != 1 || beat != 2)
        FAIL("beat %llu", (unsigned long long)beat);
    atomic_store(&faulty.lose, 1);
    dx_ingest_claim_drop(&c);
    if (entries() != 0)
        FAIL("%zu entries", entries());
}

/* ---- a writer that is stopped ---- */

#define LAKE_FILE "urls/dataset_id=3/domain_prefix=00-ff/part-00000.parquet"

/* In a process of its own: 0 it says that all is well, 1 that it is not, with the right code. */
static int upload_one(void)
{
    struct dx_ingest_claim *c = claim(1, 5);
    struct dx_lake_list lake = { NULL, 0, 0 };
    struct dx_ingest_made made = { .size = 1, .path = { .dataset_id = 3, .last = 255 } };
    struct dx_dataset_registry *registry = NULL;
    struct dx_ingest_upload u = {
        .remote = &remote, .claim = c, .lake = &lake, .dir = root, .made = &made, .made_count = 1
    };
    struct dx_error err = DX_ERROR_INIT;
    char path[PATH_MAX];
    int rc;

    if (dx_dataset_registry_new(&registry, &err) < 0)
        return 2;
    u.registry = registry;
    (void)dx_ingest_made_name(root, 0, path, NULL);
    if (dx_file_replace(path, dx_span_str("x"), &err) < 0)
        return 2;
    rc = dx_ingest_upload_run(&u, &err);
    dx_dataset_registry_free(&registry);
    dx_ingest_claim_drop(&c);
    return rc == DX_OK ? 0 : rc == DX_E_CONFLICT && strlen(err.text) > 60 ? 1 : 3;
}

/* Stopped before its put, or before the reply, for longer than a lease, while another run takes its
 * datasets: it ends with an error, and what it had not sent is not sent. */
static void test_stopped(void)
{
    static const struct {
        bool before, after;
        bool there; /* the file */
        int want;
    } rows[] = {
        { false, false, true, 0 },
        { true, false, false, 1 },
        { false, true, true, 1 },
    };
    char path[128];

    (void)snprintf(path, sizeof path, "%s/" LAKE_FILE, root);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool stops = rows[i].before || rows[i].after;
        int status = 0;
        pid_t pid;

        faulty.stops_before = rows[i].before;
        faulty.stops_after = rows[i].after;
        (void)unlink(path);
        pid = fork();
        if (pid == 0)
            _exit(upload_one());
        if (stops && (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status)))
            FAIL("row %zu: did not stop", i);
        if (stops) {
            struct dx_ingest_claim *c = claim(3, 3);

            dx_ingest_claim_drop(&c);
            (void)kill(pid, SIGCONT);
        }
        if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
            WEXITSTATUS(status) != rows[i].want)
            FAIL("row %zu: status %x", i, (unsigned)status);
        if ((access(path, F_OK) == 0) != rows[i].there)
            FAIL("row %zu: the file is %s", i, rows[i].there ? "missing" : "there");
    }
    faulty.stops_before = faulty.stops_after = false;
}

/* What a run sent may be done behind its end: the next run of its datasets does not look what the lake has before a lease
 * has passed, and those of other datasets do not wait. */
static void test_doubt(void)
{
    struct dx_ingest_claim *other;
    struct dx_ingest_claim *c;
    uint64_t begun;

    if (upload_one() != 0 || entries() != 0)
        FAIL("%zu entries behind a run to which nothing happened", entries());
    atomic_store(&faulty.doubt, 1);
    begun = dx_clock_ms();
    if (upload_one() != 3 || entries() != 1)
        FAIL("%zu entries behind a put whose reply was lost", entries());
    other = claim(6, 9);
    c = claim(3, 3);
    if (dx_clock_ms() - begun < LEASE_MS)
        FAIL("the next run waited %llu ms", (unsigned long long)(dx_clock_ms() - begun));
    dx_ingest_claim_drop(&c);
    dx_ingest_claim_drop(&other);
}

/* A removed run learns so before it goes on, and does not remove another run's entry. */
static void test_lost(void)
{
    struct dx_ingest_claim *c = claim(1, 5);
    struct dx_error err = DX_ERROR_INIT;
    int rc = 0;

    write_table(HEAD "9f3c00d2a1b2c3d4 7 elsewhere farm3 1 88 1-5\n");
    for (int i = 0; i < 100 && (rc = dx_ingest_claim_check(c, &err)) == 0; i++)
        (void)usleep(LEASE_MS * 10);
    if (rc != DX_E_CONFLICT || strstr(err.text, "run it again") == NULL)
        FAIL("%d: %s", rc, err.text);
    dx_ingest_claim_drop(&c);
    if (entries() != 1)
        FAIL("%zu entries", entries());
    write_table("nonsense");
    {
        struct dx_ingest_claim_options o = { .remote = &remote, .root = root };
        uint32_t id = 1;

        if (dx_ingest_claim_take(&c, &o, &id, 1, &err) != DX_E_CORRUPT || c != NULL)
            FAIL("nonsense is taken: %s", err.text);
    }
}

int main(void)
{
    struct dx_error err = DX_ERROR_INIT;

    (void)snprintf(root, sizeof root, "%s/dx-test-claim-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(root) == NULL)
        return 1;
    test_text();
    test_ranges();
    if (dx_root_open(&remote, root, DX_ROOT_WRITE, &err) < 0) {
        FAIL("%s", err.text);
    } else {
        faulty.store.ops = &ops;
        faulty.real = remote.store;
        remote.store = &faulty.store;
        test_waiting();
        test_queue();
        test_silence();
        test_full();
        test_dead();
        test_faults();
        test_stopped();
        test_doubt();
        test_lost();
    }
    dx_root_close(&remote);
    (void)dx_dir_remove(root, &err);
    return failures == 0 ? 0 : 1;
}
