/* SPDX-License-Identifier: Apache-2.0
 * pages.dxp with all sums believed, and a record of a row group alone.
 */
#include "format/version/pages.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_group(struct dx_page_group *group, uint64_t file_size)
{
    struct dx_page_column column;
    struct dx_page_location page;

    while (dx_page_group_next(group, &column) == 1) {
        uint64_t rows = 0;

        while (dx_page_column_next(&column, &page) == 1) {
            if (page.offset > file_size || page.size > file_size - page.offset ||
                page.first_row != rows)
                abort();
            rows += page.rows;
        }
        if (rows != group->rows)
            abort();
    }
}

static void use_strays(const struct dx_pages *p, uint32_t file)
{
    struct dx_page_stray stray;
    uint64_t first, count;

    if (dx_pages_strays(p, file, &first, &count, NULL) < 0)
        return;
    for (uint64_t i = 0; i < count && i < 50; i++)
        if (dx_pages_stray(p, first + i, &stray, NULL) == 0 && stray.file_id >= p->files)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_page_group group;
    struct dx_pages_file file;
    struct dx_pages p;

    if (dx_page_group_open(&group, dx_span_of(data, size), UINT64_C(1) << 40, "fuzz", NULL) >= 0)
        use_group(&group, UINT64_C(1) << 40);
    if (dx_pages_open(&p, dx_span_of(data, size), DX_OPEN_UNCHECKED, "fuzz", NULL) < 0)
        return 0;
    for (uint32_t f = 0; f < 50 && f < p.files; f++) {
        int rc = dx_pages_file(&p, f, &file, NULL);

        if (rc < 0)
            break;
        use_strays(&p, f);
        for (uint32_t g = 0; rc == 1 && g < 50 && dx_pages_group(&p, &file, g, &group, NULL) == 1;
             g++)
            use_group(&group, file.size);
    }
    dx_pages_close(&p);
    return 0;
}
