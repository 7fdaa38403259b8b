/* SPDX-License-Identifier: Apache-2.0
 * changes_feed.h - what versions changed for one domain, as an Atom feed (RFC 4287).
 *
 *   rc = dx_changes_feed_entry(&entries, base, &item, before, after, &err);       for each version that changed it, the newest first
 *   dx_changes_feed_write(&body, base, domain, updated_us, &entries.bytes);       the document around them
 *
 * Ids of entries follow from the name of the newer version and the domain, so that an entry is the same one in each feed
 * that has it (not from its build: that depends on datasets which the caller may not see); the feed's own follows from the
 * domain. Links are addresses below `base`, where clients find the API ("https://example.org/index"); of an empty one they are relative to the feed's. Errors of
 * writing are those of the buffers. No state; any thread.
 */
#ifndef DX_QUERY_CHANGES_CHANGES_FEED_H
#define DX_QUERY_CHANGES_CHANGES_FEED_H

#include "query/changes/diff_json.h"

struct dx_buf;

int dx_changes_feed_entry(struct dx_buf *entries, struct dx_span base,
                          const struct dx_diff_item *item, const struct dx_version *before,
                          const struct dx_version *after, struct dx_error *err);
/* updated_us: of the newest entry, or of a version where there are none. */
void dx_changes_feed_write(struct dx_buf *body, struct dx_span base, struct dx_span domain,
                           int64_t updated_us, struct dx_span entries);

#endif
