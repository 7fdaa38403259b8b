/* SPDX-License-Identifier: Apache-2.0
 * test_container.c - zstd frames whose header states another size than they have are damaged, whatever the size of the steps.
 */
#include "builder/input/bytes/container.h"

#include <stdio.h>
#include <zstd.h>

#define FRAME(fcs) "\x28\xB5\x2F\xFD\x20" fcs /* one segment, a byte of size */
#define UNSTATED "\x28\xB5\x2F\xFD\x00\x48"   /* no size, a window of 512 KB */
#define ABC "\x18\0\0abc"                     /* a raw block of three bytes */
#define ABC_LAST "\x19\0\0abc"
#define EMPTY_LAST "\x01\0\0" /* behind it libzstd does not compare */
#define BYTES(s) (s), sizeof(s) - 1

static int failures;

static const struct {
    const char *name;
    const char *bytes;
    size_t size;
    size_t yields; /* 0: damaged */
} rows[] = {
    { "as stated, last block empty", BYTES(FRAME("\x03") ABC EMPTY_LAST), 3 },
    { "as stated", BYTES(FRAME("\x06") ABC ABC_LAST), 6 },
    { "no size", BYTES(UNSTATED ABC EMPTY_LAST), 3 },
    { "states more, last block empty", BYTES(FRAME("\x05") ABC EMPTY_LAST), 0 },
    { "states more", BYTES(FRAME("\x05") ABC_LAST), 0 },
    { "states fewer, last block empty", BYTES(FRAME("\x02") ABC EMPTY_LAST), 0 },
    { "states fewer", BYTES(FRAME("\x05") ABC ABC_LAST), 0 },
    { "states some, has none", BYTES(FRAME("\x01") EMPTY_LAST), 0 },
};

/* Bytes of all members; -1: damaged; -2: they do not end. */
static int read_members(struct dx_span from, size_t step)
{
    struct dx_container c;
    uint8_t out[64];
    int total = 0, rc = dx_container_open(&c, DX_CONTAINER_ZSTD, 1 << 20, NULL);

    while (rc >= 0 && from.size > 0) {
        rc = dx_container_reset(&c, NULL);
        for (int i = 0; rc == 0 && i < 100; i++) {
            struct dx_span in = dx_span_of(from.data, from.size < step ? from.size : step);
            struct dx_container_room room = { out, sizeof out };
            size_t before = in.size;

            rc = dx_container_step(&c, &in, &room, NULL);
            from = dx_span_of(from.data + (before - in.size), from.size - (before - in.size));
            total += (int)(sizeof out - room.size);
        }
        if (rc == 0)
            rc = -2;
    }
    dx_container_close(&c);
    return rc < 0 ? (rc == -2 ? -2 : -1) : total;
}

static void check(const char *name, const void *bytes, size_t size, int want)
{
    for (size_t step = 1; step <= size + 1; step++) {
        int got = read_members(dx_span_of(bytes, size), step);

        if (got != want) {
            printf("%s, steps of %zu: %d, want %d\n", name, step, got, want);
            failures++;
        }
    }
}

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char two[64];

        check(rows[i].name, rows[i].bytes, rows[i].size,
              rows[i].yields > 0 ? (int)rows[i].yields : -1);
        memcpy(two, BYTES(FRAME("\x03") ABC_LAST)); /* what the frame before states is forgotten */
        memcpy(two + 12, rows[i].bytes, rows[i].size);
        check(rows[i].name, two, 12 + rows[i].size,
              rows[i].yields > 0 ? 3 + (int)rows[i].yields : -1);
    }
    return failures > 0;
}
