/* SPDX-License-Identifier: Apache-2.0
 * warm_map.h - one mapped file, read into memory.
 *
 *   rc = dx_warm_map(name, bytes, beside, &err);   <0: it was cut, or the disk does not give it
 *
 * Read in slices; beside versions that serve, with a rest after each as long as the slice took, so that their requests keep half
 * of the disk.
 * For what will all be touched: by large reads, and in large pages where there are such (base/map.h), not page by page, by
 * faults. Blocking; any thread that keeps the map open.
 */
#ifndef DX_LOADER_WARM_MAP_H
#define DX_LOADER_WARM_MAP_H

#include "base/bytes.h"
#include "base/error.h"

int dx_warm_map(const char *name, struct dx_span bytes, bool beside, struct dx_error *err);

#endif
