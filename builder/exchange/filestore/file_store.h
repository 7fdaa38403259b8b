/* SPDX-License-Identifier: Apache-2.0
 * file_store.h - a file store (docs/FILESTORE.md) read as records, and written from rows.
 *
 *   rc = dx_file_store_read(&options, &counts, &err);       options.to: lines of JSON, one a page:
 *                                                           url, content_type, title, tags, payload
 *
 *   rc = dx_file_store_new(&w, &to, &err);                  to.dir is new, or empty but for what a killed
 *                                                           run left there; to.dry_run: counts only, dir is not touched
 *   rc = dx_file_store_add(w, &page, &err);                 in any order; of equal URLs the last in
 *                                                           order of (time, dataset) holds
 *   rc = dx_file_store_write(w, &counts, &err);             sorted; index last
 *   dx_file_store_free(&w);                                 removes what there is of a store that failed
 *
 * Reading trusts nothing: no link is followed, sizes are bounded, what is damaged is counted by
 * kind and reported by `say`, the first of each kind one by one. Memory: options.memory_bytes for
 * sorting in `tmp`, a storage file's headers and a line. Of equal keys the last line holds; a key
 * in the tombstone is out, also if its line comes again. One thread at a time.
 */
#ifndef DX_BUILDER_EXCHANGE_FILESTORE_FILE_STORE_H
#define DX_BUILDER_EXCHANGE_FILESTORE_FILE_STORE_H

#include "base/bytes.h"
#include "base/error.h"

struct dx_file_store_counts {
    uint64_t lines;           /* of the index */
    uint64_t pages;           /* handed on, or written */
    uint64_t tombstoned;      /* keys of the index that are in the tombstone */
    uint64_t duplicates;      /* lines whose key comes again */
    uint64_t malformed;       /* invalid lines of the index */
    uint64_t hash_mismatches; /* the hash is not the key's */
    uint64_t tag_lines;
    uint64_t tag_lines_malformed;
    uint64_t tags_of_nothing; /* keys in tags that the index does not have */
    uint64_t tags_dropped;    /* pages with more tags than a column holds: they have none */
    uint64_t missing;         /* storage files */
    uint64_t corrupt;         /* storage files */
    uint64_t set_aside;       /* of these, renamed */
    uint64_t unwritable;      /* writing: rows whose key or type no line can hold */
    uint64_t superseded;      /* writing: rows of a URL that has a later one */
    uint64_t titles_mended;   /* writing: line ends became spaces */
};

struct dx_file_store_options {
    const char *dir;
    const char *tmp; /* for sorting */
    const char *to;  /* made; may not exist */
    uint64_t memory_bytes;
    const char *dead;          /* made: keys of the tombstone, one a line; NULL: not wanted */
    const char *live;          /* and those of the pages; with dead */
    bool set_aside;            /* rename corrupt storage files to NAME.invalid */
    bool payload;              /* keep the payload of storage files where it is a JSON object */
    bool index_alone;          /* do not open storage files */
    bool (*stopped)(void);     /* may be NULL */
    void (*say)(const char *); /* may be NULL */
};

int dx_file_store_read(const struct dx_file_store_options *options,
                       struct dx_file_store_counts *counts, struct dx_error *err);

struct dx_file_store;

struct dx_file_store_to {
    const char *dir, *tmp; /* copied */
    uint64_t memory_bytes;
    bool dry_run;
};

struct dx_file_store_page {
    struct dx_span url;
    struct dx_span type, title, tags; /* tags: a JSON array of strings; data NULL: none */
    struct dx_span domain, path;
    bool has_ts;
    int64_t ts_us;
    uint32_t dataset_id;
};

int dx_file_store_new(struct dx_file_store **w, const struct dx_file_store_to *to,
                      struct dx_error *err);
int dx_file_store_add(struct dx_file_store *w, const struct dx_file_store_page *page,
                      struct dx_error *err);
int dx_file_store_write(struct dx_file_store *w, struct dx_file_store_counts *counts,
                        struct dx_error *err);
void dx_file_store_free(struct dx_file_store **w);

#endif
