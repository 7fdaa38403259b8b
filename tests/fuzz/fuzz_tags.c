/* SPDX-License-Identifier: Apache-2.0
 * tags.dxt with all sums believed: no read outside and an end to every walk, and what verify finds
 * sound the other readers must agree with. The same bytes as the value of the column `tags`.
 */
#include "format/version/tags.h"

#include <stdlib.h>

#include "format/version/tag_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TAGS 40
#define IDS 64

/* All members, in order, by pages as a reader takes them. */
static void read_set(const struct dx_dataset_set *set, uint32_t below, bool sound)
{
    uint32_t ids[IDS];
    uint64_t from = 0;
    uint64_t n = 0;
    size_t got;

    for (int page = 0; page < 100 && from <= UINT32_MAX; page++) {
        got = dx_dataset_set_ids_from(set, (uint32_t)from, ids, IDS);
        for (size_t i = 0; i < got; i++) {
            if (ids[i] < from || ids[i] >= below)
                abort();
            from = (uint64_t)ids[i] + 1;
        }
        n += got;
        if (got < IDS) {
            if (sound && n != set->count)
                abort();
            if (n > 0 && from != (uint64_t)dx_dataset_set_last(set) + 1)
                abort();
            return;
        }
    }
}

static void read_files(const struct dx_tags *t, uint64_t i, bool sound)
{
    struct dx_dataset_set rows;
    struct dx_dataset_set domains;
    struct dx_tag_cursor c;
    struct dx_tag_file f;
    uint64_t least = 0;
    int rc = dx_tags_files(t, i, &c, NULL);

    for (int k = 0; rc == DX_OK && k < TAGS && dx_tag_cursor_next(&c, &f, NULL) == 1; k++) {
        if (f.file_id < least || f.file_id >= t->files)
            abort();
        least = (uint64_t)f.file_id + 1;
        if (dx_tag_file_sets(t, &f, &rows, &domains, NULL) == DX_OK) {
            read_set(&rows, UINT32_MAX, sound);
            read_set(&domains, (uint32_t)t->domains, sound);
        } else if (sound) {
            abort();
        }
    }
    if (dx_tags_files(t, i, &c, NULL) == DX_OK)
        (void)dx_tag_cursor_seek(&c, 3, NULL);
}

static void read_tags(struct dx_span bytes)
{
    struct dx_tags_left left;
    struct dx_span tag;
    struct dx_tags t;
    uint64_t at;
    bool sound;

    if (dx_tags_open(&t, bytes, DX_OPEN_UNCHECKED, "fuzz", NULL) < 0)
        return;
    sound = dx_tags_verify(&t, NULL) == DX_OK;
    for (uint64_t i = 0; i < t.count && i < TAGS; i++) {
        if (dx_tags_name(&t, i, &tag, NULL) == DX_OK) {
            int rc = dx_tags_find(&t, tag, &at, NULL);

            if (sound && (rc != 1 || at != i))
                abort();
        }
        read_files(&t, i, sound);
    }
    for (uint64_t k = 0; k < TAGS && dx_tags_left_at(&t, k, &left, NULL) == 1; k++)
        if (left.file_id >= t.files)
            abort();
    dx_tags_close(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_buf tag = DX_BUF_INIT(size);
    struct dx_tag_list list;
    size_t n = 0;

    dx_tag_list_begin(&list, dx_span_of(data, size));
    while (dx_tag_list_next(&list, &tag) == 1)
        if (tag.size > size || n++ > size)
            abort();
    dx_buf_release(&tag);
    read_tags(dx_span_of(data, size));
    return 0;
}
