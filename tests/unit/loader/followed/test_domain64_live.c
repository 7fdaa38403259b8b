/* SPDX-License-Identifier: Apache-2.0
 * The registry of a root, followed: threads pin it while it is exchanged, cut short, taken away and
 * put back; those that were superseded stay for a while.
 */
#include "loader/followed/domain64_live.h"

#include "base/clock.h"
#include "base/file.h"
#include "builder/exchange/numbers/domain64_commit.h"
#include "builder/exchange/numbers/domain64_fill.h"
#include "tests/support/fail.h"
#include "tests/support/small_root.h"

#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DOMAINS 12
#define DATASETS 2
#define TURNS 60
#define THREADS 3
#define KEEP_MS 1000

static _Atomic unsigned failures;
static struct dx_test_root root;

struct saved {
    char list[128], book[512];
    struct dx_buf list_text, book_text;
    struct dx_build_id state;
};

static struct saved saved[2];

static void must(int rc, const struct dx_error *err, const char *what)
{
    if (rc >= 0)
        return;
    (void)fprintf(stderr, "%s: %s\n", what, err->text);
    abort();
}

static void write_file(const char *path, const struct dx_buf *text, size_t size)
{
    struct dx_error err = DX_ERROR_INIT;

    must(dx_file_replace(path, dx_span_of(text->data, size), &err), &err, path);
}

/* A registry of its own, and its two files; it is gone from the root then. */
static void make_registry(struct saved *s)
{
    struct dx_root remote = DX_ROOT_INIT;
    struct dx_domain64_fill fill = { .root = root.path, .memory = 16 << 20, .merge_above = 8 };
    struct dx_domain64_manifest list = DX_DOMAIN64_MANIFEST_INIT;
    struct dx_domain64_registry numbers = { .count = 0 }; /* but its list */
    struct dx_error err = DX_ERROR_INIT;
    char pattern[256];
    glob_t found;

    must(dx_root_open(&remote, root.path, DX_ROOT_WRITE, &err), &err, "root");
    must(dx_domain64_init(root.path, &remote, DX_DOMAIN64_SUB8, &list, &err), &err, "init");
    dx_root_close(&remote);
    must(dx_domain64_fill_run(&fill, &err), &err, "fill");
    (void)snprintf(s->list, sizeof s->list, "%s/%s", root.path, DX_DOMAIN64_MANIFEST_FILE);
    (void)snprintf(pattern, sizeof pattern, "%s/%s*.d64", root.path, DX_NUMBER_FOLDER);
    if (glob(pattern, 0, NULL, &found) != 0 || found.gl_pathc != 1)
        abort();
    (void)snprintf(s->book, sizeof s->book, "%s", found.gl_pathv[0]);
    globfree(&found);
    dx_buf_init(&s->list_text, 1 << 20);
    dx_buf_init(&s->book_text, 64 << 20);
    must(dx_file_read(s->list, 1 << 20, &s->list_text, &err), &err, s->list);
    must(dx_file_read(s->book, 64 << 20, &s->book_text, &err), &err, s->book);
    must(dx_domain64_manifest_parse(&list, dx_span_of(s->list_text.data, s->list_text.size), "list",
                                    &err),
         &err, "list");
    numbers.list = list;
    s->state = dx_domain64_registry_state(&numbers);
    (void)unlink(s->list);
    (void)unlink(s->book);
}

static bool same(const struct dx_build_id *a, const struct dx_build_id *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* Each domain of the root has a number, which is the one of its name. */
static unsigned count_domains(const struct dx_domain64_registry *n)
{
    struct dx_error err = DX_ERROR_INIT;
    uint64_t number = 0;
    unsigned count = 0;

    while (dx_domain64_registry_domain(n, number, &number, &err) == 1) {
        struct dx_buf name = DX_BUF_INIT(512);
        struct dx_domain64_names names;
        enum dx_domain64_part missing;
        uint64_t key = 0;
        struct dx_span domain;

        if (dx_domain64_registry_names(n, number, &name, &err) != 1 || name.size < 2)
            return 0;
        domain = dx_span_of(name.data, name.size - 1);
        if (!dx_domain64_names(domain, domain, dx_span_of(NULL, 0), n->layout, &names) ||
            dx_domain64_registry_key(n, &names, &key, &missing, &err) != 1 || key != number)
            FAIL("%.*s is not 0x%016llx", (int)domain.size, domain.data,
                 (unsigned long long)number);
        dx_buf_release(&name);
        count++;
        number += UINT64_C(1) << 32;
    }
    return count;
}

static _Atomic bool over;
static _Atomic unsigned pins;

static void *ask(void *argument)
{
    struct dx_domain64_live *now = argument;

    while (!atomic_load(&over)) {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_domain64_registry *n = NULL;
        struct dx_domain64_registry *same_one = NULL;
        struct dx_domain64_registry_health health;

        dx_domain64_live_health(now, &health);
        if (dx_domain64_live_pin(now, NULL, &n, &err) == 1) {
            struct dx_build_id state = dx_domain64_registry_state(n);

            if (!same(&state, &saved[0].state) && !same(&state, &saved[1].state))
                FAIL("a registry that never was");
            if (count_domains(n) != DOMAINS)
                FAIL("%u domains", count_domains(n));
            if (dx_domain64_live_pin(now, &state, &same_one, &err) == 1 &&
                memcmp(same_one->list.id, n->list.id, sizeof n->list.id) != 0)
                FAIL("another one of the same state");
            atomic_fetch_add(&pins, 1);
        }
        dx_domain64_registry_close(&n);
        dx_domain64_registry_close(&same_one);
    }
    return NULL;
}

static int poll_now(struct dx_domain64_live *now, uint64_t at_ms)
{
    struct dx_error err = DX_ERROR_INIT;

    return dx_domain64_live_poll(now, true, at_ms, &err);
}

static void check_health(struct dx_domain64_live *now, bool present, bool sound, const char *what)
{
    struct dx_domain64_registry_health h;

    dx_domain64_live_health(now, &h);
    if (h.present != present || h.sound != sound)
        FAIL("%s: present %d, sound %d: %s", what, h.present, h.sound, h.text);
}

static bool has(struct dx_domain64_live *now, const struct dx_build_id *state)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_domain64_registry *n;
    int rc = dx_domain64_live_pin(now, state, &n, &err);

    dx_domain64_registry_close(&n);
    return rc == 1;
}

/* at_ms: a clock of our own. */
static void check_turns(struct dx_domain64_live *now)
{
    pthread_t threads[THREADS];
    uint64_t at_ms = 1000;

    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, ask, now) != 0)
            abort();
    for (unsigned i = 0; i < TURNS || atomic_load(&pins) < TURNS; i++) {
        const struct saved *s = &saved[i % 2];

        write_file(s->list, &s->list_text, s->list_text.size);
        if (poll_now(now, at_ms) != 1)
            FAIL("turn %u is not seen", i);
        if (!has(now, &s->state) || (i > 0 && !has(now, &saved[1 - i % 2].state)))
            FAIL("turn %u: both are open", i);
        at_ms += KEEP_MS / 3;
    }
    atomic_store(&over, true);
    for (unsigned i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    if (poll_now(now, at_ms) != 0)
        FAIL("nothing is new");
    (void)poll_now(now, at_ms + 2 * KEEP_MS);
    if (has(now, &saved[0].state) && has(now, &saved[1].state))
        FAIL("what was superseded long ago is still open");
}

static void check_damage(struct dx_domain64_live *now)
{
    const struct saved *s = &saved[0];
    uint64_t at_ms = 1000000;

    write_file(s->list, &s->list_text, s->list_text.size);
    (void)poll_now(now, at_ms);
    check_health(now, true, true, "whole");
    for (size_t cut = 0; cut < s->list_text.size; cut += 37) {
        write_file(s->list, &s->list_text, cut);
        if (poll_now(now, at_ms) >= 0)
            FAIL("a list of %zu bytes", cut);
        check_health(now, true, false, "cut");
        if (!has(now, &s->state))
            FAIL("what was known is gone");
    }
    if (unlink(s->list) != 0 || poll_now(now, at_ms) != 1)
        FAIL("a registry that is gone");
    check_health(now, false, true, "gone");
    /* A book that is damaged, with another one in use and with none. */
    s->book_text.data[s->book_text.size / 2] ^= 1;
    (void)unlink(s->book);
    write_file(s->book, &s->book_text, s->book_text.size);
    write_file(s->list, &s->list_text, s->list_text.size);
    if (poll_now(now, at_ms) >= 0)
        FAIL("a damaged book");
    check_health(now, false, false, "a damaged book");
    write_file(saved[1].list, &saved[1].list_text, saved[1].list_text.size);
    if (poll_now(now, at_ms) != 1)
        FAIL("the other one");
    check_health(now, true, true, "the other one");
    write_file(s->list, &s->list_text, s->list_text.size);
    if (poll_now(now, at_ms) >= 0 || !has(now, &saved[1].state))
        FAIL("the one before holds on");
    /* Mended: it is tried again although the list is the same. */
    s->book_text.data[s->book_text.size / 2] ^= 1;
    write_file(s->book, &s->book_text, s->book_text.size);
    if (poll_now(now, at_ms) != 1 || !has(now, &s->state))
        FAIL("mended");
    check_health(now, true, true, "mended");
}

/* A TLD without a name, which no filling makes: nothing is read behind what fits a text exactly. */
static void check_no_name(void)
{
    static const struct dx_build_id build = { { 1 } };
    static const struct dx_number_info info = { DX_DOMAIN64_SUB8, 1, 1 };
    const uint64_t tld = UINT64_C(1) << 56;
    struct dx_domain64_registry numbers = { .layout = DX_DOMAIN64_SUB8, .count = 1 };
    struct dx_buf file = DX_BUF_INIT(1 << 16);
    struct dx_buf text = DX_BUF_INIT(1 << 16);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_number_writer w;
    uint8_t domain[63];

    memset(domain, 'x', sizeof domain);
    must(dx_number_writer_begin(&w, &build, &info, 2, dx_envelope_sink_buf, &file, &err), &err,
         "begin");
    must(dx_number_writer_name(&w, tld, dx_span_of(NULL, 0), &err), &err, "TLD");
    must(
        dx_number_writer_name(&w, tld | UINT64_C(1) << 32, dx_span_of(domain, sizeof domain), &err),
        &err, "domain");
    must(dx_number_writer_hash(&w, 1, 0, &err), &err, "hash");
    must(dx_number_writer_hash(&w, 2, 1, &err), &err, "hash");
    must(dx_number_writer_end(&w, &err), &err, "end");
    dx_number_writer_release(&w);
    must(dx_domain64_segment_open(&numbers.book[0], dx_span_of(file.data, file.size), 0, "book",
                                  &err),
         &err, "open");
    if (dx_domain64_registry_names(&numbers, tld | UINT64_C(1) << 32, &text, &err) != 1 ||
        text.size != sizeof domain + 2)
        FAIL("a TLD without a name");
    dx_domain64_segment_close(&numbers.book[0]);
    dx_buf_release(&file);
    dx_buf_release(&text);
}

int main(void)
{
    struct dx_domain64_registry_where where = { .root = root.path,
                                                .options = { .whole = true },
                                                .keep_ms = KEEP_MS };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_domain64_live *now;

    dx_test_root_make(&root, DOMAINS, DATASETS);
    make_registry(&saved[0]);
    make_registry(&saved[1]);
    must(dx_domain64_live_open(&now, &where, 0, &err), &err, "open");
    check_health(now, false, true, "none");
    for (unsigned i = 0; i < 2; i++)
        write_file(saved[i].book, &saved[i].book_text, saved[i].book_text.size);
    check_turns(now);
    check_damage(now);
    check_no_name();
    dx_domain64_live_close(&now);
    for (unsigned i = 0; i < 2; i++) {
        dx_buf_release(&saved[i].list_text);
        dx_buf_release(&saved[i].book_text);
    }
    dx_test_root_remove(&root);
    return atomic_load(&failures) > 0;
}
