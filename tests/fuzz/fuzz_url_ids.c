/* SPDX-License-Identifier: Apache-2.0
 * A page of url_ids.dat.zst and its list of ids. The first byte says of which version of cold.dxp it is, the next 8
 * are the key that cold.dxp says, the next 4 its number of entries, then 2 the size of the section UIDX, which comes
 * next. What is read in order is written again as the same places, and each is found by its id.
 */
#include "format/version/url_ids.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PLACES 4096

/* A sound directory with this section and no pages. */
static void make_cold(struct dx_buf *file, struct dx_span lists, struct dx_cold *c)
{
    struct dx_build_id build = { { 0 } };
    struct dx_envelope_writer w;
    uint8_t header[64] = { 0 };
    static const uint32_t tags[] = { DX_KIND('F', 'A', 'C', 'T'), DX_KIND('S', 'K', 'T', 'C'),
                                     DX_KIND('U', 'I', 'D', 'S') };

    dx_store_u32(header, DX_COLD_MAGIC);
    dx_store_u32(header + 4, DX_COLD_VERSION);
    dx_store_u32(header + 8, DX_COLD_FILES);
    dx_store_u32(header + 12, 40);
    dx_envelope_writer_init(&w, DX_COLD_MAGIC, DX_COLD_VERSION, &build, dx_envelope_sink_buf, file);
    if (dx_envelope_writer_header(&w, dx_span_of(header, sizeof header), NULL) < 0)
        abort();
    for (unsigned i = 0; i < DX_COLD_FILES; i++)
        if (dx_envelope_writer_section(&w, tags[i], NULL) < 0)
            abort();
    if (dx_envelope_writer_section(&w, DX_COLD_URL_ID_LISTS, NULL) < 0 ||
        dx_envelope_writer_append(&w, lists, NULL) < 0 || dx_envelope_writer_finish(&w, NULL) < 0 ||
        dx_cold_open(c, dx_span_of(file->data, file->size), 0, "fuzz", NULL) < 0)
        abort();
    dx_envelope_writer_release(&w);
}

static void check_one(const struct dx_cold *c, const struct dx_cold_page *page,
                      const struct dx_buf *plain, const struct dx_url_place *place)
{
    struct dx_url_page u;
    struct dx_url_place got;
    bool found = false;

    if (dx_url_ids_on_page(c, page, place->id, NULL) != 1 ||
        dx_url_page_open(&u, c, page, dx_span_of(plain->data, plain->size), "fuzz", NULL) < 0 ||
        dx_url_page_only(&u, place->id, NULL) < 0)
        abort();
    while (dx_url_page_next(&u, &got, NULL) == 1) {
        if (got.id != place->id)
            abort();
        found = found || (got.rows == place->rows && dx_url_place_compare(&got, place) == 0);
    }
    if (!found)
        abort();
}

static void again(const struct dx_url_place *places, size_t count)
{
    struct dx_buf plain = DX_BUF_INIT(64 << 20);
    struct dx_buf lists = DX_BUF_INIT(64 << 20);
    struct dx_buf file = DX_BUF_INIT(64 << 20);
    struct dx_cold_page page = { .entries = (uint32_t)count };
    struct dx_url_page u;
    struct dx_url_place got;
    struct dx_cold c;

    if (dx_url_page_encode(&plain, &lists, &page.key, places, count, NULL) < 0)
        abort();
    make_cold(&file, dx_span_of(lists.data, lists.size), &c);
    if (dx_url_page_open(&u, &c, &page, dx_span_of(plain.data, plain.size), "fuzz", NULL) < 0)
        abort();
    for (size_t i = 0; i < count; i++)
        if (dx_url_page_next(&u, &got, NULL) != 1 || got.rows != places[i].rows ||
            dx_url_place_compare(&got, &places[i]) != 0)
            abort();
    if (dx_url_page_next(&u, &got, NULL) != 0)
        abort();
    for (size_t i = 0; i < count; i += 1 + count / 8)
        check_one(&c, &page, &plain, &places[i]);
    dx_cold_close(&c);
    dx_buf_release(&file);
    dx_buf_release(&lists);
    dx_buf_release(&plain);
}

static void read_only(struct dx_url_page u, uint64_t id)
{
    struct dx_url_place got;
    size_t count = 0;

    if (dx_url_page_only(&u, id, NULL) >= 0)
        while (dx_url_page_next(&u, &got, NULL) == 1)
            if (++count > u.count)
                abort();
}

/* Those of an old page are written as they are kept now, if these are in order. */
static void read_all(struct dx_url_page *u, bool is_exact)
{
    static struct dx_url_place places[PLACES];
    size_t count = 0;
    bool ordered = true;
    bool small = true;

    while (count < PLACES && dx_url_page_next(u, &places[count], NULL) == 1) {
        struct dx_url_place *p = &places[count];

        p->id = dx_url_id_kept(p->id);
        small = small && p->rows <= UINT64_C(1) << 62;
        if (is_exact)
            dx_url_place_widen(p, false);
        ordered = ordered && (count == 0 || dx_url_place_compare(&places[count - 1], p) <= 0);
        count++;
    }
    if (count > u->count || (!ordered && !is_exact))
        abort();
    if (count > 0 && ordered && small)
        again(places, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_bytes r = dx_bytes_of(dx_span_of(data, size));
    bool is_old = dx_bytes_u8(&r) % 2 == 1;
    struct dx_cold_page page = { .key = dx_bytes_u64(&r), .entries = dx_bytes_u32(&r) };
    struct dx_span lists = dx_bytes_take(&r, dx_bytes_u16(&r));
    struct dx_buf file = DX_BUF_INIT(1 << 20);
    struct dx_url_page u;
    struct dx_cold c;

    if (r.failed)
        return 0;
    make_cold(&file, lists, &c);
    c.envelope.version = is_old ? DX_COLD_VERSION_OLD : DX_COLD_VERSION;
    (void)dx_url_ids_on_page(&c, &page, ~page.key, NULL);
    if (dx_url_page_open(&u, &c, &page, dx_bytes_take(&r, dx_bytes_left(&r)), "fuzz", NULL) >= 0) {
        read_only(u, page.key);
        read_only(u, page.key + (UINT64_C(1) << 36));
        read_all(&u, is_old);
    }
    dx_cold_close(&c);
    dx_buf_release(&file);
    return 0;
}
