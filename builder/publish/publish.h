/* SPDX-License-Identifier: Apache-2.0
 * publish.h - a new index version of what is in the lake, all or nothing.
 *
 *   struct dx_publish_options o = { .root = root, .memory = 1 << 30, .threads = 2, .now_us = t };
 *   struct dx_publish_result r;
 *   rc = dx_publish(&o, &r, &err);          DX_OK: r.version is current now
 *   dx_publish_result_release(&r);
 *
 * In a directory everything is made in ROOT/index/.tmp-PID/, synced, renamed to
 * ROOT/index/VERSION/, opened by the loader with every byte checked, and only then named by
 * manifest.json, which is replaced by rename. A reader sees the old version until that rename and
 * the new one after it; a crash anywhere before it leaves the old manifest with the old files. What
 * a dead publish left behind is removed by the next one.
 *
 * On object storage (s3://) the lake's files are fetched to a work folder, read and dropped, the
 * version is made there and uploaded, each object under a name that was free; it is read back whole
 * and opened by the loader from the store; and only then manifest.json is put on the condition that
 * only collectors have changed it. The second of two publishers gets DX_E_CONFLICT, and removes its
 * objects; if the first one was a merge (options.merge, publish_merge.h), it runs again. Publishers take no lock: see publish_remote.h.
 *
 * Disk on object storage: the work folder holds the index twice (as it was made, and as it was
 * read back), the sort's files, and of the lake the files that are being read: those of one
 * dataset whose prefixes overlap together, and of others as many as there are threads and room.
 *
 * The version is merged with the current one (builder/scan/index_base.h) if that can be: only new
 * files are read, and the rest is merged from it.
 * result.incremental, and result.why, say which it was. Which files the version has:
 * builder/lake/lake_membership.h.
 *
 * A faulty file is left out and listed in r.left_out, and the rest is published:
 * publish_refuse.h. Then the call succeeds, and its caller should say that it did so in part.
 *
 * A lake file that the current version has and that is not there ends the publish with nothing
 * changed, unless its dataset is allowed to lack files: publish_missing.h. Each is asked for by
 * name.
 *
 * If the lake gives the build id of the current version, nothing is written and r.unchanged is set
 * (not with `force`; nor if objects of a store have been restored or copied since and have other
 * ETags than the version says: r.other_etags, publish_etags.h). On error nothing stays but the old
 * state, but for DX_E_UNKNOWN: the last put may have been applied.
 */
#ifndef DX_BUILDER_PUBLISH_PUBLISH_H
#define DX_BUILDER_PUBLISH_PUBLISH_H

#include "base/error.h"
#include "builder/publish/publish_options.h"

int dx_publish(const struct dx_publish_options *options, struct dx_publish_result *result,
               struct dx_error *err);
void dx_publish_result_release(struct dx_publish_result *result);

#endif
