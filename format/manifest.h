/* SPDX-License-Identifier: Apache-2.0
 * manifest.h - manifest.json: which versions there are and which one is current.
 *
 *   struct dx_manifest m = DX_MANIFEST_INIT;
 *   rc = dx_manifest_parse(text, name, &m, &err);
 *   v = dx_manifest_find(&m, "000001-20261121T103000Z");   NULL: not listed
 *   v = dx_manifest_current(&m);
 *   f = dx_manifest_file(v, "domains.dict");               size and hash; NULL: not listed
 *
 *   rc = dx_manifest_add(&m, version_name, &v, &err);      zeroed but for name and sequence
 *   rc = dx_manifest_file_add(v, "domains.dict", size, &hash, &err);
 *   rc = dx_manifest_file_refer(v, "postings/0a1/postings.idx.zst", size, &hash, in, &err);
 *   strcpy(m.current, v->version);  m.sequence++;
 *   rc = dx_manifest_write(&m, &buf, &err);                the same checks as parse, then text
 *   dx_manifest_release(&m);
 *
 * A file of a version is at "index/" version "/" name, below the root: the names are fixed, so no
 * path in a manifest can lead elsewhere. A shard's file may be that of an older version, `in`: it
 * did not change since. dx_manifest_file_path says where a file is. The text ends in the XXH3-128 of what is before its last
 * member; a manifest that was damaged or cut is refused whole. Pointers into m are valid until the
 * next add or release. One thread at a time; read-only use may be shared.
 */
#ifndef DX_FORMAT_MANIFEST_H
#define DX_FORMAT_MANIFEST_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"

#define DX_MANIFEST_MAX (64u << 20)
#define DX_MANIFEST_FORMAT_VERSION 3 /* written; 1 and 2 are read too */
#define DX_VERSION_NAME 24           /* "000001-20261121T103000Z" and NUL */
#define DX_VERSION_SEQUENCE_MAX 999999
#define DX_PARQUET_ROOT_MAX 512

/* Names of the files that each version has, apart from the postings shards. */
#define DX_FILE_DOMAINS_TXT "domains.txt.zst"
#define DX_FILE_DOMAINS_MPHF "domains.mphf"
#define DX_FILE_DOMAINS_DICT "domains.dict"
#define DX_FILE_MEMBERSHIP "domain_to_datasets.roar"
#define DX_FILE_COUNTS "domain_counts.dxc"
#define DX_FILE_POSTINGS_DIR "postings.dxp"
#define DX_FILE_FILES_TSV "files.tsv.zst"
#define DX_FILE_PAGES "pages.dxp"
#define DX_FILE_DATASETS "datasets.json"
#define DX_FILE_PSL "psl.dat"
/* Versions of before format version 3 have none of these (dx_manifest_aggregates). */
#define DX_FILE_DATASET_DOMAINS "dataset_domains.dxt"
#define DX_FILE_COLD "cold.dxp"
#define DX_FILE_FACTS "facts.dat.zst"
#define DX_FILE_SKETCHES "sketches.dat.zst"
#define DX_FILE_URL_IDS "url_ids.dat.zst"
/* May be missing: publish writes it for a root on a store that gives ETags. */
#define DX_FILE_ETAGS "etags.tsv.zst"
/* Of a version of which a lake file has the column `tags`. */
#define DX_FILE_TAGS "tags.dxt"
/* Those of shard xyz: "postings/xyz/postings.idx.zst" and ".dat.zst". */
#define DX_MANIFEST_FILE_NAME 40

/* "index/" version "/" name, and NUL */
#define DX_MANIFEST_FILE_PATH (6 + DX_VERSION_NAME + DX_MANIFEST_FILE_NAME)

struct dx_manifest_file {
    char name[DX_MANIFEST_FILE_NAME];
    char in[DX_VERSION_NAME]; /* the version in whose folder it is; "": this one's */
    uint64_t size;
    struct dx_hash128 hash;
};

/* A version goes from listed to condemned to dropped to gone; only a flip to it leads back, from
 * condemned. docs/model/README.md has the reasons. */
enum dx_version_state {
    DX_VERSION_LISTED,
    DX_VERSION_CONDEMNED, /* listed, but to go; condemned_us says since when */
    DX_VERSION_DROPPED    /* nobody may come to it; its files are being removed */
};

#define DX_MANIFEST_NEVER INT64_MIN

struct dx_manifest_version {
    char version[DX_VERSION_NAME];
    uint32_t sequence;
    int64_t published_us; /* whole seconds, as all times here */
    enum dx_version_state state;
    int64_t condemned_us;       /* by the store's clock; DX_MANIFEST_NEVER if it is listed */
    int64_t superseded_us;      /* when it was current last; DX_MANIFEST_NEVER: is, or never was */
    char base[DX_VERSION_NAME]; /* that it was made from; "": from the whole lake */
    uint64_t cleansed;          /* its lake holds no row that suppressions up to this number hit */
    struct dx_build_id build;
    uint32_t canon_version;
    uint64_t domains;
    uint64_t datasets;
    uint64_t pairs;
    uint64_t rows;
    uint64_t urls;
    uint64_t lake_files;
    uint64_t
        file_ids; /* numbers given to lake files, those of files that went too: lines of files.tsv */
    struct dx_hash128 psl_hash;
    char parquet_root[DX_PARQUET_ROOT_MAX + 1]; /* "urls/": relative to the root */
    struct dx_manifest_file *files;             /* by name in byte order */
    size_t file_count;
    size_t file_capacity;
};

struct dx_manifest {
    uint64_t sequence; /* one more with each flip, also with a rollback; never below a version's */
    char current[DX_VERSION_NAME];
    struct dx_manifest_version *versions; /* by sequence */
    size_t version_count;
    size_t version_capacity;
};

#define DX_MANIFEST_INIT  \
    {                     \
        0, "", NULL, 0, 0 \
    }

int dx_manifest_parse(struct dx_span text, const char *name, struct dx_manifest *m,
                      struct dx_error *err);
int dx_manifest_write(const struct dx_manifest *m, struct dx_buf *out, struct dx_error *err);
void dx_manifest_release(struct dx_manifest *m);

const struct dx_manifest_version *dx_manifest_find(const struct dx_manifest *m,
                                                   const char *version);
const struct dx_manifest_version *dx_manifest_current(const struct dx_manifest *m);
const struct dx_manifest_file *dx_manifest_file(const struct dx_manifest_version *v,
                                                const char *name);

/* Whether it lists the files that versions have since format version 3. */
bool dx_manifest_aggregates(const struct dx_manifest_version *v);

int dx_manifest_add(struct dx_manifest *m, const char *version, struct dx_manifest_version **out,
                    struct dx_error *err);
int dx_manifest_remove(struct dx_manifest *m, const char *version, struct dx_error *err);
int dx_manifest_file_add(struct dx_manifest_version *v, const char *name, uint64_t size,
                         const struct dx_hash128 *hash, struct dx_error *err);

/* A file that an older version has and this one shares; only those of shards can be. */
int dx_manifest_file_refer(struct dx_manifest_version *v, const char *name, uint64_t size,
                           const struct dx_hash128 *hash, const char *in, struct dx_error *err);

/* Where the file is, relative to the root. */
void dx_manifest_file_path(const struct dx_manifest_version *v, const struct dx_manifest_file *f,
                           char out[DX_MANIFEST_FILE_PATH]);

/* A deep copy; out is written over. */
int dx_manifest_version_copy(const struct dx_manifest_version *from,
                             struct dx_manifest_version *out, struct dx_error *err);

/* The flip: `version` (listed or condemned) becomes current at now_us, its mark is cleared, and
 * sequence rises to `sequence`. DX_E_NOT_FOUND: not in m, or dropped. */
int dx_manifest_flip(struct dx_manifest *m, const char *version, uint64_t sequence, int64_t now_us,
                     struct dx_error *err);

/* "listed"... */
const char *dx_version_state_name(enum dx_version_state state);

/* sequence and UTC time -> name; false if they do not fit the form. */
bool dx_version_name_make(uint64_t sequence, int64_t published_us, char out[DX_VERSION_NAME]);
/* `^[0-9]{6}-[0-9]{8}T[0-9]{6}Z$` with a time that exists; sequence may be NULL. */
bool dx_version_name_ok(struct dx_span name, uint32_t *sequence);

#endif
