/* SPDX-License-Identifier: Apache-2.0
 * gc.h - removes versions that are not kept, and the lake files that only they have.
 *
 *   struct dx_gc_options o = DX_GC_OPTIONS_INIT;
 *   o.root = "s3://bucket/prefix";  o.remove = true;  o.say = print_line;
 *   rc = dx_gc(&o, &result, &err);          one pass: what is due now
 *
 * The protocol is docs/model/README.md's, "Collector"; the table there names the code of each step.
 * A version goes by puts of the manifest, each on the condition that it is the one that was read:
 * condemned; after dx_gc_wait_s, if it is so still, dropped; then, when no lease names it, its lake
 * files and objects go, by its own lists, but for what any other entry has too; last its entry. A
 * pass does what is due and never waits: run it again later, from cron. It may be killed anywhere,
 * and several may run at once, beside publishes, rollbacks and servers.
 *
 * Kept are the current version, the newest `keep`, and those that were current less than keep_for_s
 * ago, and with each of them the older versions whose files are a part of it; no version is dropped or removed
 * while another entry that needs its files is not. Also removed is what publishes left that lost or died: files below index/N/ where N is not
 * above the manifest's sequence and no entry names them, lake files of compactions without an
 * entry, and what jobs that did not end left below spool/ (gc_spool.h). Lake files that no version ever named are new data, and are never touched; nor is what is
 * not known.
 *
 * Time is the store's. Refused (DX_E_INVALID, DX_E_UNSUPPORTED): a root without a manifest, one of
 * which a list of files cannot be read, a plan to take more than max_share percent of the bytes, a
 * server whose lease reckons with longer times than ours (it may rely on what we would remove).
 *
 * A directory: puts are under the root's lock; DX_E_BUSY if another holds it for long. A store: it
 * must keep conditions (root_probe.h). Without `remove` nothing is written at all.
 */
#ifndef DX_BUILDER_MAINTAIN_GC_H
#define DX_BUILDER_MAINTAIN_GC_H

#include "base/error.h"
#include "builder/maintain/gc_options.h"

struct dx_gc_result {                     /* without `remove`: what would be */
    unsigned condemned, dropped, removed; /* versions */
    unsigned waiting; /* condemned ones whose time has not come, and leased ones */
    uint64_t objects; /* of index and lake */
    uint64_t bytes;
};

int dx_gc(const struct dx_gc_options *o, struct dx_gc_result *result, struct dx_error *err);

#endif
