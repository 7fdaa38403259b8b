/* SPDX-License-Identifier: Apache-2.0
 * receipt.h - a signed statement that an answer was given: the field Domaindex-Receipt of a reply.
 *
 *   struct dx_receipt r = { .at_s = now, .method = "GET", .target = ..., .status = 200, ... };
 *   ok = dx_receipt_write(key, &r, &out);       base/crypto/jws.h of a JSON object with these members
 *
 * docs/API.md has the members; `domaindex receipt` reads them. Any thread.
 */
#ifndef DX_SERVER_POLICY_RECEIPT_H
#define DX_SERVER_POLICY_RECEIPT_H

#include "base/bytes.h"
#include "base/crypto/jws.h"

/* Bytes of a target, each of which takes at most two in JSON; more are refused, since a head is bounded. */
#define DX_RECEIPT_TARGET_MAX 8000

struct dx_receipt {
    int64_t at_s; /* since 1970 */
    const char *method;
    struct dx_span target; /* as it was sent */
    int status;
    const char *version;  /* NULL: unknown */
    struct dx_span build; /* of the version; empty: not said */
    struct dx_span body;  /* without a content coding */
};

bool dx_receipt_write(const struct dx_jws_key *key, const struct dx_receipt *r, struct dx_buf *out);

#endif
