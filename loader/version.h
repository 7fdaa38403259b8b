/* SPDX-License-Identifier: Apache-2.0
 * version.h - one published version, opened and cross-checked.
 *
 *   struct dx_version_options o = DX_VERSION_OPTIONS_DEFAULT;
 *   dx_caches_new(&caches, &o, &err);
 *   rc = dx_version_open(&v, root, &manifest, entry, caches, &o, &err);
 *   dx_version_canon_new(v, &canon, &err);          a canonicaliser with this version's list
 *   ... v->parts[i].part->mphf ...                  read-only; loader/part.h, loader/version_parts.h
 *   dx_version_unpin(v);                            the opener holds the first pin
 *   dx_caches_free(&caches);                        after the last version
 *
 * A remote root (http://, https://, s3://): the mapped files, the registry and the suffix list are
 * fetched to the mirror (loader/mirror.h), where most of them are already after the first time,
 * and mapped from there; a copy that was damaged there is fetched again once. Lake and postings
 * are read from the store by range, the latter from local copies with options.mirror_postings.
 * A copy of the postings that was damaged on the disk is found when it is read, by its checksums,
 * and those reads fail; opening with options.verify (another process may, while this one serves)
 * hashes all copies, fetches damaged ones again and puts them in the place of the old, where the
 * next read of a version that is open finds them.
 *
 * Open checks sizes of all mapped files against the manifest, the hashes of the small
 * ones, every bound and table of the others, that all were built together (build ids,
 * numbers of domains and pairs, hash of the domain list), and with options.verify the
 * hash of every file and every block. Without it each 4 KiB block is checked when it is
 * first touched, and not again: a file that is changed later poisons the version, see
 * dx_version_intact. Parts that another open version with the same caches has are not opened again
 * but shared (loader/open_parts.h). `entry` and those of its older parts,
 * which the manifest has, are copied; all else is owned by the version.
 *
 * Everything in the struct is read-only after open; threads may share it as long as each
 * user is covered by a pin. Pins are counted: dx_version_pin needs an existing pin.
 */
#ifndef DX_LOADER_VERSION_H
#define DX_LOADER_VERSION_H

#include "cache/page_cache.h"
#include "canon/psl.h"
#include "canon/url.h"
#include "fetch/source.h"
#include "format/root/registry_json.h"
#include "format/version/manifest.h"
#include "loader/dataset_heads.h"
#include "loader/dead_domains.h"
#include "loader/open_parts.h"
#include "loader/shared_manifest.h"
#include "loader/version_options.h"

#include <pthread.h>
#include <stdatomic.h>

struct dx_hot_keys;

/* Shared by all versions of a process: keys carry the identity of what they hold. */
struct dx_caches {
    struct dx_page_cache *idx;
    struct dx_page_cache *payload;
    struct dx_page_cache *pages;
    /* loader/followed/suppressions_live.h, put here by the owner of the caches, and theirs from then on; NULL:
     * nothing is suppressed */
    struct dx_suppressions_live *suppressions;
    struct dx_hot_keys *hot;    /* domains asked lately */
    struct dx_open_parts parts; /* of all versions that are open */
    _Atomic uint64_t mapped_versions;
    pthread_mutex_t open_lock;
    struct dx_version *open; /* all versions that are open; under the lock */
};

int dx_caches_new(struct dx_caches **caches, const struct dx_version_options *options,
                  struct dx_error *err);
void dx_caches_free(struct dx_caches **caches);

/* All versions that are open with these caches, each pinned: to be unpinned by the caller, and the array freed. One
 * that is opened meanwhile may be missing. */
int dx_caches_pin_open(struct dx_caches *caches, struct dx_version ***versions, size_t *count,
                       struct dx_error *err);

struct dx_version {
    struct dx_manifest_version entry; /* own copy */
    char *root;
    struct dx_source *source;                   /* of the lake */
    struct dx_caches *caches;                   /* borrowed */
    struct dx_version_part parts[DX_PARTS_MAX]; /* its index files; oldest first, its own last */
    size_t part_count;
    uint64_t numbers; /* of domains, dead ones too */
    struct dx_dead_domains dead;
    struct dx_registry registry;
    struct dx_dataset_heads heads;
    struct dx_psl *psl;
    pthread_mutex_t listed_lock;
    /* the manifest; under the lock, as newer ones take its place */
    struct dx_shared_manifest *listed;
    void *kept; /* under the lock too */
    void (*drop)(void *kept);
    uint64_t serial; /* of this process: no other open, of whatever version, has it */
    _Atomic long pins;
    _Atomic uint64_t visible; /* query/view/view's: 0 at first */
    struct dx_version *next_open,
        **at_open; /* under the lock of the caches; at_open NULL: not listed */
};

int dx_version_open(struct dx_version **v, const char *root, const struct dx_manifest *m,
                    const struct dx_manifest_version *entry, struct dx_caches *caches,
                    const struct dx_version_options *options, struct dx_error *err);
void dx_version_pin(struct dx_version *v);
void dx_version_unpin(struct dx_version *v); /* the last one closes; NULL is fine */

const char *dx_version_name(const struct dx_version *v);

/* The part that was made with it. */
static inline struct dx_part *dx_version_own(const struct dx_version *v)
{
    return v->parts[v->part_count - 1].part;
}

/* Bytes of the files that are mapped while a version is open; fresh: of those parts that no open
 * version with these caches has. */
uint64_t dx_version_mapped_bytes_of(const struct dx_manifest *m,
                                    const struct dx_manifest_version *entry);
uint64_t dx_version_fresh_bytes_of(struct dx_caches *caches, const char *root,
                                   const struct dx_manifest *m,
                                   const struct dx_manifest_version *entry);
/* Of all these versions and one more, each part counted once. */
uint64_t dx_version_mapped_bytes_with(struct dx_version *const *versions, size_t count,
                                      const char *root, const struct dx_manifest *m,
                                      const struct dx_manifest_version *entry);

/* Whether a mapped file was changed since the open: nothing that is computed from v any more may be
 * used, and v must be reopened. Only in a process with a guard (loader/guard/guard.h); the files that are
 * read, not mapped, are checked at each read. Any thread. */
bool dx_version_poisoned(const struct dx_version *v); /* as far as is known; a look at a flag */
bool dx_version_intact(const struct dx_version *v);   /* of all that was computed before the call */
int dx_version_damage(const struct dx_version *v, struct dx_error *err); /* why; DX_OK: none */

/* The manifest as this process saw it last; the caller is a holder. NULL: it was opened by its
 * entry alone. */
struct dx_shared_manifest *dx_version_listed(struct dx_version *v);
void dx_version_list(struct dx_version *v,
                     struct dx_shared_manifest *listed); /* holds it for itself */

/* What a layer above keeps as long as v is open: made by the first call, dropped by the close. NULL: out of memory. */
void *dx_version_kept(struct dx_version *v, void *(*make)(void), void (*drop)(void *kept));

/* Whether an ordinal of parts[i] is dead. */
bool dx_version_is_dead(const struct dx_version *v, size_t i, uint64_t ordinal);

/* The part that has a domain, and its numbers there: 1, or 0 if the version does not have it. The newest part that
 * knows it decides: where it is dead there, it went. All parts are asked at once, so that an answer waits for memory
 * as often with eight parts as with one. */
int dx_version_find_newest(const struct dx_version *v, struct dx_span domain,
                           const struct dx_part **part, uint64_t *ordinal, uint64_t *domain_id,
                           struct dx_error *err);
static inline int dx_version_find(const struct dx_version *v, struct dx_span domain,
                                  const struct dx_part **part, uint64_t *ordinal,
                                  uint64_t *domain_id, struct dx_error *err)
{
    int rc;

    if (v->part_count > 1)
        return dx_version_find_newest(v, domain, part, ordinal, domain_id, err);
    *part = v->parts[0].part;
    rc = dx_part_find(*part, domain, ordinal, domain_id, err);
    return rc == 1 && v->parts[0].dead != NULL && dx_version_is_dead(v, 0, *ordinal) ? 0 : rc;
}

int dx_version_canon_new(const struct dx_version *v, struct dx_canon **canon, struct dx_error *err);

/* Reads and parses {root}/index/manifest.json, a remote one with the environment's options. */
int dx_version_manifest(const char *root, struct dx_manifest *m, struct dx_error *err);

/* The same from a source that is open: 1, or 0 if it still has the etag if_none_match (NULL:
 * unconditional). etag: what to ask with next time. root is for messages. */
int dx_version_manifest_get(struct dx_source *source, const char *root, const char *if_none_match,
                            char etag[DX_SOURCE_ETAG], struct dx_manifest *m, struct dx_error *err);

/* Of the bytes of a root's manifest; and the error of a root that has none. root is for
 * messages. */
int dx_version_manifest_parse(struct dx_span text, const char *root, struct dx_manifest *m,
                              struct dx_error *err);
int dx_version_no_index(const char *root, struct dx_error *err);

/* What a NULL options->source means. */
int dx_version_source_options(const struct dx_version_options *options,
                              struct dx_source_options *out, struct dx_error *err);

/* A version of the manifest by name; NULL name: the current one. */
int dx_version_open_named(struct dx_version **v, const char *root, const char *name,
                          struct dx_caches *caches, const struct dx_version_options *options,
                          struct dx_error *err);

#endif
