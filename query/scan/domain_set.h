/* SPDX-License-Identifier: Apache-2.0
 * domain_set.h - the visible domains of a version whose keys lie in a range, found a stretch at a time.
 *
 *   struct dx_domain_set s;
 *   rc = dx_domain_set_init(&s, &view, dataset, suffix, &err);      dataset NULL: of all that the view shows; suffix: data NULL all
 *   rc = dx_domain_set_from(&s, number, &err);                      not before the domain with this number
 *   rc = dx_domain_set_to(&s, number, &err);                        and before this one
 *   rc = dx_domain_set_between(&s, low, high, &err);                and with keys in [low, high); high: data NULL no end
 *   s.scan = scan; s.found = bitmap; s.enough = 1000;               of these only names that a pattern takes: it may end with more than so many
 *   rc = dx_domain_set_find(&s, max, &err);                         s.numbers: all of them that come first, up to a key
 *   s.more, s.next                                                  the number that the next stretch begins with
 *   dx_domain_set_release(&s);                                      also after a failure
 *
 * Numbers are those of loader/version_parts.h; the version's `numbers` stands behind all of them. The set holds live domains
 * that a visible dataset has, or `dataset`; what suppressions hide is still in it. The set ends where `max` domains were looked
 * at, of all parts together; where not all is visible, lists of datasets are read for DX_DOMAIN_SET_WINDOW domains of a part at a
 * time, and only what they hold counts: what is hidden ends no stretch.
 *
 * Mapped memory alone, where all is visible; lists of datasets may be read from disk. One thread at a time. What the view has is
 * held by the caller.
 */
#ifndef DX_QUERY_SCAN_DOMAIN_SET_H
#define DX_QUERY_SCAN_DOMAIN_SET_H

#include "format/core/dictionary.h"
#include "format/version/manifest.h"
#include "query/view/view.h"

#define DX_DOMAIN_SET_WINDOW (1u << 18)

struct dx_dataset;
struct dx_name_scan;
struct roaring_bitmap_s;

/* Ordinals of one part: the range goes from next to end; below known, those that are visible are in the set. */
struct dx_domain_set_range {
    uint64_t next, known, end;
};

struct dx_domain_set {
    struct dx_domain_set_range range[DX_PARTS_MAX];
    struct roaring_bitmap_s *numbers;
    bool more;
    uint64_t next;

    struct dx_name_scan *scan;      /* borrowed; NULL: names of any kind */
    struct roaring_bitmap_s *found; /* borrowed: numbers that it takes, of all that was searched */
    uint64_t enough;

    /* private */
    struct dx_view view;
    const struct dx_dataset *dataset;
};

int dx_domain_set_init(struct dx_domain_set *s, const struct dx_view *view,
                       const struct dx_dataset *dataset, struct dx_span suffix,
                       struct dx_error *err);
int dx_domain_set_from(struct dx_domain_set *s, uint64_t number, struct dx_error *err);
int dx_domain_set_to(struct dx_domain_set *s, uint64_t number, struct dx_error *err);
int dx_domain_set_between(struct dx_domain_set *s, struct dx_span low, struct dx_span high,
                          struct dx_error *err);
int dx_domain_set_find(struct dx_domain_set *s, uint64_t max, struct dx_error *err);
void dx_domain_set_release(struct dx_domain_set *s);

/* All are: then every domain of a range is in the set, unless it is dead. */
bool dx_domain_set_is_whole(const struct dx_domain_set *s);
/* Which are visible of the whole range; over `max` of their entries: DX_E_LIMIT. Nothing where the set is whole. */
int dx_domain_set_count(struct dx_domain_set *s, uint64_t max, struct dx_error *err);

/* The key of the domain with a number. */
int dx_domain_set_key(const struct dx_domain_set *s, uint64_t number,
                      struct dx_dictionary_cursor *c, struct dx_span *key, struct dx_error *err);
/* Where the domain with a number stands in each part, or would: at[i]. */
int dx_domain_set_places(const struct dx_domain_set *s, uint64_t number, uint64_t at[DX_PARTS_MAX],
                         struct dx_error *err);

#endif
