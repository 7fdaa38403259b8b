/* SPDX-License-Identifier: Apache-2.0
 * body.h - the body of a request out of the bytes of its connection. No I/O.
 *
 *   dx_body_begin(&b, head.chunked, head.body_size);
 *   for (;;)
 *       verdict = dx_body_next(&b, bytes, max, &used, &data);
 *         DX_BODY_DATA    data: at most max bytes of the body, inside of bytes
 *         DX_BODY_MORE    all of bytes is used; call again with what follows
 *         DX_BODY_END     what follows the used bytes is the next request
 *         DX_BODY_REJECT  b.reject_status and b.reject_reason; close the connection
 *
 * `used` bytes are done with in every case. What comes out does not depend on how the bytes were
 * cut into calls.
 *
 * Chunks are taken in their plainest form, since proxies read the others differently: a size of 1
 * to 10 hex digits and CRLF, no extensions; no trailers; no LF without its CR; DX_BODY_SIZE_MAX
 * bytes in all. One thread at a time.
 */
#ifndef DX_SERVER_HTTP_BODY_H
#define DX_SERVER_HTTP_BODY_H

#include "base/bytes.h"

enum dx_body_verdict { DX_BODY_MORE, DX_BODY_DATA, DX_BODY_END, DX_BODY_REJECT };

struct dx_body {
    int state;
    unsigned digits;
    uint64_t left;  /* of the chunk, or of all; while its digits come: the size so far */
    uint64_t total; /* of chunks */
    int reject_status;
    const char *reject_reason; /* static */
};

void dx_body_begin(struct dx_body *b, bool chunked, uint64_t size);
enum dx_body_verdict dx_body_next(struct dx_body *b, struct dx_span bytes, size_t max, size_t *used,
                                  struct dx_span *data);

#endif
