/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input_remote.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "builder/remote_root.h"

#define AT_ONCE (DX_INPUT_WINDOW / DX_INPUT_CHUNK)

struct dx_input_remote {
    char *url; /* for words */
    char *object;
    struct dx_remote_root root;
    struct dx_buf window; /* bytes [at, size) are still to be read */
    size_t at;
    bool begun;
    uint64_t offset; /* of the object: the window ends there */
    uint64_t total;  /* of the object; with the ETag from the first reply, and demanded of all */
    char etag[DX_SOURCE_ETAG]; /* "": the store gives none */
};

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* In place; false: a % without two digits behind it, or %00. */
static bool percent_decode(char *text)
{
    char *to = text;

    for (const char *from = text; *from != '\0'; from++) {
        if (*from == '%') {
            int high = hex(from[1]);
            int low = high < 0 ? -1 : hex(from[2]);

            if (low < 0 || high * 16 + low == 0)
                return false;
            *to++ = (char)(high * 16 + low);
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
    return true;
}

int dx_input_remote_split(const char *url, char **root, char **object, struct dx_error *err)
{
    bool is_s3 = strncasecmp(url, "s3://", 5) == 0;
    const char *host = strstr(url, "://");
    const char *slash = host == NULL ? NULL : strrchr(host + 3, '/');
    char shown[DX_REMOTE_SHOWN];

    *root = NULL;
    *object = NULL;
    (void)dx_remote_shown(url, shown);
    if (!is_s3 && strpbrk(url, "?#") != NULL)
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "%s: an address with '?' or '#' cannot be read by ranges here; fetch it "
                       "first: curl -fsS URL | domaindex ingest ... -",
                       shown);
    if (slash == NULL || slash == host + 3 || slash[1] == '\0')
        return dx_fail(err, DX_E_INVALID, "%s: names no object", shown);
    *root = strndup(url, (size_t)(slash - url));
    *object = strdup(slash + 1);
    if (*root != NULL && *object != NULL && (is_s3 || percent_decode(*object)) &&
        dx_object_name_valid(*object))
        return DX_OK;
    free(*root);
    free(*object);
    *root = NULL;
    *object = NULL;
    return dx_fail(err, DX_E_INVALID,
                   "%s: its last part is not the plain name of an object; fetch it first", shown);
}

int dx_input_remote_open(struct dx_input_remote **out, const char *url, struct dx_error *err)
{
    struct dx_input_remote *r = calloc(1, sizeof *r);
    char shown[DX_REMOTE_SHOWN];
    char *root = NULL;
    int rc;

    *out = NULL;
    if (r == NULL)
        return dx_fail(err, DX_E_NOMEM, "input: out of memory");
    dx_buf_init(&r->window, DX_INPUT_WINDOW);
    r->url = strdup(dx_remote_shown(url, shown));
    rc = r->url == NULL ? dx_fail(err, DX_E_NOMEM, "input: out of memory")
                        : dx_input_remote_split(url, &root, &r->object, err);
    if (rc == DX_OK)
        rc = dx_remote_root_open(&r->root, root, DX_REMOTE_READ, err);
    free(root);
    if (rc < 0)
        dx_input_remote_close(&r);
    *out = r;
    return rc;
}

void dx_input_remote_close(struct dx_input_remote **out)
{
    struct dx_input_remote *r = *out;

    if (r == NULL)
        return;
    dx_remote_root_close(&r->root);
    dx_buf_release(&r->window);
    free(r->object);
    free(r->url);
    free(r);
    *out = NULL;
}

/* n ranges behind the last, of a chunk each but for the object's last one: all of them, or an error.
 * A reply that is shorter is one of another object, or was cut: never the end. */
static int ask(struct dx_input_remote *r, size_t n, size_t bytes, struct dx_error *err)
{
    struct dx_read reads[AT_ONCE];
    struct dx_pin pins[AT_ONCE];
    struct dx_seen seen[AT_ONCE];
    struct dx_wave_report report = { .seen = seen };
    const struct dx_wave wave = { .reads = reads, .pins = pins, .count = n, .report = &report };
    uint8_t *to = dx_buf_reserve(&r->window, bytes);
    int rc;

    if (to == NULL)
        return dx_buf_fail(&r->window, err, r->url);
    for (size_t i = 0; i < n; i++) {
        size_t at = i * DX_INPUT_CHUNK;
        size_t size = bytes - at < DX_INPUT_CHUNK ? bytes - at : DX_INPUT_CHUNK;

        reads[i] = (struct dx_read){ r->object, r->offset + at, size, to + at };
        pins[i] = (struct dx_pin){ r->total, r->etag[0] == '\0' ? NULL : r->etag };
    }
    rc = dx_source_read_wave(r->root.source, &wave, err);
    if (rc < 0)
        return rc;
    if (r->total == 0) {
        r->total = seen[0].total;
        memcpy(r->etag, seen[0].etag, sizeof r->etag);
    }
    r->window.size += bytes;
    r->offset += bytes;
    return DX_OK;
}

/* The whole object if it is small; else its first range, alone: what it tells of the object is
 * demanded of all others. */
static int begin(struct dx_input_remote *r, struct dx_error *err)
{
    const struct dx_get get = { .object = r->object, .cap = DX_INPUT_CHUNK };
    struct dx_error why = DX_ERROR_INIT;
    int rc = dx_source_get(r->root.source, &get, &r->window, r->etag, &why);

    if (rc == DX_E_LIMIT) {
        dx_buf_clear(&r->window);
        r->etag[0] = '\0'; /* of a reply that was not read */
        rc = ask(r, 1, DX_INPUT_CHUNK, err);
        if (rc == DX_OK && r->total < DX_INPUT_CHUNK)
            rc = dx_fail(err, DX_E_CORRUPT, "the store does not tell how long the object is");
        return rc;
    }
    if (rc < 0 && err != NULL)
        *err = why;
    r->offset = r->total = r->window.size;
    return rc < 0 ? rc : DX_OK;
}

static int fill(struct dx_input_remote *r, struct dx_error *err)
{
    uint64_t left = r->total - r->offset;
    size_t bytes = left < DX_INPUT_WINDOW ? (size_t)left : DX_INPUT_WINDOW;

    dx_buf_clear(&r->window);
    r->at = 0;
    return ask(r, (bytes + DX_INPUT_CHUNK - 1) / DX_INPUT_CHUNK, bytes, err);
}

ssize_t dx_input_remote_read(struct dx_input_remote *r, uint8_t *to, size_t size,
                             struct dx_error *err)
{
    int rc = DX_OK;

    if (!r->begun)
        rc = begin(r, err);
    r->begun = rc == DX_OK;
    if (rc == DX_OK && r->at == r->window.size && r->offset < r->total)
        rc = fill(r, err);
    if (rc < 0)
        return dx_fail_in(err, "%s: at offset %llu", r->url, (unsigned long long)r->offset);
    if (size > r->window.size - r->at)
        size = r->window.size - r->at;
    if (size > 0)
        memcpy(to, r->window.data + r->at, size);
    r->at += size;
    return (ssize_t)size;
}

uint64_t dx_input_remote_total(const struct dx_input_remote *r)
{
    return r->total;
}
