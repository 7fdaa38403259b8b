/* SPDX-License-Identifier: Apache-2.0 */
#include "server/policy/admission.h"

#include "base/hash.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define LOCKS 64
#define LINE 16             /* places where a key may stand */
#define PRINCIPALS 8192     /* that owe something at once; one that is full need not be known */
#define KEY 16              /* bytes */
#define FORGET_LAST 1e12    /* more than anybody owes, in bursts */
#define BURST_S 10          /* of a rate that comes without a burst */
#define CACHE_LINE 64       /* so that two locks do not share one */
#define NO_NAME "anonymous" /* of the table's principal of those who do not say who they are */

struct rate {
    double cost_per_s; /* 0: no bucket */
    double burst;
};

/* What a bucket counts beside its units. */
enum open { CONNECTIONS, STREAMS, OPEN_KINDS };

/* A bucket is brought up to date when it is read. */
struct bucket {
    uint8_t key[KEY];
    double has; /* below 0: a debt */
    struct rate rate;
    int64_t at_ms;
    uint32_t open[OPEN_KINDS]; /* now */
    bool used;
};

struct table {
    struct bucket *buckets;
    size_t lines; /* a power of two */
    _Atomic uint64_t used;
};

struct lock {
    _Alignas(CACHE_LINE) pthread_mutex_t mutex;
};

struct dx_admission {
    /* each of every LOCKS-th line of both tables; one is held at a time */
    struct lock locks[LOCKS];
    struct dx_admission_options options;
    uint64_t seed;
    struct table addresses;
    struct table principals;
    _Atomic uint64_t refused_address, refused_principal, refused_connections;
    _Atomic uint64_t refused_address_streams, refused_principal_streams;
};

struct place {
    struct table *table;
    struct bucket *line;
    pthread_mutex_t *lock;
};

/* ---- tables ---- */

static int make_table(struct table *t, size_t buckets, struct dx_error *err)
{
    t->lines = 1;
    while (t->lines * LINE < buckets)
        t->lines *= 2;
    t->buckets = calloc(t->lines * LINE, sizeof *t->buckets);
    return t->buckets != NULL ? DX_OK : dx_no_memory(err, "admission");
}

/* Of the line where the key stands, if it does; locked. */
static struct place enter(struct dx_admission *a, struct table *t, const uint8_t key[KEY])
{
    uint64_t hash = dx_hash64_seeded((struct dx_span){ key, KEY }, a->seed);
    size_t line = (size_t)hash & (t->lines - 1);
    struct place p = { t, &t->buckets[line * LINE], &a->locks[line % LOCKS].mutex };

    (void)pthread_mutex_lock(p.lock);
    return p;
}

static void leave(const struct place *p)
{
    (void)pthread_mutex_unlock(p->lock);
}

static void refill(struct bucket *b, int64_t now_ms)
{
    if (now_ms > b->at_ms) {
        b->has += (double)(now_ms - b->at_ms) / 1e3 * b->rate.cost_per_s;
        b->at_ms = now_ms; /* never back: that time would be paid twice */
    }
    b->has = fmin(b->rate.burst, b->has);
}

static struct bucket *find(const struct place *p, const uint8_t key[KEY])
{
    for (size_t i = 0; i < LINE; i++)
        if (p->line[i].used && memcmp(p->line[i].key, key, KEY) == 0)
            return &p->line[i];
    return NULL;
}

/* What is lost with what stands there, in bursts. */
static double loss_of(struct bucket *b, int64_t now_ms)
{
    if (!b->used)
        return -1;
    refill(b, now_ms);
    return (b->open[CONNECTIONS] + b->open[STREAMS] > 0 ? FORGET_LAST : 0) +
           (b->rate.burst > 0 ? (b->rate.burst - b->has) / b->rate.burst : 0);
}

static struct bucket *make_bucket(const struct place *p, const uint8_t key[KEY], int64_t now_ms)
{
    struct bucket *at = &p->line[0];
    double least = loss_of(at, now_ms);

    for (size_t i = 1; i < LINE; i++) {
        double loss = loss_of(&p->line[i], now_ms);

        if (loss < least) {
            least = loss;
            at = &p->line[i];
        }
    }
    if (!at->used)
        atomic_fetch_add_explicit(&p->table->used, 1, memory_order_relaxed);
    *at = (struct bucket){ .used = true };
    memcpy(at->key, key, KEY);
    return at;
}

/* As of now, with this rate: it may be another one than when it was looked at last. A new one is
 * full. */
static struct bucket *bucket_of(const struct place *p, const uint8_t key[KEY], struct rate rate,
                                int64_t now_ms)
{
    struct bucket *b = find(p, key);

    if (b == NULL) {
        b = make_bucket(p, key, now_ms);
        b->has = rate.burst;
        b->at_ms = now_ms;
    }
    b->rate = rate;
    refill(b, now_ms);
    return b;
}

/* ---- whose bucket ---- */

static struct rate rate_of(double cost_per_s, double burst)
{
    return (struct rate){ cost_per_s, burst > 0 ? burst : cost_per_s * BURST_S };
}

/* False: it has none. */
static bool address_key(const struct dx_admission *a, const struct dx_address *address,
                        uint8_t key[KEY])
{
    static const uint8_t no_address[KEY];
    static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

    for (size_t i = 0; i < a->options.proxy_count; i++)
        if (dx_network_has(&a->options.proxies[i], address))
            return false;
    memset(key, 0, KEY);
    memcpy(key, address->bytes, memcmp(address->bytes, mapped, sizeof mapped) == 0 ? KEY : 8);
    return memcmp(address->bytes, no_address, KEY) != 0;
}

static bool address_rate(const struct dx_admission *a, const struct dx_who *who, uint8_t key[KEY],
                         struct rate *rate)
{
    *rate = rate_of(a->options.address_cost_per_s, a->options.address_burst);
    return rate->cost_per_s > 0 && address_key(a, &who->address, key);
}

/* False: there is no table, or it stands for all callers without a principal. */
static bool principal_key(const struct dx_principal *p, uint8_t key[KEY])
{
    struct dx_hash128 name;

    if (p == NULL || strcmp(p->name, NO_NAME) == 0)
        return false;
    name = dx_hash128_of(dx_span_str(p->name));
    memcpy(key, name.bytes, KEY);
    return true;
}

static bool principal_rate(const struct dx_admission *a, const struct dx_who *who, uint8_t key[KEY],
                           struct rate *rate)
{
    const struct dx_principal *p = who->principal;
    struct dx_hash128 name;

    if (p == NULL)
        return false;
    *rate = rate_of(p->cost_per_s, p->cost_burst);
    if (p->cost_per_s <= 0 && strcmp(p->name, NO_NAME) == 0)
        return false;
    if (p->cost_per_s <= 0)
        *rate = rate_of(a->options.principal_cost_per_s, a->options.principal_burst);
    if (rate->cost_per_s <= 0)
        return false;
    name = dx_hash128_of(dx_span_str(p->name));
    memcpy(key, name.bytes, KEY);
    return true;
}

/* ---- taking ---- */

static unsigned wait_of(const struct bucket *b)
{
    double s = floor(-b->has / b->rate.cost_per_s) + 1;

    return s < DX_ADMISSION_DEBT_S ? (unsigned)s : DX_ADMISSION_DEBT_S;
}

static void pay(struct bucket *b, double cost)
{
    double most = fmax(b->rate.burst, DX_ADMISSION_DEBT_S * b->rate.cost_per_s);

    b->has = fmin(b->rate.burst, fmax(-most, b->has - cost));
}

static bool take(struct dx_admission *a, struct table *t, const uint8_t key[KEY], struct rate rate,
                 double cost, int64_t now_ms, unsigned *wait_s)
{
    struct place p = enter(a, t, key);
    struct bucket *b = bucket_of(&p, key, rate, now_ms);
    bool taken = b->has > 0;

    if (taken)
        pay(b, cost);
    else
        *wait_s = wait_of(b);
    leave(&p);
    return taken;
}

static void charge(struct dx_admission *a, struct table *t, const uint8_t key[KEY],
                   struct rate rate, double cost, int64_t now_ms)
{
    struct place p = enter(a, t, key);

    pay(bucket_of(&p, key, rate, now_ms), cost);
    leave(&p);
}

static void count(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

bool dx_admission_take(struct dx_admission *a, const struct dx_who *who, double cost,
                       int64_t now_ms, unsigned *wait_s)
{
    uint8_t address[KEY];
    uint8_t name[KEY];
    struct rate of_address;
    struct rate of_principal;
    bool by_address = address_rate(a, who, address, &of_address);

    *wait_s = 0;
    if (!(cost > 0))
        return true;
    if (by_address && !take(a, &a->addresses, address, of_address, cost, now_ms, wait_s)) {
        count(&a->refused_address);
        return false;
    }
    if (!principal_rate(a, who, name, &of_principal) ||
        take(a, &a->principals, name, of_principal, cost, now_ms, wait_s))
        return true;
    if (by_address) /* what is refused costs nothing */
        charge(a, &a->addresses, address, of_address, -cost, now_ms);
    count(&a->refused_principal);
    return false;
}

void dx_admission_more(struct dx_admission *a, const struct dx_who *who, double cost,
                       int64_t now_ms)
{
    uint8_t key[KEY];
    struct rate rate;

    if (!(cost > 0))
        return;
    if (address_rate(a, who, key, &rate))
        charge(a, &a->addresses, key, rate, cost, now_ms);
    if (principal_rate(a, who, key, &rate))
        charge(a, &a->principals, key, rate, cost, now_ms);
}

/* ---- what is open ---- */

static bool count_up(struct dx_admission *a, struct table *t, const uint8_t key[KEY],
                     struct rate rate, enum open what, unsigned most)
{
    struct place p = enter(a, t, key);
    struct bucket *b = find(&p, key);
    bool taken;

    if (b == NULL) {
        b = make_bucket(&p, key, 0);
        b->rate = rate;
        b->has = rate.burst;
    }
    taken = b->open[what] < most;
    b->open[what] += taken;
    leave(&p);
    return taken;
}

static void count_down(struct dx_admission *a, struct table *t, const uint8_t key[KEY],
                       enum open what)
{
    struct place p = enter(a, t, key);
    struct bucket *b = find(&p, key);

    if (b != NULL && b->open[what] > 0)
        b->open[what]--;
    leave(&p);
}

bool dx_admission_connect(struct dx_admission *a, const struct dx_address *address)
{
    const struct dx_admission_options *o = &a->options;
    uint8_t key[KEY];

    if (o->address_connections == 0 || !address_key(a, address, key) ||
        count_up(a, &a->addresses, key, rate_of(o->address_cost_per_s, o->address_burst),
                 CONNECTIONS, o->address_connections))
        return true;
    count(&a->refused_connections);
    return false;
}

void dx_admission_gone(struct dx_admission *a, const struct dx_address *address)
{
    uint8_t key[KEY];

    if (a->options.address_connections > 0 && address_key(a, address, key))
        count_down(a, &a->addresses, key, CONNECTIONS);
}

static bool begin_of_address(struct dx_admission *a, const struct dx_who *who,
                             struct dx_admission_stream *s)
{
    const struct dx_admission_options *o = &a->options;

    if (o->address_streams == 0 || !address_key(a, &who->address, s->address))
        return true;
    s->of_address = count_up(a, &a->addresses, s->address,
                             rate_of(o->address_cost_per_s, o->address_burst), STREAMS,
                             o->address_streams);
    return s->of_address;
}

static bool begin_of_principal(struct dx_admission *a, const struct dx_who *who,
                               struct dx_admission_stream *s)
{
    const struct dx_admission_options *o = &a->options;
    struct rate rate;

    if (o->principal_streams == 0 || !principal_key(who->principal, s->principal))
        return true;
    if (!principal_rate(a, who, s->principal, &rate))
        rate = (struct rate){ 0, 0 };
    s->of_principal = count_up(a, &a->principals, s->principal, rate, STREAMS,
                               o->principal_streams);
    return s->of_principal;
}

bool dx_admission_stream_begin(struct dx_admission *a, const struct dx_who *who,
                               struct dx_admission_stream *stream)
{
    *stream = (struct dx_admission_stream){ .of_address = false };
    if (!begin_of_address(a, who, stream)) {
        count(&a->refused_address_streams);
        return false;
    }
    if (begin_of_principal(a, who, stream))
        return true;
    count(&a->refused_principal_streams);
    dx_admission_stream_end(a, stream);
    return false;
}

void dx_admission_stream_end(struct dx_admission *a, struct dx_admission_stream *stream)
{
    if (stream->of_address)
        count_down(a, &a->addresses, stream->address, STREAMS);
    if (stream->of_principal)
        count_down(a, &a->principals, stream->principal, STREAMS);
    *stream = (struct dx_admission_stream){ .of_address = false };
}

/* ---- made and unmade ---- */

int dx_admission_new(struct dx_admission **out, const struct dx_admission_options *options,
                     uint64_t seed, struct dx_error *err)
{
    struct dx_admission *a = aligned_alloc(_Alignof(struct dx_admission), sizeof *a);
    int rc;

    *out = NULL;
    if (a == NULL)
        return dx_no_memory(err, "admission");
    memset(a, 0, sizeof *a);
    a->options = *options;
    a->seed = seed;
    for (size_t i = 0; i < LOCKS; i++)
        (void)pthread_mutex_init(&a->locks[i].mutex, NULL);
    rc = make_table(&a->addresses, options->addresses_max, err);
    if (rc == DX_OK)
        rc = make_table(&a->principals, PRINCIPALS, err);
    if (rc < 0)
        dx_admission_free(&a);
    *out = a;
    return rc;
}

void dx_admission_free(struct dx_admission **a)
{
    if (*a == NULL)
        return;
    for (size_t i = 0; i < LOCKS; i++)
        (void)pthread_mutex_destroy(&(*a)->locks[i].mutex);
    free((*a)->addresses.buckets);
    free((*a)->principals.buckets);
    free(*a);
    *a = NULL;
}

void dx_admission_counts_read(const struct dx_admission *a, struct dx_admission_counts *counts)
{
    *counts = (struct dx_admission_counts){
        .refused_address = atomic_load(&a->refused_address),
        .refused_principal = atomic_load(&a->refused_principal),
        .refused_connections = atomic_load(&a->refused_connections),
        .refused_address_streams = atomic_load(&a->refused_address_streams),
        .refused_principal_streams = atomic_load(&a->refused_principal_streams),
        .addresses = atomic_load(&a->addresses.used),
    };
}
