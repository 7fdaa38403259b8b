/* SPDX-License-Identifier: Apache-2.0
 * store_ours - the part of a version that answers "which datasets, with which counts": the
 * dictionary, the hash, the sets and the counts, written by the writers that publish uses and read
 * as the loader reads them. */
#include "bench/peers/store.h"

#include "format/core/dictionary.h"
#include "format/core/membership.h"
#include "format/core/mphf.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum part { DICT, MPHF, SETS, COUNTS, PARTS };

static const char *const part_names[PARTS] = { "domains.dict", "domains.mphf",
                                               "domain_to_datasets.roar", "domain_counts.dxc" };
static const struct dx_build_id build_id = { "bench" };

struct store {
    struct dx_map map[PARTS];
    struct dx_dictionary dict;
    struct dx_mphf mphf;
    struct dx_membership sets;
    struct dx_counts counts;
    struct dx_error err;
};

const char *store_version(void)
{
    return "domaindex";
}

enum store_order store_order(void)
{
    return STORE_BY_SURT;
}

static int sink(void *ctx, struct dx_span bytes, struct dx_error *err)
{
    if (fwrite(bytes.data, 1, bytes.size, ctx) != bytes.size)
        return dx_fail(err, DX_E_IO, "store_ours: cannot write");
    return DX_OK;
}

static FILE *begin(const char *folder, enum part part)
{
    char path[4096];
    FILE *out;

    (void)snprintf(path, sizeof path, "%s/%s", folder, part_names[part]);
    out = fopen(path, "wb");
    if (out == NULL)
        stop(path, "cannot be written");
    return out;
}

static void must(int rc, const struct dx_error *err)
{
    if (rc < 0)
        stop("store_ours", err->text);
}

static void build_names(const char *folder, const struct records *r, const uint32_t *order)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_dictionary_info info = { .n = r->head.count };
    struct dx_hash_state *hashing = dx_hash_state_new();
    uint64_t *hashes = malloc(r->head.count * sizeof *hashes);
    struct dx_dictionary_writer *w = malloc(sizeof *w);
    struct dx_mphf_built built;
    struct dx_span key;
    struct dx_span value;
    FILE *out = begin(folder, DICT);

    if (hashing == NULL || hashes == NULL || w == NULL)
        stop("store_ours", "out of memory");
    for (uint64_t i = 0; i < r->head.count; i++) {
        record_at(r, order[i], &key, &value);
        hashes[i] = dx_mphf_hash(key, 0);
        dx_hash_state_update(hashing, key);
        dx_hash_state_update(hashing, dx_span_str("\n"));
        info.longest_key = key.size > info.longest_key ? (uint32_t)key.size : info.longest_key;
    }
    info.text_hash = dx_hash_state_digest(hashing);
    dx_hash_state_free(&hashing);
    must(dx_dictionary_writer_init(w, &info, &build_id, sink, out, &err), &err);
    for (uint64_t i = 0; i < r->head.count; i++) {
        uint8_t surt[DX_SURT_MAX];

        record_at(r, order[i], &key, &value);
        must(dx_dictionary_writer_add(w, dx_span_of(surt, dx_surt_key(key, surt)), &err), &err);
    }
    must(dx_dictionary_writer_finish(w, &err), &err);
    dx_dictionary_writer_release(w);
    free(w);
    (void)fclose(out);
    out = begin(folder, MPHF);
    if (dx_mphf_build(&built, hashes, info.n, 0, 0, 1, &err) != 0)
        stop("store_ours: mphf, seed 0", err.text);
    must(dx_mphf_write(&built, hashes, &info.text_hash, NULL, 0, &build_id, sink, out, &err), &err);
    dx_mphf_built_release(&built);
    free(hashes);
    (void)fclose(out);
}

static void build_sets(const char *folder, const struct records *r, const uint32_t *order,
                       struct dx_counts_totals *totals)
{
    static struct pairs p;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_membership_writer *w = malloc(sizeof *w);
    uint32_t *entries = malloc(r->head.count * sizeof *entries);
    struct dx_set_store kept;
    FILE *out = begin(folder, SETS);

    if (w == NULL || entries == NULL)
        stop("store_ours", "out of memory");
    dx_set_store_init(&kept, SIZE_MAX / 2);
    dx_counts_totals_init(totals);
    for (uint64_t i = 0; i < r->head.count; i++) {
        struct dx_span key;
        struct dx_span value;

        record_at(r, order[i], &key, &value);
        value_decode(value, &r->head, &p);
        must(dx_set_store_add(&kept, p.ids, p.count, &entries[i], &err), &err);
        must(dx_counts_totals_add(totals, p.counts, p.count, &err), &err);
    }
    must(dx_membership_writer_begin(w, &kept, &build_id, sink, out, &err), &err);
    must(dx_membership_writer_entries(w, entries, r->head.count, &err), &err);
    must(dx_membership_writer_end(w, &err), &err);
    dx_membership_writer_release(w);
    dx_set_store_release(&kept);
    free(entries);
    free(w);
    (void)fclose(out);
}

void store_build(const char *folder, const char *kind, const struct records *r,
                 const uint32_t *order)
{
    static struct pairs p;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_counts_writer *w = malloc(sizeof *w);
    struct dx_counts_totals totals;
    FILE *out;

    (void)kind;
    if (w == NULL)
        stop("store_ours", "out of memory");
    build_names(folder, r, order);
    build_sets(folder, r, order, &totals);
    out = begin(folder, COUNTS);
    must(dx_counts_writer_begin(w, &totals, &build_id, sink, out, &err), &err);
    for (uint64_t i = 0; i < r->head.count; i++) {
        struct dx_span key;
        struct dx_span value;

        record_at(r, order[i], &key, &value);
        value_decode(value, &r->head, &p);
        must(dx_counts_writer_add(w, p.counts, p.count, &err), &err);
    }
    must(dx_counts_writer_end(w, &err), &err);
    dx_counts_writer_release(w);
    free(w);
    (void)fclose(out);
}

struct store *store_open(const char *folder, const char *kind, const struct records_head *head)
{
    struct dx_error err = DX_ERROR_INIT;
    struct store *s = calloc(1, sizeof *s);

    (void)kind;
    (void)head;
    if (s == NULL)
        stop("store_ours", "out of memory");
    for (int i = 0; i < PARTS; i++) {
        char path[4096];

        (void)snprintf(path, sizeof path, "%s/%s", folder, part_names[i]);
        must(dx_map_open(&s->map[i], path, DX_MAP_RANDOM, &err), &err);
    }
    must(dx_dictionary_open(&s->dict, s->map[DICT].bytes, 0, part_names[DICT], &err), &err);
    must(dx_mphf_open(&s->mphf, s->map[MPHF].bytes, 0, part_names[MPHF], &err), &err);
    must(dx_mphf_match(&s->mphf, &s->dict, &err), &err);
    must(dx_membership_open(&s->sets, s->map[SETS].bytes, 0, part_names[SETS], &err), &err);
    must(dx_counts_open(&s->counts, s->map[COUNTS].bytes, 0, part_names[COUNTS], &err), &err);
    return s;
}

int store_get(struct store *s, struct dx_span key, struct pairs *p)
{
    struct dx_dataset_set set;
    uint64_t ordinal;
    uint64_t id;
    int rc = dx_mphf_find(&s->mphf, &s->dict, key, &ordinal, &id, &s->err);

    if (rc == 0)
        return 0;
    must(rc, &s->err);
    must(dx_membership_get(&s->sets, ordinal, &set, &s->err), &s->err);
    p->count = dx_dataset_set_count(&set);
    if (p->count > PAIRS_MAX)
        stop("store_ours", "more datasets than there is room for");
    (void)dx_dataset_set_ids(&set, p->ids, PAIRS_MAX);
    must(dx_counts_get(&s->counts, ordinal, (uint32_t)p->count, p->counts, &s->err), &s->err);
    return 1;
}

void store_close(struct store *s)
{
    dx_counts_close(&s->counts);
    dx_membership_close(&s->sets);
    dx_mphf_close(&s->mphf);
    dx_dictionary_close(&s->dict);
    for (int i = 0; i < PARTS; i++)
        dx_map_close(&s->map[i]);
    free(s);
}
