/* SPDX-License-Identifier: Apache-2.0 */
#include "format/text/host_pages.h"

#include <assert.h>

#include "base/put.h"

#define PREFIX_SIZE (sizeof DX_HOST_PAGES_PREFIX - 1)
#define DIGITS_MAX 13 /* of DX_HOST_PAGES_MAX */

size_t dx_host_pages_put(uint64_t pages, char text[DX_HOST_PAGES_TEXT])
{
    uint8_t number[DX_PUT_U64_MAX];
    size_t digits = (size_t)(dx_put_u64(number, pages) - number);

    assert(pages > 0 && pages <= DX_HOST_PAGES_MAX);
    memcpy(text, DX_HOST_PAGES_PREFIX, PREFIX_SIZE);
    memcpy(text + PREFIX_SIZE, number, digits);
    return PREFIX_SIZE + digits;
}

bool dx_host_pages_parse(struct dx_span path_query, uint64_t *pages)
{
    uint64_t v = 0;

    if (path_query.size <= PREFIX_SIZE || path_query.size > PREFIX_SIZE + DIGITS_MAX ||
        memcmp(path_query.data, DX_HOST_PAGES_PREFIX, PREFIX_SIZE) != 0 ||
        path_query.data[PREFIX_SIZE] == '0')
        return false;
    for (size_t i = PREFIX_SIZE; i < path_query.size; i++) {
        if (path_query.data[i] < '0' || path_query.data[i] > '9')
            return false;
        v = v * 10 + (uint64_t)(path_query.data[i] - '0');
    }
    *pages = v;
    return v <= DX_HOST_PAGES_MAX;
}
