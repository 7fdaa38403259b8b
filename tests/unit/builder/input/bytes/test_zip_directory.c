/* SPDX-License-Identifier: Apache-2.0
 * test_zip_directory.c - the end of a zip archive, with 32 and with 64 bit numbers, and damaged.
 */
#include "builder/input/bytes/zip_directory.h"

#include "base/buf.h"
#include "tests/support/fail.h"

static int failures;

#define NAME "archive/a.warc.gz"

static void put_u16(struct dx_buf *b, unsigned v)
{
    dx_buf_u8(b, (uint8_t)v);
    dx_buf_u8(b, (uint8_t)(v >> 8));
}

/* One member of five bytes; where big, its numbers and those of the end are zip64's. */
static void put_archive(struct dx_buf *b, bool big, unsigned flags, unsigned method)
{
    size_t directory, end;
    uint32_t in_field = big ? UINT32_MAX : 0;

    dx_buf_clear(b);
    dx_buf_append(b, "PK\3\4\24\0\0\0\0\0\0\0\0\0crc!\5\0\0\0\5\0\0\0", 26);
    put_u16(b, sizeof NAME - 1);
    put_u16(b, 3); /* its extra differs from that of the directory */
    dx_buf_str(b, NAME "xyzhello");
    directory = b->size;
    dx_buf_append(b, "PK\1\2\24\0\24\0", 8);
    put_u16(b, flags);
    put_u16(b, method);
    dx_buf_append(b, "\0\0\0\0crc!", 8);
    dx_buf_u32(b, big ? in_field : 5);
    dx_buf_u32(b, big ? in_field : 5);
    put_u16(b, sizeof NAME - 1);
    put_u16(b, big ? 4 + 2 + 4 + 24 : 0);
    put_u16(b, 2);
    dx_buf_append(b, "\0\0\0\0\0\0\0\0", 8);
    dx_buf_u32(b, in_field);
    dx_buf_str(b, NAME);
    if (big) {
        dx_buf_append(b, "\x99\x99\2\0yy", 6); /* another field in front */
        put_u16(b, 1);
        put_u16(b, 24);
        dx_buf_u64(b, 5);
        dx_buf_u64(b, 5);
        dx_buf_u64(b, 0);
    }
    dx_buf_str(b, "co");
    end = b->size;
    if (big) {
        dx_buf_append(b, "PK\6\6\54\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
        dx_buf_u64(b, 1);
        dx_buf_u64(b, 1);
        dx_buf_u64(b, end - directory);
        dx_buf_u64(b, directory);
        dx_buf_append(b, "PK\6\7\0\0\0\0", 8);
        dx_buf_u64(b, end);
        dx_buf_u32(b, 1);
    }
    dx_buf_append(b, "PK\5\6\0\0\0\0\1\0\1\0", 12);
    dx_buf_u32(b, big ? in_field : (uint32_t)(end - directory));
    dx_buf_u32(b, big ? in_field : (uint32_t)directory);
    put_u16(b, 6);
    dx_buf_str(b, "PK\5\6!!"); /* a comment that looks like another end */
}

static struct dx_span all(const struct dx_buf *b)
{
    return dx_span_of(b->data, b->size);
}

static void test_member(bool big)
{
    struct dx_buf b = DX_BUF_INIT(4096);
    struct dx_zip_directory dir;
    struct dx_zip_member m;
    struct dx_bytes rest;
    uint64_t offset = 0;
    const char *why;

    put_archive(&b, big, 0, 0);
    why = dx_zip_end(all(&b), b.size, &dir);
    CHECK(why == NULL, "%d: %s", big, why == NULL ? "" : why);
    for (size_t begin = 1; why == NULL && begin <= dir.offset;
         begin++) { /* only the end is at hand */
        struct dx_zip_directory same = { 0, 0 };

        CHECK(dx_zip_end(dx_span_of(b.data + begin, b.size - begin), b.size, &same) == NULL &&
                  same.offset == dir.offset && same.size == dir.size,
              "%d: of the bytes from %zu on", big, begin);
    }
    if (why == NULL) {
        rest = dx_bytes_of(dx_span_of(b.data + dir.offset, (size_t)dir.size));
        CHECK(dx_zip_next(&rest, &m) == 1 && dx_span_equal(m.name, dx_span_str(NAME)) &&
                  m.is_stored && m.size == 5 && m.local == 0,
              "%d: its member", big);
        CHECK(dx_zip_next(&rest, &m) == 0, "%d: the end of its directory", big);
        CHECK(dx_zip_data(all(&b), &m, &offset) == NULL && memcmp(b.data + offset, "hello", 5) == 0,
              "%d: data at %llu", big, (unsigned long long)offset);
        CHECK(dx_zip_data(dx_span_of(b.data + 1, b.size - 1), &m, &offset) != NULL,
              "%d: no local header", big);
    }
    dx_buf_release(&b);
}

static void test_not_stored(void)
{
    static const unsigned rows[][2] = { { 1, 0 }, { 0, 8 }, { 0x801, 93 } };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_buf b = DX_BUF_INIT(4096);
        struct dx_zip_directory dir = { 0, 0 };
        struct dx_zip_member m = { .is_stored = true };
        struct dx_bytes rest;

        put_archive(&b, false, rows[i][0], rows[i][1]);
        CHECK(dx_zip_end(all(&b), b.size, &dir) == NULL, "row %zu", i);
        rest = dx_bytes_of(dx_span_of(b.data + dir.offset, (size_t)dir.size));
        CHECK(dx_zip_next(&rest, &m) == 1 && !m.is_stored, "row %zu: stored", i);
        dx_buf_release(&b);
    }
}

/* Cut at any byte of its end it is refused, and so is every number that leads out of it. */
static void test_damaged(bool big)
{
    struct dx_buf b = DX_BUF_INIT(4096);
    struct dx_zip_directory dir;

    put_archive(&b, big, 0, 0);
    for (size_t n = 0; n < b.size; n++)
        CHECK(dx_zip_end(dx_span_of(b.data, n), n, &dir) != NULL, "%d: cut at %zu", big, n);
    CHECK(dx_zip_end(all(&b), b.size, &dir) == NULL, "%d: sound", big);
    for (size_t n = (size_t)dir.offset; n < b.size; n++) {
        struct dx_zip_directory other;
        struct dx_zip_member m;
        struct dx_bytes rest;

        b.data[n] ^= 0xff;
        if (dx_zip_end(all(&b), b.size, &other) == NULL) {
            CHECK(other.offset <= b.size && other.size <= b.size - other.offset,
                  "%d: byte %zu: a directory outside", big, n);
            rest = dx_bytes_of(dx_span_of(b.data + other.offset, (size_t)other.size));
            while (dx_zip_next(&rest, &m) > 0)
                CHECK(m.name.size <= b.size, "%d: byte %zu: a name outside", big, n);
        }
        b.data[n] ^= 0xff;
    }
    dx_buf_release(&b);
}

int main(void)
{
    test_member(false);
    test_member(true);
    test_not_stored();
    test_damaged(false);
    test_damaged(true);
    return failures > 0;
}
