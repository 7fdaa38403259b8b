/* SPDX-License-Identifier: Apache-2.0
 * transfer.h - what has come of one stream of segments, kept on disk until its rows are in the
 * lake.
 *
 *   struct dx_transfer t = DX_TRANSFER_INIT;
 *   rc = dx_transfer_open(&t, spool, key, &err);            1 there is one, 0 there is none
 *   rc = dx_transfer_begin(&t, spool, key, &head, &err);    a new one
 *   rc = dx_transfer_add(&t, &segment, &err);               the next one: written,
 *   rc = dx_transfer_sync(&t, &err);                        and durable; now it may be acknowledged
 *   rc = dx_transfer_same(&t, &segment, &err);              1 these bytes have come, 0 others have
 *   if (dx_transfer_waits(&t)) ...                          whole, and not in the lake
 *   rc = dx_transfer_check(&t, &err);                       whole: the bytes are what came
 *   rc = dx_transfer_mark(&t, DX_TRANSFER_STORED, &err);    the rows are in the lake; bytes go
 *   rc = dx_transfer_again(&t, &segment, &err);             stored, and one of it comes again
 *   dx_transfer_close(&t);
 *
 * A folder SPOOL/KEY with two files: `bytes`, the payloads one behind the other, and `journal`
 * (format/exchange/segment_journal.h), which is written after the bytes are synced. Open takes off
 * what a crash has left behind the last good record. One thread at a time, one process for a spool.
 *
 * A segment of a stored transfer may be a copy that some broker or sender made, or of a file that
 * was sent again because its rows are gone from the lake; a message does not say which. So it is
 * kept, in any order, and when all of them have come the transfer waits for the lake once more.
 * Copies of a part never do.
 */
#ifndef DX_BUILDER_EXCHANGE_QUEUE_TRANSFER_H
#define DX_BUILDER_EXCHANGE_QUEUE_TRANSFER_H

#include <limits.h>

#include "format/exchange/segment.h"
#include "format/exchange/segment_journal.h"

#define DX_TRANSFER_KEY 40 /* of a key with its NUL */

enum dx_transfer_state {
    DX_TRANSFER_OPEN,
    DX_TRANSFER_STORED, /* its rows are in the lake */
    DX_TRANSFER_SETTLED /* and the broker has taken the last acknowledgement */
};

struct dx_transfer {
    char key[DX_TRANSFER_KEY]; /* "": none */
    char folder[PATH_MAX];
    char bytes_path[PATH_MAX];
    char journal_path[PATH_MAX];
    int bytes_fd;
    int journal_fd;
    struct dx_segment_journal_head head;
    size_t head_size;
    struct dx_segment_join join;
    uint64_t synced; /* records in the journal; those behind them wait in `records` */
    struct dx_buf records;
    enum dx_transfer_state state;
    uint8_t *again; /* of a stored one: a bit for each segment that has come again; NULL: none */
    uint32_t again_count;
};

#define DX_TRANSFER_INIT                            \
    {                                               \
        .key = "", .bytes_fd = -1, .journal_fd = -1 \
    }

int dx_transfer_open(struct dx_transfer *t, const char *spool, const char *key,
                     struct dx_error *err);
int dx_transfer_begin(struct dx_transfer *t, const char *spool, const char *key,
                      const struct dx_segment_journal_head *head, struct dx_error *err);
void dx_transfer_close(struct dx_transfer *t); /* what was not synced is lost */

int dx_transfer_add(struct dx_transfer *t, const struct dx_segment *s, struct dx_error *err);
int dx_transfer_sync(struct dx_transfer *t, struct dx_error *err);
int dx_transfer_same(const struct dx_transfer *t, const struct dx_segment *s, struct dx_error *err);
int dx_transfer_check(const struct dx_transfer *t, struct dx_error *err);
int dx_transfer_mark(struct dx_transfer *t, enum dx_transfer_state state, struct dx_error *err);
/* s: dx_transfer_same has said 1. */
int dx_transfer_again(struct dx_transfer *t, const struct dx_segment *s, struct dx_error *err);
bool dx_transfer_waits(const struct dx_transfer *t);

/* The keys of all in a spool; an error of take ends it. */
int dx_transfer_each(const char *spool,
                     int (*take)(void *ctx, const char *key, struct dx_error *err), void *ctx,
                     struct dx_error *err);

/* Closes it and takes its folder away. */
int dx_transfer_remove(struct dx_transfer *t, struct dx_error *err);

#endif
