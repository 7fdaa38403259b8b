/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/records/host_record.h"

#include "builder/input/records/rejects.h"
#include "format/text/host_pages.h"

static void put_surt(struct dx_buf *out, struct dx_span surt)
{
    const uint8_t *colon = memchr(surt.data, ':', surt.size);
    size_t end = colon == NULL ? surt.size : (size_t)(colon - surt.data);
    struct dx_span port = dx_span_from(surt, end);

    while (end > 0 && surt.data[end - 1] == ',')
        end--;
    while (end > 0) {
        size_t begin = end;

        while (begin > 0 && surt.data[begin - 1] != ',')
            begin--;
        dx_buf_append(out, surt.data + begin, end - begin);
        if (begin > 0)
            dx_buf_u8(out, '.');
        end = begin > 0 ? begin - 1 : 0;
    }
    dx_buf_append(out, port.data, port.size);
}

struct dx_span dx_host_record_url(struct dx_span host, struct dx_buf *buf)
{
    const uint8_t *close;

    dx_buf_clear(buf);
    if (host.size == 0 || memmem(host.data, host.size, "://", 3) != NULL)
        return host;
    close = memchr(host.data, ')', host.size);
    if (close != NULL)
        host.size = (size_t)(close - host.data);
    dx_buf_str(buf, DX_HOST_PAGES_SCHEME "://");
    if (memchr(host.data, ',', host.size) != NULL)
        put_surt(buf, host);
    else
        dx_buf_append(buf, host.data, host.size);
    dx_buf_u8(buf, '/');
    return dx_span_of(buf->data, buf->size);
}

int dx_host_record_count(struct dx_span text, uint64_t *count)
{
    size_t i = 0;

    *count = 0;
    if (text.size == 0)
        return DX_ROW_NO_PAGES;
    for (; i < text.size && text.data[i] >= '0' && text.data[i] <= '9'; i++) {
        *count = *count * 10 + (uint64_t)(text.data[i] - '0');
        if (*count > DX_HOST_PAGES_MAX)
            return DX_ROW_COUNT_INVALID;
    }
    if (i == 0)
        return DX_ROW_COUNT_INVALID;
    if (i + 1 < text.size && text.data[i] == '.')
        for (i++; i < text.size && text.data[i] == '0';)
            i++;
    return i < text.size ? DX_ROW_COUNT_INVALID : *count == 0 ? DX_ROW_NO_PAGES : 0;
}
