/* SPDX-License-Identifier: Apache-2.0
 * Lists of files to adopt: what is accepted has a file for each line, with a range and names.
 */
#include "builder/lake/adopt_list.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_adopt_list l = DX_ADOPT_LIST_INIT;
    size_t lines = 0;

    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    lines += size > 0 && data[size - 1] != '\n';
    if (dx_adopt_list_parse(&l, dx_span_of(data, size), "fuzz", NULL) == DX_OK) {
        if (l.count != lines)
            abort();
        for (size_t i = 0; i < l.count; i++)
            if (l.file[i].first > l.file[i].last || l.file[i].dataset[0] == '\0' ||
                l.file[i].path[0] == '\0' || strlen(l.file[i].path) > size)
                abort();
    }
    dx_adopt_list_release(&l);
    return 0;
}
