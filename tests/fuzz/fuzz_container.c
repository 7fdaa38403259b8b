/* SPDX-License-Identifier: Apache-2.0
 * fuzz_container.c - members of each kind of compression yield the same bytes, and end the same way,
 * whatever the size of the steps. First byte: sizes of the steps.
 */
#include "builder/input/bytes/container.h"

#include <stdio.h>
#include <stdlib.h>

#define WINDOW_MAX ((uint64_t)1 << 20)
#define OUT_MAX ((size_t)4 << 20)
#define FIRST_MIN 4 /* the caller that found the kind has its magic number, and gives all of it */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void die(const char *why)
{
    fprintf(stderr, "fuzz_container: %s\n", why);
    abort();
}

/* One member, to its end, to damage, or to the end of the bytes; then -2: it goes on. */
static int read_member(struct dx_container *c, struct dx_span *from, size_t in_max, size_t out_max,
                       struct dx_buf *out)
{
    int rc = dx_container_reset(c, NULL);
    bool starved = false, first = true;

    while (rc == 0 && out->size < OUT_MAX) {
        size_t most = first && in_max < FIRST_MIN ? FIRST_MIN : in_max;
        size_t n = from->size < most ? from->size : most;
        struct dx_span in = dx_span_of(from->data, n);
        uint8_t *to = dx_buf_reserve(out, out_max);
        struct dx_container_room room = { to, out_max };

        if (to == NULL)
            die("out of memory");
        rc = dx_container_step(c, &in, &room, NULL);
        if (in.size > n || room.size > out_max || in.data != from->data + (n - in.size) ||
            room.data != to + (out_max - room.size))
            die("a step left its bytes or its room");
        out->size += out_max - room.size;
        *from = dx_span_of(in.data, from->size - (n - in.size));
        if (rc == 0 && starved && room.size == out_max)
            return -2;
        starved = from->size == 0;
        first = false;
    }
    return rc == 1 ? 1 : rc < 0 ? -1 : 0;
}

static int read_all(struct dx_span from, size_t in_max, size_t out_max, struct dx_buf *out)
{
    enum dx_container_kind kind = dx_container_find(from);
    struct dx_container c;
    int rc = 1;

    if (dx_container_open(&c, kind, WINDOW_MAX, NULL) < 0)
        die("out of memory");
    while (rc == 1 && from.size > 0 && dx_container_begins(kind, from))
        rc = read_member(&c, &from, in_max, out_max, out);
    dx_container_close(&c);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_buf a = DX_BUF_INIT(2 * OUT_MAX);
    struct dx_buf b = DX_BUF_INIT(2 * OUT_MAX);
    int whole, parts;

    if (size < 1 || size > 1 << 16 ||
        dx_container_find(dx_span_of(data + 1, size - 1)) == DX_CONTAINER_NONE)
        return 0;
    whole = read_all(dx_span_of(data + 1, size - 1), size, 64 << 10, &a);
    parts = read_all(dx_span_of(data + 1, size - 1), 1 + data[0] % 16, 1000 + data[0], &b);
    if (whole == 1 && (parts != 1 || a.size != b.size || memcmp(a.data, b.data, a.size) != 0))
        die("other bytes with other steps");
    /* libzstd refuses a compressed block of no bytes where it has the whole frame, and passes over it in steps. */
    if ((whole < 0) != (parts < 0) && whole != 0 && parts != 0 &&
        (dx_container_find(dx_span_of(data + 1, size - 1)) != DX_CONTAINER_ZSTD ||
         a.size != b.size))
        die("damage depends on the size of the steps");
    dx_buf_release(&a);
    dx_buf_release(&b);
    return 0;
}
