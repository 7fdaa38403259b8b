/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/records/input_records.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "builder/input/bytes/cdx_line.h"
#include "builder/input/bytes/input.h"
#include "format/text/json_lines.h"

#define HEAD_SIZE (64 * 1024) /* enough for the first line of what people have */
#define TOO_LONG_KEPT 4096    /* of a record too long, for the rejects file */

struct dx_records {
    struct dx_input *in;
    enum dx_record_format format;
    size_t line_max;
    size_t batch_size;

    uint8_t *carry; /* read, not yet in a batch: carry_size bytes from carry_at on */
    size_t carry_at;
    size_t carry_size;
    bool head_done;
    bool eof;
    bool is_array; /* `lines` takes it apart */
    struct dx_json_lines lines;
    unsigned behind;     /* rows of CDX_JSON from an empty one on: it, then the key to go on with */
    bool partial;        /* the batch given last holds the beginning of one record */
    bool skipping;       /* inside a line already reported as too long */
    uint64_t line;       /* number of the next line */
    int64_t position;    /* of the next record in the text */
    uint8_t header[128]; /* of CDX */
    size_t header_size;
};

int dx_records_new(struct dx_records **out, struct dx_input *in, size_t line_max,
                   struct dx_error *err)
{
    struct dx_records *r = calloc(1, sizeof *r);

    *out = r;
    if (r == NULL)
        return dx_no_memory(err, "records");
    r->in = in;
    r->format = DX_RECORD_LIST;
    r->line_max = line_max;
    r->batch_size = DX_BATCH_SIZE;
    r->line = 1;
    return DX_OK;
}

void dx_records_free(struct dx_records **r)
{
    if (*r != NULL)
        free((*r)->carry);
    free(*r);
    *r = NULL;
}

void dx_records_set_format(struct dx_records *r, enum dx_record_format format)
{
    r->format = format;
}

void dx_records_set_batch_size(struct dx_records *r, size_t batch_size)
{
    r->batch_size = batch_size;
}

void dx_batch_release(struct dx_batch *batch)
{
    free(batch->data);
    free(batch->records);
    *batch = (struct dx_batch){ 0 };
}

int dx_batch_reserve(struct dx_batch *b, size_t capacity, const char *name, struct dx_error *err)
{
    uint8_t *grown;

    if (capacity <= b->capacity)
        return DX_OK;
    grown = realloc(b->data, capacity);
    if (grown == NULL)
        return dx_no_memory(err, "%s: a batch of %zu bytes", name, capacity);
    b->data = grown;
    b->capacity = capacity;
    return DX_OK;
}

int dx_batch_room(struct dx_batch *b, const char *name, struct dx_error *err)
{
    struct dx_record *records = dx_array_room(b->records, b->count, &b->room, sizeof *records);

    if (records == NULL)
        return dx_no_memory(err, "%s: records", name);
    b->records = records;
    return DX_OK;
}

/* Puts bytes that a batch has no room for before those that wait. */
static int keep_rest(struct dx_records *r, const uint8_t *data, size_t size, struct dx_error *err)
{
    if (size == 0)
        return DX_OK;
    if (size > r->carry_at) {
        size_t need = size + r->carry_size;
        uint8_t *made = malloc(need);

        if (made == NULL)
            return dx_no_memory(err, "%s", dx_input_name(r->in));
        if (r->carry_size > 0)
            memcpy(made + size, r->carry + r->carry_at, r->carry_size);
        free(r->carry);
        r->carry = made;
        r->carry_at = size;
    }
    r->carry_at -= size;
    r->carry_size += size;
    memcpy(r->carry + r->carry_at, data, size);
    return DX_OK;
}

/* As many of the bytes that wait as there is room for. */
static void take_carry(struct dx_records *r, struct dx_batch *b)
{
    size_t n = b->capacity - b->size < r->carry_size ? b->capacity - b->size : r->carry_size;

    if (n > 0)
        memcpy(b->data + b->size, r->carry + r->carry_at, n);
    b->size += n;
    r->carry_at += n;
    r->carry_size -= n;
}

static bool at_end(const struct dx_records *r)
{
    return r->eof && r->carry_size == 0;
}

int dx_records_head(struct dx_records *r, struct dx_span *head, bool *whole, struct dx_error *err)
{
    if (!r->head_done) {
        r->carry = malloc(HEAD_SIZE);
        if (r->carry == NULL)
            return dx_no_memory(err, "%s", dx_input_name(r->in));
        while (!r->eof && r->carry_size < HEAD_SIZE) {
            ssize_t n = dx_input_read(r->in, r->carry + r->carry_size, HEAD_SIZE - r->carry_size,
                                      err);

            if (n < 0)
                return (int)n;
            r->eof = n == 0;
            r->carry_size += (size_t)n;
        }
        if (r->carry_size >= 3 && memcmp(r->carry, "\xEF\xBB\xBF", 3) == 0) {
            r->carry_size -= 3;
            memmove(r->carry, r->carry + 3, r->carry_size);
            r->position = 3;
        }
        r->head_done = true;
    }
    *head = dx_span_of(r->carry, r->carry_size);
    *whole = r->eof;
    return DX_OK;
}

static int push_record(struct dx_records *r, struct dx_batch *b, const uint8_t *at, size_t size,
                       enum dx_record_flaw flaw, struct dx_error *err)
{
    int rc = dx_batch_room(b, dx_input_name(r->in), err);

    if (rc < 0)
        return rc;
    b->records[b->count++] = (struct dx_record){ .offset = (uint32_t)(at - b->data),
                                                 .size = (uint32_t)size,
                                                 .line = r->line,
                                                 .place = DX_RECORD_PLACE_UNKNOWN,
                                                 .place_size = DX_RECORD_PLACE_UNKNOWN,
                                                 .flaw = (uint8_t)flaw };
    if (!r->is_array && dx_input_is_plain(r->in)) {
        b->records[b->count - 1].place = r->position;
        b->records[b->count - 1].place_size = (int64_t)size;
    }
    return DX_OK;
}

static bool is_passed_over(struct dx_records *r, struct dx_span line)
{
    if (r->format == DX_RECORD_CDX_JSON) {
        r->behind += r->behind > 0 || dx_span_equal(line, dx_span_str("[]"));
        return r->behind > 0;
    }
    return (r->format == DX_RECORD_CDX || r->format == DX_RECORD_CDXJ) && dx_cdx_passed_over(line);
}

/* The fields of all lines are those of the first header, and nothing comes behind the key to go on with. */
static int check_passed(struct dx_records *r, struct dx_span line, struct dx_error *err)
{
    struct dx_span first = dx_span_of(r->header, r->header_size);

    if (r->behind > 2)
        return dx_fail(
            err, DX_E_UNSUPPORTED,
            "%s: has rows behind the key to go on with (resumeKey), as several answers in "
            "one array have; ingest each answer as an input of its own",
            dx_input_name(r->in));
    if (!dx_cdx_is_header(line) || r->format != DX_RECORD_CDX)
        return DX_OK;
    if (r->header_size == 0 && line.size <= sizeof r->header) {
        memcpy(r->header, line.data, line.size);
        r->header_size = line.size;
        return DX_OK;
    }
    return dx_span_equal(line, first)
               ? DX_OK
               : dx_fail(err, DX_E_UNSUPPORTED,
                         "%s: line %llu is a CDX header that differs from the first one",
                         dx_input_name(r->in), (unsigned long long)r->line);
}

/* Pushes the record at *at and moves *at behind it. 1 done, 0 more bytes are needed. */
static int cut_one(struct dx_records *r, struct dx_batch *b, const uint8_t **at, const uint8_t *end,
                   struct dx_error *err)
{
    const uint8_t *from = *at;
    struct dx_record_cut cut;
    int rc = DX_OK;

    if (dx_record_cut(dx_span_of(from, (size_t)(end - from)), r->format == DX_RECORD_CSV, at_end(r),
                      r->line_max, &cut) == 0)
        return 0;
    if (cut.flaw == DX_FLAW_TOO_LONG && cut.size > TOO_LONG_KEPT)
        cut.size = TOO_LONG_KEPT;
    if (is_passed_over(r, dx_span_of(from, cut.size)))
        rc = check_passed(r, dx_span_of(from, cut.size), err);
    else if (cut.size > 0)
        rc = push_record(r, b, from, cut.size, cut.flaw, err);
    r->skipping = cut.next == NULL;
    *at = r->skipping ? end : cut.next;
    r->position += *at - from;
    r->line += r->skipping ? 0 : cut.lines;
    return rc < 0 ? rc : 1;
}

/* Drops the rest of a line that was too long; false while it has not ended. */
static bool skip_line(struct dx_records *r, const uint8_t **at, const uint8_t *end)
{
    const uint8_t *from = *at;
    const uint8_t *next = dx_record_line_end(dx_span_of(from, (size_t)(end - from)), at_end(r));

    *at = next == NULL ? end : next;
    r->position += *at - from;
    if (next == NULL)
        return false;
    r->skipping = false;
    r->line++;
    return true;
}

/* In place: what is left of n bytes of the input, or, at its end, whether the array is closed. */
static int unwrap(struct dx_records *r, uint8_t *bytes, size_t *n, struct dx_error *err)
{
    int rc = DX_OK;

    if (r->is_array)
        rc = r->eof ? dx_json_lines_end(&r->lines, err)
                    : dx_json_lines_push(&r->lines, bytes, n, err);
    return rc < 0 ? dx_fail_in(err, "%s", dx_input_name(r->in)) : DX_OK;
}

int dx_records_unwrap(struct dx_records *r, struct dx_error *err)
{
    bool eof = r->eof;
    int rc;

    r->is_array = true;
    r->lines = (struct dx_json_lines)DX_JSON_LINES_INIT;
    r->eof = false;
    rc = unwrap(r, r->carry, &r->carry_size, err);
    r->eof = eof;
    return rc < 0 || !eof ? rc : unwrap(r, NULL, NULL, err);
}

static int read_full(struct dx_records *r, struct dx_batch *b, struct dx_error *err)
{
    while (!r->eof && b->size < b->capacity) {
        ssize_t n = dx_input_read(r->in, b->data + b->size, b->capacity - b->size, err);
        size_t kept = n < 0 ? 0 : (size_t)n;
        int rc;

        if (n < 0)
            return (int)n;
        r->eof = n == 0;
        rc = unwrap(r, b->data + b->size, &kept, err);
        if (rc < 0)
            return rc;
        b->size += kept;
    }
    return DX_OK;
}

/* Room, twice as much for a record that did not fit last time, with the bytes that wait. */
static int prepare(struct dx_records *r, struct dx_batch *b, struct dx_error *err)
{
    size_t want = r->partial ? b->capacity * 2 : r->batch_size;
    int rc = dx_batch_reserve(b, want, dx_input_name(r->in), err);

    if (!r->partial)
        b->size = 0;
    if (rc < 0)
        return rc;
    take_carry(r, b);
    b->count = 0;
    r->partial = false;
    return DX_OK;
}

/* Whether the batch has its share of records. One that grew for a long record holds many times as
 * many bytes; were they all cut, the records of short lines would take many times those again. */
static bool has_enough(const struct dx_records *r, const struct dx_batch *b, const uint8_t *at)
{
    return b->count > 0 && (size_t)(at - b->data) >= r->batch_size;
}

struct dx_span dx_records_header(const struct dx_records *r)
{
    return dx_span_of(r->header, r->header_size);
}

/* The last bytes of the input are a line without an end. Of a file that another program writes the rest of it may
 * not be there yet. */
static int check_last(const struct dx_records *r, struct dx_error *err)
{
    if (!dx_input_has_grown(r->in))
        return DX_OK;
    return dx_fail(
        err, DX_E_IO,
        "%s: grew while it was read, and its last line has no end, so that it may not be "
        "whole; ingest it again when it is, or its whole lines: head -n -1 FILE | "
        "domaindex ingest ... -",
        dx_input_name(r->in));
}

int dx_records_fill(struct dx_records *r, struct dx_batch *b, struct dx_error *err)
{
    struct dx_span head;
    bool whole;
    const uint8_t *at;
    const uint8_t *end;
    int rc = dx_records_head(r, &head, &whole, err);

    if (rc < 0)
        return rc;
    do {
        rc = prepare(r, b, err);
        if (rc == DX_OK)
            rc = read_full(r, b, err);
        if (rc < 0)
            return rc;
        at = b->data;
        end = b->data + b->size;
        while (at < end && rc >= 0 && !has_enough(r, b, at)) {
            if (r->skipping) {
                if (!skip_line(r, &at, end))
                    break;
                continue;
            }
            rc = cut_one(r, b, &at, end, err);
            if (rc == 0)
                break;
        }
        if (rc >= 0 && at == end && at_end(r) && b->size > 0 && end[-1] != '\n')
            rc = check_last(r, err);
        if (rc < 0)
            return rc;
        if (b->count == 0 && at == b->data && at < end) {
            r->partial = true;
            return DX_RECORDS_GROW;
        }
        rc = keep_rest(r, at, (size_t)(end - at), err);
        if (rc < 0)
            return rc;
    } while (b->count == 0 && (!r->eof || r->carry_size > 0));
    return b->count > 0 ? 1 : 0;
}

const char *dx_record_format_name(enum dx_record_format format)
{
    static const char *const names[] = { "auto", "tsv",      "csv",     "jsonl", "list", "cdx",
                                         "cdxj", "cdx-json", "parquet", "warc",  "arc" };

    return names[format];
}
