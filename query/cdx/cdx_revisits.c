/* SPDX-License-Identifier: Apache-2.0 */
#include "query/cdx/cdx_revisits.h"

#include "base/hash.h"

#include <stdlib.h>

static const enum dx_cdx_column kept[] = { DX_CDX_DIGEST, DX_CDX_MIME,   DX_CDX_STATUS,
                                           DX_CDX_LENGTH, DX_CDX_OFFSET, DX_CDX_FILENAME };
#define KEPT (sizeof kept / sizeof *kept)

void dx_cdx_revisits_init(struct dx_cdx_revisits *r, const struct dx_cdx_ask *ask)
{
    *r = (struct dx_cdx_revisits){ .blanks = ask->dialect == DX_CDX_PYWB };
    dx_buf_init(&r->text, DX_CDX_REVISITS_BYTES);
}

void dx_cdx_revisits_release(struct dx_cdx_revisits *r)
{
    dx_buf_release(&r->text);
    free(r->slots);
    r->slots = NULL;
    r->slot_count = r->count = 0;
}

static void values_at(const struct dx_cdx_revisits *r, uint64_t at, struct dx_span values[KEPT])
{
    const uint8_t *p = r->text.data + at + KEPT * sizeof(uint32_t);
    uint32_t size;

    for (size_t i = 0; i < KEPT; i++) {
        memcpy(&size, r->text.data + at + i * sizeof size, sizeof size);
        values[i] = dx_span_of(size == 0 ? NULL : p, size);
        p += size;
    }
}

/* Where the digest is, or would be. */
static size_t slot_of(const struct dx_cdx_revisits *r, struct dx_span digest)
{
    size_t i = dx_hash64(digest) & (r->slot_count - 1);
    struct dx_span values[KEPT];

    for (;; i = (i + 1) & (r->slot_count - 1)) {
        if (r->slots[i] == 0)
            return i;
        values_at(r, r->slots[i] - 1, values);
        if (dx_span_equal(values[0], digest))
            return i;
    }
}

static int grow_slots(struct dx_cdx_revisits *r, struct dx_error *err)
{
    struct dx_cdx_revisits more = *r;

    more.slot_count = r->slot_count == 0 ? 64 : r->slot_count * 2;
    more.slots = calloc(more.slot_count, sizeof *more.slots);
    if (more.slots == NULL)
        return dx_no_memory(err, "digests of a CDX answer");
    for (size_t i = 0; i < r->slot_count; i++) {
        struct dx_span values[KEPT];

        if (r->slots[i] == 0)
            continue;
        values_at(r, r->slots[i] - 1, values);
        more.slots[slot_of(&more, values[0])] = r->slots[i];
    }
    free(r->slots);
    *r = more;
    return DX_OK;
}

static int keep_values(struct dx_cdx_revisits *r, size_t slot, const struct dx_span *columns,
                       struct dx_error *err)
{
    size_t at = r->text.size;

    for (size_t i = 0; i < KEPT; i++) {
        uint32_t size = (uint32_t)columns[kept[i]].size;

        dx_buf_append(&r->text, &size, sizeof size);
    }
    for (size_t i = 0; i < KEPT; i++)
        dx_buf_append(&r->text, columns[kept[i]].data, columns[kept[i]].size);
    if (r->text.failed)
        return dx_buf_fail(&r->text, err, "digests of a CDX answer");
    r->slots[slot] = at + 1;
    r->count++;
    return DX_OK;
}

static struct dx_span or_dash(struct dx_span value)
{
    return value.data == NULL ? dx_span_str("-") : value;
}

static struct dx_span or_blank(const struct dx_cdx_revisits *r, struct dx_span value)
{
    return value.data == NULL && r->blanks ? dx_span_str("") : value;
}

static void resolve(const struct dx_cdx_revisits *r, size_t slot, struct dx_span *columns)
{
    struct dx_span values[KEPT];

    values_at(r, r->slots[slot] - 1, values);
    if (columns[DX_CDX_MIME].data != NULL)
        columns[DX_CDX_MIME] = or_blank(r, values[1]);
    if (columns[DX_CDX_STATUS].data != NULL)
        columns[DX_CDX_STATUS] = or_blank(r, values[2]);
    columns[DX_CDX_ORIG_LENGTH] = or_dash(values[3]);
    columns[DX_CDX_ORIG_OFFSET] = or_dash(values[4]);
    columns[DX_CDX_ORIG_FILENAME] = or_dash(values[5]);
}

int dx_cdx_revisits_row(struct dx_cdx_revisits *r, struct dx_span *columns, struct dx_error *err)
{
    bool revisit = dx_span_equal(columns[DX_CDX_MIME], dx_span_str("warc/revisit"));
    size_t slot;
    int rc = DX_OK;

    for (unsigned c = DX_CDX_ORIG_LENGTH; c <= DX_CDX_ORIG_FILENAME; c++)
        columns[c] = dx_span_str("-");
    if (columns[DX_CDX_DIGEST].data == NULL ||
        dx_span_equal(columns[DX_CDX_DIGEST], dx_span_str("-")))
        return DX_OK;
    if (r->count * 2 >= r->slot_count)
        rc = grow_slots(r, err);
    if (rc < 0)
        return rc;
    slot = slot_of(r, columns[DX_CDX_DIGEST]);
    if (revisit && r->slots[slot] != 0)
        resolve(r, slot, columns);
    if (!revisit && r->slots[slot] == 0)
        rc = keep_values(r, slot, columns, err);
    return rc;
}
