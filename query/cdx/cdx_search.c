/* SPDX-License-Identifier: Apache-2.0 */
#include "query/cdx/cdx_search.h"

#include <assert.h>

#define LEAF_ROWS 1024u
#define LEAVES 32   /* of each file, that a look_max has at least */
#define SAMPLES 128 /* rows, at least */
#define SAMPLES_MAX 4096
#define SAMPLE_ROWS 131072u
#define PIECES 8 /* that an answer may look at, at least */

enum { OF_HOST, OF_KEYS, SAMPLED, OF_PIECE };

void dx_cdx_search_init(struct dx_cdx_search *s, struct dx_version *v, const struct dx_part *part,
                        uint64_t ordinal, struct dx_span host, bool alone, uint64_t deadline_ms)
{
    *s = (struct dx_cdx_search){ .by_keys = false };
    dx_cdx_host_init(&s->host, v, part, ordinal, host, alone, deadline_ms);
    dx_buf_init(&s->low, DX_URLKEY_MAX + 2);
    dx_buf_init(&s->high, DX_URLKEY_MAX + 2);
}

void dx_cdx_search_release(struct dx_cdx_search *s)
{
    dx_cdx_places_release(&s->places);
    dx_cdx_host_release(&s->host);
    dx_buf_release(&s->low);
    dx_buf_release(&s->high);
    *s = (struct dx_cdx_search){ .found = false };
}

int dx_cdx_search_begin(struct dx_cdx_search *s, struct dx_error *err)
{
    int rc = dx_cdx_host_begin(&s->host, err);

    s->searching = rc == DX_OK;
    return rc;
}

static int end_with(struct dx_cdx_search *s, const struct dx_domain_rows_range *ranges,
                    size_t count, uint64_t rows)
{
    s->searching = false;
    s->found = true;
    s->ranges = ranges;
    s->count = count;
    s->rows = rows;
    return DX_LISTING_DONE;
}

static int end_host(struct dx_cdx_search *s)
{
    uint64_t leaf = s->look_max / (LEAVES * (s->host.streams.count + 1));

    if (!s->by_keys || s->host.total <= s->look_max)
        return end_with(s, s->host.ranges, s->host.count, s->host.total);
    dx_cdx_places_init(&s->places, &s->host, leaf < LEAF_ROWS ? leaf : LEAF_ROWS);
    dx_cdx_places_search(&s->places, &s->keys);
    s->state = OF_KEYS;
    return DX_LISTING_DONE;
}

static int end_places(struct dx_cdx_search *s)
{
    s->by_paths = s->places.by_paths;
    return end_with(s, s->places.ranges, s->places.count, s->places.rows);
}

static int end_keys(struct dx_cdx_search *s)
{
    uint64_t samples = s->places.rows / SAMPLE_ROWS;

    if (s->whole || s->places.rows <= s->look_max)
        return end_places(s);
    if (samples < SAMPLES)
        samples = SAMPLES;
    dx_cdx_places_sample(&s->places, &s->keys,
                         samples < SAMPLES_MAX ? (size_t)samples : SAMPLES_MAX);
    s->state = SAMPLED;
    return DX_LISTING_DONE;
}

static int end_sample(struct dx_cdx_search *s)
{
    uint64_t apart = s->places.rows / (s->places.bound_count + 1) + 1;

    s->in_pieces = true;
    s->bounds = 1;
    s->bounds_max = (size_t)(s->look_max / PIECES / apart);
    return end_places(s);
}

/* ---- a piece ---- */

/* The first bound behind the beginning of the piece. */
static size_t bound_behind(const struct dx_cdx_search *s)
{
    size_t low = 0;
    size_t high = s->places.bound_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (dx_span_compare(s->places.bounds[middle], s->piece.low) > 0)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int begin_piece(struct dx_cdx_search *s, struct dx_error *err)
{
    size_t at = bound_behind(s) + s->bounds - 1;

    dx_buf_clear(&s->high);
    s->piece.high = s->keys.high;
    s->last = at >= s->places.bound_count;
    if (!s->last) {
        dx_buf_append(&s->high, s->places.bounds[at].data, s->places.bounds[at].size);
        s->piece.high = dx_span_of(s->high.data, s->high.size);
    }
    if (s->high.failed)
        return dx_no_memory(err, "rows of a host");
    dx_cdx_places_search(&s->places, &s->piece);
    s->searching = true;
    s->state = OF_PIECE;
    return DX_OK;
}

int dx_cdx_search_piece(struct dx_cdx_search *s, struct dx_span from, uint64_t room,
                        struct dx_error *err)
{
    bool before = dx_span_compare(from, s->keys.low) < 0;

    assert(s->in_pieces && !s->last);
    dx_buf_clear(&s->low);
    dx_buf_append(&s->low, before ? s->keys.low.data : from.data,
                  before ? s->keys.low.size : from.size);
    if (s->low.failed)
        return dx_no_memory(err, "rows of a host");
    s->piece.low = dx_span_of(s->low.data, s->low.size);
    s->room = room;
    return begin_piece(s, err);
}

static int end_piece(struct dx_cdx_search *s, struct dx_error *err)
{
    if (s->places.rows > s->room && s->bounds > 1) {
        s->bounds /= 2;
        return begin_piece(s, err);
    }
    if (s->bounds < s->bounds_max)
        s->bounds *= 2;
    return end_places(s);
}

/* ---- steps ---- */

/* Where rows cannot be searched for, those that were found before are all that there is. */
static int give_up(struct dx_cdx_search *s, struct dx_error *err)
{
    *err = (struct dx_error)DX_ERROR_INIT;
    s->in_pieces = false;
    if (s->state != OF_HOST)
        return end_with(s, s->host.ranges, s->host.count, s->host.total);
    dx_cdx_search_release(s);
    return DX_LISTING_DONE;
}

static int step_of(struct dx_cdx_search *s, struct dx_error *err)
{
    int rc = s->state == OF_HOST ? dx_cdx_host_step(&s->host, err)
                                 : dx_cdx_places_step(&s->places, err);

    if (rc != DX_LISTING_DONE)
        return rc;
    switch (s->state) {
    case OF_HOST:
        return end_host(s);
    case OF_KEYS:
        return end_keys(s);
    case SAMPLED:
        return end_sample(s);
    default:
        return end_piece(s, err);
    }
}

int dx_cdx_search_step(struct dx_cdx_search *s, struct dx_error *err)
{
    int rc = DX_LISTING_DONE;

    while (rc == DX_LISTING_DONE && s->searching)
        rc = step_of(s, err);
    return rc == DX_E_LIMIT || rc == DX_E_UNSUPPORTED ? give_up(s, err) : rc;
}
