/* SPDX-License-Identifier: Apache-2.0
 * cold.dxp with all sums believed: a header and records of pages, around which a sound envelope is
 * put, with lists of url_ids from the end of the input where the header's last byte says so; and (first byte 'p') a
 * plain page of pairs of so many entries.
 */
#include "format/version/cold.h"
#include "format/version/pair_pages.h"
#include "format/version/url_ids.h"

#include <stdlib.h>

#define HEADER 64
#define RECORD 40

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_directory(struct dx_span file)
{
    struct dx_cold_page page;
    struct dx_cold c;

    if (dx_cold_open(&c, file, DX_OPEN_UNCHECKED, "fuzz", NULL) < 0)
        return;
    for (unsigned f = 0; f < DX_COLD_FILES; f++)
        for (uint32_t i = 0; i < 64 && dx_cold_page(&c, (enum dx_cold_file)f, i, &page, NULL) == 1;
             i++) {
            struct dx_cold_page found;

            if (page.offset + page.stored_size > c.size[f] || page.plain_size == 0 ||
                page.plain_size > DX_COLD_PAGE_PLAIN_MAX ||
                (f != DX_COLD_URL_IDS && page.entries > page.plain_size))
                abort();
            (void)dx_cold_find(&c, page.file, page.key, page.sub, &found, NULL);
        }
    for (uint32_t i = 0; i < 64 && dx_cold_page(&c, DX_COLD_URL_IDS, i, &page, NULL) == 1; i++)
        for (uint64_t id = 1; id != 0; id <<= 3)
            (void)dx_url_ids_on_page(&c, &page, id * UINT64_C(0x9E3779B97F4A7C15), NULL);
    (void)dx_url_id_list_check(&c, NULL);
    (void)dx_cold_verify(&c, NULL);
    dx_cold_close(&c);
}

/* The records go to the three sections by turns. */
static void fuzz_directory(struct dx_bytes r)
{
    static const uint32_t tags[DX_COLD_FILES] = { DX_KIND('F', 'A', 'C', 'T'),
                                                  DX_KIND('S', 'K', 'T', 'C'),
                                                  DX_KIND('U', 'I', 'D', 'S') };
    struct dx_build_id build = { { 0 } };
    struct dx_buf file = DX_BUF_INIT(8 << 20);
    struct dx_span front = dx_bytes_take(&r, HEADER);
    size_t lists = r.failed ? 0 : front.data[HEADER - 1] % 8 * 64;
    size_t left = dx_bytes_left(&r);
    size_t each;
    struct dx_envelope_writer w;
    uint8_t header[HEADER];
    int rc;

    if (r.failed)
        return;
    left -= lists < left ? lists : left;
    each = left / DX_COLD_FILES / RECORD * RECORD;
    memcpy(header, front.data, sizeof header);
    dx_store_u32(header, DX_COLD_MAGIC); /* the writer of the envelope insists on these two */
    dx_store_u32(header + 4, DX_COLD_VERSION);
    dx_envelope_writer_init(&w, DX_COLD_MAGIC, DX_COLD_VERSION, &build, dx_envelope_sink_buf,
                            &file);
    rc = dx_envelope_writer_header(&w, dx_span_of(header, sizeof header), NULL);
    for (int i = 0; i < DX_COLD_FILES && rc >= 0; i++) {
        rc = dx_envelope_writer_section(&w, tags[i], NULL);
        if (rc >= 0)
            rc = dx_envelope_writer_append(
                &w, dx_bytes_take(&r, i + 1 < DX_COLD_FILES ? each : left - 2 * each), NULL);
    }
    if (rc >= 0)
        rc = dx_envelope_writer_section(&w, DX_COLD_URL_ID_LISTS, NULL);
    if (rc >= 0)
        rc = dx_envelope_writer_append(&w, dx_bytes_take(&r, dx_bytes_left(&r)), NULL);
    if (rc >= 0 && dx_envelope_writer_finish(&w, NULL) >= 0)
        use_directory(dx_span_of(file.data, file.size));
    dx_envelope_writer_release(&w);
    dx_buf_release(&file);
}

static void fuzz_page(struct dx_bytes r)
{
    struct dx_cold_page page = { .entries = dx_bytes_u8(&r), .key = dx_bytes_u8(&r) };
    uint32_t version = page.key % 2 == 0 ? DX_COLD_VERSION : DX_COLD_VERSION_OLD;
    struct dx_span plain = dx_bytes_take(&r, dx_bytes_left(&r));
    struct dx_pair_page p = dx_pair_page_of(&page, version, plain);
    uint64_t last_ordinal = 0;
    uint32_t last_dataset_id = 0;
    uint64_t ordinal;
    uint32_t dataset_id;
    struct dx_span bytes;
    uint32_t n = 0;

    for (; dx_pair_page_next(&p, &ordinal, &dataset_id, &bytes, NULL) == 1; n++) {
        if (bytes.data < plain.data || bytes.data + bytes.size > plain.data + plain.size ||
            bytes.size == 0)
            abort();
        if (n > 0 &&
            (ordinal < last_ordinal || (ordinal == last_ordinal && dataset_id <= last_dataset_id)))
            abort();
        last_ordinal = ordinal;
        last_dataset_id = dataset_id;
    }
    if (n > page.entries)
        abort();
    if (n > 0) {
        p = dx_pair_page_of(&page, version, plain);
        if (dx_pair_page_seek(&p, last_ordinal, last_dataset_id, &ordinal, &dataset_id, &bytes,
                              NULL) != 1)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_bytes r = dx_bytes_of(dx_span_of(data, size));

    if (size > 0 && data[0] == 'p') {
        (void)dx_bytes_u8(&r);
        fuzz_page(r);
    } else {
        fuzz_directory(r);
    }
    return 0;
}
