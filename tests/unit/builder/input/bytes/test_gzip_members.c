/* SPDX-License-Identifier: Apache-2.0
 * test_gzip_members.c - a gzip member that is decompressed at once yields what it yields in steps, ends where it ends there, and is
 * refused where it is refused there; which members are taken at once, and what a caller is asked to read ahead.
 */
#include "builder/input/bytes/container.h"

#include <stdio.h>
#include <stdlib.h>

#define CHECK(that)                                           \
    do {                                                      \
        if (!(that)) {                                        \
            printf("line %d, %s: %s\n", __LINE__, of, #that); \
            failures++;                                       \
        }                                                     \
    } while (0)
#define ROOM (64u << 10)

static int failures;

enum head { PLAIN, NAMED, SUMMED };

/* Text that gzip makes a fifth of. */
static void fill(uint8_t *to, size_t n)
{
    uint32_t x = 7;

    for (size_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        to[i] = (uint8_t)("etaoin "[(x >> 24) % 7]);
    }
}

static void add_member(struct dx_buf *to, size_t n, enum head head)
{
    uint8_t *text = malloc(n + 1);
    z_stream z = { 0 };
    gz_header h = { .name = (Bytef *)(uintptr_t) "rows.tsv", .hcrc = head == SUMMED };
    size_t bound;
    uint8_t *room;

    fill(text, n);
    if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
        (head != PLAIN && deflateSetHeader(&z, &h) != Z_OK))
        abort();
    bound = deflateBound(&z, n) + 64;
    room = dx_buf_reserve(to, bound);
    z.next_in = text;
    z.avail_in = (uInt)n;
    z.next_out = room;
    z.avail_out = (uInt)bound;
    if (room == NULL || deflate(&z, Z_FINISH) != Z_STREAM_END)
        abort();
    to->size += bound - z.avail_out;
    (void)deflateEnd(&z);
    free(text);
}

struct seen {
    struct dx_buf out;
    int rc;      /* of the last step; DX_E_TRUNCATED: it asks for more bytes than there are */
    size_t left; /* bytes that were not taken */
    bool at_once;
};

static struct seen read_members(struct dx_span from, size_t step, size_t room_size,
                                struct dx_error *err)
{
    struct seen s = { .out = DX_BUF_INIT(64u << 20) };
    struct dx_container c;

    s.rc = dx_container_open(&c, DX_CONTAINER_GZIP, 1 << 20, err);
    while (s.rc >= 0 && from.size > 0) {
        bool is_starved = false;

        s.rc = dx_container_reset(&c, err);
        while (s.rc == 0) {
            struct dx_span in = dx_span_of(from.data, from.size < step ? from.size : step);
            uint8_t *to = dx_buf_reserve(&s.out, room_size);
            struct dx_container_room room = { to, room_size };
            size_t before = in.size;

            if (to == NULL)
                abort();
            s.rc = dx_container_step(&c, &in, &room, err);
            s.at_once = s.at_once || dx_container_holds(&c);
            from = dx_span_from(from, before - in.size);
            s.out.size += room_size - room.size;
            if (s.rc == 0 && is_starved && room.size == room_size)
                s.rc = DX_E_TRUNCATED;
            is_starved = from.size == 0;
        }
    }
    s.left = from.size;
    dx_container_close(&c);
    return s;
}

/* By small steps nothing is taken at once: zlib's verdict. */
static void compare(const char *of, const struct dx_buf *packed, bool at_once)
{
    struct dx_error one = DX_ERROR_INIT, all = DX_ERROR_INIT;
    struct dx_span from = dx_span_of(packed->data, packed->size);
    struct seen steps = read_members(from, 1 + from.size / 50000, ROOM, &one);
    struct seen whole = read_members(from, from.size, ROOM, &all);

    CHECK(!steps.at_once && whole.at_once == at_once);
    CHECK(steps.rc == whole.rc && steps.left == whole.left);
    CHECK(strcmp(one.text, all.text) == 0);
    CHECK(dx_span_equal(dx_span_of(steps.out.data, steps.out.size),
                        dx_span_of(whole.out.data, whole.out.size)));
    dx_buf_release(&steps.out);
    dx_buf_release(&whole.out);
}

static void damaged(void)
{
    static const struct {
        const char *of;
        size_t from_end; /* of the first member */
    } rows[] = { { "a byte of the size", 1 }, { "of the checksum", 8 }, { "of the data", 9000 } };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_buf b = DX_BUF_INIT(8u << 20);

        add_member(&b, 200000, PLAIN);
        b.data[b.size - rows[i].from_end] ^= 0x10;
        add_member(&b, 10, PLAIN);
        compare(rows[i].of, &b, false);
        dx_buf_release(&b);
    }
    for (size_t cut = 1; cut < 4000; cut += 37) {
        struct dx_buf b = DX_BUF_INIT(8u << 20);

        add_member(&b, 20000, PLAIN);
        b.size -= cut < b.size ? cut : b.size - 2;
        compare("cut short", &b, false);
        dx_buf_release(&b);
    }
}

static void sound(void)
{
    static const struct {
        const char *of;
        size_t n;
        enum head head;
        bool at_once;
    } rows[] = { { "empty", 0, PLAIN, false },
                 { "small: nothing is left for a second step", 100, PLAIN, false },
                 { "some steps of room", 3 * ROOM + 5, PLAIN, true },
                 { "with a name", 2 * ROOM, NAMED, true },
                 { "with a checksum of the header", 2 * ROOM, SUMMED, false },
                 { "the largest", DX_CONTAINER_WHOLE_MAX, PLAIN, true },
                 { "too large", DX_CONTAINER_WHOLE_MAX + 1, PLAIN, false } };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_buf b = DX_BUF_INIT(32u << 20);

        add_member(&b, rows[i].n, rows[i].head);
        compare(rows[i].of, &b, rows[i].at_once);
        add_member(&b, 0, PLAIN);
        add_member(&b, 1000, PLAIN);
        compare(rows[i].of, &b, rows[i].at_once);
        dx_buf_release(&b);
    }
}

/* One step. */
static int step(struct dx_container *c, struct dx_span *from, size_t room_size)
{
    static uint8_t to[ROOM];
    struct dx_container_room room = { to, room_size };

    return dx_container_step(c, from, &room, NULL);
}

/* One step of a member. */
static void begin(struct dx_container *c, const struct dx_buf *member, size_t room_size)
{
    struct dx_span from = dx_span_of(member->data, member->size);

    if (dx_container_reset(c, NULL) < 0 || step(c, &from, room_size) != 0)
        abort();
}

static void read_ahead(void)
{
    const char *of = "bytes to read ahead";
    struct dx_buf small = DX_BUF_INIT(1u << 20);
    struct dx_buf medium = DX_BUF_INIT(1u << 20);
    struct dx_buf large = DX_BUF_INIT(32u << 20);
    struct dx_container c;
    struct dx_span from;

    add_member(&small, 2 * ROOM, PLAIN);
    add_member(&medium, 800000, PLAIN);
    add_member(&large, DX_CONTAINER_WHOLE_MAX + 1, PLAIN);
    if (dx_container_open(&c, DX_CONTAINER_GZIP, 1 << 20, NULL) < 0)
        abort();
    CHECK(dx_container_ahead(&c) == 64u << 10); /* of the first member nothing is known */
    begin(&c, &medium, DX_CONTAINER_WHOLE_ROOM - 1);
    CHECK(!dx_container_holds(&c) && dx_container_ahead(&c) == 0);
    begin(&c, &medium, ROOM);
    CHECK(dx_container_holds(&c) && dx_container_ahead(&c) == 0);
    if (dx_container_reset(&c, NULL) < 0)
        abort();
    CHECK(!dx_container_holds(&c) && dx_container_ahead(&c) == medium.size + medium.size / 8);
    begin(&c, &small, ROOM); /* fewer bytes than the member before had: more may come */
    CHECK(!dx_container_holds(&c));
    begin(&c, &large, ROOM);
    if (dx_container_reset(&c, NULL) < 0)
        abort();
    CHECK(dx_container_ahead(&c) == 0); /* as large as the one before, it would be for nothing */
    from = dx_span_of(small.data, small.size);
    CHECK(step(&c, &from, ROOM) == 0 && !dx_container_holds(&c));
    while (step(&c, &from, ROOM) == 0)
        CHECK(!dx_container_holds(&c));
    begin(&c, &small, ROOM);
    CHECK(dx_container_holds(&c));
    dx_container_close(&c);
    dx_buf_release(&small);
    dx_buf_release(&medium);
    dx_buf_release(&large);
}

int main(void)
{
    sound();
    damaged();
    read_ahead();
    return failures > 0;
}
