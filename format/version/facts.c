/* SPDX-License-Identifier: Apache-2.0 */
#include "format/version/facts.h"

#include <assert.h>
#include <inttypes.h>

#include "base/few_bytes.h"

/* Nearly all pairs have one host, so that these take a byte. */
enum shape {
    SHAPE_DOMAIN, /* one host: the domain */
    SHAPE_WWW,    /* one host: www. and the domain */
    SHAPE_BOTH,   /* these two */
    SHAPE_LIST,
    SHAPE_LOST, /* too many: their number alone */
    SHAPES
};

#define SHAPE_MASK 7u
#define HAS_PATHS 8u

/* How a host is written: the low two bits in front of it. */
enum name { NAME_DOMAIN, NAME_DOMAIN_AND, NAME_WHOLE, NAME_SAME };

static const char www[] = "www.";
#define WWW_SIZE (sizeof www - 1)

int dx_fact_compare(const struct dx_fact *a, const struct dx_fact *b)
{
    int c;

    if (a->url_count != b->url_count)
        return a->url_count > b->url_count ? -1 : 1;
    if (a->row_count != b->row_count)
        return a->row_count > b->row_count ? -1 : 1;
    c = dx_span_compare(a->host, b->host);
    return c != 0 ? c : dx_span_compare(a->path, b->path);
}

static bool ends_with(struct dx_span s, struct dx_span end)
{
    return s.size >= end.size &&
           dx_few_equal(dx_span_of(s.data + (s.size - end.size), end.size), end);
}

/* Whether the host is the domain, or www. before it. */
static bool is_plain(struct dx_span host, struct dx_span domain)
{
    return ends_with(host, domain) &&
           (host.size == domain.size ||
            (host.size == domain.size + WWW_SIZE && memcmp(host.data, www, WWW_SIZE) == 0));
}

/* ---- hosts as text ---- */

/* Bytes of the host up to the end of its domain: behind it come a dot and a port, or nothing. 0 if
 * it does not lie there. */
static size_t domain_end(struct dx_span host, struct dx_span domain)
{
    struct dx_span s = host;

    if (ends_with(s, domain))
        return s.size;
    for (size_t i = s.size; i > 0 && s.size == host.size; i--)
        if (host.data[i - 1] == ':')
            s.size = i - 1;
    if (ends_with(s, domain))
        return s.size;
    if (s.size > 0 && s.data[s.size - 1] == '.')
        s.size--;
    return ends_with(s, domain) ? s.size : 0;
}

/* end: domain_end of it. */
static void put_name(struct dx_buf *b, struct dx_span host, struct dx_span domain, size_t end)
{
    if (end == 0) {
        dx_buf_varint(b, (uint64_t)host.size << 2 | NAME_WHOLE);
        dx_buf_append(b, host.data, host.size);
        return;
    }
    dx_buf_varint(b, (uint64_t)(end - domain.size) << 2 |
                         (end == host.size ? NAME_DOMAIN : NAME_DOMAIN_AND));
    dx_buf_append(b, host.data, end - domain.size);
    if (end < host.size) {
        dx_buf_varint(b, host.size - end);
        dx_buf_append(b, host.data + end, host.size - end);
    }
}

/* Into `to`, the other one of the list's two. */
static const char *take_name(struct dx_facts_list *l, struct dx_span domain, struct dx_buf *to)
{
    uint64_t code = dx_bytes_varint(&l->bytes);
    struct dx_span text = dx_bytes_take(&l->bytes, code >> 2);
    enum name name = (enum name)(code & 3);

    if (name == NAME_SAME) {
        if (code >> 2 != 0 || l->left == l->count)
            return "a host that is like none before it";
        text = l->fact.host;
    }
    dx_buf_append(to, text.data, text.size);
    if (name == NAME_DOMAIN || name == NAME_DOMAIN_AND)
        dx_buf_append(to, domain.data, domain.size);
    if (name == NAME_DOMAIN_AND) {
        text = dx_bytes_take(&l->bytes, dx_bytes_varint(&l->bytes));
        dx_buf_append(to, text.data, text.size);
    }
    return NULL;
}

/* ---- writing ---- */

void dx_facts_writer_init(struct dx_facts_writer *w)
{
    *w = (struct dx_facts_writer){ .host_count = 0 };
    dx_buf_init(&w->hosts, SIZE_MAX / 2);
    dx_buf_init(&w->last_host, DX_FACTS_HOST_MAX);
    for (int i = 0; i < DX_PATHS_KINDS; i++) {
        dx_buf_init(&w->paths[i], SIZE_MAX / 2);
        dx_buf_init(&w->path_hosts[i], DX_FACTS_HOST_MAX);
    }
}

void dx_facts_writer_release(struct dx_facts_writer *w)
{
    dx_buf_release(&w->hosts);
    dx_buf_release(&w->last_host);
    for (int i = 0; i < DX_PATHS_KINDS; i++) {
        dx_buf_release(&w->paths[i]);
        dx_buf_release(&w->path_hosts[i]);
    }
}

void dx_facts_writer_begin(struct dx_facts_writer *w, struct dx_span domain)
{
    w->domain = domain;
    w->host_count = 0;
    w->plain_hosts = 0;
    w->hosts_lost = false;
    dx_buf_clear(&w->hosts);
    dx_buf_clear(&w->last_host);
    for (int i = 0; i < DX_PATHS_KINDS; i++) {
        w->listed[i] = 0;
        dx_buf_clear(&w->paths[i]);
        dx_buf_clear(&w->path_hosts[i]);
    }
}

static void put_counts(struct dx_buf *b, uint64_t urls, uint64_t rows)
{
    assert(urls > 0 && rows >= urls);
    dx_buf_varint(b, urls - 1);
    dx_buf_varint(b, rows - urls);
}

static int host_fault(const struct dx_facts_writer *w, const struct dx_fact *host,
                      struct dx_error *err)
{
    struct dx_span last = dx_span_of(w->last_host.data, w->last_host.size);
    const char *why = NULL;

    if (host->url_count == 0 || host->row_count < host->url_count)
        why = "has no URL, or fewer rows than URLs";
    else if (host->host.size > DX_FACTS_HOST_MAX)
        why = "is longer than a host may be";
    else if (w->host_count > 0 && dx_span_compare(last, host->host) >= 0)
        why = "does not ascend";
    return why == NULL ? DX_OK
                       : dx_fail(err, DX_E_INVALID, "facts of %.*s: host %.*s %s",
                                 (int)w->domain.size, (const char *)w->domain.data,
                                 (int)(host->host.size < 256 ? host->host.size : 256),
                                 (const char *)host->host.data, why);
}

/* Counts of a host are written when another one follows: those of the last one are what is left. */
int dx_facts_writer_host(struct dx_facts_writer *w, const struct dx_fact *host,
                         struct dx_error *err)
{
    bool plain = is_plain(host->host, w->domain);
    int rc = host_fault(w, host, err);

    if (rc < 0)
        return rc;
    if (!w->hosts_lost && w->host_count > 0)
        put_counts(&w->hosts, w->last_urls, w->last_rows);
    if (!w->hosts_lost)
        put_name(&w->hosts, host->host, w->domain,
                 plain ? host->host.size : domain_end(host->host, w->domain));
    if (w->hosts.failed)
        return dx_buf_fail(&w->hosts, err, "facts");
    w->hosts_lost |= w->hosts.size > DX_FACTS_HOSTS_BYTES;
    if (w->host_count == 1) {
        w->first_urls = w->last_urls;
        w->first_rows = w->last_rows;
    }
    w->plain_hosts += plain;
    w->host_count++;
    w->last_urls = host->url_count;
    w->last_rows = host->row_count;
    dx_buf_clear(&w->last_host);
    dx_few_append(&w->last_host, host->host);
    return w->last_host.failed ? dx_buf_fail(&w->last_host, err, "facts") : DX_OK;
}

int dx_facts_writer_path(struct dx_facts_writer *w, enum dx_paths kind, const struct dx_fact *path,
                         struct dx_error *err)
{
    struct dx_buf *b = &w->paths[kind];
    struct dx_buf *last = &w->path_hosts[kind];
    bool first = w->listed[kind] == 0;

    assert((unsigned)kind < DX_PATHS_KINDS);
    if (path->url_count == 0 || path->row_count < path->url_count ||
        w->listed[kind] == DX_FACTS_PATHS_MAX || (!first && path->url_count > w->path_urls[kind]))
        return dx_fail(err, DX_E_INVALID, "facts of %.*s: paths are too many, or out of order",
                       (int)w->domain.size, (const char *)w->domain.data);
    w->listed[kind]++;
    if (b->size > DX_FACTS_PATHS_BYTES) /* end leaves them out */
        return DX_OK;
    if (!first && dx_span_equal(path->host, dx_span_of(last->data, last->size))) {
        dx_buf_varint(b, NAME_SAME);
    } else {
        put_name(b, path->host, w->domain, domain_end(path->host, w->domain));
        dx_buf_clear(last);
        dx_buf_append(last, path->host.data, path->host.size);
    }
    dx_buf_varint(b, path->path.size);
    dx_buf_append(b, path->path.data, path->path.size);
    dx_buf_varint(b, first ? path->url_count - 1 : w->path_urls[kind] - path->url_count);
    dx_buf_varint(b, path->row_count - path->url_count);
    w->path_urls[kind] = path->url_count;
    return last->failed || b->failed ? dx_buf_fail(last->failed ? last : b, err, "facts") : DX_OK;
}

static enum shape shape_of(const struct dx_facts_writer *w)
{
    if (w->hosts_lost)
        return SHAPE_LOST;
    if (w->host_count != w->plain_hosts)
        return SHAPE_LIST;
    if (w->host_count == 2)
        return SHAPE_BOTH;
    return w->last_host.size == w->domain.size ? SHAPE_DOMAIN : SHAPE_WWW;
}

static void put_hosts(const struct dx_facts_writer *w, enum shape shape, struct dx_buf *out)
{
    if (shape == SHAPE_BOTH)
        put_counts(out, w->first_urls, w->first_rows);
    if (shape == SHAPE_LIST || shape == SHAPE_LOST)
        dx_buf_varint(out, w->host_count);
    if (shape == SHAPE_LIST) {
        dx_buf_varint(out, w->hosts.size);
        dx_buf_append(out, w->hosts.data, w->hosts.size);
    }
}

int dx_facts_writer_end(struct dx_facts_writer *w, const uint64_t path_count[DX_PATHS_KINDS],
                        struct dx_buf *out, struct dx_error *err)
{
    enum shape shape = shape_of(w);
    bool paths = path_count != NULL;

    if (w->host_count == 0)
        return dx_fail(err, DX_E_INVALID, "facts of %.*s: no host", (int)w->domain.size,
                       (const char *)w->domain.data);
    for (int i = 0; i < DX_PATHS_KINDS; i++)
        paths = paths && w->paths[i].size <= DX_FACTS_PATHS_BYTES;
    dx_buf_u8(out, (uint8_t)(shape | (paths ? HAS_PATHS : 0)));
    put_hosts(w, shape, out);
    for (int i = 0; paths && i < DX_PATHS_KINDS; i++) {
        dx_buf_varint(out, path_count[i]);
        dx_buf_varint(out, w->listed[i]);
        dx_buf_varint(out, w->paths[i].size);
        dx_buf_append(out, w->paths[i].data, w->paths[i].size);
    }
    return out->failed ? dx_buf_fail(out, err, "facts") : DX_OK;
}

/* ---- reading ---- */

/* Of which domain is for the caller to say: a server does not write down what was asked. */
static int corrupt(struct dx_error *err, const char *what)
{
    return dx_fail(err, DX_E_CORRUPT, "facts of a domain: %s", what);
}

static void list_init(struct dx_facts_list *l, struct dx_span bytes, uint64_t count,
                      const struct dx_facts *f)
{
    *l = (struct dx_facts_list){ .bytes = dx_bytes_of(bytes),
                                 .count = count,
                                 .left = count,
                                 .urls_left = f->url_count,
                                 .rows_left = f->row_count };
    for (int i = 0; i < 2; i++)
        dx_buf_init(&l->texts[i], DX_FACTS_HOST_MAX);
}

static const char *open_hosts(struct dx_facts *f, struct dx_bytes *r)
{
    struct dx_span list = { NULL, 0 };
    struct dx_bytes at;

    f->host_count = f->shape == SHAPE_BOTH ? 2 : 1;
    if (f->shape == SHAPE_LIST || f->shape == SHAPE_LOST)
        f->host_count = dx_bytes_varint(r);
    if (f->shape == SHAPE_LIST)
        list = dx_bytes_take(r, dx_bytes_varint(r));
    if (f->shape == SHAPE_BOTH) {
        at = *r;
        (void)dx_bytes_varint(r);
        (void)dx_bytes_varint(r);
        list = dx_span_of(at.at, (size_t)(r->at - at.at));
    }
    f->has_hosts = f->shape != SHAPE_LOST;
    list_init(&f->hosts, list, f->host_count, f);
    if (f->host_count == 0 || f->host_count > f->url_count)
        return "number of hosts is 0 or over that of URLs";
    return NULL;
}

static const char *open_paths(struct dx_facts *f, enum dx_paths kind, struct dx_bytes *r)
{
    uint64_t listed;

    f->path_count[kind] = dx_bytes_varint(r);
    listed = dx_bytes_varint(r);
    if (f->path_count[kind] == 0 || f->path_count[kind] > f->url_count)
        return "number of paths is 0 or over that of URLs";
    if (listed !=
        (f->path_count[kind] < DX_FACTS_PATHS_MAX ? f->path_count[kind] : DX_FACTS_PATHS_MAX))
        return "another number of paths than there should be";
    f->listed[kind] = (uint32_t)listed;
    list_init(&f->paths[kind], dx_bytes_take(r, dx_bytes_varint(r)), listed, f);
    return NULL;
}

int dx_facts_open(struct dx_facts *f, struct dx_span bytes, struct dx_span domain,
                  const struct dx_pair_count *counts, struct dx_error *err)
{
    struct dx_bytes r = dx_bytes_of(bytes);
    unsigned head = dx_bytes_u8(&r);
    const char *why;

    *f = (struct dx_facts){ .domain = domain,
                            .url_count = counts->url_count,
                            .row_count = counts->row_count,
                            .shape = head & SHAPE_MASK,
                            .has_paths = (head & HAS_PATHS) != 0 };
    if (f->shape >= SHAPES || head > (SHAPE_MASK | HAS_PATHS))
        return corrupt(err, "unknown shape");
    why = open_hosts(f, &r);
    for (int i = 0; why == NULL && f->has_paths && i < DX_PATHS_KINDS; i++)
        why = open_paths(f, (enum dx_paths)i, &r);
    if (why == NULL && (r.failed || dx_bytes_left(&r) > 0))
        why = r.failed ? "cut" : "bytes behind the end";
    return why == NULL ? DX_OK : corrupt(err, why);
}

void dx_facts_close(struct dx_facts *f)
{
    for (int i = 0; i < 2; i++) {
        dx_buf_release(&f->hosts.texts[i]);
        for (int k = 0; k < DX_PATHS_KINDS; k++)
            dx_buf_release(&f->paths[k].texts[i]);
    }
    *f = (struct dx_facts){ .shape = 0 };
}

/* Takes (urls, rows) from what the pair has; each entry to come needs a URL. */
static const char *use_counts(struct dx_facts_list *l, uint64_t urls, uint64_t rows)
{
    uint64_t further = l->left - 1;

    assert(l->left > 0);
    if (urls == 0 || rows < urls || urls > l->urls_left || l->urls_left - urls < further ||
        rows > l->rows_left || l->rows_left - rows < l->urls_left - urls)
        return "counts that are not those of the pair";
    l->urls_left -= urls;
    l->rows_left -= rows;
    l->fact.url_count = urls;
    l->fact.row_count = rows;
    return NULL;
}

/* Whether www. and the domain come before the domain itself, in byte order. */
static bool www_comes_first(struct dx_span domain)
{
    size_t n = domain.size < WWW_SIZE ? domain.size : WWW_SIZE;
    int c = memcmp(www, domain.data, n);

    if (c != 0 || n < WWW_SIZE)
        return c < 0;
    /* www.x: what is compared from here on is www.x with x. */
    return dx_span_compare(domain, dx_span_from(domain, n)) < 0;
}

static const char *host_text(struct dx_facts *f, struct dx_buf *to)
{
    bool with_www = f->shape == SHAPE_WWW;

    if (f->shape == SHAPE_LIST)
        return take_name(&f->hosts, f->domain, to);
    if (f->shape == SHAPE_BOTH)
        with_www = www_comes_first(f->domain) == (f->hosts.left == 2);
    if (with_www)
        dx_buf_append(to, www, WWW_SIZE);
    dx_buf_append(to, f->domain.data, f->domain.size);
    return NULL;
}

static int next_text(struct dx_facts_list *l, const char *why, struct dx_error *err)
{
    struct dx_buf *to = &l->texts[l->last ^ 1];

    if (why != NULL)
        return corrupt(err, why);
    if (to->failed)
        return dx_buf_fail(to, err, "facts: host");
    l->last ^= 1;
    return DX_OK;
}

int dx_facts_host(struct dx_facts *f, struct dx_fact *host, struct dx_error *err)
{
    struct dx_facts_list *l = &f->hosts;
    struct dx_span before = l->fact.host;
    struct dx_buf *to = &l->texts[l->last ^ 1];
    uint64_t urls = l->urls_left;
    uint64_t rows = l->rows_left;
    const char *why;
    int rc;

    if (!f->has_hosts)
        return dx_fail(err, DX_E_UNSUPPORTED, "facts of %.*s: %" PRIu64 " hosts are not stored",
                       (int)f->domain.size, (const char *)f->domain.data, f->host_count);
    if (l->left == 0)
        return dx_bytes_left(&l->bytes) == 0 ? 0 : corrupt(err, "bytes behind the last host");
    dx_buf_clear(to);
    rc = next_text(l, host_text(f, to), err);
    if (rc < 0)
        return rc;
    if (l->left > 1) {
        urls = dx_bytes_varint(&l->bytes);
        rows = dx_bytes_varint(&l->bytes);
        urls += urls < UINT64_MAX;
        rows = rows > UINT64_MAX - urls ? UINT64_MAX : rows + urls;
    }
    why = l->bytes.failed ? "hosts are cut" : use_counts(l, urls, rows);
    l->fact.host = dx_span_of(to->data, to->size);
    if (why == NULL && l->left < l->count && dx_span_compare(before, l->fact.host) >= 0)
        why = "hosts do not ascend";
    if (why != NULL)
        return corrupt(err, why);
    l->left--;
    *host = l->fact;
    return 1;
}

static const char *take_path(struct dx_facts_list *l, const struct dx_fact *before)
{
    uint64_t urls;
    uint64_t rows;

    l->fact.path = dx_bytes_take(&l->bytes, dx_bytes_varint(&l->bytes));
    urls = dx_bytes_varint(&l->bytes);
    rows = dx_bytes_varint(&l->bytes);
    if (l->left == l->count)
        urls += urls < UINT64_MAX;
    else
        urls = urls > before->url_count ? 0 : before->url_count - urls;
    rows = rows > UINT64_MAX - urls ? UINT64_MAX : rows + urls;
    if (l->bytes.failed)
        return "paths are cut";
    return use_counts(l, urls, rows);
}

int dx_facts_path(struct dx_facts *f, enum dx_paths kind, struct dx_fact *path,
                  struct dx_error *err)
{
    struct dx_facts_list *l = &f->paths[kind];
    struct dx_fact before = l->fact;
    struct dx_buf *to = &l->texts[l->last ^ 1];
    const char *why = NULL;
    int rc;

    assert((unsigned)kind < DX_PATHS_KINDS);
    if (!f->has_paths)
        return 0;
    if (l->left == 0) {
        if (f->listed[kind] == f->path_count[kind] && (l->urls_left > 0 || l->rows_left > 0))
            why = "paths do not add up to the pair";
        else if (dx_bytes_left(&l->bytes) > 0)
            why = "bytes behind the last path";
        return why == NULL ? 0 : corrupt(err, why);
    }
    dx_buf_clear(to);
    rc = next_text(l, take_name(l, f->domain, to), err);
    if (rc < 0)
        return rc;
    l->fact.host = dx_span_of(to->data, to->size);
    why = take_path(l, &before);
    if (why == NULL && l->left < l->count && dx_fact_compare(&before, &l->fact) >= 0)
        why = "paths are not best first";
    if (why != NULL)
        return corrupt(err, why);
    l->left--;
    *path = l->fact;
    return 1;
}
