/* SPDX-License-Identifier: Apache-2.0
 * test_zseek.c - frames of every size there and back, each one alone, and each damaged byte and cut refused.
 */
#include "format/core/zseek.h"
#include "format/core/zseek_whole.h"

#include "format/core/envelope.h"
#include "tests/support/fail.h"
#include "tests/support/small_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

static int failures;

/* Frames of 1, 2, 3... lines; plain gets all of them. */
static void write_frames(struct dx_buf *file, struct dx_buf *plain, unsigned frames, int level)
{
    struct dx_zseek_writer w;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_hash128 hash;
    int rc = dx_zseek_writer_init(&w, level, dx_envelope_sink_buf, file, &err);

    for (unsigned i = 0; i < frames && rc == DX_OK; i++) {
        struct dx_zseek_frame frame;
        size_t begin = plain->size;
        size_t at = file->size;

        for (unsigned k = 0; k <= i; k++)
            dx_buf_fmt(plain, "line %u of frame %u, %x\n", k, i, (k + 1) * 0x9E3779B1u);
        rc = dx_zseek_writer_frame(&w, dx_span_of(plain->data + begin, plain->size - begin), &frame,
                                   &err);
        CHECK(rc == DX_OK && frame.offset == at && frame.plain_offset == begin &&
                  frame.size == w.compressed.size && frame.plain_size == plain->size - begin &&
                  memcmp(file->data + at, w.compressed.data, frame.size) == 0,
              "frame %u: %s", i, err.text);
    }
    if (rc == DX_OK)
        rc = dx_zseek_writer_finish(&w, &err);
    CHECK(rc == DX_OK && w.size == file->size && w.plain_size == plain->size, "%s", err.text);
    hash = dx_hash128_of(dx_span_of(plain->data, plain->size));
    CHECK(dx_hash128_equal(&hash, &w.plain_hash), "plain hash");
    dx_zseek_writer_release(&w);
}

static void check_round_trip(unsigned frames, int level)
{
    struct dx_buf file = DX_BUF_INIT(1 << 24);
    struct dx_buf plain = DX_BUF_INIT(1 << 24);
    struct dx_buf back = DX_BUF_INIT(1 << 24);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_hash128 hash;
    struct dx_zseek z;

    write_frames(&file, &plain, frames, level);
    CHECK(dx_zseek_read(dx_span_of(file.data, file.size), "test.zst", &back, &err) == DX_OK, "%s",
          err.text);
    CHECK(dx_span_equal(dx_span_of(plain.data, plain.size), dx_span_of(back.data, back.size)),
          "%u frames do not come back", frames);
    CHECK(dx_zseek_open(&z, dx_span_of(file.data, file.size), "test.zst", &err) == DX_OK, "%s",
          err.text);
    CHECK(z.plain_size == plain.size && z.frame_count == frames, "sums");
    CHECK(dx_zseek_verify(&z, &hash, &err) == DX_OK, "%s", err.text);
    dx_zseek_close(&z);
    dx_buf_release(&file);
    dx_buf_release(&plain);
    dx_buf_release(&back);
}

static void check_lines(void)
{
    struct dx_buf file = DX_BUF_INIT(1 << 24);
    struct dx_buf plain = DX_BUF_INIT(1 << 24);
    struct dx_buf back = DX_BUF_INIT(1 << 24);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_zseek_writer w;
    struct dx_zseek z;
    int rc = dx_zseek_writer_init(&w, 3, dx_envelope_sink_buf, &file, &err);

    for (unsigned i = 0; i < 20000 && rc == DX_OK; i++) {
        char line[64];
        int n = snprintf(line, sizeof line, "%x", i * 0x9E3779B1u);

        rc = dx_zseek_writer_line(&w, dx_span_of(line, (size_t)n), &err);
        dx_buf_fmt(&plain, "%s\n", line);
    }
    CHECK(rc == DX_OK && dx_zseek_writer_finish(&w, &err) == DX_OK, "%s", err.text);
    dx_zseek_writer_release(&w);
    CHECK(dx_zseek_read(dx_span_of(file.data, file.size), "test.zst", &back, &err) == DX_OK, "%s",
          err.text);
    CHECK(dx_span_equal(dx_span_of(plain.data, plain.size), dx_span_of(back.data, back.size)),
          "lines do not come back");
    CHECK(dx_zseek_open(&z, dx_span_of(file.data, file.size), "x", &err) == DX_OK, "open");
    CHECK(z.frame_count == 3, "%u frames", z.frame_count);
    for (uint32_t i = 0; i < z.frame_count; i++) {
        struct dx_zseek_frame f = dx_zseek_at(&z, i);

        CHECK(f.plain_size <= 65536 && plain.data[f.plain_offset + f.plain_size - 1] == '\n' &&
                  (i == 2 || f.plain_size > 65536 - 9),
              "frame %u of %u bytes", i, f.plain_size);
    }
    dx_zseek_close(&z);
    dx_buf_release(&file);
    dx_buf_release(&plain);
    dx_buf_release(&back);
}

/* A file that promises more than its reader takes, by itself and in the place of its bytes. */
static void check_cap(void)
{
    struct dx_buf file = DX_BUF_INIT(1 << 24);
    struct dx_buf plain = DX_BUF_INIT(1 << 24);
    struct dx_buf back = DX_BUF_INIT(0);
    struct dx_error err = DX_ERROR_INIT;

    write_frames(&file, &plain, 9, 3);
    back.max = plain.size - 1;
    CHECK(dx_zseek_read(dx_span_of(file.data, file.size), "test.zst", &back, &err) == DX_E_LIMIT &&
              back.capacity == 0 && strstr(err.text, "test.zst: ") == err.text,
          "%s", err.text);
    back.max = plain.size;
    CHECK(dx_zseek_read(dx_span_of(file.data, file.size), "test.zst", &back, &err) == DX_OK, "%s",
          err.text);
    CHECK(dx_zseek_expand(&file, "test.zst", plain.size, &err) == DX_OK, "%s", err.text);
    CHECK(dx_span_equal(dx_span_of(plain.data, plain.size), dx_span_of(file.data, file.size)),
          "other bytes");
    CHECK(dx_zseek_expand(&file, "test.zst", plain.size, &err) == DX_E_CORRUPT, "plain bytes");
    dx_buf_release(&file);
    dx_buf_release(&plain);
    dx_buf_release(&back);
}

/* The tool of the zstd project reads our files as one plain file. */
static void check_against_zstd(void)
{
    struct dx_buf file = DX_BUF_INIT(1 << 24);
    struct dx_buf plain = DX_BUF_INIT(1 << 24);
    char path[] = "/tmp/test_zseek_XXXXXX";
    char command[128];
    uint8_t *got = malloc(1 << 20);
    int fd = mkstemp(path);
    FILE *pipe;

    if (system("command -v zstd >/dev/null 2>&1") != 0) {
        printf("SKIPPED: no zstd program to compare with\n");
    } else {
        write_frames(&file, &plain, 40, 0);
        CHECK(fd >= 0 && write(fd, file.data, file.size) == (ssize_t)file.size, "temporary file");
        (void)snprintf(command, sizeof command, "zstd -dc %s", path);
        pipe = popen(command, "r");
        if (pipe != NULL) {
            size_t n = fread(got, 1, 1 << 20, pipe);

            CHECK(pclose(pipe) == 0, "zstd -dc fails");
            CHECK(dx_span_equal(dx_span_of(plain.data, plain.size), dx_span_of(got, n)),
                  "zstd -dc gives other bytes");
        }
    }
    if (fd >= 0) {
        (void)close(fd);
        (void)unlink(path);
    }
    free(got);
    dx_buf_release(&file);
    dx_buf_release(&plain);
}

/*
 * No flipped bit and no cut gives other bytes. (Some bits of compressed blocks can be turned:
 * a match found elsewhere, reserved bits that libzstd ignores. The plain bytes are then right.)
 */
static void check_damage(void)
{
    struct dx_buf file = DX_BUF_INIT(1 << 24);
    struct dx_buf plain = DX_BUF_INIT(1 << 24);
    struct dx_buf back = DX_BUF_INIT(1 << 24);
    struct dx_span want;
    uint8_t *copy;
    unsigned harmless = 0;

    write_frames(&file, &plain, 12, 0);
    want = dx_span_of(plain.data, plain.size);
    copy = dx_test_guarded(dx_span_of(file.data, file.size));
    for (size_t bit = 0; bit < 8 * file.size; bit++) {
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (dx_zseek_read(dx_span_of(copy, file.size), "test.zst", &back, NULL) >= 0) {
            CHECK(dx_span_equal(want, dx_span_of(back.data, back.size)),
                  "bit %zu gives other bytes", bit);
            harmless++;
        }
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    printf("%u of %zu flipped bits change nothing in the plain bytes\n", harmless, 8 * file.size);
    CHECK(harmless * 40 < 8 * file.size, "that is more than 2.5 %%");
    dx_test_unguard(copy, file.size);
    for (size_t size = 0; size < file.size; size++) {
        copy = dx_test_guarded(dx_span_of(file.data, size));
        CHECK(dx_zseek_read(dx_span_of(copy, size), "test.zst", &back, NULL) < 0, "%zu bytes pass",
              size);
        dx_test_unguard(copy, size);
    }
    dx_buf_release(&file);
    dx_buf_release(&plain);
    dx_buf_release(&back);
}

/* Fields of the seek table (offsets from the end of a file of 2 frames) and of a frame header. */
static const struct {
    long offset;
    unsigned size;
    uint64_t value;
    const char *words;
} rows[] = {
    { -4, 4, 0, "no seek table: cut short or not in the seekable format" },
    { -5, 1, 0, "seek table: descriptor 00" },
    { -5, 1, 0x84, "seek table: descriptor 84" },
    { -9, 4, 3, "seek table: begins with" },
    { -9, 4, 0xffffffff, "seek table: 4294967295 frames in a file of" },
    { -9 - 24 - 4, 4, 32, "seek table: frame of 32 bytes, its entries need 33" },
    { -9 - 24 - 8, 4, 0x184D2A5D, "seek table: begins with 184d2a5d" },
    { -9 - 12 + 4, 4, 0, "seek table: frame 1 has 0 bytes plain" },
    { -9 - 12 + 4, 4, 1048577, "seek table: frame 1 has 1048577 bytes plain" },
    { -9 - 12 + 4, 4, 5, "frame 1 at" },
    { -9 - 12 + 8, 4, 5, "seek table has the sum 00000005, the frame" },
    { -9 - 12, 4, 5, "seek table: frames add up to" },
    { 0, 4, 1, "zstd frame: begins with 00000001" },
    { 4, 1, 0x20, "zstd frame: descriptor 20" },
    { 4, 1, 0x34, "zstd frame: descriptor 34" },
    { 4, 1, 0x2c, "zstd frame: descriptor 2c" },
    { 4, 1, 0x25, "zstd frame: descriptor 25" },
    { 4, 1, 0x04, "zstd frame: descriptor 04" },
    { 5, 1, 9, "zstd frame: content size 9, expected" },
};

static void check_rows(void)
{
    struct dx_buf file = DX_BUF_INIT(1 << 24);
    struct dx_buf plain = DX_BUF_INIT(1 << 24);
    struct dx_buf back = DX_BUF_INIT(1 << 24);

    write_frames(&file, &plain, 2, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t *copy = dx_test_guarded(dx_span_of(file.data, file.size));
        size_t at = rows[i].offset >= 0 ? (size_t)rows[i].offset
                                        : file.size - (size_t)-rows[i].offset;
        struct dx_error err = DX_ERROR_INIT;
        int rc;

        for (unsigned k = 0; k < rows[i].size; k++)
            copy[at + k] = (uint8_t)(rows[i].value >> (8 * k));
        rc = dx_zseek_read(dx_span_of(copy, file.size), "test.zst", &back, &err);
        CHECK(rc < 0 && strstr(err.text, rows[i].words) != NULL &&
                  strstr(err.text, "test.zst: ") == err.text,
              "row %zu (%s): %s", i, rows[i].words, rc < 0 ? err.text : "passes");
        dx_test_unguard(copy, file.size);
    }
    dx_buf_release(&file);
    dx_buf_release(&plain);
    dx_buf_release(&back);
}

static void check_frames(void)
{
    static const char text[] = "some text, some text, some text, some text";
    struct dx_zstd_decoder *d = dx_zstd_decoder_new();
    struct dx_buf file = DX_BUF_INIT(1 << 22);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_zseek_writer w;
    struct dx_zseek_frame f;
    uint8_t foreign[256];
    uint8_t to[64];
    size_t n;
    uint8_t *large = calloc(1, DX_ZSEEK_PLAIN_MAX + 1);

    CHECK(dx_zseek_writer_init(&w, 1, dx_envelope_sink_buf, &file, &err) == DX_OK, "init");
    CHECK(dx_zseek_writer_frame(&w, dx_span_of(text, 42), &f, &err) == DX_OK, "%s", err.text);
    CHECK(dx_zstd_frame_decode(d, dx_span_of(file.data, f.size), 42, to, &err) == DX_OK &&
              memcmp(to, text, 42) == 0,
          "%s", err.text);
    dx_buf_u8(&file, 0);
    CHECK(dx_zstd_frame_decode(d, dx_span_of(file.data, f.size + 1), 42, to, &err) < 0 &&
              strstr(err.text, "ends after") != NULL,
          "a byte behind it: %s", err.text);
    CHECK(dx_zstd_frame_decode(d, dx_span_of(file.data, f.size - 1), 42, to, &err) < 0, "cut");
    CHECK(dx_zstd_frame_decode(d, dx_span_of(file.data, f.size), 41, to, &err) < 0, "short");
    CHECK(dx_zstd_frame_decode(d, dx_span_of(file.data, f.size), 43, to, &err) < 0, "long");
    CHECK(dx_zstd_frame_decode(d, dx_span_of(file.data, f.size), DX_ZSEEK_PLAIN_MAX + 1, to,
                               &err) == DX_E_LIMIT,
          "limit");
    n = ZSTD_compress(foreign, sizeof foreign, text, 42, 3);
    CHECK(dx_zstd_frame_decode(d, dx_span_of(foreign, n), 42, to, &err) < 0, "no checksum");
    CHECK(dx_zseek_writer_frame(&w, dx_span_of(text, 0), &f, &err) == DX_E_LIMIT, "empty");
    CHECK(dx_zseek_writer_frame(&w, dx_span_of(large, DX_ZSEEK_PLAIN_MAX + 1), &f, &err) ==
              DX_E_LIMIT,
          "over 1 MiB");
    dx_buf_clear(&file);
    CHECK(dx_zseek_writer_frame(&w, dx_span_of(large, DX_ZSEEK_PLAIN_MAX), &f, &err) == DX_OK &&
              dx_zstd_frame_decode(d, dx_span_of(file.data, f.size), DX_ZSEEK_PLAIN_MAX, large,
                                   &err) == DX_OK,
          "1 MiB at level 1: %s", err.text);
    dx_zseek_writer_release(&w);
    dx_buf_release(&file);
    dx_zstd_decoder_free(&d);
    free(large);
}

int main(void)
{
    static const unsigned counts[] = { 0, 1, 2, 12, 100 };

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        check_round_trip(counts[i], (int)i * 4);
    check_lines();
    check_cap();
    check_against_zstd();
    check_damage();
    check_rows();
    check_frames();
    return failures > 0;
}
