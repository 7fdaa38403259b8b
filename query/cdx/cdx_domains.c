/* SPDX-License-Identifier: Apache-2.0 */
#include "query/cdx/cdx_domains.h"

#include "format/core/surt.h"

#include <assert.h>
#include <string.h>

/* What is looked up at a name: its own domain; "www" below it; "www" and digits. */
enum { OWN, WWW, NUMBERED, KINDS };

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* ---- where to begin ---- */

/* The host of a urlkey as the beginning of a key of domains. */
static void take_from(struct dx_cdx_domains *d, struct dx_span from)
{
    size_t n = 0;

    while (n < from.size && n < DX_SURT_MAX && from.data[n] != ')' && from.data[n] != ':') {
        d->last[n] = from.data[n] == ',' ? ' ' : from.data[n];
        n++;
    }
    d->last_size = n;
}

static bool is_below(const struct dx_cdx_domains *d, struct dx_span host_key)
{
    return d->last_size >= host_key.size && memcmp(d->last, host_key.data, host_key.size) == 0 &&
           (d->last_size == host_key.size || d->last[host_key.size] == ' ');
}

int dx_cdx_domains_init(struct dx_cdx_domains *d, const struct dx_view *view, struct dx_span host,
                        struct dx_span from, struct dx_error *err)
{
    uint8_t host_key[DX_SURT_MAX];
    int rc;

    *d = (struct dx_cdx_domains){ .view = *view, .place = SIZE_MAX };
    d->host_size = dx_surt_key(host, host_key);
    rc = dx_domain_walk_init(&d->all, &d->view, NULL, host, err);
    d->begun = true;
    if (rc < 0 || from.size == 0)
        return rc;
    take_from(d, from);
    rc = dx_domain_walk_between(&d->all, dx_span_of(d->last, d->last_size), dx_span_of(NULL, 0),
                                err);
    if (!is_below(d, dx_span_of(host_key, d->host_size))) {
        d->last_size = 0;
        return rc;
    }
    d->of_from = true;
    d->place = d->host_size;
    d->last[d->last_size++] = ' ';
    return rc;
}

static void leave_few(struct dx_cdx_domains *d)
{
    if (d->has_few)
        dx_domain_walk_release(&d->few);
    d->has_few = false;
}

void dx_cdx_domains_release(struct dx_cdx_domains *d)
{
    leave_few(d);
    if (d->begun)
        dx_domain_walk_release(&d->all);
    d->begun = false;
}

/* ---- few ---- */

/* Whether `last` up to a place is a name below which there may be some, from what kind on: KINDS none. */
static unsigned first_kind(const struct dx_cdx_domains *d, size_t place)
{
    uint8_t c = d->last[place];

    if (!d->of_from || place + 1 == d->last_size)
        return c == ' ' ? WWW : KINDS;
    /* What follows in `from` sorts before a ':': rows of ports, and of hosts, may stand behind it. */
    return c == ' ' || c == '-' || is_digit(c) ? OWN : KINDS;
}

static int begin_few(struct dx_cdx_domains *d, size_t size, unsigned kind, struct dx_error *err)
{
    static const struct {
        const char *low, *high;
    } behind[KINDS] = { { "", "\x01" }, { " www", " www\x01" }, { " www0", " www:" } };
    uint8_t low[DX_SURT_MAX + 8];
    uint8_t high[DX_SURT_MAX + 8];
    size_t low_size = size + strlen(behind[kind].low);
    size_t high_size = size + strlen(behind[kind].high);
    int rc = dx_domain_walk_init(&d->few, &d->view, NULL, dx_span_of(NULL, 0), err);

    d->has_few = true;
    if (rc < 0)
        return rc;
    memcpy(low, d->last, size);
    memcpy(low + size, behind[kind].low, low_size - size);
    memcpy(high, d->last, size);
    memcpy(high + size, behind[kind].high, high_size - size);
    return dx_domain_walk_between(&d->few, dx_span_of(low, low_size), dx_span_of(high, high_size),
                                  err);
}

/* 1: begun with those of the next name, if any; 0: behind the last name. */
static int next_name(struct dx_cdx_domains *d, struct dx_error *err)
{
    for (; d->place < d->last_size; d->place++, d->kind = OWN) {
        unsigned first = first_kind(d, d->place);
        unsigned kind = d->kind > first ? d->kind : first;

        if (kind >= KINDS)
            continue;
        d->kind = kind + 1;
        return begin_few(d, d->place, kind, err) < 0 ? (int)err->code : 1;
    }
    return 0;
}

/* ---- all ---- */

/* "www" and digits, or nothing, directly below a name that is looked at: it came before. */
static bool came_before(const struct dx_cdx_domains *d, struct dx_span key)
{
    size_t i = key.size;

    while (i > 0 && is_digit(key.data[i - 1]))
        i--;
    return i >= 4 && memcmp(key.data + i - 4, " www", 4) == 0 && i - 4 >= d->host_size;
}

/* 1 the next one of few, 0 behind them. */
static int next_few(struct dx_cdx_domains *d, struct dx_problem *problem)
{
    uint8_t key[DX_SURT_MAX];
    unsigned kind = d->kind - 1; /* next_name went on */
    int rc;

    while ((rc = dx_domain_walk_next(&d->few, problem)) == 1) {
        size_t size = dx_surt_key(dx_span_of(d->few.found.domain, d->few.found.domain_size), key);

        if (d->few.pairs.count > 0 && came_before(d, dx_span_of(key, size)) == (kind != OWN))
            return 1;
    }
    if (rc == 0)
        leave_few(d);
    return rc;
}

/* The next one of all waits for the few at names that come with it: 1; 0 behind the last. */
static int next_of_all(struct dx_cdx_domains *d, struct dx_problem *problem)
{
    uint8_t key[DX_SURT_MAX];
    size_t size;
    size_t same = 0;
    int rc = dx_domain_walk_next(&d->all, problem);

    d->waits = rc == 1;
    if (rc != 1 || d->all.pairs.count == 0)
        return rc;
    size = dx_surt_key(dx_span_of(d->all.found.domain, d->all.found.domain_size), key);
    while (same < size && same < d->last_size && key[same] == d->last[same])
        same++;
    memcpy(d->last, key, size);
    d->last_size = size;
    d->of_from = false;
    d->place = same > d->host_size ? same : d->host_size;
    d->kind = OWN;
    return 1;
}

int dx_cdx_domains_next(struct dx_cdx_domains *d, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = 1;

    for (;;) {
        if (d->has_few) {
            d->at = &d->few;
            rc = next_few(d, problem);
            if (rc != 0)
                return rc;
        }
        rc = next_name(d, &err);
        if (rc < 0)
            return dx_problem_of_error(problem, &err);
        if (rc == 1)
            continue;
        if (!d->waits) {
            rc = next_of_all(d, problem);
            if (rc != 1)
                return rc;
            continue;
        }
        d->waits = false;
        d->at = &d->all;
        if (d->all.pairs.count == 0 || !came_before(d, dx_span_of(d->last, d->last_size)))
            return 1;
    }
}

struct dx_span dx_cdx_domains_key(struct dx_cdx_domains *d)
{
    size_t size = dx_surt_key(dx_span_of(d->at->found.domain, d->at->found.domain_size), d->key);

    assert(d->at->pairs.count > 0); /* else nothing is said of `found` */
    if (came_before(d, dx_span_of(d->key, size))) {
        while (d->key[size - 1] != ' ')
            size--;
        size--;
    }
    for (size_t i = 0; i < size; i++)
        if (d->key[i] == ' ')
            d->key[i] = ',';
    d->key[size++] = ')';
    d->key[size++] = '/';
    return dx_span_of(d->key, size);
}
