/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/index_build.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/id_hash.h"
#include "builder/index_base.h"
#include "builder/index_identity.h"
#include "builder/index_ids.h"
#include "builder/index_merge.h"
#include "builder/index_out.h"
#include "builder/index_pair.h"
#include "builder/index_postings.h"
#include "builder/index_scan.h"
#include "builder/spill_file.h"
#include "builder/spill_sort.h"
#include "canon/url.h"
#include "format/dictionary.h"
#include "format/manifest.h"
#include "format/membership.h"
#include "format/mphf.h"
#include "format/pages.h"
#include "format/zseek.h"
#include "loader/version.h"

#define DOMAIN_BYTES_MAX (1u << 30) /* pairs of one domain: millions of datasets */
#define MPHF_SEEDS 16
#define NAMES_LEVEL 5   /* of zstd: twice as fast as 9, for 7 % more bytes */
#define POSTING_LANES 2 /* halves of the shards, sorted by a thread each */
#define MPHF_MEMORY_MIN (16u << 20)

/* The pairs come by domain, then dataset. They are gone over twice: what stands in front of
 * a file (numbers of domains, smallest time) is known only after the last pair. */
struct build {
    struct dx_index_lake *lake;
    const struct dx_index_identity *id;
    const struct dx_index_options *options;
    struct dx_manifest_version *entry;
    struct dx_index_stats *stats;
    struct dx_index_merge merge;

    /* the domain at hand */
    uint8_t surt_text[DX_SURT_MAX];
    size_t surt_size;
    uint8_t domain_text[DX_SURT_MAX];
    size_t domain_size;
    struct dx_buf ids;    /* u32 dataset_ids */
    struct dx_buf counts; /* struct dx_pair_count */

    /* what the first pass finds */
    uint64_t *hashes;
    size_t hashes_size; /* bytes of the mapping */
    uint64_t n;
    struct dx_dictionary_info info;
    struct dx_counts_totals totals;
    struct dx_set_store sets;
    bool sets_live;
    struct dx_spill_file *set_entries;
    struct dx_index_ids domain_ids;

    /* for the second sort */
    struct dx_spill_sort *postings;
    uint64_t shard_pairs[DX_POSTINGS_SHARDS];
    bool touched[DX_POSTINGS_SHARDS]; /* a pair came, changed or went */
};

const char *dx_index_phase_name(enum dx_index_phase phase)
{
    static const char *const names[DX_INDEX_PHASES] = { "names", "mphf", "counts", "postings",
                                                        "pages" };

    return (unsigned)phase < DX_INDEX_PHASES ? names[phase] : "unknown";
}

/* ---- pairs, domain by domain ---- */

struct pass {
    struct build *b;
    /* a pair, while it is borrowed; may be NULL. Pairs that are dropped are no domain's. */
    int (*pair)(struct pass *p, const struct dx_index_pair *pair, enum dx_index_origin origin,
                struct dx_error *err);
    /* all pairs of a domain, in b->ids and b->counts */
    int (*domain)(struct pass *p, uint64_t ordinal, struct dx_error *err);
    uint64_t seed; /* of the hashes */
    struct dx_zseek_writer text;
    struct dx_dictionary_writer dictionary;
    struct dx_counts_writer counts;
};

static struct dx_span domain_at_hand(const struct build *b)
{
    return dx_span_of(b->domain_text, b->domain_size);
}

static int end_domain(struct pass *p, uint64_t *ordinal, struct dx_error *err)
{
    struct build *b = p->b;
    int rc;

    if (b->ids.size == 0)
        return DX_OK;
    if (b->ids.failed || b->counts.failed)
        return dx_buf_fail(b->ids.failed ? &b->ids : &b->counts, err, "pairs of a domain");
    rc = p->domain(p, *ordinal, err);
    dx_buf_clear(&b->ids);
    dx_buf_clear(&b->counts);
    ++*ordinal;
    return rc;
}

static int take_pair(struct pass *p, const struct dx_index_pair *pair, uint64_t *ordinal,
                     struct dx_error *err)
{
    struct build *b = p->b;
    int rc = DX_OK;

    if (!dx_span_equal(pair->surt, dx_span_of(b->surt_text, b->surt_size))) {
        rc = end_domain(p, ordinal, err);
        memcpy(b->surt_text, pair->surt.data, pair->surt.size);
        memcpy(b->domain_text, pair->domain_text, pair->domain_size);
        b->surt_size = pair->surt.size;
        b->domain_size = pair->domain_size;
    }
    dx_buf_append(&b->ids, &pair->dataset_id, sizeof pair->dataset_id);
    dx_buf_append(&b->counts, &pair->count, sizeof pair->count);
    return rc;
}

static int go_over(struct pass *p, struct dx_error *err)
{
    struct build *b = p->b;
    enum dx_index_origin origin;
    const struct dx_index_pair *pair;
    uint64_t ordinal = 0;
    int rc = dx_index_merge_begin(&b->merge, b->lake, err);

    dx_buf_clear(&b->ids);
    dx_buf_clear(&b->counts);
    b->surt_size = 0;
    while (rc == DX_OK && (rc = dx_index_merge_next(&b->merge, &pair, &origin, err)) == 1) {
        rc = origin == DX_INDEX_DROPPED ? DX_OK : take_pair(p, pair, &ordinal, err);
        if (rc == DX_OK && p->pair != NULL)
            rc = p->pair(p, pair, origin, err);
        if (rc != DX_OK)
            return rc;
    }
    return rc < 0 ? rc : end_domain(p, &ordinal, err);
}

static const uint32_t *ids_of(const struct build *b, size_t *count)
{
    *count = b->ids.size / sizeof(uint32_t);
    return (const uint32_t *)(const void *)b->ids.data;
}

static const struct dx_pair_count *counts_of(const struct build *b, size_t *count)
{
    *count = b->counts.size / sizeof(struct dx_pair_count);
    return (const struct dx_pair_count *)(const void *)b->counts.data;
}

/* ---- first pass: domains.txt, sets, totals, hashes ---- */

static int names_domain(struct pass *p, uint64_t ordinal, struct dx_error *err)
{
    struct build *b = p->b;
    uint32_t entry = 0;
    size_t count;
    const uint32_t *ids = ids_of(b, &count);
    uint8_t stored[4];
    int rc;

    if (ordinal >= DX_DICTIONARY_N_MAX)
        return dx_fail(err, DX_E_LIMIT, "over %lu domains", (unsigned long)DX_DICTIONARY_N_MAX);
    b->hashes[ordinal] = dx_id64(domain_at_hand(b));
    b->n = ordinal + 1;
    if (b->surt_size > b->info.longest_key)
        b->info.longest_key = (uint32_t)b->surt_size;
    rc = dx_zseek_writer_line(&p->text, domain_at_hand(b), err);
    if (rc == DX_OK)
        rc = dx_set_store_add(&b->sets, ids, count, &entry, err);
    dx_store_u32(stored, entry);
    if (rc == DX_OK)
        rc = dx_spill_file_append(b->set_entries, dx_span_of(stored, sizeof stored), err);
    if (rc == DX_OK)
        rc = dx_counts_totals_add(&b->totals, counts_of(b, &count), count, err);
    return rc;
}

static int write_names(struct build *b, struct dx_error *err)
{
    struct dx_index_out out = DX_INDEX_OUT_INIT;
    struct pass p = { .b = b, .domain = names_domain };
    int rc = dx_index_out_open(&out, b->options->dir, DX_FILE_DOMAINS_TXT, b->options->sync, err);

    if (rc != DX_OK)
        return rc;
    rc = dx_zseek_writer_init(&p.text, NAMES_LEVEL, dx_index_out_sink, &out, err);
    if (rc == DX_OK) {
        rc = go_over(&p, err);
        if (rc == DX_OK)
            rc = dx_zseek_writer_finish(&p.text, err);
        b->info.n = b->n;
        b->info.text_hash = p.text.plain_hash;
        dx_zseek_writer_release(&p.text);
    }
    if (rc == DX_OK)
        rc = dx_index_out_commit(&out, b->entry, err);
    dx_index_out_abort(&out);
    return rc;
}

static int add_set_entries(void *ctx, struct dx_span piece, struct dx_error *err)
{
    uint32_t entries[1024];
    int rc = DX_OK;

    /* Pieces are whole entries: their size and that of the file are multiples of 4. */
    for (size_t at = 0; rc == DX_OK && at < piece.size;) {
        size_t n = (piece.size - at) / 4;

        n = n > 1024 ? 1024 : n;
        for (size_t i = 0; i < n; i++)
            entries[i] = dx_load_u32(piece.data + at + 4 * i);
        rc = dx_membership_writer_entries(ctx, entries, n, err);
        at += 4 * n;
    }
    return rc;
}

static int write_membership(struct build *b, struct dx_error *err)
{
    struct dx_index_out out = DX_INDEX_OUT_INIT;
    struct dx_membership_writer w;
    int rc = dx_index_out_open(&out, b->options->dir, DX_FILE_MEMBERSHIP, b->options->sync, err);

    if (rc != DX_OK)
        return rc;
    rc = dx_membership_writer_begin(&w, &b->sets, &b->id->build, dx_index_out_sink, &out, err);
    if (rc == DX_OK)
        rc = dx_spill_file_replay(b->set_entries, add_set_entries, &w, err);
    if (rc == DX_OK)
        rc = dx_membership_writer_end(&w, err);
    dx_membership_writer_release(&w);
    if (rc == DX_OK)
        rc = dx_index_out_commit(&out, b->entry, err);
    dx_index_out_abort(&out);
    dx_set_store_release(&b->sets);
    b->sets_live = false;
    dx_spill_file_free(&b->set_entries);
    return rc;
}

/* ---- ids and the perfect hash ---- */

static int collect_name(struct pass *p, uint64_t ordinal, struct dx_error *err)
{
    return dx_index_ids_name(&p->b->domain_ids, domain_at_hand(p->b), ordinal, err);
}

static int find_ids(struct build *b, struct dx_error *err)
{
    struct pass p = { .b = b, .domain = collect_name };
    int rc = dx_index_ids_find(&b->domain_ids, b->hashes, b->n, b->options->hash_bits, err);

    /* Who has which id depends on all who share the hash: shards that did not change might. */
    if (rc == DX_OK && b->domain_ids.needs_names && b->lake->base != NULL)
        return DX_INDEX_FULL;
    if (rc == DX_OK && b->domain_ids.needs_names) {
        rc = go_over(&p, err);
        if (rc == DX_OK)
            rc = dx_index_ids_resolve(&b->domain_ids, b->hashes, err);
    }
    b->stats->collisions = b->domain_ids.collisions.size / sizeof(struct dx_collision);
    return rc;
}

static int hash_domain(struct pass *p, uint64_t ordinal, struct dx_error *err)
{
    (void)err;
    p->b->hashes[ordinal] = dx_mphf_hash(domain_at_hand(p->b), p->seed);
    return DX_OK;
}

static int try_seeds(struct build *b, struct dx_mphf_built *built, size_t memory, uint64_t seed,
                     struct dx_error *err)
{
    struct pass p = { .b = b, .domain = hash_domain };
    int rc = DX_MPHF_RESEED;

    for (; rc == DX_MPHF_RESEED && seed < MPHF_SEEDS; seed++) {
        p.seed = seed;
        rc = seed == 0 ? DX_OK : go_over(&p, err);
        if (rc == DX_OK)
            rc = dx_mphf_build(built, b->hashes, b->n, seed, memory, b->options->threads, err);
    }
    return rc == DX_MPHF_RESEED
               ? dx_fail(err, DX_E_LIMIT, "no perfect hash found with %d seeds", MPHF_SEEDS)
               : rc;
}

/* Equal hashes have no perfect hash, so where there is one for seed 0, no two domains have one id,
 * and nobody need look for them. */
static int find_mphf(struct build *b, struct dx_mphf_built *built, struct dx_error *err)
{
    size_t half = b->options->memory / 2;
    size_t used = (size_t)b->n * 8;
    size_t memory = half > used + MPHF_MEMORY_MIN ? half - used : MPHF_MEMORY_MIN;
    uint64_t seed = 0;
    int rc;

    dx_index_ids_distinct(&b->domain_ids, b->n);
    if (b->options->hash_bits == 0) {
        rc = dx_mphf_build(built, b->hashes, b->n, seed++, memory, b->options->threads, err);
        if (rc != DX_MPHF_RESEED)
            return rc;
    }
    rc = find_ids(b, err);
    return rc == DX_OK ? try_seeds(b, built, memory, seed, err) : rc;
}

static int write_mphf(struct build *b, struct dx_error *err)
{
    struct dx_index_out out = DX_INDEX_OUT_INIT;
    struct dx_mphf_built built = { 0 };
    int rc = dx_index_out_open(&out, b->options->dir, DX_FILE_DOMAINS_MPHF, b->options->sync, err);

    if (rc != DX_OK)
        return rc;
    rc = find_mphf(b, &built, err);
    if (rc == DX_OK)
        rc = dx_mphf_write(&built, b->hashes, &b->info.text_hash,
                           (const struct dx_collision *)(const void *)b->domain_ids.collisions.data,
                           b->domain_ids.collisions.size / sizeof(struct dx_collision),
                           &b->id->build, dx_index_out_sink, &out, err);
    dx_mphf_built_release(&built);
    if (rc == DX_OK)
        rc = dx_index_out_commit(&out, b->entry, err);
    dx_index_out_abort(&out);
    return rc;
}

/* ---- second pass: dictionary, counts, and the pairs into the order of the postings ---- */

static int counts_domain(struct pass *p, uint64_t ordinal, struct dx_error *err)
{
    struct build *b = p->b;
    size_t count;
    const struct dx_pair_count *counts = counts_of(b, &count);
    int rc = dx_dictionary_writer_add(&p->dictionary, dx_span_of(b->surt_text, b->surt_size), err);

    (void)ordinal;
    return rc == DX_OK ? dx_counts_writer_add(&p->counts, counts, count, err) : rc;
}

static int posting_pair(struct pass *p, const struct dx_index_pair *pair,
                        enum dx_index_origin origin, struct dx_error *err)
{
    struct build *b = p->b;
    uint8_t key[DX_INDEX_POSTINGS_KEY];
    uint64_t id;

    if (origin == DX_INDEX_DROPPED) {
        b->touched[dx_postings_shard_of(dx_id64(dx_index_pair_domain(pair)))] = true;
        return DX_OK;
    }
    /* The pair's domain is the one whose pairs are being collected: its ordinal is the
     * number of domains that the dictionary has so far. */
    id = dx_index_ids_next(&b->domain_ids, dx_index_pair_domain(pair), p->dictionary.n);
    b->shard_pairs[dx_postings_shard_of(id)]++;
    if (origin == DX_INDEX_KEPT)
        return DX_OK;
    b->touched[dx_postings_shard_of(id)] = true;
    dx_index_postings_key(id, pair->dataset_id, key);
    return dx_spill_sort_add(b->postings, (unsigned)key[0] * POSTING_LANES >> 8,
                             dx_span_of(key, sizeof key), pair->runs, err);
}

static int write_counts(struct build *b, struct dx_error *err)
{
    struct dx_index_out dictionary = DX_INDEX_OUT_INIT;
    struct dx_index_out counts = DX_INDEX_OUT_INIT;
    struct pass p = { .b = b, .pair = posting_pair, .domain = counts_domain };
    int rc = dx_index_out_open(&dictionary, b->options->dir, DX_FILE_DOMAINS_DICT, b->options->sync,
                               err);

    if (rc == DX_OK)
        rc = dx_index_out_open(&counts, b->options->dir, DX_FILE_COUNTS, b->options->sync, err);
    if (rc == DX_OK)
        rc = dx_dictionary_writer_init(&p.dictionary, &b->info, &b->id->build, dx_index_out_sink,
                                       &dictionary, err);
    if (rc == DX_OK)
        rc = dx_counts_writer_begin(&p.counts, &b->totals, &b->id->build, dx_index_out_sink,
                                    &counts, err);
    if (rc == DX_OK)
        rc = go_over(&p, err);
    if (rc == DX_OK)
        rc = dx_dictionary_writer_finish(&p.dictionary, err);
    if (rc == DX_OK)
        rc = dx_counts_writer_end(&p.counts, err);
    dx_dictionary_writer_release(&p.dictionary);
    dx_counts_writer_release(&p.counts);
    if (rc == DX_OK)
        rc = dx_index_out_commit(&dictionary, b->entry, err);
    if (rc == DX_OK)
        rc = dx_index_out_commit(&counts, b->entry, err);
    dx_index_out_abort(&dictionary);
    dx_index_out_abort(&counts);
    return rc;
}

static int write_postings(struct build *b, struct dx_error *err)
{
    struct dx_index_postings job = { .dir = b->options->dir,
                                     .tmp_dir = b->options->tmp_dir,
                                     .sorted = b->postings,
                                     .shard_pairs = b->shard_pairs,
                                     .build = b->id->build,
                                     .memory_bytes = b->options->memory / 8,
                                     .threads = b->options->threads,
                                     .sync = b->options->sync,
                                     .entry = b->entry,
                                     .lake = b->lake,
                                     .touched = b->touched };
    int rc = dx_spill_sort_finish(b->postings, err);

    if (rc == DX_OK)
        rc = dx_index_postings_write(&job, err);
    b->stats->shards_rewritten = job.written;
    b->stats->shards_shared = job.shared;
    return rc;
}

/* ---- what the scan found about files ---- */

/* The record of a row group, from the base or from the scan: that is in order of file_ids. */
static int next_group(struct build *b, size_t file, uint32_t number, struct dx_span *record,
                      struct dx_error *err)
{
    const char *path = b->lake->files[file].path;
    struct dx_pages_file known;
    struct dx_page_group group = { 0 };
    struct dx_span key;
    int rc;

    if (dx_index_stays(b->lake, file)) {
        rc = dx_pages_file(&b->lake->base->pages, file, &known, err);
        if (rc == 1)
            rc = dx_pages_group(&b->lake->base->pages, &known, number, &group, err);
        *record = group.record;
    } else {
        rc = dx_spill_sort_next(b->lake->groups, &key, record, err);
    }
    if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: row group %lu is lost", path, (unsigned long)number);
    return rc < 0 ? rc : DX_OK;
}

static int pages_of_files(struct build *b, struct dx_pages_writer *w, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < b->lake->file_count; i++) {
        const struct dx_index_file *from = &b->lake->files[i];
        struct dx_pages_file file = { .file_id = (uint32_t)i,
                                      .dataset_id = from->dataset_id,
                                      .row_groups = from->row_groups,
                                      .rows = from->rows,
                                      .size = from->size,
                                      .hash = from->hash };

        if (from->path != NULL)
            file.path = dx_span_str(from->path);
        rc = dx_pages_writer_file(w, &file, err);
        for (uint32_t g = 0; rc == DX_OK && g < from->row_groups; g++) {
            struct dx_span record = { NULL, 0 };

            rc = next_group(b, i, g, &record, err);
            if (rc == DX_OK)
                rc = dx_pages_writer_group(w, record, err);
        }
    }
    return rc;
}

static int write_pages(struct build *b, struct dx_error *err)
{
    struct dx_index_out out = DX_INDEX_OUT_INIT;
    struct dx_pages_writer w = { 0 };
    int rc = dx_index_out_open(&out, b->options->dir, DX_FILE_PAGES, b->options->sync, err);

    if (rc != DX_OK)
        return rc;
    rc = dx_pages_writer_begin(&w, b->lake->file_count, b->lake->row_groups, b->lake->rows,
                               &b->id->build, dx_index_out_sink, &out, err);
    if (rc == DX_OK)
        rc = pages_of_files(b, &w, err);
    if (rc == DX_OK)
        rc = dx_pages_writer_end(&w, err);
    dx_pages_writer_release(&w);
    if (rc == DX_OK)
        rc = dx_index_out_commit(&out, b->entry, err);
    dx_index_out_abort(&out);
    return rc;
}

static int write_files(struct build *b, struct dx_error *err)
{
    struct dx_index_out out = DX_INDEX_OUT_INIT;
    struct dx_bytes lines = dx_bytes_of(dx_span_of(b->id->files.data, b->id->files.size));
    struct dx_zseek_writer w = { 0 };
    int rc = dx_index_out_open(&out, b->options->dir, DX_FILE_FILES_TSV, b->options->sync, err);

    if (rc != DX_OK)
        return rc;
    rc = dx_zseek_writer_init(&w, 0, dx_index_out_sink, &out, err);
    while (rc == DX_OK && dx_bytes_left(&lines) > 0) {
        const uint8_t *end = memchr(lines.at, '\n', dx_bytes_left(&lines));
        struct dx_span line = dx_bytes_take(&lines, end == NULL ? dx_bytes_left(&lines)
                                                                : (size_t)(end - lines.at));

        rc = dx_zseek_writer_line(&w, line, err);
        if (end != NULL)
            (void)dx_bytes_u8(&lines);
    }
    if (rc == DX_OK)
        rc = dx_zseek_writer_finish(&w, err);
    dx_zseek_writer_release(&w);
    if (rc == DX_OK)
        rc = dx_index_out_commit(&out, b->entry, err);
    dx_index_out_abort(&out);
    return rc;
}

static int write_lake(struct build *b, struct dx_error *err)
{
    const char *dir = b->options->dir;
    int rc = write_pages(b, err);

    if (rc == DX_OK)
        rc = write_files(b, err);
    if (rc == DX_OK)
        rc = dx_index_out_whole(dir, DX_FILE_DATASETS,
                                dx_span_of(b->id->datasets.data, b->id->datasets.size),
                                b->options->sync, b->entry, err);
    if (rc == DX_OK)
        rc = dx_index_out_whole(dir, DX_FILE_PSL, b->options->psl_text, b->options->sync, b->entry,
                                err);
    return rc;
}

/* ---- all of it ---- */

static int build_init(struct build *b, struct dx_error *err)
{
    size_t memory = b->options->memory;
    uint64_t pairs = dx_spill_sort_count(b->lake->pairs) +
                     (b->lake->base == NULL ? 0 : b->lake->base->entry.domains);

    dx_buf_init(&b->ids, DOMAIN_BYTES_MAX);
    dx_buf_init(&b->counts, DOMAIN_BYTES_MAX);
    dx_counts_totals_init(&b->totals);
    dx_set_store_init(&b->sets, memory / 8);
    b->sets_live = true;
    /* Address space for the case that no domain is in two datasets; touched as used. */
    b->hashes_size = (size_t)pairs * 8 + 8;
    b->hashes = mmap(NULL, b->hashes_size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (b->hashes == MAP_FAILED) {
        b->hashes = NULL;
        return dx_fail(err, DX_E_NOMEM, "no address space for %llu hashes",
                       (unsigned long long)pairs);
    }
    return dx_spill_file_new(&b->set_entries, b->options->tmp_dir, err);
}

static void drop_hashes(struct build *b)
{
    if (b->hashes != NULL)
        (void)munmap(b->hashes, b->hashes_size);
    b->hashes = NULL;
}

static void build_release(struct build *b)
{
    dx_buf_release(&b->ids);
    dx_buf_release(&b->counts);
    dx_index_merge_release(&b->merge);
    drop_hashes(b);
    if (b->sets_live)
        dx_set_store_release(&b->sets);
    dx_spill_file_free(&b->set_entries);
    dx_index_ids_release(&b->domain_ids);
    dx_spill_sort_free(&b->postings);
}

static int names_phase(struct build *b, struct dx_error *err)
{
    int rc = write_names(b, err);

    return rc == DX_OK ? write_membership(b, err) : rc;
}

static int mphf_phase(struct build *b, struct dx_error *err)
{
    uint64_t need = b->n * 8 + b->n / 2;
    int rc;

    if (need > b->options->memory / 2)
        return dx_fail(err, DX_E_LIMIT,
                       "%llu domains: the perfect hash needs %llu MiB, which is "
                       "over half of --memory: give at least --memory %lluM",
                       (unsigned long long)b->n, (unsigned long long)(need >> 20),
                       (unsigned long long)((need * 2 >> 20) + 1));
    rc = write_mphf(b, err);
    drop_hashes(b);
    return rc;
}

static void count_spilled(struct build *b, const struct dx_spill_sort *sort)
{
    struct dx_spill_sort_stats stats;

    dx_spill_sort_get_stats(sort, &stats);
    b->stats->spilled_bytes += stats.spilled_bytes;
}

static int counts_phase(struct build *b, struct dx_error *err)
{
    struct dx_spill_sort_options sort = { .dir = b->options->tmp_dir,
                                          .memory_bytes = b->options->memory / 8 * 3,
                                          .lanes = POSTING_LANES,
                                          .unique = true };
    int rc = dx_spill_sort_new(&b->postings, &sort, err);

    if (rc == DX_OK)
        rc = write_counts(b, err);
    count_spilled(b, b->lake->pairs);
    dx_index_merge_release(&b->merge); /* its thread reads them */
    dx_spill_sort_free(&b->lake->pairs);
    return rc;
}

static int postings_phase(struct build *b, struct dx_error *err)
{
    int rc = write_postings(b, err);

    count_spilled(b, b->postings);
    dx_spill_sort_free(&b->postings);
    return rc;
}

static void fill_entry(const struct build *b)
{
    struct dx_manifest_version *e = b->entry;

    e->build = b->id->build;
    e->canon_version = DX_CANON_VERSION;
    e->domains = b->n;
    e->pairs = b->totals.pairs;
    e->rows = b->totals.row_count;
    e->urls = b->totals.url_count;
    e->lake_files = 0;
    for (size_t i = 0; i < b->lake->file_count; i++)
        e->lake_files += b->lake->files[i].path != NULL;
    e->file_ids = b->lake->file_count;
    e->psl_hash = b->id->psl_hash;
}

int dx_index_build(struct dx_index_lake *lake, const struct dx_index_identity *id,
                   const struct dx_index_options *options, struct dx_manifest_version *entry,
                   struct dx_index_stats *stats, struct dx_error *err)
{
    static int (*const phases[DX_INDEX_PHASES])(struct build *, struct dx_error *) = {
        [DX_INDEX_NAMES] = names_phase,   [DX_INDEX_MPHF] = mphf_phase,
        [DX_INDEX_COUNTS] = counts_phase, [DX_INDEX_POSTINGS] = postings_phase,
        [DX_INDEX_PAGES] = write_lake,
    };
    struct build *b = calloc(1, sizeof *b);
    int rc;

    *stats = (struct dx_index_stats){ 0 };
    if (b == NULL)
        return dx_fail(err, DX_E_NOMEM, "index: out of memory");
    b->lake = lake;
    b->id = id;
    b->options = options;
    b->entry = entry;
    b->stats = stats;
    rc = build_init(b, err);
    for (int i = 0; rc == DX_OK && i < DX_INDEX_PHASES; i++) {
        double begin = dx_clock_s();
        double cpu = dx_clock_cpu_s();

        rc = phases[i](b, err);
        stats->seconds[i] = dx_clock_s() - begin;
        stats->cpu_s[i] = dx_clock_cpu_s() - cpu;
    }
    if (rc == DX_OK && (b->totals.row_count != lake->rows || b->totals.url_count != lake->urls))
        rc = dx_fail(
            err, DX_E_CORRUPT, "%llu rows and %llu URLs were scanned, %llu and %llu were indexed",
            (unsigned long long)lake->rows, (unsigned long long)lake->urls,
            (unsigned long long)b->totals.row_count, (unsigned long long)b->totals.url_count);
    if (rc == DX_OK)
        fill_entry(b);
    build_release(b);
    free(b);
    return rc;
}
