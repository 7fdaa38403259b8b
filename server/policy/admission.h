/* SPDX-License-Identifier: Apache-2.0
 * admission.h - how much each principal and each address may ask for.
 *
 *   rc = dx_admission_new(&a, &options, seed, &err);
 *   if (!dx_admission_take(a, &who, cost, now_ms, &wait_s))        429, Retry-After: wait_s
 *   dx_admission_more(a, &who, cost, now_ms);                      it cost more than was thought
 *   if (!dx_admission_connect(a, &address)) ...  dx_admission_gone(a, &address);
 *   if (!dx_admission_stream_begin(a, &who, &stream)) ...         429
 *   dx_admission_stream_end(a, &stream);                          once more is fine
 *   dx_admission_free(&a);
 *
 * Token buckets in units of cost (server/routes/cost.h). A request is taken while its bucket is not
 * empty, and may leave it in debt, so that what costs more than a whole burst can be asked for at
 * all, and is paid for before the next. A rate without a burst saves up ten seconds. A debt is at
 * most what DX_ADMISSION_DEBT_S seconds pay, or a burst.
 *
 * An address of IPv6 is its first 64 bits: one client may have all addresses of such a network. A
 * local socket (all 0) has no bucket and no cap: it belongs to a proxy. Nor has the principal
 * "anonymous", unless the table gives it one: it stands for all callers without a principal.
 *
 * A stream is an answer in parts, which keeps its place while its client reads (server/engine/chunked_reply.h). A
 * caller may have so many at once that its address and its principal both have room for one more.
 *
 * Memory is bounded: of more addresses than options.addresses_max those that are full again and
 * have no connection or stream are forgotten first, then those that owe least; counts of forgotten ones start
 * again. Tables are seeded, so that clients cannot choose which of them share a line. Times are
 * monotonic ones; one that goes back pays nothing. Thread-safe, without one lock for all.
 */
#ifndef DX_SERVER_POLICY_ADMISSION_H
#define DX_SERVER_POLICY_ADMISSION_H

#include "server/policy/identity.h"

#define DX_ADMISSION_DEBT_S 3600
#define DX_ADMISSION_ADDRESSES 65536 /* the usual addresses_max: 3 MiB */

struct dx_admission;

struct dx_admission_options {
    double address_cost_per_s; /* 0: no bucket for addresses */
    double address_burst;
    double principal_cost_per_s; /* where the table says nothing; 0: none */
    double principal_burst;
    unsigned address_connections; /* at once; 0: no cap */
    unsigned address_streams;     /* the same */
    unsigned principal_streams;
    unsigned addresses_max;
    const struct dx_network *proxies; /* have neither bucket nor cap: their clients have. Not */
    size_t proxy_count;               /* copied */
};

struct dx_admission_counts {
    uint64_t refused_address, refused_principal, refused_connections;
    uint64_t refused_address_streams, refused_principal_streams;
    uint64_t addresses; /* that are remembered now */
};

/* Where a stream is counted. All 0: nowhere. */
struct dx_admission_stream {
    bool of_address, of_principal;
    uint8_t address[16], principal[16]; /* keys */
};

int dx_admission_new(struct dx_admission **a, const struct dx_admission_options *options,
                     uint64_t seed, struct dx_error *err);
void dx_admission_free(struct dx_admission **a);

/* False: neither bucket has paid. cost 0 is always taken. wait_s: 1 to DX_ADMISSION_DEBT_S. */
bool dx_admission_take(struct dx_admission *a, const struct dx_who *who, double cost,
                       int64_t now_ms, unsigned *wait_s);
void dx_admission_more(struct dx_admission *a, const struct dx_who *who, double cost,
                       int64_t now_ms);
bool dx_admission_connect(struct dx_admission *a, const struct dx_address *address);
void dx_admission_gone(struct dx_admission *a, const struct dx_address *address);
/* False: `stream` is counted nowhere, and the address or the principal has as many as it may. */
bool dx_admission_stream_begin(struct dx_admission *a, const struct dx_who *who,
                               struct dx_admission_stream *stream);
void dx_admission_stream_end(struct dx_admission *a, struct dx_admission_stream *stream);
void dx_admission_counts_read(const struct dx_admission *a, struct dx_admission_counts *counts);

#endif
