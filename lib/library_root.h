/* SPDX-License-Identifier: Apache-2.0
 * library_root.h - what of a root lib/library_canon.c needs.
 *
 *   rc = dx_library_canon(root, &v, &canon, &err);      of the version that the root answers from
 *   dx_canon_free(&canon);  dx_version_unpin(v);        also after an error
 */
#ifndef DX_LIB_LIBRARY_ROOT_H
#define DX_LIB_LIBRARY_ROOT_H

#include "base/error.h"

struct domaindex_root;
struct dx_canon;
struct dx_version;

int dx_library_canon(struct domaindex_root *root, struct dx_version **v, struct dx_canon **canon,
                     struct dx_error *err);

#endif
