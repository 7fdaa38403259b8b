/* SPDX-License-Identifier: Apache-2.0
 * input_records.h - an input file cut into batches of whole records.
 *
 *   rc = dx_records_new(&r, in, line_max, &err);
 *   rc = dx_records_head(r, &head, &err);          first bytes, to find format and header
 *   rc = dx_records_unwrap(r, &err);               only where all of it is one JSON array
 *   dx_records_set_format(r, format);
 *   do
 *       rc = dx_records_fill(r, &batch, &err);     1 filled, 0 end of input, <0 error,
 *   while (rc > 0);                                DX_RECORDS_GROW: call again, see below
 *   dx_records_free(&r);
 *
 * A record is a line; in CSV (RFC 4180: comma, quotes, "" for a quote) a quoted field may
 * hold line ends. Lines end with LF or CRLF; empty lines are no records; a byte order
 * mark at the front is dropped. Every format is cut the same way whatever the batch size.
 *
 * A record over line_max bytes is DX_FLAW_TOO_LONG with its first bytes, and reading goes
 * on at the next line. CSV that breaks the quoting rules (text behind a closing quote, or a
 * quote not closed within line_max) is DX_FLAW_MALFORMED: the record is then its first line
 * only, so that one stray quote does not swallow what follows.
 *
 * DX_RECORDS_GROW: a record does not fit the batch. Nothing is lost; the next call with the
 * same batch enlarges it (the caller may first wait until other batches are done, so that
 * few are large at a time). A batch belongs to whoever filled it last; its records are
 * offsets into batch.data.
 */
#ifndef DX_BUILDER_INPUT_RECORDS_H
#define DX_BUILDER_INPUT_RECORDS_H

#include "base/bytes.h"
#include "base/error.h"
#include "format/record_cut.h"

struct dx_input;
struct dx_records;

enum dx_record_format {
    DX_RECORD_AUTO,
    DX_RECORD_TSV,
    DX_RECORD_CSV,
    DX_RECORD_JSONL,
    DX_RECORD_LIST
};

struct dx_record {
    uint32_t offset;
    uint32_t size; /* without the line end */
    uint64_t line; /* number of its first line, from 1 */
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
#define DX_LINE_MAX (16u << 20) /* a record of text above this is no list of URLs */
#define DX_BATCH_SIZE (256u * 1024)

int dx_records_new(struct dx_records **r, struct dx_input *in, size_t line_max,
                   struct dx_error *err);
void dx_records_free(struct dx_records **r);
int dx_records_head(struct dx_records *r, struct dx_span *head, struct dx_error *err);
/* The input is one JSON array: its elements are the records, a line each. Right after the head. */
int dx_records_unwrap(struct dx_records *r, struct dx_error *err);
void dx_records_set_format(struct dx_records *r, enum dx_record_format format);
int dx_records_fill(struct dx_records *r, struct dx_batch *batch, struct dx_error *err);

/* batch_size: bytes a fresh batch holds; DX_BATCH_SIZE unless a test wants edges. */
void dx_records_set_batch_size(struct dx_records *r, size_t batch_size);

void dx_batch_release(struct dx_batch *batch);

static inline struct dx_span dx_batch_record(const struct dx_batch *batch, size_t i)
{
    return dx_span_of(batch->data + batch->records[i].offset, batch->records[i].size);
}

/* The format that name and first bytes tell; never AUTO. `columns` says that the caller
 * asked for columns, so an unknown name with tabs or commas is no plain list. */
enum dx_record_format dx_record_format_guess(const char *name, struct dx_span head, bool columns);
/* Begins as one JSON array of objects does. */
bool dx_record_is_array(struct dx_span head);
bool dx_record_format_parse(const char *text, enum dx_record_format *format);
const char *dx_record_format_name(enum dx_record_format format);

#endif
