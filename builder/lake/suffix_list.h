/* SPDX-License-Identifier: Apache-2.0
 * suffix_list.h - the public suffix list of a lake: where it is, and how large it may be.
 *
 *   struct dx_buf text = DX_SUFFIX_LIST_INIT;
 *   rc = dx_suffix_list_of_lake(&root, &text, &err);        1, or 0: the lake has none yet
 *   if (rc == 0)
 *       rc = dx_suffix_list_read(path, &text, &err);        a file; NULL: the system's
 *   rc = dx_suffix_list_begin(&root, text, &err);           the lake begins with it, if it has none
 *
 * A lake keeps the list that it began with (DX_LAKE_PSL): rows reduced by another one would put a
 * host under two domains. DX_E_LIMIT: over DX_PSL_TEXT_MAX bytes, which no version could have.
 * DX_E_UNSUPPORTED: the root has the names of before (dx_lake_check_names). No state; any thread.
 */
#ifndef DX_BUILDER_LAKE_SUFFIX_LIST_H
#define DX_BUILDER_LAKE_SUFFIX_LIST_H

#include "base/buf.h"
#include "canon/psl.h"

struct dx_root;

#define DX_SUFFIX_LIST_INIT DX_BUF_INIT(DX_PSL_TEXT_MAX)

int dx_suffix_list_of_lake(const struct dx_root *root, struct dx_buf *text, struct dx_error *err);
int dx_suffix_list_read(const char *path, struct dx_buf *text, struct dx_error *err);

/* Of a root on object storage. DX_E_CONFLICT: another writer has begun the lake with another list;
 * DX_E_UNKNOWN: the store does not tell. */
int dx_suffix_list_begin(const struct dx_root *root, struct dx_span text, struct dx_error *err);

#endif
