/* SPDX-License-Identifier: Apache-2.0
 * build_info.h - what --version prints: program, commit, layouts, libraries.
 *
 *   dx_build_info(&out, "domaindex");
 *
 * The first line is "domaindex VERSION (COMMIT)". Libraries are those that are loaded, not those
 * that were there at build time. Any thread.
 */
#ifndef DX_LOADER_BUILD_INFO_H
#define DX_LOADER_BUILD_INFO_H

#include "base/buf.h"

void dx_build_info(struct dx_buf *out, const char *program);

#endif
