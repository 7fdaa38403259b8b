/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/scan/index_lake.h"

#include <stdlib.h>

#include "builder/lake/lake_files.h"
#include "builder/scan/index_tags.h"
#include "builder/scan/index_urls.h"
#include "builder/sort/blob_spill.h"
#include "builder/sort/spill_sort.h"
#include "format/root/registry_json.h"

#include <roaring/roaring.h>

uint64_t dx_index_lake_rows_left_out(const struct dx_index_lake *lake)
{
    const struct dx_registry *r = lake->registry;
    uint64_t counted = lake->rows;
    uint64_t rows = 0;

    for (size_t i = 0; i < lake->file_count; i++)
        if (lake->files[i].path != NULL && !dx_registry_of_counts(r, lake->files[i].dataset_id))
            rows += lake->files[i].rows;
    for (size_t i = 0; i < r->count; i++)
        counted -= r->datasets[i].kind == DX_DATASET_COUNTS ? r->datasets[i].rows : 0;
    return rows - counted;
}

void dx_index_lake_release(struct dx_index_lake *lake)
{
    dx_spill_sort_free(&lake->pairs);
    dx_spill_sort_free(&lake->groups);
    dx_spill_sort_free(&lake->strays);
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
