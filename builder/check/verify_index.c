/* SPDX-License-Identifier: Apache-2.0
 * In each part each domain is read once in order of ordinals (names, sets, counts), each posting once in
 * order of domain_ids, and both must tell the same pairs. The live domains of all parts together have the
 * totals of the version, and their postings name each row of the lake once.
 */
#include "builder/check/verify.h"

#include "base/id_hash.h"
#include "canon/url.h"
#include "format/core/zseek.h"
#include "loader/domain_pairs.h"
#include "loader/version_parts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct id_of {
    uint64_t domain_id;
    uint64_t ordinal;
};

/* The runs of a row group must lie one behind the other from its first row to its last. So each
 * end but the last is a beginning, and these sums show it without keeping the runs: the hashes of
 * all ends less those of all beginnings leave hash(rows) - hash(0), and for no other runs they do,
 * as from each beginning exactly one way leads on. */
struct group_cover {
    uint64_t there; /* rows of the group by pages.dxp, whose record is long: read once, not a run */
    uint64_t rows;
    uint64_t borders;
};

struct dataset_totals {
    uint64_t domains;
    struct dx_pair_count sum;
};

struct index_check {
    struct dx_verify *w;
    struct dx_version *v;
    struct dx_canon *canon;
    struct id_of *ids[DX_PARTS_MAX]; /* a domain, sorted by domain_id after the names are read */
    uint64_t pairs_read, rows, urls; /* of the part at hand */
    bool cut;                        /* not all domains could be read */
    struct dataset_totals *datasets; /* of live domains; parallel to the registry */
    struct group_cover *groups;      /* what postings of live domains name of each row group */
    uint64_t group_at[DX_PARTS_MAX]; /* where those of each part begin */
    struct dx_buf collided;          /* uint64_t: ordinals whose domain_id is not their XXH3 */
    struct dx_buf payload;           /* of the pair at hand, counted from file 0 */
    struct dx_domain_pairs pairs;    /* of the domain at hand */
    struct dx_zstd_decoder *decoder;
};

static int check_names(struct index_check *c, struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    int rc;

    dx_verify_phase(c->w, "checking the dictionary");
    rc = dx_dictionary_verify(&c->w->part->dictionary, &why);
    if (rc == DX_OK) {
        dx_verify_phase(c->w, "finding each domain by its hash");
        rc = dx_mphf_verify(&c->w->part->mphf, &c->w->part->dictionary, c->w->options->threads,
                            &why);
    }
    return rc < 0 ? dx_verify_damage(c->w, &why, err) : DX_OK;
}

static int compare_ids(const void *a, const void *b)
{
    const struct id_of *x = a;
    const struct id_of *y = b;

    return (x->domain_id > y->domain_id) - (x->domain_id < y->domain_id);
}

static void add_pair(struct index_check *c, size_t dataset, const struct dx_pair_count *count,
                     bool live)
{
    struct dx_verify_dataset *part = &c->w->parts[c->w->at].datasets[dataset];

    part->domains++;
    part->urls += count->url_count;
    if (live) {
        c->datasets[dataset].domains++;
        dx_pair_count_add(&c->datasets[dataset].sum, count);
    }
}

static int check_domain(struct index_check *c, uint64_t ordinal, struct dx_error *why)
{
    const struct dx_part *part = c->w->part;
    struct id_of *id = &c->ids[c->w->at][ordinal];
    bool live = !dx_version_is_dead(c->v, c->w->at, ordinal);
    uint8_t domain[DX_SURT_MAX];
    struct dx_span found = { NULL, 0 };
    struct dx_span name;
    enum dx_reject reject = DX_REJECT_NONE;
    size_t size;
    int rc = dx_dictionary_get(&part->dictionary, ordinal, domain, &size, why);

    if (rc < 0)
        return rc;
    name = dx_span_of(domain, size);
    if (dx_canon_domain(c->canon, name, &found, &reject) != 1 || !dx_span_equal(found, name))
        dx_verify_found(
            c->w,
            DX_FILE_DOMAINS_DICT
            ": domain %llu, '%.*s', is not a registered domain by the version's suffix list",
            (unsigned long long)ordinal, (int)size, (const char *)domain);
    id->ordinal = ordinal;
    rc = dx_mphf_domain_id(&part->mphf, ordinal, name, &id->domain_id, why);
    if (rc >= 0 && id->domain_id != dx_id64(name)) {
        dx_buf_append(&c->collided, &ordinal, sizeof ordinal);
        if (c->collided.failed)
            rc = dx_buf_fail(&c->collided, why, "verify");
    }
    if (rc >= 0)
        rc = dx_domain_pairs_read(&c->pairs, part, ordinal, why);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < c->pairs.count; i++) {
        const struct dx_dataset *d = dx_registry_by_id(&c->v->registry, c->pairs.ids[i]);

        c->pairs_read++;
        c->rows += c->pairs.counts[i].row_count;
        c->urls += c->pairs.counts[i].url_count;
        if (d == NULL && live)
            dx_verify_found(c->w,
                            DX_FILE_MEMBERSHIP
                            ": %.*s is in dataset %u, which is not in " DX_FILE_DATASETS,
                            (int)size, (const char *)domain, (unsigned)c->pairs.ids[i]);
        else if (d != NULL)
            add_pair(c, (size_t)(d - c->v->registry.datasets), &c->pairs.counts[i], live);
    }
    if (live) {
        c->w->result->domains++;
        c->w->result->pairs += c->pairs.count;
        for (size_t i = 0; i < c->pairs.count; i++)
            if (dx_registry_of_counts(&c->v->registry, c->pairs.ids[i]))
                c->w->result->pages += c->pairs.counts[i].row_count;
            else
                c->w->result->rows += c->pairs.counts[i].row_count;
    }
    return DX_OK;
}

static const struct id_of *find_id(const struct index_check *c, uint64_t domain_id)
{
    const struct id_of key = { domain_id, 0 };

    return bsearch(&key, c->ids[c->w->at], c->w->part->entry.part.domains, sizeof key, compare_ids);
}

/* A domain has another domain_id than its XXH3 only where one before it has that, and then the
 * first of its seeded hashes that is free: docs/FORMAT.md section 1. */
static int check_collision(struct index_check *c, uint64_t ordinal, struct dx_error *why)
{
    const struct dx_part *part = c->w->part;
    uint8_t domain[DX_SURT_MAX];
    uint8_t other[DX_SURT_MAX];
    const struct id_of *holder;
    struct dx_span name;
    size_t size;
    size_t other_size;
    uint64_t id;
    uint64_t seed = 1;
    int rc = dx_dictionary_get(&part->dictionary, ordinal, domain, &size, why);

    if (rc < 0)
        return rc;
    name = dx_span_of(domain, size);
    rc = dx_mphf_domain_id(&part->mphf, ordinal, name, &id, why);
    if (rc < 0)
        return rc;
    holder = find_id(c, dx_id64(name));
    if (holder != NULL) {
        rc = dx_dictionary_get(&part->dictionary, holder->ordinal, other, &other_size, why);
        if (rc < 0)
            return rc;
        if (dx_span_compare(dx_span_of(other, other_size), name) > 0)
            holder = NULL;
    }
    while (holder != NULL && dx_id64_seeded(name, seed) != id &&
           find_id(c, dx_id64_seeded(name, seed)) != NULL)
        seed++;
    if (holder == NULL || dx_id64_seeded(name, seed) != id)
        dx_verify_found(c->w,
                        DX_FILE_DOMAINS_MPHF ": %.*s is among the collisions with domain_id "
                                             "0x%016llx, which is not the one it must have",
                        (int)size, (const char *)domain, (unsigned long long)id);
    return DX_OK;
}

static int check_collisions(struct index_check *c, struct dx_error *why)
{
    for (size_t at = 0; at < c->collided.size; at += sizeof(uint64_t)) {
        uint64_t ordinal;
        int rc;

        memcpy(&ordinal, c->collided.data + at, sizeof ordinal);
        rc = check_collision(c, ordinal, why);
        if (rc < 0)
            return rc;
    }
    return DX_OK;
}

/* Headers and manifest agree, or the version would not have opened: now the pairs themselves. */
static void check_part_sums(struct index_check *c)
{
    const struct dx_manifest_part *part = &c->w->part->entry.part;

    if (c->pairs_read != part->pairs)
        dx_verify_found(c->w, DX_FILE_MEMBERSHIP ": %llu pairs, its header says %llu",
                        (unsigned long long)c->pairs_read, (unsigned long long)part->pairs);
    if (c->rows != part->rows || c->urls != part->urls)
        dx_verify_found(c->w,
                        DX_FILE_COUNTS ": its pairs have %llu rows and %llu URLs, its header says "
                                       "%llu and %llu",
                        (unsigned long long)c->rows, (unsigned long long)c->urls,
                        (unsigned long long)part->rows, (unsigned long long)part->urls);
}

static int check_domains(struct index_check *c, struct dx_error *err)
{
    struct id_of *ids = c->ids[c->w->at];
    struct dx_error why = DX_ERROR_INIT;
    uint64_t n = c->w->part->entry.part.domains;

    dx_verify_phase(c->w, "reading the sets and counts of each domain");
    c->pairs_read = c->rows = c->urls = 0;
    dx_buf_clear(&c->collided);
    for (uint64_t i = 0; i < n; i++)
        if (check_domain(c, i, &why) < 0) {
            c->cut = true;
            return dx_verify_damage(c->w, &why, err);
        }
    qsort(ids, n, sizeof *ids, compare_ids);
    for (uint64_t i = 1; i < n; i++)
        if (ids[i].domain_id == ids[i - 1].domain_id)
            dx_verify_found(c->w, DX_FILE_DOMAINS_MPHF ": domains %llu and %llu share a domain_id",
                            (unsigned long long)ids[i - 1].ordinal,
                            (unsigned long long)ids[i].ordinal);
    if (check_collisions(c, &why) < 0)
        return dx_verify_damage(c->w, &why, err);
    check_part_sums(c);
    return DX_OK;
}

/* The stored sets lie one behind the other, as many as the header says. */
static int check_stored_sets(struct index_check *c, struct dx_error *err)
{
    const struct dx_membership *m = &c->w->part->membership;
    struct dx_error why = DX_ERROR_INIT;
    uint64_t sets = 0;
    uint64_t at = 0;
    int rc = dx_envelope_check(&m->envelope, m->set_bytes.data, m->set_bytes.size, &why);

    if (rc < 0)
        return dx_verify_damage(c->w, &why, err);
    while (at < m->set_bytes.size) {
        uint64_t size = dx_dataset_set_size(
            dx_span_of(m->set_bytes.data + at, m->set_bytes.size - (size_t)at));

        if (size == 0)
            break;
        at += size;
        sets++;
    }
    if (at < m->set_bytes.size || sets != m->sets)
        dx_verify_found(c->w,
                        DX_FILE_MEMBERSHIP ": %llu stored sets in %llu of %zu bytes, its header "
                                           "says %llu",
                        (unsigned long long)sets, (unsigned long long)at, m->set_bytes.size,
                        (unsigned long long)m->sets);
    return DX_OK;
}

/* Where the walk over all postings of a part stands among the pairs that the sets tell. */
struct pair_walk {
    uint64_t domain; /* by ordinal; where postings know ids, in c->ids */
    size_t index;    /* in its pairs */
    bool loaded;
    uint64_t ordinal;
    uint64_t domain_id;
    /* the pair that came last */
    struct dx_pair_place place;
    uint32_t dataset_id;
    uint64_t rows;
    bool live;
};

static int load_domain(struct index_check *c, struct pair_walk *p, struct dx_error *why)
{
    const struct dx_part *part = c->w->part;
    uint8_t domain[DX_SURT_MAX];
    size_t size;
    int rc = 1;

    assert(p->domain < part->entry.part.domains);
    p->ordinal = part->postings.by_ids ? c->ids[c->w->at][p->domain].ordinal : p->domain;
    rc = dx_dictionary_get(&part->dictionary, p->ordinal, domain, &size, why);
    if (rc >= 0)
        rc = dx_mphf_domain_id(&part->mphf, p->ordinal, dx_span_of(domain, size), &p->domain_id,
                               why);
    if (rc >= 0)
        rc = dx_domain_pairs_read(&c->pairs, part, p->ordinal, why);
    p->live = !dx_version_is_dead(c->v, c->w->at, p->ordinal);
    p->loaded = true;
    p->index = 0;
    return rc;
}

static int next_pair(struct index_check *c, struct pair_walk *p, struct dx_error *why)
{
    const struct dx_part *part = c->w->part;

    while (p->domain < part->entry.part.domains) {
        int rc = p->loaded ? DX_OK : load_domain(c, p, why);

        if (rc < 0)
            return rc;
        if (p->index < c->pairs.count) {
            p->dataset_id = c->pairs.ids[p->index];
            p->rows = c->pairs.counts[p->index].row_count;
            p->place = part->postings.by_ids
                           ? (struct dx_pair_place){ p->domain_id, p->dataset_id }
                           : (struct dx_pair_place){ p->ordinal, (uint32_t)p->index };
            p->index++;
            return 1;
        }
        p->domain++;
        p->loaded = false;
    }
    return 0;
}

static uint64_t border(uint64_t row)
{
    return dx_hash64_seeded(dx_span_of(&row, sizeof row), 1);
}

/* Of a file of this part or an older one. live: it is counted. path: of the run before, or empty; it
 * becomes this run's. */
static int check_run(struct index_check *c, uint32_t dataset_id, const struct dx_run *run,
                     bool live, struct dx_span *path, struct dx_error *why)
{
    struct group_cover *cover = NULL;
    size_t at = dx_verify_part_of_file(c->w, run->file_id);
    struct dx_pages_file file;
    int rc = at > c->w->at ? 0
                           : dx_pages_file(&c->v->parts[at].part->pages, run->file_id, &file, why);

    if (rc < 0)
        return rc;
    if (rc == 1 && path->size > 0 && dx_span_compare(*path, file.path) > 0)
        return dx_fail(why, DX_E_CORRUPT,
                       "a posting of dataset %u names rows of %.*s behind those of %.*s: runs "
                       "stand in order of paths",
                       (unsigned)dataset_id, (int)file.path.size, (const char *)file.path.data,
                       (int)path->size, (const char *)path->data);
    if (rc == 1)
        *path = file.path;
    if (rc == 1 && run->row_group < file.row_groups)
        cover = &c->groups[c->group_at[at] + file.first_group + run->row_group];
    if (cover == NULL || file.dataset_id != dataset_id || run->row_count > cover->there ||
        run->first_row > cover->there - run->row_count)
        return dx_fail(why, DX_E_CORRUPT,
                       "a posting of dataset %u names rows %llu+%llu of row "
                       "group %u of file %u, which are not there or not its own",
                       (unsigned)dataset_id, (unsigned long long)run->first_row,
                       (unsigned long long)run->row_count, (unsigned)run->row_group,
                       (unsigned)run->file_id);
    if (live && dx_version_is_gone(c->v, run->file_id))
        return dx_fail(why, DX_E_CORRUPT,
                       "a posting of dataset %u names rows of file %u, which left the version",
                       (unsigned)dataset_id, (unsigned)run->file_id);
    if (live) {
        cover->rows += run->row_count;
        cover->borders += border(run->first_row + run->row_count) - border(run->first_row);
    }
    return DX_OK;
}

/* Whether the counts of a pair are of the rows that its posting names. Those of a dataset of counts are of pages, a row one at
 * least; of a dataset that left it is not known what it was. */
static bool counts_rows(const struct index_check *c, uint32_t dataset_id)
{
    const struct dx_dataset *d = dx_registry_by_id(&c->v->registry, dataset_id);

    return d != NULL && d->kind != DX_DATASET_COUNTS;
}

static int check_posting(struct index_check *c, struct pair_walk *walk,
                         const struct dx_postings_page *page, const struct dx_posting *posting,
                         struct dx_span dat, struct dx_error *why)
{
    struct dx_payload payload;
    struct dx_span path = { NULL, 0 };
    struct dx_span bytes;
    struct dx_run run;
    int rc = next_pair(c, walk, why);

    if (rc < 0)
        return rc;
    if (rc == 0 || walk->place.domain != posting->place.domain ||
        walk->place.dataset != posting->place.dataset)
        return dx_fail(why, DX_E_CORRUPT,
                       "postings page %u: posting (%llu, %u) where the sets have (%llu, %u)",
                       (unsigned)page->number, (unsigned long long)posting->place.domain,
                       (unsigned)posting->place.dataset,
                       rc == 0 ? 0ull : (unsigned long long)walk->place.domain,
                       rc == 0 ? 0u : (unsigned)walk->place.dataset);
    rc = dx_postings_payload(page, dat, posting, &bytes, why);
    if (rc >= 0)
        rc = dx_postings_list(&c->w->part->postings, walk->ordinal, walk->dataset_id, bytes,
                              "payload", &payload, why);
    if (rc >= 0 && (payload.rows > walk->rows ||
                    (payload.rows != walk->rows && counts_rows(c, walk->dataset_id))))
        rc = dx_fail(why, DX_E_CORRUPT,
                     "posting of domain %llu, dataset %u has %llu rows, the "
                     "counts say %llu",
                     (unsigned long long)walk->ordinal, (unsigned)walk->dataset_id,
                     (unsigned long long)payload.rows, (unsigned long long)walk->rows);
    while (rc >= 0 && dx_payload_next(&payload, &run) == 1)
        rc = check_run(c, walk->dataset_id, &run, walk->live, &path, why);
    if (rc < 0 || !walk->live)
        return rc < 0 ? rc : DX_OK;
    dx_buf_clear(&c->payload);
    rc = dx_payload_rebase(bytes, payload.first_file, 0, &c->payload, why);
    c->w->parts[c->w->at].postings_sum += dx_verify_payload_sum(
        walk->domain_id, walk->dataset_id, dx_span_of(c->payload.data, c->payload.size));
    return rc;
}

static int check_page(struct index_check *c, struct pair_walk *walk, struct dx_span idx_file,
                      struct dx_span dat_file, const struct dx_postings_page *page,
                      struct dx_error *why)
{
    struct dx_span idx;
    struct dx_span dat;
    struct dx_posting posting;
    uint8_t *plain;
    int rc;

    if (!dx_span_slice(idx_file, page->idx_offset, page->idx_size, &idx) ||
        !dx_span_slice(dat_file, page->dat_offset, page->dat_size, &dat))
        return dx_fail(why, DX_E_CORRUPT,
                       DX_FILE_POSTINGS_DIR ": page %u lies outside of its files",
                       (unsigned)page->number);
    plain = malloc((size_t)page->idx_plain + page->dat_plain + 1);
    if (plain == NULL)
        return dx_no_memory(why, "verify");
    rc = dx_postings_idx_decode(page, c->decoder, 0, idx, plain, why);
    if (rc >= 0)
        rc = dx_postings_dat_decode(page, c->decoder, 0, dat, plain + page->idx_plain, why);
    for (uint32_t i = 0; rc >= 0 && i < page->entries; i++) {
        rc = dx_postings_entry_at(page, dx_span_of(plain, page->idx_plain), i, &posting, why);
        if (rc == 1)
            rc = check_posting(c, walk, page, &posting,
                               dx_span_of(plain + page->idx_plain, page->dat_plain), why);
    }
    free(plain);
    return rc < 0 ? rc : DX_OK;
}

/* One of the two files, as anybody's zstd reads it. */
static int map_paged(struct index_check *c, const char *name, struct dx_map *map,
                     struct dx_error *why)
{
    struct dx_hash128 hash;
    struct dx_zseek z = { 0 };
    int rc = dx_verify_map(c->w, name, map, why);

    if (rc == DX_OK)
        rc = dx_zseek_open(&z, map->bytes, name, why);
    if (rc == DX_OK)
        rc = dx_zseek_verify(&z, &hash, why);
    dx_zseek_close(&z);
    return rc;
}

static int check_pages(struct index_check *c, struct pair_walk *walk, struct dx_error *why)
{
    const struct dx_postings *p = &c->w->part->postings;
    struct dx_map idx = DX_MAP_INIT;
    struct dx_map dat = DX_MAP_INIT;
    struct dx_postings_page page;
    uint64_t entries = 0;
    int rc = map_paged(c, DX_FILE_POSTINGS_IDX, &idx, why);

    if (rc == DX_OK)
        rc = map_paged(c, DX_FILE_POSTINGS_DAT, &dat, why);
    for (uint64_t i = 0; rc >= 0 && i < p->totals.pages; i++) {
        rc = dx_postings_page_at(p, i, &page, why);
        if (rc == 1) {
            entries += page.entries;
            rc = check_page(c, walk, idx.bytes, dat.bytes, &page, why);
        }
    }
    if (rc >= 0 && entries != p->totals.pairs)
        rc = dx_fail(why, DX_E_CORRUPT, DX_FILE_POSTINGS_DIR ": %llu pairs, its pages have %llu",
                     (unsigned long long)p->totals.pairs, (unsigned long long)entries);
    dx_map_close(&idx);
    dx_map_close(&dat);
    return rc < 0 ? rc : DX_OK;
}

static int read_groups(struct index_check *c, struct dx_error *why)
{
    const struct dx_pages *pages = &c->w->part->pages;
    struct dx_pages_file file;
    struct dx_page_group group;

    for (uint64_t f = 0; f < pages->files; f++) {
        int rc = dx_pages_file(pages, pages->first_file + f, &file, why);

        for (uint32_t g = 0; rc == 1 && g < file.row_groups; g++) {
            rc = dx_pages_group(pages, &file, g, &group, why);
            if (rc == 1)
                c->groups[c->group_at[c->w->at] + file.first_group + g].there = group.rows;
        }
        if (rc < 0)
            return rc;
    }
    return DX_OK;
}

static void check_group(struct index_check *c, const struct dx_pages_file *file, uint32_t g,
                        uint64_t *uncovered)
{
    const struct group_cover *cover = &c->groups[c->group_at[c->w->at] + file->first_group + g];

    if (c->v->entry.rows_left_out > 0 && cover->rows < cover->there)
        *uncovered += cover->there - cover->rows; /* which rows, is for --deep */
    else if (cover->rows != cover->there)
        dx_verify_found(c->w, "%.*s: row group %u has %llu rows, postings name %llu",
                        (int)file->path.size, (const char *)file->path.data, (unsigned)g,
                        (unsigned long long)cover->there, (unsigned long long)cover->rows);
    else if (cover->borders != border(cover->there) - border(0))
        dx_verify_found(c->w,
                        "%.*s: row group %u: postings name some rows twice and others "
                        "not at all",
                        (int)file->path.size, (const char *)file->path.data, (unsigned)g);
}

/* Each row of the lake is named once, but for those that the version leaves out. */
static int check_coverage(struct index_check *c, struct dx_error *why)
{
    uint64_t rows_left_out = c->v->entry.rows_left_out;
    uint64_t uncovered = 0;
    struct dx_pages_file file;

    for (size_t i = 0; i < c->v->part_count; i++) {
        const struct dx_pages *pages = &c->v->parts[i].part->pages;

        dx_verify_enter(c->w, i);
        for (uint64_t f = 0; f < pages->files; f++) {
            int rc = dx_pages_file(pages, pages->first_file + f, &file, why);

            if (rc < 0)
                return rc;
            for (uint32_t g = 0; rc == 1 && g < file.row_groups; g++)
                if (!dx_version_is_gone(c->v, pages->first_file + f))
                    check_group(c, &file, g, &uncovered);
        }
        dx_verify_leave(c->w);
    }
    if (uncovered != rows_left_out)
        dx_verify_found(c->w,
                        "postings leave out %llu rows of the lake, the manifest says "
                        "%llu (rows_left_out)",
                        (unsigned long long)uncovered, (unsigned long long)rows_left_out);
    return DX_OK;
}

/* Of the part at hand. */
static int check_part_postings(struct index_check *c, struct dx_error *why)
{
    struct pair_walk walk = { 0 };
    int rc = check_pages(c, &walk, why);

    if (rc == DX_OK)
        rc = next_pair(c, &walk, why);
    if (rc == 1)
        rc = dx_fail(why, DX_E_CORRUPT, "domain %llu, dataset %u has no posting",
                     (unsigned long long)walk.ordinal, (unsigned)walk.dataset_id);
    return rc;
}

static int check_postings(struct index_check *c, struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    int rc = DX_OK;

    assert(!c->cut);
    dx_verify_phase(c->w, "comparing the postings with sets and counts");
    for (size_t i = 0; rc == DX_OK && i < c->v->part_count; i++) {
        dx_verify_enter(c->w, i);
        rc = read_groups(c, &why);
        if (rc == DX_OK)
            rc = check_part_postings(c, &why);
    }
    if (rc == DX_OK)
        rc = check_coverage(c, &why);
    if (rc < 0)
        rc = dx_verify_damage(c->w, &why, err);
    dx_verify_leave(c->w);
    return rc;
}

/* ---- all parts together ---- */

/* Live domains: dead ones are other parts'. */
static void check_sums(struct index_check *c)
{
    const struct dx_manifest_version *entry = &c->v->entry;
    const struct dx_verify_result *r = c->w->result;
    uint64_t urls = 0;

    assert(!c->cut);
    for (size_t i = 0; i < c->v->registry.count; i++)
        urls += c->datasets[i].sum.url_count;
    if (c->v->part_count > 1 && (r->domains != entry->domains || r->pairs != entry->pairs ||
                                 r->rows + r->pages != entry->rows || urls != entry->urls))
        dx_verify_found(c->w,
                        "its parts have %llu domains, %llu pairs, %llu rows and %llu URLs, the "
                        "manifest says %llu, %llu, %llu and %llu",
                        (unsigned long long)r->domains, (unsigned long long)r->pairs,
                        (unsigned long long)(r->rows + r->pages), (unsigned long long)urls,
                        (unsigned long long)entry->domains, (unsigned long long)entry->pairs,
                        (unsigned long long)entry->rows, (unsigned long long)entry->urls);
    for (size_t i = 0; i < c->v->registry.count; i++) {
        const struct dx_dataset *d = &c->v->registry.datasets[i];
        const struct dataset_totals *t = &c->datasets[i];

        if (d->domains != t->domains || d->rows != t->sum.row_count ||
            d->urls != t->sum.url_count || d->has_ts != t->sum.has_ts ||
            (d->has_ts && (d->first_us != t->sum.first_us || d->last_us != t->sum.last_us)))
            dx_verify_found(c->w,
                            DX_FILE_DATASETS ": totals of dataset %u (%s) are not the sums of "
                                             "its pairs",
                            (unsigned)d->dataset_id, d->name);
    }
}

/* A live domain of one part whose domain_id another domain has that lives in an older one. */
static int check_shared(struct index_check *c, size_t older, size_t newer, struct dx_error *why)
{
    const struct id_of *a = c->ids[older];
    const struct id_of *b = c->ids[newer];
    uint64_t i = 0;
    uint64_t k = 0;

    while (i < c->v->parts[older].part->entry.part.domains &&
           k < c->v->parts[newer].part->entry.part.domains) {
        if (a[i].domain_id != b[k].domain_id) {
            if (a[i].domain_id < b[k].domain_id)
                i++;
            else
                k++;
            continue;
        }
        if (!dx_version_is_dead(c->v, older, a[i].ordinal) &&
            !dx_version_is_dead(c->v, newer, b[k].ordinal)) {
            uint8_t name[DX_SURT_MAX];
            size_t size;
            int rc = dx_dictionary_get(&c->v->parts[newer].part->dictionary, b[k].ordinal, name,
                                       &size, why);

            if (rc < 0)
                return rc;
            dx_verify_found(c->w, "%.*s of part %s: part %s has its domain_id 0x%016llx too",
                            (int)size, (const char *)name, c->v->parts[newer].part->entry.version,
                            c->v->parts[older].part->entry.version,
                            (unsigned long long)b[k].domain_id);
        }
        i++;
    }
    return DX_OK;
}

static int check_ids(struct index_check *c, struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;

    assert(!c->cut); /* c->ids are whole, and sorted */
    for (size_t newer = 1; newer < c->v->part_count; newer++)
        for (size_t older = 0; older < newer; older++)
            if (check_shared(c, older, newer, &why) < 0)
                return dx_verify_damage(c->w, &why, err);
    return DX_OK;
}

static int allocate_part(struct index_check *c, size_t i, struct dx_error *err)
{
    uint64_t domains = c->v->parts[i].part->entry.part.domains;

    c->ids[i] = calloc(domains + 1, sizeof **c->ids);
    c->w->parts[i].datasets = calloc(c->v->registry.count + 1, sizeof *c->w->parts[i].datasets);
    return c->ids[i] == NULL || c->w->parts[i].datasets == NULL
               ? dx_no_memory(err, "verify: %llu domains", (unsigned long long)domains)
               : DX_OK;
}

static int allocate_arrays(struct index_check *c, struct dx_error *err)
{
    uint64_t groups = 0;
    int rc = DX_OK;

    dx_buf_init(&c->collided, SIZE_MAX / 2);
    dx_buf_init(&c->payload, DX_PAYLOAD_MAX);
    for (size_t i = 0; rc == DX_OK && i < c->v->part_count; i++) {
        c->group_at[i] = groups;
        groups += c->v->parts[i].part->pages.groups;
        rc = allocate_part(c, i, err);
    }
    if (rc < 0)
        return rc;
    c->datasets = calloc(c->v->registry.count + 1, sizeof *c->datasets);
    c->groups = calloc(groups + 1, sizeof *c->groups);
    c->decoder = dx_zstd_decoder_new();
    if (c->datasets == NULL || c->groups == NULL || c->decoder == NULL)
        return dx_no_memory(err, "verify");
    return dx_version_canon_new(c->v, &c->canon, err);
}

/* Names, sets and counts of the part at hand. */
static int check_part(struct index_check *c, struct dx_error *err)
{
    int rc = check_names(c, err);

    if (rc == DX_OK)
        rc = check_stored_sets(c, err);
    return rc == DX_OK ? check_domains(c, err) : rc;
}

int dx_verify_index(struct dx_verify *w, struct dx_error *err)
{
    struct index_check c = { .w = w, .v = w->version };
    uint64_t before = w->result->damages;
    int rc = allocate_arrays(&c, err);

    for (size_t i = 0; rc == DX_OK && i < w->version->part_count; i++) {
        dx_verify_enter(w, i);
        rc = check_part(&c, err);
        dx_verify_leave(w);
    }
    /* With names or sets damaged the others say nothing new. */
    if (rc == DX_OK && w->result->damages == before)
        rc = dx_verify_dead(w, err);
    if (rc == DX_OK && !c.cut)
        check_sums(&c);
    if (rc == DX_OK && w->result->damages == before)
        rc = check_ids(&c, err);
    if (rc == DX_OK && w->result->damages == before)
        rc = check_postings(&c, err);
    dx_canon_free(&c.canon);
    dx_zstd_decoder_free(&c.decoder);
    for (size_t i = 0; i < DX_PARTS_MAX; i++)
        free(c.ids[i]);
    free(c.datasets);
    free(c.groups);
    dx_buf_release(&c.collided);
    dx_buf_release(&c.payload);
    dx_domain_pairs_release(&c.pairs);
    return rc;
}
