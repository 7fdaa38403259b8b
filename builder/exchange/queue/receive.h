/* SPDX-License-Identifier: Apache-2.0
 * receive.h - data sets that come over a broker as segments, each handed on when it is whole.
 *
 *   struct dx_receive_options o = { .url = &url, .spool = dir, .store = store, ... };
 *   rc = dx_receive_run(&o, &stats, &err);
 *
 * A segment is written to the spool (transfer.h) and synced before it is acknowledged, the last one
 * of a transfer only when `store` has made its rows durable. So wherever this process, the broker
 * or the machine stops, what was not acknowledged comes again, and what comes again is known by its
 * sequence and its bytes. A transfer that was stored and comes again whole is stored again: its
 * rows may be gone, and if they are not, `store` adds none.
 *
 * A spool is of one owner, where `store` stores: what was acknowledged for it is nowhere else. For
 * another one it is DX_E_CONFLICT.
 *
 * Which transfer a message is of tells its message-id. Messages without one are one transfer after
 * the other. A segment that is not the expected one of its transfer stays unacknowledged until the
 * window (the prefetch) is full or nothing more comes; then all such are put back, and after a
 * pause, which grows while nothing is gained, they come again. With a full window that helped
 * nothing the window doubles, to DX_RECEIVE_PREFETCH_MAX. A broker that goes away is looked for
 * again.
 *
 * `store` is called with the path of the joined bytes and the name of their dataset (NULL: no
 * message named one and none is needed). DX_E_BUSY from it is tried again.
 *
 * A message that is not a segment, or has other properties, ends the run and stays, or is moved to
 * the queue bad_to. One over DX_RECEIVE_MESSAGE_MAX always ends it: its bytes are not held.
 */
#ifndef DX_BUILDER_EXCHANGE_QUEUE_RECEIVE_H
#define DX_BUILDER_EXCHANGE_QUEUE_RECEIVE_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct dx_amqp_url;

#define DX_RECEIVE_PREFETCH 64
#define DX_RECEIVE_PREFETCH_MAX 4096
#define DX_RECEIVE_MESSAGE_MAX \
    ((size_t)128 << 20) /* the broker's own bound, unless it was raised */

struct dx_receive_options {
    const struct dx_amqp_url *url;
    const char *spool;     /* a folder on a local disk, made if missing */
    const char *owner;     /* whose spool it is, always in the same words; NULL: it lies there */
    const char *dataset;   /* of messages that name none; may be NULL */
    const char *bad_to;    /* queue for messages that are not segments; NULL: they end the run */
    bool needs_dataset;    /* a transfer without one is refused */
    uint64_t transfers;    /* ends after so many; 0: goes on */
    uint64_t wait_ms;      /* ends when nothing useful has come for so long; 0: never */
    bool (*stopped)(void); /* may be NULL */
    void (*say)(const char *); /* may be NULL */
    int (*store)(void *ctx, const char *path, const char *dataset, struct dx_error *err);
    void *ctx;
};

struct dx_receive_stats {
    uint64_t messages;
    uint64_t segments; /* kept */
    uint64_t bytes;    /* of these */
    uint64_t again;    /* came twice, dropped */
    uint64_t requeued; /* put back */
    uint64_t bad;      /* moved to bad_to */
    uint64_t connections;
    uint64_t transfers;       /* stored */
    uint64_t transfers_again; /* of these, stored before */
};

/* Stopped, or nothing came and nothing is unfinished: DX_OK. DX_E_TIMEOUT: wait_ms ran out with an
 * unfinished transfer, or before the transfers asked for had come; words say what is missing. */
int dx_receive_run(const struct dx_receive_options *o, struct dx_receive_stats *stats,
                   struct dx_error *err);

#endif
