/* SPDX-License-Identifier: Apache-2.0
 * Files in frames and hash functions are written and read while memory runs out. */
#include "format/core/mphf.h"
#include "format/core/zseek.h"

#include <string.h>

#include "tests/runner/fail_alloc.h"
#include "tests/support/small_index.h"

static int append(void *ctx, struct dx_span bytes, struct dx_error *err)
{
    struct dx_buf *out = ctx;

    dx_buf_append(out, bytes.data, bytes.size);
    return out->failed ? dx_buf_fail(out, err, "file") : DX_OK;
}

static int write_lines(struct dx_buf *file, struct dx_error *err)
{
    struct dx_zseek_writer w = { 0 };
    int rc = dx_zseek_writer_init(&w, 0, append, file, err);

    for (unsigned i = 0; rc == DX_OK && i < 20000; i++)
        rc = dx_zseek_writer_line(&w, dx_span_str("a line of some length"), err);
    if (rc == DX_OK)
        rc = dx_zseek_writer_finish(&w, err);
    dx_zseek_writer_release(&w);
    return rc;
}

static int read_lines(struct dx_span file, struct dx_error *err)
{
    struct dx_buf plain = DX_BUF_INIT(DX_ZSEEK_PLAIN_MAX);
    struct dx_zstd_decoder *decoder = dx_zstd_decoder_new();
    struct dx_zseek z = { 0 };
    int rc = decoder == NULL ? dx_no_memory(err, "decoder") : dx_zseek_open(&z, file, "file", err);

    for (uint32_t i = 0; rc == DX_OK && i < z.frame_count; i++)
        rc = dx_zseek_decode(&z, decoder, i, &plain, err);
    dx_zseek_close(&z);
    dx_zstd_decoder_free(&decoder);
    dx_buf_release(&plain);
    return rc;
}

static int frames(void *ctx, struct dx_error *err)
{
    struct dx_buf file = DX_BUF_INIT(1 << 20);
    int rc = write_lines(&file, err);

    (void)ctx;
    if (rc == DX_OK)
        rc = read_lines(dx_span_of(file.data, file.size), err);
    dx_buf_release(&file);
    return rc;
}

static int hash_function(void *ctx, struct dx_error *err)
{
    const struct dx_test_index *x = ctx;
    struct dx_buf file = DX_BUF_INIT(1 << 20);
    struct dx_mphf_built built = { 0 };
    struct dx_dictionary d;
    struct dx_mphf m;
    uint64_t ordinal, id;
    int rc = dx_mphf_build(&built, x->ids, x->n, 0, 0, 1, err);

    if (rc == DX_OK)
        rc = dx_mphf_write(&built, x->ids, &x->text_hash, NULL, 0, &dx_test_build_id, append, &file,
                           err);
    dx_mphf_built_release(&built);
    if (rc == DX_OK)
        rc = dx_dictionary_open(&d, dx_span_of(x->dict.data, x->dict.size), 0, "dict", err);
    if (rc == DX_OK) {
        rc = dx_mphf_open(&m, dx_span_of(file.data, file.size), 0, "mphf", err);
        if (rc == DX_OK) {
            rc = dx_mphf_find(&m, &d, x->domains[1], &ordinal, &id, err);
            dx_mphf_close(&m);
        }
        dx_dictionary_close(&d);
    }
    dx_buf_release(&file);
    return rc < 0 ? rc : DX_OK;
}

int main(void)
{
    struct dx_test_index x;
    size_t failures;

    dx_test_index_build(&x, 300);
    failures = fail_alloc_each("frames", 200, frames, NULL);
    failures += fail_alloc_each("hash function", 0, hash_function, &x);
    dx_test_index_release(&x);
    return failures > 0;
}
