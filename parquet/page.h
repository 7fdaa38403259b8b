/* SPDX-License-Identifier: Apache-2.0
 * page.h - one page of a column: bytes to values and back.
 *
 *   struct dx_pq_values v = DX_PQ_VALUES_INIT;
 *   struct dx_pq_dictionary d = DX_PQ_DICTIONARY_INIT;
 *   rc = dx_pq_dictionary_decode(&column, page, &limits, &d, &err);     if the column has one
 *   rc = dx_pq_page_decode(&column, page, &d, &limits, &v, &err);       d or NULL
 *   for (i = 0; i < v.row_count; i++)
 *       if (!dx_pq_is_null(&v, i)) ... v.ints[i] or v.spans[i] ...
 *   dx_pq_values_release(&v);  dx_pq_dictionary_release(&d);
 *
 * `page` is header and body as they stand in the file; bytes behind the body are ignored.
 * Values are in row order, one slot a row; null slots hold 0 or a span with data == NULL.
 * An empty string has data != NULL. Which array is filled depends on the physical type:
 *
 *   BOOLEAN, INT32, INT64   ints (INT32 sign-extended, or zero-extended if is_unsigned)
 *   FLOAT, DOUBLE           ints, holding the bits of the number
 *   BYTE_ARRAY, FIXED       spans
 *   INT96                   spans of 12 bytes
 *
 * A column read with_levels may be nested or repeated: then there is one slot for each pair of
 * levels (row_count of them, v.def[i] and v.rep[i]), null where def is below the column's max_def;
 * a row begins where rep is 0. def and rep are NULL for a column without such levels.
 *
 * Spans point into `v` or into the dictionary, never into `page`: they stay valid until
 * the next decode into v, its release, or the release of the dictionary. A struct that is
 * used again keeps its storage. After an error row_count is 0. Nothing is shared: threads
 * may decode at once, each into its own struct; a dictionary is read-only after decoding
 * and may be shared.
 *
 * The page's CRC is checked when it has one. Nested and repeated columns (without with_levels),
 * codecs and encodings that are not known are DX_E_UNSUPPORTED by name; sizes and counts over the
 * limits DX_E_LIMIT; everything else that does not fit DX_E_CORRUPT or DX_E_TRUNCATED.
 */
#ifndef DX_PARQUET_PAGE_H
#define DX_PARQUET_PAGE_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "parquet/schema.h"

/* A page header is some dozen bytes; with statistics of long strings it grows. Arrow
 * allows 16 MiB; a header over this is refused. */
#define DX_PQ_PAGE_HEADER_MAX (1u << 20)

struct dx_pq_limits {
    uint32_t page_bytes; /* of a page, decompressed, and of the bytes of its strings */
    uint32_t page_rows;  /* values in a page or dictionary, nulls included */
};

/* DuckDB writes pages of up to 100 MB; a page of one repeated value may hold a whole row
 * group of rows in some bytes. */
#define DX_PQ_LIMITS_DEFAULT \
    {                        \
        128u << 20, 8u << 20 \
    }

struct dx_pq_page_header {
    uint8_t type;     /* enum dx_pq_page_type */
    uint8_t encoding; /* of the values */
    uint8_t def_encoding, rep_encoding;
    bool is_v2;
    bool is_compressed; /* v2 only; true for the others */
    bool has_crc;
    uint32_t crc;
    uint32_t header_size; /* bytes of the header itself */
    uint32_t compressed_size;
    uint32_t uncompressed_size;
    uint32_t value_count; /* nulls included */
    uint32_t null_count;  /* v2 only */
    uint32_t def_size;    /* v2 only: bytes of definition levels */
    uint32_t rep_size;    /* v2 only */
};

/* Reads the header at the front of `bytes`; the body need not be there. */
int dx_pq_page_header_parse(struct dx_span bytes, struct dx_pq_page_header *h,
                            struct dx_error *err);

struct dx_pq_values {
    uint32_t row_count;
    uint32_t null_count;
    uint8_t *valid; /* one byte a row, 0: null; NULL when no row is null */
    uint8_t *def, *rep;
    int64_t *ints;
    struct dx_span *spans;
    /* storage, private */
    uint8_t *valid_store, *def_store, *rep_store;
    uint32_t valid_capacity, def_capacity, rep_capacity, int_capacity, span_capacity;
    struct dx_buf body, text;
    struct dx_pq_codec_state *codec;
};

#define DX_PQ_VALUES_INIT                              \
    {                                                  \
        .body = DX_BUF_INIT(0), .text = DX_BUF_INIT(0) \
    }

struct dx_pq_dictionary {
    struct dx_pq_values values;
    bool present; /* a dictionary was decoded into it */
};

#define DX_PQ_DICTIONARY_INIT    \
    {                            \
        DX_PQ_VALUES_INIT, false \
    }

static inline bool dx_pq_is_null(const struct dx_pq_values *v, uint32_t row)
{
    return v->valid != NULL && v->valid[row] == 0;
}

int dx_pq_page_decode(const struct dx_pq_column *column, struct dx_span page,
                      const struct dx_pq_dictionary *dictionary, const struct dx_pq_limits *limits,
                      struct dx_pq_values *out, struct dx_error *err);
int dx_pq_dictionary_decode(const struct dx_pq_column *column, struct dx_span page,
                            const struct dx_pq_limits *limits, struct dx_pq_dictionary *out,
                            struct dx_error *err);

void dx_pq_values_release(struct dx_pq_values *v);
void dx_pq_dictionary_release(struct dx_pq_dictionary *d);

/* DX_OK, or DX_E_UNSUPPORTED with the reason: nested, repeated, codec, type. */
int dx_pq_column_check(const struct dx_pq_column *column, struct dx_error *err);

#endif
