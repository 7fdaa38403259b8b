/* SPDX-License-Identifier: Apache-2.0
 * column_path.h - the leaf that a dotted path means.
 *
 *   struct dx_span part[] = { "meta", "url" };
 *   if (dx_pq_column_path(&footer, part, 2, false, &found))
 *       ... found.leaf, found.used (parts up to the leaf), found.repeated_at ...
 *   if (dx_pq_column_number(&footer, 2, &found))            the second column at the top, found.used 0
 *   if (dx_pq_column_twin(&footer, found.leaf, false, &twin))   another leaf has the same names from the top down
 *       ... dx_pq_column_number_of(&footer, twin) ...       the number of the column at the top that it lies in
 *
 *   if (dx_pq_column_other(&footer, part, 2, false, found.leaf, &other))     the path is another leaf, too
 *
 *   if (dx_pq_column_map(&footer, part, 2, false, &found, &map))       the value of a key: "headers.date"
 *       ... found.leaf of the values, map.key_leaf, map.key ...
 *
 * The groups that only make lists and maps (list.element, bag.array, key_value ...) need not be
 * named: "images.url" is the leaf images.list.element.url. A path may end above a leaf where
 * exactly one leaf lies below (a list of strings), and may go on below one (found.used < count):
 * the rest is for what the values hold, such as JSON; a leaf that the whole path names comes first. The parts are of one text, so that a name
 * with dots is several of them. A map's key is one part, or all that is left of the path; the rest leads on in a
 * value that is a struct. Maps in lists, and lists in their values, are not found so. Among columns of equal names the first is found. No I/O; any thread.
 */
#ifndef DX_PARQUET_COLUMN_PATH_H
#define DX_PARQUET_COLUMN_PATH_H

#include "parquet/footer.h"

struct dx_pq_column_found {
    uint32_t leaf;
    size_t used;
    uint32_t repeated_at; /* node of the innermost repeated group or leaf; 0: not repeated */
    uint8_t element_def;  /* definition level from which on an element of it exists */
};

bool dx_pq_column_path(const struct dx_pq_footer *f, const struct dx_span *part, size_t count,
                       bool any_case, struct dx_pq_column_found *found);
/* A column "meta.url" and the member url of a column "meta": quotes tell them apart, as parts that are not of one text. */
bool dx_pq_column_other(const struct dx_pq_footer *f, const struct dx_span *part, size_t count,
                        bool any_case, uint32_t leaf, uint32_t *other);
struct dx_pq_column_map {
    uint32_t key_leaf;
    struct dx_span key; /* in the text of the path */
};

bool dx_pq_column_map(const struct dx_pq_footer *f, const struct dx_span *part, size_t count,
                      bool any_case, struct dx_pq_column_found *found,
                      struct dx_pq_column_map *map);
bool dx_pq_column_number(const struct dx_pq_footer *f, unsigned long number,
                         struct dx_pq_column_found *found);
bool dx_pq_column_twin(const struct dx_pq_footer *f, uint32_t leaf, bool any_case, uint32_t *twin);
unsigned long dx_pq_column_number_of(const struct dx_pq_footer *f, uint32_t leaf);

#endif
