/* SPDX-License-Identifier: Apache-2.0
 * cold_walk.h - the pages of a cold file of a part, one after the other, for callers that read all or many.
 *
 *   struct dx_cold_walk w;
 *   rc = dx_cold_walk_begin(&w, part, DX_COLD_FACTS, &err);
 *   while ((rc = dx_cold_walk_next(&w, &err)) == 1)
 *       ... w.page, w.plain ...                                   valid until the next call
 *   rc = dx_cold_walk_seek(&w, key, sub, &err);                   the next one is that which may hold it
 *   dx_cold_walk_close(&w);                                       also after an error
 *
 * Read through the part's source, which may be remote, a few neighbours at a time (after a seek the
 * page alone, then more and more); each page is checked against its sum. seek never goes back, and
 * a page that was given is not given again. One thread; several may each have one of the same part. Memory: a
 * quarter of a MiB and what one page holds. For answers to requests: query/rows/cold_page.h.
 */
#ifndef DX_LOADER_COLD_WALK_H
#define DX_LOADER_COLD_WALK_H

#include "fetch/source.h"
#include "format/version/cold.h"
#include "format/version/manifest.h"

struct dx_part;

struct dx_cold_walk {
    const struct dx_part *part;
    enum dx_cold_file file;
    struct dx_cold_page page; /* that plain is of */
    struct dx_span plain;

    /* private */
    struct dx_manifest_place place; /* of the file */
    struct dx_zstd_decoder *decoder;
    uint32_t next;
    size_t ahead;     /* bytes to read at a time */
    uint32_t raw_end; /* pages that raw holds whole: up to this one */
    uint64_t raw_at;  /* where its bytes begin in the file */
    uint8_t *raw;
    size_t raw_capacity;
    uint8_t *room;
    size_t room_capacity;
};

int dx_cold_walk_begin(struct dx_cold_walk *w, const struct dx_part *part, enum dx_cold_file file,
                       struct dx_error *err);
int dx_cold_walk_seek(struct dx_cold_walk *w, uint64_t key, uint32_t sub, struct dx_error *err);
int dx_cold_walk_next(struct dx_cold_walk *w, struct dx_error *err);
void dx_cold_walk_close(struct dx_cold_walk *w);

#endif
