/* SPDX-License-Identifier: Apache-2.0 */
#include "query/cdx/cdx_scope.h"

#include "canon/url.h"
#include "query/view/problem.h"

static struct dx_span span_of(const struct dx_buf *b)
{
    return dx_span_of(b->data, b->size);
}

void dx_cdx_scope_release(struct dx_cdx_scope *s)
{
    dx_buf_release(&s->domain);
    dx_buf_release(&s->start);
    dx_buf_release(&s->end);
    dx_buf_release(&s->host);
}

static int refuse(struct dx_problem *problem, const struct dx_cdx_ask *ask, const char *why)
{
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                          "url '%.*s' %s", ask->shown.size > 200 ? 200 : (int)ask->shown.size,
                          (const char *)ask->shown.data, why);
}

static int no_memory(struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;

    (void)dx_no_memory(&err, "CDX question");
    return dx_problem_of_error(problem, &err);
}

/* ---- keys ---- */

/* The last byte one higher: behind all that begin with the text. */
static void end_behind(struct dx_cdx_scope *s)
{
    dx_buf_append(&s->end, s->start.data, s->start.size);
    if (s->end.size > 0)
        s->end.data[s->end.size - 1]++;
}

static bool ends_in(struct dx_span text, char c)
{
    return text.size > 0 && text.data[text.size - 1] == (uint8_t)c;
}

/* A '/' or '?' at the end of a prefix is a part of it, which a key leaves out. */
static void make_prefix(struct dx_cdx_scope *s, struct dx_span key, struct dx_span url)
{
    dx_buf_append(&s->start, key.data, key.size);
    if (ends_in(url, '/') && !ends_in(key, '/'))
        dx_buf_u8(&s->start, '/');
    if (ends_in(url, '?') && !ends_in(key, '?'))
        dx_buf_u8(&s->start, '?');
    end_behind(s);
}

/* "com,example" of "com,example)/a". */
static size_t host_size(struct dx_span key)
{
    size_t i = 0;

    while (i + 1 < key.size && (key.data[i] != ')' || key.data[i + 1] != '/'))
        i++;
    return i;
}

static void make_range(struct dx_cdx_scope *s, struct dx_span key, const struct dx_cdx_ask *ask)
{
    switch (ask->match) {
    case DX_CDX_EXACT:
        dx_buf_append(&s->start, key.data, key.size);
        dx_buf_append(&s->end, key.data, key.size);
        dx_buf_u8(&s->end, '!');
        break;
    case DX_CDX_PREFIX:
        make_prefix(s, key, ask->url);
        break;
    case DX_CDX_HOST:
    case DX_CDX_DOMAIN:
        dx_buf_append(&s->start, key.data, host_size(key));
        dx_buf_append(&s->end, key.data, host_size(key));
        dx_buf_str(&s->start, ")/");
        dx_buf_str(&s->end, ask->match == DX_CDX_HOST ? "*" : "-");
        break;
    }
}

/* ---- hosts ---- */

static struct dx_span without_port(struct dx_span host)
{
    size_t i = host.size;

    while (i > 0 && host.data[i - 1] >= '0' && host.data[i - 1] <= '9')
        i--;
    if (i > 0 && i < host.size && host.data[i - 1] == ':')
        host.size = i - 1;
    return host;
}

/* "www" and digits in front, and the dot of the root behind, as keys are without them. */
static struct dx_span key_name(struct dx_span host)
{
    size_t i = 3;

    if (host.size > 1 && host.data[host.size - 1] == '.')
        host.size--;

    if (host.size < 4 || memcmp(host.data, "www", 3) != 0)
        return host;
    while (i < host.size && host.data[i] >= '0' && host.data[i] <= '9')
        i++;
    return i < host.size && host.data[i] == '.' ? dx_span_of(host.data + i + 1, host.size - i - 1)
                                                : host;
}

bool dx_cdx_scope_may_have(const struct dx_cdx_scope *s, struct dx_span host)
{
    struct dx_span wanted = span_of(&s->host);

    host = key_name(without_port(host));
    if (dx_span_equal(host, wanted))
        return true;
    return s->below && host.size > wanted.size && host.data[host.size - wanted.size - 1] == '.' &&
           memcmp(host.data + host.size - wanted.size, wanted.data, wanted.size) == 0;
}

struct dx_cdx_keys dx_cdx_scope_keys(const struct dx_cdx_scope *s)
{
    return (struct dx_cdx_keys){ span_of(&s->start), span_of(&s->end) };
}

/* ---- the question ---- */

static int take_url(struct dx_cdx_scope *s, const struct dx_url *url, const struct dx_cdx_ask *ask,
                    struct dx_problem *problem)
{
    struct dx_span host = key_name(url->hostname);
    struct dx_urlkey key;
    bool ok;

    dx_urlkey_init(&key);
    ok = dx_urlkey_make(&key, url->host, url->path_query);
    if (ok)
        make_range(s, dx_span_of(key.key.data, key.key.size), ask);
    dx_urlkey_release(&key);
    dx_buf_append(&s->domain, url->domain.data, url->domain.size);
    dx_buf_append(&s->host, host.data, host.size);
    s->below = ask->match == DX_CDX_DOMAIN;
    return ok && !s->start.failed && !s->end.failed && !s->domain.failed && !s->host.failed
               ? 1
               : no_memory(problem);
}

int dx_cdx_scope_init(struct dx_cdx_scope *s, struct dx_canon *canon, const struct dx_cdx_ask *ask,
                      struct dx_problem *problem)
{
    enum dx_reject why = DX_REJECT_NONE;
    struct dx_url url;

    *s = (struct dx_cdx_scope){ .below = false };
    dx_buf_init(&s->domain, DX_URL_MAX);
    dx_buf_init(&s->start, DX_URLKEY_MAX + 2);
    dx_buf_init(&s->end, DX_URLKEY_MAX + 2);
    dx_buf_init(&s->host, DX_URL_MAX);
    if (dx_canon_url(canon, ask->url, &url, &why) == 1 ||
        (why == DX_REJECT_PUBLIC_SUFFIX && ask->match == DX_CDX_DOMAIN)) /* it has no domain then */
        return take_url(s, &url, ask, problem);
    return refuse(
        problem, ask,
        why != DX_REJECT_PUBLIC_SUFFIX ? "is not a URL"
        : ask->match != DX_CDX_DOMAIN && ask->url.size > 2 && memcmp(ask->url.data, "*.", 2) == 0
            ? "is a public suffix, and matchType says that its '*' is a character; without "
              "matchType, or with matchType=domain and without the '*.', it stands for "
              "all below it"
            : "is a public suffix, or a name without one, which has no captures of its "
              "own; with '*.' before it, or matchType=domain, it stands for all below "
              "it");
}
