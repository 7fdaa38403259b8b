/* SPDX-License-Identifier: Apache-2.0
 * test_ingest_claim.c - who may add to which datasets: the table, waiting, silence, the dead.
 */
#include "builder/ingest_claim.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "builder/ingest_writers.h"
#include "builder/remote_root.h"

#define LEASE_MS 1200 /* long against a busy machine's pauses, short against a test's patience */

static int failures;
static char root[64];
static struct dx_remote_root remote;

#define FAIL(...)                                       \
    do {                                                \
        failures++;                                     \
        fprintf(stderr, "%s:%d: ", __func__, __LINE__); \
        fprintf(stderr, __VA_ARGS__);                   \
        fputc('\n', stderr);                            \
    } while (0)

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
        if ((dx_writers_overlap(&w, &mine) != NULL) != rows[i].overlap)
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
    if (strstr(text, "waiting for process") == NULL)
        FAIL("says: %s", text);
    atomic_fetch_add(&said, 1);
}

static struct dx_ingest_claim *claim(uint32_t from, uint32_t to)
{
    struct dx_ingest_claim_options o = {
        .remote = &remote, .root = root, .say = say, .lease_ms = LEASE_MS
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

static size_t entries(void)
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
    dx_writers_release(&w);
    dx_buf_release(&text);
    return n;
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
    if (atomic_load(&second_has) || atomic_load(&said) != 1)
        FAIL("two have dataset 5, said %u", atomic_load(&said));
    if (dx_ingest_claim_check(a, &err) < 0)
        FAIL("%s", err.text);
    dx_ingest_claim_drop(&a);
    (void)pthread_join(thread, NULL);
    if (!atomic_load(&second_has) || entries() != 0)
        FAIL("%zu entries at the end", entries());
}

/* One of another machine that says nothing for a lease is passed over, not before. */
static void test_silence(void)
{
    struct dx_ingest_claim *c;
    uint64_t begun = dx_source_now_ms();

    write_table(HEAD "9f3c00d2a1b2c3d4 7 elsewhere farm3 1 88 1-5\n"
                     "9f3c00d2a1b2c3d5 7 elsewhere farm3 1 88 90\n");
    c = claim(5, 6);
    if (dx_source_now_ms() - begun < LEASE_MS)
        FAIL("passed over after %llu ms", (unsigned long long)(dx_source_now_ms() - begun));
    if (entries() != 2)
        FAIL("%zu entries: one was in nobody's way", entries());
    dx_ingest_claim_drop(&c);
    write_table(HEAD);
}

/* A process of this machine that has ended is passed over at once. */
static void test_dead(void)
{
    struct dx_ingest_claim *c;
    uint64_t begun;
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        (void)claim(1, 5);
        _exit(0);
    }
    (void)waitpid(pid, &status, 0);
    if (entries() != 1)
        FAIL("%zu entries", entries());
    begun = dx_source_now_ms();
    c = claim(1, 5);
    if (dx_source_now_ms() - begun >= LEASE_MS)
        FAIL("took %llu ms", (unsigned long long)(dx_source_now_ms() - begun));
    if (entries() != 1)
        FAIL("%zu entries", entries());
    dx_ingest_claim_drop(&c);
}

/* Who was removed is told so before he goes on, and takes nobody else's entry away. */
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
    if (dx_remote_root_open(&remote, root, DX_REMOTE_WRITE, &err) < 0) {
        FAIL("%s", err.text);
    } else {
        test_waiting();
        test_silence();
        test_dead();
        test_lost();
    }
    dx_remote_root_close(&remote);
    (void)dx_dir_remove(root, &err);
    return failures == 0 ? 0 : 1;
}
