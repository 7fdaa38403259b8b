/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input_remote.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "builder/remote_root.h"

#define AT_ONCE (DX_INPUT_WINDOW / DX_INPUT_CHUNK)

struct dx_input_remote {
    char *url;
    char *object;
    struct dx_remote_root root;
    struct dx_buf window; /* bytes [at, size) are still to be read */
    size_t at;
    uint64_t offset; /* of the object: where the next range begins */
    size_t range;    /* its bytes; less than a chunk: the end is within the next twice as many */
    bool tail;       /* several at once did not fit */
    bool ended;
    char etag[DX_SOURCE_ETAG]; /* "": the store gives none, or not known yet */
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

    *root = NULL;
    *object = NULL;
    if (!is_s3 && strpbrk(url, "?#") != NULL)
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "%.*s: an address with '?' or '#' cannot be read by ranges here; fetch it "
                       "first: curl -fsS URL | domaindex ingest ... -",
                       (int)strcspn(url, "?#"), url);
    if (slash == NULL || slash == host + 3 || slash[1] == '\0')
        return dx_fail(err, DX_E_INVALID, "%s: names no object", url);
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
                   "%s: its last part is not the plain name of an object; fetch it first", url);
}

int dx_input_remote_open(struct dx_input_remote **out, const char *url, struct dx_error *err)
{
    struct dx_input_remote *r = calloc(1, sizeof *r);
    char *root = NULL;
    int rc;

    *out = NULL;
    if (r == NULL)
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory", url);
    dx_buf_init(&r->window, DX_INPUT_WINDOW);
    r->url = strdup(url);
    rc = r->url == NULL ? dx_fail(err, DX_E_NOMEM, "%s: out of memory", url)
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

/* The whole object if it is small; `range` says that it is not. */
static int begin(struct dx_input_remote *r, struct dx_error *err)
{
    const struct dx_get get = { .object = r->object, .cap = DX_INPUT_CHUNK };
    int rc = dx_source_get(r->root.source, &get, &r->window, r->etag, err);

    if (rc == DX_E_LIMIT) {
        dx_buf_clear(&r->window);
        r->etag[0] = '\0'; /* of a reply that was not read */
        r->range = DX_INPUT_CHUNK;
        return DX_OK;
    }
    r->ended = true;
    return rc < 0 ? rc : DX_OK;
}

/* Asks for n ranges behind the last: 1 they are in the window, 0 the object ends before. */
static int ask(struct dx_input_remote *r, size_t n, struct dx_error *err)
{
    struct dx_read reads[AT_ONCE];
    struct dx_pin pins[AT_ONCE];
    struct dx_seen seen[AT_ONCE];
    struct dx_wave_report report = { .seen = seen };
    const struct dx_wave wave = { .reads = reads, .pins = pins, .count = n, .report = &report };
    struct dx_error why = DX_ERROR_INIT;
    uint8_t *to = dx_buf_reserve(&r->window, n * r->range);
    int rc;

    if (to == NULL)
        return dx_buf_fail(&r->window, err, r->url);
    for (size_t i = 0; i < n; i++) {
        reads[i] = (struct dx_read){ r->object, r->offset + i * r->range, r->range,
                                     to + i * r->range };
        pins[i] = (struct dx_pin){ 0, r->etag[0] == '\0' ? NULL : r->etag };
    }
    rc = dx_source_read_wave(r->root.source, &wave, &why);
    if (rc == DX_E_TRUNCATED)
        return 0;
    if (rc < 0) {
        if (err != NULL)
            *err = why;
        return rc;
    }
    if (r->etag[0] == '\0')
        memcpy(r->etag, seen[0].etag, sizeof r->etag);
    r->window.size += n * r->range;
    r->offset += n * r->range;
    return 1;
}

/* Fills the empty window, or finds the end. */
static int fill(struct dx_input_remote *r, struct dx_error *err)
{
    /* The first range alone: its ETag is demanded of all others. */
    size_t n = r->offset == 0 || r->tail ? 1 : AT_ONCE;
    int rc = 0;

    dx_buf_clear(&r->window);
    r->at = 0;
    if (n > 1) {
        rc = ask(r, n, err);
        r->tail = rc == 0;
    }
    while (rc == 0 && r->range > 0) {
        rc = ask(r, 1, err);
        /* Behind a range that did not fit the rest is shorter than that range. */
        if (rc == 0 || (rc == 1 && r->range < DX_INPUT_CHUNK))
            r->range /= 2;
    }
    r->ended = r->range == 0;
    return rc < 0 ? rc : DX_OK;
}

ssize_t dx_input_remote_read(struct dx_input_remote *r, uint8_t *to, size_t size,
                             struct dx_error *err)
{
    int rc = DX_OK;

    if (r->offset == 0 && r->range == 0 && !r->ended)
        rc = begin(r, err);
    while (rc == DX_OK && r->at == r->window.size && !r->ended)
        rc = fill(r, err);
    if (rc < 0)
        return dx_fail_in(err, "%s", r->url);
    if (size > r->window.size - r->at)
        size = r->window.size - r->at;
    if (size > 0)
        memcpy(to, r->window.data + r->at, size);
    r->at += size;
    return (ssize_t)size;
}
