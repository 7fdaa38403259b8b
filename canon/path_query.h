/* SPDX-License-Identifier: Apache-2.0
 * path_query.h - the path and the query of a special URL in canonical form.
 *
 *   struct dx_span rest = ...;                      from the first byte behind the authority
 *   end = dx_path_write(out, &rest);                 rest now begins at '?', '#' or its end
 *   end = dx_query_write(w, end, &rest);             "?..." or nothing
 *
 * Each writes at most 3 bytes for one it reads, and the path one '/' more. `w` is room
 * for sorting, owned by the caller; one thread a dx_query_work. Nothing can fail.
 */
#ifndef DX_CANON_PATH_QUERY_H
#define DX_CANON_PATH_QUERY_H

#include "base/bytes.h"

#define DX_QUERY_MAX 8192 /* bytes of a query as given; DX_URL_MAX is not over it */

struct dx_query_pair {
    const uint8_t *text;
    uint32_t size;
    uint32_t key_size;
};

struct dx_query_work {
    struct dx_query_pair pairs[DX_QUERY_MAX + 1];
    uint8_t text[3 * DX_QUERY_MAX];
};

/* True: both write these bytes as they are. False says nothing. No escapes, no "&", no segment that
 * begins with a dot or is empty. */
bool dx_path_query_is_plain(struct dx_span text);

uint8_t *dx_path_write(uint8_t *out, struct dx_span *rest);
uint8_t *dx_query_write(struct dx_query_work *w, uint8_t *out, struct dx_span *rest);

#endif
