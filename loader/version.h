/* SPDX-License-Identifier: Apache-2.0
 * version.h - one published version, opened and cross-checked.
 *
 *   struct dx_version_options o = DX_VERSION_OPTIONS_DEFAULT;
 *   dx_caches_new(&caches, &o, &err);
 *   rc = dx_version_open(&v, root, &manifest_entry, caches, &o, &err);
 *   dx_version_canon_new(v, &canon, &err);          a canonicaliser with this version's list
 *   ... v->mphf, v->membership, v->counts ...       read-only
 *   dx_version_unpin(v);                            the opener holds the first pin
 *   dx_caches_free(&caches);                        after the last version
 *
 * A remote root (http://, https://, s3://): the mapped files, the registry and the suffix list are
 * brought to the mirror (loader/mirror.h), where most of them are already after the first time,
 * and mapped from there; a copy that was damaged there is brought again once. Lake and postings
 * are read from the store by range, the latter from local copies with options.mirror_postings.
 * A copy of the postings that was damaged on the disk is found when it is read, by its checksums,
 * and those reads fail; opening with options.verify (another process may, while this one serves)
 * hashes all copies, brings damaged ones again and puts them in the place of the old, where the
 * next read of a version that is open finds them.
 *
 * Open checks sizes of all mapped files against the manifest, the hashes of the small
 * ones, every bound and table of the others, that all were built together (build ids,
 * numbers of domains and pairs, hash of the domain list), and with options.verify the
 * hash of every file and every block. Without it each 4 KiB block is checked when it is
 * first touched, and not again: a file that is changed later poisons the version, see
 * dx_version_intact. `manifest_entry` is copied; all else is owned by the version.
 *
 * Everything in the struct is read-only after open; threads may share it as long as each
 * user is covered by a pin. Pins are counted: dx_version_pin needs an existing pin.
 */
#ifndef DX_LOADER_VERSION_H
#define DX_LOADER_VERSION_H

#include "base/map.h"
#include "cache/page_cache.h"
#include "canon/psl.h"
#include "canon/url.h"
#include "fetch/source.h"
#include "format/cold.h"
#include "format/counts.h"
#include "format/dataset_domains.h"
#include "format/dictionary.h"
#include "format/manifest.h"
#include "format/membership.h"
#include "format/mphf.h"
#include "format/pages.h"
#include "format/postings.h"
#include "format/registry_json.h"
#include "format/tags.h"
#include "loader/dataset_heads.h"
#include "loader/mirror.h"
#include "loader/shared_manifest.h"

#include <pthread.h>
#include <stdatomic.h>

struct dx_guard;
struct dx_hot_keys;

struct dx_version_options {
    uint64_t cache_bytes_idx;     /* decoded pages of postings.idx */
    uint64_t cache_bytes_payload; /* decoded frames of postings.dat */
    uint64_t cache_bytes_pages;   /* decoded pages of the lake */
    enum dx_evict evict;
    bool verify;         /* read and check every byte at open */
    unsigned open_flags; /* 0; tests: DX_OPEN_UNCHECKED believes all checksums */
    /* of remote roots: */
    const struct dx_source_options *source; /* NULL: the defaults, and the environment's */
    const char *mirror_dir;                 /* NULL: as loader/mirror.h says */
    bool mirror_postings;                   /* the postings too, not only what is mapped */
    uint64_t mirror_keep_s; /* copies that nobody opened for so long go when others come; 0: stay */
    dx_mirror_tell *tell;   /* how far the mirror is; NULL: nobody wants to know */
    void *tell_ctx;
    /* With verify, of a directory: also the files that are read by range later, as the manifest has
     * them: postings of all shards, those of older versions too, and the lists. */
    bool whole;
};

#define DX_MIRROR_KEEP_S (7u * 86400)

#define DX_VERSION_OPTIONS_DEFAULT                                                    \
    {                                                                                 \
        64u << 20, 64u << 20, 64u << 20, DX_EVICT_SIEVE, false, 0, NULL, NULL, false, \
            DX_MIRROR_KEEP_S, NULL, NULL, false                                       \
    }

/* Shared by all versions of a process: keys carry the identity of what they hold. */
struct dx_caches {
    struct dx_page_cache *idx;
    struct dx_page_cache *payload;
    struct dx_page_cache *pages;
    struct dx_overlay *overlay; /* loader/overlay.h, put here by who has the caches, and theirs from
                                   then on; NULL: nothing is suppressed */
    struct dx_hot_keys *hot;    /* domains asked lately */
    _Atomic uint64_t mapped_bytes; /* of all versions that are open */
    _Atomic uint64_t mapped_versions;
};

int dx_caches_new(struct dx_caches **caches, const struct dx_version_options *options,
                  struct dx_error *err);
void dx_caches_free(struct dx_caches **caches);

struct dx_version {
    struct dx_manifest_version entry; /* own copy */
    char *root;
    char *directory;          /* index/{version}, relative to the root */
    struct dx_source *source; /* of the lake, and of the postings unless they are mirrored */
    struct dx_source *shards; /* of the postings, under the same names: source, or a local one */
    struct dx_objects *objects;
    struct dx_mirror_tree *tree; /* that `shards` reads; NULL if it is `source` */
    struct dx_caches *caches;    /* borrowed */
    unsigned open_flags;
    struct dx_guard *guard; /* of the maps; NULL: the process has none (loader/guard.h) */
    struct dx_map map_mphf, map_dictionary, map_membership, map_counts, map_postings, map_pages;
    struct dx_map map_dataset_domains, map_cold, map_tags;
    struct dx_mphf mphf;
    struct dx_dictionary dictionary;
    struct dx_membership membership;
    struct dx_counts counts;
    struct dx_postings postings;
    struct dx_pages pages;
    struct dx_dataset_domains dataset_domains;
    struct dx_cold cold;
    struct dx_tags tags_file;
    const struct dx_tags *tags; /* NULL: no lake file has the column `tags` */
    struct dx_registry registry;
    struct dx_dataset_heads heads;
    struct dx_psl *psl;
    pthread_mutex_t listed_lock;
    struct dx_shared_manifest
        *listed;     /* the manifest; under the lock, as newer ones take its place */
    uint64_t serial; /* of this process: no other open, of whatever version, has it */
    _Atomic long pins;
    _Atomic uint64_t visible; /* query/view's: 0 at first */
};

int dx_version_open(struct dx_version **v, const char *root,
                    const struct dx_manifest_version *manifest_entry, struct dx_caches *caches,
                    const struct dx_version_options *options, struct dx_error *err);
void dx_version_pin(struct dx_version *v);
void dx_version_unpin(struct dx_version *v); /* the last one closes; NULL is fine */

const char *dx_version_name(const struct dx_version *v);

/* Whether a mapped file was changed since the open: nothing that is computed from v any more is to
 * be believed, and v is to be opened anew. Only in a process with a guard (loader/guard.h); the
 * files that are read, not mapped, are checked at each read. Any thread. */
bool dx_version_poisoned(const struct dx_version *v); /* as far as is known; a look at a flag */
bool dx_version_intact(const struct dx_version *v);   /* of all that was computed before the call */
int dx_version_damage(const struct dx_version *v, struct dx_error *err); /* why; DX_OK: none */

/* The manifest as this process saw it last; the caller is a holder. NULL: it was opened by its
 * entry alone. */
struct dx_shared_manifest *dx_version_listed(struct dx_version *v);
void dx_version_list(struct dx_version *v,
                     struct dx_shared_manifest *listed); /* holds it for itself */

/* Bytes of the files of an entry that are mapped while it is open. */
uint64_t dx_version_mapped_bytes(const struct dx_manifest_version *entry);

/* Those of an open one; calls each for every span that is not empty, until one is negative. */
int dx_version_maps(const struct dx_version *v,
                    int (*each)(void *ctx, const char *name, struct dx_span bytes,
                                struct dx_error *err),
                    void *ctx, struct dx_error *err);
int dx_version_canon_new(const struct dx_version *v, struct dx_canon **canon, struct dx_error *err);

/* Where a cold file (format/cold.h) is read from, under its name below the root: `shards` has
 * copies of those that answers need, if it has copies. */
struct dx_source *dx_version_cold_source(const struct dx_version *v, enum dx_cold_file file);

/* Whether the manifest lists just the files that the directory of the postings has of a shard; record
 * NULL: of a shard without pairs, none. */
bool dx_version_lists_shard(const struct dx_version *v, uint32_t shard,
                            const struct dx_postings_shard *record);

/* Reads and parses {root}/index/manifest.json, a remote one with the environment's options. */
int dx_version_manifest(const char *root, struct dx_manifest *m, struct dx_error *err);

/* The same from a source that is open: 1, or 0 if it still has the etag if_none_match (NULL:
 * unconditional). etag: what to ask with next time. root is for messages. */
int dx_version_manifest_get(struct dx_source *source, const char *root, const char *if_none_match,
                            char etag[DX_SOURCE_ETAG], struct dx_manifest *m, struct dx_error *err);

/* What a NULL options->source means. */
int dx_version_source_options(const struct dx_version_options *options,
                              struct dx_source_options *out, struct dx_error *err);

/* A version of the manifest by name; NULL name: the current one. */
int dx_version_open_named(struct dx_version **v, const char *root, const char *name,
                          struct dx_caches *caches, const struct dx_version_options *options,
                          struct dx_error *err);

/* The same of a manifest that was read before. After success the version owns what m had and m is
 * empty; after an error m is as it was. */
int dx_version_open_listed(struct dx_version **v, const char *root, struct dx_manifest *m,
                           const char *name, struct dx_caches *caches,
                           const struct dx_version_options *options, struct dx_error *err);

#endif
