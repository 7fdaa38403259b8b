/* SPDX-License-Identifier: Apache-2.0 */
#include "base/xml_out.h"

#include "base/buf.h"
#include "base/utf8.h"

#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

static const char *escape_of(uint8_t c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    default:
        return c < 0x20 && c != '\t' && c != '\n' ? REPLACEMENT : NULL;
    }
}

/* U+FFFE and U+FFFF are well-formed UTF-8 and no characters of XML. */
static bool is_noncharacter(const uint8_t *p, size_t size)
{
    return size == 3 && p[0] == 0xef && p[1] == 0xbf && p[2] >= 0xbe;
}

void dx_xml_text(struct dx_buf *buf, struct dx_span s)
{
    size_t i = 0;

    while (i < s.size) {
        size_t size = dx_utf8_size(s.data + i, s.size - i);
        const char *instead = size == 0 || is_noncharacter(s.data + i, size) ? REPLACEMENT
                                                                             : escape_of(s.data[i]);

        if (instead != NULL)
            dx_buf_str(buf, instead);
        else
            dx_buf_append(buf, s.data + i, size);
        i += size == 0 ? 1 : size;
    }
}
