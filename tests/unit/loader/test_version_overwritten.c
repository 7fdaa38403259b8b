/* SPDX-License-Identifier: Apache-2.0
 * Mapped files of an open version are written over while threads answer from it, after all of their
 * blocks were checked: random bytes, zeros, bytes of elsewhere, back again. No answer that the
 * guard lets pass is wrong, and whatever the readers meet, nothing crashes or hangs.
 *
 * DX_OVERWRITE_CYCLES=n: versions opened and damaged (40).
 */
#include "base/clock.h"
#include "loader/guard/guard.h"
#include "loader/version.h"
#include "query/answers/answer.h"
#include "query/view/view.h"
#include "tests/support/damage.h"
#include "tests/support/sample.h"
#include "tests/support/small_root.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#define DOMAINS 40
#define DATASETS 40
#define STRANGERS 10
#define ASKERS 3
#define QUESTIONS_MAX (3 * DOMAINS + STRANGERS + 2)
#define BODY_MAX (1u << 20)
#define WRITE_MS 30
#define FILES_MAX 32

static _Atomic unsigned failures;
static struct dx_test_root root;

struct file {
    char path[256];
    size_t size;
    uint8_t *good;
    int fd;
};

static struct file files[FILES_MAX];
static size_t file_count;

/* ---- questions ---- */

struct truth {
    int rc;
    struct dx_buf body;
};

static struct truth truths[QUESTIONS_MAX];
static size_t truth_count;

struct asker {
    struct dx_version *v;
    struct dx_canon *canon;
    _Atomic bool *stop;
    uint64_t believed, thrown_away;
};

static const char *tags_of(unsigned i, unsigned dataset, unsigned row)
{
    static const char *const tags[] = { NULL, "[\"news\"]", "[\"a b\",\"news\"]", "none",
                                        "[\"x\",\"\"]" };

    return tags[(i * 7 + dataset * 3 + row) % 5];
}

static void put_ids(const struct dx_dataset_set *set, struct dx_buf *body)
{
    uint32_t ids[100];
    uint32_t from = 0;
    size_t n;

    while ((n = dx_dataset_set_ids_from(set, from, ids, 100)) > 0) {
        for (size_t i = 0; i < n; i++)
            dx_buf_u32(body, ids[i]);
        if (ids[n - 1] < from || ids[n - 1] == UINT32_MAX)
            return; /* the bytes change meanwhile */
        from = ids[n - 1] + 1;
    }
}

/* All that tags.dxt says. */
static int ask_tags(const struct dx_tags *t, struct dx_buf *body)
{
    int rc = DX_OK;

    for (uint64_t i = 0; rc == DX_OK && i < t->count; i++) {
        struct dx_dataset_set rows;
        struct dx_dataset_set domains;
        struct dx_tag_cursor c;
        struct dx_tag_file f;
        struct dx_span name;

        rc = dx_tags_name(t, i, &name, NULL);
        if (rc == DX_OK) {
            dx_buf_append(body, name.data, name.size);
            rc = dx_tags_files(t, i, &c, NULL);
        }
        while (rc == DX_OK && (rc = dx_tag_cursor_next(&c, &f, NULL)) == 1) {
            rc = dx_tag_file_sets(t, &f, &rows, &domains, NULL);
            if (rc == DX_OK) {
                put_ids(&rows, body);
                put_ids(&domains, body);
            }
        }
    }
    return rc;
}

/* The i-th question; its number is truth_count when there is none. */
static int ask(struct dx_version *v, struct dx_canon *canon, size_t i, struct dx_buf *body)
{
    struct dx_problem problem;
    char name[64];

    dx_buf_clear(body);
    if (i < 3 * DOMAINS) {
        dx_test_root_domain((unsigned)(i / 3), name);
        if (i % 3 == 0)
            return dx_answer_domain(DX_VIEW_ALL(v), canon, dx_span_str(name), DX_DOMAIN_FIELDS_ALL,
                                    body, &problem);
        return dx_answer_urls(DX_VIEW_ALL(v), canon, dx_span_str(name),
                              (unsigned)(i % 3 == 1 ? 1 : i % DATASETS),
                              (struct dx_page_of){ 0, 99 }, DX_FIELDS_DEFAULT, body, &problem);
    }
    if (i == 3 * DOMAINS + STRANGERS + 1)
        return ask_tags(dx_version_own(v)->tags, body);
    if (i == 3 * DOMAINS + STRANGERS)
        return dx_answer_datasets(DX_VIEW_ALL(v), (struct dx_page_of){ 0, 99 }, body, &problem);
    (void)snprintf(name, sizeof name, "stranger%zu.com", i);
    return dx_answer_domain(DX_VIEW_ALL(v), canon, dx_span_str(name), DX_DOMAIN_FIELDS_ALL, body,
                            &problem);
}

static void learn(struct dx_version *v, struct dx_canon *canon)
{
    for (truth_count = 0; truth_count < QUESTIONS_MAX; truth_count++) {
        struct truth *t = &truths[truth_count];

        dx_buf_init(&t->body, BODY_MAX);
        t->rc = ask(v, canon, truth_count, &t->body);
        EXPECT(t->rc >= 0, "question %zu: %d", truth_count, t->rc);
    }
}

static void *keep_asking(void *argument)
{
    struct asker *a = argument;
    struct dx_buf body = DX_BUF_INIT(BODY_MAX);

    for (size_t i = 0; !atomic_load(a->stop); i = (i + 7) % truth_count) {
        int rc = ask(a->v, a->canon, i, &body);

        if (!dx_version_intact(a->v)) {
            a->thrown_away++;
            continue;
        }
        a->believed++;
        EXPECT(rc == truths[i].rc && body.size == truths[i].body.size &&
                   (body.size == 0 || memcmp(body.data, truths[i].body.data, body.size) == 0),
               "question %zu: a wrong answer was let pass (%d, not %d)", i, rc, truths[i].rc);
    }
    dx_buf_release(&body);
    return NULL;
}

/* ---- damage ---- */

static void take_file(const char *folder, const char *name)
{
    struct file *f = &files[file_count];
    struct stat st;

    (void)snprintf(f->path, sizeof f->path, "%s/%s", folder, name);
    f->fd = open(f->path, O_RDONLY);
    if (f->fd < 0 || fstat(f->fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        (void)close(f->fd);
        return;
    }
    f->size = (size_t)st.st_size;
    f->good = malloc(f->size + 1);
    EXPECT(f->good != NULL && pread(f->fd, f->good, f->size, 0) == st.st_size, "%s", f->path);
    (void)close(f->fd);
    file_count++;
}

static void take_files(void)
{
    static const char *const mapped[] = {
        "domains.dict",        "domains.mphf", "domain_to_datasets.roar",
        "domain_counts.dxc",   "postings.dxp", "pages.dxp",
        "dataset_domains.dxt", "cold.dxp",     "tags.dxt"
    };
    char folder[200];

    (void)snprintf(folder, sizeof folder, "%s/index/%s", root.path, root.version);
    for (size_t i = 0; i < sizeof mapped / sizeof mapped[0]; i++)
        take_file(folder, mapped[i]);
    EXPECT(file_count == sizeof mapped / sizeof mapped[0], "%zu files", file_count);
}

static void open_all(void)
{
    for (size_t i = 0; i < file_count; i++)
        files[i].fd = open(files[i].path, O_WRONLY);
}

static void put_right(void)
{
    for (size_t i = 0; i < file_count; i++) {
        EXPECT(pwrite(files[i].fd, files[i].good, files[i].size, 0) == (ssize_t)files[i].size, "%s",
               files[i].path);
        (void)close(files[i].fd);
    }
}

static void scribble(struct file *f, uint64_t *random)
{
    size_t at = (size_t)random_below(random, f->size);
    size_t n = 1 + (size_t)random_below(random, random_below(random, 3) == 0 ? 4096 : 16);
    uint8_t bytes[4096];

    if (n > f->size - at)
        n = f->size - at;
    switch (random_below(random, 5)) {
    case 0:
        for (size_t i = 0; i < n; i++)
            bytes[i] = (uint8_t)random_next(random);
        break;
    case 1:
        memset(bytes, 0, n);
        break;
    case 2:
        memset(bytes, 0xff, n);
        break;
    case 3: /* of elsewhere */
        memcpy(bytes, f->good + random_below(random, f->size - n + 1), n);
        break;
    default:
        memcpy(bytes, f->good + at, n);
        break;
    }
    EXPECT(pwrite(f->fd, bytes, n, (off_t)at) == (ssize_t)n, "%s", f->path);
}

/* One file, so that questions get as far as to it. */
static void scribble_for_a_while(struct file *f, uint64_t *random)
{
    uint64_t end_ms = dx_clock_ms() + WRITE_MS;

    while (dx_clock_ms() < end_ms)
        for (unsigned i = 0; i < 20; i++)
            scribble(f, random);
}

static uint64_t believed, thrown_away;

static void cycle(struct dx_caches *caches, const struct dx_version_options *options,
                  struct file *f, uint64_t *random)
{
    struct dx_version *v = NULL;
    struct asker askers[ASKERS];
    pthread_t threads[ASKERS];
    struct dx_error err = DX_ERROR_INIT;
    _Atomic bool stop = false;

    EXPECT(dx_version_open_named(&v, root.path, NULL, caches, options, &err) == DX_OK, "%s",
           err.text);
    if (v == NULL)
        return;
    for (unsigned i = 0; i < ASKERS; i++) {
        askers[i] = (struct asker){ .v = v, .stop = &stop };
        EXPECT(dx_version_canon_new(v, &askers[i].canon, &err) == DX_OK, "%s", err.text);
    }
    if (truth_count == 0)
        learn(v, askers[0].canon);
    open_all();
    for (unsigned i = 0; i < ASKERS; i++)
        EXPECT(pthread_create(&threads[i], NULL, keep_asking, &askers[i]) == 0, "thread");
    usleep(5000); /* most blocks are checked by now */
    scribble_for_a_while(f, random);
    EXPECT(!dx_version_intact(v), "it was noticed");
    atomic_store(&stop, true);
    for (unsigned i = 0; i < ASKERS; i++) {
        (void)pthread_join(threads[i], NULL);
        believed += askers[i].believed;
        thrown_away += askers[i].thrown_away;
        dx_canon_free(&askers[i].canon);
    }
    dx_version_unpin(v);
    put_right();
}

int main(void)
{
    const char *wish = getenv("DX_OVERWRITE_CYCLES");
    unsigned long cycles = wish == NULL ? dx_sample(40, 23) : strtoul(wish, NULL, 10);
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_caches *caches = NULL;
    struct dx_error err = DX_ERROR_INIT;
    uint64_t random = 7;

    struct dx_test_shape shape;

    options.verify = true; /* so that each block is believed from then on */
    dx_test_root_usual(&shape);
    shape.tags = tags_of;
    dx_test_root_make_of(&root, DOMAINS, DATASETS, &shape);
    take_files();
    EXPECT(dx_guard_start(DX_GUARD_NO_LEASES, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_caches_new(&caches, &options, &err) == DX_OK, "%s", err.text);
    for (unsigned long i = 0; i < cycles && failures == 0; i++)
        cycle(caches, &options, &files[i % file_count], &random);
    EXPECT(believed > cycles * 10 && thrown_away > cycles * 10, "%llu answers, and %llu refused",
           (unsigned long long)believed, (unsigned long long)thrown_away);
    printf("%llu answers, %llu thrown away\n", (unsigned long long)believed,
           (unsigned long long)thrown_away);
    dx_caches_free(&caches);
    dx_guard_stop();
    for (size_t i = 0; i < truth_count; i++)
        dx_buf_release(&truths[i].body);
    for (size_t i = 0; i < file_count; i++)
        free(files[i].good);
    dx_test_root_remove(&root);
    return failures > 0;
}
