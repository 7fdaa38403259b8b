/* SPDX-License-Identifier: Apache-2.0 */
#include "query/answers/host_merge.h"

#include "base/array.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#define SLACK 4096 /* hosts over those that are kept, so that they are sorted rarely */

struct dx_host_source {
    struct dx_facts facts;
    struct dx_fact host; /* that is next */
    bool of_counts;
};

int dx_host_merge_init(struct dx_host_merge *m, size_t pairs, bool by_name, struct dx_page_of page,
                       struct dx_error *err)
{
    *m = (struct dx_host_merge){ .by_name = by_name, .page = page };
    if (page.offset > DX_HOST_MERGE_MAX) /* behind all that there can be */
        m->page.offset = DX_HOST_MERGE_MAX;
    dx_buf_init(&m->text, SIZE_MAX / 2);
    m->sources = calloc(pairs > 0 ? pairs : 1, sizeof *m->sources);
    m->heap = calloc(pairs > 0 ? pairs : 1, sizeof *m->heap);
    m->source_capacity = pairs;
    return m->sources == NULL || m->heap == NULL ? dx_no_memory(err, "hosts") : DX_OK;
}

void dx_host_merge_release(struct dx_host_merge *m)
{
    for (size_t i = 0; i < m->source_count; i++)
        dx_facts_close(&m->sources[i].facts);
    free(m->sources);
    free(m->heap);
    free(m->hosts);
    dx_buf_release(&m->text);
    *m = (struct dx_host_merge){ .count = 0 };
}

int dx_host_merge_add(struct dx_host_merge *m, struct dx_span facts, struct dx_span domain,
                      const struct dx_pair_count *counts, bool of_counts, struct dx_error *err)
{
    struct dx_host_source *s = &m->sources[m->source_count];
    int rc;

    if (m->source_count == m->source_capacity)
        return dx_fail(err, DX_E_INVALID, "hosts: a pair more than there are");
    rc = dx_facts_open(&s->facts, facts, domain, counts, err);
    if (rc < 0)
        return rc;
    s->of_counts = of_counts;
    m->source_count++;
    m->heap[m->left++] = s;
    if (!s->facts.has_hosts || s->facts.host_count > DX_HOST_MERGE_MAX ||
        (m->entries += s->facts.host_count) > DX_HOST_MERGE_MAX)
        return dx_fail(err, DX_E_LIMIT, "this domain has more than %u hosts in its datasets",
                       DX_HOST_MERGE_MAX);
    rc = dx_facts_host(&s->facts, &s->host, err);
    return rc == 0 ? dx_fail(err, DX_E_CORRUPT, "hosts: a pair without any") : rc < 0 ? rc : DX_OK;
}

/* ---- the page ---- */

static int by_name(const void *a, const void *b, void *text)
{
    const struct dx_host_total *x = a;
    const struct dx_host_total *y = b;
    const uint8_t *from = text;

    return dx_span_compare(dx_span_of(from + x->at, x->size), dx_span_of(from + y->at, y->size));
}

static int by_urls(const void *a, const void *b, void *text)
{
    const struct dx_host_total *x = a;
    const struct dx_host_total *y = b;

    if (x->url_count != y->url_count)
        return x->url_count > y->url_count ? -1 : 1;
    if (x->page_count != y->page_count)
        return x->page_count > y->page_count ? -1 : 1;
    return by_name(a, b, text);
}

/* Best first, and no more than the page and what comes before it. */
static int cut_hosts(struct dx_host_merge *m, struct dx_error *err)
{
    uint64_t keep = m->page.offset + m->page.limit;
    struct dx_buf text = DX_BUF_INIT(SIZE_MAX / 2);

    if (m->count == 0)
        return DX_OK;
    qsort_r(m->hosts, m->count, sizeof *m->hosts, by_urls, m->text.data);
    if (m->count > keep)
        m->count = (size_t)keep;
    for (size_t i = 0; i < m->count; i++) {
        size_t at = text.size;

        dx_buf_append(&text, m->text.data + m->hosts[i].at, m->hosts[i].size);
        m->hosts[i].at = at;
    }
    dx_buf_release(&m->text);
    m->text = text;
    return text.failed ? dx_buf_fail(&text, err, "hosts") : DX_OK;
}

static int make_room(struct dx_host_merge *m, struct dx_error *err)
{
    struct dx_host_total *to = dx_array_room(m->hosts, m->count, &m->capacity, sizeof *to);

    if (to == NULL)
        return dx_no_memory(err, "hosts");
    m->hosts = to;
    return DX_OK;
}

/* h: counts; host: its text. */
static int take_host(struct dx_host_merge *m, struct dx_host_total h, struct dx_span host,
                     struct dx_error *err)
{
    uint64_t number = m->host_count++;
    int rc;

    if (m->by_name && (number < m->page.offset || number - m->page.offset >= m->page.limit))
        return DX_OK;
    rc = make_room(m, err);
    if (rc < 0)
        return rc;
    h.at = m->text.size;
    h.size = (uint32_t)host.size; /* at most DX_FACTS_HOST_MAX */
    dx_buf_append(&m->text, host.data, host.size);
    if (m->text.failed)
        return dx_buf_fail(&m->text, err, "hosts");
    m->hosts[m->count++] = h;
    if (m->by_name || m->count < 2 * (m->page.offset + m->page.limit) + SLACK)
        return DX_OK;
    return cut_hosts(m, err);
}

/* ---- the merge ---- */

static bool comes_before(const struct dx_host_source *a, const struct dx_host_source *b)
{
    return dx_span_compare(a->host.host, b->host.host) < 0;
}

static void sift_down(struct dx_host_merge *m, size_t at)
{
    for (;;) {
        size_t child = 2 * at + 1;
        struct dx_host_source *swap;

        if (child >= m->left)
            return;
        if (child + 1 < m->left && comes_before(m->heap[child + 1], m->heap[child]))
            child++;
        if (!comes_before(m->heap[child], m->heap[at]))
            return;
        swap = m->heap[at];
        m->heap[at] = m->heap[child];
        m->heap[child] = swap;
        at = child;
    }
}

/* The front source goes on to its next host, or goes. */
static int advance(struct dx_host_merge *m, struct dx_error *err)
{
    int rc = dx_facts_host(&m->heap[0]->facts, &m->heap[0]->host, err);

    assert(m->left > 0);
    if (rc < 0)
        return rc;
    if (rc == 0)
        m->heap[0] = m->heap[--m->left];
    sift_down(m, 0);
    return DX_OK;
}

/* One host of all that have it. name: a copy of its text, which goes with the first of them. */
static int next_host(struct dx_host_merge *m, struct dx_buf *name, struct dx_error *err)
{
    struct dx_host_total h = { .dataset_count = 0 };
    struct dx_span host = m->heap[0]->host.host;
    int rc = DX_OK;

    assert(m->left > 0);
    dx_buf_clear(name);
    dx_buf_append(name, host.data, host.size);
    if (name->failed)
        return dx_buf_fail(name, err, "hosts");
    host = dx_span_of(name->data, name->size);
    while (rc >= 0 && m->left > 0 && dx_span_equal(m->heap[0]->host.host, host)) {
        h.dataset_count++;
        h.url_count += m->heap[0]->of_counts ? 0 : m->heap[0]->host.url_count;
        h.row_count += m->heap[0]->of_counts ? 0 : m->heap[0]->host.row_count;
        h.page_count += m->heap[0]->of_counts ? m->heap[0]->host.row_count : 0;
        rc = advance(m, err);
    }
    return rc < 0 ? rc : take_host(m, h, host, err);
}

int dx_host_merge_run(struct dx_host_merge *m, struct dx_error *err)
{
    struct dx_buf name = DX_BUF_INIT(DX_FACTS_HOST_MAX);
    int rc = DX_OK;

    assert(m->host_count == 0 && m->count == 0); /* once */
    for (size_t i = m->left / 2; i > 0; i--)
        sift_down(m, i - 1);
    while (rc >= 0 && m->left > 0)
        rc = next_host(m, &name, err);
    dx_buf_release(&name);
    if (rc < 0 || m->by_name)
        return rc;
    rc = cut_hosts(m, err);
    if (rc >= 0 && m->count <= m->page.offset)
        m->count = 0;
    else if (rc >= 0) {
        m->count -= (size_t)m->page.offset;
        memmove(m->hosts, m->hosts + m->page.offset, m->count * sizeof *m->hosts);
    }
    return rc;
}
