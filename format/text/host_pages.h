/* SPDX-License-Identifier: Apache-2.0
 * host_pages.h - how a row of a dataset of counts says how many pages a host has: its path and query are /?pages=N.
 *
 *   n = dx_host_pages_put(pages, text);             bytes; room for DX_HOST_PAGES_TEXT
 *   ok = dx_host_pages_parse(path_query, &pages);   false: not such a text
 *
 * N is decimal, without sign and leading zeros, 1 to DX_HOST_PAGES_MAX; its scheme is DX_HOST_PAGES_SCHEME. Such a URL is in
 * canonical form, so that sorting, checking, merging and suppressing rows need not know of it; and no rule for a path or a URL
 * that a host really has hits it (docs/notes/counts-only-datasets.md). Any thread.
 */
#ifndef DX_FORMAT_TEXT_HOST_PAGES_H
#define DX_FORMAT_TEXT_HOST_PAGES_H

#include "base/bytes.h"

#define DX_HOST_PAGES_SCHEME "http"
#define DX_HOST_PAGES_PREFIX "/?pages="
#define DX_HOST_PAGES_MAX (UINT64_C(1) << 40)
#define DX_HOST_PAGES_TEXT (sizeof DX_HOST_PAGES_PREFIX + 13)

size_t dx_host_pages_put(uint64_t pages, char text[DX_HOST_PAGES_TEXT]);
bool dx_host_pages_parse(struct dx_span path_query, uint64_t *pages);

#endif
