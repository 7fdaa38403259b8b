/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hex.h"

#include <string.h>

bool dx_hex_unescape(char *text)
{
    const char *end = text + strlen(text);
    char *to = text;
    bool is_sound = true;

    for (const char *from = text; from < end; from++) {
        int c = dx_hex_escape(from, end);

        is_sound = is_sound && (*from != '%' || c > 0);
        *to++ = c <= 0 ? *from : (char)c;
        from += c <= 0 ? 0 : 2;
    }
    *to = '\0';
    return is_sound;
}
