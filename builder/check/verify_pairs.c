/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/check/verify_pairs.h"

#include <assert.h>

#include "builder/check/verify.h"
#include "loader/version.h"

int dx_verify_pairs_open(struct dx_verify_pairs *p, const struct dx_verify *w,
                         enum dx_cold_file file, struct dx_error *why)
{
    *p = (struct dx_verify_pairs){ .cold = &w->part->cold, .file = file, .map = DX_MAP_INIT };
    dx_buf_init(&p->plain, DX_COLD_PAGE_PLAIN_MAX);
    p->decoder = dx_zstd_decoder_new();
    return p->decoder == NULL ? dx_no_memory(why, "verify")
                              : dx_verify_map(w, dx_cold_file_name(file), &p->map, why);
}

void dx_verify_pairs_close(struct dx_verify_pairs *p)
{
    dx_zstd_decoder_free(&p->decoder);
    dx_buf_release(&p->plain);
    dx_map_close(&p->map);
    *p = (struct dx_verify_pairs){ .map = DX_MAP_INIT };
}

int dx_verify_pairs_page(struct dx_verify_pairs *p, struct dx_cold_page *page,
                         struct dx_span *plain, struct dx_error *why)
{
    struct dx_span stored;
    uint8_t *to;
    int rc = dx_cold_page(p->cold, p->file, p->next, page, why);

    if (rc != 1)
        return rc;
    if (!dx_span_slice(p->map.bytes, page->offset, page->stored_size, &stored))
        return dx_fail(why, DX_E_CORRUPT, "%s: page %u lies outside of the file",
                       dx_cold_file_name(p->file), (unsigned)page->number);
    dx_buf_clear(&p->plain);
    to = dx_buf_reserve(&p->plain, page->plain_size);
    if (to == NULL)
        return dx_buf_fail(&p->plain, why, dx_cold_file_name(p->file));
    rc = dx_cold_decode(p->cold, page, p->decoder, 0, stored, to, why);
    if (rc < 0)
        return rc;
    p->next++;
    *plain = dx_span_of(to, page->plain_size);
    return 1;
}

/* 1, or 0 behind the last entry. */
static int next_entry(struct dx_verify_pairs *p, uint64_t *ordinal, uint32_t *sub,
                      struct dx_span *bytes, struct dx_error *why)
{
    int rc = 0;

    for (;;) {
        struct dx_cold_page page;
        struct dx_span plain;

        if (p->in_page)
            rc = dx_pair_page_next(&p->at, ordinal, sub, bytes, why);
        if (rc != 0)
            return rc;
        rc = dx_verify_pairs_page(p, &page, &plain, why);
        p->in_page = rc == 1;
        if (rc != 1)
            return rc;
        p->at = dx_pair_page_of(&page, dx_cold_version(p->cold), plain);
    }
}

int dx_verify_pairs_take(struct dx_verify_pairs *p, uint64_t ordinal, uint32_t dataset_id,
                         struct dx_span *bytes, struct dx_error *why)
{
    uint64_t found_ordinal = 0;
    uint32_t found = 0;
    uint32_t sub;
    int rc;

    assert(!p->any || ordinal >= p->ordinal); /* domains ascend */
    p->rank = p->any && p->ordinal == ordinal ? p->rank + 1 : 0;
    p->ordinal = ordinal;
    p->any = true;
    sub = dx_pair_sub(dx_cold_version(p->cold), dataset_id, p->rank);
    do
        rc = next_entry(p, &found_ordinal, &found, bytes, why);
    while (rc == 1 && p->skip && found_ordinal < ordinal);
    if (rc == 1 && found_ordinal == ordinal && found == sub)
        return DX_OK;
    if (rc < 0)
        return rc;
    return dx_fail(why, DX_E_CORRUPT,
                   "%s: %s (%llu, %u) where domain %llu in dataset %u, (%llu, %u), comes next",
                   dx_cold_file_name(p->file), rc == 0 ? "nothing" : "the entry of pair",
                   (unsigned long long)found_ordinal, (unsigned)found, (unsigned long long)ordinal,
                   (unsigned)dataset_id, (unsigned long long)ordinal, (unsigned)sub);
}

int dx_verify_pairs_end(struct dx_verify_pairs *p, struct dx_error *why)
{
    struct dx_span bytes;
    uint64_t ordinal;
    uint32_t sub;
    int rc = next_entry(p, &ordinal, &sub, &bytes, why);

    return rc == 1
               ? dx_fail(why, DX_E_CORRUPT, "%s: an entry of pair (%llu, %u) behind the last pair",
                         dx_cold_file_name(p->file), (unsigned long long)ordinal, (unsigned)sub)
               : rc;
}
