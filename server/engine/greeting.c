/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/greeting.h"

#include "server/engine/delivery.h"
#include "server/http/proxy_header.h"
#include "server/tls/tls_link.h"

size_t dx_greeting_proxy_header(struct dx_connection *c, struct dx_span bytes)
{
    struct sockaddr_storage from;
    size_t used;
    enum dx_proxy_header rc = dx_proxy_header_parse(bytes, &used, &from);

    if (rc == DX_PROXY_BAD) {
        dx_loop_count(&c->stream.loop->counts.rejected);
        dx_stream_shut(&c->stream);
        return bytes.size;
    }
    if (rc == DX_PROXY_DONE) {
        c->needs_proxy_header = false;
        if (from.ss_family != AF_UNSPEC)
            dx_address_of((const struct sockaddr *)&from, &c->client);
    }
    return used;
}

/* In front of TLS: not a byte of what follows may be taken out of the socket, for libssl reads
 * there. So all that has come is looked at, and what belongs to the header is taken out. */
static void take_bare_proxy_header(struct dx_connection *c)
{
    struct dx_span seen = dx_stream_peek(&c->stream);
    size_t before = c->pending.size;
    size_t used;

    if (seen.size == 0)
        return;
    dx_buf_append(&c->pending, seen.data, seen.size);
    if (c->pending.failed) {
        dx_stream_shut(&c->stream);
        return;
    }
    used = dx_greeting_proxy_header(c, (struct dx_span){ c->pending.data, c->pending.size });
    if (c->stream.wait == DX_WAIT_CLOSED)
        return;
    dx_stream_skip(&c->stream, c->needs_proxy_header ? seen.size : used - before);
    if (!c->needs_proxy_header)
        dx_buf_release(&c->pending);
}

static void count_end(struct dx_connection *c, enum dx_handshake_end end)
{
    dx_loop_count(&c->stream.loop->counts.handshakes[end]);
}

static bool begin(struct dx_connection *c)
{
    const struct dx_who who = { .address = c->client };
    struct dx_loop *loop = c->stream.loop;
    unsigned wait_s;

    if (dx_admission_take(loop->serving->admission, &who, DX_HANDSHAKE_COST, loop->now_ms,
                          &wait_s) &&
        dx_stream_secure(&c->stream))
        return true;
    count_end(c, DX_HANDSHAKE_FAILED);
    dx_stream_shut(&c->stream);
    return false;
}

static void answer_plain(struct dx_connection *c)
{
    dx_stream_unsecure(&c->stream);
    dx_exchange_begin(c);
    dx_exchange_head_read(c);
    dx_deliver_refusal(c, 400, "this port speaks HTTPS: write https:// in front of the address");
}

static void end(struct dx_connection *c, enum dx_shake is)
{
    c->needs_handshake = false;
    dx_stream_want_write(&c->stream, false);
    if (is == DX_SHAKE_DONE) {
        count_end(c, dx_tls_link_resumed(c->stream.tls) ? DX_HANDSHAKE_RESUMED : DX_HANDSHAKE_FULL);
        return; /* the first head is waited for already */
    }
    count_end(c, DX_HANDSHAKE_FAILED);
    if (is == DX_SHAKE_HTTP)
        answer_plain(c);
    else
        dx_stream_shut(&c->stream);
}

static void shake(struct dx_connection *c)
{
    enum dx_shake is = dx_tls_link_shake(c->stream.tls);

    if (is == DX_SHAKE_WRITES)
        dx_stream_want_write(&c->stream, true);
    else if (is != DX_SHAKE_READS)
        end(c, is);
}

void dx_greeting_go_on(struct dx_connection *c)
{
    if (c->needs_proxy_header)
        take_bare_proxy_header(c);
    else if (c->stream.tls != NULL || begin(c))
        shake(c);
}
