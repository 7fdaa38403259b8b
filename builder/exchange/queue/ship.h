/* SPDX-License-Identifier: Apache-2.0
 * ship.h - one file to a queue, as segments.
 *
 *   struct dx_ship_options o = { .url = &url, .path = "posts.jsonl.zst", .dataset = "posts", ... };
 *   rc = dx_ship_run(&o, &stats, &err);
 *
 * The messages are persistent, each has the id of the transfer, the dataset and the SHA-256 of the
 * file; at most DX_AMQP_WINDOW are out without the broker's confirmation. The id is a hash of what
 * is sent, so sending a file again completes or repeats the same transfer. The file is read twice:
 * for its sum, and to be sent; the last segment goes out only if the bytes were the same, also of
 * what is sent twice, so a file that changes meanwhile never becomes a whole transfer. A broker
 * that goes away is looked for again for wait_ms; sending goes on at the first segment that was not
 * confirmed, or at the first of all if the broker has lost the queue.
 */
#ifndef DX_BUILDER_EXCHANGE_QUEUE_SHIP_H
#define DX_BUILDER_EXCHANGE_QUEUE_SHIP_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct dx_amqp_url;

#define DX_SHIP_MSS_MAX ((uint64_t)127 << 20) /* with the header below a broker's usual bound */

struct dx_ship_options {
    const struct dx_amqp_url *url;
    const char *path;
    const char *dataset;
    uint64_t mss;
    uint64_t wait_ms;
    bool dry_run; /* the file is read, the broker is asked for the queue; nothing is made or sent */
    bool (*stopped)(void);     /* may be NULL */
    void (*say)(const char *); /* may be NULL */
};

struct dx_ship_stats {
    char id[33];
    uint64_t segments;
    uint64_t bytes;    /* of the file */
    uint64_t sent;     /* messages, with those that were sent again */
    bool queue_is_new; /* of a dry run: it would be made */
};

int dx_ship_run(const struct dx_ship_options *o, struct dx_ship_stats *stats, struct dx_error *err);

#endif
