/* SPDX-License-Identifier: Apache-2.0
 * Batches on an event loop: many at once, broken off in every state, deadlines, faults; the report;
 * the gate that loops and threads share; what is joined, counted, asked twice; a name server that
 * does not answer.
 */
#include "fetch/fetch_loop.h"

#include "fetch/fetch_counts.h"
#include "fetch/fetch_limits.h"
#include "fetch/source_open.h"
#include "tests/support/damage.h"
#include "tests/support/http_origin.h"

#include <event2/event.h>
#include <netdb.h>
#include <sys/eventfd.h>
#include <unistd.h>

static unsigned failures;

/* What libcurl resolves names with: one of them has no answer before the test allows it. */
static atomic_bool resolves;

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **found)
{
    static const char loopback[] = "127.0.0.1";
    struct sockaddr_in *at;

    (void)hints;
    if (strcmp(name, "slow.test") == 0)
        while (!atomic_load(&resolves))
            (void)usleep(10000);
    else if (strcmp(name, loopback) != 0)
        return EAI_NONAME;
    *found = calloc(1, sizeof **found + sizeof *at);
    if (*found == NULL)
        return EAI_MEMORY;
    at = (struct sockaddr_in *)(void *)(*found + 1);
    at->sin_family = AF_INET;
    at->sin_port = htons((uint16_t)(service == NULL ? 0 : strtoul(service, NULL, 10)));
    at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (*found)->ai_family = AF_INET;
    (*found)->ai_socktype = SOCK_STREAM;
    (*found)->ai_addrlen = sizeof *at;
    (*found)->ai_addr = (struct sockaddr *)at;
    return 0;
}

void freeaddrinfo(struct addrinfo *found)
{
    free(found);
}

static struct dx_source *open_root(const char *host, const struct dx_source_options *options)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_source *src = NULL;
    char root[64];

    (void)snprintf(root, sizeof root, "http://%s:%u/root/", host, origin.port);
    if (dx_source_open(&src, root, options, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return src;
}

#define SIZE 100
#define SLACK_MS 30000 /* other tests run beside this one; on a quiet machine it is below 10 */
#define READS_MOST 8

/* One batch, its reads, and what became of it. */
struct job {
    struct dx_read reads[READS_MOST];
    struct dx_pin pins[READS_MOST];
    struct dx_seen seen[READS_MOST];
    struct dx_source_batch_report report;
    struct dx_source_batch batch;
    struct dx_fetch *fetch;
    uint8_t to[READS_MOST][SIZE];
    unsigned *left;
    unsigned calls;
    int rc;
    struct dx_error err;
    uint64_t at_ms;
};

static void on_done(void *ctx, int rc, const struct dx_error *err)
{
    struct job *job = ctx;

    job->calls++;
    job->rc = rc;
    job->err = *err;
    job->fetch = NULL;
    job->at_ms = dx_clock_ms();
    (*job->left)--;
}

static void prepare(struct job *job, const char *object, size_t count, uint64_t deadline_ms,
                    unsigned *left)
{
    memset(job, 0, sizeof *job);
    for (size_t i = 0; i < count; i++)
        job->reads[i] = (struct dx_read){ object, i * ORIGIN_APART, SIZE, job->to[i] };
    job->report.seen = job->seen;
    job->batch = (struct dx_source_batch){
        .reads = job->reads,
        .pins = job->pins,
        .count = count,
        .deadline_ms = deadline_ms == 0 ? 0 : dx_clock_ms() + deadline_ms,
        .report = &job->report,
    };
    job->left = left;
}

static bool all_right(const struct job *job)
{
    for (size_t i = 0; i < job->batch.count; i++)
        if (!origin_right(&job->reads[i]) || strcmp(job->seen[i].etag, "\"v1\"") != 0)
            return false;
    return job->report.failed == job->batch.count;
}

static void begin(struct dx_fetch_loop *loop, struct dx_source *src, struct job *job)
{
    int rc = dx_fetch_begin(loop, src, &job->batch, on_done, job, &job->fetch, &job->err);

    EXPECT(rc == DX_OK && job->calls == 0, "%d: %s", rc, job->err.text);
    (*job->left)++;
}

static void run_until(struct event_base *base, const unsigned *left, uint64_t ms)
{
    uint64_t end = dx_clock_ms() + ms;

    while (*left > 0 && dx_clock_ms() < end) {
        const struct timeval tick = { 0, 20000 };

        (void)event_base_loopexit(base, &tick);
        (void)event_base_dispatch(base);
    }
}

struct world {
    struct event_base *base;
    struct dx_fetch_loop *loop;
    struct dx_source *src;
    struct dx_fetch_limits limits;
    unsigned left;
};

/* hasty: what does not answer is given up soon. */
static void world_begin(struct world *w, unsigned in_flight_max, bool hasty)
{
    struct dx_source_options options = DX_SOURCE_OPTIONS_INIT;
    struct dx_error err = DX_ERROR_INIT;

    memset(w, 0, sizeof *w);
    dx_fetch_limits_init(&w->limits, in_flight_max);
    options.connect_ms = hasty ? 100 : 2000;
    options.first_byte_ms = hasty ? 200 : 5000;
    options.stall_ms = hasty ? 200 : 5000;
    options.attempts_max = 2;
    options.limits = &w->limits;
    w->src = open_root("127.0.0.1", &options);
    w->base = event_base_new();
    EXPECT(dx_fetch_loop_new(&w->loop, w->base, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_source_on_loop(w->src), "HTTP is read on loops");
    origin_reset();
}

static void world_end(struct world *w)
{
    EXPECT(w->left == 0, "%u batches left", w->left);
    EXPECT(w->limits.in_flight == 0 && w->limits.queue == NULL, "%u in flight",
           w->limits.in_flight);
    dx_fetch_loop_free(&w->loop);
    dx_source_close(&w->src);
    event_base_free(w->base);
    dx_fetch_limits_release(&w->limits);
}

static void check_many(void)
{
    enum { MANY = 300 };
    struct job *jobs = calloc(MANY, sizeof *jobs);
    struct world w;

    if (jobs == NULL)
        abort();
    world_begin(&w, 16, false);
    for (size_t i = 0; i < MANY; i++) {
        prepare(&jobs[i], "many", 1 + i % READS_MOST, 20000, &w.left);
        begin(w.loop, w.src, &jobs[i]);
    }
    run_until(w.base, &w.left, 20000);
    for (size_t i = 0; i < MANY; i++)
        EXPECT(jobs[i].calls == 1 && jobs[i].rc == DX_OK && all_right(&jobs[i]),
               "batch %zu: %u, %s", i, jobs[i].calls, jobs[i].err.text);
    EXPECT(origin.most <= 16 && origin.connections <= 17, "%u at once, %u connections", origin.most,
           origin.connections);
    world_end(&w);
    free(jobs);
}

static const struct {
    const char *object;
    struct dx_pin pin; /* of the last read */
    uint64_t offset;   /* of the last read, if not 0 */
    uint64_t deadline_ms;
    int want;
    const char *words;
    bool hasty;
} rows[] = {
    { "plain", { ORIGIN_TOTAL, "\"v1\"" }, 0, 5000, DX_OK, NULL, false },
    { "plain", { 0, "\"v0\"" }, 0, 5000, DX_E_CONFLICT, "replaced", false },
    { "plain", { ORIGIN_TOTAL + 1, NULL }, 0, 5000, DX_E_CONFLICT, "size", false },
    { "plain", { 0, NULL }, ORIGIN_TOTAL - 50, 5000, DX_E_TRUNCATED, "ends before", false },
    { "once503", { 0, NULL }, 0, 5000, DX_OK, NULL, false },
    { "once_wrong", { 0, NULL }, 0, 5000, DX_OK, NULL, false },
    { "once_cut", { 0, NULL }, 0, 5000, DX_OK, NULL, false },
    { "once_mute", { 0, NULL }, 0, 5000, DX_OK, NULL, true },
    { "down", { 0, NULL }, 0, 5000, DX_E_BUSY, "SlowDown", false },
    { "wrong", { 0, NULL }, 0, 5000, DX_E_CORRUPT, "Content-Range", false },
    { "mute", { 0, NULL }, 0, 5000, DX_E_TIMEOUT, "no reply in time", true },
    { "mute", { 0, NULL }, 0, 100, DX_E_TIMEOUT, "deadline", true },
    { "stuck", { 0, NULL }, 0, 5000, DX_E_TIMEOUT, "stalled", true },
    { "drip", { 0, NULL }, 0, 5000, DX_E_TIMEOUT, "too slowly", true },
    { "none", { 0, NULL }, 0, 5000, DX_E_NOT_FOUND, "404", false },
    { "moved", { 0, NULL }, 0, 5000, DX_E_IO, "redirection", false },
};

/* The same words and codes in both ways of reading. */
static void check_rows(void)
{
    for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
        size_t row = i / 2;
        uint64_t begun = dx_clock_ms();
        struct dx_read *last;
        struct world w;
        struct job job;

        world_begin(&w, 16, rows[row].hasty);
        prepare(&job, rows[row].object, 1, rows[row].deadline_ms, &w.left);
        last = &job.reads[job.batch.count - 1];
        job.pins[job.batch.count - 1] = rows[row].pin;
        if (rows[row].offset != 0)
            last->offset = rows[row].offset;
        if (i % 2 == 0) {
            begin(w.loop, w.src, &job);
            run_until(w.base, &w.left, 5000 + SLACK_MS);
        } else {
            job.rc = dx_source_read_batch(w.src, &job.batch, &job.err);
            job.calls = 1;
            job.at_ms = dx_clock_ms();
        }
        EXPECT(job.calls == 1 && job.rc == rows[row].want, "row %zu, %s: %u, %d %s", row,
               rows[row].object, job.calls, job.rc, job.err.text);
        EXPECT(job.rc < 0 || all_right(&job), "row %zu: bytes or report", row);
        EXPECT(job.rc == DX_OK || (strstr(job.err.text, rows[row].words) != NULL &&
                                   job.report.failed == job.batch.count - 1),
               "row %zu: %s, read %zu", row, job.err.text, job.report.failed);
        EXPECT(job.at_ms <= begun + rows[row].deadline_ms + SLACK_MS, "row %zu: %llu ms", row,
               (unsigned long long)(job.at_ms - begun));
        world_end(&w);
    }
}

/* A batch of several objects: what was accepted is reported even if another read fails. */
static void check_report(void)
{
    struct world w;
    struct job job;
    struct dx_fetch *fetch;

    world_begin(&w, 16, false);
    prepare(&job, "plain", 4, 2000, &w.left);
    job.reads[2].object = "none";
    begin(w.loop, w.src, &job);
    run_until(w.base, &w.left, 3000);
    EXPECT(job.rc == DX_E_NOT_FOUND && job.report.failed == 2, "%d, read %zu", job.rc,
           job.report.failed);
    EXPECT(job.seen[2].etag[0] == '\0', "%s", job.seen[2].etag);
    prepare(&job, "plain", 2, 2000, &w.left);
    job.reads[1].object = "../x";
    EXPECT(dx_fetch_begin(w.loop, w.src, &job.batch, on_done, &job, &fetch, &job.err) ==
                   DX_E_INVALID &&
               job.report.failed == 1 && fetch == NULL,
           "%s", job.err.text);
    prepare(&job, "plain", 2, 2000, &w.left);
    job.reads[1].size = SIZE;
    job.pins[1].total = ORIGIN_APART;
    EXPECT(dx_fetch_begin(w.loop, w.src, &job.batch, on_done, &job, &fetch, &job.err) ==
                   DX_E_TRUNCATED &&
               job.report.failed == 1,
           "%s", job.err.text);
    /* Nothing to read is read, later. */
    prepare(&job, "plain", 0, 2000, &w.left);
    begin(w.loop, w.src, &job);
    run_until(w.base, &w.left, 1000);
    EXPECT(job.calls == 1 && job.rc == DX_OK, "%u, %d", job.calls, job.rc);
    prepare(&job, "plain", 1, 2000, &w.left);
    job.reads[0].size = 0;
    begin(w.loop, w.src, &job);
    run_until(w.base, &w.left, 1000);
    EXPECT(job.calls == 1 && job.rc == DX_OK, "%u, %d", job.calls, job.rc);
    world_end(&w);
}

/* Broken off after each few milliseconds: queued in the gate, connecting, asked, half there,
 * waiting for the next attempt, over. */
static void check_cancel(void)
{
    static const char *const objects[] = { "plain", "many", "slow", "mute",
                                           "stuck", "drip", "down", "none" };
    struct world w;
    unsigned broken_off = 0;

    world_begin(&w, 3, false);
    for (unsigned ms = 0; ms < 60; ms += 6)
        for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++) {
            struct job jobs[3];
            uint64_t end;

            for (size_t k = 0; k < 3; k++) {
                prepare(&jobs[k], objects[(i + k) % 8], READS_MOST, 2000, &w.left);
                begin(w.loop, w.src, &jobs[k]);
            }
            for (end = dx_clock_ms() + ms; dx_clock_ms() < end;) {
                (void)event_base_loop(w.base, EVLOOP_NONBLOCK);
                (void)usleep(200);
            }
            for (size_t k = 0; k < 3; k++) {
                struct job *job = &jobs[(k + i) % 3];

                broken_off += job->fetch != NULL;
                w.left -= job->fetch != NULL;
                dx_fetch_cancel(&job->fetch);
                memset(job->to, 0, sizeof job->to);
            }
            EXPECT(w.left == 0 && w.limits.in_flight == 0, "%u left, %u in flight", w.left,
                   w.limits.in_flight);
            for (size_t k = 0; k < 3; k++) {
                unsigned calls = jobs[k].calls;

                (void)event_base_loop(w.base, EVLOOP_NONBLOCK);
                EXPECT(jobs[k].calls == calls, "called after cancel");
                EXPECT(jobs[k].to[0][0] == 0, "written to after cancel");
            }
        }
    EXPECT(broken_off > 50, "%u", broken_off);
    world_end(&w);
}

/* All kinds of objects at once: right bytes or an error, each batch once, by its deadline. */
static void check_storm(void)
{
    enum { MANY = 240 };
    static const char *const objects[] = { "plain", "once503", "once_wrong", "once_cut", "many",
                                           "none",  "stuck",   "turning",    "mute",     "down" };
    struct job *jobs = calloc(MANY, sizeof *jobs);
    struct dx_source_options options = DX_SOURCE_OPTIONS_INIT;
    struct dx_source *other;
    size_t good = 0;
    struct world w;
    uint64_t end;

    if (jobs == NULL)
        abort();
    world_begin(&w, 40, true);
    options.limits = &w.limits;
    other = open_root("127.0.0.1", &options);
    for (size_t i = 0; i < MANY; i++) {
        prepare(&jobs[i], objects[i * 7 % 10], 1 + i % 4, 1500, &w.left);
        begin(w.loop, i % 3 == 0 ? other : w.src, &jobs[i]);
    }
    end = jobs[MANY - 1].batch.deadline_ms;
    run_until(w.base, &w.left, 1500 + SLACK_MS);
    for (size_t i = 0; i < MANY; i++) {
        const struct job *job = &jobs[i];

        EXPECT(job->calls == 1 && job->at_ms <= end + SLACK_MS, "batch %zu: %u", i, job->calls);
        for (size_t k = 0; k < job->batch.count && job->rc == DX_OK; k++)
            EXPECT(origin_right(&job->reads[k]), "batch %zu, read %zu: wrong bytes", i, k);
        EXPECT(job->rc == DX_OK || (job->err.text[0] != '\0' && job->report.failed < 4),
               "batch %zu: %d", i, job->rc);
        good += job->rc == DX_OK;
    }
    EXPECT(good >= MANY / 10 && good < MANY, "%zu good batches", good);
    dx_source_close(&other);
    world_end(&w);
    free(jobs);
}

struct chain {
    struct world *w;
    struct job job;
    struct job other; /* broken off by the first done */
    unsigned links;
};

static void on_chain(void *ctx, int rc, const struct dx_error *err)
{
    struct chain *chain = ctx;

    EXPECT(rc == DX_OK && all_right(&chain->job), "%s", err->text);
    chain->w->left--;
    if (chain->other.fetch != NULL) {
        chain->w->left--;
        dx_fetch_cancel(&chain->other.fetch);
    }
    if (++chain->links < 20) {
        struct dx_error words = DX_ERROR_INIT;

        prepare(&chain->job, "plain", 2, 2000, &chain->w->left);
        EXPECT(dx_fetch_begin(chain->w->loop, chain->w->src, &chain->job.batch, on_chain, chain,
                              &chain->job.fetch, &words) == DX_OK,
               "%s", words.text);
        chain->w->left++;
    }
}

/* done begins batches and breaks others off. */
static void check_chain(void)
{
    struct chain chain = { .links = 0 };
    struct dx_error err = DX_ERROR_INIT;
    struct world w;

    world_begin(&w, 4, false);
    chain.w = &w;
    prepare(&chain.other, "mute", 2, 3000, &w.left);
    begin(w.loop, w.src, &chain.other);
    prepare(&chain.job, "plain", 2, 2000, &w.left);
    EXPECT(dx_fetch_begin(w.loop, w.src, &chain.job.batch, on_chain, &chain, &chain.job.fetch,
                          &err) == DX_OK,
           "%s", err.text);
    w.left++;
    run_until(w.base, &w.left, 5000);
    EXPECT(chain.links == 20 && chain.other.calls == 0, "%u links", chain.links);
    world_end(&w);
}

/* A deadline holds although the name server does not answer, and so does breaking off. */
static void check_resolver(void)
{
    struct dx_source_options options = DX_SOURCE_OPTIONS_INIT;
    uint64_t begun;
    struct dx_source *slow;
    struct dx_error err = DX_ERROR_INIT;
    struct world w;
    struct job job;

    world_begin(&w, 4, false);
    options.limits = &w.limits;
    options.connect_ms = 5000;
    slow = open_root("slow.test", &options);
    begun = dx_clock_ms();
    prepare(&job, "plain", 3, 150, &w.left);
    begin(w.loop, slow, &job);
    run_until(w.base, &w.left, SLACK_MS);
    EXPECT(job.rc == DX_E_TIMEOUT && job.at_ms - begun >= 150 && job.at_ms - begun < 150 + SLACK_MS,
           "%llu ms: %s", (unsigned long long)(job.at_ms - begun), job.err.text);
    begun = dx_clock_ms();
    prepare(&job, "plain", 3, 3000, &w.left);
    begin(w.loop, slow, &job);
    (void)event_base_loop(w.base, EVLOOP_NONBLOCK);
    (void)event_base_loop(w.base, EVLOOP_NONBLOCK);
    w.left--;
    dx_fetch_cancel(&job.fetch);
    EXPECT(dx_clock_ms() - begun < SLACK_MS, "%llu ms to break off",
           (unsigned long long)(dx_clock_ms() - begun));
    begun = dx_clock_ms();
    prepare(&job, "plain", 3, 150, &w.left);
    EXPECT(dx_source_read_batch(slow, &job.batch, &err) == DX_E_TIMEOUT, "%s", err.text);
    EXPECT(dx_clock_ms() - begun < 150 + SLACK_MS, "%llu ms in a thread",
           (unsigned long long)(dx_clock_ms() - begun));
    atomic_store(&resolves, true);
    dx_source_close(&slow);
    world_end(&w);
    (void)usleep(500000); /* the threads that resolve have ended: leaks are seen */
}

static void *read_in_thread(void *arg)
{
    struct dx_source *src = arg;
    uint8_t to[10];
    size_t good = 0;

    for (uint64_t i = 0; i < 50; i++) {
        const struct dx_read read = { "many", i * ORIGIN_APART, sizeof to, to };
        struct dx_error err = DX_ERROR_INIT;

        good += dx_source_read(src, &read, 1, &err) == DX_OK && origin_right(&read);
    }
    return (void *)good;
}

/* Threads and a loop behind one gate of two places: all get their turn. */
static void check_gate(void)
{
    struct world w;
    struct job jobs[20];
    pthread_t threads[3];

    world_begin(&w, 2, false);
    for (size_t i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, read_in_thread, w.src) != 0)
            abort();
    for (size_t i = 0; i < 20; i++) {
        prepare(&jobs[i], "many", 5, 10000, &w.left);
        begin(w.loop, w.src, &jobs[i]);
    }
    run_until(w.base, &w.left, 10000);
    for (size_t i = 0; i < 20; i++)
        EXPECT(jobs[i].rc == DX_OK && all_right(&jobs[i]), "%s", jobs[i].err.text);
    for (size_t i = 0; i < 3; i++) {
        void *good;

        (void)pthread_join(threads[i], &good);
        EXPECT((size_t)good == 50, "thread %zu: %zu reads", i, (size_t)good);
    }
    EXPECT(origin.most <= 2 && w.limits.in_flight_high <= 2, "%u at once", origin.most);
    world_end(&w);
}

static struct dx_fetch_counts counts(void)
{
    struct dx_fetch_counts now;

    dx_fetch_counts_read(&now);
    return now;
}

/* New connections although there are open ones. */
static void check_fresh(void)
{
    struct world w;
    struct job job;

    world_begin(&w, 16, false);
    for (unsigned i = 0; i < 4; i++) {
        prepare(&job, "plain", 3, 2000, &w.left);
        job.batch.fresh = i == 3;
        origin_reset();
        begin(w.loop, w.src, &job);
        run_until(w.base, &w.left, 2000);
        EXPECT(job.rc == DX_OK && all_right(&job), "%s", job.err.text);
        EXPECT(origin.requests == 3 && origin.connections == (i == 0 || i == 3 ? 3 : 0),
               "batch %u: %u connections", i, origin.connections);
    }
    world_end(&w);
}

static void check_joined(void)
{
    const struct dx_fetch_counts before = counts();
    struct dx_fetch_counts after;
    struct world w;
    struct job job;

    world_begin(&w, 16, false);
    prepare(&job, "plain", 8, 2000, &w.left);
    for (size_t i = 0; i < 8; i++)
        job.reads[i].offset = i < 6 ? 1000 - i * 90 : i * ORIGIN_APART;
    job.reads[2].size = 0;
    begin(w.loop, w.src, &job);
    run_until(w.base, &w.left, 2000);
    job.seen[2] = job.seen[1]; /* of no byte nothing is known */
    EXPECT(job.rc == DX_OK && all_right(&job), "%s", job.err.text);
    EXPECT(origin.requests == 3, "%u requests", origin.requests);
    after = counts();
    EXPECT(after.reads - before.reads == 7 && after.joined_reads - before.joined_reads == 4 &&
               after.requests - before.requests == 3 && after.accepted - before.accepted == 3 &&
               after.received_bytes - before.received_bytes == 550 + 200,
           "%llu reads, %llu bytes", (unsigned long long)(after.reads - before.reads),
           (unsigned long long)(after.received_bytes - before.received_bytes));
    /* Of those that were joined the one that is too long is named. */
    prepare(&job, "plain", 4, 2000, &w.left);
    for (size_t i = 0; i < 4; i++)
        job.reads[i].offset = ORIGIN_TOTAL - 100 - (i == 2 ? 0 : 40 * i + 50);
    job.reads[2].size = SIZE;
    job.reads[2].offset += 1;
    begin(w.loop, w.src, &job);
    run_until(w.base, &w.left, 2000);
    EXPECT(job.rc == DX_E_TRUNCATED && job.report.failed == 2, "%d: read %zu, %s", job.rc,
           job.report.failed, job.err.text);
    world_end(&w);
}

static void check_counts(void)
{
    const struct dx_fetch_counts before = counts();
    struct dx_fetch_counts after;
    struct world w;
    struct job job;
    static const char *const objects[] = { "once503", "wrong", "mute", "once_cut" };

    world_begin(&w, 16, false);
    for (size_t i = 0; i < 4; i++) {
        prepare(&job, objects[i], 1, i == 2 ? 100 : 3000, &w.left);
        origin_reset();
        begin(w.loop, w.src, &job);
        run_until(w.base, &w.left, 3000);
    }
    prepare(&job, "plain", 1, 2000, &w.left);
    job.pins[0].etag = "\"v0\"";
    begin(w.loop, w.src, &job);
    run_until(w.base, &w.left, 3000);
    prepare(&job, "plain", 1, 2000, &w.left);
    job.reads[0].offset = ORIGIN_TOTAL + 5;
    begin(w.loop, w.src, &job);
    run_until(w.base, &w.left, 3000);
    after = counts();
    EXPECT(after.batches - before.batches == 6 && after.requests - before.requests == 9 &&
               after.retries - before.retries == 3 && after.broken - before.broken == 1 &&
               after.deadlines_missed - before.deadlines_missed == 1 &&
               after.conflicts - before.conflicts == 1 &&
               after.ranges_impossible - before.ranges_impossible == 1,
           "%llu batches, %llu requests, %llu retries, %llu broken",
           (unsigned long long)(after.batches - before.batches),
           (unsigned long long)(after.requests - before.requests),
           (unsigned long long)(after.retries - before.retries),
           (unsigned long long)(after.broken - before.broken));
    EXPECT(after.refused[DX_REPLY_THROTTLED] - before.refused[DX_REPLY_THROTTLED] == 1 &&
               after.refused[DX_REPLY_OTHER_RANGE] - before.refused[DX_REPLY_OTHER_RANGE] == 2 &&
               after.refused[DX_REPLY_CHANGED] - before.refused[DX_REPLY_CHANGED] == 1,
           "refusals");
    EXPECT(after.in_flight == 0 && after.retry_tokens == DX_RETRY_BUDGET_FULL, "shared limits");
    world_end(&w);
}

/* One read after the other, so that each is measured. */
static uint64_t read_once(struct world *w, struct dx_source *src, const char *object, size_t count)
{
    uint64_t begun = dx_clock_ms();
    struct job job;

    prepare(&job, object, count, 3000, &w->left);
    begin(w->loop, src, &job);
    run_until(w->base, &w->left, 4000);
    EXPECT(job.rc == DX_OK && all_right(&job), "%s: %s", object, job.err.text);
    return dx_clock_ms() - begun;
}

static void check_hedge(void)
{
    struct dx_source_options options = DX_SOURCE_OPTIONS_INIT;
    struct dx_fetch_counts before;
    struct dx_fetch_counts after;
    struct dx_source *src;
    struct world w;
    uint64_t ms;

    world_begin(&w, 64, false);
    options.limits = &w.limits;
    options.first_byte_ms = 3000;
    options.hedge = true;
    src = open_root("127.0.0.1", &options);
    for (unsigned i = 0; i < 30; i++)
        (void)read_once(&w, src, "plain", 8);
    EXPECT(dx_hedge_after_ms(&w.limits.hedge) <= DX_HEDGE_CAP_MS, "there are samples");
    atomic_store(&w.limits.hedge.tokens, DX_HEDGE_COST);
    before = counts();
    origin_reset();
    ms = read_once(&w, src, "once_mute", 1);
    after = counts();
    EXPECT(after.hedges - before.hedges == 1 && after.hedges_won - before.hedges_won == 1 &&
               origin.requests == 2,
           "%llu ms, %llu hedges", (unsigned long long)ms,
           (unsigned long long)(after.hedges - before.hedges));
    EXPECT(w.limits.in_flight == 0, "%u in flight", w.limits.in_flight);
    /* All are late: 2 % and what was saved up. */
    before = after;
    atomic_store(&w.limits.hedge.tokens, 3 * DX_HEDGE_COST);
    for (unsigned i = 0; i < 10; i++)
        (void)read_once(&w, src, "slow", 8);
    after = counts();
    EXPECT(after.hedges - before.hedges >= 1 && after.hedges - before.hedges <= 4,
           "%llu hedges for 80 requests", (unsigned long long)(after.hedges - before.hedges));
    /* A store that fails is spared. */
    atomic_store(&w.limits.hedge.tokens, 1000);
    atomic_store(&w.limits.budget.tokens, DX_RETRY_BUDGET_FULL / 2 - 1 - 8);
    (void)read_once(&w, src, "slow", 8);
    EXPECT(counts().hedges == after.hedges, "no hedge while the retry budget is low");
    dx_source_close(&src);
    /* Off unless asked for. */
    atomic_store(&w.limits.budget.tokens, DX_RETRY_BUDGET_FULL);
    options.hedge = false;
    src = open_root("127.0.0.1", &options);
    (void)read_once(&w, src, "slow", 8);
    EXPECT(counts().hedges == after.hedges, "hedging is off");
    dx_source_close(&src);
    world_end(&w);
}

/* The order of the queue, place by place. */
static void check_queue(void)
{
    struct dx_fetch_waiter a = { .fd = eventfd(0, EFD_NONBLOCK) };
    struct dx_fetch_waiter b = { .fd = eventfd(0, EFD_NONBLOCK) };
    struct dx_fetch_limits limits;
    uint64_t n;

    dx_fetch_limits_init(&limits, 2);
    EXPECT(dx_fetch_limits_enter(&limits) && dx_fetch_limits_enter(&limits), "two places");
    EXPECT(!dx_fetch_limits_enter(&limits), "no third");
    EXPECT(!dx_fetch_limits_enter_as(&limits, &a) && !dx_fetch_limits_enter_as(&limits, &b),
           "both wait");
    dx_fetch_limits_leave(&limits);
    EXPECT(read(a.fd, &n, sizeof n) == sizeof n && read(b.fd, &n, sizeof n) < 0, "a is woken");
    EXPECT(!dx_fetch_limits_enter(&limits) && !dx_fetch_limits_enter_as(&limits, &b),
           "the place is kept for a");
    dx_fetch_limits_leave(&limits);
    EXPECT(read(b.fd, &n, sizeof n) == sizeof n, "b is woken: a slow a holds up one place only");
    EXPECT(!dx_fetch_limits_enter(&limits) && dx_fetch_limits_enter_as(&limits, &b), "b enters");
    dx_fetch_limits_unqueue(&limits, &a);
    EXPECT(dx_fetch_limits_enter(&limits), "nobody waits any more");
    EXPECT(!dx_fetch_limits_enter_as(&limits, &a) && !dx_fetch_limits_enter_as(&limits, &b),
           "both wait again");
    dx_fetch_limits_leave(&limits);
    (void)!read(a.fd, &n, sizeof n);
    dx_fetch_limits_unqueue(&limits, &a);
    EXPECT(read(b.fd, &n, sizeof n) == sizeof n, "who goes away hands its place on");
    EXPECT(dx_fetch_limits_enter_as(&limits, &b) && limits.queue == NULL, "b enters");
    dx_fetch_limits_release(&limits);
    (void)close(a.fd);
    (void)close(b.fd);
}

int main(void)
{
    (void)setenv("NO_PROXY", "127.0.0.1,slow.test", 1);
    origin_begin();
    check_queue();
    check_many();
    check_rows();
    check_report();
    check_cancel();
    check_storm();
    check_chain();
    check_gate();
    check_fresh();
    check_joined();
    check_counts();
    check_hedge();
    check_resolver();
    return failures > 0;
}
