/* SPDX-License-Identifier: Apache-2.0
 * registry_json.h - the datasets: ids, names, metadata, totals; datasets.json, registry.json.
 *
 *   struct dx_registry r = DX_REGISTRY_INIT;
 *   rc = dx_registry_parse(&r, text, name, &err);       strict: what the writer writes
 *   d = dx_registry_by_id(&r, id);  d = dx_registry_by_name(&r, name_span);    NULL: none
 *   rc = dx_registry_add(&r, name_span, &d, &err);      1 new (next free id), 0 was there, <0
 *   rc = dx_registry_meta(d, key, value, &err);         sets or replaces
 *   gone = dx_registry_meta_remove(d, key);
 *   rc = dx_registry_write(&r, &buf, &err);             deterministic text
 *   dx_registry_release(&r);
 *
 * That is datasets.json of a version, with totals. dx_registry_parse_root and _write_root do
 * the same for registry.json of a lake: no totals, but the next dataset_id, which never goes
 * down, so that the id of a dataset that went is not given again; ids are at most 2^31-1
 * there. That file may have members that are not known here; a rewrite drops them.
 *
 * A dataset is of URLs, or of counts (d->kind): then each row of its lake files is a host and how many pages a crawl has of
 * it (format/text/host_pages.h), and rows and urls are both the sum of these. dx_registry_of_counts(&r, id) is quick where
 * no dataset is of counts.
 *
 * r.datasets[0 .. r.count) is in order of dataset_id; ids begin at 1. Pointers to datasets are
 * valid until the next add, parse or release. Adding in the order of names is fast; each name
 * that comes before others moves those. One thread at a time; read-only use may be shared.
 */
#ifndef DX_FORMAT_ROOT_REGISTRY_JSON_H
#define DX_FORMAT_ROOT_REGISTRY_JSON_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"

#define DX_DATASET_NAME_MAX 255
#define DX_DATASET_META_MAX 64         /* members of a dataset */
#define DX_DATASET_META_VALUE_MAX 4096 /* bytes */
#define DX_REGISTRY_MAX (256u << 20)   /* bytes of text: about a million datasets */
#define DX_DATASET_ID_MAX 0x7fffffffu  /* of a lake: its column is INT32 */
#define DX_DATASET_PART_MAX 99999999u  /* of a lake file's name */
#define DX_DATASET_MERGED_MAX 8        /* compactions whose numbers are kept */
#define DX_LAKE_NO_PART UINT32_MAX     /* a file whose name is none of ours */

struct dx_dataset_meta {
    char *key;
    char *value;
};

struct dx_json;

struct dx_part_range {
    uint32_t first, end;
};

enum dx_dataset_kind { DX_DATASET_URLS, DX_DATASET_COUNTS };

struct dx_dataset {
    uint32_t dataset_id;
    enum dx_dataset_kind kind;
    char *name;                       /* UTF-8 without control characters, 1..255 bytes, unique */
    struct dx_dataset_meta *metadata; /* by key in byte order */
    size_t metadata_count;
    uint64_t files; /* totals of the version; below 2^63 */
    uint64_t rows;
    uint64_t urls;
    uint64_t domains;
    bool has_ts;
    int64_t first_us;
    int64_t last_us;
    /* Of a lake; 0: none. A part number is that of a file's name. */
    uint32_t first_part; /* the last replacement has the files first_part … end_part - 1; */
    uint32_t end_part;   /* set with first_part, at most PART_MAX + 1 */
    uint32_t replacing;  /* files from it on are a replacement in the making */
    uint32_t next_part;  /* the lowest number that a new file may have; at most PART_MAX + 1 */
    /* That the last compactions gave to their files, ascending: dx_dataset_merged_add. */
    struct dx_part_range merged[DX_DATASET_MERGED_MAX];
    uint32_t merged_count;
};

/* What the registry says of a lake file that no version names. Of one that a version names it is
 * only DX_LAKE_REMOVED and DX_LAKE_UNKNOWN that matter; and while there is a DX_LAKE_REPLACES of
 * its dataset, which is a replacement that no version has yet, it is out. Once a version has that,
 * the marks are history: after a rollback to a version of before the old files count again. */
enum dx_lake_standing {
    DX_LAKE_STANDS,   /* it counts */
    DX_LAKE_REPLACES, /* it counts, and those of its dataset that a version names do not */
    DX_LAKE_UNKNOWN,  /* of a dataset that the registry does not have and never removed */
    DX_LAKE_REMOVED,  /* of a removed dataset */
    DX_LAKE_REPLACED, /* of before the dataset was replaced: of an attempt that died */
    DX_LAKE_MAKING,   /* of a replacement that is not finished */
    DX_LAKE_MERGED    /* of a compaction: its rows stand in other files until a version names it */
};

struct dx_registry {
    struct dx_dataset *datasets;
    uint32_t *by_name; /* indexes into datasets, by name in byte order */
    size_t count;
    size_t capacity;
    uint32_t next_id;  /* the least that add gives; above all others or not set (0) */
    uint32_t *removed; /* ids of datasets that went from a lake; ascending */
    size_t removed_count;
    size_t removed_capacity;
    bool has_counts; /* some dataset may be of counts */
};

#define DX_REGISTRY_INIT                       \
    {                                          \
        NULL, NULL, 0, 0, 0, NULL, 0, 0, false \
    }

int dx_registry_parse(struct dx_registry *r, struct dx_span text, const char *name,
                      struct dx_error *err);
int dx_registry_write(const struct dx_registry *r, struct dx_buf *out, struct dx_error *err);
int dx_registry_parse_root(struct dx_registry *r, struct dx_span text, const char *name,
                           struct dx_error *err);
int dx_registry_write_root(const struct dx_registry *r, struct dx_buf *out, struct dx_error *err);
void dx_registry_release(struct dx_registry *r);

struct dx_dataset *dx_registry_by_id(const struct dx_registry *r, uint32_t dataset_id);
struct dx_dataset *dx_registry_by_name(const struct dx_registry *r, struct dx_span name);
int dx_registry_add(struct dx_registry *r, struct dx_span name, struct dx_dataset **out,
                    struct dx_error *err);
void dx_registry_set_kind(struct dx_registry *r, struct dx_dataset *d, enum dx_dataset_kind kind);

static inline bool dx_registry_of_counts(const struct dx_registry *r, uint32_t dataset_id)
{
    const struct dx_dataset *d = r->has_counts ? dx_registry_by_id(r, dataset_id) : NULL;

    return d != NULL && d->kind == DX_DATASET_COUNTS;
}

int dx_registry_meta(struct dx_dataset *d, struct dx_span key, struct dx_span value,
                     struct dx_error *err);
bool dx_registry_meta_remove(struct dx_dataset *d, struct dx_span key);

/* DX_E_NOT_FOUND: no such dataset. Pointers to datasets are not valid any more. */
int dx_registry_remove(struct dx_registry *r, uint32_t dataset_id, struct dx_error *err);
bool dx_registry_removed(const struct dx_registry *r, uint32_t dataset_id);

/* part: of the file's name, or DX_LAKE_NO_PART. */
enum dx_lake_standing dx_registry_standing(const struct dx_registry *r, uint32_t dataset_id,
                                           uint32_t part);

/* All lie above those before; of more than DX_DATASET_MERGED_MAX the first goes. */
void dx_dataset_merged_add(struct dx_dataset *d, struct dx_part_range range);

/* Whether both say the same of every lake file: a caller that lists a lake reads the registry before and
 * after, and lists again if not (a replacement may have ended between). */
bool dx_registry_same_standing(const struct dx_registry *a, const struct dx_registry *b);

/* The member "metadata" of the open object: {} if there is none. */
void dx_registry_metadata_write(struct dx_json *j, const struct dx_dataset *d);

/* UTF-8 without control characters, 1..max bytes. */
bool dx_dataset_text_ok(struct dx_span text, size_t max);

#endif
