/* SPDX-License-Identifier: Apache-2.0
 * lease.h - what keeps a collector from the versions that this process reads.
 *
 *   struct dx_lease_options o = { .server = "web-1", .ttl_s = 600, .cursor_life_s = 900,
 *                                 .request_s = 60, .source = &source_options };
 *   rc = dx_lease_open(&lease, root, &o, &err);      DX_E_UNSUPPORTED, DX_E_DENIED: no lease can be
 *                                                    written there; go on without, and say so
 *   rc = dx_lease_hold(lease, names, n, &manifest, &err);
 *   if (dx_lease_until(lease, names[0]) > now_ms) ... it may be used until then
 *   dx_lease_close(&lease);                          the lease is taken back
 *
 * The protocol is docs/model/README.md's, "Server". Hold is called with *all* versions that this
 * process goes on with: the current one, those that requests or cursors use, one that a request
 * names; what it has let go of before the call. It writes leases/{server}.json and, when that is
 * acknowledged, reads the manifest again: a name is held if it is listed (or condemned) in that
 * manifest, or was held before under a lease that has not run out. The manifest goes to the caller,
 * who may decide by it what is current: that belief too holds no longer than the lease.
 *
 * It holds for ttl_s from before the request was sent, on the clock of dx_clock_ms. After that all
 * names are held no more, that of the "current" version too: what this process takes for current
 * may long be something else. So hold again each ttl_s / 3, begin no request that may not end in
 * time (request_s before), and cut what runs over. An error changes nothing but that names left out
 * are held no more: the old lease runs on.
 *
 * A lease that a process of the same name left behind (it was killed) is taken over, and what it
 * held is kept in ours for as long as it could have gone on: should that process live after all,
 * its next hold notices, and it continues under a name of its own: dx_lease_rival returns a
 * message, once.
 *
 * The root is s3:// or a directory that we may write to. Hold, rival and close from one thread;
 * until from any.
 */
#ifndef DX_LOADER_LEASE_H
#define DX_LOADER_LEASE_H

#include "fetch/source.h"
#include "format/root/lease_json.h"
#include "format/version/manifest.h"

#define DX_LEASE_TTL_S 600
#define DX_LEASE_CURSOR_LIFE_S 900
#define DX_LEASE_REQUEST_S 60

struct dx_lease;

struct dx_lease_options {
    const char *server; /* dx_lease_server_ok; NULL: the name of this machine */
    uint32_t ttl_s;
    uint32_t cursor_life_s;
    uint32_t request_s;
    const struct dx_source_options *source; /* NULL: the defaults, and the environment's */
};

/* Writes a first lease, of no version. */
int dx_lease_open(struct dx_lease **lease, const char *root, const struct dx_lease_options *options,
                  struct dx_error *err);
void dx_lease_close(struct dx_lease **lease);

/* manifest is written over, and the caller's on success (dx_manifest_release). DX_E_TIMEOUT: the
 * lease has run out before the manifest was read. */
int dx_lease_hold(struct dx_lease *lease, const char *const *names, size_t count,
                  struct dx_manifest *manifest, struct dx_error *err);

/* Until when, on the clock of dx_clock_ms, a version may be used; 0: it is not held. */
uint64_t dx_lease_until(struct dx_lease *lease, const char *version);

/* Words on another living process that uses our name, if there is news of one; else NULL. Valid
 * until the next call. */
const char *dx_lease_rival(struct dx_lease *lease);

/* The name that the lease is under now; for tests. */
const char *dx_lease_server(const struct dx_lease *lease);

#endif
