/* SPDX-License-Identifier: Apache-2.0
 * lease_json.h - leases/{server}.json: which versions a server needs, and for how long.
 *
 *   struct dx_lease_text t = DX_LEASE_TEXT_INIT;
 *   rc = dx_lease_text_parse(&t, text, name, &err);
 *   if (dx_lease_text_names(&t, "000001-20261121T103000Z")) ...
 *   rc = dx_lease_text_add(&t, version, &err);           each once; order does not matter
 *   rc = dx_lease_text_write(&t, &buf, &err);            the same checks as parse, then text
 *   dx_lease_text_release(&t);
 *
 * A lease holds for ttl_s from when it was written, by the store's clock; the server itself counts
 * from before it sent it. No two leases have the same bytes: `instance` is drawn by each process,
 * serial grows with each of its leases. One thread at a time; layout in docs/FORMAT.md section 13.
 */
#ifndef DX_FORMAT_ROOT_LEASE_JSON_H
#define DX_FORMAT_ROOT_LEASE_JSON_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "format/version/manifest.h"

#define DX_LEASE_TEXT_MAX (64u << 10)
#define DX_LEASE_VERSIONS_MAX 1000
#define DX_LEASE_SERVER 65          /* 1 to 64 of [A-Za-z0-9._-], not '.' or '-' first, and NUL */
#define DX_LEASE_INSTANCE 33        /* 32 hex digits and NUL */
#define DX_LEASE_SECONDS_MAX 604800 /* of each of the three times: a week */

struct dx_lease_text {
    char server[DX_LEASE_SERVER];
    char instance[DX_LEASE_INSTANCE];
    uint64_t serial;
    uint32_t ttl_s;         /* at least 1 */
    uint32_t cursor_life_s; /* of a listing, from its first page */
    uint32_t request_s;     /* the longest request */
    char (*versions)[DX_VERSION_NAME];
    size_t count, room;
};

#define DX_LEASE_TEXT_INIT             \
    {                                  \
        "", "", 0, 0, 0, 0, NULL, 0, 0 \
    }

bool dx_lease_server_ok(struct dx_span name);

int dx_lease_text_parse(struct dx_lease_text *t, struct dx_span text, const char *name,
                        struct dx_error *err);
int dx_lease_text_add(struct dx_lease_text *t, const char *version, struct dx_error *err);
bool dx_lease_text_names(const struct dx_lease_text *t, const char *version);
int dx_lease_text_write(const struct dx_lease_text *t, struct dx_buf *out, struct dx_error *err);
void dx_lease_text_release(struct dx_lease_text *t);

#endif
