/* SPDX-License-Identifier: Apache-2.0
 * index_strays.h - rows whose keys stray (canon/urlkey.h), of the files of a lake, as pages.dxp has them.
 *
 *   dx_index_stray_key(&stray, key);                          the key of a record of lake->strays: ascending as they are
 *   dx_index_strays_begin(&s, lake);                          once all files were scanned
 *   rc = dx_index_strays_next(&s, file_id, &stray, &err);     in ascending order of files: 1 found, 0 the file has no more
 *
 * Of a file that was scanned they come from lake->strays, of one that the base has and that was not read again from the base. One
 * thread.
 */
#ifndef DX_BUILDER_SCAN_INDEX_STRAYS_H
#define DX_BUILDER_SCAN_INDEX_STRAYS_H

#include "format/version/pages.h"

struct dx_index_lake;

#define DX_INDEX_STRAY_KEY 16

struct dx_index_strays {
    struct dx_index_lake *lake;
    bool ahead; /* a record of the sorter is at hand, or its end */
    bool ended;
    struct dx_page_stray stray;
    /* Of a file of the base. */
    const struct dx_pages *pages;
    bool known_begun, known_unsaid;
    uint32_t known_file;
    uint64_t known_at, known_end;
};

void dx_index_stray_key(const struct dx_page_stray *stray, uint8_t key[DX_INDEX_STRAY_KEY]);
void dx_index_strays_begin(struct dx_index_strays *s, struct dx_index_lake *lake);
int dx_index_strays_next(struct dx_index_strays *s, uint32_t file_id, struct dx_page_stray *stray,
                         struct dx_error *err);

#endif
