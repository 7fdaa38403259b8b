/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/ingest_claim.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "builder/ingest_writers.h"
#include "builder/remote_root.h"
#include "builder/ticker.h"
#include "fetch/store.h"

#define COLLIDED_MS 200
#define DROP_TRIES 20

/* The table as it was read. */
struct table {
    struct dx_writers writers;
    char etag[DX_SOURCE_ETAG]; /* "": there is no object */
};

/* Another run that is waited for, as it was first seen in this state. */
struct seen {
    uint64_t nonce;
    uint64_t beat;
    uint64_t since_ms;
};

struct dx_ingest_claim {
    struct dx_ingest_claim_options o;
    struct dx_writer mine;
    struct dx_ticker keeper;
    atomic_bool lost;
    _Atomic uint64_t good_until_ms;
    struct seen seen[DX_WRITERS_MAX];
    size_t seen_count;
    bool took_over; /* somebody's entry was removed */
};

/* Goes on while the machine sleeps: who waits elsewhere does not sleep with it. */
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

void dx_ingest_claim_jitter(unsigned most_ms)
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

/* When the process began, in ticks since boot; 0 if there is none, or it has ended and nobody
 * has waited for it yet. The second field, in brackets, may hold anything. */
static uint64_t started(uint32_t pid)
{
    char path[64];
    char text[1024];
    unsigned long long ticks = 0;
    char state = 'X';
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
               " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
               &state, &ticks) != 2 ||
        state == 'Z' || state == 'X')
        return 0;
    return ticks;
}

static bool is_dead(const struct dx_writer *mine, const struct dx_writer *other)
{
    if (strcmp(mine->place, "-") == 0 || mine->started == 0 || other->started == 0 ||
        strcmp(mine->place, other->place) != 0)
        return false;
    return started(other->pid) != other->started;
}

static void introduce(struct dx_writer *mine)
{
    char host[256] = "";

    mine->nonce = random64();
    mine->beat = 1;
    mine->pid = (uint32_t)getpid();
    mine->started = started(mine->pid);
    place_of_self(mine->place);
    if (gethostname(host, sizeof host - 1) < 0)
        host[0] = '\0';
    dx_writer_word(mine->host, host);
}

/* ---- the table ---- */

static int read_table(const struct dx_ingest_claim *c, struct table *t, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_WRITERS_TEXT_MAX);
    int rc = dx_remote_root_get(c->o.remote, DX_WRITERS_FILE, DX_WRITERS_TEXT_MAX, &text, t->etag,
                                err);

    t->writers = (struct dx_writers)DX_WRITERS_INIT;
    if (rc > 0)
        rc = dx_writers_parse(&t->writers, dx_span_of(text.data, text.size), DX_WRITERS_FILE, err);
    dx_buf_release(&text);
    return rc;
}

/* 1 written, 0 somebody was faster or it is not known: read again. */
static int write_table(const struct dx_ingest_claim *c, const struct table *t, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_WRITERS_TEXT_MAX);
    struct dx_put put = { .object = DX_WRITERS_FILE,
                          .if_absent = t->etag[0] == '\0',
                          .if_match = t->etag[0] == '\0' ? NULL : t->etag };
    char etag[DX_SOURCE_ETAG];
    int rc = dx_writers_write(&t->writers, &text, err);

    put.bytes = dx_span_of(text.data, text.size);
    if (rc == DX_OK)
        rc = dx_store_put(c->o.remote->store, &put, etag, err);
    dx_buf_release(&text);
    if (rc == DX_E_EXISTS || rc == DX_E_CONFLICT || rc == DX_E_UNKNOWN)
        return 0;
    return rc < 0 ? rc : 1;
}

/* ---- taking ---- */

static void say_who(const struct dx_ingest_claim *c, const struct dx_writer *other)
{
    char words[DX_WRITER_WORD + 160];

    (void)snprintf(words, sizeof words,
                   "waiting for process %u on %s, which is adding to the same datasets", other->pid,
                   other->host);
    if (c->o.say != NULL)
        c->o.say(words);
}

static struct seen *seen_of(struct dx_ingest_claim *c, const struct dx_writer *other, uint64_t now)
{
    struct seen *s = NULL;

    for (size_t i = 0; i < c->seen_count && s == NULL; i++)
        if (c->seen[i].nonce == other->nonce)
            s = &c->seen[i];
    if (s == NULL) {
        /* Full of runs that have come and gone. Those that are still there are forgotten too, and
         * only waited for a lease longer. */
        if (c->seen_count == DX_WRITERS_MAX)
            c->seen_count = 0;
        s = &c->seen[c->seen_count++];
        *s = (struct seen){ other->nonce, other->beat, now };
        say_who(c, other);
    }
    if (s->beat != other->beat) {
        s->beat = other->beat;
        s->since_ms = now;
    }
    return s;
}

/* Removes those who hold a dataset of ours and are gone. true: one is left to wait for. */
static bool must_wait(struct dx_ingest_claim *c, struct table *t)
{
    uint64_t now = now_ms();
    struct dx_writer *other;

    while ((other = dx_writers_overlap(&t->writers, &c->mine)) != NULL) {
        if (!is_dead(&c->mine, other) && now - seen_of(c, other, now)->since_ms < c->o.lease_ms)
            return true;
        dx_writers_remove(&t->writers, other->nonce);
        c->took_over = true;
    }
    return false;
}

/* 1 entered, 0 try again after *wait_ms. */
static int try_take(struct dx_ingest_claim *c, uint64_t *wait_ms, struct dx_error *err)
{
    uint64_t now = now_ms();
    struct table t;
    int rc = read_table(c, &t, err);

    if (rc < 0)
        return rc;
    *wait_ms = random64() % COLLIDED_MS;
    if (dx_writers_find(&t.writers, c->mine.nonce) != NULL) {
        rc = 1; /* a put of ours whose reply was lost */
    } else if (must_wait(c, &t)) {
        *wait_ms = c->o.lease_ms / 60 + 1;
    } else {
        rc = dx_writers_add(&t.writers, &c->mine, err);
        if (rc == DX_OK)
            rc = write_table(c, &t, err);
    }
    if (rc == 1)
        atomic_store(&c->good_until_ms, now + c->o.lease_ms / 3 * 2);
    dx_writers_release(&t.writers);
    return rc;
}

/* ---- keeping ---- */

/* Says once more that we live: 1 said, 0 again, <0 not now. */
static int beat(struct dx_ingest_claim *c)
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
        rc = write_table(c, &t, &ignored);
        if (rc == 1)
            atomic_store(&c->good_until_ms, now + c->o.lease_ms / 3 * 2);
    }
    dx_writers_release(&t.writers);
    return rc;
}

/* The milliseconds until the next time. */
static uint64_t keep(void *ctx)
{
    struct dx_ingest_claim *c = ctx;
    int rc = beat(c);

    if (atomic_load(&c->lost))
        return 0;
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
        return dx_fail(err, DX_E_NOMEM, "ingest: out of memory");
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
    for (;;) {
        uint64_t wait_ms = 0;

        rc = try_take(c, &wait_ms, err);
        if (rc != 0)
            break;
        if (c->o.stopped != NULL && c->o.stopped()) {
            rc = dx_fail(err, DX_E_IO, "interrupted; no row was added to the lake");
            break;
        }
        sleep_ms(wait_ms);
    }
    if (rc == 1)
        rc = dx_ticker_start(&c->keeper, c->o.lease_ms / 4, keep, c, err);
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

static void leave(struct dx_ingest_claim *c)
{
    struct dx_error ignored = DX_ERROR_INIT; /* the entry runs out */
    int rc = 0;

    for (int i = 0; i < DROP_TRIES && rc == 0; i++) {
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
        if (rc == 0)
            dx_ingest_claim_jitter(COLLIDED_MS);
    }
}

void dx_ingest_claim_drop(struct dx_ingest_claim **claim)
{
    struct dx_ingest_claim *c = *claim;

    if (c == NULL)
        return;
    dx_ticker_stop(&c->keeper);
    leave(c);
    free(c);
    *claim = NULL;
}
