/* SPDX-License-Identifier: Apache-2.0
 * The spool against buffers in memory: many streams, pieces of all sizes, chunks of the least size
 * and large ones; a temporary file that was changed, cut, or had its chunks exchanged.
 */
#include "builder/sort/stream_spill.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "tests/support/damage.h"

static int failures;

static const struct {
    size_t streams;
    size_t memory;
    size_t adds;
    size_t longest;
    bool writes;
} rows[] = {
    { 1, 0, 0, 1, false },
    { 1, 0, 20, 3, false },
    { 1, 0, 5000, 9, true },
    { 7, 1, 5000, 700, true },
    { 100, 100 << 10, 20000, 40, true },
    { 1000, 64 << 20, 100, 1000, false },
    { 3, 1 << 30, 300, 200000, true },
};

static int gather(void *ctx, struct dx_span piece, struct dx_error *err)
{
    (void)err;
    dx_buf_append(ctx, piece.data, piece.size);
    return DX_OK;
}

static int refuse(void *ctx, struct dx_span piece, struct dx_error *err)
{
    int *left = ctx;

    (void)piece;
    return --*left < 0 ? dx_fail(err, DX_E_LIMIT, "enough") : DX_OK;
}

static void fill(struct dx_stream_spill *s, struct dx_buf *want, size_t row, uint64_t seed)
{
    struct dx_error err = DX_ERROR_INIT;
    uint8_t *bytes = malloc(rows[row].longest + 1);

    for (size_t i = 0; i < rows[row].adds; i++) {
        size_t stream = random_below(&seed, rows[row].streams) * random_below(&seed, 2);
        size_t n = random_below(&seed, rows[row].longest + 1);

        for (size_t k = 0; k < n; k++)
            bytes[k] = (uint8_t)random_next(&seed);
        EXPECT(dx_stream_spill_add(s, stream, dx_span_of(bytes, n), &err) == DX_OK, "%s", err.text);
        dx_buf_append(&want[stream], bytes, n);
    }
    free(bytes);
}

static void test_row(const char *dir, size_t row)
{
    struct dx_buf *want = calloc(rows[row].streams, sizeof *want);
    struct dx_buf got = DX_BUF_INIT(SIZE_MAX);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_stream_spill *s = NULL;
    int left = 0;

    EXPECT(dx_stream_spill_new(&s, dir, rows[row].streams, rows[row].memory, &err) == DX_OK, "%s",
           err.text);
    for (size_t i = 0; i < rows[row].streams; i++)
        dx_buf_init(&want[i], SIZE_MAX);
    fill(s, want, row, row + 1);
    EXPECT(dx_stream_spill_replay(s, 0, gather, &got, NULL) == DX_E_INVALID, "not finished");
    EXPECT(dx_stream_spill_finish(s, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_stream_spill_add(s, 0, dx_span_of("x", 1), NULL) == DX_E_INVALID, "finished");
    EXPECT(dx_stream_spill_replay(s, rows[row].streams, gather, &got, NULL) == DX_E_INVALID,
           "beyond");
    EXPECT((dx_stream_spill_written(s) > 0) == rows[row].writes, "row %zu: %llu bytes written", row,
           (unsigned long long)dx_stream_spill_written(s));
    for (int twice = 0; twice < 2; twice++) {
        for (size_t i = rows[row].streams; i-- > 0;) {
            dx_buf_clear(&got);
            EXPECT(dx_stream_spill_replay(s, i, gather, &got, &err) == DX_OK, "%s", err.text);
            EXPECT(dx_stream_spill_size(s, i) == want[i].size, "row %zu stream %zu: size", row, i);
            EXPECT(dx_span_equal(dx_span_of(got.data, got.size),
                                 dx_span_of(want[i].data, want[i].size)),
                   "row %zu stream %zu: other bytes", row, i);
        }
    }
    if (want[0].size > 0)
        EXPECT(dx_stream_spill_replay(s, 0, refuse, &left, NULL) == DX_E_LIMIT, "a refusal");
    for (size_t i = 0; i < rows[row].streams; i++)
        dx_buf_release(&want[i]);
    free(want);
    dx_buf_release(&got);
    dx_stream_spill_free(&s);
}

/* The file has no name: it is found among the descriptors, which are given out lowest first. */
static void test_damage(const char *dir)
{
    int fd = open("/dev/null", O_RDONLY);
    struct dx_buf got = DX_BUF_INIT(SIZE_MAX);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_stream_spill *s = NULL;
    uint8_t bytes[2560];
    uint8_t first[256];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7);
    (void)close(fd);
    EXPECT(dx_stream_spill_new(&s, dir, 2, 0, &err) == DX_OK, "%s", err.text);
    for (size_t i = 0; i < 2; i++)
        EXPECT(dx_stream_spill_add(s, i, dx_span_of(bytes, sizeof bytes), &err) == DX_OK, "%s",
               err.text);
    EXPECT(dx_stream_spill_finish(s, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_stream_spill_replay(s, 0, gather, &got, &err) == DX_OK && got.size == sizeof bytes,
           "%s", err.text);
    EXPECT(pread(fd, first, sizeof first, 0) == 256, "descriptor");
    for (size_t at = 0; at < sizeof first; at++) {
        first[at] ^= 1;
        EXPECT(pwrite(fd, first, sizeof first, 0) == 256, "descriptor");
        first[at] ^= 1;
        EXPECT(dx_stream_spill_replay(s, 0, gather, &got, &err) == DX_E_CORRUPT, "flip at %zu", at);
    }
    EXPECT(pread(fd, bytes, 256, 256) == 256 && pwrite(fd, bytes, 256, 0) == 256, "descriptor");
    EXPECT(dx_stream_spill_replay(s, 0, gather, &got, &err) == DX_E_CORRUPT, "another chunk");
    EXPECT(ftruncate(fd, 100) == 0, "descriptor");
    EXPECT(dx_stream_spill_replay(s, 0, gather, &got, &err) == DX_E_TRUNCATED, "cut");
    dx_stream_spill_free(&s);
    dx_buf_release(&got);
}

int main(void)
{
    char dir[] = "/tmp/dx-test-spool-XXXXXX";
    struct dx_stream_spill *s = NULL;

    if (mkdtemp(dir) == NULL)
        return 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        test_row(dir, i);
    test_damage(dir);
    EXPECT(rmdir(dir) == 0, "%s is not empty", dir);
    EXPECT(dx_stream_spill_new(&s, dir, 1, 0, NULL) < 0 && s == NULL, "a folder that is not there");
    return failures > 0;
}
