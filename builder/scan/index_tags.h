/* SPDX-License-Identifier: Apache-2.0
 * index_tags.h - tags.dxt of a version in the making (format/version/tags.h).
 *
 *   rc = dx_index_tags_new(&t, tmp_dir, memory_bytes, &err);
 *
 * While files are scanned, a run a file that has the column `tags`:
 *
 *   struct dx_tag_run run = { .file = &file, .file_id = id };
 *   rc = dx_index_tags_row(t, &run, domain, row, value, &err);    each row of the file, in order
 *   rc = dx_index_tags_end(t, &run, &err);                        behind the last row
 *   dx_tag_run_release(&run);                                     on every path
 *
 * while the pairs of the version are gone over, if the base has tags:
 *
 *   rc = dx_index_tags_base(t, base, first_part, &err);           of the parts from that one on
 *   dx_index_tags_domain(t, part, ordinal_in_part, ordinal);      each domain that stays
 *
 * and when the dictionary is written (by builder/index/index_tags_write):
 *
 *   t->counts  t->spilled_bytes
 *   dx_index_tags_free(&t);
 *
 * What is kept of a row is which tags it has, by domain of its file: a record a (tag, file,
 * domain), sorted on the disk beyond memory_bytes. Write merges in the sets of the base's files
 * that stay (index_base.h), with their domains under their new ordinals; those of files that went
 * or were scanned again are left out. What is written depends on the rows, the numbers of their
 * files and the ordinals alone.
 *
 * Rows of several files may come from several threads, those of one file from one. Memory: that of
 * the sorter, which is made when the first tag comes; 200 KiB a run that has tags; 4 bytes a domain
 * of a base that has tags; of write the sets of one (tag, file).
 */
#ifndef DX_BUILDER_SCAN_INDEX_TAGS_H
#define DX_BUILDER_SCAN_INDEX_TAGS_H

#include <pthread.h>

#include "base/buf.h"
#include "format/core/surt.h"
#include "format/version/manifest.h"
#include "format/version/tags.h"

struct dx_dictionary;
struct dx_index_file;
struct dx_index_lake;
struct dx_spill_sort;
struct dx_version;

/* Of the whole version. */
struct dx_tags_counts {
    uint64_t tags;
    uint64_t entries;     /* (tag, file) */
    uint64_t rows;        /* (tag, row) */
    uint64_t rows_unread; /* whose value is not a JSON array of strings */
    uint64_t tags_unfit;  /* of other rows: dx_tag_fits says no */
};

struct dx_index_tags {
    struct dx_tags_counts counts; /* written */
    uint64_t spilled_bytes;
    /* private */
    char *tmp_dir;
    size_t memory_bytes;
    pthread_mutex_t lock;       /* of the sorter */
    struct dx_spill_sort *sort; /* NULL: no tag has come */
    /* of the new part, by those of each part of the base; NULL: it has no tags */
    uint32_t *ordinals[DX_PARTS_MAX];
    size_t ordinals_size[DX_PARTS_MAX]; /* bytes */
};

/* The rows of the domain at hand in one file. */
struct dx_tag_run {
    struct dx_index_file *file; /* what is not indexed is counted there */
    uint32_t file_id;
    /* private */
    struct dx_buf text;    /* of the tags, one behind the other */
    struct dx_buf entries; /* struct entry: which row has which */
    struct dx_buf tag;     /* scratch */
    struct dx_buf value;
    size_t domain_size;
    uint8_t domain[DX_SURT_MAX];
};

int dx_index_tags_new(struct dx_index_tags **t, const char *tmp_dir, size_t memory_bytes,
                      struct dx_error *err);
void dx_index_tags_free(struct dx_index_tags **t);

int dx_index_tags_row(struct dx_index_tags *t, struct dx_tag_run *run, struct dx_span domain,
                      uint64_t row, struct dx_span value, struct dx_error *err);
int dx_index_tags_end(struct dx_index_tags *t, struct dx_tag_run *run, struct dx_error *err);
void dx_tag_run_release(struct dx_tag_run *run);

int dx_index_tags_base(struct dx_index_tags *t, const struct dx_version *base, size_t first_part,
                       struct dx_error *err);
void dx_index_tags_domain(struct dx_index_tags *t, size_t part, uint64_t then, uint64_t now);

/* Whether the new part has the file: one of its lake files has the column. */
bool dx_index_tagged(const struct dx_index_lake *lake);

#endif
