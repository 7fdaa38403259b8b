/* SPDX-License-Identifier: Apache-2.0
 * schema.h - the words of Parquet: numbers of parquet.thrift, and what a decoder must
 * know about a column.
 *
 *   struct dx_pq_column c = { .type = DX_PQ_BYTE_ARRAY, .codec = DX_PQ_ZSTD, .max_def = 1 };
 *   dx_pq_type_name(c.type)                    "BYTE_ARRAY"; a number unknown: "type 9"
 *
 * Plain values, nothing is owned. The name functions are thread-safe.
 */
#ifndef DX_PARQUET_SCHEMA_H
#define DX_PARQUET_SCHEMA_H

#include "base/bytes.h"
#include "base/error.h"

enum dx_pq_type {
    DX_PQ_BOOLEAN = 0,
    DX_PQ_INT32 = 1,
    DX_PQ_INT64 = 2,
    DX_PQ_INT96 = 3,
    DX_PQ_FLOAT = 4,
    DX_PQ_DOUBLE = 5,
    DX_PQ_BYTE_ARRAY = 6,
    DX_PQ_FIXED = 7
};

enum dx_pq_codec {
    DX_PQ_UNCOMPRESSED = 0,
    DX_PQ_SNAPPY = 1,
    DX_PQ_GZIP = 2,
    DX_PQ_LZO = 3,
    DX_PQ_BROTLI = 4,
    DX_PQ_LZ4 = 5, /* Hadoop's framing, or what writers took for it */
    DX_PQ_ZSTD = 6,
    DX_PQ_LZ4_RAW = 7
};

enum dx_pq_encoding {
    DX_PQ_PLAIN = 0,
    DX_PQ_PLAIN_DICTIONARY = 2,
    DX_PQ_RLE = 3,
    DX_PQ_BIT_PACKED = 4,
    DX_PQ_DELTA_BINARY_PACKED = 5,
    DX_PQ_DELTA_LENGTH_BYTE_ARRAY = 6,
    DX_PQ_DELTA_BYTE_ARRAY = 7,
    DX_PQ_RLE_DICTIONARY = 8,
    DX_PQ_BYTE_STREAM_SPLIT = 9
};

enum dx_pq_repetition { DX_PQ_REQUIRED = 0, DX_PQ_OPTIONAL = 1, DX_PQ_REPEATED = 2 };

enum dx_pq_page_type {
    DX_PQ_PAGE_DATA = 0,
    DX_PQ_PAGE_INDEX = 1,
    DX_PQ_PAGE_DICTIONARY = 2,
    DX_PQ_PAGE_DATA_V2 = 3
};

/* The kinds that matter here, whether the LogicalType or the ConvertedType says so. */
enum dx_pq_logical {
    DX_PQ_LOGICAL_NONE,
    DX_PQ_LOGICAL_STRING,
    DX_PQ_LOGICAL_MAP,
    DX_PQ_LOGICAL_LIST,
    DX_PQ_LOGICAL_ENUM,
    DX_PQ_LOGICAL_DECIMAL,
    DX_PQ_LOGICAL_DATE,
    DX_PQ_LOGICAL_TIME,
    DX_PQ_LOGICAL_TIMESTAMP,
    DX_PQ_LOGICAL_INTEGER,
    DX_PQ_LOGICAL_NULL,
    DX_PQ_LOGICAL_JSON,
    DX_PQ_LOGICAL_BSON,
    DX_PQ_LOGICAL_UUID,
    DX_PQ_LOGICAL_FLOAT16,
    DX_PQ_LOGICAL_INTERVAL,
    DX_PQ_LOGICAL_OTHER /* newer than this code: values are passed as the physical type */
};

/* Unit of a timestamp; DX_PQ_TIME_NONE: the column is not one. */
enum dx_pq_time_unit {
    DX_PQ_TIME_NONE = 0,
    DX_PQ_TIME_MILLIS = 1,
    DX_PQ_TIME_MICROS = 2,
    DX_PQ_TIME_NANOS = 3,
    DX_PQ_TIME_INT96 = 4
};

/* All that decoding a page of a column needs besides its bytes: small enough for an index. */
struct dx_pq_column {
    uint8_t type;          /* enum dx_pq_type */
    uint8_t codec;         /* enum dx_pq_codec */
    uint8_t max_def;       /* 0 required, 1 optional; more is nested */
    uint8_t max_rep;       /* 0; more is repeated */
    uint8_t time_unit;     /* enum dx_pq_time_unit */
    bool is_unsigned;      /* INT32 and INT64: values are unsigned */
    bool is_low_bit_first; /* BIT_PACKED levels, as Impala writes them */
    /* decoding gives levels; without it nested and repeated columns are refused */
    bool with_levels;
    uint32_t type_length; /* bytes of a DX_PQ_FIXED value, else 0 */
};

/* Names for messages; never NULL. Unknown numbers give "unknown". */
const char *dx_pq_type_name(unsigned type);
const char *dx_pq_codec_name(unsigned codec);
const char *dx_pq_encoding_name(unsigned encoding);
const char *dx_pq_logical_name(unsigned logical);

/* A value of a timestamp column as microseconds since 1970. INT96 values come as 12-byte spans, the
 * others as integers. False: it is outside of years 0000..9999, and the row counts and is shown as
 * one without a time. Nanoseconds are floored. */
bool dx_pq_time_us(unsigned time_unit, int64_t value, int64_t *us);
bool dx_pq_int96_us(const uint8_t value[12], int64_t *us);

#endif
