/* SPDX-License-Identifier: Apache-2.0
 * library_canon.c - the canonical form for programs: one URL, or a batch in Arrow's layout.
 */
#include "base/buf.h"
#include "base/file.h"
#include "canon/ids.h"
#include "canon/psl.h"
#include "canon/url.h"
#include "lib/domaindex.h"
#include "lib/library_error.h"
#include "lib/library_root.h"
#include "loader/version.h"

#include <stdlib.h>
#include <string.h>

struct domaindex_canon {
    struct dx_psl *psl;         /* own; NULL: the version's */
    struct dx_version *version; /* pinned; NULL: none */
    struct dx_canon *canon;
};

static int read_system_list(struct dx_buf *text, struct dx_error *err)
{
    return dx_file_read(DX_PSL_DEFAULT_PATH, DX_PSL_TEXT_MAX, text, err);
}

static int canon_new(struct domaindex_canon *c, struct dx_span list, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_PSL_TEXT_MAX);
    int rc = DX_OK;

    if (list.data == NULL) {
        rc = read_system_list(&text, err);
        list = dx_span_of(text.data, text.size);
    }
    if (rc == DX_OK)
        rc = dx_psl_new(&c->psl, list, err);
    dx_buf_release(&text);
    return rc == DX_OK ? dx_canon_new(&c->canon, c->psl, err) : rc;
}

static int finish_new(struct domaindex_canon **out, struct domaindex_canon *c, int rc,
                      const struct dx_error *why, struct domaindex_error *err)
{
    if (rc == DX_OK) {
        *out = c;
        return DOMAINDEX_OK;
    }
    domaindex_canon_free(&c);
    return dx_library_failed(err, why);
}

int domaindex_canon_new(struct domaindex_canon **out, const char *suffix_list, size_t size,
                        struct domaindex_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    struct domaindex_canon *c = calloc(1, sizeof *c);

    *out = NULL;
    if (c == NULL)
        return finish_new(out, c, dx_no_memory(&why, "canonicaliser"), &why, err);
    return finish_new(out, c, canon_new(c, dx_span_of(suffix_list, size), &why), &why, err);
}

int domaindex_canon_of(struct domaindex_root *root, struct domaindex_canon **out,
                       struct domaindex_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    struct domaindex_canon *c = calloc(1, sizeof *c);

    *out = NULL;
    if (c == NULL)
        return finish_new(out, c, dx_no_memory(&why, "canonicaliser"), &why, err);
    return finish_new(out, c, dx_library_canon(root, &c->version, &c->canon, &why), &why, err);
}

void domaindex_canon_free(struct domaindex_canon **canon)
{
    struct domaindex_canon *c = *canon;

    if (c == NULL)
        return;
    dx_canon_free(&c->canon);
    dx_psl_free(&c->psl);
    dx_version_unpin(c->version);
    free(c);
    *canon = NULL;
}

int domaindex_canon_rules(void)
{
    return DX_CANON_VERSION;
}

const char *domaindex_reject_name(int reject)
{
    if (reject < 0 || reject >= DX_REJECT_COUNT)
        return NULL;
    return reject == DX_REJECT_NONE ? "none" : dx_reject_name((enum dx_reject)reject);
}

/* ---- one ---- */

static struct domaindex_text text_of(struct dx_span s)
{
    return (struct domaindex_text){ (const char *)s.data, s.size };
}

int domaindex_canon_url(struct domaindex_canon *c, const char *text, size_t size,
                        struct domaindex_url *out, struct domaindex_error *err)
{
    enum dx_reject why = DX_REJECT_NONE;
    struct dx_url url;

    (void)err; /* nothing fails today */
    memset(out, 0, sizeof *out);
    if (dx_canon_url(c->canon, dx_span_of(text, size), &url, &why) != 1) {
        out->reject = (int)why;
        return 0;
    }
    out->url = text_of(url.url);
    out->domain = text_of(url.domain);
    out->scheme = text_of(url.scheme);
    out->host = text_of(url.host);
    out->path_query = text_of(url.path_query);
    out->domain_id = dx_domain_id(url.domain);
    out->url_id = dx_url_id(url.url);
    return 1;
}

/* ---- many ---- */

struct column {
    int32_t *offset;
    struct dx_buf data;
};

struct domaindex_batch {
    size_t count;
    size_t rejected;
    struct column columns[DOMAINDEX_COLUMNS];
    uint64_t *domain_ids;
    uint64_t *url_ids;
    uint8_t *rejects;
};

static int batch_new(struct domaindex_batch **out, size_t count, struct dx_error *err)
{
    struct domaindex_batch *b = calloc(1, sizeof *b);
    bool ok = b != NULL;

    *out = b;
    if (ok) {
        b->count = count;
        b->domain_ids = calloc(count + 1, sizeof *b->domain_ids);
        b->url_ids = calloc(count + 1, sizeof *b->url_ids);
        b->rejects = calloc(count + 1, 1);
        ok = b->domain_ids != NULL && b->url_ids != NULL && b->rejects != NULL;
    }
    for (int i = 0; ok && i < DOMAINDEX_COLUMNS; i++) {
        dx_buf_init(&b->columns[i].data, INT32_MAX);
        b->columns[i].offset = calloc(count + 1, sizeof *b->columns[i].offset);
        ok = b->columns[i].offset != NULL;
    }
    return ok ? DX_OK : dx_no_memory(err, "%zu URLs", count);
}

void domaindex_batch_free(struct domaindex_batch **batch)
{
    struct domaindex_batch *b = *batch;

    if (b == NULL)
        return;
    for (int i = 0; i < DOMAINDEX_COLUMNS; i++) {
        free(b->columns[i].offset);
        dx_buf_release(&b->columns[i].data);
    }
    free(b->domain_ids);
    free(b->url_ids);
    free(b->rejects);
    free(b);
    *batch = NULL;
}

static int check_offsets(const struct domaindex_strings *s, struct dx_error *err)
{
    if (s->count > INT32_MAX)
        return dx_fail(err, DX_E_LIMIT, "%zu texts in one batch", s->count);
    for (size_t i = 0; i <= s->count; i++)
        if (s->offset[i] < (i == 0 ? 0 : s->offset[i - 1]) || (size_t)s->offset[i] > s->data_size)
            return dx_fail(err, DX_E_INVALID, "offset %zu is %d: not ascending, or over %zu bytes",
                           i, (int)s->offset[i], s->data_size);
    return DX_OK;
}

static void put_row(struct domaindex_batch *b, size_t i, const struct dx_url *url)
{
    const struct dx_span values[DOMAINDEX_COLUMNS] = {
        [DOMAINDEX_URL] = url->url,
        [DOMAINDEX_DOMAIN] = url->domain,
        [DOMAINDEX_SCHEME] = url->scheme,
        [DOMAINDEX_HOST] = url->host,
        [DOMAINDEX_PATH_QUERY] = url->path_query,
    };

    for (int k = 0; k < DOMAINDEX_COLUMNS; k++)
        dx_buf_append(&b->columns[k].data, values[k].data, values[k].size);
    b->domain_ids[i] = dx_domain_id(url->domain);
    b->url_ids[i] = dx_url_id(url->url);
}

static int fill_batch(struct domaindex_batch *b, struct dx_canon *canon,
                      const struct domaindex_strings *s, struct dx_error *err)
{
    for (size_t i = 0; i < b->count; i++) {
        const struct dx_span raw = dx_span_of(s->data + s->offset[i],
                                              (size_t)(s->offset[i + 1] - s->offset[i]));
        enum dx_reject why = DX_REJECT_NONE;
        struct dx_url url;

        if (dx_canon_url(canon, raw, &url, &why) == 1)
            put_row(b, i, &url);
        b->rejects[i] = (uint8_t)why;
        b->rejected += why != DX_REJECT_NONE;
        for (int k = 0; k < DOMAINDEX_COLUMNS; k++)
            b->columns[k].offset[i + 1] = (int32_t)b->columns[k].data.size;
    }
    for (int k = 0; k < DOMAINDEX_COLUMNS; k++)
        if (b->columns[k].data.failed)
            return dx_buf_fail(&b->columns[k].data, err, "a column of canonical URLs");
    return DX_OK;
}

int domaindex_canon_batch(struct domaindex_canon *canon, const struct domaindex_strings *texts,
                          struct domaindex_batch **out, struct domaindex_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    struct domaindex_batch *b = NULL;
    int rc = check_offsets(texts, &why);

    *out = NULL;
    if (rc == DX_OK)
        rc = batch_new(&b, texts->count, &why);
    if (rc == DX_OK)
        rc = fill_batch(b, canon->canon, texts, &why);
    if (rc < 0) {
        domaindex_batch_free(&b);
        return dx_library_failed(err, &why);
    }
    *out = b;
    return DOMAINDEX_OK;
}

size_t domaindex_batch_count(const struct domaindex_batch *b)
{
    return b->count;
}

size_t domaindex_batch_rejected(const struct domaindex_batch *b)
{
    return b->rejected;
}

int domaindex_batch_strings(const struct domaindex_batch *b, int column,
                            struct domaindex_strings *strings)
{
    if (column < 0 || column >= DOMAINDEX_COLUMNS)
        return DOMAINDEX_E_INVALID;
    *strings = (struct domaindex_strings){ .count = b->count,
                                           .offset = b->columns[column].offset,
                                           .data = (const char *)b->columns[column].data.data,
                                           .data_size = b->columns[column].data.size };
    return DOMAINDEX_OK;
}

const uint64_t *domaindex_batch_domain_ids(const struct domaindex_batch *b)
{
    return b->domain_ids;
}

const uint64_t *domaindex_batch_url_ids(const struct domaindex_batch *b)
{
    return b->url_ids;
}

const uint8_t *domaindex_batch_rejects(const struct domaindex_batch *b)
{
    return b->rejects;
}
