/* SPDX-License-Identifier: Apache-2.0 */
#include "format/version/files_tsv.h"

#include "base/decimal.h"

#include <assert.h>
#include <inttypes.h>

#define FIELDS 7

/* Of the bytes of a path; 0: none of it. A table, since each read of a lake file looks at its path again. */
enum { WORD = 1, MARK, SLASH };

bool dx_lake_path_ok(struct dx_span path)
{
    static const uint8_t kinds[256] = {
        ['0' ... '9'] = WORD, ['A' ... 'Z'] = WORD, ['a' ... 'z'] = WORD, ['_'] = WORD,
        ['.'] = MARK,         ['='] = MARK,         ['-'] = MARK,         ['/'] = SLASH,
    };
    bool fresh = true; /* at the front of a component */

    if (path.size == 0 || path.size > DX_FILES_PATH_MAX)
        return false;
    for (size_t i = 0; i < path.size; i++) {
        uint8_t kind = kinds[path.data[i]];

        if (kind == 0 || (fresh && kind != WORD))
            return false;
        fresh = kind == SLASH;
    }
    return !fresh;
}

static int hex_value(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int hex_byte(const uint8_t *p)
{
    int hi = hex_value(p[0]);
    int lo = hex_value(p[1]);

    return hi < 0 || lo < 0 ? -1 : hi * 16 + lo;
}

static bool is_prefix_ok(struct dx_span s)
{
    if (s.size == 2)
        return hex_byte(s.data) >= 0;
    return s.size == 5 && s.data[2] == '-' && hex_byte(s.data) >= 0 &&
           hex_byte(s.data + 3) > hex_byte(s.data);
}

static bool etag_ok(struct dx_span s)
{
    for (size_t i = 0; i < s.size; i++)
        if (s.data[i] <= 0x20 || s.data[i] >= 0x7f)
            return false;
    return s.size > 0 && s.size <= DX_FILES_ETAG_MAX;
}

void dx_files_tsv_begin(struct dx_files_tsv *t, struct dx_span plain, const char *name)
{
    *t = (struct dx_files_tsv){ .at = dx_bytes_of(plain), .name = name };
}

static bool split(struct dx_span line, struct dx_span field[FIELDS])
{
    const uint8_t *p = line.data;
    const uint8_t *end = line.data + line.size;

    for (size_t i = 0; i < FIELDS; i++) {
        const uint8_t *tab = memchr(p, '\t', (size_t)(end - p));

        if ((tab == NULL) != (i == FIELDS - 1))
            return false;
        if (tab == NULL)
            tab = end;
        field[i] = dx_span_of(p, (size_t)(tab - p));
        p = tab + 1;
    }
    return true;
}

static const char *file_fault(const struct dx_files_row *f)
{
    if (!is_prefix_ok(f->domain_prefix))
        return "domain_prefix is neither hh nor hh-hh";
    if (!dx_lake_path_ok(f->path))
        return "path is not a plain relative path";
    if (!etag_ok(f->etag))
        return "etag is not 1 to 128 printable characters";
    return NULL;
}

static bool is_dash(struct dx_span s)
{
    return s.size == 1 && s.data[0] == '-';
}

/* The line of a file that went: a number that is not given again, and nothing behind it. */
static const char *take_hole(struct dx_files_row *f)
{
    if (!is_dash(f->domain_prefix) || !is_dash(f->path) || !is_dash(f->etag) || f->size != 0 ||
        f->rows != 0)
        return "dataset_id 0 (ids begin at 1) of a file that is there";
    f->domain_prefix = f->path = f->etag = dx_span_of(f->path.data, 0);
    return NULL;
}

static const char *parse_line(struct dx_span line, uint64_t want_id, struct dx_files_row *f)
{
    struct dx_span field[FIELDS];
    uint64_t file_id;
    uint64_t dataset_id;

    if (!split(line, field))
        return "not 7 fields";
    if (!dx_decimal_plain(field[0], UINT32_MAX, &file_id) || file_id != want_id)
        return "file_id is not the number of the line";
    if (!dx_decimal_plain(field[1], UINT32_MAX, &dataset_id))
        return "dataset_id is not a number of 32 bits";
    if (!dx_decimal_plain(field[4], INT64_MAX, &f->size))
        return "size is not a number of 63 bits";
    if (!dx_decimal_plain(field[6], INT64_MAX, &f->rows))
        return "rows is not a number of 63 bits";
    f->file_id = (uint32_t)file_id;
    f->dataset_id = (uint32_t)dataset_id;
    f->domain_prefix = field[2];
    f->path = field[3];
    f->etag = field[5];
    return NULL;
}

int dx_files_tsv_next(struct dx_files_tsv *t, struct dx_files_row *file, struct dx_error *err)
{
    size_t left = dx_bytes_left(&t->at);
    const uint8_t *newline;
    const char *why;

    if (left == 0)
        return 0;
    newline = memchr(t->at.at, '\n', left);
    if (newline == NULL)
        return dx_fail(err, DX_E_TRUNCATED, "%s: line %" PRIu64 " at offset %zu has no end",
                       t->name, t->next_id, dx_bytes_at(&t->at));
    why = parse_line(dx_span_of(t->at.at, (size_t)(newline - t->at.at)), t->next_id, file);
    if (why == NULL)
        why = dx_files_hole(file) ? take_hole(file) : file_fault(file);
    if (why != NULL)
        return dx_fail(err, DX_E_CORRUPT, "%s: line %" PRIu64 " at offset %zu: %s", t->name,
                       t->next_id, dx_bytes_at(&t->at), why);
    t->at.at = newline + 1;
    t->next_id++;
    return 1;
}

void dx_files_tsv_writer_begin(struct dx_files_tsv_writer *w, struct dx_buf *out)
{
    *w = (struct dx_files_tsv_writer){ .out = out };
}

static void append(struct dx_buf *out, struct dx_span s)
{
    dx_buf_append(out, s.data, s.size);
}

int dx_files_tsv_write(struct dx_files_tsv_writer *w, const struct dx_files_row *file,
                       struct dx_error *err)
{
    const char *why = dx_files_hole(file) ? NULL : file_fault(file);

    if (why == NULL && file->file_id != w->next_id)
        why = "file_id is not the next one";
    if (why == NULL && (file->size > INT64_MAX || file->rows > INT64_MAX))
        why = "size or rows over 63 bits";
    if (why != NULL)
        return dx_fail(err, DX_E_INVALID, "files.tsv: file %" PRIu32 " '%.*s': %s", file->file_id,
                       (int)(file->path.size > 100 ? 100 : file->path.size),
                       (const char *)file->path.data, why);
    w->next_id++;
    if (dx_files_hole(file)) {
        dx_buf_fmt(w->out, "%" PRIu32 "\t0\t-\t-\t0\t-\t0\n", file->file_id);
        return w->out->failed ? dx_buf_fail(w->out, err, "files.tsv") : DX_OK;
    }
    dx_buf_fmt(w->out, "%" PRIu32 "\t%" PRIu32 "\t", file->file_id, file->dataset_id);
    append(w->out, file->domain_prefix);
    dx_buf_u8(w->out, '\t');
    append(w->out, file->path);
    dx_buf_fmt(w->out, "\t%" PRIu64 "\t", file->size);
    append(w->out, file->etag);
    dx_buf_fmt(w->out, "\t%" PRIu64 "\n", file->rows);
    return w->out->failed ? dx_buf_fail(w->out, err, "files.tsv") : DX_OK;
}
