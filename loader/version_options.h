/* SPDX-License-Identifier: Apache-2.0
 * version_options.h - how versions are opened (loader/version.h), and copied before
 * (version_copies.h).
 *
 *   struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
 */
#ifndef DX_LOADER_VERSION_OPTIONS_H
#define DX_LOADER_VERSION_OPTIONS_H

#include "base/bytes.h"
#include "cache/page_cache.h"
#include "fetch/source.h"
#include "loader/mirror.h"

struct dx_version_options {
    uint64_t cache_bytes_idx;     /* decoded pages of postings.idx */
    uint64_t cache_bytes_payload; /* decoded frames of postings.dat */
    uint64_t cache_bytes_pages;   /* decoded pages of the lake */
    enum dx_evict evict;
    bool verify;         /* read and check every byte at open */
    bool beside;         /* with verify: slowly, while other versions serve (loader/warm_map.h) */
    unsigned open_flags; /* 0; tests: DX_OPEN_UNCHECKED believes all checksums */
    /* of remote roots: */
    const struct dx_source_options *source; /* NULL: the defaults, and the environment's */
    const char *mirror_dir;                 /* NULL: as loader/mirror.h says */
    bool mirror_postings;                   /* the postings too, not only what is mapped */
    /* copies that were not opened for so long are removed when others come; 0: stay */
    uint64_t mirror_keep_s;
    dx_mirror_tell *tell; /* how far the mirror is; NULL: none */
    void *tell_ctx;
    /* With verify, of a directory: also the files that are read by range later, as the manifest has
     * them: postings, cold files, and the lists. */
    bool whole;
    /* Only this name and those below it are asked about: the suffix list is read for them alone (canon/suffix_rules.h). Size 0:
     * any names. Used while a version is opened. */
    struct dx_span tail;
    /* verify and mirror_postings: of the part that was made with the version, and no older one */
    bool own_only;
};

#define DX_MIRROR_KEEP_S (7u * 86400)

#define DX_VERSION_OPTIONS_DEFAULT                                                           \
    {                                                                                        \
        64u << 20, 64u << 20, 64u << 20, DX_EVICT_SIEVE, false, false, 0, NULL, NULL, false, \
            DX_MIRROR_KEEP_S, NULL, NULL, false, { NULL, 0 }, false                          \
    }

#endif
