/* SPDX-License-Identifier: Apache-2.0
 * files.tsv: what is accepted is written again byte for byte.
 */
#include "format/version/files_tsv.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_buf again = DX_BUF_INIT(size + 1);
    struct dx_files_tsv_writer w;
    struct dx_files_row row;
    struct dx_files_tsv t;
    int rc;

    dx_files_tsv_begin(&t, dx_span_of(data, size), "fuzz");
    dx_files_tsv_writer_begin(&w, &again);
    while ((rc = dx_files_tsv_next(&t, &row, NULL)) == 1)
        if (dx_files_tsv_write(&w, &row, NULL) < 0)
            abort();
    if (again.size > size || (rc == 0 && again.size != size) ||
        (again.size > 0 && memcmp(again.data, data, again.size) != 0))
        abort();
    dx_buf_release(&again);
    return 0;
}
