/* SPDX-License-Identifier: Apache-2.0 */
#include "query/answers/self_test.h"

#include "loader/version.h"
#include "loader/version_parts.h"
#include "query/rows/listing.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A domain of a part. */
struct subject {
    struct dx_version *v;
    const struct dx_part *part;
    uint64_t ordinal;
    uint64_t domain_id;
    size_t size;
    uint8_t domain[DX_SURT_MAX];
};

static struct dx_span domain_of(const struct subject *s)
{
    return dx_span_of(s->domain, s->size);
}

static int disagree(const struct subject *s, const char *what, struct dx_error *err)
{
    return dx_fail(err, DX_E_CORRUPT, "%s (ordinal %llu): %s", (const char *)s->domain,
                   (unsigned long long)s->ordinal, what);
}

/* Dictionary and MPHF lead to each other. */
static int find_subject(struct subject *s, struct dx_error *err)
{
    const struct dx_part *part = NULL;
    uint64_t found = UINT64_MAX;
    int rc = dx_dictionary_get(&s->part->dictionary, s->ordinal, s->domain, &s->size, err);

    if (rc < 0)
        return rc;
    if (rc == 0 || s->size == 0 || s->size >= sizeof s->domain)
        return dx_fail(err, DX_E_CORRUPT, "ordinal %llu of %llu has no domain",
                       (unsigned long long)s->ordinal,
                       (unsigned long long)s->part->entry.part.domains);
    s->domain[s->size] = '\0';
    rc = dx_version_find(s->v, domain_of(s), &part, &found, &s->domain_id, err);
    if (rc < 0)
        return rc;
    if (rc == 0 || part != s->part || found != s->ordinal)
        return disagree(s, "it is in the dictionary and not found there", err);
    return DX_OK;
}

static int check_posting(const struct subject *s, uint32_t dataset_id,
                         const struct dx_pair_count *pair, struct dx_error *err);

/* Counts of the whole set, and the posting of its first dataset. */
static int check_pairs(const struct subject *s, const struct dx_dataset_set *set, bool with_posting,
                       struct dx_error *err)
{
    uint32_t count = dx_dataset_set_count(set);
    uint32_t *ids = malloc(count * sizeof *ids);
    struct dx_pair_count *pairs = malloc(count * sizeof *pairs);
    int rc = DX_OK;

    if (ids == NULL || pairs == NULL) {
        rc = dx_no_memory(err, "%u datasets of a domain", (unsigned)count);
        goto out;
    }
    (void)dx_dataset_set_ids(set, ids, count);
    rc = dx_counts_get(&s->part->counts, s->ordinal, count, pairs, err);
    for (uint32_t i = 0; i < count && rc >= 0; i++)
        if (dx_registry_by_id(&s->v->registry, ids[i]) == NULL)
            rc = disagree(s, "it is in a dataset that datasets.json has not got", err);
    if (rc >= 0)
        rc = with_posting ? check_posting(s, ids[0], &pairs[0], err) : DX_OK;
out:
    free(ids);
    free(pairs);
    return rc;
}

/* ---- postings and rows ---- */

static int count_row(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    unsigned *rows = ctx;

    (void)err;
    *rows += row->host.size > 0;
    return DX_OK;
}

static int read_listing(struct dx_listing *l, struct dx_error *err)
{
    int rc = dx_listing_step(l, err);

    while (rc == DX_LISTING_WAITS) {
        rc = dx_listing_fetched(l, dx_read_batch_perform(&l->reading, err), err);
        if (rc >= 0)
            rc = dx_listing_step(l, err);
    }
    return rc;
}

static int check_posting(const struct subject *s, uint32_t dataset_id,
                         const struct dx_pair_count *pair, struct dx_error *err)
{
    struct dx_listing l;
    int rc;

    dx_listing_init(&l, s->v, s->part, s->ordinal, dataset_id, (struct dx_page_of){ 0, 0 },
                    DX_FIELD_URL, 0);
    rc = read_listing(&l, err);
    if (rc == DX_LISTING_DONE && !l.found)
        rc = disagree(s, "a dataset that it is in has no posting of it", err);
    else if (rc == DX_LISTING_DONE &&
             (dx_registry_of_counts(&s->v->registry, dataset_id) ? l.total > pair->row_count
                                                                 : l.total != pair->row_count))
        rc = disagree(s, "its posting has not as many rows as its counts say", err);
    dx_listing_release(&l);
    return rc;
}

static int check_row(const struct subject *s, uint32_t dataset_id, struct dx_error *err)
{
    unsigned rows = 0;
    struct dx_listing l;
    int rc;

    dx_listing_init(&l, s->v, s->part, s->ordinal, dataset_id, (struct dx_page_of){ 0, 1 },
                    DX_FIELD_URL, 0);
    rc = read_listing(&l, err);
    if (rc == DX_LISTING_DONE)
        rc = dx_listing_rows(&l, &(struct dx_listing_taker){ &rows, count_row, NULL }, err);
    if (rc == DX_OK && rows != 1)
        rc = disagree(s, "its first row has not come from the lake", err);
    dx_listing_release(&l);
    return rc;
}

/* ---- all of it ---- */

/* The i-th of n places among `of`, the first and the last included. */
static uint64_t place(uint64_t i, uint64_t n, uint64_t of)
{
    assert(of > 0 && (n < 2 || i < n));
    return n < 2 ? 0 : (uint64_t)((unsigned __int128)(of - 1) * i / (n - 1));
}

/* Whether the i-th of n is one of the k that more is done with. */
static bool chosen(uint64_t i, uint64_t n, uint64_t k)
{
    assert(i < n && k <= n);
    return i * k / n != (i + 1) * k / n;
}

/* Of `all` subjects, those of each of n parts. */
static unsigned share(unsigned all, size_t n)
{
    return n < 2 || all == 0 ? all : (unsigned)((all + n - 1) / n);
}

/* Of the live domains of a part. */
static int check_present(struct dx_version *v, size_t at, unsigned most, unsigned postings,
                         struct dx_error *err)
{
    const struct dx_part *part = v->parts[at].part;
    uint64_t domains = part->entry.part.domains;
    uint64_t n = domains < most ? domains : most;

    for (uint64_t i = 0; i < n; i++) {
        struct subject s = { .v = v, .part = part, .ordinal = place(i, n, domains) };
        bool posting = chosen(i, n, postings < n ? postings : n);
        struct dx_dataset_set set = { 0 };
        int rc;

        if (dx_version_is_dead(v, at, s.ordinal))
            continue;
        rc = find_subject(&s, err);
        if (rc == DX_OK)
            rc = dx_membership_get(&part->membership, s.ordinal, &set, err);
        if (rc < 0)
            return rc;
        rc = check_pairs(&s, &set, posting, err);
        if (rc < 0)
            return rc;
    }
    return DX_OK;
}

/* "invalid" is kept free of registrations for ever (RFC 2606). */
static int check_absent(struct dx_version *v, unsigned count, struct dx_error *err)
{
    for (unsigned i = 0; i < count; i++) {
        const struct dx_part *part;
        uint64_t ordinal;
        uint64_t domain_id;
        char name[64];
        int rc;

        (void)snprintf(name, sizeof name, "%08x-not-there.invalid", i * 2654435761u);
        rc = dx_version_find(v, dx_span_str(name), &part, &ordinal, &domain_id, err);
        if (rc < 0)
            return rc;
        if (rc > 0)
            return dx_fail(err, DX_E_CORRUPT, "%s: it cannot exist and was found", name);
    }
    return DX_OK;
}

/* The first live domain of the dataset that stands at this place of those that have domains. */
static int check_dataset(struct dx_version *v, size_t at, uint64_t number,
                         struct dx_self_test_rows *rows, struct dx_error *err)
{
    struct subject s = { .v = v, .part = v->parts[at].part };
    struct dx_error fault = DX_ERROR_INIT;
    struct dx_domain_cursor cursor;
    struct dx_domain_list list;
    int rc = dx_dataset_domains_at(&s.part->dataset_domains, number, &list, err);

    if (rc != 1)
        return rc;
    dx_domain_cursor_begin(&cursor, &s.part->dataset_domains, &list);
    do {
        rc = dx_domain_cursor_next(&cursor, err);
    } while (rc == 1 && dx_version_is_dead(v, at, cursor.ordinal));
    if (rc != 1)
        return rc;
    s.ordinal = cursor.ordinal;
    rc = find_subject(&s, err);
    if (rc < 0)
        return rc;
    rows->tried++;
    rc = check_row(&s, list.dataset_id, &fault);
    if (rc == DX_E_NOMEM) { /* says nothing of the rows */
        if (err != NULL)
            *err = fault;
        return rc;
    }
    if (rc >= 0 || rc == DX_E_LIMIT)
        return DX_OK;
    if (rows->failed++ == 0)
        rows->first = fault;
    return DX_OK;
}

static int check_rows(struct dx_version *v, size_t at, unsigned most,
                      struct dx_self_test_rows *rows, struct dx_error *err)
{
    uint64_t datasets = v->parts[at].part->dataset_domains.datasets;
    uint64_t n = datasets < most ? datasets : most;
    int rc = DX_OK;

    for (uint64_t i = 0; rc >= 0 && i < n; i++)
        rc = check_dataset(v, at, place(i, n, datasets), rows, err);
    return rc < 0 ? rc : DX_OK;
}

int dx_self_test(struct dx_version *v, const struct dx_self_test_options *options,
                 struct dx_self_test_rows *rows, struct dx_error *err)
{
    size_t first = options->older ? 0 : v->part_count - 1;
    size_t n = v->part_count - first;
    int rc = DX_OK;

    *rows = (struct dx_self_test_rows){ .first = DX_ERROR_INIT };
    for (size_t i = first; rc == DX_OK && i < v->part_count; i++)
        rc = check_present(v, i, share(options->domains, n), share(options->postings, n), err);
    if (rc == DX_OK)
        rc = check_absent(v, options->absent, err);
    for (size_t i = first; rc == DX_OK && i < v->part_count; i++)
        rc = check_rows(v, i, share(options->rows, n), rows, err);
    if (rc < 0 || rows->tried == 0 || rows->failed < rows->tried)
        return rc;
    if (err != NULL)
        *err = rows->first;
    return rows->first.code;
}
