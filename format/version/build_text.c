/* SPDX-License-Identifier: Apache-2.0 */
#include "format/version/build_text.h"

#include <stdio.h>

void dx_build_text(char text[DX_BUILD_TEXT], uint32_t cold, uint32_t mphf, uint32_t postings,
                   uint32_t canon_version, const struct dx_hash128 *psl_hash)
{
    char psl[DX_HASH128_TEXT];

    dx_hash128_text(psl_hash, psl);
    (void)snprintf(text, DX_BUILD_TEXT, "domaindex-build-%u\n%u\n%s\n",
                   (unsigned)(cold + mphf + postings - 1), (unsigned)canon_version, psl);
}
