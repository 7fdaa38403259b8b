/* SPDX-License-Identifier: Apache-2.0
 * etags.tsv.zst: the input as the file, and as the plain text of one frame. What is accepted whole
 * is written again byte for byte (of the plain text).
 */
#include "format/version/etags_tsv.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int to_buf(void *ctx, struct dx_span bytes, struct dx_error *err)
{
    (void)err;
    dx_buf_append(ctx, bytes.data, bytes.size);
    return DX_OK;
}

static bool copy_rows(struct dx_etags *r, struct dx_etags_writer *w)
{
    struct dx_etags_row row;
    int rc;

    while ((rc = dx_etags_next(r, &row, NULL)) == 1)
        if (dx_etags_writer_add(w, row.kind, row.number, row.etag, NULL) < 0)
            abort();
    return rc == 0;
}

static void read_file(struct dx_span file, const struct dx_hash128 *plain)
{
    struct dx_buf again = DX_BUF_INIT(SIZE_MAX / 2);
    struct dx_etags_writer w;
    struct dx_etags r;

    if (dx_etags_open(&r, file, "fuzz", NULL) == DX_OK) {
        if (dx_etags_writer_begin(&w, r.root, to_buf, &again, NULL) < 0)
            abort();
        if (copy_rows(&r, &w) && plain != NULL &&
            (dx_etags_writer_finish(&w, NULL) < 0 || !dx_hash128_equal(plain, &w.out.plain_hash)))
            abort();
        dx_etags_writer_release(&w);
    }
    dx_etags_close(&r);
    dx_buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_buf file = DX_BUF_INIT(SIZE_MAX / 2);
    struct dx_zseek_writer w;

    read_file(dx_span_of(data, size), NULL);
    if (size == 0 || size > DX_ZSEEK_PLAIN_MAX)
        return 0;
    if (dx_zseek_writer_init(&w, 1, to_buf, &file, NULL) < 0 ||
        dx_zseek_writer_frame(&w, dx_span_of(data, size), NULL, NULL) < 0 ||
        dx_zseek_writer_finish(&w, NULL) < 0)
        abort();
    read_file(dx_span_of(file.data, file.size), &w.plain_hash);
    dx_zseek_writer_release(&w);
    dx_buf_release(&file);
    return 0;
}
