/* SPDX-License-Identifier: Apache-2.0
 * The lake: that its files are there, and with `deep` that the index says of them what a
 * new scan says.
 */
#include "builder/index_pair.h"
#include "builder/index_scan.h"
#include "builder/lake_layout.h"
#include "builder/spill_sort.h"
#include "builder/verify.h"

#include "base/file.h"
#include "loader/version.h"

#include <stdio.h>
#include <stdlib.h>

struct lake_check {
    struct dx_verify *w;
    struct dx_version *v;
    struct dx_index_lake lake;
    struct dx_registry registry; /* for the totals that the scan finds */
    struct dx_dictionary_cursor names;
    uint64_t ordinal;   /* of the domain that the pairs are at; domains: before the first */
    uint64_t domain_id; /* of that domain */
    struct dx_span key; /* its key, in names */
    uint32_t rank;      /* of the next dataset in its set */
    struct dx_buf runs, payload;
    uint64_t shard_sums[DX_POSTINGS_SHARDS];
};

static int damage(struct lake_check *c, const struct dx_error *why, struct dx_error *err)
{
    if (why->code == DX_E_NOMEM || why->code == DX_E_IO) {
        if (err != NULL)
            *err = *why;
        return (int)why->code;
    }
    dx_verify_found(c->w, "%s", why->text);
    return DX_OK;
}

/* The files that pages.dxp names, as the scan wants them. Missing or short ones are said. */
static int list_files(struct lake_check *c, bool *all_there, struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    struct dx_pages_file file;
    struct dx_lake_path parsed;
    char path[DX_LAKE_PATH_MAX];

    *all_there = true;
    c->lake.files = calloc(c->v->pages.files + 1, sizeof *c->lake.files);
    if (c->lake.files == NULL)
        return dx_fail(err, DX_E_NOMEM, "verify: out of memory");
    for (uint64_t i = 0; i < c->v->pages.files; i++) {
        struct dx_index_file *f = &c->lake.files[i];
        uint64_t size = 0;
        char *full = NULL;
        int rc = dx_pages_file(&c->v->pages, i, &file, &why);

        if (rc <= 0) {
            *all_there = false;
            return damage(c, &why, err);
        }
        f->dataset_id = file.dataset_id;
        f->path = strndup((const char *)file.path.data, file.path.size);
        if (f->path == NULL ||
            asprintf(&full, "%s/%s%s", c->v->root, c->v->entry.parquet_root, f->path) < 0)
            return dx_fail(err, DX_E_NOMEM, "verify: out of memory");
        c->lake.file_count = (size_t)i + 1;
        rc = dx_file_size(full, &size, &why);
        if (rc < 0)
            dx_verify_found(c->w, "%s", why.text);
        else if (size != file.size)
            dx_verify_found(c->w, "%s: %llu bytes, the index says %llu", full,
                            (unsigned long long)size, (unsigned long long)file.size);
        *all_there = *all_there && rc == DX_OK && size == file.size;
        free(full);
        (void)snprintf(path, sizeof path, DX_LAKE_DIR "/%s", f->path);
        f->prefix_first = 0;
        f->prefix_last = 255;
        if (dx_lake_path_parse(dx_span_str(path), &parsed)) {
            f->prefix_first = parsed.first;
            f->prefix_last = parsed.last;
        }
        f->prefix = strdup("00-ff"); /* only for messages here */
        if (f->prefix == NULL)
            return dx_fail(err, DX_E_NOMEM, "verify: out of memory");
    }
    return DX_OK;
}

/* Moves to the domain of the pair; all datasets of the one before must have come. */
static int to_domain(struct lake_check *c, const struct dx_index_pair *pair, struct dx_error *why)
{
    struct dx_dataset_set set;
    struct dx_span domain = dx_index_pair_domain(pair);
    int rc;

    if (c->ordinal < c->v->entry.domains) {
        if (dx_span_equal(c->key, pair->surt))
            return DX_OK;
        rc = dx_membership_get(&c->v->membership, c->ordinal, &set, why);
        if (rc < 0)
            return rc;
        if (dx_dataset_set_count(&set) != c->rank)
            return dx_fail(why, DX_E_CORRUPT,
                           "domain %llu: the lake has it in %u datasets, its set "
                           "in %u",
                           (unsigned long long)c->ordinal, (unsigned)c->rank,
                           (unsigned)dx_dataset_set_count(&set));
        c->ordinal++;
    } else {
        c->ordinal = 0;
    }
    rc = dx_dictionary_next(&c->names, &c->key, why);
    if (rc < 0)
        return rc;
    if (rc == 0 || !dx_span_equal(c->key, pair->surt))
        return dx_fail(why, DX_E_CORRUPT,
                       "%.*s is in the lake, but not at ordinal %llu of the "
                       "dictionary",
                       (int)domain.size, (const char *)domain.data, (unsigned long long)c->ordinal);
    c->rank = 0;
    rc = dx_mphf_domain_id(&c->v->mphf, c->ordinal, domain, &c->domain_id, why);
    return rc < 0 ? rc : DX_OK;
}

static int check_pair(struct lake_check *c, const struct dx_index_pair *pair, struct dx_error *why)
{
    struct dx_span domain = dx_index_pair_domain(pair);
    struct dx_pair_count count;
    struct dx_dataset_set set;
    uint32_t shard;
    uint32_t rank;
    int rc = to_domain(c, pair, why);

    if (rc == DX_OK)
        rc = dx_membership_get(&c->v->membership, c->ordinal, &set, why);
    if (rc < 0)
        return rc;
    if (dx_dataset_set_rank(&set, pair->dataset_id, &rank) != 1 || rank != c->rank)
        return dx_fail(why, DX_E_CORRUPT, "%.*s is in dataset %u by the lake, but not by its set",
                       (int)domain.size, (const char *)domain.data, (unsigned)pair->dataset_id);
    c->rank++;
    rc = dx_counts_one(&c->v->counts, c->ordinal, rank, &count, why);
    if (rc < 0)
        return rc;
    if (count.url_count != pair->count.url_count || count.row_count != pair->count.row_count ||
        count.has_ts != pair->count.has_ts ||
        (count.has_ts &&
         (count.first_us != pair->count.first_us || count.last_us != pair->count.last_us)))
        dx_verify_found(c->w,
                        "%.*s in dataset %u: the lake has %llu URLs in %llu rows, the counts "
                        "say %llu in %llu, or other times",
                        (int)domain.size, (const char *)domain.data, (unsigned)pair->dataset_id,
                        (unsigned long long)pair->count.url_count,
                        (unsigned long long)pair->count.row_count,
                        (unsigned long long)count.url_count, (unsigned long long)count.row_count);
    dx_buf_clear(&c->runs);
    dx_buf_clear(&c->payload);
    rc = dx_index_pair_runs(pair->runs, &c->runs, why);
    if (rc == DX_OK)
        rc = dx_payload_encode(&c->v->entry.build, c->domain_id, pair->dataset_id,
                               (const struct dx_run *)(const void *)c->runs.data,
                               c->runs.size / sizeof(struct dx_run), &c->payload, why);
    if (rc < 0)
        return rc;
    shard = dx_postings_shard_of(c->domain_id);
    c->shard_sums[shard] += dx_verify_payload_sum(c->domain_id, pair->dataset_id,
                                                  dx_span_of(c->payload.data, c->payload.size));
    return DX_OK;
}

static int compare_files(struct lake_check *c, struct dx_error *why)
{
    struct dx_pages_file file;

    for (size_t i = 0; i < c->lake.file_count; i++) {
        const struct dx_index_file *f = &c->lake.files[i];
        int rc = dx_pages_file(&c->v->pages, i, &file, why);

        if (rc < 0)
            return rc;
        if (rc == 0 || !dx_hash128_equal(&file.hash, &f->hash) || file.rows != f->rows ||
            file.row_groups != f->row_groups)
            dx_verify_found(c->w,
                            "%s: not the file that was indexed (its hash, rows or row groups "
                            "differ)",
                            f->path);
    }
    return DX_OK;
}

/* The record of each row group (page places and sums) against a new one. */
static int compare_groups(struct lake_check *c, struct dx_error *why)
{
    struct dx_span key;
    struct dx_span record;
    int rc;

    while ((rc = dx_spill_sort_next(c->lake.groups, &key, &record, why)) == 1) {
        struct dx_page_group fresh;
        struct dx_page_group kept;
        struct dx_pages_file file;
        uint32_t group;

        if (key.size != 8)
            return dx_fail(why, DX_E_CORRUPT, "verify: a record of a row group has a bad key");
        group = __builtin_bswap32(dx_load_u32(key.data + 4));
        rc = dx_pages_file(&c->v->pages, __builtin_bswap32(dx_load_u32(key.data)), &file, why);
        if (rc == 1)
            rc = dx_pages_group(&c->v->pages, &file, group, &kept, why);
        if (rc == 1)
            rc = dx_page_group_open(&fresh, record, file.size, "scan", why);
        if (rc < 0)
            return rc;
        if (fresh.rows != kept.rows || fresh.columns != kept.columns ||
            dx_bytes_left(&fresh.at) > dx_bytes_left(&kept.at) ||
            memcmp(fresh.at.at, kept.at.at, dx_bytes_left(&fresh.at)) != 0)
            dx_verify_found(c->w,
                            "%.*s: row group %u: " DX_FILE_PAGES " does not say where its "
                            "pages are",
                            (int)file.path.size, (const char *)file.path.data, (unsigned)group);
    }
    return rc < 0 ? rc : DX_OK;
}

static int compare(struct lake_check *c, struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    struct dx_index_pair pair;
    struct dx_span key;
    struct dx_span value;
    uint64_t pairs = 0;
    int rc;

    dx_verify_phase(c->w, "comparing the index with the lake");
    c->ordinal = c->v->entry.domains;
    dx_dictionary_seek(&c->names, &c->v->dictionary, 0);
    while ((rc = dx_spill_sort_next(c->lake.pairs, &key, &value, &why)) == 1) {
        rc = dx_index_pair_decode(key, value, &pair, &why);
        if (rc == DX_OK)
            rc = check_pair(c, &pair, &why);
        if (rc < 0)
            break;
        pairs++;
    }
    if (rc == 0 && pairs != c->v->entry.pairs)
        rc = dx_fail(&why, DX_E_CORRUPT,
                     "the lake has %llu (domain, dataset) pairs, the index %llu",
                     (unsigned long long)pairs, (unsigned long long)c->v->entry.pairs);
    if (rc == 0)
        rc = compare_files(c, &why);
    if (rc == 0)
        rc = compare_groups(c, &why);
    if (rc < 0)
        return damage(c, &why, err);
    for (uint32_t s = 0; s < DX_POSTINGS_SHARDS; s++)
        if (c->shard_sums[s] != c->w->shard_sums[s])
            dx_verify_found(c->w, "postings of shard %03x do not name the rows that the lake has",
                            (unsigned)s);
    return DX_OK;
}

static int scan(struct lake_check *c, struct dx_error *err)
{
    const struct dx_index_scan_options options = { .tmp_dir = c->w->options->tmp_dir,
                                                   .memory = c->w->options->memory,
                                                   .threads = c->w->options->threads };
    struct dx_buf text = DX_BUF_INIT(DX_REGISTRY_MAX);
    struct dx_error why = DX_ERROR_INIT;
    char *root = NULL;
    int rc = dx_registry_write(&c->v->registry, &text, &why);

    if (rc == DX_OK)
        rc = dx_registry_parse(&c->registry, dx_span_of(text.data, text.size), DX_FILE_DATASETS,
                               &why);
    dx_buf_release(&text);
    if (rc == DX_OK && asprintf(&root, "%s/%s", c->v->root, c->v->entry.parquet_root) < 0) {
        root = NULL;
        rc = dx_fail(&why, DX_E_NOMEM, "verify: out of memory");
    }
    if (rc == DX_OK) {
        dx_verify_phase(c->w, "reading all rows of the lake");
        c->lake.root = root;
        c->lake.registry = &c->registry;
        rc = dx_index_scan(&c->lake, &options, &why);
    }
    if (rc == DX_OK) {
        rc = compare(c, err);
        dx_index_lake_release(&c->lake);
    } else {
        rc = damage(c, &why, err);
    }
    free(root);
    return rc;
}

int dx_verify_lake(struct dx_verify *w, struct dx_error *err)
{
    struct lake_check c = { .w = w, .v = w->version, .registry = DX_REGISTRY_INIT };
    uint64_t before = w->result->damages;
    bool all_there = false;
    int rc;

    dx_verify_phase(w, "looking for the files of the lake");
    dx_buf_init(&c.runs, SIZE_MAX / 4);
    dx_buf_init(&c.payload, DX_PAYLOAD_MAX);
    rc = list_files(&c, &all_there, err);
    /* Against an index that contradicts itself a comparison says nothing new. */
    if (rc == DX_OK && w->options->deep && all_there && before == 0)
        rc = scan(&c, err);
    for (size_t i = 0; c.lake.files != NULL && i < c.lake.file_count; i++) {
        free(c.lake.files[i].path);
        free(c.lake.files[i].prefix);
    }
    free(c.lake.files);
    dx_registry_release(&c.registry);
    dx_buf_release(&c.runs);
    dx_buf_release(&c.payload);
    return rc;
}
