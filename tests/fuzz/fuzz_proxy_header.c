/* SPDX-License-Identifier: Apache-2.0
 * Bytes in front of a connection of a trusted proxy. What is whole stays so with more bytes behind it and is not whole with fewer; no
 * header is longer than the bound.
 */
#include "server/http/proxy_header.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sockaddr_storage from;
    struct sockaddr_storage again;
    size_t used;
    size_t less;
    enum dx_proxy_header rc = dx_proxy_header_parse((struct dx_span){ data, size }, &used, &from);

    if (used > size || used > DX_PROXY_HEADER_MAX || (rc == DX_PROXY_DONE) != (used > 0))
        abort();
    if (rc == DX_PROXY_MORE && size >= DX_PROXY_HEADER_MAX)
        abort();
    if (rc != DX_PROXY_DONE)
        return 0;
    if (dx_proxy_header_parse((struct dx_span){ data, used }, &less, &again) != DX_PROXY_DONE ||
        less != used || memcmp(&from, &again, sizeof from) != 0)
        abort();
    for (size_t some = 0; some < used; some++)
        if (dx_proxy_header_parse((struct dx_span){ data, some }, &less, &again) != DX_PROXY_MORE)
            abort();
    return 0;
}
