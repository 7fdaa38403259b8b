/* SPDX-License-Identifier: Apache-2.0
 * raw_client.h - a client that sends any bytes and reads replies strictly.
 *
 *   struct dx_raw c;
 *   dx_raw_open(&c, port);
 *   dx_raw_send(&c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", n);
 *   struct dx_raw_reply r;
 *   if (dx_raw_reply(&c, is_head, &r, 2000))     r.status, r.head (text), r.body; until the next
 *   dx_raw_ended(&c, 2000)                       the server closed, with nothing more to read
 *   dx_raw_close(&c);
 *
 * A reply is taken only if it is well-formed: status line, CRLF, names that are tokens,
 * no header twice, Content-Length and that many bytes (none for 304 and HEAD), Date,
 * nosniff, and a JSON body; else c.fault says why. One thread.
 */
#ifndef DX_TESTS_SUPPORT_RAW_CLIENT_H
#define DX_TESTS_SUPPORT_RAW_CLIENT_H

#include "base/buf.h"
#include "base/bytes.h"

struct dx_raw {
    int fd;
    struct dx_buf in;
    size_t taken; /* of in, by replies already returned */
    const char *fault;
};

struct dx_raw_reply {
    int status;
    char head[2048]; /* status line and fields, NUL-terminated */
    struct dx_span body;
    bool close; /* says Connection: close */
};

bool dx_raw_open(struct dx_raw *c, int port);
bool dx_raw_send(struct dx_raw *c, const void *data, size_t size);
bool dx_raw_say(struct dx_raw *c, const char *text);
bool dx_raw_reply(struct dx_raw *c, bool is_head, struct dx_raw_reply *r, int timeout_ms);
bool dx_raw_ended(struct dx_raw *c, int timeout_ms);
void dx_raw_close(struct dx_raw *c);
void dx_raw_reset(struct dx_raw *c); /* closes by RST */

/* Whether the body holds the text. */
bool dx_raw_body_has(const struct dx_raw_reply *r, const char *text);

#endif
