/* SPDX-License-Identifier: Apache-2.0 */
#include "format/version/etags_tsv.h"

#include "base/decimal.h"
#include "format/version/cold.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const kinds[] = {
    [DX_ETAG_IDX] = "idx", [DX_ETAG_DAT] = "dat", [DX_ETAG_COLD] = "cold", [DX_ETAG_LAKE] = "lake"
};

#define KIND_COUNT (sizeof kinds / sizeof kinds[0])

static bool root_ok(struct dx_span s)
{
    for (size_t i = 0; i < s.size; i++)
        if (s.data[i] <= 0x20 || s.data[i] >= 0x7f)
            return false;
    return s.size > 0 && s.size <= DX_ETAGS_ROOT_MAX;
}

static bool etag_ok(struct dx_span s)
{
    if (s.size < 2 || s.size > DX_ETAGS_ETAG_MAX || s.data[0] != '"' || s.data[s.size - 1] != '"')
        return false;
    for (size_t i = 1; i + 1 < s.size; i++)
        if (s.data[i] <= 0x20 || s.data[i] == '"' || s.data[i] == 0x7f)
            return false;
    return true;
}

/* What is wrong with a row behind `last`; NULL: nothing, and it is the last now. */
static const char *row_fault(struct dx_etags_order *last, enum dx_etag_kind kind, uint32_t number,
                             struct dx_span etag)
{
    if ((kind == DX_ETAG_IDX || kind == DX_ETAG_DAT) && number != 0)
        return "postings have number 0";
    if (kind == DX_ETAG_COLD && number >= DX_COLD_FILES)
        return "no such cold file";
    if (last->any && (kind < last->kind || (kind == last->kind && number <= last->number)))
        return "objects do not ascend";
    if (!etag_ok(etag))
        return "the ETag is not a strong one";
    *last = (struct dx_etags_order){ true, kind, number };
    return NULL;
}

/* ---- writing ---- */

int dx_etags_writer_begin(struct dx_etags_writer *w, const char *url,
                          int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                          void *sink_ctx, struct dx_error *err)
{
    int rc;

    memset(w, 0, sizeof *w);
    if (!root_ok(dx_span_str(url)))
        return dx_fail(err, DX_E_INVALID, "etags.tsv: '%.100s' is not the URL of a root", url);
    rc = dx_zseek_writer_init(&w->out, 0, sink, sink_ctx, err);
    return rc < 0 ? rc : dx_zseek_writer_line(&w->out, dx_span_str(url), err);
}

int dx_etags_writer_add(struct dx_etags_writer *w, enum dx_etag_kind kind, uint32_t number,
                        const char *etag, struct dx_error *err)
{
    const char *why = row_fault(&w->last, kind, number, dx_span_str(etag));
    char line[DX_ETAGS_ETAG_MAX + 20];
    int n;

    if (why != NULL)
        return dx_fail(err, DX_E_INVALID, "etags.tsv: %s %" PRIu32 " '%.140s': %s", kinds[kind],
                       number, etag, why);
    n = snprintf(line, sizeof line, "%s\t%" PRIu32 "\t%s", kinds[kind], number, etag);
    return dx_zseek_writer_line(&w->out, dx_span_of(line, (size_t)n), err);
}

int dx_etags_writer_finish(struct dx_etags_writer *w, struct dx_error *err)
{
    return dx_zseek_writer_finish(&w->out, err);
}

void dx_etags_writer_release(struct dx_etags_writer *w)
{
    dx_zseek_writer_release(&w->out);
}

/* ---- reading ---- */

/* The next line without its end: 1, or 0 at the end of the file. No line runs over a frame. */
static int next_line(struct dx_etags *r, struct dx_span *line, struct dx_error *err)
{
    const uint8_t *newline;
    size_t left = dx_bytes_left(&r->at);

    if (left == 0) {
        int rc;

        if (r->next_frame == r->file.frame_count)
            return 0;
        rc = dx_zseek_decode(&r->file, r->decoder, r->next_frame, &r->frame, err);
        if (rc < 0)
            return rc;
        r->next_frame++;
        r->at = dx_bytes_of(dx_span_of(r->frame.data, r->frame.size));
        left = r->frame.size;
    }
    newline = memchr(r->at.at, '\n', left);
    if (newline == NULL)
        return dx_fail(err, DX_E_CORRUPT, "%s: line %" PRIu64 " does not end in its frame",
                       r->file.name, r->line);
    *line = dx_bytes_take(&r->at, (uint64_t)(newline - r->at.at));
    (void)dx_bytes_u8(&r->at);
    r->line++;
    return 1;
}

/* Decimal without sign, blanks or leading zeros. */
static bool decimal(struct dx_span s, uint32_t *out)
{
    uint64_t v;
    bool ok = dx_decimal_plain(s, UINT32_MAX, &v);

    *out = (uint32_t)v;
    return ok;
}

static bool field(struct dx_span *line, struct dx_span *to)
{
    const uint8_t *tab = line->size == 0 ? NULL : memchr(line->data, '\t', line->size);
    size_t n;

    if (tab == NULL)
        return false;
    n = (size_t)(tab - line->data);
    *to = dx_span_of(line->data, n);
    *line = dx_span_of(tab + 1, line->size - n - 1);
    return true;
}

static const char *parse_line(struct dx_etags_order *last, struct dx_span line,
                              struct dx_etags_row *row)
{
    struct dx_span kind;
    struct dx_span number;
    unsigned k = 0;
    const char *why;

    if (!field(&line, &kind) || !field(&line, &number))
        return "not 3 fields";
    while (k < KIND_COUNT && !dx_span_equal(kind, dx_span_str(kinds[k])))
        k++;
    if (k == KIND_COUNT)
        return "neither idx, dat, cold nor lake";
    row->kind = (enum dx_etag_kind)k;
    if (!decimal(number, &row->number))
        return "the number is none of 32 bits";
    why = row_fault(last, row->kind, row->number, line);
    if (why != NULL)
        return why;
    memcpy(row->etag, line.data, line.size);
    row->etag[line.size] = '\0';
    return NULL;
}

int dx_etags_open(struct dx_etags *r, struct dx_span file, const char *name, struct dx_error *err)
{
    struct dx_span root;
    int rc;

    memset(r, 0, sizeof *r);
    dx_buf_init(&r->frame, DX_ZSEEK_PLAIN_MAX);
    rc = dx_zseek_open(&r->file, file, name, err);
    if (rc < 0)
        return rc;
    r->decoder = dx_zstd_decoder_new();
    if (r->decoder == NULL)
        return dx_no_memory(err, "%s", name);
    rc = next_line(r, &root, err);
    if (rc < 0)
        return rc;
    if (rc == 0 || !root_ok(root))
        return dx_fail(err, DX_E_CORRUPT, "%s: line 0 is not the URL of a root", name);
    memcpy(r->root, root.data, root.size);
    return DX_OK;
}

int dx_etags_next(struct dx_etags *r, struct dx_etags_row *row, struct dx_error *err)
{
    struct dx_span line;
    const char *why;
    int rc = next_line(r, &line, err);

    if (rc != 1)
        return rc;
    why = parse_line(&r->last, line, row);
    return why == NULL ? 1
                       : dx_fail(err, DX_E_CORRUPT, "%s: line %" PRIu64 ": %s", r->file.name,
                                 r->line - 1, why);
}

void dx_etags_close(struct dx_etags *r)
{
    dx_zstd_decoder_free(&r->decoder);
    dx_zseek_close(&r->file);
    dx_buf_release(&r->frame);
}
