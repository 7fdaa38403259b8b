/* SPDX-License-Identifier: Apache-2.0
 * tag_sets.h - the rows and domains that have a tag, as a view shows them.
 *
 *   rc = dx_tag_sets_open(&s, &view, tag, dataset, &err);     tag: stays the caller's; dataset: NULL, or of this
 *                                                             one alone. 1; 0: no visible dataset has it
 *   s.files[i], s.datasets[k], s.row_count                    by dataset, path of the file
 *   rc = dx_tag_sets_domains(&s, &err);                       now s.domains and s.datasets[k].domains too
 *   rc = dx_tag_sets_want(&s, &hidden, &err);                 1; 0: too many hidden pairs; query/suppression/suppression_tags.h
 *   rc = dx_tag_sets_hide(&s, &hidden, &err);                 once these are read: takes away what is hidden
 *   dx_tag_sets_count(&s);                                    how many domains are left
 *   rc = dx_tag_sets_rows(&s, &s.files[i], hidden, &rows, &err);      Roaring; the caller frees it
 *   dx_tag_sets_release(&s);
 *
 * Domains are numbers of the version (loader/version_parts.h). Numbers of datasets without a row left are 0. What is in memory: the sets of domains, and of rows
 * those of one file. The view is held until release. One thread at a time.
 */
#ifndef DX_QUERY_SCAN_TAG_SETS_H
#define DX_QUERY_SCAN_TAG_SETS_H

#include "format/version/tags.h"
#include "query/view/view.h"

struct dx_suppression_tags;
struct roaring_bitmap_s;

struct dx_tag_set_file {
    size_t part; /* of the version, that has the file */
    struct dx_tag_file at;
    uint32_t dataset_id;
    struct dx_span path;
    uint64_t file_rows; /* all that the file has */
    uint64_t row_count; /* with the tag */
};

struct dx_tag_set_dataset {
    uint32_t dataset_id;
    size_t first, end; /* files */
    uint64_t row_count;
    uint64_t domain_count;            /* of dx_tag_sets_count, or of a single file's */
    struct roaring_bitmap_s *domains; /* NULL: not read */
};

struct dx_tag_sets {
    struct dx_view view;
    struct dx_span tag;
    uint64_t number; /* of the walk over the tags: tag_names.h */
    struct dx_tag_set_file *files;
    size_t file_count, file_capacity;
    struct dx_tag_set_dataset *datasets;
    size_t dataset_count;
    uint64_t row_count;
    uint64_t domain_count;
    uint64_t set_bytes; /* of all sets, as they are stored */
    uint64_t looked;    /* files, also those that the view hides */
    struct roaring_bitmap_s *domains;
};

int dx_tag_sets_open(struct dx_tag_sets *s, const struct dx_view *view, struct dx_span tag,
                     const uint32_t *dataset, struct dx_error *err);
int dx_tag_sets_domains(struct dx_tag_sets *s, struct dx_error *err);
int dx_tag_sets_want(const struct dx_tag_sets *s, struct dx_suppression_tags *hidden,
                     struct dx_error *err);
int dx_tag_sets_hide(struct dx_tag_sets *s, const struct dx_suppression_tags *hidden,
                     struct dx_error *err);
void dx_tag_sets_count(struct dx_tag_sets *s);
int dx_tag_sets_rows(const struct dx_tag_sets *s, const struct dx_tag_set_file *file,
                     const struct dx_suppression_tags *hidden, struct roaring_bitmap_s **rows,
                     struct dx_error *err);
void dx_tag_sets_release(struct dx_tag_sets *s);

#endif
