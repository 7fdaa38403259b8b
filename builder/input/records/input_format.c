/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/records/input_format.h"

#include <ctype.h>
#include <strings.h>

#include "base/buf.h"
#include "builder/input/bytes/cdx_line.h"
#include "builder/input/bytes/foreign_format.h"
#include "builder/input/records/column_names.h"
#include "builder/input/records/input_json.h"
#include "builder/input/records/list_line.h"

#define LINES_MAX 100
#define BINARY_LOOK 4096
#define SPLIT_SHARE 10 /* of the lines */
#define COUNTED_MAX 64 /* delimiters a line */
#define CELLS_MAX 256
#define HEADER_ROW_MAX ((size_t)16 << 10) /* of an array of arrays */
#define HEADER_CELLS 64

/* The first lines, without their ends and without empty ones. */
struct sample {
    struct dx_span line[LINES_MAX];
    size_t number[LINES_MAX]; /* of the line, from 1 */
    size_t count;
};

/* What separates the columns of a table, in order of trial, and what to do about it. */
static const struct delimiter {
    char byte;
    const char *what;
    enum dx_record_format format; /* that reads it; AUTO: none does */
    const char *way_out;
} delimiters[] = {
    { '\t', "tabs", DX_RECORD_TSV, "give --format tsv and --url-column N" },
    { ',', "commas", DX_RECORD_CSV, "give --format csv and --url-column N" },
    { ';', "semicolons", DX_RECORD_AUTO,
      "convert it: duckdb -c \"copy (from read_csv('FILE', delim=';')) to '/dev/stdout' (format "
      "csv, header)\" | domaindex ingest --format csv ... -" },
    { '|', "bars", DX_RECORD_AUTO,
      "convert it: duckdb -c \"copy (from read_csv('FILE', delim='|')) to '/dev/stdout' (format "
      "csv, header)\" | domaindex ingest --format csv ... -" },
    { ' ', "spaces", DX_RECORD_AUTO,
      "convert it: tr -s ' ' '\\t' < FILE | domaindex ingest --format tsv --url-column N ... -" },
};

#define DELIMITERS (sizeof delimiters / sizeof delimiters[0])

static const struct {
    const char *suffix;
    enum dx_record_format format;
} suffixes[] = {
    { ".tsv", DX_RECORD_TSV },     { ".tab", DX_RECORD_TSV },    { ".csv", DX_RECORD_CSV },
    { ".jsonl", DX_RECORD_JSONL }, { ".json", DX_RECORD_JSONL }, { ".ndjson", DX_RECORD_JSONL },
};

/* Begins as one JSON array of objects or strings does. */
static bool is_array(struct dx_span head)
{
    struct dx_bytes r = dx_bytes_of(head);
    unsigned brackets = 0;

    while (dx_bytes_left(&r) > 0) {
        uint8_t c = dx_bytes_u8(&r);

        if (c == '[' && brackets++ == 0)
            continue;
        if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
            return brackets == 1 && (c == '{' || c == '"' || c == ']');
    }
    return false;
}

bool dx_record_is_wrapped(enum dx_record_format format, struct dx_span head)
{
    return format == DX_RECORD_CDX_JSON || (format == DX_RECORD_JSONL && is_array(head));
}

/* An array of arrays, the first of which has the name of a URL column, as the CDX servers of the
 * Internet Archive answer with output=json. */
static bool is_cdx_json(struct dx_span head)
{
    struct dx_buf scratch = DX_BUF_INIT(HEADER_ROW_MAX);
    struct dx_span field[HEADER_CELLS];
    const uint8_t *end;
    size_t at = 0;
    size_t n = 0;
    bool ok;

    while (at < head.size && strchr(" \t\r\n", head.data[at]) != NULL && head.data[at] != 0)
        at++;
    if (at == head.size || head.data[at] != '[')
        return false;
    head = dx_span_of(head.data + at + 1, head.size - at - 1);
    end = memchr(head.data, ']', head.size < HEADER_ROW_MAX ? head.size : HEADER_ROW_MAX);
    if (end != NULL)
        n = dx_json_row(dx_span_of(head.data, (size_t)(end - head.data) + 1), field, HEADER_CELLS,
                        &scratch, &ok);
    ok = n > 0 && dx_column_find(field, n, dx_column_url_names) >= 0;
    dx_buf_release(&scratch);
    return ok;
}

static size_t without(const char *name, size_t n, const char *suffix)
{
    size_t s = strlen(suffix);

    return n > s && strncasecmp(name + n - s, suffix, s) == 0 ? n - s : n;
}

bool dx_input_named(const char *name, const char *suffix)
{
    static const char *const packings[] = { ".gz", ".zst", ".zstd", ".bz2", ".xz" };
    size_t n = strlen(name);

    for (size_t i = 0; i < sizeof packings / sizeof packings[0]; i++)
        n = without(name, n, packings[i]);
    return without(name, n, suffix) < n;
}

/* AUTO: the name says nothing, or only that it is text. */
static enum dx_record_format by_name(const char *name)
{
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (dx_input_named(name, suffixes[i].suffix))
            return suffixes[i].format;
    return DX_RECORD_AUTO;
}

static struct dx_span trimmed(struct dx_span s)
{
    while (s.size > 0 && isspace(s.data[0]))
        s = dx_span_of(s.data + 1, s.size - 1);
    while (s.size > 0 && isspace(s.data[s.size - 1]))
        s.size--;
    return s;
}

/* The last line counts only where it is known to be whole, or is the only one. */
static void read_sample(const struct dx_input_head *head, struct sample *out)
{
    struct dx_span rest = head->bytes;
    size_t number = 0;

    out->count = 0;
    while (rest.size > 0 && out->count < LINES_MAX) {
        const uint8_t *end = memchr(rest.data, '\n', rest.size);
        size_t n = end == NULL ? rest.size : (size_t)(end - rest.data);
        struct dx_span line = trimmed(dx_span_of(rest.data, n));

        if (end == NULL && !head->whole && out->count > 0)
            return;
        number++;
        if (line.size > 0) {
            out->number[out->count] = number;
            out->line[out->count++] = line;
        }
        n += end != NULL;
        rest = dx_span_from(rest, n);
    }
}

/* Cells of a line, quotes taken off; a delimiter in quotes does not count. Those beyond max are
 * counted. */
static size_t split_cells(struct dx_span line, char by, struct dx_span *cell, size_t max)
{
    size_t n = 0;
    size_t begin = 0;
    bool quoted = false;

    for (size_t i = 0; i <= line.size; i++) {
        if (i < line.size && line.data[i] == '"')
            quoted = !quoted;
        if (i < line.size && (quoted || line.data[i] != (uint8_t)by))
            continue;
        if (n < max) {
            struct dx_span s = trimmed(dx_span_of(line.data + begin, i - begin));

            if (s.size >= 2 && s.data[0] == '"' && s.data[s.size - 1] == '"')
                s = dx_span_of(s.data + 1, s.size - 2);
            cell[n] = s;
        }
        n++;
        begin = i + 1;
    }
    return n;
}

/* The first line names columns, one of them as URLs are named; in *cells how many. */
static bool is_header(const struct sample *s, char by, size_t *cells)
{
    struct dx_span cell[CELLS_MAX];
    size_t n = split_cells(s->line[0], by, cell, CELLS_MAX);

    *cells = n;
    for (size_t i = 0; i < n && i < CELLS_MAX; i++)
        if (dx_column_is_url_name(cell[i]))
            return true;
    return false;
}

static bool has_prefix(struct dx_span s, const char *text)
{
    size_t n = strlen(text);

    return s.size >= n && strncasecmp((const char *)s.data, text, n) == 0;
}

/* What stands in a column beside URLs, and not at the end of one: a number, a date, a URL. */
static bool is_plain_value(struct dx_span cell)
{
    bool digit = false;

    if (cell.size == 0 || has_prefix(cell, "http://") || has_prefix(cell, "https://"))
        return true;
    for (size_t i = 0; i < cell.size; i++) {
        digit = digit || isdigit(cell.data[i]);
        if (cell.data[i] == 0 || strchr("0123456789-+:. TZ/", cell.data[i]) == NULL)
            return false;
    }
    return digit;
}

/* Nearly every line has the same number of this delimiter; of one line alone, only if what stands
 * behind the last one is not part of a URL. */
static bool is_separator(const struct sample *s, char by)
{
    size_t lines[COUNTED_MAX + 1] = { 0 };
    struct dx_span cell[COUNTED_MAX + 1];
    size_t best = 1;

    if (s->count == 1) {
        size_t n = split_cells(s->line[0], by, cell, COUNTED_MAX);

        return n > 1 && n <= COUNTED_MAX && is_plain_value(cell[n - 1]);
    }
    for (size_t i = 0; i < s->count; i++) {
        size_t n = split_cells(s->line[i], by, cell, 0) - 1;

        if (n <= COUNTED_MAX)
            lines[n]++;
    }
    for (size_t n = 2; n <= COUNTED_MAX; n++)
        if (lines[n] > lines[best])
            best = n;
    return lines[best] * 5 >= s->count * 4;
}

/* A name for a few columns as TSV or CSV whose lines have none: its delimiter is another one. */
static int check_delimiter(const struct dx_input_head *head, const struct sample *s,
                           enum dx_record_format format, struct dx_error *err)
{
    char own = format == DX_RECORD_CSV ? ',' : '\t';
    struct dx_span cell[1];
    size_t cells;

    if (s->count == 0 || split_cells(s->line[0], own, cell, 1) > 1)
        return DX_OK;
    for (size_t i = 0; i < DELIMITERS; i++) {
        const struct delimiter *d = &delimiters[i];

        if (d->byte == own || (!(is_header(s, d->byte, &cells) && cells > 1) &&
                               (is_header(s, own, &cells) || !is_separator(s, d->byte))))
            continue;
        return dx_fail(err, DX_E_INVALID,
                       "%s: is read as %s, but %s separate its columns; %s, or --format list if "
                       "each line is a URL",
                       head->name, dx_record_format_name(format), d->what, d->way_out);
    }
    return DX_OK;
}

static bool begins_json(struct dx_span head)
{
    struct dx_span s = trimmed(head);

    return (s.size > 0 && s.data[0] == '{') || is_array(head);
}

/* A table with a header that says so: TSV and CSV are certain then, others are refused. */
static int find_by_header(const struct dx_input_head *head, const struct sample *s,
                          enum dx_record_format *format, struct dx_error *err)
{
    size_t cells;

    for (size_t i = 0; i < DELIMITERS; i++) {
        const struct delimiter *d = &delimiters[i];

        if (!is_header(s, d->byte, &cells) || cells == 1)
            continue;
        if (d->format == DX_RECORD_AUTO)
            return dx_fail(err, DX_E_INVALID, "%s: %s separate its columns; %s", head->name,
                           d->what, d->way_out);
        *format = d->format;
        return DX_OK;
    }
    /* One column with a name: TSV reads a line as it is, CSV takes its quotes off. */
    if (is_header(s, '\t', &cells))
        *format = s->line[0].data[0] == '"' ? DX_RECORD_CSV : DX_RECORD_TSV;
    return DX_OK;
}

static const struct delimiter *find_delimiter(int byte)
{
    static const struct delimiter other = {
        0, "control characters", DX_RECORD_AUTO,
        "make these tabs, and give --format tsv and --url-column N"
    };

    for (size_t i = 0; i < DELIMITERS; i++)
        if (delimiters[i].byte == byte)
            return &delimiters[i];
    return &other;
}

/* A line now and then is rejected where it stands; of a tenth of them no list is made up. */
static int check_list(const struct dx_input_head *head, const struct sample *s,
                      struct dx_error *err)
{
    const struct delimiter *d;
    size_t first = 0, found = 0;
    int by = DX_LIST_LINE_WHOLE;

    for (size_t i = 0; i < s->count; i++) {
        int b = dx_list_line_split(s->line[i]);

        if (b != DX_LIST_LINE_WHOLE && found++ == 0) {
            by = b;
            first = s->number[i];
        }
    }
    if (found * SPLIT_SHARE < s->count || found == 0)
        return DX_OK;
    d = find_delimiter(by);
    return dx_fail(err, DX_E_INVALID,
                   "%s: cannot tell whether a line is a URL or has columns: %s separate those of "
                   "line %zu, and of %zu of the first %zu lines; %s, or --format list, which "
                   "rejects such lines",
                   head->name, d->what, first, found, s->count, d->way_out);
}

/* Without a header that is known: lines of several columns may not pass for URLs. */
static int find_by_lines(const struct dx_input_head *head, const struct sample *s,
                         bool wants_columns, enum dx_record_format *format, struct dx_error *err)
{
    struct dx_span first = s->line[0];

    *format = DX_RECORD_LIST;
    if (memchr(first.data, '\t', first.size) != NULL)
        *format = DX_RECORD_TSV;
    else if (wants_columns && memchr(first.data, ',', first.size) != NULL)
        *format = DX_RECORD_CSV;
    if (*format != DX_RECORD_LIST)
        return DX_OK;
    for (size_t i = 0; i < DELIMITERS; i++)
        if (is_separator(s, delimiters[i].byte))
            return dx_fail(err, DX_E_INVALID,
                           "%s: cannot tell whether a line is a URL or has columns separated by "
                           "%s; %s, or --format list if each line is a URL",
                           head->name, delimiters[i].what, delimiters[i].way_out);
    if (first.data[0] == '"')
        *format = DX_RECORD_CSV;
    return *format == DX_RECORD_LIST ? check_list(head, s, err) : DX_OK;
}

/* The first line that is not one of the lines around records. */
static enum dx_cdx_kind cdx_kind(const struct sample *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (!dx_cdx_passed_over(s->line[i]))
            return dx_cdx_kind(s->line[i]);
    return DX_CDX_NONE;
}

static int find_by_content(const struct dx_input_head *head, const struct sample *s,
                           bool wants_columns, enum dx_record_format *format, struct dx_error *err)
{
    int rc = DX_OK;

    *format = DX_RECORD_AUTO;
    if (begins_json(head->bytes)) {
        *format = DX_RECORD_JSONL;
        return DX_OK;
    }
    if (s->count == 0) {
        *format = DX_RECORD_LIST;
        return DX_OK;
    }
    switch (cdx_kind(s)) {
    case DX_CDX_JSON:
        *format = DX_RECORD_CDXJ;
        return DX_OK;
    case DX_CDX_LINE:
        *format = DX_RECORD_CDX;
        return DX_OK;
    default:
        break;
    }
    if (dx_cdx_is_header(dx_span_of(head->bytes.data, head->bytes.size))) {
        *format = DX_RECORD_CDX;
        return DX_OK;
    }
    rc = find_by_header(head, s, format, err);
    if (rc == DX_OK && *format == DX_RECORD_AUTO)
        rc = find_by_lines(head, s, wants_columns, format, err);
    return rc;
}

/* Old Macintosh lines: all of it would be one record. */
static int check_line_ends(const struct dx_input_head *head, struct dx_error *err)
{
    struct dx_span s = trimmed(head->bytes);

    if (s.size == 0 || s.data[0] == '[' || memchr(s.data, '\n', s.size) != NULL ||
        memchr(s.data, '\r', s.size) == NULL)
        return DX_OK;
    return dx_fail(err, DX_E_UNSUPPORTED,
                   "%s: its lines end in CR alone, which ingest does not read; convert it: tr "
                   "'\\r' '\\n' < FILE | domaindex ingest ... -",
                   head->name);
}

static int check_text(const struct dx_input_head *head, struct dx_error *err)
{
    size_t n = head->bytes.size < BINARY_LOOK ? head->bytes.size : BINARY_LOOK;
    int rc = dx_foreign_text_check(head->bytes, head->name, err);

    if (rc == DX_OK && n > 0 && memchr(head->bytes.data, 0, n) != NULL)
        rc = dx_fail(err, DX_E_INVALID,
                     "%s: holds NUL bytes, so it is binary data or UTF-16 without a mark; if it is "
                     "text all the same, give --format",
                     head->name);
    return rc;
}

/* An object over several lines, each of which would be a broken record. */
static int check_one_line(const struct dx_input_head *head, const struct sample *s,
                          struct dx_error *err)
{
    if (s->count < 2 || s->line[0].data[0] != '{' || s->line[1].data[0] == '{' ||
        s->line[0].data[s->line[0].size - 1] == '}')
        return DX_OK;
    return dx_fail(
        err, DX_E_INVALID,
        "%s: line %zu begins a JSON object that goes on over several lines; ingest reads "
        "an object a line, or one array of objects or of URLs; convert it: jq -c . FILE | "
        "domaindex ingest --format jsonl ... -",
        head->name, s->number[0]);
}

static int find_of_text(const struct dx_input_head *head, const struct sample *s,
                        enum dx_record_format asked, bool wants_columns,
                        enum dx_record_format *format, struct dx_error *err)
{
    int rc = DX_OK;

    if (asked == DX_RECORD_AUTO)
        *format = by_name(head->name);
    if (*format == DX_RECORD_AUTO)
        rc = find_by_content(head, s, wants_columns, format, err);
    else if (*format == DX_RECORD_CSV || *format == DX_RECORD_TSV)
        rc = check_delimiter(head, s, *format, err);
    return rc == DX_OK && *format == DX_RECORD_JSONL ? check_one_line(head, s, err) : rc;
}

int dx_input_format_find(const struct dx_input_head *head, enum dx_record_format asked,
                         bool wants_columns, enum dx_record_format *format, struct dx_error *err)
{
    struct sample sample;
    int rc = dx_foreign_format_check(head->bytes, head->name, err);

    *format = asked;
    if (rc == DX_OK && asked == DX_RECORD_AUTO && is_cdx_json(head->bytes)) {
        *format = DX_RECORD_CDX_JSON;
        return DX_OK;
    }
    if (rc == DX_OK && asked == DX_RECORD_AUTO)
        rc = check_text(head, err);
    if (rc == DX_OK)
        rc = check_line_ends(head, err);
    if (rc < 0)
        return rc;
    read_sample(head, &sample);
    return find_of_text(head, &sample, asked, wants_columns, format, err);
}
