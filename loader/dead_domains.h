/* SPDX-License-Identifier: Apache-2.0
 * dead_domains.h - the parts of a version, and what of them is dead because a newer part has it.
 *
 *   rc = dx_dead_domains_join(parts, count, &d, &err);         parts[i].part is open: fills dead and first
 *   n = dx_dead_domains_above(&d, dataset_id, url_count);      dead domains with more URLs in it
 *   dx_dead_domains_release(parts, count, &d);                 closes the parts too; safe at any time
 *
 * Each part says of the older ones which domains it took over (format/version/dead.h). The rankings
 * of these still count them: d says how many of them to take off. The newest part says which lake files of the others
 * the version does not have. Joined by one thread; read-only after it, so that threads share it.
 */
#ifndef DX_LOADER_DEAD_DOMAINS_H
#define DX_LOADER_DEAD_DOMAINS_H

#include "loader/part.h"

struct dx_version_part {
    struct dx_part *part;
    struct roaring_bitmap_s *dead; /* ordinals: newer parts have them, or they went; NULL: none */
    uint64_t first;                /* number of its first domain: loader/version_parts.h */
};

struct dx_dead_domains {
    struct dx_dead_rank *rank; /* by dataset, then url_count descending; domains: so many or more */
    size_t rank_count;
    uint64_t domains;               /* all of them */
    uint64_t pairs;                 /* of theirs */
    uint64_t urls;                  /* of these pairs */
    uint64_t rows;                  /* of the files that left: */
    struct roaring_bitmap_s *files; /* of older parts, by file_id; NULL: none */
};

/* DX_E_CORRUPT: they are not the parts of one version, in this order. */
int dx_dead_domains_join(struct dx_version_part *parts, size_t count, struct dx_dead_domains *d,
                         struct dx_error *err);
uint64_t dx_dead_domains_above(const struct dx_dead_domains *d, uint32_t dataset_id,
                               uint64_t url_count);
void dx_dead_domains_release(struct dx_version_part *parts, size_t count,
                             struct dx_dead_domains *d);

#endif
