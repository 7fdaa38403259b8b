/* SPDX-License-Identifier: Apache-2.0
 * library_error.h - an error of ours as lib/domaindex.h shows it.
 *
 *   return dx_library_failed(out, &err);            out may be NULL; returns the code
 */
#ifndef DX_LIB_LIBRARY_ERROR_H
#define DX_LIB_LIBRARY_ERROR_H

#include "base/error.h"

struct domaindex_error;

int dx_library_failed(struct domaindex_error *out, const struct dx_error *err);

#endif
