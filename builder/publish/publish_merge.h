/* SPDX-License-Identifier: Apache-2.0
 * publish_merge.h - parts of the current version merged beside publishes.
 *
 *   if (dx_publish_merge_due(&manifest, &policy)) {
 *       o.merge = true;
 *       rc = dx_publish(&o, &result, &err);     r.unchanged: another one was faster
 *   }
 *
 * A merge makes a version that has what the current one has, lake files and datasets alike, in fewer
 * parts; nothing of the lake is listed or read. It is one step (parts_policy.h): ask again after it. In a directory it takes
 * the root's lock to put the version in place alone, so no publish waits for it; if one was faster (DX_E_CONFLICT), or it is
 * killed, its work is lost, nothing was changed, and the next one begins again. On object storage a
 * publish that a merge was faster than runs again by itself (publish.h). No state; any thread.
 */
#ifndef DX_BUILDER_PUBLISH_PUBLISH_MERGE_H
#define DX_BUILDER_PUBLISH_PUBLISH_MERGE_H

#include <stdbool.h>

struct dx_manifest;
struct dx_parts_policy;

/* Of the current version. One that lacks lake files by permission is not merged: a publish is. */
bool dx_publish_merge_due(const struct dx_manifest *m, const struct dx_parts_policy *policy);

/* Whether the current version has what `before` has, in other parts. */
bool dx_publish_is_merge_of(const struct dx_manifest *m, const char *before);

#endif
