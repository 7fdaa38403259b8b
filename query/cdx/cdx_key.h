/* SPDX-License-Identifier: Apache-2.0
 * cdx_key.h - where a CDX answer goes on: resumeKey, as text.
 *
 *   dx_cdx_key_write(&key, &buf);
 *   ok = dx_cdx_key_read(text, &key);      false: not written by this
 *
 * Behind the count-th row of those with this key and timestamp, in the order of answers. Letters, digits, '-' and '_' alone, so that it
 * is the same after any number of percent-encodings, of which clients make one too many. It says what its client has seen and nothing
 * else, so it is not sealed, belongs to no version and does not expire. Pure; any thread.
 */
#ifndef DX_QUERY_CDX_CDX_KEY_H
#define DX_QUERY_CDX_CDX_KEY_H

#include "base/buf.h"
#include "base/bytes.h"

#define DX_CDX_KEY_URLKEY_MAX 6000 /* bytes: the key has to fit into a request */
#define DX_CDX_KEY_MAX 8100        /* characters */

struct dx_cdx_key {
    uint64_t timestamp; /* 0: none */
    uint64_t count;     /* at least 1 */
    struct dx_span urlkey;
    uint8_t bytes[DX_CDX_KEY_URLKEY_MAX + 32]; /* of one that was read */
};

/* false: the urlkey is too long. */
bool dx_cdx_key_write(const struct dx_cdx_key *key, struct dx_buf *out);
bool dx_cdx_key_read(struct dx_span text, struct dx_cdx_key *key);

#endif
