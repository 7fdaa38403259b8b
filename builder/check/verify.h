/* SPDX-License-Identifier: Apache-2.0
 * verify.h - reads every byte of a published version and says what contradicts what.
 *
 *   struct dx_verify_options o = { .root = root, .found = print_line, .ctx = NULL, ... };
 *   rc = dx_verify(&o, &result, &err);
 *     DX_OK   the check was made; result.damages says how much is wrong; `found` is called for each
 *     <0      the check could not be made (no memory, no such version...)
 *
 * Checked: size and hash of every file in the manifest; every block, frame and structure; that
 * dictionary and hash function name the same domains; that sets, counts and
 * postings tell the same of each (domain, dataset); that the list of each dataset's domains, the
 * hosts and paths of each pair, its sketch and the numbers of distinct URLs agree with the counts;
 * that the places of URLs ascend, are there and are as many as there are URLs; that tags name rows
 * and domains which are there; that the postings
 * cover each row of the lake once; that files.tsv, pages.dxp, datasets.json, the manifest and the
 * build id agree; that the lake's files are there with their sizes. With `deep` also every byte of
 * the lake: hashes, order, domains and ids of all rows, and all counts, facts, sketches, places of
 * URLs, tags and postings rebuilt and compared, and that no row stands twice (a hash of each row
 * more). What only the lake knows needs deep: whose row a row is,
 * and what stands on a page.
 *
 * A root on object storage is checked from a copy of the index, of which each byte is fetched, held
 * against the manifest and kept in a work folder below tmp_dir, or in cache_dir: what is there
 * already is not fetched, only asked for by size. The lake's files are asked for by listing (s3://)
 * or by a range of one byte each, with the ETags that publish saw; with `deep` they are fetched as
 * publish does it (builder/scan/index_scan.h) and dropped. What could not be fetched, or what the system refused to open or to read,
 * is an error, not damage, unless it is missing.
 *
 * With `base` also the files outside of the root that rows indexed in place came from (docs/GUIDE.md, "Indexed in
 * place"): that they are there, below the base, with the size and the footer that they had. Damage names each that is
 * not, with the reason. Memory: a name and 80 bytes for each of them, a million at most.
 *
 * Of the current version it is also said which files of the lake no version has (the next publish
 * takes them), which the version lacks by permission, and that a listing lacks files which are
 * there.
 *
 * Memory: 16 bytes a domain of each part (twice that while they are sorted), 24 a row group, 16 a dataset of each
 * part, pages and the sketches of one domain, the text of files.tsv, and what dead.dxb holds; with deep also
 * `memory`, and a page of facts and sketches a part.
 */
#ifndef DX_BUILDER_CHECK_VERIFY_H
#define DX_BUILDER_CHECK_VERIFY_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/map.h"
#include "builder/root/root.h"
#include "builder/root/version_files.h"
#include "builder/root/work_folder.h"
#include "format/version/manifest.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dx_index_lake;
struct dx_part;
struct dx_url_place;

struct dx_verify_progress { /* of the phase; written while dx_verify runs, for another thread */
    _Atomic uint64_t bytes;
    _Atomic uint64_t bytes_total; /* 0: the phase does not count */
    _Atomic uint64_t items;       /* files, or rows */
};

struct dx_verify_options {
    const char *root;
    const char *version; /* NULL: the current one */
    bool deep;
    const char *tmp_dir;   /* for deep, and for what is fetched */
    const char *cache_dir; /* of remote roots: see above; NULL: nothing is kept */
    size_t memory;
    unsigned threads;
    const char
        *base; /* what the files of locators lie below (located_path.h); NULL: not looked at */
    void (*found)(void *ctx, const char *text); /* once a damage */
    void (*note)(void *ctx, const char *text);  /* findings that are not damage; may be NULL */
    void (*phase)(void *ctx, const char *name); /* what is being read now; may be NULL */
    void *ctx;
    struct dx_verify_progress *progress; /* may be NULL */
};

struct dx_verify_result {
    uint64_t damages;
    uint64_t rows_twice; /* found by deep: one of the damages, however many */
    uint64_t files, bytes;
    uint64_t domains, pairs, rows, lake_files;
    uint64_t sources; /* files that rows came from, with `base` */
    uint64_t pages;   /* of datasets of counts */
    char version[32];
};

int dx_verify(const struct dx_verify_options *options, struct dx_verify_result *result,
              struct dx_error *err);

/* Internal to the check: its state, and its rooms (verify_files.c, verify_index.c, verify_dead.c,
 * verify_facts.c, verify_urls.c, verify_tags.c, verify_lake.c, verify_sources.c). */

/* What a part holds, from its own files. */
struct dx_verify_part {
    uint64_t postings_sum; /* of the payloads of live domains, by dx_verify_payload_sum */
    uint64_t url_places;   /* of url_ids.dat.zst */
    uint64_t url_sum;      /* of all of them: a sum of hashes */
    struct dx_verify_dataset {
        uint64_t domains, urls;
    } * datasets; /* parallel to the registry; of dx_verify_index */
};

struct dx_verify {
    const struct dx_verify_options *options;
    struct dx_verify_result *result;
    struct dx_version *version;
    size_t at;                  /* of the part that is looked at, among the version's */
    const struct dx_part *part; /* that one; NULL: all together are */
    struct dx_verify_part parts[DX_PARTS_MAX];
    struct dx_source_options source_options;
    struct dx_root root;
    bool lost_page; /* of a file of the version */
    /* Of roots on object storage only, all below. */
    struct dx_version_files copies;
    struct dx_work_folder folder;
    char mirror[4096];
};

/* Which part is looked at: messages name it, if there are several, and files are its own. */
void dx_verify_enter(struct dx_verify *w, size_t part);
void dx_verify_leave(struct dx_verify *w);
/* The part that has a lake file's number; part_count: none. */
size_t dx_verify_part_of_file(const struct dx_verify *w, uint64_t file_id);

void dx_verify_found(struct dx_verify *w, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* A lower layer's error as damage; our own lack of memory stays an error, and so does what the
 * system refused (no descriptor left, a disk that does not read) and what the network did. */
int dx_verify_damage(struct dx_verify *w, const struct dx_error *why, struct dx_error *err);
/* A file of the part that is looked at. */
int dx_verify_map(const struct dx_verify *w, const char *name, struct dx_map *map,
                  struct dx_error *why);
void dx_verify_phase(const struct dx_verify *w, const char *name);
/* One that counts. */
void dx_verify_phase_of(const struct dx_verify *w, const char *name, uint64_t bytes);
/* payload: as stored; it has been opened or was just encoded. */
uint64_t dx_verify_payload_sum(uint64_t domain_id, uint32_t dataset_id, struct dx_span payload);
bool dx_verify_is_damage(const struct dx_verify *w, int code);
int dx_verify_files(struct dx_verify *w, struct dx_error *err);
int dx_verify_index(struct dx_verify *w, struct dx_error *err);
/* dead.dxb of all parts against their dictionaries and counts. */
int dx_verify_dead(struct dx_verify *w, struct dx_error *err);
int dx_verify_facts(struct dx_verify *w, struct dx_error *err);
int dx_verify_urls(struct dx_verify *w, struct dx_error *err);
/* What a scan of the lake found against what dx_verify_urls read. */
int dx_verify_url_places(struct dx_verify *w, const struct dx_index_lake *lake,
                         struct dx_error *why);
int dx_verify_tags(struct dx_verify *w, struct dx_error *err);
/* What the tags of rows that a scan of the lake found say, against those of the files. */
int dx_verify_tags_lake(struct dx_verify *w, const struct dx_index_lake *lake,
                        struct dx_error *why);
int dx_verify_lake(struct dx_verify *w, struct dx_error *err);
int dx_verify_sources(struct dx_verify *w, struct dx_error *err);
/* Notes on the lake beside the current version; what cannot be looked at is one. */
void dx_verify_lake_notes(const struct dx_verify *w, const struct dx_manifest_version *current);

#endif
