/* SPDX-License-Identifier: Apache-2.0
 * store_lmdb - one file without a folder; written in order with MDB_APPEND, which fills its pages;
 * read in one transaction that stays open, without locks and without read-ahead. */
#include "bench/peers/store.h"

#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>

#define MAP_BYTES ((size_t)64 << 30) /* address space, not memory */

struct store {
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    struct records_head head;
};

const char *store_version(void)
{
    return mdb_version(NULL, NULL, NULL);
}

enum store_order store_order(void)
{
    return STORE_BY_KEY;
}

static void must(int rc)
{
    if (rc != 0)
        stop("lmdb", mdb_strerror(rc));
}

static void enter(struct store *s, const char *folder, unsigned env_flags, unsigned txn_flags)
{
    char path[4096];

    (void)snprintf(path, sizeof path, "%s/data.mdb", folder);
    must(mdb_env_create(&s->env));
    must(mdb_env_set_mapsize(s->env, MAP_BYTES));
    must(mdb_env_open(s->env, path, MDB_NOSUBDIR | MDB_NOLOCK | env_flags, 0644));
    must(mdb_txn_begin(s->env, NULL, txn_flags, &s->txn));
    must(mdb_dbi_open(s->txn, NULL, 0, &s->dbi));
}

void store_build(const char *folder, const char *kind, const struct records *r,
                 const uint32_t *order)
{
    struct store s;

    (void)kind;
    enter(&s, folder, MDB_NOSYNC, 0);
    for (uint64_t i = 0; i < r->head.count; i++) {
        struct dx_span key;
        struct dx_span value;
        MDB_val k;
        MDB_val v;

        record_at(r, order[i], &key, &value);
        k = (MDB_val){ key.size, (void *)(uintptr_t)key.data };
        v = (MDB_val){ value.size, (void *)(uintptr_t)value.data };
        must(mdb_put(s.txn, s.dbi, &k, &v, MDB_APPEND));
    }
    must(mdb_txn_commit(s.txn));
    mdb_env_close(s.env);
}

struct store *store_open(const char *folder, const char *kind, const struct records_head *head)
{
    struct store *s = malloc(sizeof *s);

    (void)kind;
    if (s == NULL)
        stop("lmdb", "out of memory");
    enter(s, folder, MDB_RDONLY | MDB_NORDAHEAD, MDB_RDONLY);
    s->head = *head;
    return s;
}

int store_get(struct store *s, struct dx_span key, struct pairs *p)
{
    MDB_val k = { key.size, (void *)(uintptr_t)key.data };
    MDB_val v;
    int rc = mdb_get(s->txn, s->dbi, &k, &v);

    if (rc == MDB_NOTFOUND)
        return 0;
    must(rc);
    value_decode(dx_span_of(v.mv_data, v.mv_size), &s->head, p);
    return 1;
}

void store_close(struct store *s)
{
    mdb_txn_abort(s->txn);
    mdb_env_close(s->env);
    free(s);
}
