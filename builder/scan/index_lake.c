/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/scan/index_lake.h"

#include <stdlib.h>

#include "builder/lake/lake_files.h"
#include "builder/scan/index_tags.h"
#include "builder/scan/index_urls.h"
#include "builder/sort/blob_spill.h"
#include "builder/sort/spill_sort.h"

#include <roaring/roaring.h>

uint64_t dx_index_lake_rows_left_out(const struct dx_index_lake *lake)
{
    uint64_t rows = 0;

    for (size_t i = 0; i < lake->file_count; i++)
        rows += lake->files[i].path == NULL ? 0 : lake->files[i].rows;
    return rows - lake->rows;
}

void dx_index_lake_release(struct dx_index_lake *lake)
{
    dx_spill_sort_free(&lake->pairs);
    dx_spill_sort_free(&lake->groups);
    dx_index_urls_free(&lake->url_places);
    dx_index_tags_free(&lake->tags);
    dx_blob_spill_free(&lake->facts);
    for (size_t i = 0; i < DX_PARTS_MAX; i++) {
        if (lake->leaving[i] != NULL)
            roaring_bitmap_free(lake->leaving[i]);
        lake->leaving[i] = NULL;
    }
    free(lake->changes);
    lake->changes = NULL;
    lake->change_count = 0;
}
