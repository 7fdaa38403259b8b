/* SPDX-License-Identifier: Apache-2.0
 * tag_places.h - which places of a listing have a tag, by tags.dxt alone.
 *
 *   dx_tag_places_init(&p, v, tag);                       tag: borrowed until release. Only if dx_tag_fits(tag): no other is indexed
 *   rc = dx_tag_places_next(&p, runs, places, count, from, &place, &err);
 *     1    the first place at or behind `from` whose row has the tag
 *     0    none of the runs has one there
 *   dx_tag_places_release(&p);
 *
 * runs[i] begins at places[i], ascending; `from` lies in one of them. Runs are of any files of the version. A row has the tag
 * as docs/FORMAT.md 7.2 says, which is what query/rows/row_filter.h makes of its column. Nothing is read but mapped memory. Places
 * that ascend cost one look at the sets of each file. Memory: the rows of one file that have the tag, as a Roaring bitmap.
 * One thread at a time.
 */
#ifndef DX_QUERY_SCAN_TAG_PLACES_H
#define DX_QUERY_SCAN_TAG_PLACES_H

#include "base/bytes.h"
#include "base/error.h"
#include "format/version/payload.h"

struct dx_part;
struct dx_version;
struct roaring_bitmap_s;

struct dx_tag_places {
    const struct dx_version *version;
    struct dx_span tag;

    /* private: the part of the file at hand, and the file */
    const struct dx_part *part;
    bool is_in_part;
    uint64_t number; /* of the tag, in the part */
    bool has_file;
    uint32_t file_id;
    struct roaring_bitmap_s *rows; /* NULL: none has the tag */
    uint64_t *bases;               /* rows before each of its row groups */
    size_t group_count;
};

void dx_tag_places_init(struct dx_tag_places *p, const struct dx_version *v, struct dx_span tag);
void dx_tag_places_release(struct dx_tag_places *p);
int dx_tag_places_next(struct dx_tag_places *p, const struct dx_run *runs, const uint64_t *places,
                       size_t count, uint64_t from, uint64_t *place, struct dx_error *err);

#endif
