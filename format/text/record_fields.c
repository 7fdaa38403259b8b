/* SPDX-License-Identifier: Apache-2.0 */
#include "format/text/record_fields.h"

size_t dx_fields_tsv(struct dx_span record, struct dx_span *field, size_t max)
{
    const uint8_t *p = record.data;
    const uint8_t *end = record.data + record.size;
    size_t n = 0;

    while (n < max) {
        const uint8_t *tab = p == end ? NULL : memchr(p, '\t', (size_t)(end - p));

        field[n++] = dx_span_of(p, (size_t)((tab == NULL ? end : tab) - p));
        if (tab == NULL)
            break;
        p = tab + 1;
    }
    return n;
}

/* The quoted field at *at (its opening quote); leaves *at behind the closing one. */
static bool read_quoted(const uint8_t **at, const uint8_t *end, struct dx_buf *scratch,
                        struct dx_span *field)
{
    const uint8_t *from = *at + 1;
    const uint8_t *p = from;
    uint8_t *to = NULL;
    size_t size = 0;

    for (;; p++) {
        const uint8_t *quote = p == end ? NULL : memchr(p, '"', (size_t)(end - p));

        if (quote == NULL)
            return false;
        if (to != NULL)
            memcpy(to + size, p, (size_t)(quote - p));
        size += (size_t)(quote - p);
        p = quote + 1;
        if (p == end || *p != '"')
            break;
        if (to == NULL) {
            /* Reserved once by the caller for the whole record, so it does not move. */
            to = scratch->data + scratch->size;
            memcpy(to, from, size);
        }
        to[size++] = '"';
    }
    if (to != NULL)
        scratch->size += size;
    *field = dx_span_of(to != NULL ? to : from, size);
    *at = p;
    return true;
}

size_t dx_fields_csv(struct dx_span record, struct dx_span *field, size_t max,
                     struct dx_buf *scratch, bool *ok)
{
    const uint8_t *p = record.data;
    const uint8_t *end = record.data + record.size;
    size_t n = 0;

    *ok = true;
    dx_buf_clear(scratch);
    if (record.size > 0 && memchr(record.data, '"', record.size) != NULL &&
        dx_buf_reserve(scratch, record.size) == NULL) {
        *ok = false;
        return 0;
    }
    while (n < max) {
        if (p < end && *p == '"') {
            if (!read_quoted(&p, end, scratch, &field[n]) || (p < end && *p != ',')) {
                *ok = false;
                return n;
            }
            n++;
        } else {
            const uint8_t *comma = p == end ? NULL : memchr(p, ',', (size_t)(end - p));

            field[n++] = dx_span_of(p, (size_t)((comma == NULL ? end : comma) - p));
            p = comma == NULL ? end : comma;
        }
        if (p == end)
            break;
        p++;
    }
    return n;
}
