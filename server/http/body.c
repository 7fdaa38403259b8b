/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/body.h"

#include "base/hex.h"
#include "server/http/request_head.h"

enum {
    STATE_PLAIN,
    STATE_SIZE, /* the digits of a chunk's size */
    STATE_SIZE_LF,
    STATE_CHUNK,
    STATE_CHUNK_CR,
    STATE_CHUNK_LF,
    STATE_LAST_CR, /* of the empty line that ends all */
    STATE_LAST_LF,
    STATE_END,
    STATE_REJECTED
};

#define DIGITS_MAX 10 /* 16^10 is 2^40 */

void dx_body_begin(struct dx_body *b, bool chunked, uint64_t size)
{
    *b = (struct dx_body){ .state = chunked ? STATE_SIZE : STATE_PLAIN,
                           .left = chunked ? 0 : size };
}

static void reject(struct dx_body *b, int status, const char *reason)
{
    b->state = STATE_REJECTED;
    b->reject_status = status;
    b->reject_reason = reason;
}

static void size_byte(struct dx_body *b, uint8_t c)
{
    int v = dx_hex_digit(c);

    if (v >= 0 && b->digits < DIGITS_MAX) {
        b->left = b->left << 4 | (uint64_t)v;
        b->digits++;
    } else if (v < 0 && c == '\r' && b->digits > 0) {
        b->state = STATE_SIZE_LF;
    } else {
        reject(b, 400, "a chunk's size is not 1 to 10 hex digits and CRLF");
    }
}

static void end_size(struct dx_body *b)
{
    b->digits = 0;
    b->total += b->left; /* each is below 2^40, and so was the sum */
    b->state = b->left > 0 ? STATE_CHUNK : STATE_LAST_CR;
    if (b->total > DX_BODY_SIZE_MAX)
        reject(b, 413, "the body is over 2^40 bytes");
}

/* A byte of the framing. */
static void framing_byte(struct dx_body *b, uint8_t c)
{
    switch (b->state) {
    case STATE_SIZE:
        size_byte(b, c);
        break;
    case STATE_SIZE_LF:
        if (c == '\n')
            end_size(b);
        else
            reject(b, 400, "CR without LF in the body's framing");
        break;
    case STATE_CHUNK_CR:
        b->state = STATE_CHUNK_LF;
        if (c != '\r')
            reject(b, 400, "a chunk does not end with CRLF");
        break;
    case STATE_CHUNK_LF:
        b->state = STATE_SIZE;
        if (c != '\n')
            reject(b, 400, "a chunk does not end with CRLF");
        break;
    case STATE_LAST_CR:
        b->state = STATE_LAST_LF;
        if (c != '\r')
            reject(b, 400, "trailers are not taken");
        break;
    default: /* STATE_LAST_LF */
        b->state = STATE_END;
        if (c != '\n')
            reject(b, 400, "CR without LF in the body's framing");
    }
}

static enum dx_body_verdict take(struct dx_body *b, struct dx_span rest, size_t max, size_t *used,
                                 struct dx_span *data)
{
    size_t n = rest.size < max ? rest.size : max;

    if (b->left < n)
        n = (size_t)b->left;
    *data = (struct dx_span){ rest.data, n };
    *used += n;
    b->left -= n;
    if (b->left == 0 && b->state == STATE_CHUNK)
        b->state = STATE_CHUNK_CR;
    return DX_BODY_DATA;
}

enum dx_body_verdict dx_body_next(struct dx_body *b, struct dx_span bytes, size_t max, size_t *used,
                                  struct dx_span *data)
{
    *used = 0;
    for (;;) {
        if (b->state == STATE_REJECTED)
            return DX_BODY_REJECT;
        if (b->state == STATE_END || (b->state == STATE_PLAIN && b->left == 0))
            return DX_BODY_END;
        if (*used == bytes.size)
            return DX_BODY_MORE;
        if (b->state == STATE_PLAIN || b->state == STATE_CHUNK)
            return take(b, (struct dx_span){ bytes.data + *used, bytes.size - *used }, max, used,
                        data);
        framing_byte(b, bytes.data[(*used)++]);
    }
}
