/* SPDX-License-Identifier: Apache-2.0
 * part.h - the index files of one part of a version, opened and cross-checked.
 *
 *   rc = dx_part_new(&part, root, &entry, open_flags, &err);
 *   rc = dx_part_open(part, &copies, source, how, &err);   maps, checks; copies.tree is taken
 *   ... part->mphf, part->membership, part->counts ...       read-only
 *   dx_part_free(&part);
 *
 * A part says which domains there are, in which datasets, how often, and where their rows lie: the
 * files of sections 3 to 10 of docs/FORMAT.md. What a version has beside its parts (registry,
 * suffix list, the manifest's totals) is loader/version.h's. Numbers of domains (ordinals), pages
 * and row groups are of a part; numbers of lake files are of the version, and a part knows the
 * files that it scanned: those from entry.part.first_file on.
 *
 * Errors: DX_E_CORRUPT and DX_E_TRUNCATED name the file and what contradicts what; DX_E_NOT_FOUND a
 * file that the manifest lists and that is not there. After an error the part can only be freed.
 * After open everything is read-only but `objects`, which has its own lock: threads may share it, and
 * versions (loader/open_parts.h).
 */
#ifndef DX_LOADER_PART_H
#define DX_LOADER_PART_H

#include "base/buf.h"
#include "base/map.h"
#include "fetch/source.h"
#include "format/core/counts.h"
#include "format/core/dictionary.h"
#include "format/core/membership.h"
#include "format/core/mphf.h"
#include "format/version/cold.h"
#include "format/version/dataset_domains.h"
#include "format/version/dead.h"
#include "format/version/manifest.h"
#include "format/version/pages.h"
#include "format/version/postings.h"
#include "format/version/tags.h"
#include "loader/mirror.h"

struct dx_guard;
struct dx_objects;
struct dx_open_parts;
struct dx_version_copies;

struct dx_part {
    /* Own copy: names, sizes and hashes of its files; `part` has their totals. */
    struct dx_manifest_version entry;
    char *root;
    char *directory;          /* index/{version}, relative to the root */
    struct dx_source *source; /* of the lake, and of the postings unless they are mirrored; held */
    struct dx_source
        *paged; /* of files that are read by page, under their names: source, or local */
    struct dx_objects *objects;
    struct dx_mirror_tree *tree; /* that `paged` reads; NULL if it is `source` */
    unsigned open_flags;
    struct dx_guard *guard; /* of the maps; NULL: the process has none (loader/guard/guard.h) */
    struct dx_map map_mphf, map_dictionary, map_membership, map_counts, map_postings, map_pages;
    struct dx_map map_dataset_domains, map_cold, map_tags, map_dead;
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
    struct dx_dead dead_file;
    const struct dx_dead *dead; /* NULL: it was made without older parts */
    bool verified;              /* every byte was, at open */
    bool copied;                /* from a remote root */
    _Atomic bool warm;          /* all maps were read into memory, by loader/warm.h or verified */
    /* loader/open_parts.h's, under its lock */
    struct dx_open_parts *open_parts; /* NULL: it has one holder, and is not shared */
    struct dx_part *next;
    unsigned holders;
};

/* What is needed to open the files: names. The entry is copied. */
int dx_part_new(struct dx_part **part, const char *root, const struct dx_manifest_version *entry,
                unsigned open_flags, struct dx_error *err);

struct dx_part_how {
    bool verify; /* every byte is checked */
    bool beside; /* loader/version_options.h */
};

/* copies: of a remote root's files, zeroed for a directory. source: one more holder. */
int dx_part_open(struct dx_part *part, struct dx_version_copies *copies, struct dx_source *source,
                 struct dx_part_how how, struct dx_error *err);
void dx_part_free(struct dx_part **part);

/* The ETags of its objects, from a copy of etags.tsv.zst; those of another store than root_url say
 * nothing. */
int dx_part_take_etags(struct dx_part *part, const char *copy, const char *root_url, bool verify,
                       struct dx_error *err);

/* Reads a listed file of a part that is open, a .zst decoded: at most cap bytes. copy: where it is, if
 * not under its name below the root; a pack is read from where the part reads it. text is replaced. */
int dx_part_read(const struct dx_part *part, const char *name, const char *copy, size_t cap,
                 struct dx_buf *text, struct dx_error *err);

/* The same in two steps: the bytes of the file, whose size and hash are the manifest's, and its text. */
int dx_part_read_stored(const struct dx_part *part, const char *name, const char *copy, size_t cap,
                        struct dx_buf *stored, struct dx_error *err);
int dx_part_expand(const struct dx_part *part, const char *name, size_t cap, struct dx_buf *text,
                   struct dx_error *err);

/* Postings, facts, sketches and the lists: what open has not read. Of a directory. */
int dx_part_check_others(const struct dx_part *part, struct dx_error *err);

/* Calls each for every mapped span that is not empty, until one is negative. */
int dx_part_maps(const struct dx_part *part,
                 int (*each)(void *ctx, const char *name, struct dx_span bytes,
                             struct dx_error *err),
                 void *ctx, struct dx_error *err);

/* The pages that this process has touched are the page cache's alone again; the next touch maps them
 * again. For callers that look up a little in much: a fault maps up to 64 KiB around it. Any thread. */
void dx_part_drop_pages(const struct dx_part *part);

/* Where a cold file (format/version/cold.h) is read from, under its name below the root: `paged`
 * has copies of those that answers need, if it has copies. */
struct dx_source *dx_part_cold_source(const struct dx_part *part, enum dx_cold_file file);

/* Whether the part has a domain, and under which numbers: 1, 0, or an error. */
static inline int dx_part_find(const struct dx_part *part, struct dx_span domain, uint64_t *ordinal,
                               uint64_t *domain_id, struct dx_error *err)
{
    return dx_mphf_find(&part->mphf, &part->dictionary, domain, ordinal, domain_id, err);
}

/* Bytes of the files of an entry that are mapped while it is open. */
uint64_t dx_part_mapped_bytes(const struct dx_manifest_version *entry);

#endif
