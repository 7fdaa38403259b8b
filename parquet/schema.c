/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/schema.h"

#include <stddef.h>

#include "base/civil_time.h"

#define NAME_OF(table, number)                                                                \
    ((number) < sizeof(table) / sizeof(*(table)) && (table)[number] != NULL ? (table)[number] \
                                                                            : "unknown")

const char *dx_pq_type_name(unsigned type)
{
    static const char *const names[] = {
        "BOOLEAN", "INT32",  "INT64",      "INT96",
        "FLOAT",   "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"
    };

    return NAME_OF(names, type);
}

const char *dx_pq_codec_name(unsigned codec)
{
    static const char *const names[] = { "UNCOMPRESSED", "SNAPPY", "GZIP", "LZO",
                                         "BROTLI",       "LZ4",    "ZSTD", "LZ4_RAW" };

    return NAME_OF(names, codec);
}

const char *dx_pq_encoding_name(unsigned encoding)
{
    static const char *const names[] = {
        [DX_PQ_PLAIN] = "PLAIN",
        [DX_PQ_PLAIN_DICTIONARY] = "PLAIN_DICTIONARY",
        [DX_PQ_RLE] = "RLE",
        [DX_PQ_BIT_PACKED] = "BIT_PACKED",
        [DX_PQ_DELTA_BINARY_PACKED] = "DELTA_BINARY_PACKED",
        [DX_PQ_DELTA_LENGTH_BYTE_ARRAY] = "DELTA_LENGTH_BYTE_ARRAY",
        [DX_PQ_DELTA_BYTE_ARRAY] = "DELTA_BYTE_ARRAY",
        [DX_PQ_RLE_DICTIONARY] = "RLE_DICTIONARY",
        [DX_PQ_BYTE_STREAM_SPLIT] = "BYTE_STREAM_SPLIT",
        [10] = "ALP",
    };

    return NAME_OF(names, encoding);
}

const char *dx_pq_logical_name(unsigned logical)
{
    static const char *const names[] = {
        [DX_PQ_LOGICAL_NONE] = "none",
        [DX_PQ_LOGICAL_STRING] = "STRING",
        [DX_PQ_LOGICAL_MAP] = "MAP",
        [DX_PQ_LOGICAL_LIST] = "LIST",
        [DX_PQ_LOGICAL_ENUM] = "ENUM",
        [DX_PQ_LOGICAL_DECIMAL] = "DECIMAL",
        [DX_PQ_LOGICAL_DATE] = "DATE",
        [DX_PQ_LOGICAL_TIME] = "TIME",
        [DX_PQ_LOGICAL_TIMESTAMP] = "TIMESTAMP",
        [DX_PQ_LOGICAL_INTEGER] = "INTEGER",
        [DX_PQ_LOGICAL_NULL] = "NULL",
        [DX_PQ_LOGICAL_JSON] = "JSON",
        [DX_PQ_LOGICAL_BSON] = "BSON",
        [DX_PQ_LOGICAL_UUID] = "UUID",
        [DX_PQ_LOGICAL_FLOAT16] = "FLOAT16",
        [DX_PQ_LOGICAL_INTERVAL] = "INTERVAL",
        [DX_PQ_LOGICAL_OTHER] = "other",
    };

    return NAME_OF(names, logical);
}

static int64_t nanos_us(int64_t value)
{
    return value / 1000 - (value % 1000 < 0);
}

bool dx_pq_time_us(unsigned time_unit, int64_t value, int64_t *us)
{
    switch (time_unit) {
    case DX_PQ_TIME_MILLIS:
        return !__builtin_mul_overflow(value, 1000, us) && dx_civil_is_stored(*us);
    case DX_PQ_TIME_MICROS:
        *us = value;
        return dx_civil_is_stored(*us);
    case DX_PQ_TIME_NANOS: /* 64 bits of them are years 1677..2262 */
        *us = nanos_us(value);
        return true;
    default:
        return false;
    }
}

/* Nanoseconds of the day may be negative or over a day: writers did both. Their sum with
 * the day is taken in microseconds, where every Julian day of 32 bits fits. */
bool dx_pq_int96_us(const uint8_t value[12], int64_t *us)
{
    const int64_t epoch = 2440588; /* Julian day of 1970-01-01 */
    int64_t of_day = nanos_us((int64_t)dx_load_u64(value));
    int64_t day_us;

    if (__builtin_mul_overflow((int64_t)(int32_t)dx_load_u32(value + 8) - epoch,
                               INT64_C(86400000000), &day_us))
        return false;
    return !__builtin_add_overflow(day_us, of_day, us) && dx_civil_is_stored(*us);
}
