/* SPDX-License-Identifier: Apache-2.0
 * store.h - what bench_store_NAME needs of a store: string -> datasets with counts and times.
 *
 * One file store_NAME.c is linked with store_bench.c to one program. Each store is used as its
 * documentation advises for a file that is written once, read only and warm, by one thread.
 * What cannot be done ends the program (stop).
 */
#ifndef DX_BENCH_PEERS_STORE_H
#define DX_BENCH_PEERS_STORE_H

#include "bench/peers/records.h"

struct store;

enum store_order { STORE_ANY, STORE_BY_KEY, STORE_BY_SURT };

const char *store_version(void);    /* of the library */
enum store_order store_order(void); /* in which it wants to be written */

/* Records in that order: the i-th is record_at(r, order[i]). folder is there and empty. kind: of
 * the stores that have several ("zstd"), else "". */
void store_build(const char *folder, const char *kind, const struct records *r,
                 const uint32_t *order);

struct store *store_open(const char *folder, const char *kind, const struct records_head *head);
/* 1 and what it has in p, or 0. */
int store_get(struct store *s, struct dx_span key, struct pairs *p);
void store_close(struct store *s);

#endif
