/* SPDX-License-Identifier: Apache-2.0 */
#include "canon/urlkey.h"

#include "base/error.h"
#include "base/hex.h"

#include <stdlib.h>

void dx_urlkey_init(struct dx_urlkey *k)
{
    dx_buf_init(&k->key, DX_URLKEY_MAX);
    dx_buf_init(&k->part, DX_URLKEY_MAX);
    dx_buf_init(&k->pairs, (size_t)8 * DX_URLKEY_MAX * sizeof(struct dx_span));
}

void dx_urlkey_release(struct dx_urlkey *k)
{
    dx_buf_release(&k->key);
    dx_buf_release(&k->part);
    dx_buf_release(&k->pairs);
}

static uint8_t lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

static bool is_alnum(uint8_t c)
{
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z');
}

/* ---- escapes ---- */

/* Unescapes until nothing is left to unescape: an escape that the byte before completes is one too. */
static void unescape(struct dx_buf *b)
{
    size_t n = 0;
    int c;

    for (size_t i = 0; i < b->size; i++) {
        b->data[n++] = b->data[i];
        while (n >= 3 && (c = dx_hex_escape(b->data + n - 3, b->data + n)) >= 0) {
            b->data[n - 3] = (uint8_t)c;
            n -= 2;
        }
    }
    b->size = n;
}

/* Appends in lower case, escaped: all but graphic ASCII, '#' and '%'. */
static void put_escaped(struct dx_span s, struct dx_buf *out)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t *to = dx_buf_reserve(out, 3 * s.size);

    for (size_t i = 0; to != NULL && i < s.size; i++) {
        uint8_t c = s.data[i];

        if (c > ' ' && c < 0x7f && c != '#' && c != '%') {
            *to++ = lower(c);
            continue;
        }
        *to++ = '%';
        *to++ = (uint8_t)digits[c >> 4];
        *to++ = (uint8_t)digits[c & 15];
    }
    if (to != NULL)
        out->size = (size_t)(to - out->data);
}

/* ---- host ---- */

/* Digits behind "www", and a dot behind them. */
static struct dx_span without_www(struct dx_span host)
{
    size_t i = 3;

    if (host.size < 4 || memcmp(host.data, "www", 3) != 0)
        return host;
    while (i < host.size && host.data[i] >= '0' && host.data[i] <= '9')
        i++;
    if (i == host.size || host.data[i] != '.')
        return host;
    return dx_span_of(host.data + i + 1, host.size - i - 1);
}

/* Of a canonical host the port is never the default one. Brackets of IPv6 go. */
static struct dx_span split_port(struct dx_span *host)
{
    size_t i = host->size;
    struct dx_span port = { NULL, 0 };

    while (i > 0 && host->data[i - 1] >= '0' && host->data[i - 1] <= '9')
        i--;
    if (i > 0 && i < host->size && host->data[i - 1] == ':') {
        port = dx_span_of(host->data + i - 1, host->size - i + 1);
        host->size = i - 1;
    }
    if (host->size > 1 && host->data[0] == '[' && host->data[host->size - 1] == ']')
        *host = dx_span_of(host->data + 1, host->size - 2);
    return port;
}

static void put_host(struct dx_span host, struct dx_buf *out)
{
    struct dx_span port = split_port(&host);
    size_t end;

    if (host.size > 1 && host.data[host.size - 1] == '.') /* of the root: the name is the same */
        host.size--;
    host = without_www(host);
    end = host.size;
    for (size_t i = host.size; i-- > 0;) {
        if (host.data[i] != '.')
            continue;
        put_escaped(dx_span_of(host.data + i + 1, end - i - 1), out);
        dx_buf_u8(out, ',');
        end = i;
    }
    put_escaped(dx_span_of(host.data, end), out);
    dx_buf_append(out, port.data, port.size);
    dx_buf_u8(out, ')');
}

/* ---- path ---- */

/* Dot segments, in place. An empty segment is one until the end, and ".." without one before it stays. */
static void resolve_dots(struct dx_buf *b)
{
    size_t n = 0;
    size_t i = 0;

    while (i < b->size) {
        size_t end = i + 1;
        size_t size;

        while (end < b->size && b->data[end] != '/')
            end++;
        size = end - i - 1;
        if (size == 2 && memcmp(b->data + i + 1, "..", 2) == 0 && n > 0) {
            while (b->data[--n] != '/')
                ;
        } else if (size != 1 || b->data[i + 1] != '.') {
            memmove(b->data + n, b->data + i, end - i);
            n += end - i;
        }
        i = end;
    }
    b->size = n;
}

/* Empty segments but the last one, in place. */
static void join_slashes(struct dx_buf *b)
{
    size_t n = 0;

    for (size_t i = 0; i < b->size; i++)
        if (b->data[i] != '/' || i + 1 == b->size || b->data[i + 1] != '/')
            b->data[n++] = b->data[i];
    b->size = n;
    if (n == 0)
        dx_buf_u8(b, '/');
}

static size_t alnum_run(const uint8_t *s, size_t size, size_t max)
{
    size_t n = 0;

    while (n < size && n < max && is_alnum(s[n]))
        n++;
    return n;
}

#define SESSION 24 /* letters and digits of a session of ASP.NET */

/* "(24)/", or "(a(24)b(24))/" with lettered ones; 0: neither. */
static size_t session_size(const uint8_t *s, size_t size, bool lettered)
{
    size_t i = 1;

    if (size < SESSION + 3 || s[0] != '(')
        return 0;
    if (!lettered)
        i += alnum_run(s + i, size - i, SESSION);
    else
        while (size - i > SESSION + 3 && lower(s[i]) >= 'a' && lower(s[i]) <= 'z' &&
               s[i + 1] == '(' && alnum_run(s + i + 2, SESSION, SESSION) == SESSION &&
               s[i + 2 + SESSION] == ')')
            i += SESSION + 3;
    if (i < SESSION + 1 || i + 2 > size || s[i] != ')' || s[i + 1] != '/')
        return 0;
    return i + 2;
}

/* ".aspx" before the first '?', with something before it. */
static bool is_aspx(const uint8_t *s, size_t size)
{
    const uint8_t *mark = size == 0 ? NULL : memchr(s, '?', size);
    size_t end = mark == NULL ? size : (size_t)(mark - s);

    for (size_t i = 1; i + 5 <= end; i++)
        if (memcmp(s + i, ".aspx", 5) == 0)
            return true;
    return false;
}

/* The last segment that is a session goes. The path is in lower case. */
static void drop_path_session(struct dx_buf *b, size_t path, bool lettered)
{
    for (size_t i = b->size; i-- > path + 1;) {
        size_t size = b->data[i - 1] == '/' ? session_size(b->data + i, b->size - i, lettered) : 0;

        if (size == 0 || !is_aspx(b->data + i + size, b->size - i - size))
            continue;
        memmove(b->data + i, b->data + i + size, b->size - i - size);
        b->size -= size;
        return;
    }
}

static void put_path(struct dx_urlkey *k, struct dx_span path)
{
    struct dx_buf *part = &k->part;
    size_t begin = k->key.size;

    dx_buf_clear(part);
    if (path.size == 0 || path.data[0] != '/')
        dx_buf_u8(part, '/');
    dx_buf_append(part, path.data, path.size);
    unescape(part);
    resolve_dots(part);
    join_slashes(part);
    put_escaped(dx_span_of(part->data, part->size), &k->key);
    if (k->key.failed || part->failed)
        return;
    drop_path_session(&k->key, begin, true);
    drop_path_session(&k->key, begin, false);
    if (k->key.size > begin + 1 && k->key.data[k->key.size - 1] == '/')
        k->key.size--;
}

/* ---- query ---- */

/* Takes [at, at + size) out, and an '&' behind it. */
static void cut(struct dx_buf *b, size_t at, size_t size)
{
    size_t end = at + size + (at + size < b->size);

    memmove(b->data + at, b->data + end, b->size - end);
    b->size -= end - at;
}

static bool begins(const struct dx_buf *b, size_t at, const char *word)
{
    size_t size = strlen(word);

    return size <= b->size - at && memcmp(b->data + at, word, size) == 0;
}

static bool ends_here(const struct dx_buf *b, size_t at)
{
    return at == b->size || b->data[at] == '&';
}

/* name, and so many letters and digits behind it, the last ones of the query. */
static void drop_session(struct dx_buf *b, const char *name, size_t count)
{
    size_t size = strlen(name) + count;

    for (size_t i = b->size; i-- > 0;)
        if (size <= b->size - i && begins(b, i, name) && ends_here(b, i + size) &&
            alnum_run(b->data + i + size - count, count, count) == count) {
            cut(b, i, size);
            return;
        }
}

static bool letters(const uint8_t *s, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (s[i] < 'a' || s[i] > 'z')
            return false;
    return true;
}

/* aspsessionidABCDEFGH=24 letters */
static void drop_asp_session(struct dx_buf *b)
{
    static const char name[] = "aspsessionid";
    size_t head = sizeof name - 1;
    size_t size = head + 8 + 1 + 24;

    for (size_t i = b->size; i-- > 0;)
        if (size <= b->size - i && begins(b, i, name) && ends_here(b, i + size) &&
            letters(b->data + i + head, 8) && b->data[i + head + 8] == '=' &&
            letters(b->data + i + head + 9, 24)) {
            cut(b, i, size);
            return;
        }
}

static size_t to_ampersand(const struct dx_buf *b, size_t at)
{
    while (at < b->size && b->data[at] != '&')
        at++;
    return at;
}

/* cfid=...&cftoken=... */
static void drop_cf_session(struct dx_buf *b)
{
    static const char first[] = "cfid=";
    static const char second[] = "&cftoken=";
    size_t next = b->size; /* the first '&' behind i, or the end */

    for (size_t i = b->size; i-- > 0;) {
        size_t end;

        if (b->data[i] == '&')
            next = i;
        if (!begins(b, i, first) || next == i + sizeof first - 1 || !begins(b, next, second))
            continue;
        end = to_ampersand(b, next + sizeof second - 1);
        if (end == next + sizeof second - 1)
            continue;
        cut(b, i, end - i);
        return;
    }
}

/* Keys in byte order, of equal ones that without a value first, then values. */
static int compare_pairs(const void *left, const void *right)
{
    struct dx_span a = *(const struct dx_span *)left;
    struct dx_span b = *(const struct dx_span *)right;
    const uint8_t *a_equals = a.size == 0 ? NULL : memchr(a.data, '=', a.size);
    const uint8_t *b_equals = b.size == 0 ? NULL : memchr(b.data, '=', b.size);
    struct dx_span a_key = { a.data, a_equals == NULL ? a.size : (size_t)(a_equals - a.data) };
    struct dx_span b_key = { b.data, b_equals == NULL ? b.size : (size_t)(b_equals - b.data) };
    int order = dx_span_compare(a_key, b_key);

    if (order != 0 || a_equals == NULL || b_equals == NULL)
        return order != 0 ? order : (a_equals != NULL) - (b_equals != NULL);
    return dx_span_compare(dx_span_of(a_equals, a.size - a_key.size),
                           dx_span_of(b_equals, b.size - b_key.size));
}

/* The pairs of `part`; whether they are in order already. */
static bool split_pairs(struct dx_urlkey *k)
{
    struct dx_span before = { NULL, 0 };
    bool sorted = true;
    size_t begin = 0;

    dx_buf_clear(&k->pairs);
    while (begin <= k->part.size) {
        size_t end = to_ampersand(&k->part, begin);
        struct dx_span pair = { k->part.data + begin, end - begin };

        sorted = sorted && (before.data == NULL || compare_pairs(&before, &pair) <= 0);
        dx_buf_append(&k->pairs, &pair, sizeof pair);
        before = pair;
        begin = end + 1;
    }
    return sorted;
}

static void put_sorted(struct dx_urlkey *k)
{
    bool sorted = split_pairs(k);
    const struct dx_span *pairs = (const void *)k->pairs.data;
    size_t count = k->pairs.size / sizeof *pairs;

    if (!sorted && !k->pairs.failed)
        qsort(k->pairs.data, count, sizeof *pairs, compare_pairs);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            dx_buf_u8(&k->key, '&');
        dx_buf_append(&k->key, pairs[i].data, pairs[i].size);
    }
}

static void put_query(struct dx_urlkey *k, struct dx_span query)
{
    struct dx_buf raw = DX_BUF_INIT(DX_URLKEY_MAX);

    dx_buf_append(&raw, query.data, query.size);
    unescape(&raw);
    dx_buf_clear(&k->part);
    put_escaped(dx_span_of(raw.data, raw.size), &k->part);
    k->part.failed = k->part.failed || raw.failed;
    dx_buf_release(&raw);
    drop_session(&k->part, "jsessionid=", 32);
    drop_session(&k->part, "phpsessid=", 32);
    drop_session(&k->part, "sid=", 32);
    drop_asp_session(&k->part);
    drop_cf_session(&k->part);
    if (k->part.size == 0)
        return;
    dx_buf_u8(&k->key, '?');
    put_sorted(k);
}

/* ---- paths whose keys begin otherwise ---- */

/* Of ASCII: no other escape, unescaped, makes a slash or a dot, or completes an escape. */
static bool has_ascii_escape(struct dx_span path)
{
    const uint8_t *end = path.data + path.size;
    const uint8_t *p = path.data;

    while (p < end && (p = memchr(p, '%', (size_t)(end - p))) != NULL) {
        if (end - p >= 3 && dx_hex_digit(p[1]) >= 2 && dx_hex_digit(p[1]) < 8 &&
            !(p[1] == '2' && p[2] == '0'))
            return true;
        p++;
    }
    return false;
}

static bool has_dots(const struct dx_buf *b)
{
    for (size_t i = 0; i + 3 <= b->size; i++)
        if (memcmp(b->data + i, "/..", 3) == 0 && (i + 3 == b->size || b->data[i + 3] == '/'))
            return true;
    return false;
}

int dx_urlkey_strays(struct dx_urlkey *k, struct dx_span path_query)
{
    const uint8_t *mark;
    struct dx_span path = path_query;

    if (!has_ascii_escape(path)) /* also none of the query: most */
        return 0;
    mark = memchr(path_query.data, '?', path_query.size);
    if (mark != NULL)
        path.size = (size_t)(mark - path_query.data);
    if (!has_ascii_escape(path))
        return 0;
    dx_buf_clear(&k->part);
    dx_buf_append(&k->part, path.data, path.size);
    if (k->part.failed)
        return k->part.no_memory ? DX_E_NOMEM : 1;
    unescape(&k->part);
    return has_dots(&k->part);
}

bool dx_urlkey_make(struct dx_urlkey *k, struct dx_span host, struct dx_span path_query)
{
    const uint8_t *mark = path_query.size == 0 ? NULL
                                               : memchr(path_query.data, '?', path_query.size);
    size_t path = mark == NULL ? path_query.size : (size_t)(mark - path_query.data);

    dx_buf_clear(&k->key);
    dx_buf_clear(&k->part);
    put_host(host, &k->key);
    put_path(k, dx_span_of(path_query.data, path));
    if (mark != NULL && path + 1 < path_query.size)
        put_query(k, dx_span_of(mark + 1, path_query.size - path - 1));
    return !k->key.failed && !k->part.failed && !k->pairs.failed;
}

bool dx_urlkey_no_memory(const struct dx_urlkey *k)
{
    return k->key.no_memory || k->part.no_memory || k->pairs.no_memory;
}
