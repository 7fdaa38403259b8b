/* SPDX-License-Identifier: Apache-2.0
 * test_envelope.c - sections there and back; damage is refused where it is asked for, and blocks of another kind or place are; threads.
 */
#include "format/core/envelope.h"

#include "tests/support/fail.h"
#include "tests/support/sample.h"
#include "tests/support/small_index.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAGIC DX_KIND('T', 'E', 'S', 'T')
#define TAG_A DX_KIND('A', 'A', 'A', 'A')
#define TAG_B DX_KIND('B', 'B', 'B', 'B')
#define SIZE_A 5000
#define SIZE_B 7003

static int failures;

/* A file with two sections, written in pieces of `piece` bytes. */
static void write_file(struct dx_buf *out, size_t piece)
{
    struct dx_envelope_writer *w = malloc(sizeof *w);
    struct dx_error err = DX_ERROR_INIT;
    uint8_t header[64] = "TEST\1";
    uint8_t bytes[SIZE_B];
    int rc;

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + 1);
    dx_envelope_writer_init(w, MAGIC, 1, &dx_test_build_id, dx_envelope_sink_buf, out);
    rc = dx_envelope_writer_header(w, dx_span_of(header, sizeof header), &err);
    for (uint32_t section = 0; section < 2 && rc == DX_OK; section++) {
        size_t size = section == 0 ? SIZE_A : SIZE_B;

        rc = dx_envelope_writer_section(w, section == 0 ? TAG_A : TAG_B, &err);
        for (size_t i = 0; i < size && rc == DX_OK; i += piece)
            rc = dx_envelope_writer_append(
                w, dx_span_of(bytes + i, size - i < piece ? size - i : piece), &err);
    }
    if (rc == DX_OK)
        rc = dx_envelope_writer_finish(w, &err);
    CHECK(rc == DX_OK, "%s", err.text);
    dx_envelope_writer_release(w);
    free(w);
}

static int open_as(struct dx_envelope *e, const uint8_t *file, size_t size, unsigned flags,
                   struct dx_error *err)
{
    return dx_envelope_open(e, dx_span_of(file, size), MAGIC, 1, flags, "test.bin", err);
}

static void check_reading(const struct dx_buf *file)
{
    struct dx_envelope e;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_span header;
    struct dx_span a;
    struct dx_span b;

    CHECK(open_as(&e, file->data, file->size, 0, &err) == DX_OK, "%s", err.text);
    CHECK(memcmp(&e.build, &dx_test_build_id, 16) == 0, "build id");
    CHECK(dx_envelope_header(&e, 64, &header, &err) == DX_OK, "%s", err.text);
    CHECK(dx_envelope_header(&e, 128, &header, &err) == DX_E_CORRUPT, "header size");
    CHECK(dx_envelope_section(&e, TAG_A, &a, &err) == DX_OK && a.size == SIZE_A, "%s", err.text);
    CHECK(dx_envelope_array(&e, TAG_B, 7003, 1, &b, &err) == DX_OK && b.size == SIZE_B, "%s",
          err.text);
    CHECK(dx_envelope_array(&e, TAG_B, 8, 875, &b, &err) == DX_E_CORRUPT, "array size");
    CHECK(dx_envelope_array(&e, TAG_B, 8, UINT64_MAX / 2, &b, &err) == DX_E_CORRUPT, "overflow");
    CHECK(dx_envelope_section(&e, MAGIC, &b, &err) == DX_E_CORRUPT, "no such section");
    CHECK(strstr(err.text, "no section TEST") != NULL, "%s", err.text);
    CHECK(a.data[4999] == (uint8_t)(4999 * 7 + 1) && (size_t)(a.data - file->data) % 64 == 0, "A");
    for (size_t i = 0; i < a.size; i += 97)
        CHECK(dx_envelope_check(&e, a.data + i, a.size - i, &err) == DX_OK, "%s", err.text);
    CHECK(dx_envelope_check(&e, a.data + a.size, 0, &err) == DX_OK, "nothing to check");
    CHECK(dx_envelope_check(&e, a.data + 4999, SIZE_MAX, &err) == DX_E_CORRUPT, "it wraps");
    CHECK(dx_envelope_check(&e, a.data + 4999, SIZE_MAX - 4999, &err) == DX_E_CORRUPT, "it wraps");
    CHECK(!dx_envelope_all_hashed(&e), "blocks of B were not");
    CHECK(dx_envelope_verify(&e, &err) == DX_OK, "%s", err.text);
    CHECK(dx_envelope_all_hashed(&e), "all blocks were hashed");
    dx_envelope_close(&e);
    dx_envelope_close(&e);
}

/* Only the damaged block is refused, and only when it is asked for. */
static void check_laziness(const struct dx_buf *file)
{
    uint8_t *copy = dx_test_guarded(dx_span_of(file->data, file->size));
    struct dx_envelope e;
    struct dx_error err = DX_ERROR_INIT;

    copy[2 * 4096 + 17] ^= 4;
    CHECK(open_as(&e, copy, file->size, 0, &err) == DX_OK, "%s", err.text);
    CHECK(dx_envelope_check(&e, copy + 4096, 4096, &err) == DX_OK, "%s", err.text);
    CHECK(dx_envelope_check(&e, copy + 8300, 1, &err) == DX_E_CORRUPT, "lazy");
    CHECK(strstr(err.text, "test.bin: block 2 at 8192: checksum is ") == err.text, "%s", err.text);
    CHECK(dx_envelope_check(&e, copy + 8191, 2, &err) == DX_E_CORRUPT, "over the edge");
    CHECK(dx_envelope_check(&e, copy + 4096, 4096, &err) == DX_OK, "%s", err.text);
    CHECK(dx_envelope_verify(&e, &err) == DX_E_CORRUPT, "verify");
    CHECK(!dx_envelope_all_hashed(&e), "a damaged block counts as hashed");
    dx_envelope_close(&e);
    CHECK(open_as(&e, copy, file->size, DX_OPEN_VERIFY_ALL, &err) == DX_E_CORRUPT, "verify all");
    CHECK(open_as(&e, copy, file->size, DX_OPEN_UNCHECKED, &err) == DX_OK, "%s", err.text);
    CHECK(dx_envelope_check(&e, copy + 8192, 3000, &err) == DX_OK, "unchecked");
    CHECK(dx_envelope_all_hashed(&e), "all are believed");
    dx_envelope_close(&e);
    dx_test_unguard(copy, file->size);
}

static void check_every_flip(const struct dx_buf *file)
{
    uint8_t *copy = dx_test_guarded(dx_span_of(file->data, file->size));
    const size_t step = dx_sample(1, DX_ROUNDS(3, 29));
    struct dx_envelope e;

    for (size_t bit = 0; bit < 8 * file->size; bit += step) {
        struct dx_error err = DX_ERROR_INIT;

        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (open_as(&e, copy, file->size, DX_OPEN_VERIFY_ALL, &err) >= 0) {
            CHECK(false, "bit %zu passes", bit);
            dx_envelope_close(&e);
        } else {
            CHECK(strstr(err.text, "test.bin: ") == err.text, "bit %zu: %s", bit, err.text);
        }
        if (open_as(&e, copy, file->size, DX_OPEN_UNCHECKED, NULL) >= 0)
            dx_envelope_close(&e);
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t size = 0; size < file->size; size += step) {
        uint8_t *cut = dx_test_guarded(dx_span_of(file->data, size));

        CHECK(open_as(&e, cut, size, 0, NULL) < 0, "%zu bytes pass", size);
        CHECK(open_as(&e, cut, size, DX_OPEN_UNCHECKED, NULL) < 0, "%zu bytes pass unchecked",
              size);
        dx_test_unguard(cut, size);
    }
    dx_test_unguard(copy, file->size);
}

/* A field changed to a value, sealed again, and the words that this must fetch. Offsets are from
 * the front (>= 0) or from the end (< 0). */
static const struct {
    long offset;
    unsigned size;
    uint64_t value;
    const char *words;
} rows[] = {
    { 0, 4, 0x31313131, "header: does not begin with TEST" },
    { 4, 4, 2, "header: version 2, the trailer has 1" },
    { 64 + SIZE_A, 1, 1, "gap at 5064: not zero" },
    { -72 + 16, 4, 0x31313131, "trailer: magic is 1111, not TEST" },
    { -72 + 20, 4, 2, "trailer: layout version 2, this program reads 1" },
    { -72 + 24, 4, 65, "trailer: 65 sections, at most 64" },
    { -72 + 24, 4, 1, "bytes behind the body, tables and trailer need" },
    { -72 + 28, 4, 13, "trailer: block size 2^13" },
    { -72 + 32, 8, 12124, "trailer: body size 12124" },
    { -72 + 32, 8, UINT64_MAX - 7, "trailer: body size 18446744073709551608" },
    { -72 + 32, 8, 0, "trailer: body size 0" },
    { -72 + 40, 8, 9, "trailer: file size 9, but there are" },
    { -8, 1, 'd', "does not end in DXTAIL01" },
    { -72 - 48 + 4, 4, 1, "section table: AAAA: reserved field is not zero" },
    { -72 - 48 + 8, 8, 60, "section table: AAAA begins at 60" },
    { -72 - 48 + 8, 8, UINT64_MAX - 63, "section table: AAAA: 5000 bytes at 184467440737095515" },
    { -72 - 48 + 16, 8, UINT64_MAX, "section table: AAAA: 18446744073709551615 bytes at 64" },
    { -72 - 24, 4, TAG_A, "section table: AAAA is there twice" },
    { -72 - 24 + 8, 8, 64, "section table: BBBB begins at 64, the part before ends at 5064" },
    { -72 - 24 + 8, 8, 5184, "section table: BBBB" },
    { -72 - 24 + 16, 8, 100, "section table: sections end at 5220, the body at" },
};

static void check_rows(const struct dx_buf *file)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t *copy = dx_test_guarded(dx_span_of(file->data, file->size));
        size_t at = rows[i].offset >= 0 ? (size_t)rows[i].offset
                                        : file->size - (size_t)-rows[i].offset;
        struct dx_envelope e;
        struct dx_error err = DX_ERROR_INIT;
        int rc;

        for (unsigned k = 0; k < rows[i].size; k++)
            copy[at + k] = (uint8_t)(rows[i].value >> (8 * k));
        (void)dx_test_reseal(copy, file->size);
        rc = open_as(&e, copy, file->size, DX_OPEN_VERIFY_ALL, &err);
        /* What cannot be sealed again is reached without checksums. */
        if (rc < 0 && strstr(err.text, "checksum") != NULL)
            rc = open_as(&e, copy, file->size, DX_OPEN_VERIFY_ALL | DX_OPEN_UNCHECKED, &err);
        CHECK(rc < 0 && strstr(err.text, rows[i].words) != NULL, "row %zu (%s): %s", i,
              rows[i].words, rc < 0 ? err.text : "opens");
        if (rc >= 0)
            dx_envelope_close(&e);
        dx_test_unguard(copy, file->size);
    }
}

/* Bodies that end before, at and behind the end of a block. */
static void check_block_ends(void)
{
    static const uint8_t bytes[8192];
    struct dx_envelope_writer *w = malloc(sizeof *w);
    uint8_t header[64] = "TEST\1";

    for (size_t body = 4096 - 8; body <= 8192 + 8; body += body == 4096 + 8 ? 4096 - 16 : 8) {
        struct dx_buf file = DX_BUF_INIT(1 << 16);
        struct dx_error err = DX_ERROR_INIT;
        struct dx_envelope e;
        int rc;

        dx_envelope_writer_init(w, MAGIC, 1, &dx_test_build_id, dx_envelope_sink_buf, &file);
        rc = dx_envelope_writer_header(w, dx_span_of(header, sizeof header), &err);
        if (rc == DX_OK)
            rc = dx_envelope_writer_section(w, TAG_A, &err);
        if (rc == DX_OK)
            rc = dx_envelope_writer_append(w, dx_span_of(bytes, body - sizeof header), &err);
        if (rc == DX_OK)
            rc = dx_envelope_writer_finish(w, &err);
        dx_envelope_writer_release(w);
        CHECK(rc == DX_OK, "%zu bytes: %s", body, err.text);
        rc = open_as(&e, file.data, file.size, DX_OPEN_VERIFY_ALL, &err);
        CHECK(rc == DX_OK, "%zu bytes: %s", body, err.text);
        if (rc == DX_OK) {
            CHECK(e.body.size == body, "%zu bytes of %zu", e.body.size, body);
            dx_envelope_close(&e);
        }
        dx_buf_release(&file);
    }
    free(w);
}

/* A sound file under another kind, and a sound block from another place, do not pass. */
static void check_identity(const struct dx_buf *file)
{
    uint8_t *copy = dx_test_guarded(dx_span_of(file->data, file->size));
    uint8_t *trailer = copy + (file->size - 72);
    uint8_t *tables = copy + dx_load_u64(trailer + 32);
    struct dx_identity id = { dx_test_build_id, MAGIC, UINT64_MAX - 1 };
    struct dx_envelope e;
    struct dx_error err = DX_ERROR_INIT;

    CHECK(dx_envelope_open(&e, dx_span_of(copy, file->size), TAG_A, 1, 0, "x", &err) < 0, "kind");
    memcpy(copy + 4096, copy, 4096);
    memcpy(tables + 8, tables, 8);
    dx_store_u64(trailer + 48, dx_checksum(&id, dx_span_of(tables, (size_t)(trailer - tables))));
    id.key = UINT64_MAX;
    dx_store_u64(trailer + 56, dx_checksum(&id, dx_span_of(trailer, 56)));
    CHECK(open_as(&e, copy, file->size, 0, &err) == DX_OK, "%s", err.text);
    CHECK(dx_envelope_check(&e, copy, 1, &err) == DX_OK, "%s", err.text);
    CHECK(dx_envelope_check(&e, copy + 4096, 1, &err) == DX_E_CORRUPT, "block 0 in place of 1");
    dx_envelope_close(&e);
    dx_test_unguard(copy, file->size);
}

static void *reader(void *arg)
{
    const struct dx_envelope *e = arg;

    for (size_t i = 0; i < e->body.size; i++) {
        if (dx_envelope_check(e, e->body.data + i, 1, NULL) < 0)
            return arg;
    }
    return NULL;
}

static void check_threads(const struct dx_buf *file)
{
    struct dx_envelope e;
    pthread_t threads[4];

    CHECK(open_as(&e, file->data, file->size, 0, NULL) == DX_OK, "open");
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, reader, &e) == 0, "thread");
    for (int i = 0; i < 4; i++) {
        void *failed;

        CHECK(pthread_join(threads[i], &failed) == 0 && failed == NULL, "thread %d", i);
    }
    dx_envelope_close(&e);
}

int main(void)
{
    struct dx_buf file = DX_BUF_INIT(1 << 20);
    struct dx_buf pieces = DX_BUF_INIT(1 << 20);

    write_file(&file, SIZE_B);
    write_file(&pieces, 13);
    CHECK(dx_span_equal(dx_span_of(file.data, file.size), dx_span_of(pieces.data, pieces.size)),
          "the size of pieces shows");
    check_reading(&file);
    check_block_ends();
    check_laziness(&file);
    check_every_flip(&file);
    check_rows(&file);
    check_identity(&file);
    check_threads(&file);
    dx_buf_release(&file);
    dx_buf_release(&pieces);
    return failures > 0;
}
