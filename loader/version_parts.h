/* SPDX-License-Identifier: Apache-2.0
 * version_parts.h - which part of a version has a domain, or knows a lake file.
 *
 *   rc = dx_version_find(v, domain, &part, &ordinal, &domain_id, &err);     1, or 0 no part has it
 *   dx_version_find_batch(v, domains, count, hits);                         many at once
 *   rc = dx_version_file(v, file_id, &part, &file, &err);                   1, 0 none or a hole, <0
 *
 * The newest part that has a domain owns it; in older ones it is dead. One that lost its last row is dead in all that
 * have it. Where domains of a version
 * are counted through, they have numbers: those of parts[i] are parts[i].first + ordinal. Dead ones
 * have numbers too, and within a part numbers follow the order of keys; over parts they do not.
 *
 *   number = v->parts[i].first + ordinal;
 *   i = dx_version_part_at(v, number);               ordinal = number - v->parts[i].first
 *   rc = dx_version_domain(v, number, domain, &size, &err);                 1, 0 no such number, <0
 *   live = dx_version_is_live(v, number);
 *   rc = dx_version_rank(v, dataset_id, url_count, &rank, &err);            1 + live domains with more
 *
 * Threads: as in loader/version.h.
 */
#ifndef DX_LOADER_VERSION_PARTS_H
#define DX_LOADER_VERSION_PARTS_H

#include "loader/version.h"

struct dx_version_hit {
    int rc; /* 1 found, 0 absent, <0 enum dx_code: ask dx_version_find for the words */
    const struct dx_part *part;
    uint64_t ordinal;
    uint64_t domain_id;
};

void dx_version_find_batch(const struct dx_version *v, const struct dx_span *domains, size_t count,
                           struct dx_version_hit *hits);

/* The part that scanned a file, whether or not the version still has it; NULL: no part has the number. */
const struct dx_part *dx_version_part_of_file(const struct dx_version *v, uint64_t file_id);
/* Whether an older part has the file and the version does not: dx_version_file gives 0. */
bool dx_version_is_gone(const struct dx_version *v, uint64_t file_id);
int dx_version_file(const struct dx_version *v, uint64_t file_id, const struct dx_part **part,
                    struct dx_pages_file *file, struct dx_error *err);

/* Of a domain that a part of the version has. */
uint64_t dx_version_number(const struct dx_version *v, const struct dx_part *part,
                           uint64_t ordinal);

/* number is below v->numbers. */
size_t dx_version_part_at(const struct dx_version *v, uint64_t number);
int dx_version_domain(const struct dx_version *v, uint64_t number, uint8_t domain[DX_SURT_MAX],
                      size_t *size, struct dx_error *err);
bool dx_version_is_live(const struct dx_version *v, uint64_t number);
/* The first ordinal of parts[i] from this one on that is not dead; behind the last domain none is. A part may have lost nearly all
 * of its domains, so where they are counted through, dead ones are passed by this and not one by one. */
uint64_t dx_version_next_live(const struct dx_version *v, size_t i, uint64_t ordinal);
/* Ordinals of parts[i] as numbers, into a bitmap. */
void dx_version_add_numbers(const struct dx_version *v, size_t i,
                            const struct roaring_bitmap_s *ordinals, struct roaring_bitmap_s *to);
/* Takes those that are dead out of a bitmap of numbers: they count in the newer part that has them. */
int dx_version_remove_dead(const struct dx_version *v, struct roaring_bitmap_s *numbers,
                           struct dx_error *err);
/* The dataset's domains with numbers in [first, end), which are of one part; dead ones too. *count grows
 * by how many. */
int dx_version_add_dataset(const struct dx_version *v, uint32_t dataset_id, uint64_t first,
                           uint64_t end, struct roaring_bitmap_s *to, uint64_t *count,
                           struct dx_error *err);
/* Of the dataset's domains; 0: no part has a domain of it. */
int dx_version_rank(const struct dx_version *v, uint32_t dataset_id, uint64_t url_count,
                    uint64_t *rank, struct dx_error *err);

/* Reads that found another object than the parts know, or none: times. */
uint64_t dx_version_objects_broken(const struct dx_version *v);

#endif
