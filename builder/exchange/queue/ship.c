/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/exchange/queue/ship.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crypto/sha256.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/nonce.h"
#include "builder/exchange/queue/amqp.h"
#include "fetch/retry.h"
#include "format/exchange/segment.h"

#define PIECE (256 * 1024)
#define CONFIRM_MS 500

struct ship {
    const struct dx_ship_options *o;
    struct dx_ship_stats *stats;
    int fd;
    uint64_t size;
    char sum[DX_SHA256_HEX];
    uint8_t *message; /* header and payload */
    struct dx_amqp *amqp;
    uint32_t confirmed;            /* segments that the broker has, the first ones */
    struct dx_sha256_state *again; /* of what was read to be sent, up to here */
    uint32_t summed;
    struct dx_hash128 out[DX_AMQP_WINDOW]; /* of the last ones that were summed, by sequence */
    uint64_t useful_ms;
};

static bool is_stopped(const struct ship *s)
{
    return s->o->stopped != NULL && s->o->stopped();
}

static int open_file(struct ship *s, struct dx_error *err)
{
    struct stat st;

    int fd = dx_file_open(AT_FDCWD, s->o->path, 0, &st, err);

    if (fd < 0)
        return fd;
    s->fd = fd;
    s->size = (uint64_t)st.st_size;
    return DX_OK;
}

static int sum_file(struct ship *s, struct dx_error *err)
{
    struct dx_sha256_state *state = dx_sha256_new();
    uint8_t *piece = malloc(PIECE);
    uint8_t sum[DX_SHA256_SIZE];
    int rc = DX_OK;

    if (state == NULL || piece == NULL)
        rc = dx_no_memory(err, "ship");
    for (uint64_t at = 0; rc == DX_OK && at < s->size;) {
        size_t n = s->size - at < PIECE ? (size_t)(s->size - at) : PIECE;

        rc = is_stopped(s) ? dx_fail(err, DX_E_IO, "interrupted; nothing was sent")
                           : dx_file_pread(s->fd, s->o->path, at, n, piece, err);
        if (rc == DX_OK)
            (void)dx_sha256_update(state, dx_span_of(piece, n));
        at += n;
    }
    if (state != NULL && !dx_sha256_end(&state, sum) && rc == DX_OK)
        rc = dx_no_memory(err, "ship");
    free(piece);
    if (rc == DX_OK)
        dx_sha256_hex(sum, s->sum);
    return rc;
}

/* The same file into the same dataset by the same size of segments is the same transfer. */
static int name_transfer(struct ship *s, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(4096);
    uint8_t sum[DX_SHA256_SIZE];
    char hex[DX_SHA256_HEX];
    bool ok;

    dx_buf_fmt(&text, "%s\n%llu\n%s", s->sum, (unsigned long long)s->o->mss, s->o->dataset);
    ok = !text.failed && dx_sha256(dx_span_of(text.data, text.size), sum);
    dx_buf_release(&text);
    if (!ok)
        return dx_no_memory(err, "ship");
    dx_sha256_hex(sum, hex);
    memcpy(s->stats->id, hex, 32);
    return DX_OK;
}

static int changed(const struct ship *s, struct dx_error *err)
{
    return dx_fail(err, DX_E_CONFLICT,
                   "%s: changed while it was sent; its last segment was not sent, so no receiver "
                   "takes the rest for the whole",
                   s->o->path);
}

/* Each byte is summed once, and what is sent again must be the same; before the last segment goes,
 * all of them. */
static int sum_again(struct ship *s, uint32_t sequence, bool is_last, struct dx_span payload,
                     struct dx_error *err)
{
    const struct dx_hash128 hash = dx_hash128_of(payload);
    struct dx_hash128 *out = &s->out[sequence % DX_AMQP_WINDOW];
    uint8_t sum[DX_SHA256_SIZE];
    char hex[DX_SHA256_HEX];

    assert(sequence <= s->summed && s->summed - sequence <= DX_AMQP_WINDOW); /* in s->out */
    if (sequence < s->summed)
        return dx_hash128_equal(&hash, out) ? DX_OK : changed(s, err);
    *out = hash;
    s->summed = sequence + 1;
    (void)dx_sha256_update(s->again, payload);
    if (!is_last)
        return DX_OK;
    if (!dx_sha256_end(&s->again, sum))
        return dx_no_memory(err, "ship");
    dx_sha256_hex(sum, hex);
    return strcmp(hex, s->sum) == 0 ? DX_OK : changed(s, err);
}

static int send_one(struct ship *s, const struct dx_segment_cut *cut, uint64_t at, uint64_t n,
                    struct dx_error *err)
{
    const struct dx_amqp_properties p = { .id = dx_span_str(s->stats->id),
                                          .dataset = dx_span_str(s->o->dataset),
                                          .sum = dx_span_str(s->sum) };
    uint32_t sequence = cut->sequence - 1;
    int rc = dx_file_pread(s->fd, s->o->path, at, (size_t)n, s->message + DX_SEGMENT_HEADER, err);

    if (rc == DX_OK)
        rc = sum_again(s, sequence, cut->sequence == cut->count,
                       dx_span_of(s->message + DX_SEGMENT_HEADER, (size_t)n), err);
    if (rc == DX_OK) {
        rc = dx_amqp_send(s->amqp, &p, dx_span_of(s->message, DX_SEGMENT_HEADER + (size_t)n), err);
        s->stats->sent++;
        return rc == DX_E_IO ? DX_E_BUSY : rc;
    }
    return rc;
}

/* Nothing is to be had from the broker: whether it is time to give up. */
static int patient(const struct ship *s, struct dx_error *err)
{
    const char *blocked = dx_amqp_blocked(s->amqp);

    if (!is_stopped(s) && dx_clock_ms() - s->useful_ms <= s->o->wait_ms)
        return DX_OK;
    return dx_fail(err, is_stopped(s) ? DX_E_IO : DX_E_TIMEOUT,
                   "%s%s%s%s after %u of %u segments; the same command again sends the rest",
                   is_stopped(s) ? "interrupted" : "the broker confirms nothing",
                   blocked != NULL ? " (" : "", blocked != NULL ? blocked : "",
                   blocked != NULL ? ")" : "", s->confirmed, (uint32_t)s->stats->segments);
}

/* Losing the broker is DX_E_BUSY here and in settle and send_all: DX_E_IO is the file's. */
static int wait_ready(struct ship *s, struct dx_error *err)
{
    int rc;

    while ((rc = dx_amqp_ready(s->amqp, CONFIRM_MS, err)) == 0)
        if ((rc = patient(s, err)) < 0)
            return rc;
    return rc == DX_E_IO ? DX_E_BUSY : rc < 0 ? rc : DX_OK;
}

/* Until at most `out` messages of this connection, which began at segment `first`, are out. */
static int settle(struct ship *s, uint32_t first, uint32_t sent, uint32_t out, struct dx_error *err)
{
    uint32_t want = sent - first > out ? sent - first - out : 0;
    int rc = 1;

    assert(sent >= first);
    while (want > 0 && (rc = dx_amqp_confirmed(s->amqp, want, CONFIRM_MS, err)) == 0)
        if ((rc = patient(s, err)) < 0)
            return rc;
    if (rc > 0 && want > 0 && first + want > s->confirmed) {
        s->confirmed = first + want;
        s->useful_ms = dx_clock_ms();
    }
    return rc == DX_E_IO ? DX_E_BUSY : rc < 0 ? rc : DX_OK;
}

/* From the first segment that is not confirmed on, by one connection. */
static int send_all(struct ship *s, struct dx_error *err)
{
    struct dx_segment_cut cut;
    uint32_t first = s->confirmed;
    uint64_t at = 0;
    uint64_t n;
    int rc = dx_segment_cut_init(&cut, s->size, s->o->mss, err);

    while (rc == DX_OK && dx_segment_cut_next(&cut, s->message, &n)) {
        if (cut.sequence > first) {
            rc = settle(s, first, cut.sequence - 1, DX_AMQP_WINDOW - 1, err);
            if (rc == DX_OK)
                rc = wait_ready(s, err);
            if (rc == DX_OK)
                rc = send_one(s, &cut, at, n, err);
        }
        at += n;
    }
    return rc < 0 ? rc : settle(s, first, cut.count, 0, err);
}

static void wait_for_broker(const struct ship *s, unsigned failures)
{
    static const struct dx_retry_policy policy = { 0, 200, 5000 };
    char nonce[DX_NONCE];
    uint64_t ms;

    dx_nonce(nonce);
    ms = 100 + dx_retry_backoff_ms(&policy, failures, dx_hash64(dx_span_str(nonce)));
    for (; ms > 0 && !is_stopped(s); ms -= ms < 50 ? ms : 50) {
        const struct timespec t = { 0, 50 * 1000000 };

        (void)nanosleep(&t, NULL);
    }
}

static void end_sum(struct ship *s)
{
    uint8_t ignored[DX_SHA256_SIZE];

    if (s->again != NULL)
        (void)dx_sha256_end(&s->again, ignored);
}

/* The broker has lost the queue, and with it what it had confirmed. */
static int start_over(struct ship *s, struct dx_error *err)
{
    if (s->confirmed > 0 && s->o->say != NULL)
        s->o->say("the queue has gone, and with it the segments that were confirmed");
    end_sum(s);
    s->again = dx_sha256_new();
    s->summed = s->confirmed = 0;
    return s->again == NULL ? dx_no_memory(err, "ship") : DX_OK;
}

static int connect_and_send(struct ship *s, struct dx_error *err)
{
    bool was_missing = false;
    int rc = dx_amqp_open(&s->amqp, s->o->url, &was_missing, err);

    if (rc == DX_OK)
        rc = dx_amqp_begin_sending(s->amqp, err);
    if (rc == DX_E_IO)
        rc = DX_E_BUSY;
    if (was_missing) {
        int lost = start_over(s, err);

        if (lost < 0)
            return lost;
    }
    if (rc == DX_OK)
        rc = send_all(s, err);
    if (rc == DX_E_NOT_FOUND && (rc = start_over(s, err)) == DX_OK)
        rc = DX_E_BUSY;
    return rc;
}

static int send_patiently(struct ship *s, struct dx_error *err)
{
    unsigned failures = 0;
    int rc;

    s->useful_ms = dx_clock_ms();
    for (;;) {
        uint32_t before = s->confirmed;

        rc = connect_and_send(s, err);
        dx_amqp_close(&s->amqp);
        if (rc != DX_E_BUSY || is_stopped(s) || dx_clock_ms() - s->useful_ms > s->o->wait_ms)
            return rc;
        failures = s->confirmed > before ? 0 : failures + (failures < 20);
        if (failures < 2 && s->o->say != NULL)
            s->o->say(err->text);
        wait_for_broker(s, failures);
    }
}

static int look(struct ship *s, struct dx_error *err)
{
    int rc = dx_amqp_look(s->o->url, err);

    s->stats->queue_is_new = rc == 0;
    return rc < 0 ? rc : DX_OK;
}

int dx_ship_run(const struct dx_ship_options *o, struct dx_ship_stats *stats, struct dx_error *err)
{
    struct ship s = { .o = o, .stats = stats, .fd = -1 };
    struct dx_segment_cut cut;
    int rc;

    *stats = (struct dx_ship_stats){ .id = "" };
    rc = open_file(&s, err);
    if (rc == DX_OK)
        rc = dx_segment_cut_init(&cut, s.size, o->mss, err);
    if (rc == DX_OK) {
        stats->segments = cut.count;
        stats->bytes = s.size;
        rc = sum_file(&s, err);
    }
    if (rc == DX_OK)
        rc = name_transfer(&s, err);
    if (rc == DX_OK && !o->dry_run) {
        s.message = malloc(DX_SEGMENT_HEADER + (size_t)o->mss);
        s.again = dx_sha256_new();
        if (s.message == NULL || s.again == NULL)
            rc = dx_no_memory(err, "ship");
    }
    if (rc == DX_OK)
        rc = o->dry_run ? look(&s, err) : send_patiently(&s, err);
    end_sum(&s);
    free(s.message);
    if (s.fd >= 0)
        (void)close(s.fd);
    return rc;
}
