/* SPDX-License-Identifier: Apache-2.0
 * chunked_body.h - the body of a reply with Transfer-Encoding: chunked, as its bytes come.
 *
 *   struct dx_chunked c = { 0 };
 *   while ((rc = dx_chunked_next(&c, &in, &piece, &err)) > 0)
 *       … piece: bytes of the body; they lie in `in` …
 *   0: `in` is used up, or c.at is DX_CHUNKED_END: what is left in `in` is behind the reply
 *   c.size                                      bytes of the body so far
 *
 * However the bytes are cut, the pieces are the same in sum. Strict (RFC 9112, 7.1): a size of 1 to
 * 13 hex digits, lines that end with CRLF and have no control characters but tab. Extensions and
 * trailers are passed over; each may have DX_CHUNKED_LINES_MAX bytes, extensions a chunk, trailers in
 * all. Pure; one thread at a time.
 */
#ifndef DX_BUILDER_LOAD_CHUNKED_BODY_H
#define DX_BUILDER_LOAD_CHUNKED_BODY_H

#include "base/bytes.h"
#include "base/error.h"

#define DX_CHUNKED_LINES_MAX 8192

struct dx_chunked {
    enum dx_chunked_at {
        DX_CHUNKED_SIZE,
        DX_CHUNKED_EXTENSION,
        DX_CHUNKED_SIZE_LF,
        DX_CHUNKED_DATA,
        DX_CHUNKED_DATA_CR,
        DX_CHUNKED_DATA_LF,
        DX_CHUNKED_TRAILERS, /* at the begin of a line */
        DX_CHUNKED_TRAILER,
        DX_CHUNKED_TRAILER_LF,
        DX_CHUNKED_END_LF,
        DX_CHUNKED_END
    } at;
    unsigned digits;
    unsigned passed; /* bytes of extensions or trailers */
    uint64_t left;   /* of the chunk */
    uint64_t size;
};

int dx_chunked_next(struct dx_chunked *c, struct dx_span *in, struct dx_span *piece,
                    struct dx_error *err);

#endif
