/* SPDX-License-Identifier: Apache-2.0
 * Which job has the next turn, and which have waited too long. (pthread: for the label.) */
#include "fetch/source_open.h"
#include "server/engine/workers.h"

#include "base/clock.h"
#include "query/answers/task_kind.h"
#include "tests/support/fake_answers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/fail.h"

enum { JOBS = 12, EXPIRERS = 2 };

static int failures;

struct harness {
    struct dx_fake *fake;
    struct dx_answers answers;
    struct dx_workers *workers;
};

/* What was done, in order: the number of the job, and whether it was refused. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    long number;
    bool refused;
    unsigned retry_s;
} done[JOBS];
static size_t done_count;
static struct dx_answers *unpinner;
static _Atomic unsigned ended, early; /* jobs of test_expire_beside */
static _Atomic bool enough;

static void on_done(struct dx_job *job)
{
    (void)pthread_mutex_lock(&lock);
    done[done_count].number = (long)(intptr_t)job->connection;
    done[done_count].refused = job->rc == 0 && strcmp(job->problem.slug, "overloaded") == 0;
    done[done_count].retry_s = job->problem.retry_s;
    done_count++;
    (void)pthread_mutex_unlock(&lock);
    unpinner->unpin(job->version);
    dx_job_free(&job);
}

static size_t done_now(void)
{
    size_t n;

    (void)pthread_mutex_lock(&lock);
    n = done_count;
    (void)pthread_mutex_unlock(&lock);
    return n;
}

static bool wait_for_done(size_t n)
{
    for (int i = 0; i < 6000 && done_now() < n; i++)
        (void)usleep(10000);
    return done_now() == n;
}

static void start(struct harness *h, unsigned queue_max, unsigned queue_timeout_ms)
{
    const struct dx_workers_options options = { .count = 1,
                                                .queue_max = queue_max,
                                                .hold_max = 1 << 20,
                                                .queue_timeout_ms = queue_timeout_ms };
    struct dx_error err = DX_ERROR_INIT;

    h->fake = dx_fake_new();
    h->answers = dx_fake_answers(h->fake);
    unpinner = &h->answers;
    done_count = 0;
    if (dx_workers_start(&h->workers, &options, &h->answers, &err) < 0) {
        printf("%s\n", err.text);
        exit(1);
    }
}

static void end(struct harness *h)
{
    struct timespec never = { INT32_MAX, 0 };

    CHECK(dx_workers_stop(&h->workers, &never), "a worker hangs");
    CHECK(dx_fake_free(&h->fake), "a pin is left");
}

static bool submit_for(struct harness *h, void (*then)(struct dx_job *job), long number,
                       const char *target)
{
    static struct dx_ask ask;
    struct dx_problem problem;
    struct dx_job *job;

    if (dx_target_parse(dx_span_str(target), false, &ask, &problem) != 1 ||
        (job = dx_job_new(&ask)) == NULL)
        exit(1);
    job->version = h->answers.pin(h->answers.from, NULL);
    job->done = then;
    job->connection = (void *)(intptr_t)number;
    if (dx_workers_submit(h->workers, job))
        return true;
    h->answers.unpin(job->version);
    dx_job_free(&job);
    return false;
}

static bool submit(struct harness *h, long number, const char *target)
{
    return submit_for(h, on_done, number, target);
}

/* The only worker is with the first job until the gate opens. */
static void submit_behind_gate(struct harness *h, long count)
{
    dx_fake_gate(h->fake, false);
    (void)submit(h, 0, "/v1/domain/gate.example/datasets/1/urls");
    while (dx_fake_listings(h->fake) == 0)
        (void)usleep(1000);
    for (long i = 1; i < count; i++)
        CHECK(submit(h, i, "/v1/domain/a.example/datasets/1/urls"), "job %ld is refused", i);
}

static void test_order(void)
{
    static const struct {
        const char *name;
        unsigned queue_max, queue_timeout_ms, pause_ms;
        long order[JOBS];
        size_t count;
    } rows[] = {
        { "few wait: in order of coming", 100, 60000, 0, { 0, 1, 2, 3, 4, 5 }, 6 },
        { "a full queue alone says nothing: in order of coming",
          6,
          60000,
          0,
          { 0, 1, 2, 3, 4, 5 },
          6 },
        { "half of the time is over: newest first", 100, 2000, 1200, { 0, 5, 4, 3, 2, 1 }, 6 },
        { "no limit of time: in order of coming", 6, 0, 0, { 0, 1, 2, 3, 4, 5 }, 6 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct harness h;

        start(&h, rows[i].queue_max, rows[i].queue_timeout_ms);
        submit_behind_gate(&h, (long)rows[i].count);
        (void)usleep(rows[i].pause_ms * 1000);
        dx_fake_gate(h.fake, true);
        CHECK(wait_for_done(rows[i].count), "%s: %zu done", rows[i].name, done_now());
        for (size_t n = 0; n < rows[i].count; n++)
            CHECK(done[n].number == rows[i].order[n] && !done[n].refused,
                  "%s: job %ld is number %zu", rows[i].name, done[n].number, n);
        end(&h);
    }
}

static void test_expire(void)
{
    struct harness h;
    bool spread = false;

    start(&h, 100, 1000);
    submit_behind_gate(&h, 8);
    dx_workers_expire(h.workers);
    CHECK(done_now() == 0, "%zu are done at once", done_now());
    (void)usleep(1050000);
    CHECK(submit(&h, 8, "/v1/domain/a.example/datasets/1/urls"), "a late one is refused");
    dx_workers_expire(h.workers);
    CHECK(done_now() == 7, "%zu are done, of seven that waited too long", done_now());
    for (size_t i = 0; i < done_now(); i++) {
        CHECK(done[i].refused && done[i].number == (long)i + 1 && done[i].retry_s >= 1 &&
                  done[i].retry_s <= 4,
              "job %ld, to be asked again in %u s", done[i].number, done[i].retry_s);
        spread = spread || done[i].retry_s != done[0].retry_s;
    }
    CHECK(spread, "all shall come again after %u s", done[0].retry_s);
    CHECK(dx_workers_counts_of(h.workers).expired == 7, "%llu counted",
          (unsigned long long)dx_workers_counts_of(h.workers).expired);
    dx_fake_gate(h.fake, true);
    CHECK(wait_for_done(9) && !done[7].refused && !done[8].refused,
          "what a worker has begun with, and what came late, is answered");
    end(&h);
}

static void on_done_alone(struct dx_job *job)
{
    if (job->rc == 0 && strcmp(job->problem.slug, "overloaded") == 0)
        (void)atomic_fetch_add(&early, 1);
    unpinner->unpin(job->version);
    dx_job_free(&job);
    (void)atomic_fetch_add(&ended, 1);
}

static void *expire_always(void *argument)
{
    struct harness *h = argument;

    while (!atomic_load(&enough))
        dx_workers_expire(h->workers);
    return NULL;
}

/* A job that comes during a search for late ones is not late, whichever thread looked at the clock
 * first. */
static void test_expire_beside(void)
{
    uint64_t until_ms = dx_clock_ms() + 1000;
    pthread_t others[EXPIRERS];
    struct harness h;
    unsigned begun = 0;

    start(&h, 100, 60000);
    for (size_t i = 0; i < EXPIRERS; i++)
        if (pthread_create(&others[i], NULL, expire_always, &h) != 0)
            exit(1);
    while (dx_clock_ms() < until_ms)
        if (begun - atomic_load(&ended) < 2 &&
            submit_for(&h, on_done_alone, begun, "/v1/domain/a.example/datasets/1/urls"))
            begun++;
    for (int i = 0; i < 6000 && atomic_load(&ended) < begun; i++)
        (void)usleep(10000);
    atomic_store(&enough, true);
    for (size_t i = 0; i < EXPIRERS; i++)
        (void)pthread_join(others[i], NULL);
    CHECK(atomic_load(&ended) == begun && atomic_load(&early) == 0,
          "of %u jobs %u ended, %u of them refused at once", begun, atomic_load(&ended),
          atomic_load(&early));
    end(&h);
}

static void test_full(void)
{
    struct harness h;

    start(&h, 3, 1000);
    submit_behind_gate(&h, 4);
    CHECK(!submit(&h, 4, "/v1/domain/a.example/datasets/1/urls"), "one too many is taken");
    dx_fake_gate(h.fake, true);
    CHECK(wait_for_done(4), "%zu done", done_now());
    end(&h);
}

/* A task whose first read is 100 bytes of a source. */
static struct dx_read_batch batch;

static struct dx_read_batch *reading_of(struct dx_task *task)
{
    (void)task;
    return &batch;
}

static int step(struct dx_task *task, struct dx_buf *body, struct dx_problem *problem)
{
    (void)task, (void)body;
    return dx_problem_set(problem, DX_PROBLEM_NOT_FOUND, "read", "Read", "rows of the first read");
}

static void release(struct dx_task *task)
{
    (void)task;
}

static const struct dx_task_kind task_kind = { step, NULL, reading_of, release };

static struct dx_job *begun_job(struct harness *h)
{
    static struct dx_ask ask;
    static struct dx_task task = { .kind = &task_kind };
    struct dx_problem problem;
    struct dx_job *job;

    if (dx_target_parse(dx_span_str("/v1/domain/a.example/datasets/1/urls"), false, &ask,
                        &problem) != 1 ||
        (job = dx_job_new(&ask)) == NULL)
        exit(1);
    job->version = h->answers.pin(h->answers.from, NULL);
    job->done = on_done;
    job->task = &task;
    job->begun = true;
    return job;
}

/* The loop performs the first read only where it is over a network, has a place and may be held. */
static void test_lend(void)
{
    static const struct {
        const char *name, *root;
        size_t read_size;
        unsigned queue_max;
        bool handed;
    } rows[] = {
        { "over a network", "http://127.0.0.1:1/root/", 100, 10, true },
        { "of a disk", "/tmp/", 100, 10, false },
        { "no place", "http://127.0.0.1:1/root/", 100, 0, false },
        { "nothing to read", "http://127.0.0.1:1/root/", 0, 10, false },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct dx_source_options options = DX_SOURCE_OPTIONS_INIT;
        struct dx_read read = { "object", 0, rows[i].read_size, NULL };
        struct dx_error err = DX_ERROR_INIT;
        struct dx_source *source = NULL;
        struct dx_job *job;
        struct harness h;
        bool handed;

        start(&h, rows[i].queue_max, 60000);
        CHECK(dx_source_open(&source, rows[i].root, &options, &err) == DX_OK, "%s", err.text);
        batch = (struct dx_read_batch){ .source = source,
                                        .reads = &read,
                                        .batch = { .reads = &read, .count = read.size > 0 } };
        job = begun_job(&h);
        handed = dx_workers_lend(h.workers, job);
        CHECK(handed == rows[i].handed, "%s: %d", rows[i].name, handed);
        CHECK(dx_workers_counts_of(h.workers).away == handed &&
                  dx_workers_counts_of(h.workers).held == (handed ? read.size : 0),
              "%s: %u away, %llu bytes", rows[i].name, dx_workers_counts_of(h.workers).away,
              (unsigned long long)dx_workers_counts_of(h.workers).held);
        if (handed) {
            job->read_rc = DX_OK;
            dx_workers_resume(h.workers, job);
            CHECK(wait_for_done(1) && !done[0].refused, "%s: %zu done", rows[i].name, done_now());
        } else {
            CHECK(job->begun, "%s: a worker would not read", rows[i].name);
            h.answers.unpin(job->version);
            dx_job_free(&job);
        }
        CHECK(dx_workers_counts_of(h.workers).held == 0, "%s: bytes are still held", rows[i].name);
        end(&h);
        dx_source_close(&source);
    }
}

int main(void)
{
    test_lend();
    test_order();
    test_expire();
    test_expire_beside();
    test_full();
    return failures > 0;
}
