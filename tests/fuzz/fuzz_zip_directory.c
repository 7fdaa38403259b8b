/* SPDX-License-Identifier: Apache-2.0
 * A whole file as a zip archive: its end, its directory and the local headers that it names.
 */
#include "builder/input/bytes/zip_directory.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t tail = size < DX_ZIP_TAIL ? size : DX_ZIP_TAIL;
    struct dx_zip_directory dir;
    struct dx_zip_member m;
    struct dx_bytes rest;

    if (dx_zip_end(dx_span_of(data + size - tail, tail), size, &dir) != NULL)
        return 0;
    if (dir.offset > size || dir.size > size - dir.offset)
        abort();
    rest = dx_bytes_of(dx_span_of(data + dir.offset, (size_t)dir.size));
    while (dx_zip_next(&rest, &m) > 0) {
        uint64_t offset;

        if (m.name.size > size)
            abort();
        if (m.local < size &&
            dx_zip_data(dx_span_of(data + m.local, (size_t)(size - m.local)), &m, &offset) ==
                NULL &&
            offset <= m.local)
            abort();
    }
    return 0;
}
