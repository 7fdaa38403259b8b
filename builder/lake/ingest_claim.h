/* SPDX-License-Identifier: Apache-2.0
 * ingest_claim.h - one run at a time adds to a dataset of a root on object storage.
 *
 *   struct dx_ingest_claim_options o = { .remote = &remote, .root = root };
 *   rc = dx_ingest_claim_take(&claim, &o, ids, count, &err);    waits while others have them
 *   rc = dx_ingest_claim_check(claim, &err);                    before each step that is seen
 *   dx_ingest_claim_doubt(claim);                               whether a put was done is not known
 *   rc = dx_ingest_claim_confirm(claim, &err);                  after the last of them
 *   dx_ingest_claim_drop(&claim);
 *
 * Two runs that add the same row to the same dataset at once would both find it missing and both
 * write it. So a run enters itself, with its dataset ids, into the object writers, by a conditional
 * put, before it looks what the lake has; and waits while a run that was entered before it has one
 * of its datasets. The table is a queue: a run waits for those that stood in it when it came and
 * for no later one, so waiting ends with their runs however many follow. One object, not one a
 * dataset: a run may have a million datasets, and all ids in one step cannot deadlock. Runs with
 * other datasets do not wait for each other.
 *
 * A run renews its entry four times a lease; an entry that was not renewed for a whole lease, on
 * the clock of the reader, is removed with the next change by any run. No two clocks are compared.
 * An entry of a process on the same machine that has certainly ended is removed at once. Each
 * request has a sixth of a lease, so that one lost reply leaves time for others. A run that cannot
 * renew for two thirds of a lease, or finds its entry removed, ends before the next attempt of any
 * put: check fails, and the uploads ask it before each (dx_put.may).
 *
 * What stays open: one attempt of a put that was sent before that and reaches the store after a
 * third of a lease, and the settle time, have passed. It is not prevented but detected: confirm,
 * after the last file, asks the store whether the entry still stands. If it does, no other run was
 * entered with a dataset of ours while we wrote. If not, the run fails, and says that rows may be
 * there twice.
 *
 * A put whose reply was lost may be done later than that: then the next run, which finds its rows missing, would write them
 * again. So a run that ends in doubt leaves its entry to run out, and the next one waits for that. If the run has
 * ended on the same machine, it waits for the settle time alone.
 *
 * A waiting run tolerates a store that does not answer for two leases.
 *
 * take, confirm and drop from one thread, check and doubt from several; a thread of its own keeps
 * the entry.
 */
#ifndef DX_BUILDER_LAKE_INGEST_CLAIM_H
#define DX_BUILDER_LAKE_INGEST_CLAIM_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DX_CLAIM_LEASE_MS 60000
#define DX_CLAIM_SETTLE_MS 2000 /* what one who was killed had sent is there by then */

struct dx_ingest_claim;
struct dx_root;

struct dx_ingest_claim_options {
    const struct dx_root *remote;
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

void dx_ingest_claim_doubt(struct dx_ingest_claim *claim);

/* DX_E_CONFLICT: the entry is gone; other errors: the store does not say. */
int dx_ingest_claim_confirm(const struct dx_ingest_claim *claim, struct dx_error *err);

/* Removes the entry; in doubt, or if the store does not answer, it is left to run out. */
void dx_ingest_claim_drop(struct dx_ingest_claim **claim);

#endif
