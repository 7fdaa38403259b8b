/* SPDX-License-Identifier: Apache-2.0 */
#include "format/version/pair_pages.h"

#include <inttypes.h>

enum column { ORDINALS, DATASETS, SIZES, BYTES };

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
    rc = dx_cold_writer_page(w->out, w->first_ordinal, w->first_dataset_id, w->entries,
                             dx_span_of(w->plain.data, w->plain.size), err);
    w->entries = 0;
    for (int i = 0; i < DX_PAIR_PAGE_COLUMNS; i++)
        dx_buf_clear(&w->columns[i]);
    return rc;
}

int dx_pair_pages_add(struct dx_pair_pages *w, uint64_t ordinal, uint32_t dataset_id,
                      struct dx_span bytes, struct dx_error *err)
{
    bool again;

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
        w->first_dataset_id = dataset_id;
    }
    again = w->entries > 0 && ordinal == w->last_ordinal;
    dx_buf_varint(&w->columns[ORDINALS], ordinal - w->last_ordinal);
    dx_buf_varint(&w->columns[DATASETS], again ? dataset_id - w->last_dataset_id - 1 : dataset_id);
    dx_buf_varint(&w->columns[SIZES], bytes.size - 1);
    dx_buf_append(&w->columns[BYTES], bytes.data, bytes.size);
    for (int i = 0; i < DX_PAIR_PAGE_COLUMNS; i++)
        if (w->columns[i].failed)
            return dx_buf_fail(&w->columns[i], err, "page of pairs");
    w->any = true;
    w->entries++;
    w->last_ordinal = ordinal;
    w->last_dataset_id = dataset_id;
    return DX_OK;
}

int dx_pair_pages_end(struct dx_pair_pages *w, struct dx_error *err)
{
    return w->entries > 0 ? close_page(w, err) : DX_OK;
}

/* ---- reading ---- */

struct dx_pair_page dx_pair_page_of(const struct dx_cold_page *page, struct dx_span plain)
{
    struct dx_pair_page p = { .file = page->file,
                              .number = page->number,
                              .left = page->entries,
                              .first = true,
                              .ordinal = page->key,
                              .dataset_id = page->sub };
    struct dx_bytes r = dx_bytes_of(plain);
    uint64_t sizes[BYTES];

    for (int i = 0; i < BYTES; i++)
        sizes[i] = dx_bytes_varint(&r);
    for (int i = 0; i < BYTES; i++)
        p.columns[i] = dx_bytes_of(dx_bytes_take(&r, sizes[i]));
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
    for (int i = 0; i < DX_PAIR_PAGE_COLUMNS; i++)
        if (p->columns[i].failed)
            return "ends inside an entry";
    for (int i = 0; p->left == 0 && i < DX_PAIR_PAGE_COLUMNS; i++)
        if (dx_bytes_left(&p->columns[i]) > 0)
            return "has bytes behind its last entry";
    return NULL;
}

/* The key of the next entry takes the place of the last one's. */
static const char *next_key(struct dx_pair_page *p)
{
    uint64_t step = dx_bytes_varint(&p->columns[ORDINALS]);
    uint64_t dataset_id = dx_bytes_varint(&p->columns[DATASETS]);

    if (p->first)
        return step == 0 && dataset_id == p->dataset_id
                   ? NULL
                   : "does not begin with the pair that the directory names";
    if (step > UINT64_MAX - p->ordinal || dataset_id > UINT32_MAX)
        return "has a pair of too large numbers";
    if (step == 0)
        dataset_id += p->dataset_id + UINT64_C(1);
    if (dataset_id > UINT32_MAX)
        return "has a pair of too large numbers";
    p->ordinal += step;
    p->dataset_id = (uint32_t)dataset_id;
    return NULL;
}

static const char *next_entry(struct dx_pair_page *p, struct dx_span *bytes)
{
    const char *why = next_key(p);
    uint64_t size = dx_bytes_varint(&p->columns[SIZES]);

    *bytes = dx_bytes_take(&p->columns[BYTES], size == UINT64_MAX ? size : size + 1);
    p->left--;
    p->first = false;
    if (why == NULL &&
        (p->left == 0 || p->columns[ORDINALS].failed || p->columns[DATASETS].failed ||
         p->columns[SIZES].failed || p->columns[BYTES].failed))
        why = page_fault(p);
    return why;
}

int dx_pair_page_seek(struct dx_pair_page *p, uint64_t at_ordinal, uint32_t at_dataset_id,
                      uint64_t *ordinal, uint32_t *dataset_id, struct dx_span *bytes,
                      struct dx_error *err)
{
    const char *why = p->left == 0 ? page_fault(p) : NULL;

    while (why == NULL && p->left > 0) {
        why = next_entry(p, bytes);
        if (why != NULL || p->ordinal < at_ordinal ||
            (p->ordinal == at_ordinal && p->dataset_id < at_dataset_id))
            continue;
        *ordinal = p->ordinal;
        *dataset_id = p->dataset_id;
        return 1;
    }
    return why == NULL ? 0 : page_corrupt(p, err, why);
}

int dx_pair_page_next(struct dx_pair_page *p, uint64_t *ordinal, uint32_t *dataset_id,
                      struct dx_span *bytes, struct dx_error *err)
{
    return dx_pair_page_seek(p, 0, 0, ordinal, dataset_id, bytes, err);
}

int dx_pair_page_find(const struct dx_cold_page *page, struct dx_span plain, uint64_t ordinal,
                      uint32_t dataset_id, struct dx_span *bytes, struct dx_error *err)
{
    struct dx_pair_page p = dx_pair_page_of(page, plain);
    uint64_t o;
    uint32_t d;
    int rc = dx_pair_page_seek(&p, ordinal, dataset_id, &o, &d, bytes, err);

    return rc == 1 ? o == ordinal && d == dataset_id : rc;
}
