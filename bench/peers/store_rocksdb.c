/* SPDX-License-Identifier: Apache-2.0
 * store_rocksdb - one sorted table, written by its table writer and ingested; Bloom filter of 10
 * bits, hash index inside of blocks. Plain: 4 KiB blocks read from the mapped file. "zstd": 16 KiB
 * blocks, kept unpacked in a block cache that holds all of them. Checksums of blocks are not
 * checked when reading. */
#include "bench/peers/store.h"

#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_BYTES ((size_t)4 << 30)

struct store {
    rocksdb_t *db;
    rocksdb_options_t *options;
    rocksdb_readoptions_t *read;
    struct records_head head;
};

const char *store_version(void)
{
    return "RocksDB " DX_ROCKSDB_VERSION /* its own header of versions is C++ */;
}

enum store_order store_order(void)
{
    return STORE_BY_KEY;
}

static void must(char *why)
{
    if (why != NULL)
        stop("rocksdb", why);
}

static rocksdb_options_t *options_of(const char *kind)
{
    bool zstd = strcmp(kind, "zstd") == 0;
    rocksdb_options_t *o = rocksdb_options_create();
    rocksdb_block_based_table_options_t *t = rocksdb_block_based_options_create();
    rocksdb_cache_t *cache = rocksdb_cache_create_lru(CACHE_BYTES);

    rocksdb_block_based_options_set_block_cache(t, cache);
    rocksdb_block_based_options_set_filter_policy(t, rocksdb_filterpolicy_create_bloom_full(10));
    rocksdb_block_based_options_set_block_size(t, zstd ? 16384 : 4096);
    rocksdb_block_based_options_set_data_block_index_type(
        t, rocksdb_block_based_table_data_block_index_type_binary_search_and_hash);
    rocksdb_block_based_options_set_format_version(t, 5);
    rocksdb_options_set_block_based_table_factory(o, t);
    rocksdb_options_set_create_if_missing(o, 1);
    rocksdb_options_set_allow_mmap_reads(o, !zstd);
    rocksdb_options_set_compression(o, zstd ? rocksdb_zstd_compression : rocksdb_no_compression);
    rocksdb_block_based_options_destroy(t);
    rocksdb_cache_destroy(cache);
    return o;
}

void store_build(const char *folder, const char *kind, const struct records *r,
                 const uint32_t *order)
{
    rocksdb_options_t *o = options_of(kind);
    rocksdb_envoptions_t *env = rocksdb_envoptions_create();
    rocksdb_sstfilewriter_t *w = rocksdb_sstfilewriter_create(env, o);
    rocksdb_ingestexternalfileoptions_t *ingest = rocksdb_ingestexternalfileoptions_create();
    rocksdb_t *db;
    char *why = NULL;
    char path[4096];
    const char *files[1] = { path };

    (void)snprintf(path, sizeof path, "%s/table.sst", folder);
    rocksdb_sstfilewriter_open(w, path, &why);
    must(why);
    for (uint64_t i = 0; i < r->head.count; i++) {
        struct dx_span key;
        struct dx_span value;

        record_at(r, order[i], &key, &value);
        rocksdb_sstfilewriter_put(w, (const char *)key.data, key.size, (const char *)value.data,
                                  value.size, &why);
        must(why);
    }
    rocksdb_sstfilewriter_finish(w, &why);
    must(why);
    rocksdb_sstfilewriter_destroy(w);
    db = rocksdb_open(o, folder, &why);
    must(why);
    rocksdb_ingestexternalfileoptions_set_move_files(ingest, 1);
    rocksdb_ingest_external_file(db, files, 1, ingest, &why);
    must(why);
    rocksdb_close(db);
    rocksdb_ingestexternalfileoptions_destroy(ingest);
    rocksdb_envoptions_destroy(env);
    rocksdb_options_destroy(o);
}

struct store *store_open(const char *folder, const char *kind, const struct records_head *head)
{
    struct store *s = malloc(sizeof *s);
    char *why = NULL;

    if (s == NULL)
        stop("rocksdb", "out of memory");
    s->options = options_of(kind);
    s->head = *head;
    s->db = rocksdb_open_for_read_only(s->options, folder, 0, &why);
    must(why);
    s->read = rocksdb_readoptions_create();
    rocksdb_readoptions_set_verify_checksums(s->read, 0);
    return s;
}

int store_get(struct store *s, struct dx_span key, struct pairs *p)
{
    char *why = NULL;
    size_t size;
    const char *value;
    rocksdb_pinnableslice_t *pin = rocksdb_get_pinned(s->db, s->read, (const char *)key.data,
                                                      key.size, &why);

    must(why);
    if (pin == NULL)
        return 0;
    value = rocksdb_pinnableslice_value(pin, &size);
    value_decode(dx_span_of(value, size), &s->head, p);
    rocksdb_pinnableslice_destroy(pin);
    return 1;
}

void store_close(struct store *s)
{
    rocksdb_readoptions_destroy(s->read);
    rocksdb_close(s->db);
    rocksdb_options_destroy(s->options);
    free(s);
}
