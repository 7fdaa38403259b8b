/* SPDX-License-Identifier: Apache-2.0
 * build_text.h - the first lines of what a build id is the hash of. docs/FORMAT.md section 1.
 *
 *   char text[DX_BUILD_TEXT];
 *   dx_build_text(text, DX_COLD_VERSION, DX_MPHF_VERSION, DX_POSTINGS_VERSION, canon_version, &psl_hash);
 *
 * Versions of the layouts of cold.dxp, domains.mphf and postings.dxp: a part that has others gets another build id, also from the same
 * lake. No state.
 */
#ifndef DX_FORMAT_VERSION_BUILD_TEXT_H
#define DX_FORMAT_VERSION_BUILD_TEXT_H

#include "base/hash.h"

#define DX_BUILD_TEXT 128

void dx_build_text(char text[DX_BUILD_TEXT], uint32_t cold, uint32_t mphf, uint32_t postings,
                   uint32_t canon_version, const struct dx_hash128 *psl_hash);

#endif
