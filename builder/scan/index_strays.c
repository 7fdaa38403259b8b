/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/scan/index_strays.h"

#include "builder/lake/lake_files.h"
#include "builder/scan/index_base.h"
#include "builder/sort/spill_sort.h"
#include "loader/version_parts.h"

void dx_index_stray_key(const struct dx_page_stray *stray, uint8_t key[DX_INDEX_STRAY_KEY])
{
    dx_store_u32(key, __builtin_bswap32(stray->file_id));
    dx_store_u32(key + 4, __builtin_bswap32(stray->row_group));
    dx_store_u64(key + 8, __builtin_bswap64(stray->row));
}

static int read_stray_key(struct dx_span key, struct dx_page_stray *stray, struct dx_error *err)
{
    if (key.size != DX_INDEX_STRAY_KEY)
        return dx_fail(err, DX_E_CORRUPT, "scan: a record of a row has a bad key");
    *stray = (struct dx_page_stray){ __builtin_bswap32(dx_load_u32(key.data)),
                                     __builtin_bswap32(dx_load_u32(key.data + 4)),
                                     __builtin_bswap64(dx_load_u64(key.data + 8)) };
    return DX_OK;
}

void dx_index_strays_begin(struct dx_index_strays *s, struct dx_index_lake *lake)
{
    *s = (struct dx_index_strays){ .lake = lake };
}

static int next_scanned(struct dx_index_strays *s, uint32_t file_id, struct dx_page_stray *stray,
                        struct dx_error *err)
{
    struct dx_span key, value;
    int rc = 1;

    if (!s->ahead && !s->ended) {
        rc = dx_spill_sort_next(s->lake->strays, &key, &value, err);
        if (rc == 1)
            rc = read_stray_key(key, &s->stray, err) < 0 ? DX_E_CORRUPT : 1;
        s->ended = rc == 0;
        s->ahead = rc == 1;
    }
    if (rc < 0)
        return rc;
    if (s->ended || s->stray.file_id > file_id)
        return 0;
    if (s->stray.file_id < file_id)
        return dx_fail(err, DX_E_CORRUPT, "scan: a row of a file that was not scanned");
    *stray = s->stray;
    s->ahead = false;
    return 1;
}

static int begin_known(struct dx_index_strays *s, uint32_t file_id, struct dx_error *err)
{
    const struct dx_part *part = dx_version_part_of_file(s->lake->base, file_id);
    uint64_t count;
    int rc;

    if (part == NULL)
        return dx_fail(err, DX_E_CORRUPT, "file %u: the base does not have it", (unsigned)file_id);
    s->pages = &part->pages;
    rc = dx_pages_strays(s->pages, file_id, &s->known_at, &count, err);
    s->known_end = s->known_at + count;
    s->known_unsaid = rc == 0;
    s->known_file = file_id;
    s->known_begun = rc >= 0;
    return rc < 0 ? rc : DX_OK;
}

static int next_known(struct dx_index_strays *s, uint32_t file_id, struct dx_page_stray *stray,
                      struct dx_error *err)
{
    int rc = s->known_begun && s->known_file == file_id ? DX_OK : begin_known(s, file_id, err);

    if (rc < 0)
        return rc;
    if (s->known_at < s->known_end) {
        rc = dx_pages_stray(s->pages, s->known_at++, stray, err);
        return rc < 0 ? rc : 1;
    }
    *stray = dx_page_strays_unknown(file_id);
    rc = s->known_unsaid;
    s->known_unsaid = false;
    return rc;
}

int dx_index_strays_next(struct dx_index_strays *s, uint32_t file_id, struct dx_page_stray *stray,
                         struct dx_error *err)
{
    return dx_index_is_known(s->lake, file_id) ? next_known(s, file_id, stray, err)
                                               : next_scanned(s, file_id, stray, err);
}
