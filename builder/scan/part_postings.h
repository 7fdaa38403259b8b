/* SPDX-License-Identifier: Apache-2.0
 * part_postings.h - postings of a part of an open version, for the next version.
 *
 *   struct dx_part_postings b = { 0 };
 *   rc = dx_part_postings_open(&b, part, &err);
 *   rc = dx_part_postings_find(&b, place, &payload, &err);      1, 0 it has none, <0
 *   or
 *   rc = dx_part_postings_load(&b, page_number, &err);          one page: b.page, b.plain
 *   dx_part_postings_close(&b);                                 keeps nothing; safe at any time
 *
 * Read through the part's source of postings, which may be remote, checksum by checksum. Finds that
 * ascend read each page once, and where they follow each other closely, some pages at a time.
 * `payload` is valid until the next call (format/version/payload.h). One thread; several threads may
 * each have one of the same part. Memory: two MiB and what one page holds.
 */
#ifndef DX_BUILDER_SCAN_PART_POSTINGS_H
#define DX_BUILDER_SCAN_PART_POSTINGS_H

#include "base/buf.h"
#include "fetch/source.h"
#include "format/version/manifest.h"
#include "format/version/postings.h"

struct dx_part;

enum dx_part_postings_file { DX_PART_IDX, DX_PART_DAT, DX_PART_FILES };

struct dx_part_postings {
    const struct dx_part *part;
    struct dx_manifest_place place[DX_PART_FILES];
    struct dx_pin pin[DX_PART_FILES];
    struct dx_zstd_decoder *decoder;
    uint8_t *raw[DX_PART_FILES]; /* frames of pages [raw_first, raw_end) */
    size_t raw_capacity[DX_PART_FILES];
    uint64_t raw_at[DX_PART_FILES]; /* where they begin in the file */
    uint64_t raw_first, raw_end;
    struct dx_postings_page page; /* that is decoded */
    uint8_t *plain[DX_PART_FILES];
    size_t plain_capacity[DX_PART_FILES];
    bool has_page;   /* `page` is decoded */
    unsigned follow; /* pages in a row that came one behind the other */
};

int dx_part_postings_open(struct dx_part_postings *b, const struct dx_part *part,
                          struct dx_error *err);
int dx_part_postings_load(struct dx_part_postings *b, uint64_t number, struct dx_error *err);
int dx_part_postings_find(struct dx_part_postings *b, struct dx_pair_place place,
                          struct dx_span *payload, struct dx_error *err);
void dx_part_postings_close(struct dx_part_postings *b);

#endif
