/* SPDX-License-Identifier: Apache-2.0 */
#include "query/cdx/cdx_places.h"

#include <assert.h>
#include <stdlib.h>

#include "base/array.h"

#define FEW 16 /* stretches: each is cut into more parts, so that there are fewer waits */
#define FEW_PARTS 8
#define LEAF_MIN (2 * FEW_PARTS)
#define LOOKED_MAX ((size_t)64 << 20)
#define LISTED_MAX 65536 /* rows of the domain whose keys stray */
#define TEXT_MAX ((size_t)8 << 20)

void dx_cdx_places_init(struct dx_cdx_places *p, struct dx_cdx_host *host, uint64_t leaf)
{
    assert(host->streams.open); /* the host was searched for */
    *p = (struct dx_cdx_places){ .host = host, .leaf = leaf < LEAF_MIN ? LEAF_MIN : leaf };
    dx_cdx_between_init(&p->between);
    dx_buf_init(&p->looked, LOOKED_MAX);
    dx_buf_init(&p->text, TEXT_MAX);
}

void dx_cdx_places_release(struct dx_cdx_places *p)
{
    if (p->host == NULL)
        return;
    dx_cdx_between_release(&p->between);
    dx_buf_release(&p->looked);
    dx_buf_release(&p->text);
    free(p->ranges);
    free(p->bounds);
    free(p->open);
    free(p->strays);
    *p = (struct dx_cdx_places){ .host = NULL };
}

static struct dx_row_streams *streams_of(struct dx_cdx_places *p)
{
    return &p->host->streams;
}

/* ---- what is found ---- */

static uint64_t visible_in(const struct dx_cdx_places *p, const struct dx_domain_rows_range *r)
{
    return dx_cdx_host_visible(p->host, r);
}

/* Ranges come in order of their places, but for those of levels of the search. */
static int keep(struct dx_cdx_places *p, size_t stream, uint64_t first, uint64_t end,
                struct dx_error *err)
{
    struct dx_domain_rows_range *to = dx_array_room(p->ranges, p->count, &p->capacity, sizeof *to);

    if (to == NULL)
        return dx_no_memory(err, "rows of a host");
    p->ranges = to;
    p->ranges[p->count++] = (struct dx_domain_rows_range){ streams_of(p)->streams[stream].pair,
                                                           first, end };
    return DX_OK;
}

static void join_ranges(struct dx_cdx_places *p)
{
    size_t n = 0;

    dx_domain_rows_sort(p->ranges, p->count);
    for (size_t i = 0; i < p->count; i++) {
        struct dx_domain_rows_range *before = n == 0 ? NULL : &p->ranges[n - 1];

        if (before != NULL && before->pair == p->ranges[i].pair &&
            before->end >= p->ranges[i].first)
            before->end = before->end > p->ranges[i].end ? before->end : p->ranges[i].end;
        else
            p->ranges[n++] = p->ranges[i];
    }
    p->count = n;
    p->rows = 0;
    for (size_t i = 0; i < n; i++)
        p->rows += visible_in(p, &p->ranges[i]);
}

/* ---- rows whose keys stray ---- */

/* Ranges are in order of their places. */
static bool is_of_host(const struct dx_cdx_places *p, size_t pair, uint64_t place)
{
    const struct dx_domain_rows_range *ranges = p->host->ranges;
    size_t low = 0;
    size_t high = p->host->count;

    while (low < high) { /* the first that ends behind the place */
        size_t middle = low + (high - low) / 2;

        if (ranges[middle].pair < pair ||
            (ranges[middle].pair == pair && ranges[middle].end <= place))
            low = middle + 1;
        else
            high = middle;
    }
    return low < p->host->count && ranges[low].pair == pair && ranges[low].first <= place;
}

static void add_stray(struct dx_cdx_places *p, size_t stream, uint64_t place)
{
    if (!is_of_host(p, streams_of(p)->streams[stream].pair, place))
        return;
    if (p->stray_count == DX_CDX_PLACES_STRAYS)
        p->by_paths = true;
    else
        p->strays[p->stray_count++] = (struct dx_cdx_places_stretch){ stream, place, place + 1 };
}

static int look_up_strays(struct dx_cdx_places *p, struct dx_error *err)
{
    uint64_t *places = malloc(LISTED_MAX * sizeof *places);
    size_t room = LISTED_MAX;
    int rc = DX_OK;

    p->strays = malloc(DX_CDX_PLACES_STRAYS * sizeof *p->strays);
    if (places == NULL || p->strays == NULL)
        rc = dx_no_memory(err, "rows of a host");
    for (size_t i = 0; rc >= 0 && i < streams_of(p)->count; i++) {
        size_t count;

        rc = dx_row_streams_strays(streams_of(p), i, places, room, &count, err);
        p->by_paths = p->by_paths || rc == 0;
        room -= rc < 0 ? 0 : count;
        for (size_t k = 0; rc >= 0 && k < count; k++)
            add_stray(p, i, places[k]);
    }
    free(places);
    p->has_strays = rc >= 0;
    return rc < 0 ? rc : DX_OK;
}

static int keep_strays(struct dx_cdx_places *p, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < p->stray_count; i++)
        rc = keep(p, p->strays[i].stream, p->strays[i].first, p->strays[i].end, err);
    return rc;
}

/* ---- stretches ---- */

static int open_stretch(struct dx_cdx_places *p, size_t stream, uint64_t first, uint64_t end,
                        struct dx_error *err)
{
    struct dx_cdx_places_stretch *to;

    if (end - first <= p->leaf || p->looks >= DX_CDX_PLACES_LOOKS)
        return keep(p, stream, first, end, err);
    to = dx_array_room(p->open, p->open_count, &p->open_capacity, sizeof *to);
    if (to == NULL)
        return dx_no_memory(err, "rows of a host");
    p->open = to;
    p->open[p->open_count++] = (struct dx_cdx_places_stretch){ stream, first, end };
    return DX_OK;
}

static int open_host(struct dx_cdx_places *p, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < p->host->count; i++) {
        const struct dx_domain_rows_range *r = &p->host->ranges[i];
        const struct dx_domain_rows_place at = { p->host->rows.pairs[r->pair].dataset_id,
                                                 r->first };

        rc = open_stretch(p, dx_row_streams_with(streams_of(p), &at), r->first, r->end, err);
    }
    return rc;
}

void dx_cdx_places_search(struct dx_cdx_places *p, const struct dx_cdx_keys *keys)
{
    p->keys = keys;
    p->samples = p->begun = p->reads = false;
    p->count = p->open_count = p->asked = p->at = p->looks = 0;
}

/* Of the parts of a stretch where the i-th begins; the last row is looked at for the end of all. */
static uint64_t place_of(const struct dx_cdx_places *p, const struct dx_cdx_places_stretch *s,
                         unsigned i)
{
    return s->first + (s->end - 1 - s->first) * i / p->parts;
}

static int want_stretch(struct dx_cdx_places *p, const struct dx_cdx_places_stretch *s,
                        struct dx_error *err)
{
    int rc = DX_OK;

    for (unsigned i = 0; rc == DX_OK && i <= p->parts; i++)
        rc = dx_row_streams_want(streams_of(p), s->stream, place_of(p, s, i), 1, err);
    p->looks += p->parts + 1;
    return rc;
}

/* ---- rows that were looked at ---- */

struct look {
    struct dx_span host, path;
};

static int take_look(void *ctx, size_t stream, uint64_t place, const struct dx_listing_row *row,
                     struct dx_error *err)
{
    struct dx_cdx_places *p = ctx;

    (void)stream;
    (void)place;
    dx_buf_u32(&p->looked, (uint32_t)row->host.size);
    dx_buf_u32(&p->looked, (uint32_t)row->path_query.size);
    dx_buf_append(&p->looked, row->host.data, row->host.size);
    dx_buf_append(&p->looked, row->path_query.data, row->path_query.size);
    return p->looked.failed ? dx_buf_fail(&p->looked, err, "rows of a host") : DX_OK;
}

static struct look next_look(struct dx_cdx_places *p)
{
    const uint8_t *at = p->looked.data + p->looked_at;
    uint32_t sizes[2];
    struct look look;

    memcpy(sizes, at, sizeof sizes);
    look.host = dx_span_of(at + sizeof sizes, sizes[0]);
    look.path = dx_span_of(look.host.data + sizes[0], sizes[1]);
    p->looked_at += sizeof sizes + sizes[0] + sizes[1];
    return look;
}

static int compare_looks(const struct look *a, const struct look *b)
{
    int order = dx_span_compare(a->host, b->host);

    return order != 0 ? order : dx_span_compare(a->path, b->path);
}

/* A part of a stretch is kept, left out, or opened. */
static int judge(struct dx_cdx_places *p, size_t stream, uint64_t first, uint64_t end,
                 const struct look *from, const struct look *to, struct dx_error *err)
{
    enum dx_cdx_answer answer = DX_CDX_SOMETHING;

    if (compare_looks(from, to) > 0)
        return dx_row_streams_disorder(streams_of(p), stream, err);
    if (dx_span_equal(from->host, to->host))
        answer = dx_cdx_between(&p->between, p->keys, from->host, from->path, to->path);
    if (answer == DX_CDX_NOTHING)
        return DX_OK;
    return answer == DX_CDX_ALL ? keep(p, stream, first, end, err)
                                : open_stretch(p, stream, first, end, err);
}

static int judge_stretch(struct dx_cdx_places *p, struct dx_cdx_places_stretch s,
                         struct dx_error *err)
{
    struct look from = next_look(p);
    int rc = DX_OK;

    for (unsigned i = 0; rc == DX_OK && i < p->parts; i++) {
        struct look to = next_look(p);
        uint64_t end = i + 1 == p->parts ? s.end : place_of(p, &s, i + 1);

        rc = judge(p, s.stream, place_of(p, &s, i), end, &from, &to, err);
        from = to;
    }
    return rc;
}

/* ---- a batch ---- */

static int read_batch(struct dx_cdx_places *p, struct dx_error *err)
{
    const struct dx_row_streams_taker taker = { p, take_look, NULL };
    struct dx_row_streams *s = streams_of(p);
    int rc = dx_row_streams_read(s, err);

    if (rc != DX_LISTING_DONE)
        return rc;
    dx_buf_clear(&p->looked);
    p->looked_at = 0;
    rc = dx_row_streams_each(s, &taker, err);
    dx_row_streams_done(s);
    p->reads = false;
    return rc;
}

/* Of what is open still. */
static void begin_batch(struct dx_cdx_places *p)
{
    memmove(p->open, p->open + p->at, (p->open_count - p->at) * sizeof *p->open);
    p->open_count -= p->at;
    p->asked = p->at = 0;
    p->parts = p->open_count <= FEW ? FEW_PARTS : 2;
}

static int want_stretches(struct dx_cdx_places *p, struct dx_error *err)
{
    int rc = DX_OK;

    streams_of(p)->by_slices = true;
    begin_batch(p);
    while (rc == DX_OK && p->at < p->open_count && !dx_row_streams_full(streams_of(p)))
        rc = want_stretch(p, &p->open[p->at++], err);
    p->reads = rc == DX_OK;
    return rc;
}

static int search_places(struct dx_cdx_places *p, struct dx_error *err)
{
    int rc = p->has_strays ? DX_OK : look_up_strays(p, err);

    if (rc == DX_OK && !p->begun)
        rc = open_host(p, err);
    p->begun = true;
    while (rc == DX_OK && (p->reads || p->asked < p->open_count)) {
        if (!p->reads)
            rc = want_stretches(p, err);
        if (rc == DX_OK)
            rc = read_batch(p, err);
        while (rc == DX_OK && p->asked < p->at)
            rc = judge_stretch(p, p->open[p->asked++], err);
    }
    if (rc == DX_OK)
        rc = keep_strays(p, err);
    if (rc != DX_OK)
        return rc;
    join_ranges(p);
    return DX_LISTING_DONE;
}

/* ---- a sample ---- */

void dx_cdx_places_sample(struct dx_cdx_places *p, const struct dx_cdx_keys *keys, size_t count)
{
    assert(count > 0 && !p->samples); /* of what a search has found */
    p->keys = keys;
    p->samples = true;
    p->reads = false;
    p->distance = p->rows / (count + 1) + 1;
    p->range = p->bound_count = 0;
    p->next = p->distance / 2;
    dx_buf_clear(&p->text);
}

/* Visible rows alone: keys of the others must not reach a client. */
static int want_samples(struct dx_cdx_places *p, struct dx_error *err)
{
    const struct dx_domain_rows *rows = &p->host->rows;
    int rc = DX_OK;

    streams_of(p)->by_slices = true;
    for (p->looks = 0; rc == DX_OK && p->range < p->count && !dx_row_streams_full(streams_of(p));) {
        const struct dx_domain_rows_range *r = &p->ranges[p->range];
        struct dx_domain_rows_place at = { rows->pairs[r->pair].dataset_id, r->first };
        uint64_t before = 0;

        if (p->next >= visible_in(p, r)) {
            p->next -= visible_in(p, r);
            p->range++;
            continue;
        }
        (void)dx_domain_rows_before(rows, &at, &before);
        at = dx_domain_rows_place(rows, before + p->next);
        rc = dx_row_streams_want(streams_of(p), dx_row_streams_with(streams_of(p), &at), at.row, 1,
                                 err);
        p->looks++;
        p->next += p->distance;
    }
    p->reads = rc == DX_OK && p->looks > 0;
    return rc;
}

/* Before the key, and behind all that are less: keys are ASCII. */
static void put_bound(struct dx_cdx_places *p, struct dx_span key)
{
    struct dx_span *to = dx_array_room(p->bounds, p->bound_count, &p->bound_capacity, sizeof *to);
    size_t size = key.size < DX_CDX_PLACES_BOUND ? key.size : DX_CDX_PLACES_BOUND - 1;

    if (to == NULL) {
        p->text.failed = p->text.no_memory = true;
        return;
    }
    p->bounds = to;
    p->bounds[p->bound_count++] = dx_span_of(NULL, size + 1); /* its bytes: once there are all */
    dx_buf_append(&p->text, key.data, size - 1);
    dx_buf_u8(&p->text, (uint8_t)(key.data[size - 1] - 1));
    dx_buf_u8(&p->text, 0xff);
}

static int take_samples(struct dx_cdx_places *p, struct dx_error *err)
{
    for (; p->looks > 0; p->looks--) {
        struct look look = next_look(p);
        struct dx_urlkey *k = &p->between.key;
        struct dx_span key;

        if (!dx_urlkey_make(k, look.host, look.path)) {
            if (dx_urlkey_no_memory(k))
                return dx_no_memory(err, "the key of a URL");
            continue; /* too long: its turn comes when it is read */
        }
        key = dx_span_of(k->key.data, k->key.size);
        if (dx_cdx_keys_has(p->keys, key))
            put_bound(p, key);
    }
    return p->text.failed ? dx_buf_fail(&p->text, err, "rows of a host") : DX_OK;
}

static int by_text(const void *left, const void *right)
{
    return dx_span_compare(*(const struct dx_span *)left, *(const struct dx_span *)right);
}

static void sort_bounds(struct dx_cdx_places *p)
{
    const uint8_t *at = p->text.data;
    size_t n = 0;

    for (size_t i = 0; i < p->bound_count; i++) {
        p->bounds[i].data = at;
        at += p->bounds[i].size;
    }
    if (p->bound_count > 1)
        qsort(p->bounds, p->bound_count, sizeof *p->bounds, by_text);
    for (size_t i = 0; i < p->bound_count; i++)
        if (n == 0 || !dx_span_equal(p->bounds[n - 1], p->bounds[i]))
            p->bounds[n++] = p->bounds[i];
    p->bound_count = n;
}

static int sample(struct dx_cdx_places *p, struct dx_error *err)
{
    int rc = DX_OK;

    while (rc == DX_OK && (p->reads || p->range < p->count)) {
        if (!p->reads)
            rc = want_samples(p, err);
        if (rc == DX_OK && p->reads)
            rc = read_batch(p, err);
        if (rc == DX_OK)
            rc = take_samples(p, err);
    }
    if (rc != DX_OK)
        return rc;
    sort_bounds(p);
    return DX_LISTING_DONE;
}

int dx_cdx_places_step(struct dx_cdx_places *p, struct dx_error *err)
{
    return p->samples ? sample(p, err) : search_places(p, err);
}
