/* SPDX-License-Identifier: Apache-2.0
 * base_postings.h - the postings of an open version in their order, for who makes the next version.
 *
 *   struct dx_base_postings b = { 0 };
 *   rc = dx_base_postings_open(&b, base, &err);
 *   while ((rc = dx_base_postings_next(&b, &posting, &payload, &err)) == 1)      all of them
 *       ... format/version/payload.h ...
 *   or
 *   rc = dx_base_postings_load(&b, page_number, &err);          one page: b.page, b.plain
 *   dx_base_postings_close(&b);                                 keeps nothing; safe at any time
 *
 * Read through the version's source of postings, which may be remote, checksum by checksum. next
 * reads some pages at a time. `payload` is valid until the next call. One thread; several threads
 * may each have one of the same version. Memory: two MiB and what one page holds.
 */
#ifndef DX_BUILDER_SCAN_BASE_POSTINGS_H
#define DX_BUILDER_SCAN_BASE_POSTINGS_H

#include "base/buf.h"
#include "fetch/source.h"
#include "format/version/manifest.h"
#include "format/version/postings.h"

struct dx_version;

enum dx_base_file { DX_BASE_IDX, DX_BASE_DAT, DX_BASE_FILES };

struct dx_base_postings {
    struct dx_version *base;
    char name[DX_BASE_FILES][DX_MANIFEST_FILE_PATH];
    struct dx_pin pin[DX_BASE_FILES];
    struct dx_zstd_decoder *decoder;
    uint8_t *raw[DX_BASE_FILES]; /* frames of pages [raw_first, raw_end) */
    size_t raw_capacity[DX_BASE_FILES];
    uint64_t raw_at[DX_BASE_FILES]; /* where they begin in the file */
    uint64_t raw_first, raw_end;
    struct dx_postings_page page; /* that is decoded */
    uint8_t *plain[DX_BASE_FILES];
    size_t plain_capacity[DX_BASE_FILES];
    uint64_t next_page;
    uint32_t next_entry;
};

int dx_base_postings_open(struct dx_base_postings *b, struct dx_version *base,
                          struct dx_error *err);
int dx_base_postings_load(struct dx_base_postings *b, uint64_t number, struct dx_error *err);
int dx_base_postings_next(struct dx_base_postings *b, struct dx_posting *posting,
                          struct dx_span *payload, struct dx_error *err);
void dx_base_postings_close(struct dx_base_postings *b);

#endif
