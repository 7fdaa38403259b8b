/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/coding.h"

#include "server/http/request_head.h"

#include <stdio.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

/* The fast ends of both: answers are JSON with many repetitions, and a loop or worker does it. */
#define GZIP_LEVEL 1
#define GZIP_WINDOW (15 + 16) /* 16: with the frame of gzip */
#define GZIP_MEMORY 8
#define ZSTD_LEVEL 1

#define WEIGHT_UNSAID (-1)
#define WEIGHT_MOST 1000

static const char *const names[DX_CODING_COUNT] = { NULL, "gzip", "zstd" };

const char *dx_coding_name(enum dx_coding coding)
{
    return names[coding];
}

static struct dx_span trimmed(struct dx_span s)
{
    while (s.size > 0 && (s.data[0] == ' ' || s.data[0] == '\t'))
        s = dx_span_of(s.data + 1, s.size - 1);
    while (s.size > 0 && (s.data[s.size - 1] == ' ' || s.data[s.size - 1] == '\t'))
        s.size--;
    return s;
}

/* "0", "1", with up to three decimals; in thousandths. Anything else weighs nothing. */
static int read_weight(struct dx_span text)
{
    int weight;

    if (text.size == 0 || text.size > 5 || (text.data[0] != '0' && text.data[0] != '1') ||
        (text.size > 1 && text.data[1] != '.'))
        return 0;
    weight = (text.data[0] - '0') * WEIGHT_MOST;
    for (size_t i = 2, unit = 100; i < text.size; i++, unit /= 10) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return 0;
        weight += (text.data[i] - '0') * (int)unit;
    }
    return weight <= WEIGHT_MOST ? weight : 0;
}

/* Of "gzip;q=0.5": the name, and the weight. */
static int split_element(struct dx_span element, struct dx_span *name)
{
    const uint8_t *mark = memchr(element.data, ';', element.size);
    struct dx_span rest;

    *name = element;
    if (mark == NULL)
        return WEIGHT_MOST;
    name->size = (size_t)(mark - element.data);
    *name = trimmed(*name);
    rest = trimmed(dx_span_of(mark + 1, element.size - (size_t)(mark + 1 - element.data)));
    if (rest.size < 2 || (rest.data[0] | 0x20) != 'q' || rest.data[1] != '=')
        return 0;
    return read_weight(dx_span_of(rest.data + 2, rest.size - 2));
}

static enum dx_coding choose(struct dx_span field, enum dx_coding last)
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
    return choose(field, DX_CODING_ZSTD);
}

bool dx_coding_takes_gzip(struct dx_span field)
{
    return choose(field, DX_CODING_GZIP) == DX_CODING_GZIP;
}

static bool gzip(struct dx_span raw, uint8_t *to, size_t room, size_t *size)
{
    z_stream z = { .next_in = (Bytef *)(uintptr_t)raw.data,
                   .avail_in = (uInt)raw.size,
                   .next_out = to,
                   .avail_out = (uInt)room };
    bool whole;

    if (deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return false;
    whole = deflate(&z, Z_FINISH) == Z_STREAM_END;
    *size = z.total_out;
    (void)deflateEnd(&z);
    return whole;
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
