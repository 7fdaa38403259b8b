/* SPDX-License-Identifier: Apache-2.0
 * dead.dxb with all sums believed: a header, then the four sections by their sizes, around which a
 * sound envelope is put.
 */
#include "format/version/dead.h"

#include <stdlib.h>

#define HEADER 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_part(const struct dx_dead *d, const struct dx_dead_part *p)
{
    struct dx_dataset_set set;
    struct dx_dead_rank rank;

    if (p->domains > p->of || p->of > UINT32_MAX)
        abort();
    for (uint64_t k = 0; k < p->ranks && k < 64; k++)
        if (dx_dead_rank(d, p, k, &rank, NULL) == DX_OK && rank.domains > p->domains)
            abort();
    if (p->domains > 0 && dx_dead_ordinals(d, p, &set, NULL) == DX_OK &&
        (dx_dataset_set_count(&set) != p->domains || dx_dataset_set_last(&set) >= p->of))
        abort();
}

static void use(struct dx_span file)
{
    struct dx_dataset_set set;
    struct dx_dead d;

    if (dx_dead_open(&d, file, DX_OPEN_UNCHECKED, "fuzz", NULL) < 0)
        return;
    for (uint64_t i = 0; i <= d.parts; i++) {
        struct dx_dead_part p;

        if (dx_dead_part(&d, i, &p, NULL) == DX_OK)
            use_part(&d, &p);
    }
    if (d.gone > 0 && dx_dead_gone(&d, &set, NULL) == DX_OK && dx_dataset_set_count(&set) != d.gone)
        abort();
    dx_dead_close(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t tags[] = { DX_KIND('P', 'A', 'R', 'T'), DX_KIND('S', 'E', 'T', 'S'),
                                     DX_KIND('R', 'A', 'N', 'K'), DX_KIND('G', 'O', 'N', 'E') };
    struct dx_bytes r = dx_bytes_of(dx_span_of(data, size));
    struct dx_span front = dx_bytes_take(&r, HEADER);
    struct dx_build_id build = { { 0 } };
    struct dx_buf file = DX_BUF_INIT(8 << 20);
    struct dx_envelope_writer w;
    uint8_t header[HEADER];
    int rc;

    if (r.failed)
        return 0;
    memcpy(header, front.data, sizeof header);
    dx_store_u32(header, DX_DEAD_MAGIC); /* the writer of the envelope insists on these two */
    dx_store_u32(header + 4, DX_DEAD_VERSION);
    dx_envelope_writer_init(&w, DX_DEAD_MAGIC, DX_DEAD_VERSION, &build, dx_envelope_sink_buf,
                            &file);
    rc = dx_envelope_writer_header(&w, dx_span_of(header, sizeof header), NULL);
    for (int i = 0; i < 4 && rc >= 0; i++) {
        size_t n = i == 3 ? dx_bytes_left(&r) : dx_bytes_u16(&r);

        n = n < dx_bytes_left(&r) ? n : dx_bytes_left(&r);
        rc = dx_envelope_writer_section(&w, tags[i], NULL);
        if (rc >= 0)
            rc = dx_envelope_writer_append(&w, dx_bytes_take(&r, n), NULL);
    }
    if (rc >= 0)
        rc = dx_envelope_writer_finish(&w, NULL);
    if (rc >= 0 && !file.failed)
        use(dx_span_of(file.data, file.size));
    dx_envelope_writer_release(&w);
    dx_buf_release(&file);
    return 0;
}
