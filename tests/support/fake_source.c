/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/fake_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int give(struct dx_fake_source *f, const struct dx_source_batch *batch, size_t i,
                unsigned number, struct dx_error *err)
{
    const struct dx_read *r = &batch->reads[i];
    bool changed = f->change_from != 0 && number >= f->change_from;
    bool wrong = number >= f->wrong_from && number - f->wrong_from < f->wrong_count;
    const char *etag = changed ? "\"another\"" : f->etag;

    if (batch->pins != NULL && batch->pins[i].total != 0 && batch->pins[i].total != f->size)
        return dx_fail(err, DX_E_CONFLICT, "%s: another size", r->object);
    if (batch->pins != NULL && batch->pins[i].etag != NULL && f->etag[0] != '\0' &&
        strcmp(batch->pins[i].etag, etag) != 0)
        return dx_fail(err, DX_E_CONFLICT, "%s: another ETag", r->object);
    if (r->offset > f->size || r->size > f->size - r->offset)
        return dx_fail(err, DX_E_TRUNCATED, "%s: ends before", r->object);
    memcpy(r->to, f->bytes + r->offset, r->size);
    if ((changed || wrong) && r->size > 0)
        r->to[r->size / 2] ^= 1;
    atomic_fetch_add(&f->bytes_read, r->size);
    if (batch->report != NULL && batch->report->seen != NULL)
        (void)snprintf(batch->report->seen[i].etag, DX_SOURCE_ETAG, "%s", etag);
    return DX_OK;
}

static int read_batch(struct dx_source *src, const struct dx_source_batch *batch,
                      struct dx_error *err)
{
    struct dx_fake_source *f = (struct dx_fake_source *)src;
    unsigned number = atomic_fetch_add(&f->batches, 1) + 1;
    int rc = DX_OK;

    if (f->hang_from != 0 && number >= f->hang_from)
        for (;;)
            (void)pause();
    if (f->fail_from != 0 && number >= f->fail_from && number - f->fail_from < f->fail_count)
        return dx_fail(err, f->fail_code, "the store fails in batch %u", number);
    for (size_t i = 0; i < batch->count && rc == DX_OK; i++)
        rc = give(f, batch, i, number, err);
    return rc;
}

static int no_get(struct dx_source *src, const struct dx_get *get, struct dx_buf *out,
                  char etag[DX_SOURCE_ETAG], struct dx_error *err)
{
    (void)src;
    (void)out;
    (void)etag;
    return dx_fail(err, DX_E_UNSUPPORTED, "%s: no whole objects here", get->object);
}

static void no_close(struct dx_source *src)
{
    (void)src;
}

/* Blocks of the same bytes behind the number of each. */
static void fill(uint8_t *to, uint64_t size)
{
    uint8_t block[4096];

    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (uint8_t)((i * UINT64_C(0x9E3779B97F4A7C15)) >> 56);
    for (uint64_t at = 0; at < size; at += sizeof block) {
        memcpy(block, &at, sizeof at);
        memcpy(to + at, block, size - at < sizeof block ? size - at : sizeof block);
    }
}

struct dx_fake_source *dx_fake_source_new(uint64_t size)
{
    static const struct dx_source_ops ops = { .read = read_batch,
                                              .get = no_get,
                                              .close = no_close };
    size_t mapped = sizeof(struct dx_fake_source) + (size_t)size;
    struct dx_fake_source *f = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (f == MAP_FAILED)
        abort();
    f->source.ops = &ops;
    f->mapped = mapped;
    f->size = size;
    memcpy(f->etag, "\"etag\"", 7);
    fill(f->bytes, size);
    return f;
}

void dx_fake_source_free(struct dx_fake_source **f)
{
    if (*f != NULL)
        (void)munmap(*f, (*f)->mapped);
    *f = NULL;
}

struct dx_hash128 dx_fake_source_hash(const struct dx_fake_source *f)
{
    return dx_hash128_of(dx_span_of(f->bytes, (size_t)f->size));
}
