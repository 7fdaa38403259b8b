/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/load/chunked_body.h"

#include "base/hex.h"

#define DIGITS_MAX 13 /* below 2^52 */
#define BODY_MAX (UINT64_C(1) << 53)

static int refuse(struct dx_error *err, const char *what, uint8_t byte)
{
    return dx_fail(err, DX_E_CORRUPT, "reply: byte 0x%02x in %s", byte, what);
}

static int read_size(struct dx_chunked *c, uint8_t byte, struct dx_error *err)
{
    int digit = dx_hex_digit(byte);

    if (digit >= 0 && c->digits < DIGITS_MAX) {
        c->left = 16 * c->left + (unsigned)digit;
        c->digits++;
    } else if (c->digits > 0 && byte == '\r') {
        c->at = DX_CHUNKED_SIZE_LF;
    } else if (c->digits > 0 && (byte == ';' || byte == ' ' || byte == '\t')) {
        c->at = DX_CHUNKED_EXTENSION;
        c->passed = 0;
    } else {
        return refuse(err, "the size of a chunk", byte);
    }
    return DX_OK;
}

/* A byte of an extension or a trailer, or the CR behind it. */
static int pass(struct dx_chunked *c, uint8_t byte, enum dx_chunked_at lf, struct dx_error *err)
{
    if (byte == '\r') {
        c->at = lf;
        return DX_OK;
    }
    if ((byte < ' ' && byte != '\t') || byte == 0x7f)
        return refuse(err, "a line of a chunked body", byte);
    if (++c->passed > DX_CHUNKED_LINES_MAX)
        return dx_fail(err, DX_E_LIMIT, "reply: more than %d bytes of extensions or trailers",
                       DX_CHUNKED_LINES_MAX);
    return DX_OK;
}

static int need(struct dx_chunked *c, uint8_t byte, uint8_t wanted, enum dx_chunked_at next,
                struct dx_error *err)
{
    if (byte != wanted)
        return refuse(err, wanted == '\r' ? "place of the CR behind a chunk" : "place of an LF",
                      byte);
    c->at = next;
    return DX_OK;
}

static int begin_trailer(struct dx_chunked *c, uint8_t byte, struct dx_error *err)
{
    if (byte == ' ' || byte == '\t' || byte == ':')
        return refuse(err, "the name of a trailer", byte);
    if (byte != '\r')
        c->at = DX_CHUNKED_TRAILER;
    return pass(c, byte, DX_CHUNKED_END_LF, err);
}

static int take_byte(struct dx_chunked *c, uint8_t byte, struct dx_error *err)
{
    int rc = DX_OK;

    switch (c->at) {
    case DX_CHUNKED_SIZE:
        return read_size(c, byte, err);
    case DX_CHUNKED_EXTENSION:
        return pass(c, byte, DX_CHUNKED_SIZE_LF, err);
    case DX_CHUNKED_SIZE_LF:
        rc = need(c, byte, '\n', c->left == 0 ? DX_CHUNKED_TRAILERS : DX_CHUNKED_DATA, err);
        c->passed = 0;
        if (rc == DX_OK && c->left >= BODY_MAX - c->size)
            return dx_fail(err, DX_E_LIMIT, "reply: a body of 2^53 bytes or more");
        return rc;
    case DX_CHUNKED_DATA_CR:
        return need(c, byte, '\r', DX_CHUNKED_DATA_LF, err);
    case DX_CHUNKED_DATA_LF:
        c->digits = 0;
        return need(c, byte, '\n', DX_CHUNKED_SIZE, err);
    case DX_CHUNKED_TRAILERS:
        return begin_trailer(c, byte, err);
    case DX_CHUNKED_TRAILER:
        return pass(c, byte, DX_CHUNKED_TRAILER_LF, err);
    case DX_CHUNKED_TRAILER_LF:
        return need(c, byte, '\n', DX_CHUNKED_TRAILERS, err);
    case DX_CHUNKED_END_LF:
        return need(c, byte, '\n', DX_CHUNKED_END, err);
    case DX_CHUNKED_DATA:
    case DX_CHUNKED_END:
        break;
    }
    return rc;
}

int dx_chunked_next(struct dx_chunked *c, struct dx_span *in, struct dx_span *piece,
                    struct dx_error *err)
{
    while (in->size > 0 && c->at != DX_CHUNKED_END) {
        int rc;

        if (c->at == DX_CHUNKED_DATA) {
            size_t n = c->left < in->size ? (size_t)c->left : in->size;

            *piece = dx_span_of(in->data, n);
            *in = dx_span_from(*in, n);
            c->left -= n;
            c->size += n;
            if (c->left == 0)
                c->at = DX_CHUNKED_DATA_CR;
            return 1;
        }
        rc = take_byte(c, in->data[0], err);
        if (rc < 0)
            return rc;
        *in = dx_span_of(in->data + 1, in->size - 1);
    }
    return 0;
}
