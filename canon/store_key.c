/* SPDX-License-Identifier: Apache-2.0 */
#include "canon/store_key.h"

#include <stdlib.h>

#include "canon/url.h"

uint64_t dx_store_key(struct dx_span text, struct dx_span host)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    unsigned sum = 0;

    for (size_t i = 0; i < host.size; i++)
        sum += host.data[i];
    for (size_t i = 0; i < text.size; i++)
        h = (h ^ text.data[i]) * UINT64_C(0x100000001b3);
    return (uint64_t)(sum & 127) << 56 | ((h >> 56) ^ (h & UINT64_C(0x00ffffffffffffff)));
}

/* ---- percent-encoding ---- */

/* What may stand as it is in a part of a URL, beside letters, digits and "-_.~". */
enum part { HOST, ZONE, USER, PATH, QUERY, FRAGMENT };

static const char *const kept[] = {
    [HOST] = "!$&'()*+,;=:[]<>\"",
    [ZONE] = "!$&'()*+,;=:[]<>\"",
    [USER] = "$&+,;=",
    [PATH] = "$&+,/:;=@",
    [QUERY] = "",
    [FRAGMENT] = "$&+,/:;=?@!()*",
};

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_kept(uint8_t c, enum part part)
{
    return is_letter(c) || is_digit(c) || (c != 0 && strchr("-_.~", c) != NULL) ||
           (c != 0 && strchr(kept[part], c) != NULL);
}

static int hex_of(uint8_t c)
{
    return is_digit(c)            ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The byte that an escape at s[i] stands for; -1: not an escape, or one that this part must not
 * have: a host has escapes for bytes outside of ASCII and for '%', a zone also for what it may hold
 * anyway and the space. */
static int escaped_at(struct dx_span s, size_t i, enum part part)
{
    int high = i + 2 < s.size ? hex_of(s.data[i + 1]) : -1;
    int low = high < 0 ? -1 : hex_of(s.data[i + 2]);
    int v = low < 0 ? -1 : high * 16 + low;

    if (v < 0 || v == '%')
        return v;
    if (part == HOST && v < 0x80)
        return -1;
    if (part == ZONE && v != ' ' && !is_kept((uint8_t)v, HOST))
        return -1;
    return v;
}

static bool decode(struct dx_span s, enum part part, struct dx_buf *out)
{
    for (size_t i = 0; i < s.size; i++) {
        uint8_t c = s.data[i];

        if (c == '%') {
            int v = escaped_at(s, i, part);

            if (v < 0)
                return false;
            dx_buf_u8(out, (uint8_t)v);
            i += 2;
        } else if ((part == HOST || part == ZONE) && c < 0x80 && !is_kept(c, part)) {
            return false;
        } else {
            dx_buf_u8(out, c == '+' && part == QUERY ? ' ' : c);
        }
    }
    return true;
}

static void encode(struct dx_span s, enum part part, struct dx_buf *out)
{
    static const char digits[] = "0123456789ABCDEF";

    for (size_t i = 0; i < s.size; i++) {
        uint8_t c = s.data[i];

        if (is_kept(c, part)) {
            dx_buf_u8(out, c);
        } else if (c == ' ' && part == QUERY) {
            dx_buf_u8(out, '+');
        } else {
            dx_buf_u8(out, '%');
            dx_buf_u8(out, (uint8_t)digits[c >> 4]);
            dx_buf_u8(out, (uint8_t)digits[c & 15]);
        }
    }
}

static struct dx_span span_of(const struct dx_buf *b)
{
    return dx_span_of(b->data, b->size);
}

/* A path or fragment: as it is if each of its bytes may stand there, else decoded and encoded
 * again. */
static bool put_part(struct dx_store_key *k, struct dx_span s, enum part part)
{
    bool valid = true;

    dx_buf_clear(&k->plain);
    if (!decode(s, part, &k->plain))
        return false;
    for (size_t i = 0; i < s.size && valid; i++)
        valid = is_kept(s.data[i], part) ||
                (s.data[i] != 0 && strchr("!$&'()*+,;=:@[]%", s.data[i]) != NULL);
    if (valid)
        dx_buf_append(&k->text, s.data, s.size);
    else
        encode(span_of(&k->plain), part, &k->text);
    return true;
}

/* ---- cutting ---- */

/* Where c stands in s; s.size: nowhere. */
static size_t find(struct dx_span s, uint8_t c)
{
    const uint8_t *at = s.size == 0 ? NULL : memchr(s.data, c, s.size);

    return at == NULL ? s.size : (size_t)(at - s.data);
}

static size_t find_last(struct dx_span s, uint8_t c)
{
    for (size_t i = s.size; i > 0; i--)
        if (s.data[i - 1] == c)
            return i - 1;
    return s.size;
}

static struct dx_span first(struct dx_span s, size_t n)
{
    return dx_span_of(s.data, n < s.size ? n : s.size);
}

static struct dx_span after(struct dx_span s, size_t n)
{
    return n < s.size ? dx_span_from(s, n) : dx_span_of(NULL, 0);
}

static bool begins(struct dx_span s, const char *with)
{
    return s.size >= strlen(with) && memcmp(s.data, with, strlen(with)) == 0;
}

/* Size of the scheme before a ':' that s begins with; 0: it has none. */
static size_t scheme_size(struct dx_span s)
{
    for (size_t i = 0; i < s.size; i++) {
        uint8_t c = s.data[i];

        if (c == ':')
            return i;
        if (!is_letter(c) && (i == 0 || (!is_digit(c) && c != '+' && c != '-' && c != '.')))
            return 0;
    }
    return 0;
}

/* "" or ":" and digits. */
static bool is_port(struct dx_span s)
{
    if (s.size > 0 && s.data[0] != ':')
        return false;
    for (size_t i = 1; i < s.size; i++)
        if (!is_digit(s.data[i]))
            return false;
    return true;
}

/* ---- user and host ---- */

static const char *put_user(struct dx_store_key *k, struct dx_span user)
{
    size_t colon = find(user, ':');

    for (size_t i = 0; i < user.size; i++)
        if (!is_letter(user.data[i]) && !is_digit(user.data[i]) &&
            (user.data[i] == 0 || strchr("-._:~!$&'()*+,;=%@", user.data[i]) == NULL))
            return "user";
    for (unsigned i = 0; i < 2; i++) {
        struct dx_span s = i == 0 ? first(user, colon) : after(user, colon + 1);

        if (i == 1 && colon == user.size)
            break;
        if (i == 1)
            dx_buf_u8(&k->text, ':');
        dx_buf_clear(&k->plain);
        if (!decode(s, USER, &k->plain))
            return "escape";
        encode(span_of(&k->plain), USER, &k->text);
    }
    dx_buf_u8(&k->text, '@');
    return NULL;
}

/* Decodes host and port into k->host. */
static const char *decode_host(struct dx_store_key *k, struct dx_span host)
{
    size_t open = find_last(host, '[');
    size_t close = find_last(host, ']');
    size_t zone = close;
    struct dx_span port = dx_span_of(NULL, 0);

    if (open < host.size && (open > 0 || close == host.size))
        return "host_invalid";
    if (open < host.size)
        port = after(host, close + 1);
    else if (find_last(host, ':') < host.size)
        port = after(host, find_last(host, ':'));
    if (!is_port(port))
        return "port_invalid";
    if (open == host.size)
        return decode(host, HOST, &k->host) ? NULL : "host_invalid";
    for (size_t i = 1; i + 3 <= close && zone == close; i++)
        if (memcmp(host.data + i, "%25", 3) == 0)
            zone = i;
    return decode(first(host, zone), HOST, &k->host) &&
                   decode(after(first(host, close), zone), ZONE, &k->host) &&
                   decode(after(host, close), HOST, &k->host)
               ? NULL
               : "host_invalid";
}

static const char *put_authority(struct dx_store_key *k, struct dx_span authority)
{
    size_t at = find_last(authority, '@');
    struct dx_span host = at < authority.size ? after(authority, at + 1) : authority;
    const char *why = decode_host(k, host);

    if (why == NULL && at < authority.size)
        why = put_user(k, first(authority, at));
    if (why == NULL)
        encode(span_of(&k->host), HOST, &k->text);
    return why;
}

/* k->host without port and brackets. */
static void strip_host(struct dx_store_key *k)
{
    struct dx_span host = span_of(&k->host);
    size_t colon = find_last(host, ':');

    if (colon < host.size && is_port(after(host, colon)))
        host.size = colon;
    if (host.size >= 2 && host.data[0] == '[' && host.data[host.size - 1] == ']')
        host = dx_span_of(host.data + 1, host.size - 2);
    if (host.size > 0)
        memmove(k->host.data, host.data, host.size);
    k->host.size = host.size;
}

/* ---- the query ---- */

struct pair {
    size_t key, key_size; /* offsets in plain */
    size_t value, value_size;
    const uint8_t *text;
    size_t number;
};

static int by_key(const void *a, const void *b)
{
    const struct pair *x = a;
    const struct pair *y = b;
    int c = dx_span_compare(dx_span_of(x->text + x->key, x->key_size),
                            dx_span_of(y->text + y->key, y->key_size));

    return c != 0 ? c : (x->number > y->number) - (x->number < y->number);
}

static bool is_tracking(struct dx_span key)
{
    static const char *const names[] = { "utm_source", "utm_medium",  "utm_campaign",
                                         "utm_term",   "utm_content", "utm_brand" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (dx_span_equal(key, dx_span_str(names[i])))
            return true;
    return false;
}

static void take_pair(struct dx_store_key *k, struct dx_span s)
{
    size_t equals = find(s, '=');
    struct pair p = { .key = k->plain.size, .number = k->pairs.size };

    if (s.size == 0 || find(s, ';') < s.size)
        return;
    if (!decode(first(s, equals), QUERY, &k->plain)) {
        k->plain.size = p.key;
        return;
    }
    p.value = k->plain.size;
    p.key_size = p.value - p.key;
    if (!decode(after(s, equals + 1), QUERY, &k->plain)) {
        k->plain.size = p.key;
        return;
    }
    p.value_size = k->plain.size - p.value;
    if (!k->plain.failed && !is_tracking(dx_span_of(k->plain.data + p.key, p.key_size)))
        dx_buf_append(&k->pairs, &p, sizeof p);
}

/* Sorted and encoded again, behind a '?' if there is any, or if `mark` is a lone one. */
static void put_clean_query(struct dx_store_key *k, struct dx_span query, bool lone_mark)
{
    struct pair *p;
    size_t count;

    dx_buf_clear(&k->plain);
    dx_buf_clear(&k->pairs);
    while (query.size > 0) {
        size_t end = find(query, '&');

        take_pair(k, first(query, end));
        query = after(query, end + 1);
    }
    p = (struct pair *)(void *)k->pairs.data;
    count = k->pairs.size / sizeof *p;
    for (size_t i = 0; i < count; i++)
        p[i].text = k->plain.data;
    if (count > 1)
        qsort(p, count, sizeof *p, by_key);
    if (count > 0 || lone_mark)
        dx_buf_u8(&k->text, '?');
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            dx_buf_u8(&k->text, '&');
        encode(dx_span_of(k->plain.data + p[i].key, p[i].key_size), QUERY, &k->text);
        dx_buf_u8(&k->text, '=');
        encode(dx_span_of(k->plain.data + p[i].value, p[i].value_size), QUERY, &k->text);
    }
}

static void put_query(struct dx_store_key *k, struct dx_span query, bool lone_mark, bool clean)
{
    if (clean) {
        put_clean_query(k, query, lone_mark);
    } else if (query.size > 0 || lone_mark) {
        dx_buf_u8(&k->text, '?');
        dx_buf_append(&k->text, query.data, query.size);
    }
}

/* ---- the whole ---- */

/* What stands between scheme and query. */
static const char *put_hierarchy(struct dx_store_key *k, struct dx_span s, bool scheme)
{
    size_t begin;

    if (!begins(s, "/") && scheme) { /* "mailto:a@b": not looked into */
        dx_buf_append(&k->text, s.data, s.size);
        return NULL;
    }
    if (!begins(s, "/") && find(s, ':') < find(s, '/'))
        return "scheme";
    if (begins(s, "//") && (scheme || !begins(s, "///"))) {
        size_t end = find(after(s, 2), '/');
        struct dx_span path = after(s, 2 + end);
        struct dx_span authority = first(after(s, 2), end);
        const char *why;

        if (authority.size + path.size > 0)
            dx_buf_str(&k->text, "//");
        why = put_authority(k, authority);
        if (why != NULL)
            return why;
        s = path;
    }
    begin = k->text.size;
    if (!put_part(k, s, PATH))
        return "escape";
    s = after(span_of(&k->text), begin);
    if (begin == 0 && find(s, ':') < find(s, '/')) { /* it would read as a scheme */
        dx_buf_clear(&k->plain);
        dx_buf_append(&k->plain, s.data, s.size);
        dx_buf_clear(&k->text);
        dx_buf_str(&k->text, "./");
        dx_buf_append(&k->text, k->plain.data, k->plain.size);
    }
    return NULL;
}

static bool has_control(struct dx_span s)
{
    for (size_t i = 0; i < s.size; i++)
        if (s.data[i] < ' ' || s.data[i] == 0x7f)
            return true;
    return false;
}

static const char *read_url(struct dx_store_key *k, struct dx_span given, bool clean)
{
    struct dx_span s = first(given, find(given, '#'));
    struct dx_span fragment = after(given, s.size + 1);
    size_t scheme = scheme_size(s);
    bool lone_mark;
    size_t mark;
    const char *why;

    if (given.size == 0)
        return "empty";
    if (given.size > DX_URL_MAX)
        return "too_long";
    if (has_control(s))
        return "control";
    if (begins(s, ":"))
        return "scheme";
    for (size_t i = 0; i < scheme; i++)
        dx_buf_u8(&k->text, (uint8_t)(is_letter(s.data[i]) ? s.data[i] | 0x20 : s.data[i]));
    if (scheme > 0)
        dx_buf_u8(&k->text, ':');
    s = scheme > 0 ? after(s, scheme + 1) : s;
    mark = find(s, '?');
    lone_mark = s.size > 0 && mark == s.size - 1;
    why = put_hierarchy(k, first(s, mark), scheme > 0);
    if (why != NULL)
        return why;
    put_query(k, after(s, mark + 1), lone_mark, clean);
    /* A fragment is read even where it is left off: what cannot be read is refused either way. */
    mark = k->text.size;
    if (fragment.size > 0) {
        dx_buf_u8(&k->text, '#');
        if (!put_part(k, fragment, FRAGMENT))
            return "escape";
    }
    if (clean)
        k->text.size = mark;
    return NULL;
}

int dx_store_key_of(struct dx_store_key *k, struct dx_span given, bool clean, struct dx_error *err)
{
    dx_buf_clear(&k->text);
    dx_buf_clear(&k->host);
    dx_buf_clear(&k->plain);
    dx_buf_clear(&k->pairs);
    k->why = read_url(k, given, clean);
    if (k->text.failed || k->host.failed || k->plain.failed || k->pairs.failed)
        return dx_no_memory(err, "store key: URL of %zu bytes", given.size);
    if (k->why != NULL)
        return 0;
    strip_host(k);
    k->key = dx_store_key(span_of(&k->text), span_of(&k->host));
    return 1;
}

void dx_store_key_release(struct dx_store_key *k)
{
    dx_buf_release(&k->text);
    dx_buf_release(&k->host);
    dx_buf_release(&k->plain);
    dx_buf_release(&k->pairs);
}
