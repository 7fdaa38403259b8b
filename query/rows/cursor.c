/* SPDX-License-Identifier: Apache-2.0 */
#include "query/rows/cursor.h"

#include <assert.h>

#include "base/buf.h"
#include "base/crypto/seal.h"
#include "base/crypto/sha256.h"
#include "base/file.h"
#include "base/nonce.h"
#include "format/root/access_table.h"
#include "query/view/fields.h"

#define NAME_SIZE (DX_VERSION_NAME - 1)
#define BUILD_SIZE 16
#define COMMON_SIZE (1 + NAME_SIZE + 8 + 4)
#define CHANGES_SIZE (COMMON_SIZE + NAME_SIZE + BUILD_SIZE + 8 + 8)
#define LISTING_SIZE (COMMON_SIZE + BUILD_SIZE + 8 + 4 + 2 + 8 + 8 + DX_ROW_FILTER_MAX)
#define ORDER_SIZE (4 + 8 + 8 + 8 + 2 + 2 + DX_CURSOR_URL_MAX + DX_CURSOR_VALUE)
#define RANGE_SIZE \
    (COMMON_SIZE + BUILD_SIZE + 8 + 8 + 1 + 4 + 2 + 8 + 4 + 8 + ORDER_SIZE + DX_ROW_FILTER_MAX)
#define ALL_URLS_SIZE                                                                              \
    (COMMON_SIZE + BUILD_SIZE + 8 + 2 + 4 + 8 + 4 + 8 + 1 + 4 * DX_DATASET_LIST_MAX + ORDER_SIZE + \
     DX_ROW_FILTER_MAX)
#define FRONT_MAX (1 + BUILD_SIZE)
#define BYTES_MAX (FRONT_MAX + DX_SEAL_EXTRA + ALL_URLS_SIZE)

static_assert(CHANGES_SIZE < ALL_URLS_SIZE && RANGE_SIZE < ALL_URLS_SIZE &&
                  LISTING_SIZE < ALL_URLS_SIZE,
              "the longest is that of a listing of several datasets");
static_assert((BYTES_MAX * 4 + 2) / 3 < DX_CURSOR_TEXT, "the longest cursor fits its text");
static_assert(FRONT_MAX + DX_ACCESS_NAME_MAX + BYTES_MAX <= DX_SEAL_MAX, "it can be sealed");
static_assert(sizeof((struct dx_cursor_key *)NULL)->bytes == DX_SEAL_KEY, "keys of one size");

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* ---- keys ---- */

static bool key_of_secret(struct dx_span secret, uint8_t bytes[DX_SEAL_KEY])
{
    return dx_hmac_sha256(secret, dx_span_str("domaindex cursor 2: MAC"), bytes) &&
           dx_hmac_sha256(secret, dx_span_str("domaindex cursor 2: cipher"),
                          bytes + DX_SHA256_SIZE);
}

static int take_secret(struct dx_cursor_key *key, struct dx_span secret,
                       enum dx_cursor_key_kind kind, struct dx_error *err)
{
    key->kind = DX_CURSOR_KEY_NONE;
    if (!key_of_secret(secret, key->bytes))
        return dx_no_memory(err, "cursor key");
    key->kind = kind;
    return DX_OK;
}

int dx_cursor_key_read(struct dx_cursor_key *key, const char *path, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_CURSOR_KEY_MAX);
    int rc = dx_file_read(path, DX_CURSOR_KEY_MAX, &text, err);

    key->kind = DX_CURSOR_KEY_NONE;
    if (rc == DX_OK && text.size < DX_CURSOR_KEY_MIN)
        rc = dx_fail(err, DX_E_INVALID,
                     "%s: %zu bytes, a cursor key has at least %d; make one with "
                     "`head -c 32 /dev/urandom`",
                     path, text.size, DX_CURSOR_KEY_MIN);
    if (rc == DX_OK)
        rc = take_secret(key, dx_span_of(text.data, text.size), DX_CURSOR_KEY_SHARED, err);
    dx_buf_release(&text);
    return rc;
}

int dx_cursor_key_random(struct dx_cursor_key *key, struct dx_error *err)
{
    char secret[2 * (DX_NONCE - 1) + 1];

    dx_nonce(secret);
    dx_nonce(secret + DX_NONCE - 1);
    return take_secret(key, dx_span_str(secret), DX_CURSOR_KEY_RANDOM, err);
}

/* ---- what a cursor is sealed with ---- */

struct sealing {
    uint8_t key[DX_SEAL_KEY];
    uint8_t with[FRONT_MAX + DX_ACCESS_NAME_MAX]; /* what stands in front, and the principal */
    size_t with_size;
    size_t front_size;
};

static bool of_build(const struct dx_cursor_key *key, const char *principal)
{
    return key->kind != DX_CURSOR_KEY_SHARED && (principal == NULL || principal[0] == '\0');
}

/* The key of a build, which anyone could make: of the build that the thread had last it is there, as making it takes longer than a
 * listing of a few rows. False: out of memory. */
static bool key_of_build(const uint8_t build[BUILD_SIZE], uint8_t key[DX_SEAL_KEY])
{
    static _Thread_local struct {
        bool made;
        uint8_t build[BUILD_SIZE], key[DX_SEAL_KEY];
    } last;
    uint8_t own[DX_SHA256_SIZE];

    if (!last.made || memcmp(last.build, build, BUILD_SIZE) != 0) {
        last.made = dx_hmac_sha256(dx_span_str("domaindex cursor of a build"),
                                   dx_span_of(build, BUILD_SIZE), own) &&
                    key_of_secret(dx_span_of(own, sizeof own), last.key);
        memcpy(last.build, build, BUILD_SIZE);
    }
    if (last.made)
        memcpy(key, last.key, DX_SEAL_KEY);
    return last.made;
}

/* build: looked at only where the key is made of it. False: out of memory. */
static bool seal_with(struct sealing *s, const struct dx_cursor_key *key, const char *principal,
                      const uint8_t build[BUILD_SIZE])
{
    size_t name_size = principal == NULL ? 0 : strlen(principal);
    bool ok = true;

    assert(name_size <= DX_ACCESS_NAME_MAX);
    s->with[0] = DX_CURSOR_FORMAT;
    s->front_size = 1;
    if (of_build(key, principal)) {
        memcpy(s->with + 1, build, BUILD_SIZE);
        s->front_size += BUILD_SIZE;
        ok = key_of_build(build, s->key);
    } else {
        memcpy(s->key, key->bytes, sizeof s->key);
    }
    if (name_size > 0)
        memcpy(s->with + s->front_size, principal, name_size);
    s->with_size = s->front_size + name_size;
    return ok;
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
static bool decode_digits(struct dx_span text, uint8_t out[BYTES_MAX], size_t *size)
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

#define FLAG_DATASET 1u
#define FLAG_ROWS 2u

#define WITH_ORDER 128u /* beside the number of datasets */
#define WITH_END 2u     /* beside whether it is of one dataset */
#define WITH_SORT 4u    /* likewise */
#define FLAG_REVERSE 1u
#define FLAG_KEPT 2u
#define FLAG_SUBDOMAINS 4u
#define FLAG_POSITION 8u
#define FLAG_TS 16u
#define FLAG_VALUE 32u

static bool is_of_listing(const struct dx_cursor *c)
{
    return c->kind == DX_CURSOR_LISTING || c->kind == DX_CURSOR_FOREIGN;
}

static bool is_of_tags(const struct dx_cursor *c)
{
    return c->kind == DX_CURSOR_TAGS || c->kind == DX_CURSOR_TAG;
}

/* Whether the page is of one dataset, and of which. */
static void put_one_dataset(const struct dx_cursor *c, struct dx_buf *b)
{
    dx_buf_u8(b, c->one_dataset);
    dx_buf_u32(b, c->dataset_id);
}

static bool has_order(const struct dx_cursor *c)
{
    return c->sort != DX_CURSOR_SORT_NONE || c->range != 0;
}

static unsigned flags_of_position(const struct dx_cursor_position *p)
{
    return (p->given ? FLAG_POSITION : 0) | (p->given && p->has_ts ? FLAG_TS : 0) |
           (p->has_value ? FLAG_VALUE : 0);
}

static void put_position(const struct dx_cursor_position *p, struct dx_buf *b)
{
    if (p->given) {
        dx_buf_u64(b, p->has_ts ? (uint64_t)p->ts_us : 0);
        dx_buf_u16(b, p->host);
        dx_buf_u16(b, p->path_query);
        dx_buf_append(b, p->url, (size_t)p->host + p->path_query);
    }
    if (p->has_value)
        dx_buf_append(b, p->value, sizeof p->value);
}

static void put_order(const struct dx_cursor *c, struct dx_buf *b)
{
    dx_buf_u8(b, c->sort);
    dx_buf_u8(b,
              (uint8_t)((c->reverse ? FLAG_REVERSE : 0) | (c->has_kept ? FLAG_KEPT : 0) |
                        (c->subdomains ? FLAG_SUBDOMAINS : 0) | flags_of_position(&c->position)));
    dx_buf_u8(b, c->collapse);
    dx_buf_u8(b, c->collapse_digits);
    dx_buf_u64(b, (uint64_t)c->closest_us);
    dx_buf_u64(b, c->range);
    put_position(&c->position, b);
}

/* Of a listing of many domains, which may have an end or an order. */
static void put_flags(const struct dx_cursor *c, struct dx_buf *b)
{
    dx_buf_u8(b, (uint8_t)((c->one_dataset ? 1 : 0) | (c->has_end ? WITH_END : 0) |
                           (c->sort != DX_CURSOR_SORT_NONE ? WITH_SORT : 0)));
    dx_buf_u32(b, c->dataset_id);
}

static void put_range(const struct dx_cursor *c, struct dx_buf *b)
{
    dx_buf_append(b, c->numbers.bytes, BUILD_SIZE);
    dx_buf_u64(b, c->first);
    dx_buf_u64(b, c->end);
    put_flags(c, b);
    dx_buf_u16(b, (uint16_t)c->fields);
    dx_buf_u64(b, c->next_number);
    dx_buf_u32(b, c->next_dataset);
    dx_buf_u64(b, c->next_row);
    if (c->sort != DX_CURSOR_SORT_NONE)
        put_order(c, b);
    dx_buf_append(b, c->filter, c->filter_size);
}

static void put_tlds(const struct dx_cursor *c, struct dx_buf *b)
{
    put_one_dataset(c, b);
    dx_buf_u64(b, c->next_row);
    dx_buf_u64(b, c->line);
    for (size_t i = 0; i < 4; i++)
        dx_buf_u64(b, c->sums[i]);
}

static void put_suffix(const struct dx_cursor *c, struct dx_buf *b)
{
    put_one_dataset(c, b);
    dx_buf_u64(b, c->tag_hash);
    dx_buf_u8(b, c->rows);
    dx_buf_u32(b, c->next_dataset);
    dx_buf_u64(b, c->next_row);
    dx_buf_u64(b, c->line);
    for (size_t i = 0; i < 14; i++)
        dx_buf_u64(b, c->suffix_sums[i / 7][i % 7]);
}

static void put_suffix_urls(const struct dx_cursor *c, struct dx_buf *b)
{
    put_flags(c, b);
    dx_buf_u64(b, c->tag_hash);
    dx_buf_u16(b, (uint16_t)c->fields);
    dx_buf_u64(b, c->next_number);
    dx_buf_u32(b, c->next_dataset);
    dx_buf_u64(b, c->next_row);
    if (c->has_end)
        dx_buf_u64(b, c->end);
    if (c->sort != DX_CURSOR_SORT_NONE)
        put_order(c, b);
    dx_buf_append(b, c->filter, c->filter_size);
}

static void put_all_urls(const struct dx_cursor *c, struct dx_buf *b)
{
    dx_buf_u64(b, c->domain_id);
    dx_buf_u16(b, (uint16_t)c->fields);
    dx_buf_u32(b, c->next_dataset);
    dx_buf_u64(b, c->next_row);
    dx_buf_u32(b, c->end_dataset);
    dx_buf_u64(b, c->end_row);
    dx_buf_u8(b, (uint8_t)(c->dataset_count | (has_order(c) ? WITH_ORDER : 0)));
    for (unsigned i = 0; i < c->dataset_count; i++)
        dx_buf_u32(b, c->datasets[i]);
    if (has_order(c))
        put_order(c, b);
    dx_buf_append(b, c->filter, c->filter_size);
}

static void write_fields(const struct dx_cursor *c, bool build_in_front, struct dx_buf *b)
{
    dx_buf_u8(b, (uint8_t)c->kind);
    dx_buf_append(b, c->version, NAME_SIZE);
    if (!build_in_front)
        dx_buf_append(b, c->build.bytes, BUILD_SIZE);
    dx_buf_u64(b, (uint64_t)c->began_s);
    dx_buf_u32(b, c->limit);
    if (is_of_listing(c)) {
        dx_buf_u64(b, c->domain_id);
        dx_buf_u32(b, c->dataset_id);
        dx_buf_u16(b, (uint16_t)c->fields);
        dx_buf_u64(b, c->next_row);
        dx_buf_u64(b, c->end_row);
        dx_buf_append(b, c->filter, c->filter_size);
    } else if (is_of_tags(c)) {
        dx_buf_u64(b, c->tag_hash);
        dx_buf_u32(b, c->dataset_id);
        dx_buf_u8(b, (uint8_t)((c->one_dataset ? FLAG_DATASET : 0) | (c->rows ? FLAG_ROWS : 0)));
        dx_buf_u16(b, (uint16_t)c->fields);
        dx_buf_u64(b, c->next_row);
        dx_buf_u64(b, c->end_row);
        dx_buf_u32(b, c->next_file);
    } else if (c->kind == DX_CURSOR_RANGE) {
        put_range(c, b);
    } else if (c->kind == DX_CURSOR_TLDS) {
        put_tlds(c, b);
    } else if (c->kind == DX_CURSOR_SUFFIX) {
        put_suffix(c, b);
    } else if (c->kind == DX_CURSOR_SUFFIX_URLS) {
        put_suffix_urls(c, b);
    } else if (c->kind == DX_CURSOR_ALL_URLS) {
        put_all_urls(c, b);
    } else if (c->kind == DX_CURSOR_DOMAINS) {
        put_one_dataset(c, b);
        dx_buf_u16(b, (uint16_t)c->fields);
        dx_buf_u64(b, c->next_row);
        dx_buf_u64(b, c->end_row);
        dx_buf_append(b, c->filter, c->filter_size);
    } else {
        dx_buf_append(b, c->since, NAME_SIZE);
        dx_buf_append(b, c->since_build.bytes, BUILD_SIZE);
        dx_buf_u64(b, c->next_before);
        dx_buf_u64(b, c->next_after);
    }
}

int dx_cursor_write(const struct dx_cursor *c, const struct dx_cursor_key *key,
                    const char *principal, char text[DX_CURSOR_TEXT], struct dx_error *err)
{
    struct dx_buf b = DX_BUF_INIT(BYTES_MAX);
    uint8_t bytes[BYTES_MAX];
    struct sealing s;
    int rc = DX_OK;

    assert(c->filter_size <= sizeof c->filter && c->dataset_count <= DX_DATASET_LIST_MAX);
    if (key == NULL)
        return dx_fail(err, DX_E_INVALID, "cursor: this server gives none");
    if (key->kind == DX_CURSOR_KEY_NONE && !of_build(key, principal))
        return dx_fail(err, DX_E_INVALID, "cursor: there is no key for cursors of principals");
    write_fields(c, of_build(key, principal), &b);
    if (b.failed || !seal_with(&s, key, principal, c->build.bytes) ||
        !dx_seal(s.key, dx_span_of(s.with, s.with_size), dx_span_of(b.data, b.size),
                 bytes + s.front_size))
        rc = dx_no_memory(err, "cursor");
    if (rc == DX_OK) {
        memcpy(bytes, s.with, s.front_size);
        (void)encode(bytes, s.front_size + DX_SEAL_EXTRA + b.size, text);
    }
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

/* False: flags that no server sets. */
static bool take_tags(struct dx_bytes *r, struct dx_cursor *c)
{
    unsigned flags;

    c->tag_hash = dx_bytes_u64(r);
    c->dataset_id = dx_bytes_u32(r);
    flags = dx_bytes_u8(r);
    c->one_dataset = (flags & FLAG_DATASET) != 0;
    c->rows = (flags & FLAG_ROWS) != 0;
    c->fields = dx_bytes_u16(r);
    c->next_row = dx_bytes_u64(r);
    c->end_row = dx_bytes_u64(r);
    c->next_file = dx_bytes_u32(r);
    return (flags & ~(FLAG_DATASET | FLAG_ROWS)) == 0;
}

/* False: a byte that is neither yes nor no. */
static bool take_one_dataset(struct dx_bytes *r, struct dx_cursor *c)
{
    uint8_t one = dx_bytes_u8(r);

    c->one_dataset = one == 1;
    c->dataset_id = dx_bytes_u32(r);
    return one <= 1;
}

static void take_filter(struct dx_bytes *r, struct dx_cursor *c)
{
    size_t size = dx_bytes_left(r);
    struct dx_span s = dx_bytes_take(r, size <= sizeof c->filter ? size : 0);

    if (s.size > 0)
        memcpy(c->filter, s.data, s.size);
    c->filter_size = (uint16_t)s.size;
}

/* False: what no server writes. */
static bool take_position(struct dx_bytes *r, unsigned flags, struct dx_cursor_position *p)
{
    struct dx_span s = { NULL, 0 };

    p->given = (flags & FLAG_POSITION) != 0;
    p->has_ts = (flags & FLAG_TS) != 0;
    p->has_value = (flags & FLAG_VALUE) != 0;
    if (p->given) {
        p->ts_us = (int64_t)dx_bytes_u64(r);
        p->host = dx_bytes_u16(r);
        p->path_query = dx_bytes_u16(r);
        if ((size_t)p->host + p->path_query > sizeof p->url)
            return false;
        s = dx_bytes_take(r, (size_t)p->host + p->path_query);
    }
    if (s.size > 0)
        memcpy(p->url, s.data, s.size);
    s = dx_bytes_take(r, p->has_value ? sizeof p->value : 0);
    if (s.size > 0)
        memcpy(p->value, s.data, s.size);
    return (p->given || !p->has_ts) && (p->has_ts || p->ts_us == 0);
}

/* False: what no server writes. */
static bool take_order(struct dx_bytes *r, struct dx_cursor *c)
{
    unsigned flags;

    c->sort = dx_bytes_u8(r);
    flags = dx_bytes_u8(r);
    c->reverse = (flags & FLAG_REVERSE) != 0;
    c->has_kept = (flags & FLAG_KEPT) != 0;
    c->subdomains = (flags & FLAG_SUBDOMAINS) != 0;
    c->collapse = dx_bytes_u8(r);
    c->collapse_digits = dx_bytes_u8(r);
    c->closest_us = (int64_t)dx_bytes_u64(r);
    c->range = dx_bytes_u64(r);
    return take_position(r, flags, &c->position) && flags < 2 * FLAG_VALUE &&
           c->sort < DX_CURSOR_SORT_COUNT && has_order(c);
}

/* The same, of a listing of many domains, with an order. */
static bool take_sort(struct dx_bytes *r, struct dx_cursor *c)
{
    return take_order(r, c) && c->sort != DX_CURSOR_SORT_NONE && c->range == 0 && !c->has_kept &&
           !c->subdomains;
}

/* *with: WITH_SORT and `may` are let through. False: others. */
static bool take_flags(struct dx_bytes *r, unsigned may, struct dx_cursor *c, unsigned *with)
{
    *with = dx_bytes_u8(r);
    c->one_dataset = (*with & 1) != 0;
    c->has_end = (*with & WITH_END) != 0;
    c->dataset_id = dx_bytes_u32(r);
    return (*with & ~(1 | WITH_SORT | may)) == 0;
}

static bool take_range(struct dx_bytes *r, struct dx_cursor *c)
{
    unsigned with;
    bool ok;

    take_build(r, &c->numbers);
    c->first = dx_bytes_u64(r);
    c->end = dx_bytes_u64(r);
    ok = take_flags(r, 0, c, &with);
    c->fields = dx_bytes_u16(r);
    c->next_number = dx_bytes_u64(r);
    c->next_dataset = dx_bytes_u32(r);
    c->next_row = dx_bytes_u64(r);
    if ((with & WITH_SORT) != 0)
        ok = take_sort(r, c) && ok;
    take_filter(r, c);
    return ok;
}

static bool take_tlds(struct dx_bytes *r, struct dx_cursor *c)
{
    bool ok = take_one_dataset(r, c);

    c->next_row = dx_bytes_u64(r);
    c->line = dx_bytes_u64(r);
    for (size_t i = 0; i < 4; i++)
        c->sums[i] = dx_bytes_u64(r);
    return ok;
}

static bool take_suffix(struct dx_bytes *r, struct dx_cursor *c)
{
    bool ok = take_one_dataset(r, c);
    uint8_t known;

    c->tag_hash = dx_bytes_u64(r);
    known = dx_bytes_u8(r);
    c->rows = known == 1;
    c->next_dataset = dx_bytes_u32(r);
    c->next_row = dx_bytes_u64(r);
    c->line = dx_bytes_u64(r);
    for (size_t i = 0; i < 14; i++)
        c->suffix_sums[i / 7][i % 7] = dx_bytes_u64(r);
    return ok && known <= 1;
}

static bool take_domains(struct dx_bytes *r, struct dx_cursor *c)
{
    bool ok = take_one_dataset(r, c);

    c->fields = dx_bytes_u16(r);
    c->next_row = dx_bytes_u64(r);
    c->end_row = dx_bytes_u64(r);
    take_filter(r, c);
    return ok;
}

static bool take_suffix_urls(struct dx_bytes *r, struct dx_cursor *c)
{
    unsigned with;
    bool ok = take_flags(r, WITH_END, c, &with);

    c->tag_hash = dx_bytes_u64(r);
    c->fields = dx_bytes_u16(r);
    c->next_number = dx_bytes_u64(r);
    c->next_dataset = dx_bytes_u32(r);
    c->next_row = dx_bytes_u64(r);
    if (c->has_end)
        c->end = dx_bytes_u64(r);
    if ((with & WITH_SORT) != 0)
        ok = take_sort(r, c) && ok;
    take_filter(r, c);
    return ok;
}

/* False: more datasets than there can be. */
static bool take_all_urls(struct dx_bytes *r, struct dx_cursor *c)
{
    unsigned count;

    c->domain_id = dx_bytes_u64(r);
    c->fields = dx_bytes_u16(r);
    c->next_dataset = dx_bytes_u32(r);
    c->next_row = dx_bytes_u64(r);
    c->end_dataset = dx_bytes_u32(r);
    c->end_row = dx_bytes_u64(r);
    count = dx_bytes_u8(r);
    c->dataset_count = (uint8_t)(count & ~WITH_ORDER);
    if (c->dataset_count > DX_DATASET_LIST_MAX)
        return false;
    for (unsigned i = 0; i < c->dataset_count; i++)
        c->datasets[i] = dx_bytes_u32(r);
    if ((count & WITH_ORDER) != 0 && !take_order(r, c))
        return false;
    take_filter(r, c);
    return true;
}

/* The layout alone; all values are looked at afterwards. front: the build that stands there, or
 * NULL. */
static bool read_fields(struct dx_span bytes, const uint8_t *front, struct dx_cursor *c)
{
    struct dx_bytes r = dx_bytes_of(bytes);

    *c = (struct dx_cursor){ .kind = (enum dx_cursor_kind)dx_bytes_u8(&r) };
    take_name(&r, c->version);
    if (front != NULL)
        memcpy(c->build.bytes, front, BUILD_SIZE);
    else
        take_build(&r, &c->build);
    c->began_s = (int64_t)dx_bytes_u64(&r);
    c->limit = dx_bytes_u32(&r);
    if (is_of_listing(c)) {
        c->domain_id = dx_bytes_u64(&r);
        c->dataset_id = dx_bytes_u32(&r);
        c->fields = dx_bytes_u16(&r);
        c->next_row = dx_bytes_u64(&r);
        c->end_row = dx_bytes_u64(&r);
        take_filter(&r, c);
    } else if (c->kind == DX_CURSOR_CHANGES) {
        take_name(&r, c->since);
        take_build(&r, &c->since_build);
        c->next_before = dx_bytes_u64(&r);
        c->next_after = dx_bytes_u64(&r);
    } else if (is_of_tags(c)) {
        if (!take_tags(&r, c))
            return false;
    } else if (c->kind == DX_CURSOR_TLDS) {
        if (!take_tlds(&r, c))
            return false;
    } else if (c->kind == DX_CURSOR_SUFFIX) {
        if (!take_suffix(&r, c))
            return false;
    } else if (c->kind == DX_CURSOR_SUFFIX_URLS) {
        if (!take_suffix_urls(&r, c))
            return false;
    } else if (c->kind == DX_CURSOR_ALL_URLS) {
        if (!take_all_urls(&r, c))
            return false;
    } else if (c->kind == DX_CURSOR_DOMAINS) {
        if (!take_domains(&r, c))
            return false;
    } else if (c->kind != DX_CURSOR_RANGE || !take_range(&r, c)) {
        return false;
    }
    return !r.failed && dx_bytes_left(&r) == 0;
}

static bool all_urls_ok(const struct dx_cursor *c)
{
    for (unsigned i = 1; i < c->dataset_count; i++)
        if (c->datasets[i - 1] >= c->datasets[i])
            return false;
    if (c->sort != DX_CURSOR_SORT_NONE)
        return c->next_row < INT64_MAX && c->end_row < INT64_MAX;
    return c->next_row <= INT64_MAX && c->end_row <= INT64_MAX &&
           (c->next_dataset < c->end_dataset ||
            (c->next_dataset == c->end_dataset && c->next_row <= c->end_row));
}

/* Another program that has the key may still write wrong values. */
static bool values_ok(const struct dx_cursor *c)
{
    struct dx_row_filter filter;

    if (!dx_version_name_ok(dx_span_str(c->version), NULL) || c->limit == 0 ||
        c->limit > DX_LIMIT_MAX)
        return false;
    if (c->kind == DX_CURSOR_CHANGES)
        return dx_version_name_ok(dx_span_str(c->since), NULL);
    if (c->kind == DX_CURSOR_TLDS || c->kind == DX_CURSOR_SUFFIX)
        return c->next_row <= UINT32_MAX && (c->one_dataset || c->dataset_id == 0);
    if (c->kind == DX_CURSOR_DOMAINS)
        return c->end_row <= UINT32_MAX && c->next_row <= UINT32_MAX && c->fields != 0 &&
               (c->fields & ~(unsigned)DX_DOMAINS_FIELDS_ALL) == 0 &&
               (c->one_dataset || c->dataset_id == 0) &&
               dx_row_filter_unpack(dx_span_of(c->filter, c->filter_size), &filter);
    if (c->fields == 0 || (c->fields & ~(unsigned)DX_FIELDS_ALL) != 0)
        return false;
    if (c->sort != DX_CURSOR_SORT_NONE && c->kind != DX_CURSOR_ALL_URLS &&
        (c->has_end || c->next_number > UINT32_MAX || c->next_row == INT64_MAX))
        return false;
    if (c->kind == DX_CURSOR_RANGE)
        return c->next_row <= INT64_MAX &&
               (c->end == 0 || c->next_number <= c->end || c->sort != DX_CURSOR_SORT_NONE) &&
               (c->one_dataset || c->dataset_id == 0) &&
               dx_row_filter_unpack(dx_span_of(c->filter, c->filter_size), &filter);
    if (c->kind == DX_CURSOR_SUFFIX_URLS)
        return c->next_row <= INT64_MAX && c->next_number <= UINT32_MAX && c->end <= UINT32_MAX &&
               (c->one_dataset || c->dataset_id == 0) &&
               dx_row_filter_unpack(dx_span_of(c->filter, c->filter_size), &filter);
    if (c->kind == DX_CURSOR_ALL_URLS ? !all_urls_ok(c)
                                      : c->next_row > c->end_row || c->end_row > INT64_MAX)
        return false;
    return dx_row_filter_unpack(dx_span_of(c->filter, c->filter_size), &filter);
}

/* 1, 0: it is none of ours, <0 out of memory. */
static int open_text(struct dx_span text, const struct dx_cursor_key *key, const char *principal,
                     struct dx_cursor *c)
{
    bool front = of_build(key, principal);
    size_t front_size = front ? FRONT_MAX : 1;
    uint8_t bytes[BYTES_MAX];
    uint8_t plain[BYTES_MAX];
    struct sealing s;
    size_t size;
    int rc;

    if ((key->kind == DX_CURSOR_KEY_NONE && !front) || !decode_digits(text, bytes, &size) ||
        size < front_size + DX_SEAL_EXTRA || bytes[0] != DX_CURSOR_FORMAT)
        return 0;
    if (!seal_with(&s, key, principal, bytes + 1))
        return DX_E_NOMEM;
    size -= front_size;
    rc = dx_unseal(s.key, dx_span_of(s.with, s.with_size), dx_span_of(bytes + front_size, size),
                   plain);
    if (rc != 1)
        return rc;
    return read_fields(dx_span_of(plain, size - DX_SEAL_EXTRA), front ? bytes + 1 : NULL, c) &&
           values_ok(c);
}

int dx_cursor_read(struct dx_span text, const struct dx_cursor_key *key, const char *principal,
                   struct dx_cursor *c, struct dx_problem *problem)
{
    int rc = open_text(text, key, principal, c);
    struct dx_error err = DX_ERROR_INIT;

    if (rc == 1)
        return 1;
    if (rc < 0) {
        (void)dx_no_memory(&err, "cursor");
        return dx_problem_of_error(problem, &err);
    }
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-cursor", "Bad cursor",
                          "this server cannot have issued this cursor, or it was changed on its "
                          "way; use next_cursor unchanged, or begin again without one");
}

int dx_cursor_of_version(const struct dx_cursor *c, const struct dx_manifest_version *v,
                         struct dx_problem *problem)
{
    if (c == NULL || memcmp(&c->build, &v->build, sizeof v->build) == 0)
        return 1;
    return dx_problem_set(problem, DX_PROBLEM_GONE, "version-gone", "This version is gone",
                          "version %s is not the one that this cursor is of, only its name is the "
                          "same",
                          v->version);
}

void dx_cursor_position_set(struct dx_cursor_position *p, bool has_ts, int64_t ts_us,
                            struct dx_span host, struct dx_span path_query)
{
    p->given = host.size + path_query.size <= sizeof p->url;
    p->has_ts = p->given && has_ts;
    p->ts_us = p->has_ts ? ts_us : 0;
    p->host = (uint16_t)(p->given ? host.size : 0);
    p->path_query = (uint16_t)(p->given ? path_query.size : 0);
    if (p->host > 0)
        memcpy(p->url, host.data, p->host);
    if (p->path_query > 0)
        memcpy(p->url + p->host, path_query.data, p->path_query);
}

struct dx_span dx_cursor_position_host(const struct dx_cursor_position *p)
{
    return dx_span_of(p->url, p->host);
}

struct dx_span dx_cursor_position_path(const struct dx_cursor_position *p)
{
    return dx_span_of(p->url + p->host, p->path_query);
}

bool dx_cursor_expired(const struct dx_cursor *c, int64_t now_s, unsigned life_s)
{
    int64_t age;

    return __builtin_sub_overflow(now_s, c->began_s, &age) || age > (int64_t)life_s;
}
