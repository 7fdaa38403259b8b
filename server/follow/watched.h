/* SPDX-License-Identifier: Apache-2.0
 * watched.h - what a server follows while it serves, each in a thread of its own (follower.h).
 */
#ifndef DX_SERVER_FOLLOW_WATCHED_H
#define DX_SERVER_FOLLOW_WATCHED_H

#include "server/follow/follower.h"

/* A struct dx_access: a token that is revoked does not wait until a version is loaded. */
extern const struct dx_watched dx_watched_access;

/* A struct dx_current. Of new rules it has the rows of the current version looked up at once
 * (query/suppression/suppression_view.h). */
extern const struct dx_watched dx_watched_suppressions;

/* A struct dx_domain64_live: books may have to be fetched and checked. */
extern const struct dx_watched dx_watched_domain64;

/* A struct dx_current with a lease, which is renewed: each third of its TTL, and after a failure
 * each thirtieth, and not less often than each 5 s. */
extern const struct dx_watched dx_watched_lease;
uint64_t dx_watched_lease_retry_ms(uint64_t ttl_ms);

/* A struct dx_tls: certificates are renewed by other programs. */
extern const struct dx_watched dx_watched_certificate;

#endif
