/* SPDX-License-Identifier: Apache-2.0 */
#include "query/cursor.h"

#include "base/buf.h"
#include "base/file.h"
#include "fetch/sha256.h"
#include "query/answer.h"

#define NAME_SIZE (DX_VERSION_NAME - 1)
#define COMMON_SIZE (2 + NAME_SIZE + 16 + 8 + 4)
#define LISTING_SIZE (COMMON_SIZE + 8 + 4 + 1 + 8 + 8)
#define CHANGES_SIZE (COMMON_SIZE + NAME_SIZE + 16 + 8 + 8)
#define BYTES_MAX (CHANGES_SIZE + DX_SHA256_SIZE)

_Static_assert((BYTES_MAX * 4 + 2) / 3 < DX_CURSOR_TEXT, "the longest cursor fits its text");

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* ---- key and MAC ---- */

int dx_cursor_key_read(struct dx_cursor_key *key, const char *path, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_CURSOR_KEY_MAX);
    int rc = dx_file_read(path, DX_CURSOR_KEY_MAX, &text, err);

    if (rc == DX_OK && text.size < DX_CURSOR_KEY_MIN)
        rc = dx_fail(err, DX_E_INVALID,
                     "%s: %zu bytes, a cursor key has at least %d; make one with "
                     "`head -c 32 /dev/urandom`",
                     path, text.size, DX_CURSOR_KEY_MIN);
    if (rc == DX_OK && !dx_hmac_sha256(dx_span_of(text.data, text.size),
                                       dx_span_str("domaindex cursor"), key->bytes))
        rc = dx_fail(err, DX_E_NOMEM, "%s: out of memory", path);
    key->shared = rc == DX_OK;
    dx_buf_release(&text);
    return rc;
}

static bool mac(const struct dx_cursor_key *key, const struct dx_build_id *build,
                struct dx_span bytes, uint8_t sum[DX_SHA256_SIZE])
{
    uint8_t own[sizeof key->bytes];

    if (key->shared)
        return dx_hmac_sha256(dx_span_of(key->bytes, sizeof key->bytes), bytes, sum);
    return dx_hmac_sha256(dx_span_str("domaindex cursor of a build"),
                          dx_span_of(build->bytes, sizeof build->bytes), own) &&
           dx_hmac_sha256(dx_span_of(own, sizeof own), bytes, sum);
}

/* In a time that does not tell how much of it was right. */
static bool same_mac(const uint8_t *a, const uint8_t *b)
{
    unsigned differs = 0;

    for (size_t i = 0; i < DX_SHA256_SIZE; i++)
        differs |= (unsigned)(a[i] ^ b[i]);
    return differs == 0;
}

/* ---- base64url without padding, one text for each bytes ---- */

static size_t encode(const uint8_t *bytes, size_t size, char *out)
{
    uint32_t bits = 0;
    unsigned have = 0;
    size_t n = 0;

    for (size_t i = 0; i < size; i++) {
        bits = bits << 8 | bytes[i];
        for (have += 8; have >= 6; have -= 6)
            out[n++] = digits[bits >> (have - 6) & 63];
    }
    if (have > 0)
        out[n++] = digits[bits << (6 - have) & 63];
    out[n] = '\0';
    return n;
}

static int digit_value(uint8_t c)
{
    const char *at = c == '\0' ? NULL : strchr(digits, c);

    return at == NULL ? -1 : (int)(at - digits);
}

/* False: too long, another character, or bits behind the last byte that are not zero. */
static bool decode(struct dx_span text, uint8_t out[BYTES_MAX], size_t *size)
{
    uint32_t bits = 0;
    unsigned have = 0;

    *size = 0;
    for (size_t i = 0; i < text.size; i++) {
        int v = digit_value(text.data[i]);

        if (v < 0)
            return false;
        bits = bits << 6 | (uint32_t)v;
        have += 6;
        if (have < 8)
            continue;
        have -= 8;
        if (*size == BYTES_MAX)
            return false;
        out[(*size)++] = (uint8_t)(bits >> have);
    }
    return have < 6 && (bits & ((1u << have) - 1)) == 0;
}

/* ---- the two directions ---- */

int dx_cursor_write(const struct dx_cursor *c, const struct dx_cursor_key *key,
                    char text[DX_CURSOR_TEXT], struct dx_error *err)
{
    struct dx_buf b = DX_BUF_INIT(BYTES_MAX);
    uint8_t sum[DX_SHA256_SIZE];
    int rc = DX_OK;

    dx_buf_u8(&b, DX_CURSOR_FORMAT);
    dx_buf_u8(&b, (uint8_t)c->kind);
    dx_buf_append(&b, c->version, NAME_SIZE);
    dx_buf_append(&b, c->build.bytes, sizeof c->build.bytes);
    dx_buf_u64(&b, (uint64_t)c->began_s);
    dx_buf_u32(&b, c->limit);
    if (c->kind == DX_CURSOR_LISTING) {
        dx_buf_u64(&b, c->domain_id);
        dx_buf_u32(&b, c->dataset_id);
        dx_buf_u8(&b, (uint8_t)c->fields);
        dx_buf_u64(&b, c->next_row);
        dx_buf_u64(&b, c->end_row);
    } else {
        dx_buf_append(&b, c->since, NAME_SIZE);
        dx_buf_append(&b, c->since_build.bytes, sizeof c->since_build.bytes);
        dx_buf_u64(&b, c->next_before);
        dx_buf_u64(&b, c->next_after);
    }
    if (b.failed || !mac(key, &c->build, dx_span_of(b.data, b.size), sum))
        rc = dx_fail(err, DX_E_NOMEM, "cursor: out of memory");
    else
        dx_buf_append(&b, sum, sizeof sum);
    if (rc == DX_OK && b.failed)
        rc = dx_buf_fail(&b, err, "cursor");
    if (rc == DX_OK)
        (void)encode(b.data, b.size, text);
    dx_buf_release(&b);
    return rc;
}

static void take_name(struct dx_bytes *r, char name[DX_VERSION_NAME])
{
    struct dx_span s = dx_bytes_take(r, NAME_SIZE);

    memset(name, 0, DX_VERSION_NAME);
    if (s.size > 0)
        memcpy(name, s.data, s.size);
}

static void take_build(struct dx_bytes *r, struct dx_build_id *build)
{
    struct dx_span s = dx_bytes_take(r, sizeof build->bytes);

    if (s.size > 0)
        memcpy(build->bytes, s.data, s.size);
}

/* The layout alone; all values are looked at afterwards. */
static bool take(struct dx_span bytes, struct dx_cursor *c)
{
    struct dx_bytes r = dx_bytes_of(bytes);
    unsigned format = dx_bytes_u8(&r);

    *c = (struct dx_cursor){ .kind = (enum dx_cursor_kind)dx_bytes_u8(&r) };
    take_name(&r, c->version);
    take_build(&r, &c->build);
    c->began_s = (int64_t)dx_bytes_u64(&r);
    c->limit = dx_bytes_u32(&r);
    if (c->kind == DX_CURSOR_LISTING) {
        c->domain_id = dx_bytes_u64(&r);
        c->dataset_id = dx_bytes_u32(&r);
        c->fields = dx_bytes_u8(&r);
        c->next_row = dx_bytes_u64(&r);
        c->end_row = dx_bytes_u64(&r);
    } else if (c->kind == DX_CURSOR_CHANGES) {
        take_name(&r, c->since);
        take_build(&r, &c->since_build);
        c->next_before = dx_bytes_u64(&r);
        c->next_after = dx_bytes_u64(&r);
    } else {
        return false;
    }
    return format == DX_CURSOR_FORMAT && !r.failed && dx_bytes_left(&r) == 0;
}

/* Whoever has the key may still be wrong, or have been written by another program. */
static bool values_ok(const struct dx_cursor *c)
{
    if (!dx_version_name_ok(dx_span_str(c->version), NULL) || c->limit == 0 ||
        c->limit > DX_LIMIT_MAX)
        return false;
    if (c->kind == DX_CURSOR_CHANGES)
        return dx_version_name_ok(dx_span_str(c->since), NULL);
    return c->next_row <= c->end_row && c->end_row <= INT64_MAX && c->fields != 0 &&
           (c->fields & ~(unsigned)DX_FIELDS_ALL) == 0;
}

int dx_cursor_read(struct dx_span text, const struct dx_cursor_key *key, struct dx_cursor *c,
                   struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    uint8_t sum[DX_SHA256_SIZE];
    uint8_t bytes[BYTES_MAX];
    size_t size = 0;
    bool ok = decode(text, bytes, &size) && size > DX_SHA256_SIZE;
    struct dx_span body = { bytes, ok ? size - DX_SHA256_SIZE : 0 };

    ok = ok && take(body, c);
    if (ok && !mac(key, &c->build, body, sum)) {
        (void)dx_fail(&err, DX_E_NOMEM, "cursor: out of memory");
        return dx_problem_of_error(problem, &err);
    }
    if (ok && same_mac(sum, bytes + body.size) && values_ok(c))
        return 1;
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-cursor", "Bad cursor",
                          "this is no cursor that this server can have given, or it was changed on "
                          "its way; use next_cursor as it came, or begin again without one");
}

bool dx_cursor_expired(const struct dx_cursor *c, int64_t now_s, unsigned life_s)
{
    int64_t age;

    return __builtin_sub_overflow(now_s, c->began_s, &age) || age > (int64_t)life_s;
}
