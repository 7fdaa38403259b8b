/* SPDX-License-Identifier: Apache-2.0 */
#include "server/policy/receipt.h"

#include "base/crypto/sha256.h"
#include "base/json_out.h"

#define PAYLOAD_MAX (2 * DX_RECEIPT_TARGET_MAX + 1024)

static void put_hex(struct dx_json *j, const char *key, struct dx_span bytes)
{
    struct dx_buf text = DX_BUF_INIT(2 * DX_SHA256_SIZE);

    for (size_t i = 0; i < bytes.size; i++)
        dx_buf_fmt(&text, "%02x", bytes.data[i]);
    dx_json_key(j, key);
    bytes.size > 0 ? dx_json_text(j, dx_span_of(text.data, text.size)) : dx_json_null(j);
    j->buf->failed = j->buf->failed || text.failed;
    dx_buf_release(&text);
}

bool dx_receipt_write(const struct dx_jws_key *key, const struct dx_receipt *r, struct dx_buf *out)
{
    struct dx_buf payload = DX_BUF_INIT(PAYLOAD_MAX);
    uint8_t sum[DX_SHA256_SIZE];
    bool ok = dx_sha256(r->body, sum);
    struct dx_json j;

    dx_json_open(&j, &payload);
    dx_json_object(&j);
    dx_json_key(&j, "iss");
    dx_json_str(&j, "domaindex");
    dx_json_key(&j, "iat");
    dx_json_i64(&j, r->at_s);
    dx_json_key(&j, "method");
    dx_json_str(&j, r->method);
    dx_json_key(&j, "target");
    dx_json_text(&j, r->target);
    dx_json_key(&j, "status");
    dx_json_i64(&j, r->status);
    dx_json_key(&j, "version");
    r->version != NULL ? dx_json_str(&j, r->version) : dx_json_null(&j);
    put_hex(&j, "build", r->build);
    dx_json_key_u64(&j, "size", r->body.size);
    put_hex(&j, "sha256", dx_span_of(sum, sizeof sum));
    dx_json_end(&j);
    ok = ok && !payload.failed && dx_jws_sign(key, dx_span_of(payload.data, payload.size), out);
    dx_buf_release(&payload);
    return ok;
}
