/* SPDX-License-Identifier: Apache-2.0
 * store_sparkey - a log of keys and values, uncompressed, and its hash file, both mapped. */
#include "bench/peers/store.h"

#include <sparkey.h>
#include <stdio.h>
#include <stdlib.h>

struct store {
    sparkey_hashreader *hash;
    sparkey_logiter *at;
    struct records_head head;
};

const char *store_version(void)
{
    return "sparkey of the crate sparkey-sys 0.1.1";
}

enum store_order store_order(void)
{
    return STORE_ANY;
}

static void must(sparkey_returncode rc)
{
    if (rc != SPARKEY_SUCCESS)
        stop("sparkey", sparkey_errstring(rc));
}

static void paths_of(const char *folder, char log[4096], char hash[4096])
{
    (void)snprintf(log, 4096, "%s/store.spl", folder);
    (void)snprintf(hash, 4096, "%s/store.spi", folder);
}

void store_build(const char *folder, const char *kind, const struct records *r,
                 const uint32_t *order)
{
    char log[4096];
    char hash[4096];
    sparkey_logwriter *w;

    (void)kind;
    paths_of(folder, log, hash);
    must(sparkey_logwriter_create(&w, log, SPARKEY_COMPRESSION_NONE, 0));
    for (uint64_t i = 0; i < r->head.count; i++) {
        struct dx_span key;
        struct dx_span value;

        record_at(r, order[i], &key, &value);
        must(sparkey_logwriter_put(w, key.size, key.data, value.size, value.data));
    }
    must(sparkey_logwriter_close(&w));
    must(sparkey_hash_write(hash, log, 0));
}

struct store *store_open(const char *folder, const char *kind, const struct records_head *head)
{
    struct store *s = malloc(sizeof *s);
    char log[4096];
    char hash[4096];

    (void)kind;
    if (s == NULL)
        stop("sparkey", "out of memory");
    paths_of(folder, log, hash);
    s->head = *head;
    must(sparkey_hash_open(&s->hash, hash, log));
    must(sparkey_logiter_create(&s->at, sparkey_hash_getreader(s->hash)));
    return s;
}

int store_get(struct store *s, struct dx_span key, struct pairs *p)
{
    sparkey_logreader *log = sparkey_hash_getreader(s->hash);
    uint64_t size;
    uint8_t *value;

    must(sparkey_hash_get(s->hash, key.data, key.size, s->at));
    if (sparkey_logiter_state(s->at) != SPARKEY_ITER_ACTIVE)
        return 0;
    must(sparkey_logiter_valuechunk(s->at, log, sparkey_logiter_valuelen(s->at), &value, &size));
    value_decode(dx_span_of(value, size), &s->head, p);
    return 1;
}

void store_close(struct store *s)
{
    sparkey_logiter_close(&s->at);
    sparkey_hash_close(&s->hash);
    free(s);
}
