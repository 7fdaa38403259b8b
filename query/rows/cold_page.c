/* SPDX-License-Identifier: Apache-2.0 */
#include "query/rows/cold_page.h"

#include "loader/version.h"

#include <assert.h>
#include <stdlib.h>

#define KIND_COLD DX_KIND('C', 'O', 'L', 'D')

/* What a page needs of its part to be read; the page itself is known. The same lake gives the same build id, and
 * another program may have cut it into other pages: so the key has what the bytes sum up to as well. */
static int want_page(struct dx_cold_page_wanted *p, const struct dx_caches *caches,
                     struct dx_error *err)
{
    const struct dx_manifest_version *entry = &p->part->entry;
    const struct dx_manifest_file *listed = dx_manifest_file(entry,
                                                             dx_cold_file_name(p->page.file));
    struct dx_manifest_place place;

    if (listed == NULL)
        return dx_fail(err, DX_E_CORRUPT, "manifest: version %s lists no %s", entry->version,
                       dx_cold_file_name(p->page.file));
    dx_manifest_place(entry, listed, &place);
    memcpy(p->name, place.object, sizeof p->name);
    p->wanted = (struct dx_block_request){
        .of = { .part = p->part, .object = { DX_OBJECT_COLD, p->page.file }, .total = place.total },
        .cache = caches->payload,
        .key = { .part = (uint64_t)p->page.file << 32 | p->page.number,
                 .kind = KIND_COLD,
                 .more = (uint32_t)p->page.sum },
        .offset = place.at + p->page.offset,
        .size = p->page.stored_size,
    };
    memcpy(p->wanted.key.object, entry->build.bytes, sizeof p->wanted.key.object);
    return 1;
}

int dx_cold_page_find(struct dx_cold_page_wanted *p, const struct dx_part *part,
                      const struct dx_caches *caches, enum dx_cold_file file, uint64_t key,
                      uint32_t sub, struct dx_error *err)
{
    int rc;

    *p = (struct dx_cold_page_wanted){ .part = part };
    rc = dx_cold_find(&part->cold, file, key, sub, &p->page, err);
    return rc == 1 ? want_page(p, caches, err) : rc;
}

int dx_cold_page_at(struct dx_cold_page_wanted *p, const struct dx_part *part,
                    const struct dx_caches *caches, enum dx_cold_file file, uint32_t number,
                    struct dx_error *err)
{
    int rc;

    *p = (struct dx_cold_page_wanted){ .part = part };
    rc = dx_cold_page(&part->cold, file, number, &p->page, err);
    return rc == 1 ? want_page(p, caches, err) : rc;
}

struct decoding {
    const struct dx_cold_page_wanted *p;
    struct dx_zstd_decoder *decoder;
};

static int decode_page(void *ctx, const struct dx_block_request *w, uint8_t **bytes, size_t *size,
                       struct dx_error *err)
{
    const struct decoding *d = ctx;
    const struct dx_part *part = d->p->part;
    int rc;

    *size = d->p->page.plain_size;
    *bytes = malloc(*size > 0 ? *size : 1);
    rc = *bytes == NULL ? dx_no_memory(err, "%s: page of it", w->of.name)
                        : dx_cold_decode(&part->cold, &d->p->page, d->decoder, part->open_flags,
                                         dx_span_of(w->raw, w->size), *bytes, err);
    if (rc >= 0)
        return DX_OK;
    free(*bytes);
    *bytes = NULL;
    return rc == DX_E_NOMEM ? rc : dx_fail_in(err, "%s", w->of.name);
}

int dx_cold_page_advance(struct dx_cold_page_wanted *p, struct dx_read_batch *reading,
                         struct dx_zstd_decoder *decoder, struct dx_error *err)
{
    struct decoding d = { p, decoder };
    int rc;

    p->wanted.of.name = p->name; /* here, for p may have been copied since it was found */
    rc = dx_block_request_advance(&p->wanted, reading, decode_page, &d, err);
    if (rc == DX_OK && p->wanted.block != NULL && p->wanted.block->bytes.size != p->page.plain_size)
        rc = dx_fail(err, DX_E_CORRUPT,
                     "%s, page %u: %zu bytes are cached, and cold.dxp says %u: two versions have "
                     "one build id",
                     p->name, (unsigned)p->page.number, p->wanted.block->bytes.size,
                     (unsigned)p->page.plain_size);
    return rc;
}

struct dx_span dx_cold_page_bytes(const struct dx_cold_page_wanted *p)
{
    assert(p->wanted.block != NULL); /* advanced until it is there */
    return dx_span_of(p->wanted.block->bytes.data, p->page.plain_size);
}

void dx_cold_page_release(struct dx_cold_page_wanted *p)
{
    dx_block_request_release(&p->wanted);
    p->wanted = (struct dx_block_request){ 0 };
}
