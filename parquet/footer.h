/* SPDX-License-Identifier: Apache-2.0
 * footer.h - the metadata at the end of a Parquet file, read and written.
 *
 *   rc = dx_pq_footer_open(&f, whole_file, &err);           finds and parses the footer
 *   f.node[...]  f.leaf[...]  f.group[g].chunk[leaf]        schema tree, columns, chunks
 *   i = dx_pq_footer_leaf(&f, span_of_name);                -1: no such top-level column
 *   rc = dx_pq_footer_column(&f, group, leaf, &column, &err);
 *   dx_pq_footer_release(&f);
 *
 *   dx_pq_footer_write(&f, &buf);                           metadata, its length, "PAR1"
 *
 * Spans and names are borrowed from the file's bytes: valid while those are. Arrays belong
 * to the footer. After open the struct is read-only; threads may share it. For writing, the
 * caller fills a struct of its own storage and does not release it.
 *
 * Counts are held against the bytes left before anything is allocated, so memory is at
 * most some ten times the size of the metadata. Structure is checked here: schema tree,
 * one chunk a leaf, types that agree, row counts that add up. What only matters to one
 * column (offsets outside the file, its count, nesting, encryption, an external file) is
 * refused by dx_pq_footer_column, so the other columns stay readable.
 */
#ifndef DX_PARQUET_FOOTER_H
#define DX_PARQUET_FOOTER_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "parquet/schema.h"

#define DX_PQ_FOOTER_MAX (64u << 20) /* bytes of metadata: wide tables reach tens of MB */
#define DX_PQ_SCHEMA_DEPTH_MAX 64
#define DX_PQ_TAIL_SIZE 8 /* u32 length of the metadata, "PAR1" */

/* One element of the schema, in the order of the file: depth first, the root is node 0. Groups without a
 * column below are left out. */
struct dx_pq_node {
    struct dx_span name;
    uint32_t parent;      /* the root's is 0 */
    uint32_t child_count; /* 0: a leaf */
    uint32_t type_length;
    uint32_t precision, scale; /* DX_PQ_LOGICAL_DECIMAL */
    int8_t type;               /* enum dx_pq_type; -1: a group */
    uint8_t repetition;        /* enum dx_pq_repetition */
    uint8_t logical;           /* enum dx_pq_logical */
    uint8_t time_unit;         /* of TIME and TIMESTAMP; INT96 counts as a timestamp */
    uint8_t bit_width;         /* DX_PQ_LOGICAL_INTEGER */
    bool is_unsigned;
    bool is_utc; /* TIME and TIMESTAMP: adjusted to UTC */
    uint8_t max_def, max_rep;
};

struct dx_pq_statistics {
    struct dx_span min, max; /* min_value, max_value; data == NULL: not there */
    bool has_null_count;
    bool min_is_exact, max_is_exact; /* written when min and max are */
    uint64_t null_count;
};

struct dx_pq_chunk {
    uint8_t codec;
    bool is_encrypted;
    bool is_external; /* stands in another file */
    bool has_dictionary_offset;
    uint32_t encodings; /* bit 1 << encoding */
    uint64_t value_count;
    uint64_t uncompressed_size, compressed_size;
    uint64_t data_page_offset, dictionary_offset;
    uint64_t offset_index_offset, column_index_offset; /* size 0: not there */
    uint32_t offset_index_size, column_index_size;
    struct dx_pq_statistics statistics;
};

struct dx_pq_sorting {
    uint32_t leaf;
    bool descending, nulls_first;
};

struct dx_pq_group {
    struct dx_pq_chunk *chunk; /* leaf_count of them */
    uint64_t row_count;
    uint64_t total_size;      /* total_byte_size, uncompressed: a hint */
    uint64_t compressed_size; /* total_compressed_size, 0: not said */
    uint64_t offset;          /* file_offset, 0: not said; a hint */
    struct dx_pq_sorting *sorting;
    uint32_t sorting_count;
};

struct dx_pq_key_value {
    struct dx_span key, value; /* value.data == NULL: none */
};

struct dx_pq_footer {
    int32_t version;
    uint64_t row_count;
    struct dx_span created_by; /* data == NULL: not said */
    struct dx_pq_node *node;
    uint32_t node_count;
    uint32_t *leaf; /* node of each leaf */
    uint32_t leaf_count;
    struct dx_pq_group *group;
    uint32_t group_count;
    struct dx_pq_key_value *key_value;
    uint32_t key_value_count;
    uint64_t offset; /* of the metadata in the file */
    uint32_t size;   /* of the metadata */
    uint64_t memory; /* that the arrays take */
    /* private */
    struct dx_pq_chunk *chunks;
    struct dx_pq_sorting *sortings;
};

int dx_pq_footer_open(struct dx_pq_footer *f, struct dx_span file, struct dx_error *err);

/* The same from the metadata alone; file_size bounds the offsets. */
int dx_pq_footer_parse(struct dx_pq_footer *f, struct dx_span metadata, uint64_t file_size,
                       struct dx_error *err);
/* The arrays take at most so many bytes, else DX_E_LIMIT. */
int dx_pq_footer_parse_within(struct dx_pq_footer *f, struct dx_span metadata, uint64_t file_size,
                              uint64_t memory, struct dx_error *err);
void dx_pq_footer_release(struct dx_pq_footer *f);

/* The metadata of a file that is not in memory, behind what is in the buffer. `read` gives all of [offset, offset + size) or
 * an error. DX_E_LIMIT: over `max` bytes. */
typedef int dx_pq_read(void *ctx, uint64_t offset, size_t size, uint8_t *to, struct dx_error *err);
int dx_pq_footer_fetch(dx_pq_read *read, void *ctx, uint64_t file_size, uint64_t max,
                       struct dx_buf *metadata, struct dx_error *err);

/* Index among leaves of the top-level column of that name, or -1. The first of equals. */
int64_t dx_pq_footer_leaf(const struct dx_pq_footer *f, struct dx_span name);

/* "a.b.c" of a leaf, for messages: cut to the size. */
const char *dx_pq_footer_path(const struct dx_pq_footer *f, uint32_t leaf, char *text, size_t size);

/* What decoding needs; refuses by name what cannot be decoded. The nested one takes nested and
 * repeated columns too, to be decoded with levels. */
int dx_pq_footer_nested_column(const struct dx_pq_footer *f, uint32_t group, uint32_t leaf,
                               struct dx_pq_column *column, struct dx_error *err);
int dx_pq_footer_column(const struct dx_pq_footer *f, uint32_t group, uint32_t leaf,
                        struct dx_pq_column *column, struct dx_error *err);

/* Metadata, length and magic. Every leaf must be a child of the root. */
void dx_pq_footer_write(const struct dx_pq_footer *f, struct dx_buf *out);

#endif
