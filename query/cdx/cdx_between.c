/* SPDX-License-Identifier: Apache-2.0 */
#include "query/cdx/cdx_between.h"

#include "base/hex.h"

void dx_cdx_between_init(struct dx_cdx_between *b)
{
    dx_urlkey_init(&b->key);
}

void dx_cdx_between_release(struct dx_cdx_between *b)
{
    dx_urlkey_release(&b->key);
}

/* ---- keys, each with a space behind it ---- */

static int compare_line(struct dx_span key, struct dx_span with)
{
    size_t size = key.size < with.size ? key.size : with.size;
    int order = size == 0 ? 0 : memcmp(key.data, with.data, size);

    if (order != 0)
        return order;
    return with.size <= key.size ? 1 : ' ' - (int)with.data[key.size];
}

bool dx_cdx_keys_has(const struct dx_cdx_keys *keys, struct dx_span urlkey)
{
    return compare_line(urlkey, keys->low) >= 0 &&
           (keys->high.size == 0 || compare_line(urlkey, keys->high) < 0);
}

static bool begins_with(struct dx_span text, struct dx_span beginning)
{
    return text.size >= beginning.size &&
           (beginning.size == 0 || memcmp(text.data, beginning.data, beginning.size) == 0);
}

/* Whether a key that begins so may be one of them; whether all such are. */
static bool may_begin(const struct dx_cdx_keys *keys, struct dx_span beginning)
{
    return (compare_line(beginning, keys->low) >= 0 || begins_with(keys->low, beginning)) &&
           (keys->high.size == 0 || compare_line(beginning, keys->high) < 0);
}

static bool all_begin(const struct dx_cdx_keys *keys, struct dx_span beginning)
{
    return compare_line(beginning, keys->low) >= 0 &&
           (keys->high.size == 0 ||
            (compare_line(beginning, keys->high) < 0 && !begins_with(keys->high, beginning)));
}

/* ---- what a path says of its key ---- */

enum { PLAIN, QUERY, ANYTHING }; /* what comes behind what is known */

static uint8_t lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

/* An escape that stays one: no other byte is written so: of a space, and of what is not ASCII. */
static bool stays(const uint8_t *s, size_t size)
{
    return size >= 3 && dx_hex_digit(s[2]) >= 0 &&
           (dx_hex_digit(s[1]) >= 8 || (s[1] == '2' && s[2] == '0'));
}

static unsigned kind_of(uint8_t c, uint8_t before)
{
    if (c == '?')
        return QUERY;
    return c == '%' || c <= ' ' || c >= 0x7f || c == '#' ||
                   (before == '/' && (c == '/' || c == '.' || c == '('))
               ? ANYTHING
               : PLAIN;
}

/* Appends what keys of paths with this beginning begin with, as far as that is known. */
static unsigned put_beginning(struct dx_buf *key, struct dx_span path)
{
    for (size_t i = 0; i < path.size; i++) {
        unsigned kind = kind_of(path.data[i], i == 0 ? 0 : path.data[i - 1]);

        if (kind == ANYTHING && stays(path.data + i, path.size - i)) {
            for (size_t end = i + 3; i < end; i++)
                dx_buf_u8(key, lower(path.data[i]));
            i--;
            continue;
        }
        if (kind != PLAIN)
            return kind;
        dx_buf_u8(key, lower(path.data[i]));
    }
    return PLAIN;
}

/* Whether a key may be without the slash that the beginning ends in: "/a/" is "/a", "/a/?b" is "/a?b". */
static bool ends_in_slash(const struct dx_cdx_between *b)
{
    const struct dx_buf *key = &b->key.key;

    return key->size > b->host_size + 1 && key->data[key->size - 1] == '/';
}

/* Whether it is a key, or a key begins with it and a '?'. */
static bool may_end(const struct dx_cdx_keys *keys, struct dx_buf *key, size_t size)
{
    uint8_t was;
    bool rc;

    if (dx_cdx_keys_has(keys, dx_span_of(key->data, size)))
        return true;
    dx_buf_u8(key, '?'); /* there is a byte behind it */
    if (key->failed)
        return true;
    was = key->data[size];
    key->data[size] = '?';
    rc = may_begin(keys, dx_span_of(key->data, size + 1));
    key->data[size] = was;
    key->size--;
    return rc;
}

/* Of URLs whose keys begin as the one at hand, and what comes behind it. */
static bool may_have(struct dx_cdx_between *b, const struct dx_cdx_keys *keys, unsigned kind)
{
    struct dx_buf *key = &b->key.key;
    bool slash = ends_in_slash(b);

    return (kind != QUERY && may_begin(keys, dx_span_of(key->data, key->size))) ||
           ((kind == QUERY || slash) && may_end(keys, key, key->size - slash));
}

/* With a slash at the end more than these are asked for: others are SOMETHING then. */
static bool all_have(const struct dx_cdx_between *b, const struct dx_cdx_keys *keys)
{
    const struct dx_buf *key = &b->key.key;

    return all_begin(keys, dx_span_of(key->data, key->size - ends_in_slash(b)));
}

/* ---- between two paths ---- */

static size_t common_size(struct dx_span a, struct dx_span b)
{
    size_t size = a.size < b.size ? a.size : b.size;
    size_t n = 0;

    while (n < size && a.data[n] == b.data[n])
        n++;
    return n;
}

/* Of those with one of these bytes behind what the key has. */
static bool one_may_have(struct dx_cdx_between *b, const struct dx_cdx_keys *keys, uint8_t before,
                         unsigned from, unsigned to)
{
    struct dx_buf *key = &b->key.key;
    size_t size = key->size;
    bool any = false;

    for (unsigned c = from; c <= to && !any; c++) {
        unsigned kind = kind_of((uint8_t)c, before);

        if (kind == PLAIN)
            dx_buf_u8(key, lower((uint8_t)c));
        any = key->failed || may_have(b, keys, kind);
        key->size = size;
    }
    return any;
}

/* The key at hand is of what the two have alike. */
static bool any_has(struct dx_cdx_between *b, const struct dx_cdx_keys *keys, unsigned kind,
                    struct dx_span first, struct dx_span last, size_t common)
{
    if (kind != PLAIN || common == last.size)
        return may_have(b, keys, kind);
    if (common == first.size && may_have(b, keys, QUERY)) /* it ends there */
        return true;
    return one_may_have(b, keys, common == 0 ? 0 : last.data[common - 1],
                        common == first.size ? ' ' + 1 : first.data[common], last.data[common]);
}

enum dx_cdx_answer dx_cdx_between(struct dx_cdx_between *b, const struct dx_cdx_keys *keys,
                                  struct dx_span host, struct dx_span first, struct dx_span last)
{
    size_t common = common_size(first, last);
    unsigned kind;

    if (!dx_urlkey_make(&b->key, host, dx_span_str("/")))
        return DX_CDX_SOMETHING;
    b->host_size = --b->key.key.size; /* without the slash */
    kind = put_beginning(&b->key.key, dx_span_of(last.data, common));
    if (b->key.key.failed)
        return DX_CDX_SOMETHING;
    if (all_have(b, keys))
        return DX_CDX_ALL;
    return any_has(b, keys, kind, first, last, common) ? DX_CDX_SOMETHING : DX_CDX_NOTHING;
}
