/* SPDX-License-Identifier: Apache-2.0 */
#include "query/cdx/cdx_key.h"

#define NUMBERS 32 /* " 20150102030405 999999999999999\n" */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void put_base64url(struct dx_span s, struct dx_buf *out)
{
    uint32_t bits = 0;
    unsigned count = 0;

    for (size_t i = 0; i < s.size; i++) {
        bits = bits << 8 | s.data[i];
        for (count += 8; count >= 6; count -= 6)
            dx_buf_u8(out, (uint8_t)digits[bits >> (count - 6) & 63]);
    }
    if (count > 0)
        dx_buf_u8(out, (uint8_t)digits[bits << (6 - count) & 63]);
}

static bool take_base64url(struct dx_span text, uint8_t *bytes, size_t max, size_t *size)
{
    uint32_t bits = 0;
    unsigned count = 0;

    *size = 0;
    for (size_t i = 0; i < text.size; i++) {
        const char *digit = text.data[i] == '\0' ? NULL : strchr(digits, text.data[i]);

        if (digit == NULL)
            return false;
        bits = bits << 6 | (uint32_t)(digit - digits);
        count += 6;
        if (count < 8)
            continue;
        count -= 8;
        if (*size == max)
            return false;
        bytes[(*size)++] = (uint8_t)(bits >> count);
    }
    return count < 6 && (bits & ((1u << count) - 1)) == 0; /* one text for each key */
}

/* No value has a byte up to the space that ends it, so that the texts are in the order of the columns. */
void dx_cdx_key_rest(const struct dx_span columns[DX_CDX_STORED], struct dx_buf *out)
{
    size_t urlkey = columns[DX_CDX_URLKEY].size;
    size_t room = urlkey < DX_CDX_KEY_URLKEY_MAX ? urlkey : DX_CDX_KEY_URLKEY_MAX;

    room = DX_CDX_KEY_BYTES - NUMBERS - room;
    for (unsigned c = DX_CDX_ORIGINAL; c < DX_CDX_STORED && room > 0; c++) {
        size_t size = columns[c].size < room ? columns[c].size : room;

        dx_buf_append(out, columns[c].data, size);
        room -= size;
        if (room > 0 && c + 1 < DX_CDX_STORED) {
            dx_buf_u8(out, ' ');
            room--;
        }
    }
}

/* "urlkey timestamp count\nrest" */
bool dx_cdx_key_write(const struct dx_cdx_key *key, struct dx_buf *out)
{
    struct dx_buf text = DX_BUF_INIT(sizeof key->bytes);
    bool ok = key->urlkey.size <= DX_CDX_KEY_URLKEY_MAX;

    if (!ok)
        return false;
    dx_buf_append(&text, key->urlkey.data, key->urlkey.size);
    dx_buf_fmt(&text, " %llu %llu", (unsigned long long)key->timestamp,
               (unsigned long long)key->count);
    if (key->rest.data != NULL) {
        dx_buf_u8(&text, '\n');
        dx_buf_append(&text, key->rest.data, key->rest.size);
    }
    ok = !text.failed;
    if (ok)
        put_base64url(dx_span_of(text.data, text.size), out);
    dx_buf_release(&text);
    return ok;
}

/* The number behind the last space, which goes with it. */
static bool take_number(struct dx_span *s, uint64_t max, uint64_t *value)
{
    size_t begin = s->size;

    *value = 0;
    while (begin > 0 && s->data[begin - 1] != ' ')
        begin--;
    if (begin == 0 || begin == s->size || s->size - begin > 15 ||
        (s->data[begin] == '0' && s->size - begin > 1))
        return false;
    for (size_t i = begin; i < s->size; i++) {
        if (s->data[i] < '0' || s->data[i] > '9')
            return false;
        *value = *value * 10 + (uint64_t)(s->data[i] - '0');
    }
    s->size = begin - 1;
    return *value <= max;
}

bool dx_cdx_key_read(struct dx_span text, struct dx_cdx_key *key)
{
    struct dx_span s = { key->bytes, 0 };
    const uint8_t *end;

    if (text.size > DX_CDX_KEY_MAX || !take_base64url(text, key->bytes, sizeof key->bytes, &s.size))
        return false;
    end = s.size == 0 ? NULL : memchr(s.data, '\n', s.size);
    key->rest = dx_span_of(NULL, 0);
    if (end != NULL) {
        key->rest = dx_span_of(end + 1, (size_t)(s.data + s.size - end) - 1);
        s.size = (size_t)(end - s.data);
    }
    if (!take_number(&s, UINT64_C(999999999999999), &key->count) ||
        !take_number(&s, DX_CDX_TIMESTAMP_MAX, &key->timestamp))
        return false;
    key->urlkey = s;
    return key->count > 0 && s.size > 0 && s.size <= DX_CDX_KEY_URLKEY_MAX;
}
