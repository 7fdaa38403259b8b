/* SPDX-License-Identifier: Apache-2.0
 * manifest.h - manifest.json: which versions there are and which one is current.
 *
 *   struct dx_manifest m = DX_MANIFEST_INIT;
 *   rc = dx_manifest_parse(text, name, &m, &err);
 *   v = dx_manifest_find(&m, "000001-20261121T103000Z");   NULL: not listed
 *   v = dx_manifest_current(&m);
 *   f = dx_manifest_file(v, "domains.dict");               size and hash; NULL: not listed
 *   dx_manifest_place(v, f, &place);                       the object that has its bytes, and where
 *
 *   rc = dx_manifest_add(&m, version_name, &v, &err);      zeroed but for name and sequence
 *   rc = dx_manifest_file_add(v, "domains.dict", size, &hash, &err);
 *   strcpy(m.current, v->version);  m.sequence++;
 *   rc = dx_manifest_write(&m, &buf, &err);                the same checks as parse, then text
 *   dx_manifest_release(&m);
 *
 * A version has one part or several: its own files, and before them those of the older versions that
 * `parts` names (docs/FORMAT.md 11.4), which must be listed too.
 *
 * A file of a version is at "index/" version "/" name, below the root, or in the version's pack
 * (docs/FORMAT.md 11.6): the names are fixed, so no path in a manifest can lead elsewhere. What reads
 * a file asks dx_manifest_place where it is; what counts, copies or removes objects walks
 * dx_manifest_object. The text ends in
 * the XXH3-128 of what is before its last member; a manifest that was damaged or cut is refused whole. Pointers
 * into m are valid until the next add or release. One thread at a time; read-only use may be
 * shared.
 */
#ifndef DX_FORMAT_VERSION_MANIFEST_H
#define DX_FORMAT_VERSION_MANIFEST_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "format/version/names.h"

#define DX_MANIFEST_MAX (64u << 20)
#define DX_MANIFEST_FORMAT_VERSION 2 /* 1 is read, and written while no version needs 2 */
#define DX_VERSION_SEQUENCE_MAX 999999
#define DX_PARQUET_ROOT_MAX 512
#define DX_MANIFEST_SUPPRESSIONS_MAX (1u << 20) /* DX_SUPPRESSIONS_LINES_MAX */

struct dx_manifest_file {
    char name[DX_MANIFEST_FILE_NAME];
    uint64_t size;
    struct dx_hash128 hash;
};

/* A version goes from listed to condemned to dropped to gone; only a flip to it leads back, from
 * condemned. docs/model/README.md has the reasons. */
enum dx_version_state {
    DX_VERSION_LISTED,
    DX_VERSION_CONDEMNED, /* listed, but to go; condemned_us says since when */
    DX_VERSION_DROPPED    /* must not be opened; its files are being removed */
};

#define DX_MANIFEST_NEVER INT64_MIN
#define DX_PARTS_MAX 8 /* of a version, its own one included */

/* What the files in a version's own folder hold; of a version without older parts the same as the
 * whole version. Rows of older files count where a domain of this part has them. */
struct dx_manifest_part {
    uint64_t domains, pairs, rows, urls;
    uint64_t first_file; /* its lake files have the numbers from here on, to file_ids */
};

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
    uint64_t pages;         /* of rows, and of urls: those of datasets of counts */
    uint64_t rows_left_out; /* of its lake files: faulty ones (docs/FORMAT.md, 12.4) */
    uint64_t lake_files;
    uint64_t missing_files; /* lines of missing.tsv.zst; 0: it is not listed */
    uint64_t gone_files;    /* that its older parts list and it does not have: in dead.dxb */
    /* numbers given to lake files, those of files that went too: lines of files.tsv */
    uint64_t file_ids;
    struct dx_manifest_part part;
    size_t part_count; /* older ones: names in `parts`, by sequence */
    char parts[DX_PARTS_MAX - 1][DX_VERSION_NAME];
    struct dx_hash128 psl_hash;
    char parquet_root[DX_PARQUET_ROOT_MAX + 1]; /* "urls/": relative to the root */
    struct dx_manifest_file *files;             /* by name in byte order */
    size_t file_count;
    size_t file_capacity;
    struct dx_manifest_file pack; /* that has all of them; name "": each is an object of its own */
};

struct dx_manifest {
    uint64_t sequence; /* one more with each flip, also with a rollback; never below a version's */
    char current[DX_VERSION_NAME];
    struct dx_manifest_version *versions; /* by sequence */
    size_t version_count;
    size_t version_capacity;
    /* The log of suppressions has at least so many lines, with this hash, as a floor says it
     * (format/root/suppressions_floor.h); 0: nothing is known of it. */
    uint64_t suppressions;
    struct dx_hash128 suppressions_hash;
    /* The access table has at least this generation (builder/policy/access_binding.h); 0: nothing is
     * known of it, or it is out of force. */
    uint64_t access;
};

#define DX_MANIFEST_INIT                   \
    {                                      \
        0, "", NULL, 0, 0, 0, { { 0 } }, 0 \
    }

int dx_manifest_parse(struct dx_span text, const char *name, struct dx_manifest *m,
                      struct dx_error *err);
int dx_manifest_write(const struct dx_manifest *m, struct dx_buf *out, struct dx_error *err);
void dx_manifest_release(struct dx_manifest *m);

const struct dx_manifest_version *dx_manifest_find(const struct dx_manifest *m,
                                                   const char *version);
/* By its name, or by its number: 1 to 6 digits, as the name begins with. */
const struct dx_manifest_version *dx_manifest_said(const struct dx_manifest *m, const char *said);
/* 0: the text cannot be the number of a version, not even of one that is gone. */
uint32_t dx_version_number_said(const char *said);
const struct dx_manifest_version *dx_manifest_current(const struct dx_manifest *m);
const struct dx_manifest_file *dx_manifest_file(const struct dx_manifest_version *v,
                                                const char *name);

int dx_manifest_add(struct dx_manifest *m, const char *version, struct dx_manifest_version **out,
                    struct dx_error *err);
int dx_manifest_remove(struct dx_manifest *m, const char *version, struct dx_error *err);
int dx_manifest_file_add(struct dx_manifest_version *v, const char *name, uint64_t size,
                         const struct dx_hash128 *hash, struct dx_error *err);

/* Whether the files of the version's own folder are in one object. */
static inline bool dx_manifest_packed(const struct dx_manifest_version *v)
{
    return v->pack.name[0] != '\0';
}

/* The objects of the version's own folder: its files, or its pack. Borrowed. */
size_t dx_manifest_object_count(const struct dx_manifest_version *v);
const struct dx_manifest_file *dx_manifest_object(const struct dx_manifest_version *v, size_t i);

/* "index/" version "/" name: of an object its name below the root, of a file for messages too. */
void dx_manifest_file_path(const struct dx_manifest_version *v, const struct dx_manifest_file *f,
                           char out[DX_MANIFEST_FILE_PATH]);

struct dx_manifest_place {
    char object[DX_MANIFEST_FILE_PATH]; /* relative to the root */
    uint64_t at;                        /* where the file begins in it */
    uint64_t total;                     /* bytes of the object */
};

/* Where the bytes of a file are. */
void dx_manifest_place(const struct dx_manifest_version *v, const struct dx_manifest_file *f,
                       struct dx_manifest_place *place);

#define DX_PACK_ALIGN 64u /* each file of a pack begins at a multiple, as sections do in a file */
#define DX_PACK_MAX (1ull << 30) /* bytes of a pack */

/* Bytes of the pack that the listed files make: the last one ends it. UINT64_MAX: over DX_PACK_MAX. */
uint64_t dx_manifest_pack_size(const struct dx_manifest_version *v);
/* From now on the files are in a pack with that hash. DX_E_LIMIT: it is too large. */
int dx_manifest_pack_set(struct dx_manifest_version *v, const struct dx_hash128 *hash,
                         struct dx_error *err);

/* A deep copy; out is written over. */
int dx_manifest_version_copy(const struct dx_manifest_version *from,
                             struct dx_manifest_version *out, struct dx_error *err);

/* Whether the files of `version` are a part of v, its own or an older one. */
bool dx_manifest_has_part(const struct dx_manifest_version *v, const char *version);

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
/* That form alone: no version may ever have such a number or time. */
bool dx_version_name_formed(struct dx_span name);

#endif
