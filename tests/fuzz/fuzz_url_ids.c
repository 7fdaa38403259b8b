/* SPDX-License-Identifier: Apache-2.0
 * A page of url_ids.dat.zst. The first 8 bytes are the key that cold.dxp says, the next 4 its
 * number of entries; what is read in order is written again as the same places, and each is found by a seek.
 */
#include "format/version/url_ids.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void again(const struct dx_url_place *places, size_t count)
{
    struct dx_buf buf = DX_BUF_INIT(64 << 20);
    struct dx_cold_page page = { .key = places[0].id, .entries = (uint32_t)count };
    uint8_t *marks = malloc(dx_url_page_marks_size((uint32_t)count) + 1);
    struct dx_url_page u;
    struct dx_url_place got;

    if (dx_url_page_encode(&buf, places, count, NULL) < 0 ||
        dx_url_page_open(&u, &page, dx_span_of(buf.data, buf.size), "fuzz", NULL) < 0)
        abort();
    for (size_t i = 0; i < count; i++)
        if (dx_url_page_next(&u, &got, NULL) != 1 || got.rows != places[i].rows ||
            dx_url_place_compare(&got, &places[i]) != 0)
            abort();
    if (dx_url_page_next(&u, &got, NULL) != 0)
        abort();
    for (size_t i = 0; i < count; i += 1 + count / 8) {
        /* the first place of the id: one before it may have it too */
        if (dx_url_page_open(&u, &page, dx_span_of(buf.data, buf.size), "fuzz", NULL) < 0 ||
            dx_url_page_mark(&u, marks, NULL) < 0)
            abort();
        dx_url_page_jump(&u, i % 2 == 0 ? marks : NULL, places[i].id);
        if (dx_url_page_seek(&u, places[i].id, NULL) < 0 || dx_url_page_next(&u, &got, NULL) != 1 ||
            got.id != places[i].id || dx_url_place_compare(&got, &places[i]) > 0)
            abort();
    }
    free(marks);
    dx_buf_release(&buf);
}

/* Marks of any bytes: whatever they say, nothing outside is read, and it ends. */
static void seek_hostile(struct dx_url_page u, uint64_t id)
{
    uint8_t *marks = malloc(dx_url_page_marks_size(u.count) + 1);
    struct dx_url_place got;
    size_t count = 0;

    if (marks == NULL)
        return;
    if (dx_url_page_mark(&u, marks, NULL) == DX_OK) {
        dx_url_page_jump(&u, marks, id);
        if (dx_url_page_seek(&u, id, NULL) == DX_OK)
            while (count < u.count && dx_url_page_next(&u, &got, NULL) == 1)
                count++;
    }
    free(marks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct dx_url_place places[4096];
    struct dx_bytes r = dx_bytes_of(dx_span_of(data, size));
    struct dx_cold_page page = { .key = dx_bytes_u64(&r), .entries = dx_bytes_u32(&r) };
    struct dx_url_page u;
    size_t count = 0;
    int rc;

    if (r.failed ||
        dx_url_page_open(&u, &page, dx_bytes_take(&r, dx_bytes_left(&r)), "fuzz", NULL) < 0)
        return 0;
    seek_hostile(u, ~page.key);
    while (count < 4096 && (rc = dx_url_page_next(&u, &places[count], NULL)) == 1)
        count++;
    if (count > 0)
        again(places, count);
    return 0;
}
