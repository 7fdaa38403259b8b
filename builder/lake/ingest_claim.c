/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/ingest_claim.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "base/periodic.h"
#include "builder/lake/ingest_writers.h"
#include "builder/root/root.h"
#include "fetch/store/store.h"

#define COLLIDED_MS 200
#define STORE_AWAY_LEASES 2 /* two minutes, as for other requests of a writer */

/* The table as it was read. */
struct table {
    struct dx_writers writers;
    char etag[DX_SOURCE_ETAG]; /* "": there is no object */
};

/* Another run, as it was first seen in this state. */
struct seen {
    uint64_t nonce;
    uint64_t beat;
    uint64_t since_ms;
    bool said; /* that we wait for it */
};

struct dx_ingest_claim {
    struct dx_ingest_claim_options o;
    struct dx_writer mine;
    struct dx_periodic *keeper;
    atomic_bool lost;
    atomic_bool in_doubt; /* something that was sent may still be done */
    _Atomic uint64_t good_until_ms;
    struct seen seen[DX_WRITERS_MAX]; /* of the taking thread, then of the keeper */
    size_t seen_count;
    bool said_full;
    uint64_t stood_ms; /* while waiting: when our line was written last */
    bool took_over;    /* the entry of another run with a dataset of ours was removed */
};

/* Goes on while the machine sleeps: waiters on other machines do not sleep with it. */
static uint64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uint64_t random64(void)
{
    uint64_t v;

    if (getrandom(&v, sizeof v, GRND_NONBLOCK) != (ssize_t)sizeof v)
        v = now_ms() * 0x9E3779B97F4A7C15u ^ (uint64_t)getpid() << 32;
    return v;
}

static void sleep_ms(uint64_t ms)
{
    struct timespec t = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 };

    (void)nanosleep(&t, NULL);
}

/* Sleeps up to most_ms, a random part of it, so that those who collided do not meet again. */
static void sleep_at_random(unsigned most_ms)
{
    sleep_ms(random64() % (most_ms + 1));
}

/* ---- who we are ---- */

/* A pid means something within one kernel and one namespace of processes only. */
static void place_of_self(char out[DX_WRITER_WORD])
{
    char boot[40] = "";
    char space[64] = "";
    char text[128];
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    bool known = f != NULL && fgets(boot, sizeof boot, f) != NULL;

    if (f != NULL)
        (void)fclose(f);
    known = readlink("/proc/self/ns/pid", space, sizeof space - 1) > 0 && known;
    boot[strcspn(boot, "\n")] = '\0';
    (void)snprintf(text, sizeof text, "%s-%s", boot, space + strcspn(space, "0123456789"));
    dx_writer_word(out, known ? text : "");
}

/* When the process began, in ticks since boot; 0: could not be read. The second field, in brackets,
 * may hold anything. */
static uint64_t read_start(uint32_t pid)
{
    char path[64];
    char text[1024];
    unsigned long long ticks = 0;
    const char *behind;
    size_t n;
    FILE *f;

    (void)snprintf(path, sizeof path, "/proc/%u/stat", pid);
    f = fopen(path, "re");
    if (f == NULL)
        return 0;
    n = fread(text, 1, sizeof text - 1, f);
    (void)fclose(f);
    text[n] = '\0';
    behind = strrchr(text, ')');
    if (behind == NULL ||
        sscanf(behind + 1,
               " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
               &ticks) != 1)
        return 0;
    return ticks;
}

/* Only what is known for certain: that nothing could be read about a process says nothing. The host
 * counts too: machines that were resumed from one image have one boot id. */
static bool is_dead(const struct dx_writer *mine, const struct dx_writer *other)
{
    uint64_t ticks;

    if (strcmp(mine->place, "-") == 0 || strcmp(mine->place, other->place) != 0 ||
        strcmp(mine->host, other->host) != 0 || other->pid == 0)
        return false;
    if (kill((pid_t)other->pid, 0) < 0 && errno == ESRCH)
        return true;
    ticks = read_start(other->pid);
    return ticks != 0 && other->started != 0 && ticks != other->started;
}

static void introduce(struct dx_writer *mine)
{
    char host[256] = "";

    mine->nonce = random64();
    mine->beat = 1;
    mine->pid = (uint32_t)getpid();
    mine->started = read_start(mine->pid);
    place_of_self(mine->place);
    if (gethostname(host, sizeof host - 1) < 0)
        host[0] = '\0';
    dx_writer_word(mine->host, host);
}

/* ---- the table ---- */

/* A request of ours: one whose reply is lost must leave time for another within two thirds of a
 * lease. */
static uint64_t request_deadline(const struct dx_ingest_claim *c)
{
    return dx_clock_ms() + c->o.lease_ms / 6;
}

/* Failures of the store that may pass. */
static bool passes(int rc)
{
    return rc == DX_E_BUSY || rc == DX_E_IO || rc == DX_E_TIMEOUT || rc == DX_E_UNKNOWN ||
           rc == DX_E_DENIED; /* credentials that are being renewed */
}

static int read_table(const struct dx_ingest_claim *c, struct table *t, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_WRITERS_TEXT_MAX);
    struct dx_get get = { .object = DX_WRITERS_FILE,
                          .cap = DX_WRITERS_TEXT_MAX,
                          .deadline_ms = request_deadline(c) };
    struct dx_error why = DX_ERROR_INIT;
    int rc = dx_source_get(c->o.remote->source, &get, &text, t->etag, &why);

    t->writers = (struct dx_writers)DX_WRITERS_INIT;
    if (rc == DX_E_NOT_FOUND) {
        rc = 0;
        t->etag[0] = '\0';
    } else if (rc > 0) {
        rc = dx_writers_parse(&t->writers, dx_span_of(text.data, text.size), DX_WRITERS_FILE, &why);
    }
    if (rc < 0 && err != NULL)
        *err = why;
    dx_buf_release(&text);
    return rc;
}

/* 1 written, 0 another writer was faster: read again; DX_E_UNKNOWN: it may be written. */
static int write_table(const struct dx_ingest_claim *c, const struct table *t, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_WRITERS_TEXT_MAX);
    struct dx_put put = { .object = DX_WRITERS_FILE,
                          .if_absent = t->etag[0] == '\0',
                          .if_match = t->etag[0] == '\0' ? NULL : t->etag,
                          .deadline_ms = request_deadline(c) };
    char etag[DX_SOURCE_ETAG];
    int rc = dx_writers_write(&t->writers, &text, err);

    put.bytes = dx_span_of(text.data, text.size);
    if (rc == DX_OK)
        rc = dx_store_put(c->o.remote->store, &put, etag, err);
    dx_buf_release(&text);
    if (rc == DX_E_EXISTS || rc == DX_E_CONFLICT)
        return 0;
    return rc < 0 ? rc : 1;
}

/* ---- the others ---- */

static struct seen *seen_of(struct dx_ingest_claim *c, uint64_t nonce)
{
    for (size_t i = 0; i < c->seen_count; i++)
        if (c->seen[i].nonce == nonce)
            return &c->seen[i];
    return NULL;
}

/* Takes down who is there now, and forgets who is not. */
static void note_writers(struct dx_ingest_claim *c, const struct dx_writers *w, uint64_t now)
{
    struct seen there[DX_WRITERS_MAX];
    size_t count = 0;

    for (size_t i = 0; i < w->count && count < DX_WRITERS_MAX; i++) {
        const struct dx_writer *other = &w->writer[i];
        const struct seen *before = seen_of(c, other->nonce);
        struct seen *s = &there[count++];

        *s = before != NULL ? *before : (struct seen){ other->nonce, other->beat, now, false };
        if (s->beat != other->beat) {
            s->beat = other->beat;
            s->since_ms = now;
        }
    }
    memcpy(c->seen, there, count * sizeof *there);
    c->seen_count = count;
}

/* Removes, from the table that is about to be written, those who are gone. Silence is removed
 * wherever it is: after a lease nothing of such a run is on its way. One that has only just ended
 * is left to the next in line for its datasets, because that one waits for what it had sent. true:
 * it had one of ours. */
static bool remove_gone(struct dx_ingest_claim *c, struct table *t)
{
    uint64_t now = now_ms();
    bool ours = false;

    note_writers(c, &t->writers, now);
    for (size_t i = 0; i < c->seen_count; i++) {
        const struct dx_writer *other = dx_writers_find(&t->writers, c->seen[i].nonce);
        bool overlaps = dx_writer_overlap(other, &c->mine);
        bool ended = overlaps && dx_writers_ahead(&t->writers, &c->mine) == other &&
                     is_dead(&c->mine, other);

        if (other->nonce == c->mine.nonce || (now - c->seen[i].since_ms < c->o.lease_ms && !ended))
            continue;
        ours = ours || overlaps;
        dx_writers_remove(&t->writers, c->seen[i].nonce);
    }
    return ours;
}

/* ---- taking ---- */

static void say(const struct dx_ingest_claim *c, const char *words)
{
    if (c->o.say != NULL)
        c->o.say(words);
}

/* Names the run that we wait for, once. */
static void say_whom(struct dx_ingest_claim *c, const struct dx_writer *other)
{
    struct seen *s = seen_of(c, other->nonce);
    char words[DX_WRITER_WORD + 160];

    if (s == NULL || s->said)
        return;
    (void)snprintf(words, sizeof words,
                   "waiting for process %u on %s, which is adding to the same datasets", other->pid,
                   other->host);
    say(c, words);
    s->said = true;
}

static void say_full(struct dx_ingest_claim *c)
{
    char words[80];

    if (!c->said_full) {
        (void)snprintf(words, sizeof words,
                       "waiting for one of the %d runs that are adding to this root",
                       DX_WRITERS_MAX);
        say(c, words);
    }
    c->said_full = true;
}

/* Our line, with a new beat: at the end of the queue if it is not there. false: there is no
 * room. */
static bool stand_in_line(struct dx_ingest_claim *c, struct table *t, struct dx_error *err, int *rc)
{
    struct dx_writer *entry = dx_writers_find(&t->writers, c->mine.nonce);

    *rc = DX_OK;
    if (entry != NULL)
        entry->beat++;
    else if (t->writers.count == DX_WRITERS_MAX)
        return false;
    else
        *rc = dx_writers_add(&t->writers, &c->mine, err);
    return true;
}

/* Writes the table with us in it: 1 it is our turn, 0 try again after *wait_ms. A line of ours that
 * is there already may be from a put whose reply was lost, who knows when: it must be said again.
 * While others are ahead it is said four times a lease, as by those who have their turn. */
static int enter_table(struct dx_ingest_claim *c, struct table *t, uint64_t *wait_ms,
                       struct dx_error *err)
{
    bool is_new = dx_writers_find(&t->writers, c->mine.nonce) == NULL;
    bool took_over = remove_gone(c, t);
    uint64_t now = now_ms();
    const struct dx_writer *ahead;
    int rc;

    if (!stand_in_line(c, t, err, &rc)) {
        say_full(c);
        *wait_ms = c->o.lease_ms / 60 + 1;
        return 0;
    }
    if (rc < 0)
        return rc;
    ahead = dx_writers_ahead(&t->writers, &c->mine);
    if (ahead != NULL)
        say_whom(c, ahead);
    if (ahead != NULL && !is_new && !took_over && now - c->stood_ms < c->o.lease_ms / 4) {
        *wait_ms = c->o.lease_ms / 60 + 1;
        return 0;
    }
    /* Also if the reply is lost: then it may have happened. */
    c->took_over = c->took_over || took_over;
    rc = write_table(c, t, err);
    if (rc != 1)
        return rc;
    c->stood_ms = now;
    if (ahead != NULL)
        *wait_ms = c->o.lease_ms / 60 + 1;
    return ahead == NULL;
}

static int try_take(struct dx_ingest_claim *c, uint64_t *wait_ms, struct dx_error *err)
{
    uint64_t now = now_ms();
    struct table t;
    int rc = read_table(c, &t, err);

    if (rc < 0)
        return rc;
    *wait_ms = random64() % COLLIDED_MS;
    rc = enter_table(c, &t, wait_ms, err);
    if (rc == 1)
        atomic_store(&c->good_until_ms, now + c->o.lease_ms / 3 * 2);
    dx_writers_release(&t.writers);
    return rc;
}

/* Until we are entered. A store that does not answer for a while is waited for as the others are,
 * but not for ever. */
static int wait_and_take(struct dx_ingest_claim *c, struct dx_error *err)
{
    uint64_t answered = now_ms();

    for (;;) {
        struct dx_error why = DX_ERROR_INIT;
        uint64_t wait_ms = 0;
        int rc = try_take(c, &wait_ms, &why);

        if (rc >= 0) {
            answered = now_ms();
        } else if (passes(rc) && now_ms() - answered < STORE_AWAY_LEASES * c->o.lease_ms) {
            wait_ms = c->o.lease_ms / 30 + 1;
            rc = 0;
        } else if (err != NULL) {
            *err = why;
        }
        if (rc != 0)
            return rc;
        if (c->o.stopped != NULL && c->o.stopped())
            return dx_fail(err, DX_E_IO, "interrupted; no row was added to the lake");
        sleep_ms(wait_ms);
    }
}

/* ---- keeping ---- */

/* Says once more that we live: 1 said, 0 again, <0 not now. */
static int renew_entry(struct dx_ingest_claim *c)
{
    uint64_t now = now_ms();
    struct dx_error ignored = DX_ERROR_INIT;
    struct dx_writer *entry;
    struct table t;
    int rc = read_table(c, &t, &ignored);

    if (rc < 0)
        return rc;
    entry = dx_writers_find(&t.writers, c->mine.nonce);
    if (entry == NULL) {
        atomic_store(&c->lost, true);
        rc = 1;
    } else {
        entry->beat++;
        (void)remove_gone(c, &t);
        rc = write_table(c, &t, &ignored);
        if (rc == 1)
            atomic_store(&c->good_until_ms, now + c->o.lease_ms / 3 * 2);
    }
    dx_writers_release(&t.writers);
    return rc;
}

/* The milliseconds until the next time. */
static uint64_t keep(void *ctx, bool asked)
{
    struct dx_ingest_claim *c = ctx;
    int rc = renew_entry(c);

    (void)asked;
    if (atomic_load(&c->lost))
        return DX_PERIODIC_NEVER;
    return rc == 1   ? c->o.lease_ms / 4
           : rc == 0 ? 1 + random64() % COLLIDED_MS
                     : c->o.lease_ms / 30 + 1;
}

static int claim_new(struct dx_ingest_claim **claim, const struct dx_ingest_claim_options *options,
                     struct dx_error *err)
{
    struct dx_ingest_claim *c = calloc(1, sizeof *c);

    *claim = c;
    if (c == NULL)
        return dx_no_memory(err, "ingest");
    c->o = *options;
    if (c->o.lease_ms == 0) {
        c->o.lease_ms = DX_CLAIM_LEASE_MS;
        c->o.settle_ms = DX_CLAIM_SETTLE_MS;
    }
    introduce(&c->mine);
    return DX_OK;
}

int dx_ingest_claim_take(struct dx_ingest_claim **claim,
                         const struct dx_ingest_claim_options *options, uint32_t *ids, size_t count,
                         struct dx_error *err)
{
    int rc = claim_new(claim, options, err);
    struct dx_ingest_claim *c = *claim;

    if (rc < 0)
        return rc;
    dx_writer_claim(&c->mine, ids, count);
    rc = wait_and_take(c, err);
    if (rc == 1)
        rc = dx_periodic_start(&c->keeper, "lease", c->o.lease_ms / 4, keep, c, err);
    if (rc < 0) {
        dx_ingest_claim_drop(claim);
        return dx_fail_in(err, "%s", options->root);
    }
    if (c->took_over)
        sleep_ms(c->o.settle_ms);
    return DX_OK;
}

int dx_ingest_claim_check(const struct dx_ingest_claim *c, struct dx_error *err)
{
    if (!atomic_load(&c->lost) && now_ms() < atomic_load(&c->good_until_ms))
        return DX_OK;
    return dx_fail(err, DX_E_CONFLICT,
                   "%s/" DX_WRITERS_FILE ": this run could not say for %u s that it is there, and "
                   "another may write to its datasets now; run it again, it adds what is missing",
                   c->o.root, c->o.lease_ms / 3 * 2 / 1000);
}

void dx_ingest_claim_doubt(struct dx_ingest_claim *c)
{
    atomic_store(&c->in_doubt, true);
}

int dx_ingest_claim_confirm(const struct dx_ingest_claim *c, struct dx_error *err)
{
    uint64_t until = now_ms() + c->o.lease_ms;
    struct table t;
    int rc;

    while ((rc = read_table(c, &t, err)) < 0 && passes(rc) && now_ms() < until)
        sleep_ms(c->o.lease_ms / 30 + 1);
    if (rc < 0)
        return dx_fail_in(err,
                          "%s: all files are in the lake, but whether another run has written to "
                          "the same datasets meanwhile is not known: rows may be there twice",
                          c->o.root);
    rc = DX_OK;
    if (dx_writers_find(&t.writers, c->mine.nonce) == NULL)
        rc = dx_fail(err, DX_E_CONFLICT,
                     "%s/" DX_WRITERS_FILE ": all files are in the lake, but others took this run "
                     "for dead before the last one was: if one of them has written to the same "
                     "datasets, rows may be there twice",
                     c->o.root);
    dx_writers_release(&t.writers);
    return rc;
}

static void remove_entry(struct dx_ingest_claim *c)
{
    struct dx_error ignored = DX_ERROR_INIT; /* the entry runs out */
    uint64_t until = now_ms() + c->o.lease_ms / 2;
    int rc = 0;

    while (rc != 1 && now_ms() < until) {
        struct table t;

        rc = read_table(c, &t, &ignored);
        if (rc < 0)
            return;
        if (dx_writers_find(&t.writers, c->mine.nonce) == NULL) {
            rc = 1;
        } else {
            dx_writers_remove(&t.writers, c->mine.nonce);
            rc = write_table(c, &t, &ignored);
        }
        dx_writers_release(&t.writers);
        if (rc != 1)
            sleep_at_random(COLLIDED_MS);
    }
}

void dx_ingest_claim_drop(struct dx_ingest_claim **claim)
{
    struct dx_ingest_claim *c = *claim;

    if (c == NULL)
        return;
    dx_periodic_stop(&c->keeper);
    if (!atomic_load(&c->in_doubt))
        remove_entry(c);
    free(c);
    *claim = NULL;
}
