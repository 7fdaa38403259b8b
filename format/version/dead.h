/* SPDX-License-Identifier: Apache-2.0
 * dead.h - dead.dxb: the domains of older parts that a part has taken over or taken out, and the lake files that
 * left with them. docs/FORMAT.md 11.5.
 *
 *   rc = dx_dead_open(&d, file, flags, name, &err);
 *   rc = dx_dead_part(&d, i, &p, &err);               older part i of d.parts, oldest first
 *   rc = dx_dead_ordinals(&d, &p, &set, &err);        where p.domains > 0: their ordinals there
 *   rc = dx_dead_rank(&d, &p, k, &r, &err);           rank k of p.ranks: by dataset, then url_count
 *   rc = dx_dead_gone(&d, &set, &err);                where d.gone > 0: file_ids
 *   dx_dead_close(&d);
 *
 * A domain that a part takes over is dead in every older part; so is one that lost its last row, which no newer
 * part need have. p.build says which part it is of,
 * and ordinals are below p.of. The ranks are what the rankings of these parts count too much: of
 * each dataset, how many dead domains had each number of URLs. The files are those that an older part has and the
 * version of this part does not: all of them, whatever older dead.dxb say. All functions check the bytes that
 * they give. d borrows the file, sets borrow from it. Threads may share d.
 *
 * Writing, oldest part first:
 *
 *   dx_dead_writer_init(&w);
 *   rc = dx_dead_writer_part(&w, &build, domains, ordinals, &err);     a Roaring bitmap; empty: none
 *   rc = dx_dead_writer_rank(&w, &rank, &err);                         ascending; adds to that part
 *   rc = dx_dead_writer_gone(&w, file_ids, &err);                      a Roaring bitmap; once, or not at all
 *   rc = dx_dead_writer_end(&w, &build, sink, ctx, &err);
 *   dx_dead_writer_release(&w);
 *
 * Memory of a writer: the file.
 */
#ifndef DX_FORMAT_VERSION_DEAD_H
#define DX_FORMAT_VERSION_DEAD_H

#include "base/buf.h"
#include "format/core/dataset_set.h"
#include "format/core/envelope.h"

#define DX_DEAD_MAGIC DX_KIND('D', 'X', 'D', 'E')
#define DX_DEAD_VERSION 1

struct dx_dead {
    struct dx_envelope envelope;
    uint64_t parts;
    struct dx_span table; /* PART */
    struct dx_span sets;  /* SETS */
    struct dx_span ranks; /* RANK */
    struct dx_span files; /* GONE */
    uint64_t gone;        /* files of older parts that the version does not have */
};

struct dx_dead_part {
    struct dx_build_id build; /* of that part */
    uint64_t of;              /* domains that it has */
    uint64_t domains;         /* dead ones */
    uint64_t first_rank, ranks;
    uint64_t set_at, set_size; /* in SETS */
};

struct dx_dead_rank {
    uint32_t dataset_id;
    uint64_t url_count;
    uint64_t domains; /* that had so many */
};

int dx_dead_open(struct dx_dead *d, struct dx_span file, unsigned flags, const char *name,
                 struct dx_error *err);
int dx_dead_part(const struct dx_dead *d, uint64_t i, struct dx_dead_part *p, struct dx_error *err);
int dx_dead_ordinals(const struct dx_dead *d, const struct dx_dead_part *p,
                     struct dx_dataset_set *set, struct dx_error *err);
int dx_dead_rank(const struct dx_dead *d, const struct dx_dead_part *p, uint64_t k,
                 struct dx_dead_rank *rank, struct dx_error *err);
int dx_dead_gone(const struct dx_dead *d, struct dx_dataset_set *set, struct dx_error *err);
void dx_dead_close(struct dx_dead *d);

struct dx_dead_writer {
    struct dx_buf table, sets, ranks, files;
    uint64_t parts;
    uint64_t rank_count;
    uint64_t gone;
    struct dx_dead_part part; /* that was added last */
    struct dx_dead_rank last;
};

void dx_dead_writer_init(struct dx_dead_writer *w);
int dx_dead_writer_part(struct dx_dead_writer *w, const struct dx_build_id *build, uint64_t domains,
                        struct roaring_bitmap_s *ordinals, struct dx_error *err);
int dx_dead_writer_rank(struct dx_dead_writer *w, const struct dx_dead_rank *rank,
                        struct dx_error *err);
int dx_dead_writer_gone(struct dx_dead_writer *w, struct roaring_bitmap_s *file_ids,
                        struct dx_error *err);
int dx_dead_writer_end(struct dx_dead_writer *w, const struct dx_build_id *build,
                       int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                       void *ctx, struct dx_error *err);
void dx_dead_writer_release(struct dx_dead_writer *w);

#endif
