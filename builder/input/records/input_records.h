/* SPDX-License-Identifier: Apache-2.0
 * input_records.h - an input file cut into batches of whole records.
 *
 *   rc = dx_records_new(&r, in, line_max, &err);
 *   rc = dx_records_head(r, &head, &whole, &err);  first bytes, to find the format (input_format.h)
 *   rc = dx_records_unwrap(r, &err);               only where all of it is one JSON array
 *   dx_records_set_format(r, format);
 *   do
 *       rc = dx_records_fill(r, &batch, &err);     1 filled, 0 end of input, <0 error,
 *   while (rc > 0);                                DX_RECORDS_GROW: call again, see below
 *   dx_records_free(&r);
 *
 * A record is a line; in CSV (RFC 4180: comma, quotes, "" for a quote) a quoted field may
 * hold line ends. Lines end with LF or CRLF; empty lines are not records; a byte order
 * mark at the front is dropped. Every format is cut the same way whatever the batch size.
 *
 * Of CDX and CDXJ (cdx_line.h) headers, "!meta" and "@alias" lines are passed over; a second header
 * with other fields is an error.
 *
 * A record over line_max bytes is DX_FLAW_TOO_LONG with its first bytes, and reading goes
 * on at the next line. CSV that breaks the quoting rules (text behind a closing quote, or a
 * quote not closed within line_max) is DX_FLAW_MALFORMED: the record is then its first line
 * only, so that one stray quote does not swallow what follows.
 *
 * DX_RECORDS_GROW: a record does not fit the batch. Nothing is lost; the next call with the
 * same batch enlarges it (the caller may first wait until other batches are done, so that
 * few are large at a time). A batch belongs to the reader that filled it last; its records are
 * offsets into batch.data.
 * A reader is for one thread at a time; another one may use a batch that is filled.
 */
#ifndef DX_BUILDER_INPUT_RECORDS_INPUT_RECORDS_H
#define DX_BUILDER_INPUT_RECORDS_INPUT_RECORDS_H

#include "base/bytes.h"
#include "base/error.h"
#include "format/text/record_cut.h"

struct dx_input;
struct dx_records;

enum dx_record_format {
    DX_RECORD_AUTO,
    DX_RECORD_TSV,
    DX_RECORD_CSV,
    DX_RECORD_JSONL,
    DX_RECORD_LIST,
    DX_RECORD_CDX,
    DX_RECORD_CDXJ,
    DX_RECORD_CDX_JSON, /* an array of arrays, the first of names: as CDX servers answer */
    /* rows (row_record.h), which parquet_rows.h and warc_rows.h make; not cut here */
    DX_RECORD_PARQUET,
    DX_RECORD_WARC,
    DX_RECORD_ARC
};

static inline bool dx_record_format_has_rows(enum dx_record_format format)
{
    return format >= DX_RECORD_PARQUET;
}

#define DX_RECORD_PLACE_UNKNOWN (-1)

struct dx_record {
    uint32_t offset;
    uint32_t size; /* without the line end */
    uint64_t line; /* number of its first line, from 1 */
    /* Bytes [place, place + place_size) of the input, as it is stored, are the record: of a WARC
     * the member that one range read yields; of text that is not compressed the record without its
     * line end. Of Parquet row group and row in it. Or both DX_RECORD_PLACE_UNKNOWN. */
    int64_t place;
    int64_t place_size;
    uint8_t flaw;
};

struct dx_batch {
    uint8_t *data;
    size_t size;
    size_t capacity;
    struct dx_record *records;
    size_t count;
    size_t room;
};

#define DX_RECORDS_GROW 2
#define DX_LINE_MAX (16u << 20) /* text with longer records is not a list of URLs */
#define DX_BATCH_SIZE (256u * 1024)

int dx_records_new(struct dx_records **r, struct dx_input *in, size_t line_max,
                   struct dx_error *err);
void dx_records_free(struct dx_records **r);
/* `whole`: the input ends with it. */
int dx_records_head(struct dx_records *r, struct dx_span *head, bool *whole, struct dx_error *err);
/* The input is one JSON array: its elements are the records, a line each. Right after the head. */
int dx_records_unwrap(struct dx_records *r, struct dx_error *err);
void dx_records_set_format(struct dx_records *r, enum dx_record_format format);
struct dx_span dx_records_header(
    const struct dx_records *r); /* of CDX, after the first fill; or empty */
int dx_records_fill(struct dx_records *r, struct dx_batch *batch, struct dx_error *err);

/* batch_size: bytes a fresh batch holds; DX_BATCH_SIZE unless a test wants edges. */
void dx_records_set_batch_size(struct dx_records *r, size_t batch_size);

/* For those who fill a batch: data of at least so many bytes, and room for one more record; what is
 * in it stays. name: of the input, for messages. */
int dx_batch_reserve(struct dx_batch *batch, size_t capacity, const char *name,
                     struct dx_error *err);
int dx_batch_room(struct dx_batch *batch, const char *name, struct dx_error *err);
void dx_batch_release(struct dx_batch *batch);

static inline struct dx_span dx_batch_record(const struct dx_batch *batch, size_t i)
{
    return dx_span_of(batch->data + batch->records[i].offset, batch->records[i].size);
}

const char *dx_record_format_name(enum dx_record_format format);

#endif
