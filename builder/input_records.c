/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input_records.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "builder/input.h"
#include "format/json_lines.h"

#define HEAD_SIZE (64 * 1024) /* enough for the first line of what people have */
#define TOO_LONG_KEPT 4096    /* of a record too long, for the rejects file */

struct dx_records {
    struct dx_input *in;
    enum dx_record_format format;
    size_t line_max;
    size_t batch_size;

    uint8_t *carry; /* read, not yet in a batch */
    size_t carry_size;
    size_t carry_capacity;
    bool head_done;
    bool eof;
    bool is_array; /* `lines` takes it apart */
    struct dx_json_lines lines;
    bool partial;  /* the batch given last holds the beginning of one record */
    bool skipping; /* inside a line already reported as too long */
    uint64_t line; /* number of the next line */
};

int dx_records_new(struct dx_records **out, struct dx_input *in, size_t line_max,
                   struct dx_error *err)
{
    struct dx_records *r = calloc(1, sizeof *r);

    *out = r;
    if (r == NULL)
        return dx_fail(err, DX_E_NOMEM, "records: out of memory");
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

static int keep(struct dx_records *r, const uint8_t *data, size_t size, struct dx_error *err)
{
    if (size > r->carry_capacity) {
        uint8_t *grown = realloc(r->carry, size);

        if (grown == NULL)
            return dx_fail(err, DX_E_NOMEM, "%s: out of memory", dx_input_name(r->in));
        r->carry = grown;
        r->carry_capacity = size;
    }
    if (size > 0)
        memmove(r->carry, data, size);
    r->carry_size = size;
    return DX_OK;
}

int dx_records_head(struct dx_records *r, struct dx_span *head, struct dx_error *err)
{
    if (!r->head_done) {
        r->carry = malloc(HEAD_SIZE);
        if (r->carry == NULL)
            return dx_fail(err, DX_E_NOMEM, "%s: out of memory", dx_input_name(r->in));
        r->carry_capacity = HEAD_SIZE;
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
        }
        r->head_done = true;
    }
    *head = dx_span_of(r->carry, r->carry_size);
    return DX_OK;
}

static int grow(struct dx_records *r, struct dx_batch *b, size_t capacity, struct dx_error *err)
{
    uint8_t *grown = realloc(b->data, capacity);

    if (grown == NULL)
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory for a batch", dx_input_name(r->in));
    b->data = grown;
    b->capacity = capacity;
    return DX_OK;
}

static int push(struct dx_records *r, struct dx_batch *b, const uint8_t *at, size_t size,
                enum dx_record_flaw flaw, struct dx_error *err)
{
    if (b->count == b->room) {
        size_t room = b->room == 0 ? 1024 : b->room * 2;
        struct dx_record *grown = realloc(b->records, room * sizeof *grown);

        if (grown == NULL)
            return dx_fail(err, DX_E_NOMEM, "%s: out of memory for records", dx_input_name(r->in));
        b->records = grown;
        b->room = room;
    }
    b->records[b->count++] = (struct dx_record){ .offset = (uint32_t)(at - b->data),
                                                 .size = (uint32_t)size,
                                                 .line = r->line,
                                                 .flaw = (uint8_t)flaw };
    return DX_OK;
}

/* Pushes the record at *at and moves *at behind it. 1 done, 0 more bytes are needed. */
static int cut_one(struct dx_records *r, struct dx_batch *b, const uint8_t **at, const uint8_t *end,
                   struct dx_error *err)
{
    const uint8_t *from = *at;
    struct dx_record_cut cut;
    int rc = DX_OK;

    if (dx_record_cut(dx_span_of(from, (size_t)(end - from)), r->format == DX_RECORD_CSV, r->eof,
                      r->line_max, &cut) == 0)
        return 0;
    if (cut.flaw == DX_FLAW_TOO_LONG && cut.size > TOO_LONG_KEPT)
        cut.size = TOO_LONG_KEPT;
    if (cut.size > 0)
        rc = push(r, b, from, cut.size, cut.flaw, err);
    r->skipping = cut.next == NULL;
    *at = r->skipping ? end : cut.next;
    r->line += r->skipping ? 0 : cut.lines;
    return rc < 0 ? rc : 1;
}

/* Drops the rest of a line that was too long; false while it has not ended. */
static bool skip_line(struct dx_records *r, const uint8_t **at, const uint8_t *end)
{
    const uint8_t *next = dx_record_line_end(dx_span_of(*at, (size_t)(end - *at)), r->eof);

    *at = next == NULL ? end : next;
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

/* Room for the carried bytes, or for more of the record that did not fit last time. */
static int prepare(struct dx_records *r, struct dx_batch *b, struct dx_error *err)
{
    size_t want = r->partial ? b->capacity * 2 : r->batch_size;
    int rc = DX_OK;

    if (!r->partial) {
        b->size = 0;
        if (want <= r->carry_size)
            want = r->carry_size + 1;
    }
    if (want > b->capacity)
        rc = grow(r, b, want, err);
    if (rc < 0)
        return rc;
    if (!r->partial && r->carry_size > 0) {
        memcpy(b->data, r->carry, r->carry_size);
        b->size = r->carry_size;
        r->carry_size = 0;
    }
    b->count = 0;
    r->partial = false;
    return DX_OK;
}

int dx_records_fill(struct dx_records *r, struct dx_batch *b, struct dx_error *err)
{
    struct dx_span head;
    const uint8_t *at;
    const uint8_t *end;
    int rc = dx_records_head(r, &head, err);

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
        while (at < end && rc >= 0) {
            if (r->skipping) {
                if (!skip_line(r, &at, end))
                    break;
                continue;
            }
            rc = cut_one(r, b, &at, end, err);
            if (rc == 0)
                break;
        }
        if (rc < 0)
            return rc;
        if (b->count == 0 && at == b->data && at < end) {
            r->partial = true;
            return DX_RECORDS_GROW;
        }
        rc = keep(r, at, (size_t)(end - at), err);
        if (rc < 0)
            return rc;
    } while (b->count == 0 && (!r->eof || r->carry_size > 0));
    return b->count > 0 ? 1 : 0;
}

static const struct {
    const char *suffix;
    enum dx_record_format format;
} suffixes[] = {
    { ".tsv", DX_RECORD_TSV },     { ".tab", DX_RECORD_TSV },    { ".csv", DX_RECORD_CSV },
    { ".jsonl", DX_RECORD_JSONL }, { ".json", DX_RECORD_JSONL }, { ".ndjson", DX_RECORD_JSONL },
    { ".txt", DX_RECORD_LIST },    { ".list", DX_RECORD_LIST },
};

bool dx_record_is_array(struct dx_span head)
{
    struct dx_bytes r = dx_bytes_of(head);
    unsigned brackets = 0;

    while (dx_bytes_left(&r) > 0) {
        uint8_t c = dx_bytes_u8(&r);

        if (c == '[' && brackets++ == 0)
            continue;
        if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
            return brackets == 1 && (c == '{' || c == ']');
    }
    return false;
}

static size_t without(const char *name, size_t n, const char *suffix)
{
    size_t s = strlen(suffix);

    return n > s && strncasecmp(name + n - s, suffix, s) == 0 ? n - s : n;
}

enum dx_record_format dx_record_format_guess(const char *name, struct dx_span head, bool columns)
{
    size_t n = strlen(name);
    const uint8_t *newline = head.size == 0 ? NULL : memchr(head.data, '\n', head.size);
    size_t first = newline == NULL ? head.size : (size_t)(newline - head.data);
    bool named = false;
    enum dx_record_format format = DX_RECORD_LIST;
    size_t i = 0;

    n = without(name, n, ".gz");
    n = without(name, n, ".zst");
    n = without(name, n, ".zstd");
    for (size_t k = 0; k < sizeof suffixes / sizeof suffixes[0] && !named; k++)
        if (without(name, n, suffixes[k].suffix) < n) {
            named = true;
            format = suffixes[k].format;
        }
    /* A .txt file asked for its third column is no plain list. */
    if (named && (format != DX_RECORD_LIST || !columns))
        return format;
    while (i < first && (head.data[i] == ' ' || head.data[i] == '\t'))
        i++;
    if ((i < first && head.data[i] == '{') || dx_record_is_array(head))
        return DX_RECORD_JSONL;
    if (first > 0 && memchr(head.data, '\t', first) != NULL)
        return DX_RECORD_TSV;
    if (columns && first > 0 && memchr(head.data, ',', first) != NULL)
        return DX_RECORD_CSV;
    return DX_RECORD_LIST;
}

static const char *const format_names[] = { "auto", "tsv", "csv", "jsonl", "list" };

bool dx_record_format_parse(const char *text, enum dx_record_format *format)
{
    for (size_t i = 0; i < sizeof format_names / sizeof format_names[0]; i++)
        if (strcmp(text, format_names[i]) == 0) {
            *format = (enum dx_record_format)i;
            return true;
        }
    return false;
}

const char *dx_record_format_name(enum dx_record_format format)
{
    return format_names[format];
}
