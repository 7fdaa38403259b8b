/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/build_info.h"

#include <jansson.h>
#include <libpsl.h>
#include <zlib.h>
#include <zstd.h>

#include "base/id_hash.h"
#include "base/release.h"
#include "fetch/http_call.h"
#include "format/core/counts.h"
#include "format/core/membership.h"
#include "format/version/cold.h"
#include "format/version/dataset_domains.h"
#include "format/version/manifest.h"
#include "format/version/pages.h"
#include "format/version/postings.h"
#include "format/version/tags.h"

#ifndef DX_COMMIT
#define DX_COMMIT "unknown commit"
#endif

void dx_build_info(struct dx_buf *out, const char *program)
{
    dx_buf_fmt(out, "%s %s%s (%s)\n", program, dx_release(), dx_id_warning(), DX_COMMIT);
    dx_buf_fmt(out,
               "layouts: manifest %d, membership %d, counts %d, postings %d, pages %d, cold %d, "
               "dataset domains %d, tags %d\n",
               DX_MANIFEST_FORMAT_VERSION, DX_MEMBERSHIP_VERSION, DX_COUNTS_VERSION,
               DX_POSTINGS_VERSION, DX_PAGES_VERSION, DX_COLD_VERSION, DX_DATASET_DOMAINS_VERSION,
               DX_TAGS_VERSION);
    dx_buf_fmt(out, "libraries: %s, zstd %s, jansson %s, libpsl %s, zlib %s\n", dx_http_library(),
               ZSTD_versionString(), jansson_version_str(), psl_get_version(), zlibVersion());
}
