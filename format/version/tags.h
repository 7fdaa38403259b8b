/* SPDX-License-Identifier: Apache-2.0
 * tags.h - tags.dxt: which rows and which domains have a tag, by lake file. docs/FORMAT.md 7.2.
 *
 *   rc = dx_tags_open(&t, span, flags, name, &err);
 *   t.count  t.entries  t.rows  t.domains  t.files
 *   rc = dx_tags_name(&t, i, &tag, &err);                 tag i of t.count, in byte order; borrowed
 *   rc = dx_tags_find(&t, tag, &i, &err);                 1, 0 no row has it (i: where it would stand), <0
 *
 *   rc = dx_tags_files(&t, i, &c, &err);                  the files that have it, by file_id:
 *   c.end - c.at                                          so many are left
 *   while ((rc = dx_tag_cursor_next(&c, &f, &err)) == 1)  f.file_id, f.row_count, f.domain_count
 *       rc = dx_tag_file_sets(&t, &f, &rows, &domains, &err);      where the sets are wanted
 *   rc = dx_tag_cursor_seek(&c, file_id, &err);           on to the first file from this one on
 *
 *   rc = dx_tags_left_at(&t, k, &left, &err);             1, 0 behind the last: what is not indexed
 *   rc = dx_tags_verify(&t, &err);                        all of it, for verify
 *   dx_tags_close(&t);
 *
 * A tag is 1 to DX_TAG_MAX bytes of UTF-8 without control characters (dx_tag_fits), compared by its
 * bytes: nothing is normalised, "é" in one code point and in two are two tags. `rows` are numbers
 * of rows in the lake file, from 0, over all of its row groups; `domains` are ordinals of the
 * version. Both are sets of format/core/dataset_set.h with as many members as f says, ordinals are
 * below t.domains; whether the file has so many rows is for the caller to say
 * (format/version/pages.h), who reads them anyway. A row that has a tag twice is there once.
 *
 * A file that has `tags` but not all of them in the index is named in `left`: rows whose value is
 * not a JSON array of strings, and members of arrays that are not tags (dx_tag_fits).
 *
 * t borrows the span; names and sets borrow from it. Nothing is allocated but by open. find costs a
 * binary search, sets a walk over the bytes of both. Threads may share t; a cursor is one thread's.
 *
 * Writing: by tag in byte order, of each the files ascending. Sizes stand in front, so the bytes go
 * to DX_TAGS_PARTS places of the caller first, and then from these into the file:
 *
 *   dx_tags_encoder_init(&e, domains, files, put, ctx);        put: bytes that follow in a part
 *   rc = dx_tags_encode_tag(&e, tag, &err);
 *   rc = dx_tags_encode_file(&e, file_id, rows, domains, &err);    Roaring bitmaps, which it optimises
 *   rc = dx_tags_encode_left(&e, &left, &err);                 any time, by file_id ascending
 *   dx_tags_encoder_release(&e);
 *   rc = dx_tags_writer_begin(&w, &e, &build, sink, ctx, &err);
 *   for each part in order: rc = dx_tags_writer_part(&w, part, &err);
 *                           rc = dx_tags_writer_append(&w, bytes, &err);   any number of times
 *   rc = dx_tags_writer_end(&w, &err);
 *   dx_tags_writer_release(&w);
 *
 * A tag to which no file is given is not written. Memory: that of the sets at hand.
 */
#ifndef DX_FORMAT_VERSION_TAGS_H
#define DX_FORMAT_VERSION_TAGS_H

#include "base/buf.h"
#include "format/core/dataset_set.h"
#include "format/core/envelope.h"

#define DX_TAGS_MAGIC DX_KIND('D', 'X', 'T', 'G')
#define DX_TAGS_VERSION 1
#define DX_TAG_MAX 1024 /* bytes: as long as a file store's may be (store_index.h) */

bool dx_tag_fits(struct dx_span tag);

struct dx_tags {
    struct dx_envelope envelope;
    uint64_t count;         /* tags */
    uint64_t entries;       /* (tag, file) */
    uint64_t rows;          /* (tag, row) */
    uint64_t domains;       /* of the version */
    uint64_t files;         /* file_ids of the version, those of holes too */
    uint64_t left_count;    /* files that are not in the index with all of their tags */
    struct dx_span table;   /* TAGS */
    struct dx_span names;   /* NAME */
    struct dx_span of_file; /* FILE */
    struct dx_span sets;    /* SETS */
    struct dx_span left;    /* LEFT */
};

struct dx_tag_file {
    uint32_t file_id;
    uint32_t row_count;
    uint32_t domain_count;
    uint64_t sets_at; /* in SETS, as sets_end: for format/version/tags.c */
    uint64_t sets_end;
};

struct dx_tag_cursor {
    const struct dx_tags *t;
    uint64_t at; /* entries; from at to end are left */
    uint64_t end;
    uint64_t least; /* the next file_id is not below it */
};

struct dx_tags_left {
    uint32_t file_id;
    uint64_t rows; /* whose tags are not a JSON array of strings */
    uint64_t tags; /* of other rows: too long, empty, with control characters, not UTF-8 */
};

int dx_tags_open(struct dx_tags *t, struct dx_span file, unsigned flags, const char *name,
                 struct dx_error *err);
int dx_tags_name(const struct dx_tags *t, uint64_t i, struct dx_span *tag, struct dx_error *err);
int dx_tags_find(const struct dx_tags *t, struct dx_span tag, uint64_t *i, struct dx_error *err);
int dx_tags_files(const struct dx_tags *t, uint64_t i, struct dx_tag_cursor *c,
                  struct dx_error *err);
int dx_tag_cursor_next(struct dx_tag_cursor *c, struct dx_tag_file *f, struct dx_error *err);
/* Never back. DX_OK, also where no file is left. */
int dx_tag_cursor_seek(struct dx_tag_cursor *c, uint32_t file_id, struct dx_error *err);
int dx_tag_file_sets(const struct dx_tags *t, const struct dx_tag_file *f,
                     struct dx_dataset_set *rows, struct dx_dataset_set *domains,
                     struct dx_error *err);
int dx_tags_left_at(const struct dx_tags *t, uint64_t k, struct dx_tags_left *left,
                    struct dx_error *err);
int dx_tags_verify(const struct dx_tags *t, struct dx_error *err);
void dx_tags_close(struct dx_tags *t);

enum dx_tags_part {
    DX_TAGS_SETS,
    DX_TAGS_OF_FILE,
    DX_TAGS_NAMES,
    DX_TAGS_TABLE,
    DX_TAGS_LEFT,
    DX_TAGS_PARTS
};

struct dx_tags_encoder {
    int (*put)(void *ctx, enum dx_tags_part part, struct dx_span bytes, struct dx_error *err);
    void *ctx;
    uint64_t domains, files;
    uint64_t count, entries, rows, left_count;
    uint64_t sets_size, names_size;
    struct dx_buf tag;  /* at hand */
    bool named;         /* a file was given to it */
    uint64_t next_file; /* of the tag at hand, at least */
    uint64_t next_left;
    struct dx_buf bytes; /* of the sets at hand */
};

void dx_tags_encoder_init(struct dx_tags_encoder *e, uint64_t domains, uint64_t files,
                          int (*put)(void *ctx, enum dx_tags_part part, struct dx_span bytes,
                                     struct dx_error *err),
                          void *ctx);
int dx_tags_encode_tag(struct dx_tags_encoder *e, struct dx_span tag, struct dx_error *err);
int dx_tags_encode_file(struct dx_tags_encoder *e, uint32_t file_id, struct roaring_bitmap_s *rows,
                        struct roaring_bitmap_s *domains, struct dx_error *err);
int dx_tags_encode_left(struct dx_tags_encoder *e, const struct dx_tags_left *left,
                        struct dx_error *err);
void dx_tags_encoder_release(struct dx_tags_encoder *e);

struct dx_tags_writer {
    struct dx_envelope_writer envelope;
};

int dx_tags_writer_begin(struct dx_tags_writer *w, const struct dx_tags_encoder *e,
                         const struct dx_build_id *build,
                         int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                         void *ctx, struct dx_error *err);
int dx_tags_writer_part(struct dx_tags_writer *w, enum dx_tags_part part, struct dx_error *err);
int dx_tags_writer_append(struct dx_tags_writer *w, struct dx_span bytes, struct dx_error *err);
int dx_tags_writer_end(struct dx_tags_writer *w, struct dx_error *err);
void dx_tags_writer_release(struct dx_tags_writer *w);

#endif
