/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/exchange/numbers/domain64_book.h"

#include <assert.h>

#include "base/file.h"
#include "builder/sort/spill_sort.h"
#include "loader/followed/domain64_registry.h"

static int to_file(void *ctx, struct dx_span bytes, struct dx_error *err)
{
    return dx_file_out_write(ctx, bytes, err);
}

/* Big-endian, so that byte order is order. */
static void store_big(uint8_t *p, uint64_t v)
{
    dx_store_u64(p, __builtin_bswap64(v));
}

static int put_names(const struct dx_domain64_book *w, struct dx_number_writer *out,
                     struct dx_spill_sort *hashes, struct dx_error *err)
{
    enum dx_domain64_layout layout = (enum dx_domain64_layout)w->list->layout;
    struct dx_span name;
    uint64_t number;
    int rc;

    while ((rc = w->next(w->ctx, &number, &name, err)) == 1) {
        enum dx_domain64_part part;
        uint8_t key[12];

        rc = dx_domain64_registry_part(layout, number, &part, err);
        if (rc == DX_OK) {
            uint64_t parent = dx_domain64_registry_parent(layout, number, part);

            store_big(key, dx_number_hash((uint8_t)part, parent, name));
            dx_store_u32(key + 8, __builtin_bswap32((uint32_t)out->count));
            rc = dx_spill_sort_add(hashes, 0, dx_span_of(key, sizeof key), dx_span_of(NULL, 0),
                                   err);
        }
        if (rc == DX_OK)
            rc = dx_number_writer_name(out, number, name, err);
        if (rc < 0)
            return rc;
    }
    return rc;
}

static int put_hashes(struct dx_number_writer *out, struct dx_spill_sort *hashes,
                      struct dx_error *err)
{
    struct dx_span key;
    struct dx_span value;
    int rc = dx_spill_sort_finish(hashes, err);

    if (rc < 0)
        return rc;
    while ((rc = dx_spill_sort_next(hashes, &key, &value, err)) == 1) {
        rc = dx_number_writer_hash(out, __builtin_bswap64(dx_load_u64(key.data)),
                                   __builtin_bswap32(dx_load_u32(key.data + 8)), err);
        if (rc < 0)
            return rc;
    }
    return rc;
}

int dx_domain64_book_write(const struct dx_domain64_book *w, const char *path,
                           struct dx_number_file *file, struct dx_error *err)
{
    const struct dx_spill_sort_options options = {
        .dir = w->dir, .memory_bytes = w->memory, .lanes = 1, .unique = true
    };
    const struct dx_build_id build = dx_number_build(w->list, w->first, w->last);
    const struct dx_number_info info = { w->list->layout, w->first, w->last };
    struct dx_spill_sort *hashes = NULL;
    struct dx_number_writer out;
    struct dx_file_out to;
    int rc;

    assert(w->first >= 1 && w->first <= w->last);
    rc = dx_file_out_open(&to, path, err);
    if (rc < 0)
        return rc;
    rc = dx_number_writer_begin(&out, &build, &info, w->count, to_file, &to, err);
    if (rc == DX_OK)
        rc = dx_spill_sort_new(&hashes, &options, err);
    if (rc == DX_OK)
        rc = put_names(w, &out, hashes, err);
    if (rc == DX_OK)
        rc = put_hashes(&out, hashes, err);
    if (rc == DX_OK)
        rc = dx_number_writer_end(&out, err);
    if (rc == DX_OK)
        rc = dx_file_out_close(&to, DX_SYNC_LATER, err);
    *file = (struct dx_number_file){ w->first, w->last, w->count, to.size, to.hash };
    if (rc < 0)
        dx_file_out_abort(&to);
    dx_number_writer_release(&out);
    dx_spill_sort_free(&hashes);
    return rc;
}
