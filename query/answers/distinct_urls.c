/* SPDX-License-Identifier: Apache-2.0 */
#include "query/answers/distinct_urls.h"

#include "loader/version.h"
#include "query/rows/listing.h"
#include "query/suppression/suppression_view.h"

/* Of the pages of a batch, decoded: some hundred full sketches. */
#define WINDOW_BYTES (1u << 20)

/* So many sketches are decoded and sorted in some hundred microseconds. */
#define BRIEF_PAIRS 32

int dx_distinct_urls_begin(struct dx_distinct_urls *d, struct dx_version *v,
                           const struct dx_part *part, uint64_t ordinal, const uint32_t *ids,
                           size_t count, const struct dx_suppression_view *withheld,
                           uint64_t deadline_ms, struct dx_error *err)
{
    const struct dx_domain_pages_of of = { v, part, DX_COLD_SKETCHES, ordinal, ids, count };

    *d = (struct dx_distinct_urls){ .withheld = withheld };
    dx_url_sketch_init(&d->all);
    dx_url_sketch_init(&d->one);
    return dx_domain_pages_init(&d->pages, &of, WINDOW_BYTES, deadline_ms, err);
}

void dx_distinct_urls_release(struct dx_distinct_urls *d)
{
    dx_domain_pages_release(&d->pages);
    dx_url_sketch_release(&d->all);
    dx_url_sketch_release(&d->one);
}

static int take(struct dx_distinct_urls *d, struct dx_span stored, struct dx_error *err)
{
    uint32_t id = d->pages.of.ids[d->at++];
    const struct dx_suppression_pair *hidden = dx_suppression_view_pair(d->withheld, id);
    int rc;

    if (dx_registry_of_counts(&d->pages.of.version->registry, id))
        return DX_OK;
    rc = hidden != NULL ? dx_url_sketch_decode(&d->one, hidden->sketch, err)
                        : dx_url_sketch_decode_of(&d->one, dx_cold_version(&d->pages.of.part->cold),
                                                  stored, err);
    return rc < 0 ? rc : dx_url_sketch_union(&d->all, &d->one, err);
}

static int take_pages(struct dx_distinct_urls *d, struct dx_error *err)
{
    const struct dx_domain_pages_of *of = &d->pages.of;
    struct dx_span sketch;
    uint32_t id;
    int rc;

    while ((rc = dx_domain_pages_next(&d->pages, &id, &sketch, err)) == 1) {
        if (d->at == of->count || id > of->ids[d->at])
            break;
        if (id == of->ids[d->at])
            rc = take(d, sketch, err);
        if (rc < 0)
            return rc;
    }
    if (rc < 0 || d->at == d->pages.found)
        return rc < 0 ? rc : DX_OK;
    return dx_fail(err, DX_E_CORRUPT, "%s: domain %llu has no sketch of dataset %lu",
                   of->part->directory, (unsigned long long)of->ordinal,
                   (unsigned long)of->ids[d->at]);
}

int dx_distinct_urls_step(struct dx_distinct_urls *d, struct dx_error *err)
{
    int rc;

    do {
        rc = dx_domain_pages_step(&d->pages, err);
        if (rc != DX_LISTING_DONE)
            return rc;
        if (d->brief && d->pages.of.count > BRIEF_PAIRS) {
            d->brief = false;
            return DX_LISTING_WAITS; /* for nothing: other requests get a turn here */
        }
        rc = take_pages(d, err);
        if (rc == DX_OK)
            rc = dx_domain_pages_more(&d->pages, err);
    } while (rc == 1);
    return rc < 0 ? rc : DX_LISTING_DONE;
}
