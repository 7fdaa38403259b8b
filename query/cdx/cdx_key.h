/* SPDX-License-Identifier: Apache-2.0
 * cdx_key.h - where a CDX answer goes on: resumeKey, as text.
 *
 *   dx_cdx_key_rest(columns, &buf);        of a row, for key.rest
 *   dx_cdx_key_write(&key, &buf);
 *   ok = dx_cdx_key_read(text, &key);      false: not written by this
 *
 * Behind the count-th of the rows that are alike: of one key, timestamp and rest, in the order of answers. Rows with one original URL are hidden
 * together, so suppressions between two answers do not change the count. Letters, digits, '-' and '_' alone, so that it
 * is the same after any number of percent-encodings, of which clients make one too many. It says what its client has seen and nothing
 * else, so it is not sealed, belongs to no version and does not expire. Pure; any thread.
 */
#ifndef DX_QUERY_CDX_CDX_KEY_H
#define DX_QUERY_CDX_CDX_KEY_H

#include "base/buf.h"
#include "base/bytes.h"
#include "query/cdx/cdx_ask.h"

#define DX_CDX_KEY_URLKEY_MAX 6000 /* bytes: the key has to fit into a request */
#define DX_CDX_KEY_MAX 8100        /* characters */
#define DX_CDX_KEY_BYTES 6070      /* before base64: urlkey, two numbers, rest */

struct dx_cdx_key {
    uint64_t timestamp; /* 0: none */
    uint64_t count;     /* at least 1 */
    struct dx_span urlkey;
    struct dx_span
        rest; /* data NULL: of a key of an older program, which counts all rows with the timestamp */
    uint8_t bytes[DX_CDX_KEY_BYTES]; /* of one that was read */
};

/* The columns behind the timestamp as one text, of which the order is that of rows; as much as a key has room for. */
void dx_cdx_key_rest(const struct dx_span columns[DX_CDX_STORED], struct dx_buf *out);

/* false: the urlkey is too long. */
bool dx_cdx_key_write(const struct dx_cdx_key *key, struct dx_buf *out);
bool dx_cdx_key_read(struct dx_span text, struct dx_cdx_key *key);

#endif
