/* SPDX-License-Identifier: Apache-2.0
 * domain64_segment.h - index/domain64/NNNNNN-….d64: names and the numbers they were given, both
 * ways. docs/FORMAT.md section 15.
 *
 *   rc = dx_domain64_segment_open(&b, file, flags, name, &err);
 *   rc = dx_domain64_segment_before(&b, number, &found, &err);      the highest below: 1, or 0 none is
 *   rc = dx_number_cursor_seek(&c, &b, number, &err);          from the first that is not below
 *   while ((rc = dx_number_cursor_next(&c, &err)) == 1)        c.number, c.name; ascending
 *   rc = dx_number_hits_open(&h, &b, dx_number_hash(part, parent, name), &err);
 *   while ((rc = dx_number_hits_next(&h, &err)) == 1)          h.at.number, h.at.name: for the caller
 *                                                              to compare, since hashes may be equal
 *   rc = dx_domain64_segment_verify(&b, &err);                      every byte, and all orders
 *   dx_domain64_segment_close(&b);
 *
 * What a number means is not known here: it is 64 bits that a name has. A name is 0 to
 * DX_NUMBER_NAME_MAX bytes. Spans are borrowed: of a book from the file, of a cursor until its next
 * move. Threads may share a book, each with its own cursors.
 *
 *   rc = dx_number_writer_begin(&w, &build, &info, count, sink, ctx, &err);
 *   rc = dx_number_writer_name(&w, number, name, &err);         ascending numbers
 *   rc = dx_number_writer_hash(&w, hash, rank, &err);           then one for each name, ascending;
 *                                                               rank: its place among the names, from 0
 *   rc = dx_number_writer_end(&w, &err);
 *   dx_number_writer_release(&w);
 */
#ifndef DX_FORMAT_ROOT_DOMAIN64_SEGMENT_H
#define DX_FORMAT_ROOT_DOMAIN64_SEGMENT_H

#include "base/buf.h"
#include "format/core/envelope.h"

#define DX_NUMBER_NAME_MAX 8192
#define DX_NUMBER_NAMES_MAX UINT32_C(0xfffffffe) /* of a book: a rank is 32 bits */
#define DX_NUMBER_BUCKET 16

struct dx_number_info {
    uint32_t layout; /* canon/domain64.h */
    uint32_t first;  /* fillings that it has the names of */
    uint32_t last;
};

struct dx_domain64_segment {
    struct dx_envelope envelope;
    struct dx_number_info info;
    uint64_t count;
    struct dx_span names;
    struct dx_span buckets;
    struct dx_span hashes;
};

struct dx_number_cursor {
    uint64_t number;
    struct dx_span name;

    /* private */
    const struct dx_domain64_segment *book;
    uint64_t rank; /* of the next */
    struct dx_bytes at;
    bool held; /* the one that seek read last is still to come */
    uint8_t text[DX_NUMBER_NAME_MAX];
};

struct dx_number_hits {
    struct dx_number_cursor at;

    /* private */
    uint64_t hash;
    uint64_t next;
};

uint64_t dx_number_hash(uint8_t part, uint64_t parent, struct dx_span name);

int dx_domain64_segment_open(struct dx_domain64_segment *b, struct dx_span file, unsigned flags,
                             const char *name, struct dx_error *err);
int dx_domain64_segment_before(const struct dx_domain64_segment *b, uint64_t number,
                               uint64_t *found, struct dx_error *err);
int dx_domain64_segment_verify(const struct dx_domain64_segment *b, struct dx_error *err);
void dx_domain64_segment_close(struct dx_domain64_segment *b);

int dx_number_cursor_seek(struct dx_number_cursor *c, const struct dx_domain64_segment *b,
                          uint64_t number, struct dx_error *err);
int dx_number_cursor_next(struct dx_number_cursor *c, struct dx_error *err);

int dx_number_hits_open(struct dx_number_hits *h, const struct dx_domain64_segment *b,
                        uint64_t hash, struct dx_error *err);
int dx_number_hits_next(struct dx_number_hits *h, struct dx_error *err);

struct dx_number_writer {
    struct dx_envelope_writer out;
    struct dx_number_info info;
    struct dx_buf buckets;
    struct dx_buf entry;
    struct dx_buf last_name;
    uint64_t expected; /* names, as given to begin */
    uint64_t count;
    uint64_t hashes;
    uint64_t last_number;
    uint64_t last_hash;
    uint64_t names_size;
};

/* count: how many names will come; the header says it. */
int dx_number_writer_begin(struct dx_number_writer *w, const struct dx_build_id *build,
                           const struct dx_number_info *info, uint64_t count,
                           int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                           void *ctx, struct dx_error *err);
int dx_number_writer_name(struct dx_number_writer *w, uint64_t number, struct dx_span name,
                          struct dx_error *err);
int dx_number_writer_hash(struct dx_number_writer *w, uint64_t hash, uint32_t rank,
                          struct dx_error *err);
int dx_number_writer_end(struct dx_number_writer *w, struct dx_error *err);
void dx_number_writer_release(struct dx_number_writer *w);

#endif
