/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/coding.h"

#include "server/http/accept.h"
#include "server/http/request_head.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>
#include <zlib.h>
#include <zstd.h>

/* The fast ends of both: answers are JSON with many repetitions, and a loop or worker does it. */
#define GZIP_LEVEL 1          /* of both libraries */
#define GZIP_WINDOW (15 + 16) /* 16: with the frame of gzip */
#define GZIP_MEMORY 8
#define ZSTD_LEVEL 1

#define WEIGHT_UNSAID (-1)

static const char *const names[DX_CODING_COUNT] = { NULL, "gzip", "zstd" };

const char *dx_coding_name(enum dx_coding coding)
{
    return names[coding];
}

/* Of "gzip;q=0.5": the name, and the weight. */
static int split_element(struct dx_span element, struct dx_span *name)
{
    const uint8_t *mark = memchr(element.data, ';', element.size);
    struct dx_span rest;

    *name = element;
    if (mark == NULL)
        return DX_ACCEPT_MOST;
    name->size = (size_t)(mark - element.data);
    *name = dx_span_trimmed(*name);
    rest = dx_span_trimmed(dx_span_of(mark + 1, element.size - (size_t)(mark + 1 - element.data)));
    if (rest.size < 2 || (rest.data[0] | 0x20) != 'q' || rest.data[1] != '=')
        return 0;
    return dx_accept_quality(dx_span_of(rest.data + 2, rest.size - 2));
}

static enum dx_coding choose_coding(struct dx_span field, enum dx_coding last)
{
    int weights[DX_CODING_COUNT] = { WEIGHT_UNSAID, WEIGHT_UNSAID, WEIGHT_UNSAID };
    int others = WEIGHT_UNSAID; /* of "*" */
    enum dx_coding best = DX_CODING_NONE;
    struct dx_span element;

    while (dx_head_list_next(&field, &element)) {
        struct dx_span name;
        int weight = split_element(element, &name);

        if (dx_span_is_word(name, "gzip") || dx_span_is_word(name, "x-gzip"))
            weights[DX_CODING_GZIP] = weight;
        else if (dx_span_is_word(name, "zstd"))
            weights[DX_CODING_ZSTD] = weight;
        else if (dx_span_is_word(name, "identity"))
            weights[DX_CODING_NONE] = weight;
        else if (name.size == 1 && name.data[0] == '*')
            others = weight;
    }
    for (size_t i = DX_CODING_GZIP; i <= last; i++) {
        if (weights[i] == WEIGHT_UNSAID)
            weights[i] = others;
        if (weights[i] > 0 && weights[i] >= weights[best])
            best = (enum dx_coding)i;
    }
    return best;
}

enum dx_coding dx_coding_choose(struct dx_span field)
{
    return choose_coding(field, DX_CODING_ZSTD);
}

bool dx_coding_takes_gzip(struct dx_span field)
{
    return choose_coding(field, DX_CODING_GZIP) == DX_CODING_GZIP;
}

/* A compressor of each thread, made once: it is some 300 kB, and an answer usually a few. */
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t compressor_key;
static bool has_key;

static void free_compressor(void *compressor)
{
    libdeflate_free_compressor(compressor);
}

static void make_key(void)
{
    has_key = pthread_key_create(&compressor_key, free_compressor) == 0;
}

/* NULL: no memory. */
static struct libdeflate_compressor *own_compressor(void)
{
    struct libdeflate_compressor *c;

    (void)pthread_once(&key_once, make_key);
    c = has_key ? pthread_getspecific(compressor_key) : NULL;
    if (c != NULL || !has_key)
        return c;
    c = libdeflate_alloc_compressor(GZIP_LEVEL);
    if (c != NULL && pthread_setspecific(compressor_key, c) != 0) {
        libdeflate_free_compressor(c);
        c = NULL;
    }
    return c;
}

static bool gzip(struct dx_span raw, uint8_t *to, size_t room, size_t *size)
{
    struct libdeflate_compressor *c = own_compressor();

    *size = c == NULL ? 0 : libdeflate_gzip_compress(c, raw.data, raw.size, to, room);
    return *size > 0;
}

bool dx_coding_encode(enum dx_coding coding, struct dx_span raw, struct dx_buf *out)
{
    uint8_t *to;
    size_t size = 0;
    bool ok;

    dx_buf_clear(out);
    if (coding == DX_CODING_NONE || raw.size < DX_CODING_LEAST || raw.size > UINT32_MAX)
        return false;
    to = dx_buf_reserve(out, raw.size - 1);
    if (to == NULL)
        return false;
    if (coding == DX_CODING_GZIP) {
        ok = gzip(raw, to, raw.size - 1, &size);
    } else {
        size = ZSTD_compress(to, raw.size - 1, raw.data, raw.size, ZSTD_LEVEL);
        ok = !ZSTD_isError(size);
    }
    out->size = ok ? size : 0;
    return ok;
}

void dx_coding_tag(enum dx_coding coding, char *etag)
{
    size_t size = strlen(etag);

    if (names[coding] != NULL)
        (void)snprintf(etag + size - 1, 7, "-%s\"", names[coding]);
}

/* ---- as a stream ---- */

struct dx_coding_stream {
    enum dx_coding coding;
    z_stream z;
    ZSTD_CCtx *zstd;
};

#define STREAM_ROOM ((size_t)32 << 10) /* of out, at a time */

bool dx_coding_stream_new(struct dx_coding_stream **out, enum dx_coding coding)
{
    struct dx_coding_stream *s = calloc(1, sizeof *s);
    bool ok;

    *out = s;
    if (s == NULL)
        return false;
    s->coding = coding;
    if (coding == DX_CODING_GZIP) {
        ok = deflateInit2(&s->z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
                          Z_DEFAULT_STRATEGY) == Z_OK;
    } else {
        s->zstd = ZSTD_createCCtx();
        ok = s->zstd != NULL &&
             !ZSTD_isError(ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL));
    }
    if (!ok) {
        free(s); /* of the two, what failed holds nothing */
        *out = NULL;
    }
    return ok;
}

void dx_coding_stream_free(struct dx_coding_stream **s)
{
    if (*s == NULL)
        return;
    if ((*s)->coding == DX_CODING_GZIP)
        (void)deflateEnd(&(*s)->z);
    (void)ZSTD_freeCCtx((*s)->zstd);
    free(*s);
    *s = NULL;
}

static bool put_gzip(struct dx_coding_stream *s, struct dx_span raw, bool last, struct dx_buf *out)
{
    int rc;

    s->z.next_in = (Bytef *)(uintptr_t)raw.data;
    s->z.avail_in = (uInt)raw.size;
    do {
        uint8_t *to = dx_buf_reserve(out, STREAM_ROOM);

        if (to == NULL)
            return false;
        s->z.next_out = to;
        s->z.avail_out = (uInt)STREAM_ROOM;
        rc = deflate(&s->z, last ? Z_FINISH : Z_NO_FLUSH);
        out->size += STREAM_ROOM - s->z.avail_out;
    } while (rc == Z_OK && (s->z.avail_out == 0 || s->z.avail_in > 0));
    return last ? rc == Z_STREAM_END : rc == Z_OK || rc == Z_BUF_ERROR;
}

static bool put_zstd(struct dx_coding_stream *s, struct dx_span raw, bool last, struct dx_buf *out)
{
    ZSTD_inBuffer in = { raw.data, raw.size, 0 };
    size_t left;

    do {
        uint8_t *to = dx_buf_reserve(out, STREAM_ROOM);
        ZSTD_outBuffer room = { to, STREAM_ROOM, 0 };

        if (to == NULL)
            return false;
        left = ZSTD_compressStream2(s->zstd, &room, &in, last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left))
            return false;
        out->size += room.pos;
    } while (in.pos < in.size || (last && left > 0));
    return true;
}

bool dx_coding_stream_put(struct dx_coding_stream *s, struct dx_span raw, bool last,
                          struct dx_buf *out)
{
    if (raw.size > UINT32_MAX)
        return false;
    return s->coding == DX_CODING_GZIP ? put_gzip(s, raw, last, out) : put_zstd(s, raw, last, out);
}
