/* SPDX-License-Identifier: Apache-2.0
 * test_container.c - zstd frames whose header states another size than they have are damaged, whatever the size of the steps;
 * streams of xz and dictionaries of zstd that are not sound.
 */
#include "builder/input/bytes/container.h"

#include <stdio.h>
#include <string.h>
#include <zstd.h>

#define FRAME(fcs) "\x28\xB5\x2F\xFD\x20" fcs /* one segment, a byte of size */
#define UNSTATED "\x28\xB5\x2F\xFD\x00\x48"   /* no size, a window of 512 KB */
#define ABC "\x18\0\0abc"                     /* a raw block of three bytes */
#define ABC_LAST "\x19\0\0abc"
#define EMPTY_LAST "\x01\0\0" /* behind it libzstd does not compare */
#define BYTES(s) (s), sizeof(s) - 1

#define STEP_LEAST 8 /* what begins a file is recognised by so many bytes of it */

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
static int read_kind(enum dx_container_kind kind, struct dx_span from, size_t step,
                     struct dx_error *err)
{
    struct dx_container c;
    uint8_t out[64];
    int total = 0, rc = dx_container_open(&c, kind, 1 << 20, err);

    while (rc >= 0 && from.size > 0) {
        rc = dx_container_reset(&c, err);
        for (int i = 0; rc == 0 && i < 100; i++) {
            struct dx_span in = dx_span_of(from.data, from.size < step ? from.size : step);
            struct dx_container_room room = { out, sizeof out };
            size_t before = in.size;

            rc = dx_container_step(&c, &in, &room, err);
            from = dx_span_of(from.data + (before - in.size), from.size - (before - in.size));
            total += (int)(sizeof out - room.size);
        }
        if (rc == 0)
            rc = -2;
    }
    dx_container_close(&c);
    return rc < 0 ? (rc == -2 ? -2 : -1) : total;
}

static int read_members(struct dx_span from, size_t step)
{
    return read_kind(DX_CONTAINER_ZSTD, from, step, NULL);
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

/* xz streams and zstd dictionaries; what is refused says why. */
static const struct {
    const char *name;
    enum dx_container_kind kind;
    const char *bytes;
    size_t size;
    int yields;       /* -1: refused */
    const char *says; /* the message has it */
} others[] = {
#define XZ(size, sum)                                                                  \
    "\xfd\x37\x7a\x58\x5a\0\0\x01\x69\x22\xde\x36\x02\0\x21\x01" size "\0\0\0" sum     \
    "\x01\0\x02\x61\x62\x63\0\0\xc2\x41\x24\x35\0\x01\x17\x03\x07\x60\x0c\xbc\x90\x42" \
    "\x99\x0d\x01\0\0\0\0\x01\x59\x5a"
    { "xz", DX_CONTAINER_XZ, BYTES(XZ("\x0c", "\x8f\x98\x41\x9c")), 3, NULL },
    { "xz of a large window", DX_CONTAINER_XZ, BYTES(XZ("\x1c", "\x10\xcf\x58\xcc")), -1,
      "window" },
    { "xz with another sum", DX_CONTAINER_XZ, BYTES(XZ("\x0c", "\x8f\x98\x41\x9d")), -1,
      "bad xz data" },
    { "xz of unknown options", DX_CONTAINER_XZ,
      BYTES("\xfd\x37\x7a\x58\x5a\0\x01\x01\x28\x13\xc5\x2f"), -1,
      "an xz stream with unknown options" },
    { "xz with an unknown checksum", DX_CONTAINER_XZ,
      BYTES("\xfd\x37\x7a\x58\x5a\0\0\x02\xd3\x73\xd7\xaf"), -1,
      "an xz stream with an unknown checksum" },
    /* of type 13, which in front of a file is the dictionary of its frames */
    { "an empty dictionary", DX_CONTAINER_ZSTD,
      BYTES("\x5d\x2a\x4d\x18\0\0\0\0" FRAME("\x03") ABC_LAST), 3, NULL },
    { "a dictionary of another kind", DX_CONTAINER_ZSTD,
      BYTES("\x5d\x2a\x4d\x18\x03\0\0\0xyz" FRAME("\x03") ABC_LAST), 3, NULL },
    { "a broken dictionary", DX_CONTAINER_ZSTD,
      BYTES("\x5d\x2a\x4d\x18\x08\0\0\0\x37\xa4\x30\xec\x01\0\0\0" FRAME("\x03") ABC_LAST), -1,
      "the dictionary in front: it is damaged" },
    { "a packed dictionary that is cut", DX_CONTAINER_ZSTD,
      BYTES("\x5d\x2a\x4d\x18\x06\0\0\0" FRAME("\x03") FRAME("\x03") ABC_LAST), -1,
      "the dictionary is not whole" },
    { "a packed dictionary that is damaged", DX_CONTAINER_ZSTD,
      BYTES("\x5d\x2a\x4d\x18\x09\0\0\0" FRAME("\x03") "\x07\0\0" FRAME("\x03") ABC_LAST), -1,
      "the dictionary in front" },
    { "another skippable frame", DX_CONTAINER_ZSTD,
      BYTES("\x50\x2a\x4d\x18\x03\0\0\0xyz" FRAME("\x03") ABC_LAST), 3, NULL },
#undef XZ
};

static void check_others(void)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        for (size_t step = STEP_LEAST; step <= others[i].size; step++) {
            struct dx_error err = DX_ERROR_INIT;
            int got = read_kind(others[i].kind,
                                dx_span_of((const uint8_t *)others[i].bytes, others[i].size), step,
                                &err);

            if (got == others[i].yields &&
                (others[i].says == NULL || strstr(err.text, others[i].says) != NULL))
                continue;
            printf("%s, steps of %zu: %d, want %d: %s\n", others[i].name, step, got,
                   others[i].yields, err.text);
            failures++;
        }
}

int main(void)
{
    check_others();
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
