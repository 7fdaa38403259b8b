/* SPDX-License-Identifier: Apache-2.0 */
#include "server/observe/request_log.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/path.h"
#include "server/observe/record_ring.h"
#include "server/observe/request_json.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BUSY_MS 10 /* between two looks while there are requests */
#define IDLE_MS 50
#define BUSY_LOOKS 100  /* so many looks that found nothing, and it is idle */
#define WRITABLE_MS 100 /* that one wait for a blocked target takes, until it is asked to end */
#define CLOSE_MS 1000   /* for the rest when the server ends */
#define CLOSE_EXTRA_MS 500
#define SAY_MS 60000
#define BATCH_BYTES (64 * 1024)
#define ROUND 512 /* records of a ring, before other rings have their turn */

_Static_assert(DX_REQUEST_LINE_MAX <= DX_LOG_BYTES_MAX, "a line goes to standard error whole");

struct dx_request_log {
    char *path; /* NULL: standard error */
    int fd;     /* -1: standard error, or a file that could not be opened again */
    bool targets;
    bool torn;       /* the last line lacks its end */
    uint64_t said;   /* dropped lines that the program's log has reported */
    uint64_t say_ms; /* not before */
    struct dx_record_ring *rings;
    unsigned ring_count;
    pthread_t thread;
    pthread_mutex_t lock; /* of ended */
    pthread_cond_t cond;
    bool ended;
    struct dx_buf lines;
    _Atomic uint64_t stop_ms; /* 0: go on; else when to leave the rest */
    _Atomic bool reopen;
    _Atomic bool open;
    _Atomic uint64_t written;
    _Atomic uint64_t refused; /* lines that the target did not take */
};

/* ---- the target ---- */

/* Without waiting: a pipe with no reader is an error at once, and one that is full says so. */
#define OPEN_FLAGS (O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

static int open_file(const char *path)
{
    return open(path, OPEN_FLAGS | O_CREAT, 0640);
}

/* A file that is not there is not made: this may be another user than the server's. */
int dx_request_log_check(const char *target, struct dx_error *err)
{
    char folder[PATH_MAX];
    const char *name = strrchr(target, '/');
    int rc = DX_OK;
    int fd;

    if (strcmp(target, "stderr") == 0)
        return DX_OK;
    fd = open(target, OPEN_FLAGS);
    if (fd >= 0) {
        (void)close(fd);
        return DX_OK;
    }
    if (errno != ENOENT)
        return dx_fail_errno(err, errno, "%s", target);
    if (name == NULL)
        rc = dx_path_format(folder, sizeof folder, err, ".");
    else
        rc = dx_path_format(folder, sizeof folder, err, "%.*s/", (int)(name - target), target);
    if (rc == DX_OK && access(folder, W_OK | X_OK) != 0)
        rc = dx_fail_errno(err, errno, "%s", target);
    return rc;
}

static void open_again(struct dx_request_log *log)
{
    int fd = open_file(log->path);

    if (fd < 0)
        dx_log(DX_LOG_ERROR, "log of requests: %s: %s; its lines are dropped", log->path,
               strerror(errno));
    if (log->fd >= 0)
        (void)close(log->fd);
    log->fd = fd;
    log->torn = false;
    atomic_store(&log->open, fd >= 0);
}

static bool time_is_over(struct dx_request_log *log)
{
    uint64_t stop_ms = atomic_load(&log->stop_ms);

    return stop_ms != 0 && dx_clock_ms() >= stop_ms;
}

static bool wait_writable(struct dx_request_log *log)
{
    struct pollfd at = { .fd = log->path == NULL ? STDERR_FILENO : log->fd, .events = POLLOUT };

    (void)poll(&at, 1, WRITABLE_MS);
    return !time_is_over(log) && !atomic_load(&log->reopen);
}

/* Returns bytes taken, which are all, or fewer if the target refuses them or its time is over. */
static size_t write_file(struct dx_request_log *log, const uint8_t *bytes, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t n = log->fd < 0 ? -1 : write(log->fd, bytes + done, size - done);

        if (n > 0)
            done += (size_t)n;
        else if (n < 0 && errno == EINTR)
            continue;
        else if (log->fd < 0 || (errno != EAGAIN && errno != EWOULDBLOCK) || !wait_writable(log))
            break;
    }
    return done;
}

/* Whole lines, as many as go together. */
static size_t write_stderr(struct dx_request_log *log, const uint8_t *bytes, size_t size)
{
    size_t done = 0;

    while (done < size) {
        size_t piece = size - done;
        int rc;

        if (piece > DX_LOG_BYTES_MAX) {
            const uint8_t *end = memrchr(bytes + done, '\n', DX_LOG_BYTES_MAX);

            piece = (size_t)(end - (bytes + done)) + 1; /* no line is longer */
        }
        rc = dx_log_bytes(bytes + done, piece);
        if (rc == 1)
            done += piece;
        else if (rc < 0 || !wait_writable(log))
            break;
    }
    return done;
}

static uint64_t lines_in(const uint8_t *bytes, size_t size)
{
    uint64_t n = 0;

    for (size_t i = 0; i < size; i++)
        n += bytes[i] == '\n';
    return n;
}

static void write_lines(struct dx_request_log *log)
{
    struct dx_buf *b = &log->lines;
    size_t done = 0;
    uint64_t taken;

    if (b->size == 0)
        return;
    if (log->torn && write_file(log, (const uint8_t *)"\n", 1) == 1)
        log->torn = false;
    if (!log->torn)
        done = log->path == NULL ? write_stderr(log, b->data, b->size)
                                 : write_file(log, b->data, b->size);
    taken = lines_in(b->data, done);
    log->torn = log->torn || (done > 0 && b->data[done - 1] != '\n');
    (void)atomic_fetch_add(&log->written, taken);
    (void)atomic_fetch_add(&log->refused, lines_in(b->data, b->size) - taken);
    dx_buf_clear(b);
}

/* ---- the writer ---- */

/* At most ROUND records of a ring. */
static unsigned drain_ring(struct dx_request_log *log, struct dx_record_ring *ring)
{
    struct dx_request_record record;
    uint8_t room[DX_RING_TARGET_MAX];
    unsigned n = 0;

    while (n < ROUND && !time_is_over(log) && dx_record_ring_get(ring, &record, room)) {
        size_t before = log->lines.size;

        n++;
        dx_request_json(&record, &log->lines);
        if (log->lines.failed) { /* no memory: that line is lost, those before it are not */
            log->lines.failed = false;
            log->lines.size = before;
            (void)atomic_fetch_add(&log->refused, 1);
        }
        if (log->lines.size >= BATCH_BYTES - DX_REQUEST_LINE_MAX)
            write_lines(log);
    }
    return n;
}

/* How many records of the fullest ring were written: of ROUND there may be more. */
static unsigned drain(struct dx_request_log *log)
{
    unsigned most = 0;

    for (unsigned i = 0; i < log->ring_count; i++) {
        unsigned n = drain_ring(log, &log->rings[i]);

        most = n > most ? n : most;
    }
    write_lines(log);
    return most;
}

/* Once a minute: a log that is full would be full of that. */
static void say_dropped(struct dx_request_log *log)
{
    struct dx_request_log_counts now;

    if (dx_clock_coarse_ms() < log->say_ms)
        return;
    dx_request_log_counts_read(log, &now);
    if (now.dropped == log->said)
        return;
    dx_log(DX_LOG_WARN, "log of requests: %llu lines were dropped, since %s did not take them",
           (unsigned long long)(now.dropped - log->said),
           log->path == NULL ? "standard error" : log->path);
    log->said = now.dropped;
    log->say_ms = dx_clock_coarse_ms() + SAY_MS;
}

static void sleep_ms(unsigned ms)
{
    const struct timespec t = { 0, (long)ms * 1000000 };

    (void)nanosleep(&t, NULL);
}

static void *run_writer(void *argument)
{
    struct dx_request_log *log = argument;
    unsigned looks = 0;

    while (atomic_load(&log->stop_ms) == 0) {
        unsigned most;

        if (atomic_exchange(&log->reopen, false) && log->path != NULL)
            open_again(log);
        most = drain(log);
        looks = most > 0 ? 0 : looks + 1;
        say_dropped(log);
        if (most < ROUND)
            sleep_ms(looks < BUSY_LOOKS ? BUSY_MS : IDLE_MS);
    }
    while (drain(log) == ROUND)
        ;
    (void)pthread_mutex_lock(&log->lock);
    log->ended = true;
    (void)pthread_cond_signal(&log->cond);
    (void)pthread_mutex_unlock(&log->lock);
    return NULL;
}

/* ---- made and unmade ---- */

static void release(struct dx_request_log *log)
{
    for (unsigned i = 0; i < log->ring_count; i++)
        dx_record_ring_release(&log->rings[i]);
    free(log->rings);
    if (log->fd >= 0)
        (void)close(log->fd);
    dx_buf_release(&log->lines);
    (void)pthread_cond_destroy(&log->cond);
    (void)pthread_mutex_destroy(&log->lock);
    free(log->path);
    free(log);
}

static int open_target(struct dx_request_log *log, const char *target, struct dx_error *err)
{
    if (strcmp(target, "stderr") == 0)
        return DX_OK;
    log->path = strdup(target);
    if (log->path == NULL)
        return dx_no_memory(err, "log of requests");
    log->fd = open_file(target);
    return log->fd < 0 ? dx_fail_errno(err, errno, "log of requests: %s", target) : DX_OK;
}

static int make_rings(struct dx_request_log *log, unsigned count, size_t bytes,
                      struct dx_error *err)
{
    int rc = DX_OK;

    if (posix_memalign((void **)&log->rings, _Alignof(struct dx_record_ring),
                       count * sizeof *log->rings) != 0) {
        log->rings = NULL;
        return dx_no_memory(err, "log of requests");
    }
    for (; log->ring_count < count && rc == DX_OK; log->ring_count += rc == DX_OK)
        rc = dx_record_ring_init(&log->rings[log->ring_count],
                                 bytes == 0 ? DX_REQUEST_RING_BYTES : bytes, err);
    return rc;
}

int dx_request_log_open(struct dx_request_log **out, const struct dx_request_log_options *options,
                        struct dx_error *err)
{
    struct dx_request_log *log = calloc(1, sizeof *log);
    int rc;

    *out = NULL;
    if (log == NULL)
        return dx_no_memory(err, "log of requests");
    log->fd = -1;
    log->targets = options->targets;
    dx_buf_init(&log->lines, BATCH_BYTES + DX_REQUEST_LINE_MAX);
    (void)pthread_mutex_init(&log->lock, NULL);
    dx_cond_init(&log->cond);
    atomic_init(&log->open, true);
    rc = open_target(log, options->target, err);
    if (rc == DX_OK)
        rc = make_rings(log, options->rings, options->ring_bytes, err);
    if (rc == DX_OK) {
        int failed = pthread_create(&log->thread, NULL, run_writer, log);

        if (failed != 0)
            rc = dx_fail_errno(err, failed, "log of requests: cannot start a thread");
    }
    if (rc < 0) {
        release(log);
        return rc;
    }
    *out = log;
    return DX_OK;
}

void dx_request_log_put(struct dx_request_log *log, unsigned ring,
                        const struct dx_request_record *r)
{
    assert(ring < log->ring_count);
    (void)dx_record_ring_put(&log->rings[ring], r, log->targets);
}

void dx_request_log_reopen(struct dx_request_log *log)
{
    atomic_store(&log->reopen, true);
}

void dx_request_log_counts_read(struct dx_request_log *log, struct dx_request_log_counts *counts)
{
    *counts = (struct dx_request_log_counts){
        .written = atomic_load(&log->written),
        .dropped = atomic_load(&log->refused),
        .open = atomic_load(&log->open),
    };
    for (unsigned i = 0; i < log->ring_count; i++)
        counts->dropped += atomic_load_explicit(&log->rings[i].dropped, memory_order_relaxed);
}

bool dx_request_log_close(struct dx_request_log **out)
{
    struct dx_request_log *log = *out;
    uint64_t until_ms;
    bool ended;

    if (log == NULL)
        return true;
    *out = NULL;
    until_ms = dx_clock_ms() + CLOSE_MS;
    atomic_store(&log->stop_ms, until_ms);
    (void)pthread_mutex_lock(&log->lock);
    while (!log->ended && dx_cond_wait_until(&log->cond, &log->lock, until_ms + CLOSE_EXTRA_MS))
        ;
    ended = log->ended;
    (void)pthread_mutex_unlock(&log->lock);
    if (!ended)
        return false;
    (void)pthread_join(log->thread, NULL);
    release(log);
    return true;
}
