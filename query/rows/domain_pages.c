/* SPDX-License-Identifier: Apache-2.0 */
#include "query/rows/domain_pages.h"

#include <assert.h>
#include <stdlib.h>

#include "base/array.h"
#include "format/core/zseek.h"
#include "loader/version.h"
#include "query/rows/listing.h"

static int no_memory(const struct dx_domain_pages *p, struct dx_error *err)
{
    return dx_no_memory(err, "pages of %s of a domain", dx_cold_file_name(p->of.file));
}

static int no_entry(const struct dx_domain_pages *p, uint32_t dataset_id, struct dx_error *err)
{
    return dx_fail(err, DX_E_CORRUPT, "%s: %s has nothing of domain %llu in dataset %lu",
                   p->of.part->directory, dx_cold_file_name(p->of.file),
                   (unsigned long long)p->of.ordinal, (unsigned long)dataset_id);
}

static int add_page(struct dx_domain_pages *p, const struct dx_cold_page_wanted *page,
                    struct dx_error *err)
{
    struct dx_cold_page_wanted *to = dx_array_room(p->pages, p->count, &p->capacity, sizeof *to);

    if (to == NULL)
        return no_memory(p, err);
    p->pages = to;
    p->pages[p->count++] = *page;
    p->bytes += page->page.plain_size;
    return DX_OK;
}

/* Behind all ids that lie before the page that follows. */
static int pass_page(struct dx_domain_pages *p, uint32_t number, struct dx_error *err)
{
    const struct dx_domain_pages_of *of = &p->of;
    struct dx_cold_page after;
    size_t found = p->found;
    struct dx_pair_place place;
    int rc = dx_cold_page(&of->part->cold, of->file, number + 1, &after, err);

    if (rc < 0)
        return rc;
    if (rc == 0 || after.key > of->ordinal)
        p->found = of->count;
    while (p->found < of->count && after.key == of->ordinal &&
           dx_pair_places_find(&p->places, of->ids[p->found], &place) == 1 &&
           place.dataset < after.sub)
        p->found++;
    return p->found > found ? DX_OK
                            : dx_fail(err, DX_E_CORRUPT, "%s: pages of %s are not in order",
                                      of->part->directory, dx_cold_file_name(of->file));
}

static int find_pages(struct dx_domain_pages *p, struct dx_error *err)
{
    const struct dx_domain_pages_of *of = &p->of;

    while (p->found < of->count) {
        struct dx_cold_page_wanted page;
        struct dx_pair_place place;
        int rc = dx_pair_places_find(&p->places, of->ids[p->found], &place);

        if (rc == 0)
            return no_entry(p, of->ids[p->found], err);
        rc = dx_cold_page_find(&page, of->part, of->version->caches, of->file, of->ordinal,
                               place.dataset, err);
        if (rc == 0)
            rc = dx_fail(err, DX_E_CORRUPT, "%s: domain %llu is before the first page of %s",
                         of->part->directory, (unsigned long long)of->ordinal,
                         dx_cold_file_name(of->file));
        if (rc < 0)
            return rc;
        if (p->count > 0 && page.page.plain_size > p->bytes_max - p->bytes)
            return DX_OK;
        rc = add_page(p, &page, err);
        if (rc >= 0)
            rc = pass_page(p, page.page.number, err);
        if (rc < 0)
            return rc;
        if (p->bytes >= p->bytes_max)
            return DX_OK;
    }
    return DX_OK;
}

int dx_domain_pages_init(struct dx_domain_pages *p, const struct dx_domain_pages_of *of,
                         uint64_t bytes_max, uint64_t deadline_ms, struct dx_error *err)
{
    int rc;

    assert(of->file == DX_COLD_FACTS || of->file == DX_COLD_SKETCHES);
    *p = (struct dx_domain_pages){ .of = *of, .bytes_max = bytes_max, .deadline_ms = deadline_ms };
    if (dx_cold_page_count(&of->part->cold, of->file) == 0)
        return dx_fail(err, DX_E_UNSUPPORTED, "%s: this version has no %s", of->part->directory,
                       dx_cold_file_name(of->file));
    rc = dx_pair_places_open(&p->places, of->part, of->ordinal, err);
    return rc == DX_OK ? find_pages(p, err) : rc;
}

static void let_go(struct dx_domain_pages *p)
{
    for (size_t i = 0; i < p->count; i++)
        dx_cold_page_release(&p->pages[i]);
    p->count = p->at = 0;
    p->bytes = 0;
    p->entered = false;
    dx_read_batch_release(&p->reading);
}

void dx_domain_pages_release(struct dx_domain_pages *p)
{
    let_go(p);
    free(p->pages);
    dx_pair_places_close(&p->places);
    dx_zstd_decoder_free(&p->decoder);
    *p = (struct dx_domain_pages){ .count = 0 };
}

bool dx_domain_pages_left(const struct dx_domain_pages *p)
{
    return p->found < p->of.count;
}

int dx_domain_pages_more(struct dx_domain_pages *p, struct dx_error *err)
{
    int rc;

    if (!dx_domain_pages_left(p))
        return 0;
    let_go(p);
    rc = find_pages(p, err);
    return rc < 0 ? rc : 1;
}

int dx_domain_pages_step(struct dx_domain_pages *p, struct dx_error *err)
{
    int rc = DX_OK;

    dx_read_batch_begin(&p->reading, p->of.version, dx_part_cold_source(p->of.part, p->of.file),
                        p->deadline_ms);
    for (size_t i = 0; i < p->count && rc == DX_OK; i++)
        rc = dx_cold_page_advance(&p->pages[i], &p->reading, p->decoder, err);
    if (rc < 0)
        return rc;
    return dx_read_batch_state(&p->reading) == DX_READ_BATCH_DONE ? DX_LISTING_DONE
                                                                  : DX_LISTING_WAITS;
}

int dx_domain_pages_fetched(struct dx_domain_pages *p, int rc, struct dx_error *err)
{
    rc = dx_read_batch_fetched(&p->reading, rc, err);
    if (rc < 0) {
        dx_block_request_failed(&p->reading, err);
        return rc;
    }
    if (p->decoder == NULL) /* here, since most answers find their pages in memory */
        p->decoder = dx_zstd_decoder_new();
    return p->decoder == NULL ? no_memory(p, err) : rc;
}

int dx_domain_pages_next(struct dx_domain_pages *p, uint32_t *dataset_id, struct dx_span *bytes,
                         struct dx_error *err)
{
    uint64_t ordinal;
    uint32_t sub;

    while (p->at < p->count) {
        int rc;

        if (!p->entered)
            p->walk = dx_pair_page_of(&p->pages[p->at].page, dx_cold_version(&p->of.part->cold),
                                      dx_cold_page_bytes(&p->pages[p->at]));
        p->entered = true;
        rc = dx_pair_page_next(&p->walk, &ordinal, &sub, bytes, err);
        if (rc < 0)
            return rc;
        if (rc == 1 && ordinal == p->of.ordinal)
            return dx_pair_places_dataset(&p->places, sub, dataset_id) == 1
                       ? 1
                       : dx_fail(err, DX_E_CORRUPT,
                                 "%s: %s has pair %lu of domain %llu, whose set ends",
                                 p->of.part->directory, dx_cold_file_name(p->of.file),
                                 (unsigned long)sub, (unsigned long long)ordinal);
        if (rc == 1 && ordinal > p->of.ordinal)
            return 0;
        p->entered = rc == 1;
        p->at += rc == 0;
    }
    return 0;
}
