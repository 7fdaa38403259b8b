/* SPDX-License-Identifier: Apache-2.0
 * Postings with all sums believed. The first byte chooses what the rest is: a posting list, an
 * idx page as it is in the file, an idx page before it is compressed, a dat page, or header and
 * page records of a directory (around which a sound envelope is put).
 */
#include "format/version/postings.h"

#include <zstd.h>

#include <stdlib.h>

#define PLAIN_MAX (3u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct dx_zstd_decoder *decoder;

static void fuzz_payload(struct dx_span s)
{
    struct dx_payload p;
    struct dx_run run;
    uint64_t rows = 0;
    uint64_t runs = 0;

    if (dx_payload_open(&p, &(struct dx_payload_owner){ 1, 1, s.size > 0 ? s.data[0] : 0 }, s,
                        "fuzz", NULL) < 0)
        return;
    for (; dx_payload_next(&p, &run) == 1; runs++) {
        if (run.row_count == 0 || run.first_row > UINT64_MAX - run.row_count)
            abort();
        rows += run.row_count;
    }
    if (rows != p.rows || runs != p.runs)
        abort();
}

static void fuzz_idx(struct dx_span compressed, struct dx_postings_page *page)
{
    static uint8_t plain[DX_POSTINGS_IDX_PLAIN_MAX];
    struct dx_span whole = dx_span_of(plain, page->idx_plain);
    struct dx_posting posting;
    struct dx_posting found;

    page->idx_size = (uint32_t)compressed.size;
    if (dx_postings_idx_decode(page, decoder, DX_OPEN_UNCHECKED, compressed, plain, NULL) < 0)
        return;
    for (uint32_t i = 0; dx_postings_entry_at(page, whole, i, &posting, NULL) == 1; i++)
        if ((uint64_t)posting.payload_offset + posting.payload_size > page->dat_plain ||
            dx_postings_entry_find(page, whole, posting.place, &found, NULL) != 1 ||
            found.payload_offset != posting.payload_offset)
            abort();
}

/* number, dat_plain, then the plain page; the directory says what its first entry says. */
static void fuzz_plain_idx(bool by_ids, struct dx_bytes r)
{
    struct dx_postings_page page = { .number = dx_bytes_u8(&r) & 1u, .by_ids = by_ids };
    uint8_t compressed[ZSTD_COMPRESSBOUND(DX_POSTINGS_IDX_PACKED_MAX)];
    struct dx_buf whole = DX_BUF_INIT(DX_POSTINGS_IDX_PACKED_MAX);
    struct dx_posting first = { 0 };
    struct dx_span plain;
    uint64_t entries;
    bool peeked;
    ZSTD_CCtx *c;
    size_t n;

    page.dat_plain = dx_bytes_u32(&r) % DX_POSTINGS_PAGE_BYTES;
    plain = dx_bytes_take(&r, dx_bytes_left(&r));
    if (r.failed || plain.size < 2)
        return;
    page.entries = dx_load_u16(plain.data);
    page.pairs = page.entries;
    dx_buf_u32(&whole, DX_KIND('P', 'D', 'X', '1'));
    dx_buf_u32(&whole, by_ids ? 2 : 3);
    dx_buf_u64(&whole, page.entries);
    dx_buf_append(&whole, plain.data, plain.size);
    if (page.entries <= DX_POSTINGS_PAGE_ENTRIES && !whole.failed &&
        dx_postings_idx_peek(dx_span_of(whole.data, whole.size), &entries, &peeked, &first, 1,
                             NULL) == 1) {
        if (page.number == 0)
            plain = dx_span_of(whole.data, whole.size);
        page.idx_packed = (uint32_t)plain.size;
        page.idx_plain = page.entries * DX_POSTINGS_ENTRY;
        page.first = first.place;
        c = ZSTD_createCCtx();
        if (c == NULL)
            abort();
        (void)ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
        n = ZSTD_compress2(c, compressed, sizeof compressed, plain.data, plain.size);
        (void)ZSTD_freeCCtx(c);
        if (ZSTD_isError(n) == 0)
            fuzz_idx(dx_span_of(compressed, n), &page);
    }
    dx_buf_release(&whole);
}

static void fuzz_dat(struct dx_bytes r)
{
    struct dx_postings_page page = { .dat_plain = dx_bytes_u32(&r) % PLAIN_MAX };
    struct dx_posting posting = { .payload_offset = dx_bytes_u32(&r),
                                  .payload_size = dx_bytes_u32(&r) };
    struct dx_span compressed = dx_bytes_take(&r, dx_bytes_left(&r));
    struct dx_span payload;
    uint8_t *plain = malloc(page.dat_plain + 1u);

    page.dat_size = (uint32_t)compressed.size;
    if (!r.failed && plain != NULL &&
        dx_postings_dat_decode(&page, decoder, DX_OPEN_UNCHECKED, compressed, plain, NULL) >= 0 &&
        dx_postings_payload(&page, dx_span_of(plain, page.dat_plain), &posting, &payload, NULL) >=
            0)
        fuzz_payload(payload);
    free(plain);
}

static void use_directory(struct dx_span file)
{
    struct dx_postings p;
    struct dx_postings_page page;
    uint32_t file_id;

    if (dx_postings_open(&p, file, DX_OPEN_UNCHECKED, "fuzz", NULL) < 0)
        return;
    for (uint64_t i = 0; i < p.totals.pages && i < 64; i++)
        if (dx_postings_page_at(&p, i, &page, NULL) == 1) {
            if (page.idx_offset + page.idx_size > p.totals.idx_size ||
                page.dat_offset + page.dat_size > p.totals.dat_size)
                abort();
            (void)dx_postings_page_find(
                &p, (struct dx_pair_place){ page.first.domain + i, page.first.dataset }, &page,
                NULL);
        }
    for (uint32_t i = 0; i < 4; i++)
        (void)dx_postings_first_file(&p, i * i, &file_id, NULL);
    dx_postings_close(&p);
}

/* The header, first files of so many datasets as it says, page records. */
static void fuzz_directory(uint32_t version, struct dx_bytes r)
{
    struct dx_build_id build = { { 0 } };
    struct dx_buf file = DX_BUF_INIT(8 << 20);
    struct dx_span front = dx_bytes_take(&r, 64);
    struct dx_span files = { NULL, 0 };
    struct dx_envelope_writer w;
    uint8_t header[64];

    if (r.failed)
        return;
    memcpy(header, front.data, sizeof header);
    if (version != DX_POSTINGS_VERSION_OLD && dx_load_u32(header + 12) <= dx_bytes_left(&r) / 8)
        files = dx_bytes_take(&r, (size_t)8 * dx_load_u32(header + 12));
    dx_store_u32(header, DX_POSTINGS_MAGIC); /* the writer of the envelope insists on these two */
    dx_store_u32(header + 4, version);
    dx_envelope_writer_init(&w, DX_POSTINGS_MAGIC, version, &build, dx_envelope_sink_buf, &file);
    if (dx_envelope_writer_header(&w, dx_span_of(header, sizeof header), NULL) >= 0 &&
        dx_envelope_writer_section(&w, DX_KIND('P', 'A', 'G', 'E'), NULL) >= 0 &&
        dx_envelope_writer_append(&w, dx_bytes_take(&r, dx_bytes_left(&r)), NULL) >= 0 &&
        dx_envelope_writer_section(&w, DX_KIND('F', 'I', 'L', 'E'), NULL) >= 0 &&
        dx_envelope_writer_append(&w, files, NULL) >= 0 && dx_envelope_writer_finish(&w, NULL) >= 0)
        use_directory(dx_span_of(file.data, file.size));
    dx_envelope_writer_release(&w);
    dx_buf_release(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_bytes r = dx_bytes_of(dx_span_of(data, size));
    struct dx_postings_page page = {
        .number = 1, .entries = 3, .idx_packed = 19, .idx_plain = 60, .dat_plain = 30
    };

    if (decoder == NULL)
        decoder = dx_zstd_decoder_new();
    switch (dx_bytes_u8(&r)) {
    case 'p':
        fuzz_payload(dx_bytes_take(&r, dx_bytes_left(&r)));
        break;
    case 'c':
        fuzz_idx(dx_bytes_take(&r, dx_bytes_left(&r)), &page);
        break;
    case 'i': /* of before, as 's' */
        fuzz_plain_idx(true, r);
        break;
    case 'n':
        fuzz_plain_idx(false, r);
        break;
    case 'd':
        fuzz_dat(r);
        break;
    case 's':
        fuzz_directory(DX_POSTINGS_VERSION_OLD, r);
        break;
    case 't':
        fuzz_directory(DX_POSTINGS_VERSION, r);
        break;
    default:
        break;
    }
    return 0;
}
