/* SPDX-License-Identifier: Apache-2.0
 * base_shard.h - the postings of an open version, shard by shard, for who makes the next version.
 *
 *   struct dx_base_shard s = { 0 };
 *   rc = dx_base_shard_open(&s, base, shard, &err);             1, 0 it has no pairs, <0
 *   while ((rc = dx_base_shard_next(&s, &posting, &payload, &err)) == 1)      all of it, in order
 *       ... format/payload.h ...
 *   or
 *   rc = dx_base_shard_load(&s, page_number, &err);             one page: s.page, s.plain
 *   dx_base_shard_close(&s);                                    keeps nothing; safe at any time
 *
 * Read through the version's source of shards, which may be remote, checksum by checksum. next reads
 * some pages at a time. `payload` is valid until the next call. One thread; several threads may each
 * have one of the same version. Memory: a quarter of a MiB and what one page holds.
 */
#ifndef DX_BUILDER_BASE_SHARD_H
#define DX_BUILDER_BASE_SHARD_H

#include "base/buf.h"
#include "fetch/source.h"
#include "format/manifest.h"
#include "format/postings.h"

struct dx_version;

enum dx_base_file { DX_BASE_IDX, DX_BASE_DAT, DX_BASE_FILES };

struct dx_base_shard {
    struct dx_version *base;
    uint32_t shard;
    struct dx_postings_shard record;
    char name[DX_BASE_FILES][DX_MANIFEST_FILE_PATH];
    struct dx_pin pin[DX_BASE_FILES];
    struct dx_zstd_decoder *decoder;
    uint8_t *raw[DX_BASE_FILES]; /* frames of pages [raw_first, raw_end) */
    size_t raw_capacity[DX_BASE_FILES];
    uint64_t raw_at[DX_BASE_FILES]; /* where they begin in the file */
    uint32_t raw_first, raw_end;
    struct dx_postings_page page; /* that is decoded */
    uint8_t *plain[DX_BASE_FILES];
    size_t plain_capacity[DX_BASE_FILES];
    uint32_t next_page, next_entry;
};

int dx_base_shard_open(struct dx_base_shard *s, struct dx_version *base, uint32_t shard,
                       struct dx_error *err);
int dx_base_shard_load(struct dx_base_shard *s, uint32_t number, struct dx_error *err);
int dx_base_shard_next(struct dx_base_shard *s, struct dx_posting *posting, struct dx_span *payload,
                       struct dx_error *err);
void dx_base_shard_close(struct dx_base_shard *s);

#endif
