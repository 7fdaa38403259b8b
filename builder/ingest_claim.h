/* SPDX-License-Identifier: Apache-2.0
 * ingest_claim.h - one run at a time adds to a dataset of a root on object storage.
 *
 *   struct dx_ingest_claim_options o = { .remote = &remote, .root = root };
 *   rc = dx_ingest_claim_take(&claim, &o, ids, count, &err);    waits while others have them
 *   rc = dx_ingest_claim_check(claim, &err);                    before each step that is seen
 *   dx_ingest_claim_drop(&claim);
 *
 * Two runs that add the same row to the same dataset at once would both find it missing and both
 * write it. So a run enters itself, with its dataset ids, into the object urls/_writers, by a
 * conditional put, before it looks what the lake has; and waits while somebody else is there with
 * one of its datasets. One object, not one a dataset: a run may have a million datasets, and all
 * ids in one step cannot deadlock. Runs with other datasets do not wait for each other.
 *
 * Who is entered says so again four times a lease; the entry of one who has been silent for a
 * whole lease, on the clock of him who waits, may be removed. No two clocks are compared. An
 * entry of a process on the same machine that has ended is removed at once. He who cannot say it
 * for two thirds of a lease, or finds himself removed, ends before his next file: check fails.
 * What stays open: a single put that was sent before and reaches the store after a third of a
 * lease, and the settle time, have passed.
 *
 * take, check and drop from one thread, check from several; a thread of its own keeps the entry.
 */
#ifndef DX_BUILDER_INGEST_CLAIM_H
#define DX_BUILDER_INGEST_CLAIM_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DX_CLAIM_LEASE_MS 60000
#define DX_CLAIM_SETTLE_MS 2000 /* what one who was killed had sent is there by then */

struct dx_ingest_claim;
struct dx_remote_root;

struct dx_ingest_claim_options {
    const struct dx_remote_root *remote;
    const char *root;              /* for words */
    bool (*stopped)(void);         /* may be NULL: true ends the wait */
    void (*say)(const char *text); /* may be NULL: a line on whom we wait for */
    unsigned lease_ms;             /* tests; 0: DX_CLAIM_LEASE_MS */
    unsigned settle_ms;            /* tests, with lease_ms */
};

/* ids is sorted by this; count is at least 1. */
int dx_ingest_claim_take(struct dx_ingest_claim **claim,
                         const struct dx_ingest_claim_options *options, uint32_t *ids, size_t count,
                         struct dx_error *err);
int dx_ingest_claim_check(const struct dx_ingest_claim *claim, struct dx_error *err);

/* Removes the entry; if the store does not answer it is left to run out. */
void dx_ingest_claim_drop(struct dx_ingest_claim **claim);

/* Sleeps up to most_ms, a random part of it, so that those who collided do not meet again. */
void dx_ingest_claim_jitter(unsigned most_ms);

#endif
