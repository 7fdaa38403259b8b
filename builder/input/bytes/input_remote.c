/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/bytes/input_remote.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "builder/input/bytes/input_ranges.h"

struct dx_input_remote {
    struct dx_input_ranges *ranges;
    struct dx_buf window; /* bytes [at, size) are still to be read */
    size_t at;
    uint64_t offset; /* of the object: the window ends there */
};

int dx_input_remote_open(struct dx_input_remote **out, const char *url, struct dx_error *err)
{
    struct dx_input_remote *r = calloc(1, sizeof *r);
    int rc;

    *out = NULL;
    if (r == NULL)
        return dx_no_memory(err, "input");
    dx_buf_init(&r->window, DX_INPUT_WINDOW);
    rc = dx_input_ranges_open(&r->ranges, url, err);
    if (rc < 0)
        dx_input_remote_close(&r);
    *out = r;
    return rc;
}

void dx_input_remote_close(struct dx_input_remote **out)
{
    if (*out == NULL)
        return;
    dx_input_ranges_close(&(*out)->ranges);
    dx_buf_release(&(*out)->window);
    free(*out);
    *out = NULL;
}

static int read_window(struct dx_input_remote *r, struct dx_error *err)
{
    uint64_t left = dx_input_ranges_size(r->ranges) - r->offset;
    size_t bytes = left < DX_INPUT_WINDOW ? (size_t)left : DX_INPUT_WINDOW;
    uint8_t *to;
    int rc;

    dx_buf_clear(&r->window);
    r->at = 0;
    to = dx_buf_reserve(&r->window, bytes);
    if (to == NULL)
        return dx_no_memory(err, "%s", dx_input_ranges_name(r->ranges));
    rc = dx_input_ranges_read(r->ranges, r->offset, bytes, to, err);
    if (rc < 0)
        return rc;
    r->window.size = bytes;
    r->offset += bytes;
    return DX_OK;
}

ssize_t dx_input_remote_read(struct dx_input_remote *r, uint8_t *to, size_t size,
                             struct dx_error *err)
{
    if (r->at == r->window.size && r->offset < dx_input_ranges_size(r->ranges)) {
        int rc = read_window(r, err);

        if (rc < 0)
            return rc;
    }
    if (size > r->window.size - r->at)
        size = r->window.size - r->at;
    if (size > 0)
        memcpy(to, r->window.data + r->at, size);
    r->at += size;
    return (ssize_t)size;
}

void dx_input_remote_seek(struct dx_input_remote *r, uint64_t offset)
{
    uint64_t begin = r->offset - r->window.size;

    if (offset >= begin && offset <= r->offset) {
        r->at = (size_t)(offset - begin);
    } else {
        dx_buf_clear(&r->window);
        r->at = 0;
        r->offset = offset;
    }
}

uint64_t dx_input_remote_total(const struct dx_input_remote *r)
{
    return dx_input_ranges_size(r->ranges);
}
