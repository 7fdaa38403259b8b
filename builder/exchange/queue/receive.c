/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/exchange/queue/receive.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crypto/sha256.h"
#include "base/file.h"
#include "base/nonce.h"
#include "base/path.h"
#include "base/utf8.h"
#include "builder/exchange/queue/amqp.h"
#include "builder/exchange/queue/bad_messages.h"
#include "builder/exchange/queue/gaps.h"
#include "builder/exchange/queue/transfer.h"
#include "builder/lake/dataset_registry.h"
#include "builder/root/root_lock.h"
#include "fetch/retry.h"

#define OPEN_MAX 8             /* transfers held open */
#define TAGS_MAX 256           /* taken and not acknowledged */
#define TAKEN_BYTES (8u << 20) /* then synced and acknowledged, and */
#define IDLE_MS 20             /* when nothing came for so long */
#define POLL_MS 500            /* how soon a signal is seen */
#define PAUSE_MS 5             /* before what was put back comes again, */
#define PAUSE_MAX_MS 5000      /* grown to at most, and below a heartbeat */
#define STORE_AGAIN_MS 1000    /* when another process writes to the lake */
#define UNFINISHED_LISTED 20
#define BAD_LISTED 20
#define KEPT_S (30 * 24 * 3600) /* a finished transfer is remembered */

struct receive {
    const struct dx_receive_options *o;
    struct dx_receive_stats *stats;
    struct dx_amqp *amqp;
    struct dx_transfer open[OPEN_MAX];
    size_t next_open;
    uint64_t tags[TAGS_MAX];
    size_t tag_count;
    size_t taken_bytes;
    uint64_t held; /* not the expected ones, in the window */
    bool gained;   /* since the last time that the held ones were put back */
    uint64_t pause_ms;
    unsigned prefetch;
    uint64_t useful_ms; /* when something was gained */
    unsigned failures;  /* connections that failed in a row */
    bool link_failed;   /* the error is the broker's, another connection may help */
    bool plain_waits;   /* a transfer without an id is whole, its last segment comes again */
    time_t begun;
    unsigned unfinished; /* transfers of this run, when it gives up */
    unsigned unfinished_listed;
    struct dx_gaps gaps; /* what the held ones say */
    char why[256];       /* what was missing when they went back */
};

static bool is_stopped(const struct receive *r)
{
    return r->o->stopped != NULL && r->o->stopped();
}

static void say(const struct receive *r, const char *text)
{
    if (r->o->say != NULL)
        r->o->say(text);
}

static void sleep_ms(const struct receive *r, uint64_t ms)
{
    while (ms > 0 && !is_stopped(r)) {
        uint64_t step = ms < 50 ? ms : 50;
        const struct timespec t = { 0, (long)step * 1000000 };

        (void)nanosleep(&t, NULL);
        ms -= step;
    }
}

/* What a call to the broker came to. */
static int link_rc(struct receive *r, int rc)
{
    r->link_failed |= rc == DX_E_IO || rc == DX_E_BUSY;
    return rc;
}

static void gain(struct receive *r)
{
    r->gained = true;
    r->useful_ms = dx_clock_ms();
    r->why[0] = '\0';
}

/* ---- the spool ---- */

/* A folder's name; ids are of others and may hold anything. Without an id only the place
 * distinguishes one stream from another, so there the broker's address counts, too. */
static int key_of(const struct receive *r, struct dx_span id, char key[DX_TRANSFER_KEY],
                  struct dx_error *err)
{
    const struct dx_amqp_url *url = r->o->url;
    struct dx_buf text = DX_BUF_INIT(2048);
    uint8_t sum[DX_SHA256_SIZE];
    char hex[DX_SHA256_HEX];
    bool ok;

    if (id.data == NULL)
        dx_buf_fmt(&text, "%s\n%d\n", url->host, url->port);
    dx_buf_fmt(&text, "%s\n%s\n", url->vhost, url->queue);
    dx_buf_append(&text, id.data, id.size);
    ok = !text.failed && dx_sha256(dx_span_of(text.data, text.size), sum);
    dx_buf_release(&text);
    if (!ok)
        return dx_no_memory(err, "receive");
    dx_sha256_hex(sum, hex);
    (void)snprintf(key, DX_TRANSFER_KEY, "%s-%.32s", id.data == NULL ? "plain" : "id", hex);
    return DX_OK;
}

/* 1 and the transfer, or 0 and a place for it, which is free. */
static int find(struct receive *r, const char *key, struct dx_transfer **t, struct dx_error *err)
{
    for (size_t i = 0; i < OPEN_MAX; i++)
        if (strcmp(r->open[i].key, key) == 0) {
            *t = &r->open[i];
            return 1;
        }
    *t = &r->open[r->next_open++ % OPEN_MAX];
    if ((*t)->key[0] != '\0') {
        int rc = dx_transfer_sync(*t, err);

        if (rc < 0)
            return rc;
        dx_transfer_close(*t);
    }
    return dx_transfer_open(*t, r->o->spool, key, err);
}

/* Syncs what was taken, then acknowledges it. */
static int commit(struct receive *r, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < OPEN_MAX; i++)
        if (r->open[i].key[0] != '\0')
            rc = dx_transfer_sync(&r->open[i], err);
    for (size_t i = 0; rc == DX_OK && i < r->tag_count; i++)
        rc = link_rc(r, dx_amqp_ack(r->amqp, r->tags[i], err));
    if (rc == DX_OK)
        r->tag_count = r->taken_bytes = 0;
    return rc;
}

/* ---- a whole transfer ---- */

static void tell_again(const struct receive *r, const struct dx_transfer *t, const char *what)
{
    char text[256 + DX_SEGMENT_DATASET_MAX];

    (void)snprintf(text, sizeof text,
                   "transfer %s of dataset '%s' was stored before; %u of its %u segments have come "
                   "again%s",
                   t->key, t->head.dataset, t->again_count, t->head.count, what);
    say(r, text);
}

static int store_transfer(struct receive *r, struct dx_transfer *t, struct dx_error *err)
{
    const char *dataset = t->head.dataset[0] != '\0' ? t->head.dataset : NULL;
    bool is_again = t->state != DX_TRANSFER_OPEN;
    bool reported = false;
    int rc;

    assert(dx_transfer_waits(t)); /* all segments are here */
    rc = dx_transfer_check(t, err);
    if (rc < 0)
        return rc;
    if (is_again)
        tell_again(r, t, ": it is stored again, and adds the rows that the lake does not have");
    while ((rc = r->o->store(r->o->ctx, t->bytes_path, dataset, err)) == DX_E_BUSY &&
           !is_stopped(r)) {
        if (!reported)
            say(r, err->text);
        reported = true;
        sleep_ms(r, STORE_AGAIN_MS);
    }
    if (rc < 0 && !is_stopped(r))
        return dx_fail_in(
            err,
            "a whole transfer is not taken into the lake: put right what is wrong and "
            "run again, or give it up: remove the folder %s and take its last "
            "segment out of the queue",
            t->folder);
    if (rc == DX_OK)
        rc = dx_transfer_mark(t, DX_TRANSFER_STORED, err);
    r->stats->transfers += rc == DX_OK;
    r->stats->transfers_again += rc == DX_OK && is_again;
    return rc;
}

/* The last segment is not acknowledged (tag; 0: it did not come again): what it completes goes to the
 * lake first. */
static int finish_transfer(struct receive *r, struct dx_transfer *t, uint64_t tag,
                           struct dx_error *err)
{
    int rc = commit(r, err);

    if (rc == DX_OK)
        rc = link_rc(r, dx_amqp_pause(r->amqp, err));
    if (rc == DX_OK)
        rc = store_transfer(r, t, err);
    if (rc < 0)
        return rc;
    gain(r);
    if (tag != 0)
        rc = link_rc(r, dx_amqp_ack(r->amqp, tag, err));
    r->stats->requeued += r->held;
    r->held = 0;
    dx_gaps_clear(&r->gaps);
    if (rc == DX_OK)
        rc = link_rc(r, dx_amqp_resume(r->amqp, r->prefetch, err));
    return rc < 0 ? rc : dx_transfer_mark(t, DX_TRANSFER_SETTLED, err);
}

/* Whole ones that a run before this one did not fetch into the lake, and old ones, which go.
 * Without an id it is not known here which of its segments will come again: see expect_plain. */
static int look_into(void *ctx, const char *key, struct dx_error *err)
{
    struct receive *r = ctx;
    struct dx_transfer t;
    struct stat st;
    int rc = dx_transfer_open(&t, r->o->spool, key, err);

    if (rc <= 0)
        return rc;
    rc = DX_OK;
    if (dx_transfer_waits(&t)) {
        if (strncmp(key, "id-", 3) == 0)
            rc = store_transfer(r, &t, err);
    } else if (t.state != DX_TRANSFER_OPEN && stat(t.journal_path, &st) == 0 &&
               st.st_mtime + KEPT_S < r->begun) {
        rc = dx_transfer_remove(&t, err);
    }
    dx_transfer_close(&t);
    return rc;
}

/* One without an id that is whole in the spool. Were it stored now, those of its segments whose
 * acknowledgement the broker never got would look like the next transfer. They come first, in order
 * and the last one with them: then it is stored as ever; or, when nothing comes, without. */
static int expect_plain(struct receive *r, struct dx_error *err)
{
    const struct dx_span none = { NULL, 0 };
    char key[DX_TRANSFER_KEY];
    struct dx_transfer *t = NULL;
    int rc = key_of(r, none, key, err);

    if (rc == DX_OK)
        rc = find(r, key, &t, err);
    r->plain_waits = rc > 0 && dx_transfer_waits(t);
    return rc < 0 ? rc : DX_OK;
}

static int store_plain(struct receive *r, struct dx_error *err)
{
    const struct dx_span none = { NULL, 0 };
    char key[DX_TRANSFER_KEY];
    struct dx_transfer *t = NULL;
    int rc;

    if (!r->plain_waits)
        return DX_OK;
    r->plain_waits = false;
    rc = key_of(r, none, key, err);
    if (rc == DX_OK)
        rc = find(r, key, &t, err);
    if (rc <= 0 || !dx_transfer_waits(t))
        return rc < 0 ? rc : DX_OK;
    return finish_transfer(r, t, 0, err);
}

/* ---- a message ---- */

static bool read_sum(struct dx_span text, uint8_t sum[DX_SHA256_SIZE])
{
    struct dx_hash128 halves[2];

    if (text.size != 64)
        return false;
    for (size_t i = 0; i < 2; i++) {
        if (!dx_hash128_parse(dx_span_of(text.data + 32 * i, 32), &halves[i]))
            return false;
        memcpy(sum + 16 * i, halves[i].bytes, 16);
    }
    return true;
}

static int read_head(const struct receive *r, const struct dx_amqp_message *m,
                     const struct dx_segment *s, struct dx_segment_journal_head *head,
                     struct dx_error *err)
{
    struct dx_span name = m->dataset;

    *head = (struct dx_segment_journal_head){ .count = s->count };
    if (name.data == NULL && r->o->dataset != NULL)
        name = dx_span_str(r->o->dataset);
    if (name.data != NULL &&
        (name.size > DX_SEGMENT_DATASET_MAX || !dx_dataset_registry_name_valid(name)))
        return dx_fail(err, DX_E_INVALID,
                       "a message names a dataset in %zu bytes that are not a dataset name",
                       name.size);
    if (name.data != NULL)
        memcpy(head->dataset, name.data, name.size);
    if (m->sum.data != NULL && !read_sum(m->sum, head->sum))
        return dx_fail(err, DX_E_INVALID,
                       "a message has a header `sha256` that is not 64 lower-case hex digits");
    head->has_sum = m->sum.data != NULL;
    return DX_OK;
}

static int hold(struct receive *r, const char *key, const struct dx_transfer *t,
                const struct dx_segment *s)
{
    bool begun = t->key[0] != '\0' && t->join.count != 0 && t->state == DX_TRANSFER_OPEN;

    dx_gaps_add(&r->gaps, key, begun ? t->join.expected : 0, begun ? t->join.count : s->count, s);
    r->held++;
    return DX_OK;
}

/* Kept or known: it may be acknowledged with the next sync. */
static int taken(struct receive *r, const struct dx_amqp_message *m, struct dx_error *err)
{
    assert(r->tag_count < TAGS_MAX);
    gain(r);
    r->tags[r->tag_count++] = m->tag;
    r->taken_bytes += m->bytes.size;
    return r->tag_count == TAGS_MAX || r->taken_bytes >= TAKEN_BYTES ? commit(r, err) : DX_OK;
}

/* It can never become one of a transfer; err says why. */
static int move_bad_message(struct receive *r, const struct dx_amqp_message *m,
                            struct dx_error *err)
{
    char reason[sizeof err->text];
    char text[sizeof err->text + 320];
    int rc;

    if (r->o->bad_to == NULL || m->too_large)
        return dx_fail_in(err,
                          "%s holds a message that is not a segment; remove it, or name a queue "
                          "for it with --bad-to",
                          r->o->url->shown);
    memcpy(reason, err->text, sizeof reason);
    rc = link_rc(r, dx_bad_messages_move(r->o->url, r->o->bad_to, m, reason, err));
    if (rc < 0)
        return rc;
    if (r->stats->bad++ < BAD_LISTED) {
        (void)snprintf(text, sizeof text, "no segment, moved to '%s': %s", r->o->bad_to, reason);
        say(r, text);
    }
    return taken(r, m, err);
}

static int keep(struct receive *r, struct dx_transfer *t, const struct dx_amqp_message *m,
                const struct dx_segment *s, struct dx_error *err)
{
    int rc = dx_transfer_add(t, s, err);

    if (rc < 0)
        return rc;
    r->stats->segments++;
    r->stats->bytes += s->payload.size;
    return dx_segment_join_whole(&t->join) ? finish_transfer(r, t, m->tag, err) : taken(r, m, err);
}

/* One that has come already, of a transfer that goes on or has ended. Of one that has ended all
 * segments together are the transfer once more, whatever order they come in. */
static int known(struct receive *r, struct dx_transfer *t, const struct dx_amqp_message *m,
                 const struct dx_segment *s, struct dx_error *err)
{
    bool ended = t->state != DX_TRANSFER_OPEN;
    int rc = ended ? dx_transfer_again(t, s, err) : DX_OK;

    if (rc < 0)
        return rc;
    r->stats->again++;
    if (dx_transfer_waits(t) && (ended || s->sequence + 1 == s->count)) {
        r->plain_waits &= m->id.data != NULL;
        return finish_transfer(r, t, m->tag, err);
    }
    return taken(r, m, err);
}

/* Without ids the same bytes may be of the next transfer. Of one that has ended only the last
 * segment can come again, since the broker had taken the acknowledgements of all others before the
 * rows went into the lake, and that only until it has taken this one too. */
static int next_plain(struct dx_transfer *t, const struct dx_segment *s, struct dx_error *err)
{
    int rc;

    if (t->state == DX_TRANSFER_OPEN)
        return 0;
    if (t->state == DX_TRANSFER_STORED && s->sequence + 1 == s->count) {
        rc = dx_transfer_same(t, s, err);
        if (rc < 0)
            return rc;
        if (rc > 0) {
            rc = dx_transfer_mark(t, DX_TRANSFER_SETTLED, err);
            return rc < 0 ? rc : 1;
        }
    }
    return s->sequence == 0 ? dx_transfer_remove(t, err) : 0;
}

static int begin(struct receive *r, struct dx_transfer *t, const char *key,
                 const struct dx_amqp_message *m, const struct dx_segment *s, struct dx_error *err)
{
    struct dx_segment_journal_head head;
    int rc;

    assert(t->key[0] == '\0' && s->sequence == 0);
    if (m->dataset.data == NULL && r->o->dataset == NULL && r->o->needs_dataset)
        return dx_fail(err, DX_E_INVALID,
                       "a message tells no dataset in its header `dataset`; give --dataset NAME");
    if (read_head(r, m, s, &head, err) < 0)
        return move_bad_message(r, m, err);
    rc = dx_transfer_begin(t, r->o->spool, key, &head, err);
    return rc < 0 ? rc : keep(r, t, m, s, err);
}

static int take_message(struct receive *r, const struct dx_amqp_message *m, struct dx_error *err)
{
    char key[DX_TRANSFER_KEY];
    struct dx_transfer *t = NULL;
    struct dx_segment s;
    int rc = DX_OK;

    r->stats->messages++;
    if (m->too_large)
        rc = dx_fail(err, DX_E_LIMIT, "a message of %llu bytes, at most %zu are taken",
                     (unsigned long long)m->size, DX_RECEIVE_MESSAGE_MAX);
    if (rc == DX_OK)
        rc = dx_segment_read(&s, m->bytes, err);
    if (rc < 0)
        return move_bad_message(r, m, err);
    rc = key_of(r, m->id, key, err);
    if (rc == DX_OK)
        rc = find(r, key, &t, err);
    if (rc > 0 && m->id.data == NULL) {
        rc = next_plain(t, &s, err);
        if (rc > 0) {
            r->stats->again++;
            return taken(r, m, err);
        }
    }
    if (rc < 0)
        return rc;
    if (t->key[0] == '\0') { /* none yet */
        if (s.sequence != 0)
            return hold(r, key, t, &s);
        return begin(r, t, key, m, &s, err);
    }
    if (m->id.data == NULL && t->state != DX_TRANSFER_OPEN)
        return hold(r, key, t, &s); /* of the next one */
    t->join.count = t->head.count;
    if (t->state == DX_TRANSFER_OPEN && dx_segment_join_judge(&t->join, &s) == DX_SEGMENT_NEXT &&
        !dx_segment_join_whole(&t->join))
        return keep(r, t, m, &s, err);
    rc = dx_transfer_same(t, &s, err);
    if (rc < 0)
        return rc;
    return rc > 0 ? known(r, t, m, &s, err) : hold(r, key, t, &s);
}

/* ---- the window ---- */

/* All that were not the expected ones go back, and come again after a while. */
static int put_back(struct receive *r, struct dx_error *err)
{
    bool full = r->held >= r->prefetch;
    uint64_t longest = dx_amqp_away_ms(r->amqp);
    int rc = commit(r, err);

    if (rc == DX_OK)
        rc = store_plain(r, err);
    if (rc < 0 || r->held == 0)
        return rc;
    dx_gaps_words(&r->gaps, !full, r->why, sizeof r->why);
    dx_gaps_clear(&r->gaps);
    longest = longest < PAUSE_MAX_MS ? longest : PAUSE_MAX_MS;
    if (r->gained)
        r->pause_ms = PAUSE_MS;
    else
        r->pause_ms = r->pause_ms * 2 < longest ? r->pause_ms * 2 : longest;
    sleep_ms(r, r->pause_ms);
    r->stats->requeued += r->held;
    r->held = 0;
    if (full && !r->gained && r->prefetch < DX_RECEIVE_PREFETCH_MAX) {
        r->prefetch *= 2;
        rc = link_rc(r, dx_amqp_pause(r->amqp, err));
        if (rc == DX_OK)
            rc = link_rc(r, dx_amqp_resume(r->amqp, r->prefetch, err));
    } else {
        rc = link_rc(r, dx_amqp_requeue(r->amqp, err));
    }
    r->gained = false;
    return rc;
}

static bool is_enough(const struct receive *r)
{
    return r->o->transfers > 0 && r->stats->transfers >= r->o->transfers;
}

static bool is_over(const struct receive *r)
{
    return r->o->wait_ms > 0 && dx_clock_ms() - r->useful_ms > r->o->wait_ms;
}

static bool is_touched(const struct receive *r, const struct dx_transfer *t)
{
    struct stat st;

    return stat(t->journal_path, &st) == 0 && st.st_mtime >= r->begun;
}

/* Words for one that wants segments; counts those that this run has worked on. */
static int tell_unfinished(void *ctx, const char *key, struct dx_error *err)
{
    struct receive *r = ctx;
    struct dx_transfer t;
    char text[256 + DX_SEGMENT_DATASET_MAX];
    int rc = dx_transfer_open(&t, r->o->spool, key, err);

    if (rc <= 0)
        return rc;
    if (t.state == DX_TRANSFER_OPEN && !dx_segment_join_whole(&t.join)) {
        (void)snprintf(text, sizeof text,
                       "unfinished in the spool: transfer %s of dataset '%s', segment %u of %u is "
                       "the next, %llu bytes have come",
                       key, t.head.dataset, t.join.expected, t.head.count,
                       (unsigned long long)t.join.size);
        if (r->unfinished_listed++ < UNFINISHED_LISTED)
            say(r, text);
        r->unfinished += is_touched(r, &t);
    } else if (t.again_count > 0 && is_touched(r, &t) &&
               r->unfinished_listed++ < UNFINISHED_LISTED) {
        tell_again(r, &t, "; it is stored again when all have");
    }
    dx_transfer_close(&t);
    return DX_OK;
}

static int give_up(struct receive *r, struct dx_error *err)
{
    bool held = r->held > 0;
    int rc;

    assert(r->tag_count == 0); /* all is synced */
    for (size_t i = 0; i < OPEN_MAX; i++)
        dx_transfer_close(&r->open[i]);
    rc = dx_transfer_each(r->o->spool, tell_unfinished, r, err);
    if (rc < 0 || (!held && r->unfinished == 0 && r->o->transfers == 0))
        return rc;
    if (held && r->why[0] == '\0')
        dx_gaps_words(&r->gaps, false, r->why, sizeof r->why);
    return dx_fail(err, DX_E_TIMEOUT,
                   "%s: nothing useful for %llu s%s%s; what has come is kept in %s, and goes on "
                   "when the rest comes",
                   r->o->url->shown, (unsigned long long)(r->o->wait_ms / 1000),
                   r->why[0] != '\0' ? ": " : "", r->why, r->o->spool);
}

/* Until enough has come (1), a stop (1), or the connection or the spool fails. */
static int take_messages(struct receive *r, struct dx_error *err)
{
    int rc;

    while (!is_stopped(r) && !is_enough(r)) {
        bool waiting = r->tag_count > 0 || r->held > 0;
        struct dx_amqp_message m;

        rc = link_rc(
            r, dx_amqp_next(r->amqp, DX_RECEIVE_MESSAGE_MAX, waiting ? IDLE_MS : POLL_MS, &m, err));

        if (rc > 0) {
            r->failures = 0;
            rc = take_message(r, &m, err);
            if (rc == DX_OK && r->held + r->tag_count >= r->prefetch)
                rc = r->tag_count > 0 ? commit(r, err) : DX_OK;
            if (rc == DX_OK && r->held >= r->prefetch)
                rc = put_back(r, err);
        } else if (rc == 0) {
            rc = r->held > 0 ? put_back(r, err) : commit(r, err);
            if (rc == DX_OK)
                rc = store_plain(r, err);
        }
        if (rc < 0)
            return rc;
        if (is_over(r))
            break;
    }
    rc = commit(r, err);
    return rc < 0 ? rc : 1;
}

/* What the connection had is not ours any more; it comes again. */
static void forget(struct receive *r)
{
    dx_amqp_close(&r->amqp);
    for (size_t i = 0; i < OPEN_MAX; i++)
        dx_transfer_close(&r->open[i]);
    r->tag_count = r->taken_bytes = 0;
    r->held = 0;
    dx_gaps_clear(&r->gaps);
    r->gained = false;
}

static void back_off(struct receive *r, const struct dx_error *err)
{
    static const struct dx_retry_policy policy = { 0, 200, 10000 };
    char text[sizeof err->text + 32];
    char nonce[DX_NONCE];
    uint64_t wait;

    dx_nonce(nonce);
    r->failures += r->failures < 20;
    wait = 100 + dx_retry_backoff_ms(&policy, r->failures, dx_hash64(dx_span_str(nonce)));
    if (r->failures == 1) {
        (void)snprintf(text, sizeof text, "%s; trying again", err->text);
        say(r, text);
    }
    sleep_ms(r, wait);
}

static int connect_and_consume(struct receive *r, struct dx_error *err)
{
    int rc = link_rc(r, dx_amqp_open(&r->amqp, r->o->url, NULL, err));

    if (rc == DX_OK)
        rc = link_rc(r, dx_amqp_consume(r->amqp, r->prefetch, err));
    if (rc == DX_OK)
        rc = expect_plain(r, err);
    if (rc == DX_OK) {
        r->stats->connections++;
        rc = take_messages(r, err);
    }
    return rc;
}

static int receive_all(struct receive *r, struct dx_error *err)
{
    int rc = dx_transfer_each(r->o->spool, look_into, r, err);

    r->useful_ms = dx_clock_ms();
    while (rc == DX_OK && !is_stopped(r) && !is_enough(r)) {
        rc = connect_and_consume(r, err);
        if (rc > 0 && is_over(r) && !is_enough(r) && !is_stopped(r))
            return give_up(r, err);
        forget(r);
        if (rc < 0 && r->link_failed) {
            r->link_failed = false;
            if (is_over(r))
                return dx_fail_in(err, "nothing useful for %llu s",
                                  (unsigned long long)(r->o->wait_ms / 1000));
            back_off(r, err);
            rc = DX_OK;
        } else if (rc > 0) {
            rc = DX_OK;
        }
    }
    return rc;
}

/* The spool's name, which may be new, and those of the folders above it, as far as they are ours to
 * open: what is acknowledged must be found again. */
static int sync_place(const char *spool, struct dx_error *err)
{
    char path[PATH_MAX];
    int rc = DX_OK;

    if (realpath(spool, path) == NULL)
        return dx_fail_errno(err, errno, "%s: cannot be found", spool);
    while (rc == DX_OK && strcmp(path, "/") != 0) {
        *(strrchr(path, '/') == path ? path + 1 : strrchr(path, '/')) = '\0';
        if (access(path, R_OK) == 0)
            rc = dx_dir_sync(path, err);
    }
    return rc;
}

/* The first run notes for whom what is acknowledged is kept. */
static int own_spool(const struct dx_receive_options *o, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(PATH_MAX);
    char path[PATH_MAX];
    int rc = dx_path_format(path, sizeof path, err, "%s/owner", o->spool);

    if (rc < 0 || o->owner == NULL)
        return rc;
    if (access(path, F_OK) < 0)
        return dx_file_replace(path, dx_span_str(o->owner), err);
    rc = dx_file_read(path, PATH_MAX, &text, err);
    if (rc == DX_OK && !dx_span_equal(dx_span_of(text.data, text.size), dx_span_str(o->owner)))
        rc = dx_fail(err, DX_E_CONFLICT,
                     "%s: is the spool of %.*s, and may have segments for it that the broker has "
                     "no more; give another folder, or, if %s is that root under another name, "
                     "remove %s",
                     o->spool, (int)text.size, (const char *)text.data, o->owner, path);
    dx_buf_release(&text);
    return rc;
}

int dx_receive_run(const struct dx_receive_options *o, struct dx_receive_stats *stats,
                   struct dx_error *err)
{
    struct receive *r = calloc(1, sizeof *r); /* too large for a small stack */
    struct dx_root_lock lock = DX_ROOT_LOCK_INIT;
    int rc;

    *stats = (struct dx_receive_stats){ 0 };
    if (r == NULL)
        return dx_no_memory(err, "receiving");
    r->o = o;
    r->stats = stats;
    r->prefetch = DX_RECEIVE_PREFETCH;
    r->pause_ms = PAUSE_MS;
    r->begun = time(NULL);
    for (size_t i = 0; i < OPEN_MAX; i++)
        r->open[i] = (struct dx_transfer)DX_TRANSFER_INIT;
    rc = dx_root_lock_take(&lock, o->spool, err);
    if (rc == DX_OK)
        rc = own_spool(o, err);
    if (rc == DX_OK)
        rc = sync_place(o->spool, err);
    if (rc == DX_OK)
        rc = receive_all(r, err);
    forget(r);
    dx_root_lock_drop(&lock);
    free(r);
    return rc;
}
