/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/sigv4.h"

#include "base/crypto/sha256.h"

#include <stdio.h>
#include <time.h>

#define CANONICAL_MAX (1u << 20) /* a URL of 8 kB and headers: far below it */

void dx_sigv4_date(int64_t unix_s, char date[DX_SIGV4_DATE])
{
    time_t t = (time_t)unix_s;
    struct tm tm;

    date[0] = '\0';
    if (gmtime_r(&t, &tm) != NULL)
        (void)strftime(date, DX_SIGV4_DATE, "%Y%m%dT%H%M%SZ", &tm);
}

static uint8_t lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c + 32) : c;
}

static int compare_names(struct dx_span a, struct dx_span b)
{
    for (size_t i = 0; i < a.size && i < b.size; i++)
        if (lower(a.data[i]) != lower(b.data[i]))
            return lower(a.data[i]) < lower(b.data[i]) ? -1 : 1;
    return (a.size > b.size) - (a.size < b.size);
}

/* Without blanks at its ends, and one for several in between. */
static void append_value(struct dx_buf *out, struct dx_span value)
{
    bool blank = false;
    size_t before = out->size;

    for (size_t i = 0; i < value.size; i++) {
        if (value.data[i] == ' ' || value.data[i] == '\t') {
            blank = true;
            continue;
        }
        if (blank && out->size > before)
            dx_buf_u8(out, ' ');
        blank = false;
        dx_buf_u8(out, value.data[i]);
    }
}

static void append_headers(const struct dx_sigv4_request *request, const size_t *order,
                           struct dx_buf *out, struct dx_buf *names)
{
    for (size_t i = 0; i < request->header_count; i++) {
        const struct dx_sigv4_header *h = &request->headers[order[i]];

        if (i > 0 && compare_names(request->headers[order[i - 1]].name, h->name) == 0) {
            dx_buf_u8(out, ',');
            append_value(out, h->value);
            continue;
        }
        if (i > 0) {
            dx_buf_u8(out, '\n');
            dx_buf_u8(names, ';');
        }
        for (size_t k = 0; k < h->name.size; k++) {
            dx_buf_u8(out, lower(h->name.data[k]));
            dx_buf_u8(names, lower(h->name.data[k]));
        }
        dx_buf_u8(out, ':');
        append_value(out, h->value);
    }
    dx_buf_u8(out, '\n');
}

bool dx_sigv4_canonical(const struct dx_sigv4_request *request, struct dx_buf *out,
                        struct dx_buf *signed_names)
{
    size_t order[DX_SIGV4_HEADERS_MAX];

    if (request->header_count > DX_SIGV4_HEADERS_MAX)
        return false;
    for (size_t i = 0; i < request->header_count; i++) {
        size_t at = i;

        for (; at > 0 &&
               compare_names(request->headers[order[at - 1]].name, request->headers[i].name) > 0;
             at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    dx_buf_str(out, request->method);
    dx_buf_u8(out, '\n');
    dx_buf_append(out, request->path.data, request->path.size);
    dx_buf_u8(out, '\n');
    dx_buf_append(out, request->query.data, request->query.size);
    dx_buf_u8(out, '\n');
    append_headers(request, order, out, signed_names);
    dx_buf_u8(out, '\n');
    dx_buf_append(out, signed_names->data, signed_names->size);
    dx_buf_u8(out, '\n');
    dx_buf_str(out, request->payload_sha256);
    return !out->failed && !signed_names->failed;
}

static bool signing_key(const struct dx_sigv4 *sign, const char *day, uint8_t key[DX_SHA256_SIZE])
{
    const char *const parts[] = { day, sign->region, sign->service, "aws4_request" };
    struct dx_buf first = DX_BUF_INIT(CANONICAL_MAX);
    struct dx_span with;
    bool ok;

    dx_buf_str(&first, "AWS4");
    dx_buf_str(&first, sign->secret);
    ok = !first.failed;
    with = dx_span_of(first.data, first.size);
    for (size_t i = 0; i < 4 && ok; i++) {
        uint8_t next[DX_SHA256_SIZE];

        ok = dx_hmac_sha256(with, dx_span_str(parts[i]), next);
        memcpy(key, next, sizeof next);
        with = dx_span_of(key, DX_SHA256_SIZE);
    }
    if (first.size > 0)
        explicit_bzero(first.data, first.size);
    dx_buf_release(&first);
    return ok;
}

bool dx_sigv4_authorization(const struct dx_sigv4 *sign, const struct dx_sigv4_request *request,
                            struct dx_buf *out)
{
    struct dx_buf text = DX_BUF_INIT(CANONICAL_MAX);
    struct dx_buf names = DX_BUF_INIT(CANONICAL_MAX);
    char date[DX_SIGV4_DATE];
    char day[9];
    char hex[DX_SHA256_HEX];
    uint8_t key[DX_SHA256_SIZE];
    uint8_t sum[DX_SHA256_SIZE];
    bool ok;

    dx_sigv4_date(sign->unix_s, date);
    (void)snprintf(day, sizeof day, "%.8s", date);
    ok = dx_sigv4_canonical(request, &text, &names) &&
         dx_sha256(dx_span_of(text.data, text.size), sum);
    dx_sha256_hex(sum, hex);
    dx_buf_clear(&text);
    dx_buf_fmt(&text, "AWS4-HMAC-SHA256\n%s\n%s/%s/%s/aws4_request\n%s", date, day, sign->region,
               sign->service, hex);
    ok = ok && !text.failed && signing_key(sign, day, key) &&
         dx_hmac_sha256(dx_span_of(key, sizeof key), dx_span_of(text.data, text.size), sum);
    dx_sha256_hex(sum, hex);
    explicit_bzero(key, sizeof key);
    if (ok)
        dx_buf_fmt(out,
                   "AWS4-HMAC-SHA256 Credential=%s/%s/%s/%s/aws4_request, SignedHeaders=%.*s, "
                   "Signature=%s",
                   sign->key_id, day, sign->region, sign->service, (int)names.size,
                   (const char *)names.data, hex);
    dx_buf_release(&names);
    dx_buf_release(&text);
    return ok && !out->failed;
}
