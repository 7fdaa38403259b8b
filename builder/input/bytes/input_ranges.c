/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/bytes/input_ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "builder/root/root.h"

#define AT_ONCE (DX_INPUT_WINDOW / DX_INPUT_CHUNK)

struct dx_input_ranges {
    char *name; /* for messages */
    int fd;     /* of a file; -1: an object */
    uint64_t size;
    struct dx_root root;
    char *object;
    struct dx_buf whole; /* of a small object */
    bool is_whole;
    char etag
        [DX_SOURCE_ETAG]; /* of the first reply, and demanded of all; "": the store gives none */
};

/* n ranges from offset on, of a chunk each but for the last one: all of them, or an error. A reply
 * that is shorter is one of another object, or was cut: never the end. */
static int read_ranges(struct dx_input_ranges *r, uint64_t offset, size_t size, uint8_t *to,
                       struct dx_error *err)
{
    size_t n = (size + DX_INPUT_CHUNK - 1) / DX_INPUT_CHUNK;
    struct dx_read reads[AT_ONCE];
    struct dx_pin pins[AT_ONCE];
    struct dx_seen seen[AT_ONCE];
    struct dx_source_batch_report report = { .seen = seen };
    const struct dx_source_batch batch = {
        .reads = reads, .pins = pins, .count = n, .report = &report
    };
    int rc;

    for (size_t i = 0; i < n; i++) {
        size_t at = i * DX_INPUT_CHUNK;
        size_t bytes = size - at < DX_INPUT_CHUNK ? size - at : DX_INPUT_CHUNK;

        reads[i] = (struct dx_read){ r->object, offset + at, bytes, to + at };
        pins[i] = (struct dx_pin){ r->size, r->etag[0] == '\0' ? NULL : r->etag };
    }
    rc = dx_source_read_batch(r->root.source, &batch, err);
    if (rc < 0 || r->size > 0)
        return rc;
    r->size = seen[0].total;
    memcpy(r->etag, seen[0].etag, sizeof r->etag);
    return r->size > 0
               ? DX_OK
               : dx_fail(err, DX_E_CORRUPT, "the store does not say how long the object is");
}

/* The whole object if it is small; else one byte, whose reply says of the object what is demanded
 * of all other replies. */
static int begin_object(struct dx_input_ranges *r, struct dx_error *err)
{
    const struct dx_get get = { .object = r->object, .cap = DX_INPUT_CHUNK };
    struct dx_error why = DX_ERROR_INIT;
    int rc = dx_source_get(r->root.source, &get, &r->whole, r->etag, &why);
    uint8_t first;

    if (rc == DX_E_LIMIT) {
        dx_buf_release(&r->whole);
        r->etag[0] = '\0'; /* of a reply that was not read */
        return read_ranges(r, 0, 1, &first, err);
    }
    if (rc < 0 && err != NULL)
        *err = why;
    r->is_whole = true;
    r->size = r->whole.size;
    return rc < 0 ? rc : DX_OK;
}

static int open_object(struct dx_input_ranges *r, const char *url, struct dx_error *err)
{
    char *root = NULL;
    int rc = dx_root_split(url, &root, &r->object, err);

    if (rc == DX_OK)
        rc = dx_root_open(&r->root, root, DX_ROOT_READ, err);
    free(root);
    return rc;
}

static int open_file(struct dx_input_ranges *r, const char *path, struct dx_error *err)
{
    struct stat st;

    r->fd = dx_file_open_input(path, &st, err);
    if (r->fd < 0)
        return r->fd;
    if (!S_ISREG(st.st_mode))
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "%s: not a regular file, so it cannot be read by ranges", path);
    r->size = (uint64_t)st.st_size;
    return DX_OK;
}

/* Nothing of an object is asked yet. */
static int new_ranges(struct dx_input_ranges **out, const char *path, struct dx_error *err)
{
    struct dx_input_ranges *r = calloc(1, sizeof *r);
    char shown[DX_ROOT_SHOWN];
    int rc;

    *out = NULL;
    if (r == NULL)
        return dx_no_memory(err, "input");
    r->fd = -1;
    r->root = (struct dx_root)DX_ROOT_INIT;
    dx_buf_init(&r->whole, DX_INPUT_CHUNK);
    r->name = strdup(dx_root_shown(path, shown));
    if (r->name == NULL)
        rc = dx_no_memory(err, "input");
    else
        rc = dx_source_remote(path) ? open_object(r, path, err) : open_file(r, path, err);
    if (rc < 0)
        dx_input_ranges_close(&r);
    *out = r;
    return rc;
}

int dx_input_ranges_open(struct dx_input_ranges **out, const char *path, struct dx_error *err)
{
    int rc = new_ranges(out, path, err);

    if (rc == DX_OK && (*out)->fd < 0 && (rc = begin_object(*out, err)) < 0) {
        (void)dx_fail_in(err, "%s", (*out)->name);
        dx_input_ranges_close(out);
    }
    return rc;
}

void dx_input_ranges_close(struct dx_input_ranges **out)
{
    struct dx_input_ranges *r = *out;

    if (r == NULL)
        return;
    if (r->fd >= 0)
        (void)close(r->fd);
    dx_root_close(&r->root);
    dx_buf_release(&r->whole);
    free(r->object);
    free(r->name);
    free(r);
    *out = NULL;
}

uint64_t dx_input_ranges_size(const struct dx_input_ranges *r)
{
    return r->size;
}

const char *dx_input_ranges_name(const struct dx_input_ranges *r)
{
    return r->name;
}

static int read_file(struct dx_input_ranges *r, uint64_t offset, size_t size, uint8_t *to,
                     struct dx_error *err)
{
    while (size > 0) {
        ssize_t n = pread(r->fd, to, size, (off_t)offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return dx_fail_errno(err, errno, "%s: read at offset %llu", r->name,
                                 (unsigned long long)offset);
        if (n == 0)
            return dx_fail(err, DX_E_TRUNCATED, "%s: became shorter while it was read", r->name);
        offset += (uint64_t)n;
        size -= (size_t)n;
        to += n;
    }
    return DX_OK;
}

int dx_input_ranges_read(struct dx_input_ranges *r, uint64_t offset, size_t size, uint8_t *to,
                         struct dx_error *err)
{
    int rc = DX_OK;

    if (offset > r->size || size > r->size - offset)
        return dx_fail(err, DX_E_TRUNCATED, "%s: %zu bytes at offset %llu of %llu", r->name, size,
                       (unsigned long long)offset, (unsigned long long)r->size);
    if (r->fd >= 0)
        return read_file(r, offset, size, to, err);
    if (r->is_whole && size > 0)
        memcpy(to, r->whole.data + offset, size);
    while (rc == DX_OK && !r->is_whole && size > 0) {
        size_t n = size < DX_INPUT_WINDOW ? size : DX_INPUT_WINDOW;

        rc = read_ranges(r, offset, n, to, err);
        if (rc < 0)
            return dx_fail_in(err, "%s: at offset %llu", r->name, (unsigned long long)offset);
        offset += n;
        size -= n;
        to += n;
    }
    return rc;
}

int dx_input_range_read(const char *path, uint64_t offset, size_t size, uint8_t *to,
                        struct dx_error *err)
{
    struct dx_input_ranges *r = NULL;
    int rc = new_ranges(&r, path, err);

    if (rc < 0 || r->fd >= 0) {
        rc = rc < 0 ? rc : dx_input_ranges_read(r, offset, size, to, err);
        dx_input_ranges_close(&r);
        return rc;
    }
    while (rc == DX_OK && size > 0) {
        size_t n = size < DX_INPUT_WINDOW ? size : DX_INPUT_WINDOW;

        rc = read_ranges(r, offset, n, to, err);
        offset += n;
        size -= n;
        to += n;
    }
    if (rc < 0)
        (void)dx_fail_in(err, "%s: bytes before offset %llu", r->name, (unsigned long long)offset);
    dx_input_ranges_close(&r);
    return rc;
}
