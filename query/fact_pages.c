/* SPDX-License-Identifier: Apache-2.0 */
#include "query/fact_pages.h"

#include <stdlib.h>

#include "format/zseek.h"
#include "loader/version.h"
#include "query/listing.h"

static int add_page(struct dx_fact_pages *p, const struct dx_cold_page_wanted *page,
                    struct dx_error *err)
{
    if (p->count == p->capacity) {
        size_t more = p->capacity == 0 ? 4 : p->capacity * 2;
        struct dx_cold_page_wanted *to = realloc(p->pages, more * sizeof *to);

        if (to == NULL)
            return dx_fail(err, DX_E_NOMEM, "facts of a domain: out of memory");
        p->pages = to;
        p->capacity = more;
    }
    p->pages[p->count++] = *page;
    p->plain_bytes += page->page.plain_size;
    if (p->plain_bytes > DX_FACT_PAGES_BYTES)
        return dx_fail(err, DX_E_LIMIT, "the hosts of this domain take more than %u MiB",
                       DX_FACT_PAGES_BYTES >> 20);
    return DX_OK;
}

static int find_pages(struct dx_fact_pages *p, struct dx_error *err)
{
    struct dx_cold_page_wanted page;
    int rc = dx_cold_page_find(&page, p->version, DX_COLD_FACTS, p->ordinal, p->dataset_id, err);

    if (rc == 0 && !p->one_pair) /* its first pair begins a page */
        rc = dx_cold_page_at(&page, p->version, DX_COLD_FACTS, 0, err);
    while (rc == 1 && page.page.key <= p->ordinal) {
        rc = add_page(p, &page, err);
        if (rc < 0 || p->one_pair)
            break;
        rc = dx_cold_page_at(&page, p->version, DX_COLD_FACTS, page.page.number + 1, err);
    }
    return rc < 0 ? rc : DX_OK;
}

static int init(struct dx_fact_pages *p, struct dx_version *v, uint64_t ordinal,
                uint64_t deadline_ms, struct dx_error *err)
{
    p->version = v;
    p->ordinal = ordinal;
    p->deadline_ms = deadline_ms;
    p->decoder = dx_zstd_decoder_new();
    if (p->decoder == NULL)
        return dx_fail(err, DX_E_NOMEM, "facts of a domain: out of memory");
    if (dx_cold_page_count(&v->cold, DX_COLD_FACTS) == 0)
        return dx_fail(err, DX_E_UNSUPPORTED, "%s: this version has no facts of its domains",
                       v->directory);
    return find_pages(p, err);
}

int dx_fact_pages_init(struct dx_fact_pages *p, struct dx_version *v, uint64_t ordinal,
                       uint64_t deadline_ms, struct dx_error *err)
{
    *p = (struct dx_fact_pages){ .one_pair = false };
    return init(p, v, ordinal, deadline_ms, err);
}

int dx_fact_pages_init_pair(struct dx_fact_pages *p, struct dx_version *v, uint64_t ordinal,
                            uint32_t dataset_id, uint64_t deadline_ms, struct dx_error *err)
{
    *p = (struct dx_fact_pages){ .one_pair = true, .dataset_id = dataset_id };
    return init(p, v, ordinal, deadline_ms, err);
}

void dx_fact_pages_release(struct dx_fact_pages *p)
{
    for (size_t i = 0; i < p->count; i++)
        dx_cold_page_release(&p->pages[i]);
    free(p->pages);
    dx_zstd_decoder_free(&p->decoder);
    dx_reading_release(&p->reading);
    *p = (struct dx_fact_pages){ .count = 0 };
}

int dx_fact_pages_step(struct dx_fact_pages *p, struct dx_error *err)
{
    int rc = DX_OK;

    dx_reading_begin(&p->reading, p->version, dx_version_cold_source(p->version, DX_COLD_FACTS),
                     p->deadline_ms);
    for (size_t i = 0; i < p->count && rc == DX_OK; i++)
        rc = dx_cold_page_advance(&p->pages[i], &p->reading, p->decoder, err);
    if (rc < 0)
        return rc;
    return dx_reading_state(&p->reading) == DX_READING_DONE ? DX_LISTING_DONE : DX_LISTING_WAITS;
}

int dx_fact_pages_fetched(struct dx_fact_pages *p, int rc, struct dx_error *err)
{
    rc = dx_reading_fetched(&p->reading, rc, err);
    if (rc < 0)
        dx_wanted_failed(&p->reading, err);
    return rc;
}

int dx_fact_pages_next(struct dx_fact_pages *p, uint32_t *dataset_id, struct dx_span *bytes,
                       struct dx_error *err)
{
    uint64_t ordinal;

    while (p->at < p->count) {
        int rc;

        if (!p->entered)
            p->walk = dx_pair_page_of(&p->pages[p->at].page, dx_cold_page_bytes(&p->pages[p->at]));
        p->entered = true;
        rc = dx_pair_page_next(&p->walk, &ordinal, dataset_id, bytes, err);
        if (rc < 0)
            return rc;
        if (rc == 1 && ordinal == p->ordinal && (!p->one_pair || *dataset_id == p->dataset_id))
            return 1;
        if (rc == 1 && ordinal > p->ordinal)
            return 0;
        p->entered = rc == 1;
        p->at += rc == 0;
    }
    return 0;
}
