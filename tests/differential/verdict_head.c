/* SPDX-License-Identifier: Apache-2.0
 * verdict_head.c - the head at the front of the input: "more", "no STATUS METHOD reason", or "ok SIZE METHOD" and, each behind a blank,
 * NAME=VALUE: numbers, or bytes in hexadecimal; of fields that are counted the number and the last one's value.
 */
#include "server/http/request_head.h"
#include "tests/differential/verdict.h"

static const char *const methods[] = { "-", "GET", "HEAD", "POST" };

static void put_span(struct dx_buf *out, const char *name, struct dx_span input,
                     struct dx_head_span span)
{
    dx_buf_fmt(out, " %s=", name);
    dx_verdict_hex(out, dx_head_slice(input, span));
}

void dx_verdict_head(struct dx_span input, struct dx_buf *out)
{
    static const struct dx_head_names names = { "x-principal", "x-address" };
    struct dx_request_head h;
    enum dx_head_verdict verdict;

    dx_request_head_begin(&h);
    h.names = &names;
    verdict = dx_request_head_parse(&h, input);
    if (verdict == DX_HEAD_MORE) {
        dx_buf_str(out, "more");
        return;
    }
    if (verdict == DX_HEAD_REJECT) {
        dx_buf_fmt(out, "no %d %s %s", h.reject_status, methods[h.method], h.reject_reason);
        return;
    }
    dx_buf_fmt(out, "ok %u %s", h.size, methods[h.method]);
    dx_buf_fmt(out, " http_1_0=%d close=%d chunked=%d expects=%d body=%llu fields=%u", h.http_1_0,
               h.close, h.chunked, h.expects, (unsigned long long)h.body_size, h.field_count);
    dx_buf_fmt(out,
               " bare=%d hosts=%u authorizations=%u principals=%u traceparents=%u addresses=%u",
               h.bare_authority, h.host_count, h.authorization_count, h.principal_count,
               h.traceparent_count, h.address_count);
    dx_buf_fmt(out, " twice=%d%d%d", h.if_none_match_twice, h.accept_encoding_twice,
               h.accept_twice);
    put_span(out, "target", input, h.target);
    put_span(out, "host", input, h.host);
    put_span(out, "if-none-match", input, h.if_none_match);
    put_span(out, "accept-encoding", input, h.accept_encoding);
    put_span(out, "accept", input, h.accept);
    put_span(out, "content-type", input, h.content_type);
    put_span(out, "authorization", input, h.authorization);
    put_span(out, "x-principal", input, h.principal);
    put_span(out, "traceparent", input, h.traceparent);
    if (h.address_count > 0)
        put_span(out, "x-address", input, h.address[(h.address_count - 1) % DX_HEAD_ADDRESSES]);
}
