/* SPDX-License-Identifier: Apache-2.0
 * What a part says of its pairs beside sets and counts: the domains of each dataset, and
 * hosts, paths and distinct URLs of each pair. Each file is held against sets and counts, which are
 * read in order of ordinals.
 */
#include "builder/check/verify.h"

#include "builder/check/verify_pairs.h"
#include "format/version/facts.h"
#include "format/version/url_sketch.h"
#include "loader/domain_pairs.h"
#include "loader/version.h"

#include <assert.h>
#include <stdlib.h>

#define ALIKE_MIN 64 /* URLs */

/* ---- dataset_domains.dxt ---- */

/* A pair of the list, as the set and the counts of its domain have it. Each list ascends, so that
 * no pair comes twice; with as many as there are pairs, none is missing. */
static int check_listed(struct dx_verify *w, uint32_t dataset_id, uint64_t ordinal,
                        uint64_t url_count, struct dx_error *why)
{
    const struct dx_part *part = w->part;
    struct dx_pair_count count = { 0 };
    struct dx_dataset_set set;
    uint32_t rank;
    int rc = dx_membership_get(&part->membership, ordinal, &set, why);

    if (rc >= 0)
        rc = dx_dataset_set_rank(&set, dataset_id, &rank);
    if (rc == 0)
        return dx_fail(why, DX_E_CORRUPT,
                       DX_FILE_DATASET_DOMAINS ": dataset %u has domain %llu, whose set has not "
                                               "the dataset",
                       (unsigned)dataset_id, (unsigned long long)ordinal);
    if (rc == 1)
        rc = dx_counts_one(&part->counts, ordinal, rank, &count, why);
    if (rc >= 0 && count.url_count != url_count)
        rc = dx_fail(why, DX_E_CORRUPT,
                     DX_FILE_DATASET_DOMAINS ": dataset %u has %llu URLs of domain %llu, the "
                                             "counts say %llu",
                     (unsigned)dataset_id, (unsigned long long)url_count,
                     (unsigned long long)ordinal, (unsigned long long)count.url_count);
    return rc < 0 ? rc : DX_OK;
}

static int check_list(struct dx_verify *w, const struct dx_domain_list *list, struct dx_error *why)
{
    const struct dx_registry *registry = &w->version->registry;
    const struct dx_dataset *d = dx_registry_by_id(registry, list->dataset_id);
    const struct dx_verify_dataset *pairs = d == NULL ? NULL
                                                      : w->parts[w->at].datasets +
                                                            (d - registry->datasets);
    struct dx_domain_cursor c;
    int rc = dx_dataset_domains_check(&w->part->dataset_domains, list, why);

    /* Of a dataset that left all domains are dead, and each is held against its counts below. */
    if (rc >= 0 && d != NULL && (pairs->domains != list->domains || pairs->urls != list->urls))
        return dx_fail(why, DX_E_CORRUPT,
                       DX_FILE_DATASET_DOMAINS ": dataset %u has %llu domains with %llu URLs, "
                                               "which is not what sets and counts say",
                       (unsigned)list->dataset_id, (unsigned long long)list->domains,
                       (unsigned long long)list->urls);
    dx_domain_cursor_begin(&c, &w->part->dataset_domains, list);
    while (rc >= 0 && (rc = dx_domain_cursor_next(&c, why)) == 1) {
        if (d == NULL && !dx_version_is_dead(w->version, w->at, c.ordinal))
            return dx_fail(why, DX_E_CORRUPT,
                           DX_FILE_DATASET_DOMAINS ": dataset %u, which is not in " DX_FILE_DATASETS
                                                   ", has domain %llu",
                           (unsigned)list->dataset_id, (unsigned long long)c.ordinal);
        rc = check_listed(w, list->dataset_id, c.ordinal, c.url_count, why);
    }
    return rc < 0 ? rc : DX_OK;
}

static int check_dataset_domains(struct dx_verify *w, struct dx_error *err)
{
    const struct dx_dataset_domains *d = &w->part->dataset_domains;
    struct dx_error why = DX_ERROR_INIT;
    struct dx_domain_list list;
    uint64_t pairs = 0;
    uint32_t last = 0;
    int rc = DX_OK;

    dx_verify_phase(w, "comparing the domains of each dataset with sets and counts");
    for (uint64_t i = 0; rc >= 0 && i < d->datasets; i++) {
        rc = dx_dataset_domains_at(d, i, &list, &why);
        if (rc == 1 && list.dataset_id <= last)
            rc = dx_fail(&why, DX_E_CORRUPT,
                         DX_FILE_DATASET_DOMAINS ": dataset %u stands behind dataset %u",
                         (unsigned)list.dataset_id, (unsigned)last);
        if (rc == 1)
            rc = check_list(w, &list, &why);
        last = list.dataset_id;
        pairs += rc >= 0 ? list.domains : 0;
    }
    if (rc >= 0 && pairs != w->part->entry.part.pairs)
        rc = dx_fail(&why, DX_E_CORRUPT, DX_FILE_DATASET_DOMAINS ": %llu pairs of %llu",
                     (unsigned long long)pairs, (unsigned long long)w->part->entry.part.pairs);
    return rc < 0 ? dx_verify_damage(w, &why, err) : DX_OK;
}

/* ---- facts and sketches ---- */

struct facts_check {
    struct dx_verify *w;
    struct dx_verify_pairs facts;
    struct dx_verify_pairs sketches;
    struct dx_url_sketch one;
    struct dx_url_sketch all; /* of the domain at hand */
    struct dx_domain_pairs pairs;
    size_t with_urls; /* of them: of datasets of URLs */
    struct dx_dictionary_cursor names;
    uint64_t ordinal; /* of the domain at hand */
    uint8_t domain[DX_SURT_MAX];
    size_t domain_size;
};

static int open_all(struct facts_check *c, struct dx_verify *w, struct dx_error *why)
{
    int rc = dx_verify_pairs_open(&c->facts, w, DX_COLD_FACTS, why);

    if (rc == DX_OK)
        rc = dx_verify_pairs_open(&c->sketches, w, DX_COLD_SKETCHES, why);
    dx_dictionary_seek(&c->names, &w->part->dictionary, 0);
    return rc;
}

static int of_domain(const struct facts_check *c, struct dx_error *why)
{
    return dx_fail_in(why, "%.*s", (int)c->domain_size, (const char *)c->domain);
}

/* Sizes, order, and that hosts and paths have just the counts of the pair: the reader's own
 * checks. */
static int check_facts(struct facts_check *c, struct dx_span bytes,
                       const struct dx_pair_count *count, struct dx_error *why)
{
    struct dx_facts f;
    struct dx_fact fact;
    int rc = dx_facts_open(&f, bytes, dx_span_of(c->domain, c->domain_size), count, why);

    if (rc < 0)
        return of_domain(c, why);
    if (f.has_paths && count->row_count <= DX_FACTS_ROWS)
        rc = dx_fail(why, DX_E_CORRUPT, "paths of a pair of %llu rows",
                     (unsigned long long)count->row_count);
    while (rc >= 0 && f.has_hosts && (rc = dx_facts_host(&f, &fact, why)) == 1)
        ;
    for (int kind = 0; rc >= 0 && kind < DX_PATHS_KINDS; kind++)
        while ((rc = dx_facts_path(&f, (enum dx_paths)kind, &fact, why)) == 1)
            ;
    dx_facts_close(&f);
    return rc < 0 ? of_domain(c, why) : DX_OK;
}

/* An estimate has a standard error of 1.6 %: eight times that cannot be chance. */
static bool far_off(uint64_t estimate, uint64_t count)
{
    uint64_t differ = estimate > count ? estimate - count : count - estimate;

    return (double)differ > 8 * DX_SKETCH_ERROR * (double)count;
}

/* Of a dataset that left it is not known which kind it was; all of its domains are dead. */
static bool is_of_urls(const struct facts_check *c, uint32_t dataset_id)
{
    const struct dx_dataset *d = dx_registry_by_id(&c->w->version->registry, dataset_id);

    return d != NULL && d->kind == DX_DATASET_URLS;
}

static bool is_of_counts(const struct facts_check *c, uint32_t dataset_id)
{
    return dx_registry_of_counts(&c->w->version->registry, dataset_id);
}

static bool knows_all(const struct facts_check *c)
{
    bool all = true;

    for (size_t i = 0; i < c->pairs.count && all; i++)
        all = is_of_urls(c, c->pairs.ids[i]) || is_of_counts(c, c->pairs.ids[i]);
    return all;
}

/* Two URLs may have the same hash: of some hundred once in ten million pairs. */
static bool may_be_alike(uint64_t hashes, uint64_t urls)
{
    return urls > ALIKE_MIN && hashes + 1 == urls;
}

static int check_sketch(struct facts_check *c, struct dx_span bytes, uint32_t dataset_id,
                        const struct dx_pair_count *count, struct dx_error *why)
{
    int rc = dx_url_sketch_decode_of(&c->one, dx_cold_version(&c->w->part->cold), bytes, why);
    uint64_t n;

    if (rc < 0)
        return rc;
    n = dx_url_sketch_count(&c->one);
    if (!is_of_urls(c, dataset_id)) {
        if (is_of_counts(c, dataset_id) && (c->one.dense || n != 1))
            dx_verify_found(c->w, DX_FILE_SKETCHES ": %.*s in dataset %u, which has no URLs",
                            (int)c->domain_size, (const char *)c->domain, (unsigned)dataset_id);
        return DX_OK;
    }
    c->with_urls++;
    if (c->one.dense ? count->url_count <= DX_SKETCH_PAIR_MAX || far_off(n, count->url_count)
                     : n != count->url_count && !may_be_alike(n, count->url_count))
        dx_verify_found(c->w,
                        DX_FILE_SKETCHES ": %.*s in dataset %u: %s of %llu URLs, the counts say "
                                         "%llu",
                        (int)c->domain_size, (const char *)c->domain, (unsigned)dataset_id,
                        c->one.dense ? "an estimate" : "hashes", (unsigned long long)n,
                        (unsigned long long)count->url_count);
    return dx_url_sketch_union(&c->all, &c->one, why);
}

/* The number that stands beside the counts is that of all sketches together, within what the counts
 * say for certain. */
static int check_distinct(struct facts_check *c, struct dx_error *why)
{
    uint64_t sum = 0;
    uint64_t want = 0;
    uint64_t less = 0;
    bool dense = false;
    int rc = dx_counts_distinct(&c->w->part->counts, c->ordinal, &less, &dense, why);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < c->pairs.count; i++) {
        if (!is_of_urls(c, c->pairs.ids[i]))
            continue;
        sum += c->pairs.counts[i].url_count;
        if (c->pairs.counts[i].url_count > want)
            want = c->pairs.counts[i].url_count;
    }
    if (c->with_urls > 1)
        want = dx_url_sketch_clip(dx_url_sketch_count(&c->all), want, sum);
    if (knows_all(c) &&
        (less > sum || sum - less != want || dense != (c->with_urls > 1 && c->all.dense)))
        dx_verify_found(c->w,
                        DX_FILE_COUNTS ": %.*s: distinct URLs are %llu less than %llu%s, its "
                                       "sketches have %llu%s",
                        (int)c->domain_size, (const char *)c->domain, (unsigned long long)less,
                        (unsigned long long)sum, dense ? " (estimated)" : "",
                        (unsigned long long)want, c->all.dense ? " (estimated)" : "");
    dx_url_sketch_clear(&c->all);
    c->with_urls = 0;
    return DX_OK;
}

static int check_domain(struct facts_check *c, struct dx_error *why)
{
    struct dx_span key;
    int rc;

    assert(c->names.ordinal == c->ordinal); /* names are read beside the pairs */
    rc = dx_dictionary_next(&c->names, &key, why);
    if (rc == 1) {
        c->domain_size = dx_surt_domain(key, c->domain);
        rc = dx_domain_pairs_read(&c->pairs, c->w->part, c->ordinal, why);
    }
    for (size_t i = 0; rc >= 0 && i < c->pairs.count; i++) {
        struct dx_span bytes;

        rc = dx_verify_pairs_take(&c->facts, c->ordinal, c->pairs.ids[i], &bytes, why);
        if (rc == DX_OK) {
            rc = check_facts(c, bytes, &c->pairs.counts[i], why);
            if (rc < 0)
                return dx_fail_in(why, DX_FILE_FACTS ": %.*s in dataset %u", (int)c->domain_size,
                                  (const char *)c->domain, (unsigned)c->pairs.ids[i]);
        }
        if (rc == DX_OK)
            rc = dx_verify_pairs_take(&c->sketches, c->ordinal, c->pairs.ids[i], &bytes, why);
        if (rc == DX_OK)
            rc = check_sketch(c, bytes, c->pairs.ids[i], &c->pairs.counts[i], why);
    }
    return rc < 0 ? rc : check_distinct(c, why);
}

static int check_pairs(struct dx_verify *w, struct dx_error *err)
{
    struct facts_check c = { .w = w, .pairs = DX_DOMAIN_PAIRS_INIT };
    struct dx_error why = DX_ERROR_INIT;
    int rc;

    dx_url_sketch_init(&c.one);
    dx_url_sketch_init(&c.all);
    rc = open_all(&c, w, &why);
    dx_verify_phase(w, "reading hosts, paths and sketches of each pair");
    for (; rc == DX_OK && c.ordinal < w->part->entry.part.domains; c.ordinal++)
        rc = check_domain(&c, &why);
    if (rc == DX_OK)
        rc = dx_verify_pairs_end(&c.facts, &why);
    if (rc == DX_OK)
        rc = dx_verify_pairs_end(&c.sketches, &why);
    dx_verify_pairs_close(&c.facts);
    dx_verify_pairs_close(&c.sketches);
    dx_url_sketch_release(&c.one);
    dx_url_sketch_release(&c.all);
    dx_domain_pairs_release(&c.pairs);
    return rc < 0 ? dx_verify_damage(w, &why, err) : DX_OK;
}

/* ---- all of it ---- */

/* As anybody's zstd reads it: all frames, and the table behind them. */
static int check_frames(const struct dx_verify *w, enum dx_cold_file file, struct dx_error *why)
{
    const char *name = dx_cold_file_name(file);
    struct dx_map map = DX_MAP_INIT;
    struct dx_zseek z = { 0 };
    struct dx_hash128 hash;
    int rc = dx_verify_map(w, name, &map, why);

    if (rc == DX_OK)
        rc = dx_zseek_open(&z, map.bytes, name, why);
    if (rc == DX_OK)
        rc = dx_zseek_verify(&z, &hash, why);
    dx_zseek_close(&z);
    dx_map_close(&map);
    return rc;
}

static int check_cold(struct dx_verify *w, struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    int rc;

    dx_verify_phase(w, "checking the files that are read by page");
    rc = dx_cold_verify(&w->part->cold, &why);
    for (unsigned i = 0; rc >= 0 && i < DX_COLD_FILES; i++)
        rc = check_frames(w, (enum dx_cold_file)i, &why);
    return rc < 0 ? dx_verify_damage(w, &why, err) : DX_OK;
}

int dx_verify_facts(struct dx_verify *w, struct dx_error *err)
{
    uint64_t before = w->result->damages;
    int rc;

    assert(w->parts[w->at].datasets != NULL); /* dx_verify_index has summed them up */
    rc = check_dataset_domains(w, err);
    if (rc == DX_OK)
        rc = check_cold(w, err);
    /* Of a file that cannot be read whole no page is compared. */
    if (rc == DX_OK && w->result->damages == before)
        rc = check_pairs(w, err);
    if (rc == DX_OK)
        rc = dx_verify_tags(w, err);
    return rc;
}
