/* SPDX-License-Identifier: Apache-2.0
 * coding.h - content codings of answers: which one a client wants, and the bytes in it.
 *
 *   coding = dx_coding_choose(value);          of Accept-Encoding; its bytes come from outside
 *   if (dx_coding_encode(coding, body, &out))  out is smaller than body
 *   dx_coding_tag(coding, etag);               "0123…" becomes "0123…-gzip": another representation
 *
 * The coding with the highest weight wins, zstd before gzip where they weigh the same. None is chosen
 * where the client prefers identity, or names neither. A client that refuses identity too gets it all
 * the same (RFC 9110 12.5.3). Any thread.
 */
#ifndef DX_SERVER_HTTP_CODING_H
#define DX_SERVER_HTTP_CODING_H

#include "base/buf.h"
#include "base/bytes.h"

enum dx_coding { DX_CODING_NONE, DX_CODING_GZIP, DX_CODING_ZSTD, DX_CODING_COUNT };

/* A smaller answer fits into one packet or two anyway, and its head is as large. */
#define DX_CODING_LEAST 1024

enum dx_coding dx_coding_choose(struct dx_span field);
bool dx_coding_takes_gzip(struct dx_span field);   /* and prefers it to identity */
const char *dx_coding_name(enum dx_coding coding); /* NULL: none */

/* False: it would not be smaller, or there is no memory; out is then empty. Beside out, which never
 * takes more than raw, this needs at most 1 MiB while it runs, and a thread that has made gzip keeps 300 kB. */
bool dx_coding_encode(enum dx_coding coding, struct dx_span raw, struct dx_buf *out);

/* etag: as dx_reply_etag writes it, with room for DX_ETAG_TEXT bytes. */
void dx_coding_tag(enum dx_coding coding, char *etag);

/* ---- of a text that comes in parts ----
 *
 *   ok = dx_coding_stream_new(&s, DX_CODING_GZIP);         not of none
 *   ok = dx_coding_stream_put(s, part, last, &out);        what is ready of it is appended
 *   dx_coding_stream_free(&s);
 *
 * One gzip member or zstd frame. How the text is cut into parts does not change what comes out. Memory:
 * DX_CODING_STREAM_BYTES. False: no memory. One thread at a time. */
#define DX_CODING_STREAM_BYTES ((size_t)2 << 20)

struct dx_coding_stream;

bool dx_coding_stream_new(struct dx_coding_stream **s, enum dx_coding coding);
bool dx_coding_stream_put(struct dx_coding_stream *s, struct dx_span raw, bool last,
                          struct dx_buf *out);
void dx_coding_stream_free(struct dx_coding_stream **s);

#endif
