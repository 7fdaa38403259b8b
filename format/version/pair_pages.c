/* SPDX-License-Identifier: Apache-2.0 */
#include "format/version/pair_pages.h"

#include <inttypes.h>

#include "base/few_bytes.h"

enum column { ORDINALS, SIZES, BYTES };

#define FRONT_MAX 30 /* sizes of three columns as varints */

/* ---- writing ---- */

void dx_pair_pages_begin(struct dx_pair_pages *w, struct dx_cold_writer *out)
{
    *w = (struct dx_pair_pages){ .out = out };
    for (int i = 0; i < DX_PAIR_PAGE_COLUMNS; i++)
        dx_buf_init(&w->columns[i], DX_COLD_PAGE_PLAIN_MAX);
    dx_buf_init(&w->plain, DX_COLD_PAGE_PLAIN_MAX);
}

void dx_pair_pages_release(struct dx_pair_pages *w)
{
    for (int i = 0; i < DX_PAIR_PAGE_COLUMNS; i++)
        dx_buf_release(&w->columns[i]);
    dx_buf_release(&w->plain);
    *w = (struct dx_pair_pages){ .entries = 0 };
}

static size_t size_so_far(const struct dx_pair_pages *w)
{
    size_t size = FRONT_MAX;

    for (int i = 0; i < DX_PAIR_PAGE_COLUMNS; i++)
        size += w->columns[i].size;
    return size;
}

static int close_page(struct dx_pair_pages *w, struct dx_error *err)
{
    int rc;

    dx_buf_clear(&w->plain);
    for (int i = 0; i < BYTES; i++)
        dx_buf_varint(&w->plain, w->columns[i].size);
    for (int i = 0; i < DX_PAIR_PAGE_COLUMNS; i++)
        dx_buf_append(&w->plain, w->columns[i].data, w->columns[i].size);
    if (w->plain.failed)
        return dx_buf_fail(&w->plain, err, "page of pairs");
    rc = dx_cold_writer_page(w->out, w->first_ordinal, w->first_rank, w->entries,
                             dx_span_of(w->plain.data, w->plain.size), err);
    w->entries = 0;
    for (int i = 0; i < DX_PAIR_PAGE_COLUMNS; i++)
        dx_buf_clear(&w->columns[i]);
    return rc;
}

int dx_pair_pages_add(struct dx_pair_pages *w, uint64_t ordinal, uint32_t dataset_id,
                      struct dx_span bytes, struct dx_error *err)
{
    uint32_t rank = w->any && ordinal == w->last_ordinal ? w->last_rank + 1 : 0;

    if (bytes.size == 0 ||
        (w->any && (ordinal < w->last_ordinal ||
                    (ordinal == w->last_ordinal && dataset_id <= w->last_dataset_id))))
        return dx_fail(err, DX_E_INVALID, "page of pairs: (%" PRIu64 ", %" PRIu32 ") %s", ordinal,
                       dataset_id, bytes.size == 0 ? "has no bytes" : "does not ascend");
    if (w->entries > 0 && size_so_far(w) + bytes.size > DX_COLD_PAGE_PLAIN) {
        int rc = close_page(w, err);

        if (rc < 0)
            return rc;
    }
    if (w->entries == 0) {
        w->first_ordinal = w->last_ordinal = ordinal;
        w->first_rank = rank;
    }
    dx_buf_varint(&w->columns[ORDINALS], ordinal - w->last_ordinal);
    dx_buf_varint(&w->columns[SIZES], bytes.size - 1);
    dx_few_append(&w->columns[BYTES], bytes);
    for (int i = 0; i < DX_PAIR_PAGE_COLUMNS; i++)
        if (w->columns[i].failed)
            return dx_buf_fail(&w->columns[i], err, "page of pairs");
    w->any = true;
    w->entries++;
    w->last_ordinal = ordinal;
    w->last_dataset_id = dataset_id;
    w->last_rank = rank;
    return DX_OK;
}

int dx_pair_pages_end(struct dx_pair_pages *w, struct dx_error *err)
{
    return w->entries > 0 ? close_page(w, err) : DX_OK;
}

/* ---- reading ---- */

struct dx_pair_page dx_pair_page_of(const struct dx_cold_page *page, uint32_t version,
                                    struct dx_span plain)
{
    struct dx_pair_page p = { .file = page->file,
                              .number = page->number,
                              .left = page->entries,
                              .first = true,
                              .ordinal = page->key,
                              .sub = page->sub,
                              .names_datasets = version == DX_COLD_VERSION_OLD };
    struct dx_bytes r = dx_bytes_of(plain);
    uint64_t ordinals = dx_bytes_varint(&r);
    uint64_t datasets = p.names_datasets ? dx_bytes_varint(&r) : 0;
    uint64_t sizes = dx_bytes_varint(&r);

    p.columns[ORDINALS] = dx_bytes_of(dx_bytes_take(&r, ordinals));
    p.datasets = dx_bytes_of(dx_bytes_take(&r, datasets));
    p.columns[SIZES] = dx_bytes_of(dx_bytes_take(&r, sizes));
    p.columns[BYTES] = dx_bytes_of(dx_bytes_take(&r, dx_bytes_left(&r)));
    p.columns[BYTES].failed |= r.failed;
    return p;
}

static int page_corrupt(const struct dx_pair_page *p, struct dx_error *err, const char *what)
{
    return dx_fail(err, DX_E_CORRUPT, "%s, page %" PRIu32 ": %s", dx_cold_file_name(p->file),
                   p->number, what);
}

static const char *page_fault(const struct dx_pair_page *p)
{
    bool failed = p->datasets.failed;
    bool more = dx_bytes_left(&p->datasets) > 0;

    for (int i = 0; i < DX_PAIR_PAGE_COLUMNS; i++) {
        failed = failed || p->columns[i].failed;
        more = more || dx_bytes_left(&p->columns[i]) > 0;
    }
    return failed                 ? "ends inside an entry"
           : more && p->left == 0 ? "has bytes behind its last entry"
                                  : NULL;
}

/* The key of the next entry takes the place of the last one's. */
static const char *next_key(struct dx_pair_page *p)
{
    uint64_t step = dx_bytes_varint(&p->columns[ORDINALS]);
    uint64_t sub = p->names_datasets ? dx_bytes_varint(&p->datasets) : p->first ? p->sub : 0;

    if (p->first)
        return step == 0 && sub == p->sub ? NULL
                                          : "does not begin with the pair that the directory names";
    if (step > UINT64_MAX - p->ordinal || sub > UINT32_MAX)
        return "has a pair of too large numbers";
    if (step == 0)
        sub += p->sub + UINT64_C(1);
    if (sub > UINT32_MAX)
        return "has a pair of too large numbers";
    p->ordinal += step;
    p->sub = (uint32_t)sub;
    return NULL;
}

static const char *next_entry(struct dx_pair_page *p, struct dx_span *bytes)
{
    const char *why = next_key(p);
    uint64_t size = dx_bytes_varint(&p->columns[SIZES]);

    *bytes = dx_bytes_take(&p->columns[BYTES], size == UINT64_MAX ? size : size + 1);
    p->left--;
    p->first = false;
    if (why == NULL && (p->left == 0 || p->columns[ORDINALS].failed || p->datasets.failed ||
                        p->columns[SIZES].failed || p->columns[BYTES].failed))
        why = page_fault(p);
    return why;
}

int dx_pair_page_seek(struct dx_pair_page *p, uint64_t at_ordinal, uint32_t at_sub,
                      uint64_t *ordinal, uint32_t *sub, struct dx_span *bytes, struct dx_error *err)
{
    const char *why = p->left == 0 ? page_fault(p) : NULL;

    while (why == NULL && p->left > 0) {
        why = next_entry(p, bytes);
        if (why != NULL || p->ordinal < at_ordinal || (p->ordinal == at_ordinal && p->sub < at_sub))
            continue;
        *ordinal = p->ordinal;
        *sub = p->sub;
        return 1;
    }
    return why == NULL ? 0 : page_corrupt(p, err, why);
}

int dx_pair_page_next(struct dx_pair_page *p, uint64_t *ordinal, uint32_t *sub,
                      struct dx_span *bytes, struct dx_error *err)
{
    return dx_pair_page_seek(p, 0, 0, ordinal, sub, bytes, err);
}
