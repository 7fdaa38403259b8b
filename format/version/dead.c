/* SPDX-License-Identifier: Apache-2.0 */
#include "format/version/dead.h"

#include <assert.h>
#include <inttypes.h>
#include <roaring/roaring.h>

#define HEADER_SIZE 64
#define PART_RECORD 64
#define RANK_RECORD 20
#define TAG_PART DX_KIND('P', 'A', 'R', 'T')
#define TAG_SETS DX_KIND('S', 'E', 'T', 'S')
#define TAG_RANK DX_KIND('R', 'A', 'N', 'K')
#define TAG_GONE DX_KIND('G', 'O', 'N', 'E')
#define PARTS_MAX 64

static int open_sections(struct dx_dead *d, struct dx_error *err)
{
    struct dx_envelope *e = &d->envelope;
    struct dx_span header;
    struct dx_bytes r;
    uint64_t rank_count;
    int rc = dx_envelope_header(e, HEADER_SIZE, &header, err);

    if (rc < 0)
        return rc;
    r = dx_bytes_of(header);
    (void)dx_bytes_u64(&r); /* magic and version: the envelope's */
    d->parts = dx_bytes_u64(&r);
    rank_count = dx_bytes_u64(&r);
    d->gone = dx_bytes_u64(&r);
    if (d->parts == 0 || d->parts > PARTS_MAX)
        return dx_fail(err, DX_E_CORRUPT, "%s: header: %" PRIu64 " parts", e->name, d->parts);
    rc = dx_envelope_reserved(e, &r, err);
    if (rc >= 0)
        rc = dx_envelope_array(e, TAG_PART, PART_RECORD, d->parts, &d->table, err);
    if (rc >= 0)
        rc = dx_envelope_section(e, TAG_SETS, &d->sets, err);
    if (rc >= 0)
        rc = dx_envelope_array(e, TAG_RANK, RANK_RECORD, rank_count, &d->ranks, err);
    return rc < 0 || d->gone == 0 ? rc : dx_envelope_section(e, TAG_GONE, &d->files, err);
}

int dx_dead_open(struct dx_dead *d, struct dx_span file, unsigned flags, const char *name,
                 struct dx_error *err)
{
    int rc;

    *d = (struct dx_dead){ .parts = 0 };
    rc = dx_envelope_open(&d->envelope, file, DX_DEAD_MAGIC, DX_DEAD_VERSION, flags, name, err);
    if (rc >= 0)
        rc = open_sections(d, err);
    if (rc < 0)
        dx_dead_close(d);
    return rc;
}

void dx_dead_close(struct dx_dead *d)
{
    dx_envelope_close(&d->envelope);
    *d = (struct dx_dead){ .parts = 0 };
}

int dx_dead_part(const struct dx_dead *d, uint64_t i, struct dx_dead_part *p, struct dx_error *err)
{
    const uint8_t *at = d->table.data + i * PART_RECORD;
    uint64_t rank_count = d->ranks.size / RANK_RECORD;
    struct dx_bytes r;
    struct dx_span build;
    int rc;

    if (i >= d->parts)
        return dx_fail(err, DX_E_INVALID, "%s: part %" PRIu64, d->envelope.name, i);
    rc = dx_envelope_check(&d->envelope, at, PART_RECORD, err);
    if (rc < 0)
        return rc;
    r = dx_bytes_of(dx_span_of(at, PART_RECORD));
    build = dx_bytes_take(&r, sizeof p->build.bytes);
    memcpy(p->build.bytes, build.data, sizeof p->build.bytes);
    p->of = dx_bytes_u64(&r);
    p->domains = dx_bytes_u64(&r);
    p->set_at = dx_bytes_u64(&r);
    p->set_size = dx_bytes_u64(&r);
    p->first_rank = dx_bytes_u64(&r);
    p->ranks = dx_bytes_u64(&r);
    if (p->of > UINT32_MAX || p->domains > p->of || (p->domains == 0) != (p->set_size == 0) ||
        p->set_at > d->sets.size || p->set_size > d->sets.size - p->set_at ||
        p->first_rank > rank_count || p->ranks > rank_count - p->first_rank)
        return dx_envelope_corrupt(&d->envelope, TAG_PART, at, err, "numbers of part %" PRIu64, i);
    return DX_OK;
}

int dx_dead_ordinals(const struct dx_dead *d, const struct dx_dead_part *p,
                     struct dx_dataset_set *set, struct dx_error *err)
{
    const uint8_t *at = d->sets.data + p->set_at;
    int rc = dx_envelope_check(&d->envelope, at, p->set_size, err);

    assert(p->domains > 0);
    if (rc >= 0)
        rc = dx_dataset_set_open(set, dx_span_of(at, p->set_size), d->envelope.name, err);
    if (rc >= 0 && (dx_dataset_set_count(set) != p->domains || dx_dataset_set_last(set) >= p->of))
        rc = dx_envelope_corrupt(&d->envelope, TAG_SETS, at, err,
                                 "%" PRIu32 " ordinals up to %" PRIu32 ", not %" PRIu64
                                 " of a part of %" PRIu64 " domains",
                                 dx_dataset_set_count(set), dx_dataset_set_last(set), p->domains,
                                 p->of);
    return rc < 0 ? rc : DX_OK;
}

int dx_dead_gone(const struct dx_dead *d, struct dx_dataset_set *set, struct dx_error *err)
{
    int rc = dx_envelope_check(&d->envelope, d->files.data, d->files.size, err);

    if (rc >= 0)
        rc = dx_dataset_set_open(set, d->files, d->envelope.name, err);
    if (rc >= 0 && dx_dataset_set_count(set) != d->gone)
        rc = dx_envelope_corrupt(&d->envelope, TAG_GONE, d->files.data, err,
                                 "%" PRIu32 " files, not %" PRIu64, dx_dataset_set_count(set),
                                 d->gone);
    return rc < 0 ? rc : DX_OK;
}

static int compare_ranks(const struct dx_dead_rank *a, const struct dx_dead_rank *b)
{
    if (a->dataset_id != b->dataset_id)
        return a->dataset_id < b->dataset_id ? -1 : 1;
    return (a->url_count > b->url_count) - (a->url_count < b->url_count);
}

static int read_rank(const struct dx_dead *d, uint64_t number, struct dx_dead_rank *rank,
                     struct dx_error *err)
{
    const uint8_t *at = d->ranks.data + number * RANK_RECORD;
    struct dx_bytes r = dx_bytes_of(dx_span_of(at, RANK_RECORD));
    int rc = dx_envelope_check(&d->envelope, at, RANK_RECORD, err);

    if (rc < 0)
        return rc;
    rank->dataset_id = dx_bytes_u32(&r);
    rank->url_count = dx_bytes_u64(&r);
    rank->domains = dx_bytes_u64(&r);
    return DX_OK;
}

int dx_dead_rank(const struct dx_dead *d, const struct dx_dead_part *p, uint64_t k,
                 struct dx_dead_rank *rank, struct dx_error *err)
{
    uint64_t number = p->first_rank + k;
    struct dx_dead_rank before;
    int rc = read_rank(d, number, rank, err);

    assert(k < p->ranks);
    if (rc == DX_OK && k > 0)
        rc = read_rank(d, number - 1, &before, err);
    if (rc == DX_OK && (rank->domains == 0 || rank->domains > p->domains || rank->url_count == 0 ||
                        (k > 0 && compare_ranks(&before, rank) >= 0)))
        rc = dx_envelope_corrupt(&d->envelope, TAG_RANK, d->ranks.data + number * RANK_RECORD, err,
                                 "rank %" PRIu64 " of dataset %" PRIu32, k, rank->dataset_id);
    return rc;
}

/* ---- writing ---- */

void dx_dead_writer_init(struct dx_dead_writer *w)
{
    *w = (struct dx_dead_writer){ .parts = 0 };
    dx_buf_init(&w->table, (size_t)PARTS_MAX * PART_RECORD);
    dx_buf_init(&w->sets, SIZE_MAX / 2);
    dx_buf_init(&w->ranks, SIZE_MAX / 2);
    dx_buf_init(&w->files, SIZE_MAX / 2);
}

void dx_dead_writer_release(struct dx_dead_writer *w)
{
    dx_buf_release(&w->table);
    dx_buf_release(&w->sets);
    dx_buf_release(&w->ranks);
    dx_buf_release(&w->files);
}

/* The part that was added last has all its ranks. */
static void end_part(struct dx_dead_writer *w)
{
    const struct dx_dead_part *p = &w->part;

    if (w->parts == 0)
        return;
    dx_buf_append(&w->table, p->build.bytes, sizeof p->build.bytes);
    dx_buf_u64(&w->table, p->of);
    dx_buf_u64(&w->table, p->domains);
    dx_buf_u64(&w->table, p->set_at);
    dx_buf_u64(&w->table, p->set_size);
    dx_buf_u64(&w->table, p->first_rank);
    dx_buf_u64(&w->table, w->rank_count - p->first_rank);
}

int dx_dead_writer_part(struct dx_dead_writer *w, const struct dx_build_id *build, uint64_t domains,
                        struct roaring_bitmap_s *ordinals, struct dx_error *err)
{
    int rc = DX_OK;

    end_part(w);
    w->parts++;
    w->part = (struct dx_dead_part){ .build = *build,
                                     .of = domains,
                                     .domains = roaring_bitmap_get_cardinality(ordinals),
                                     .set_at = w->sets.size,
                                     .first_rank = w->rank_count };
    w->last = (struct dx_dead_rank){ 0, 0, 0 };
    if (w->part.domains > 0)
        rc = dx_dataset_set_encode_bitmap(ordinals, &w->sets, err);
    w->part.set_size = w->sets.size - w->part.set_at;
    return rc;
}

int dx_dead_writer_rank(struct dx_dead_writer *w, const struct dx_dead_rank *rank,
                        struct dx_error *err)
{
    if (compare_ranks(&w->last, rank) >= 0)
        return dx_fail(err, DX_E_INVALID, "dead domains: rank of dataset %" PRIu32 " out of order",
                       rank->dataset_id);
    w->last = *rank;
    w->rank_count++;
    dx_buf_u32(&w->ranks, rank->dataset_id);
    dx_buf_u64(&w->ranks, rank->url_count);
    dx_buf_u64(&w->ranks, rank->domains);
    return w->ranks.failed ? dx_buf_fail(&w->ranks, err, "dead domains") : DX_OK;
}

int dx_dead_writer_gone(struct dx_dead_writer *w, struct roaring_bitmap_s *file_ids,
                        struct dx_error *err)
{
    assert(w->gone == 0); /* once */
    w->gone = roaring_bitmap_get_cardinality(file_ids);
    return w->gone == 0 ? DX_OK : dx_dataset_set_encode_bitmap(file_ids, &w->files, err);
}

static int write_section(struct dx_envelope_writer *out, uint32_t tag, const struct dx_buf *b,
                         struct dx_error *err)
{
    int rc = b->failed ? dx_buf_fail(b, err, "dead domains")
                       : dx_envelope_writer_section(out, tag, err);

    return rc < 0 ? rc : dx_envelope_writer_append(out, dx_span_of(b->data, b->size), err);
}

int dx_dead_writer_end(struct dx_dead_writer *w, const struct dx_build_id *build,
                       int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                       void *ctx, struct dx_error *err)
{
    uint8_t room[HEADER_SIZE] = { 0 };
    struct dx_envelope_writer out;
    int rc;

    end_part(w);
    dx_store_u32(room, DX_DEAD_MAGIC);
    dx_store_u32(room + 4, DX_DEAD_VERSION);
    dx_store_u64(room + 8, w->parts);
    dx_store_u64(room + 16, w->rank_count);
    dx_store_u64(room + 24, w->gone);
    dx_envelope_writer_init(&out, DX_DEAD_MAGIC, DX_DEAD_VERSION, build, sink, ctx);
    rc = dx_envelope_writer_header(&out, dx_span_of(room, sizeof room), err);
    if (rc >= 0)
        rc = write_section(&out, TAG_PART, &w->table, err);
    if (rc >= 0)
        rc = write_section(&out, TAG_SETS, &w->sets, err);
    if (rc >= 0)
        rc = write_section(&out, TAG_RANK, &w->ranks, err);
    if (rc >= 0 && w->gone > 0)
        rc = write_section(&out, TAG_GONE, &w->files, err);
    if (rc >= 0)
        rc = dx_envelope_writer_finish(&out, err);
    dx_envelope_writer_release(&out);
    return rc < 0 ? rc : DX_OK;
}
