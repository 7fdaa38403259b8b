/* SPDX-License-Identifier: Apache-2.0
 * ingest_remote.h - what a run does otherwise when its root is on object storage.
 *
 *   struct dx_ingest_remote r = DX_INGEST_REMOTE_INIT;
 *   rc = dx_ingest_remote_open(&r, options, &err);
 *   rc = dx_ingest_remote_begin(&r, &roster, &err);          before reading: what is there
 *   rc = dx_ingest_remote_psl(&r, text, &err);               after it: the list, if there is none,
 *   rc = dx_ingest_remote_names(&r, change, ctx, &roster, &err);   the names,
 *   rc = dx_ingest_remote_claim(&r, ids, count, &err);       and the right to add to them
 *   rc = dx_lake_now_open(&now, root, &r.root, &err);        what the lake has, from now on by us
 *   ... r.root, r.claim: ingest_existing.h, ingest_upload.h ...
 *   dx_ingest_remote_close(&r);                              gives the claim back
 *
 * Nothing is locked. Ids are given by a conditional put of the registry, so none is given twice; a
 * name that somebody else has added meanwhile keeps the id it got. The registry is put before any
 * file is written, because a row carries its id: a run that ends after it leaves names without
 * files, which harm nobody. One thread at a time.
 */
#ifndef DX_BUILDER_INGEST_REMOTE_H
#define DX_BUILDER_INGEST_REMOTE_H

#include "base/bytes.h"
#include "builder/ingest.h"
#include "builder/remote_root.h"

struct dx_ingest_claim;
struct dx_lake_list;
struct dx_roster;

struct dx_ingest_remote {
    const struct dx_ingest_options *o;
    struct dx_remote_root root;
    bool had_registry;
    struct dx_ingest_claim *claim; /* NULL: none */
};

#define DX_INGEST_REMOTE_INIT                  \
    {                                          \
        NULL, DX_REMOTE_ROOT_INIT, false, NULL \
    }

#define DX_LAKE_PSL "urls/psl.dat"

/* Ids and metadata into the registry as it is now; called again if somebody else was faster. */
typedef int dx_ingest_names(void *ctx, struct dx_roster *roster, struct dx_error *err);

int dx_ingest_remote_open(struct dx_ingest_remote *r, const struct dx_ingest_options *o,
                          struct dx_error *err);
void dx_ingest_remote_close(struct dx_ingest_remote *r);

/* The registry; and that the store's conditions are honest, once a store (publish_probe.h). */
int dx_ingest_remote_begin(struct dx_ingest_remote *r, struct dx_roster **roster,
                           struct dx_error *err);
int dx_ingest_remote_psl(struct dx_ingest_remote *r, struct dx_span text, struct dx_error *err);

/* roster is replaced by what is in the store now. */
int dx_ingest_remote_names(struct dx_ingest_remote *r, dx_ingest_names *change, void *ctx,
                           struct dx_roster **roster, struct dx_error *err);
int dx_ingest_remote_claim(struct dx_ingest_remote *r, uint32_t *ids, size_t count,
                           struct dx_error *err);

/* Files of a dataset that the registry does not know would get its next id's name. */
int dx_ingest_check_lake(const char *root, const struct dx_lake_list *lake,
                         const struct dx_roster *roster, struct dx_error *err);

#endif
