/* SPDX-License-Identifier: Apache-2.0
 * source_open.h - the source of a root, whatever kind of root it is.
 *
 *   rc = dx_source_open(&src, "s3://bucket/prefix", &options, &err);   then source.h
 *
 * A directory, http(s)://, or s3://. One thread.
 */
#ifndef DX_FETCH_SOURCE_OPEN_H
#define DX_FETCH_SOURCE_OPEN_H

#include "fetch/source.h"

int dx_source_open(struct dx_source **src, const char *root,
                   const struct dx_source_options *options, struct dx_error *err);

#endif
