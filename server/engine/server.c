/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/server.h"

#include "base/clock.h"
#include "base/log.h"
#include "server/engine/admin_listener.h"
#include "server/engine/loop_thread.h"
#include "server/http/listening.h"
#include "server/observe/request_log.h"
#include "server/routes/openapi.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#define STOP_EXTRA_MS 1000 /* for threads to end after the last connection */

/* Descriptors that are not connections: versions being opened, lake files, logs. */
#define FDS_RESERVED 64

#define DOCUMENT_MAX (1024 * 1024) /* bytes of /openapi.json: a tenth of it today */

struct dx_server {
    struct dx_serving serving;
    struct dx_listening at;
    struct dx_listening admin; /* name "": none */
};

struct dx_server_options dx_server_options_default(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    return (struct dx_server_options){
        .listen = "127.0.0.1:8080",
        .listen_fd = -1,
        .admin_fd = -1,
        .socket_mode = 0660,
        .loops = cores < 1    ? 1
                 : cores > 64 ? 64
                              : (unsigned)cores,
        .workers = cores < 2    ? 2
                   : cores > 32 ? 32
                                : (unsigned)cores,
        .queue_max = 1024,
        .read_memory = (size_t)512 << 20,
        .connections_max = 10000,
        .head_timeout_ms = 5000,
        .idle_timeout_ms = 60000,
        .queue_timeout_ms = 3000,
        .storage_timeout_ms = 10000,
        .job_timeout_ms = 30000,
        .write_timeout_ms = 30000,
        .reply_memory = (size_t)256 << 20,
        .hot_memory = (size_t)64 << 20,
        .answer_cache = (uint64_t)64 << 20,
        .admission = { .addresses_max = DX_ADMISSION_ADDRESSES },
    };
}

static unsigned open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned n = 0;

    if (dir == NULL)
        return 32;
    while (readdir(dir) != NULL)
        n++;
    (void)closedir(dir);
    return n;
}

/* As many as the limit of descriptors carries beside what is open and what comes and goes. */
static unsigned connections_possible(unsigned wanted)
{
    struct rlimit limit;
    rlim_t taken = open_descriptors() + FDS_RESERVED;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return wanted;
    if (limit.rlim_cur <= taken + 1)
        return 1;
    return limit.rlim_cur - taken < wanted ? (unsigned)(limit.rlim_cur - taken) : wanted;
}

static int start_loops(struct dx_server *s, struct dx_error *err)
{
    struct dx_serving *serving = &s->serving;
    unsigned count = serving->options.loops;
    int rc = DX_OK;

    serving->loops = calloc(count, sizeof(struct dx_loop *));
    if (serving->loops == NULL)
        return dx_no_memory(err, "server");
    for (unsigned i = 0; i < count && rc == DX_OK; i++) {
        rc = dx_loop_new(&serving->loops[i], serving, s->at.fd, err);
        s->at.fd = -1; /* the first one's */
        serving->loop_count += rc == DX_OK;
    }
    if (rc == DX_OK && s->admin.fd >= 0)
        rc = dx_admin_listener_begin(&serving->loops[0]->admin, serving->loops[0], s->admin.fd,
                                     err);
    /* The accepting loop starts last: it hands connections to loops that run. */
    for (unsigned i = serving->loop_count; i > 0 && rc == DX_OK; i--)
        rc = dx_loop_start(serving->loops[i - 1], err);
    return rc;
}

/* fd: listens already; -1: `at` says where. */
static int listen_at(struct dx_listening *l, int fd, const char *at, unsigned mode,
                     struct dx_error *err)
{
    *l = (struct dx_listening)DX_LISTENING_INIT;
    if (fd >= 0)
        dx_listening_take(l, fd);
    else if (at != NULL)
        return dx_listening_open(l, at, mode, err);
    return DX_OK;
}

static int open_log(struct dx_server *s, struct dx_error *err)
{
    const struct dx_server_options *options = &s->serving.options;
    const struct dx_request_log_options o = { .target = options->log_requests,
                                              .targets = options->log_targets,
                                              .rings = options->loops };

    return o.target == NULL ? DX_OK : dx_request_log_open(&s->serving.log, &o, err);
}

/* Trusted proxies are not counted; their clients are. */
static int open_admission(struct dx_server *s, struct dx_error *err)
{
    struct dx_admission_options options = s->serving.options.admission;

    if (options.proxy_count == 0) {
        options.proxies = s->serving.options.identity.proxies;
        options.proxy_count = s->serving.options.identity.proxy_count;
    }
    return dx_admission_new(&s->serving.admission, &options, s->serving.seed, err);
}

static int write_documents(struct dx_serving *serving, struct dx_error *err)
{
    dx_buf_init(&serving->openapi, DOCUMENT_MAX);
    dx_buf_init(&serving->docs, DOCUMENT_MAX);
    dx_openapi_write(&serving->openapi);
    dx_openapi_page(&serving->docs);
    if (serving->openapi.failed)
        return dx_buf_fail(&serving->openapi, err, "/openapi.json");
    return serving->docs.failed ? dx_buf_fail(&serving->docs, err, "/docs") : DX_OK;
}

static int start_threads(struct dx_server *s, struct dx_error *err)
{
    const struct dx_server_options *options = &s->serving.options;
    const struct dx_workers_options workers = {
        .count = options->workers,
        .queue_max = options->queue_max,
        .hold_max = options->read_memory,
        .queue_timeout_ms = options->queue_timeout_ms,
        .storage_timeout_ms = options->storage_timeout_ms,
    };
    int rc = listen_at(&s->at, options->listen_fd, options->listen, options->socket_mode, err);
    /* Also after a failure, since a socket that was handed over is ours to close. */
    int admin_rc = listen_at(&s->admin, options->admin_fd, rc < 0 ? NULL : options->admin,
                             options->socket_mode, err);

    rc = rc < 0 ? rc : admin_rc;
    if (rc == DX_OK)
        rc = write_documents(&s->serving, err);
    if (rc == DX_OK)
        rc = open_log(s, err);
    if (rc == DX_OK) {
        s->serving.options.connections_max = connections_possible(options->connections_max);
        rc = dx_workers_start(&s->serving.workers, &workers, s->serving.answers, err);
    }
    if (rc == DX_OK)
        rc = open_admission(s, err);
    if (rc == DX_OK && options->answer_cache > 0)
        rc = dx_body_cache_new(&s->serving.bodies, options->answer_cache, s->serving.seed, err);
    return rc < 0 ? rc : start_loops(s, err);
}

/* What replies depend on where not everybody sees the same. */
static void name_who_asks(struct dx_serving *serving)
{
    const char *header = serving->options.identity.names.principal;

    if (serving->options.version_max_age_s > 0)
        (void)snprintf(serving->version_caching, sizeof serving->version_caching,
                       "public, max-age=%u, immutable", serving->options.version_max_age_s);
    (void)snprintf(serving->vary, sizeof serving->vary, "Authorization%s%s",
                   header == NULL ? "" : ", ", header == NULL ? "" : header);
}

int dx_server_start(struct dx_server **server, const struct dx_server_options *options,
                    const struct dx_answers *answers, struct dx_error *err)
{
    struct dx_server *s = calloc(1, sizeof *s);
    int rc;

    *server = NULL;
    if (s == NULL) {
        if (options->listen_fd >= 0)
            (void)close(options->listen_fd);
        if (options->admin_fd >= 0)
            (void)close(options->admin_fd);
        return dx_no_memory(err, "server");
    }
    s->serving.options = *options;
    s->serving.answers = answers;
    if (getrandom(&s->serving.seed, sizeof s->serving.seed, GRND_NONBLOCK) < 0)
        s->serving.seed = dx_clock_ms(); /* of a machine that has just begun to boot */
    name_who_asks(&s->serving);
    rc = start_threads(s, err);
    if (rc < 0)
        (void)dx_server_stop(&s, 0);
    *server = s;
    return rc;
}

const char *dx_server_address(const struct dx_server *s)
{
    return s->at.name;
}

bool dx_server_speaks_tls(const struct dx_server *s)
{
    return s->serving.options.tls != NULL;
}

const char *dx_server_admin_address(const struct dx_server *s)
{
    return s->admin.name[0] == '\0' ? NULL : s->admin.name;
}

void dx_server_reopen_log(struct dx_server *s)
{
    if (s->serving.log != NULL)
        dx_request_log_reopen(s->serving.log);
}

static void tell_all(struct dx_server *s, unsigned what)
{
    for (unsigned i = 0; i < s->serving.loop_count; i++)
        dx_loop_tell(s->serving.loops[i], what);
}

void dx_server_version_changed(struct dx_server *s)
{
    tell_all(s, DX_LOOP_REFRESH);
    dx_workers_wake(s->serving.workers);
}

bool dx_server_lives(const struct dx_server *s, unsigned within_ms, struct dx_error *why)
{
    int64_t now = dx_monotonic_ms();
    uint64_t busy_ms = dx_workers_busy_ms(s->serving.workers);

    for (unsigned i = 0; i < s->serving.loop_count; i++) {
        int64_t since = now - atomic_load(&s->serving.loops[i]->counts.ticked_ms);

        if (since > (int64_t)within_ms) {
            (void)dx_fail(why, DX_E_TIMEOUT, "event loop %u has not turned for %lld ms", i,
                          (long long)since);
            return false;
        }
    }
    if (busy_ms <= 2 * (uint64_t)s->serving.options.job_timeout_ms)
        return true;
    (void)dx_fail(why, DX_E_TIMEOUT, "no worker has ended a job for %llu ms",
                  (unsigned long long)busy_ms);
    return false;
}

void dx_server_drain(struct dx_server *s)
{
    atomic_store(&s->serving.draining, true);
}

static struct timespec realtime_in_ms(unsigned ms)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += (long)(ms % 1000) * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    return t;
}

/* A loop that has not come to its message yet may still accept: no connection now says nothing of
 * it. */
static bool has_clients(const struct dx_server *s)
{
    for (unsigned i = 0; i < s->serving.loop_count; i++)
        if (!atomic_load(&s->serving.loops[i]->deaf))
            return true;
    return atomic_load(&s->serving.connections) > 0;
}

bool dx_server_stop(struct dx_server **server, unsigned grace_ms)
{
    struct dx_server *s = *server;
    struct timespec deadline;
    int64_t until = dx_monotonic_ms() + grace_ms;

    if (s == NULL)
        return true;
    dx_server_drain(s);
    tell_all(s, DX_LOOP_DRAIN);
    while (dx_monotonic_ms() < until && has_clients(s))
        (void)usleep(5000);
    tell_all(s, DX_LOOP_QUIT);
    for (unsigned i = 0; i < s->serving.loop_count; i++)
        dx_loop_join(s->serving.loops[i]);
    deadline = realtime_in_ms(STOP_EXTRA_MS);
    if (!dx_workers_stop(&s->serving.workers, &deadline))
        return false;
    for (unsigned i = 0; i < s->serving.loop_count; i++)
        dx_loop_free(&s->serving.loops[i]);
    dx_body_cache_free(&s->serving.bodies);
    dx_admission_free(&s->serving.admission);
    dx_listening_close(&s->at);
    dx_listening_close(&s->admin);
    if (!dx_request_log_close(&s->serving.log))
        dx_log(DX_LOG_WARN, "the log of requests does not end: its target hangs");
    dx_buf_release(&s->serving.openapi);
    dx_buf_release(&s->serving.docs);
    free(s->serving.loops);
    free(s);
    *server = NULL;
    return true;
}

struct dx_server_counts dx_server_counts_of(const struct dx_server *s)
{
    return dx_serving_counts(&s->serving);
}
