/* SPDX-License-Identifier: Apache-2.0
 * Slices of rows: what was put in comes out, under its key alone; order is noted; a window takes rows of one. */
#include "query/scan/row_slice.h"

#include "tests/support/damage.h"

#include <string.h>

static unsigned failures;

static const struct dx_build_id build = { { 1 } };
static const struct dx_hash128 hash = { { 2 } };

static void add(struct dx_row_slice_maker *maker, const char *path, bool has_ts, int64_t ts_us)
{
    struct dx_listing_row row = { .scheme = dx_span_str("https"),
                                  .host = dx_span_str("a.com"),
                                  .path_query = dx_span_str(path),
                                  .has_ts = has_ts,
                                  .ts_us = ts_us };
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_row_slice_add(maker, &row, &err) == DX_OK, "row slice");
}

static void look(const struct dx_row_slice *s, uint32_t i, const char *path)
{
    struct dx_listing_row row;

    dx_merged_row_get(&s->rows[i], s->text, &row);
    EXPECT(dx_span_equal(row.scheme, dx_span_str("https")), "row slice");
    EXPECT(dx_span_equal(row.host, dx_span_str("a.com")), "row slice");
    EXPECT(dx_span_equal(row.path_query, dx_span_str(path)), "row slice");
    EXPECT(row.raw_url.data == NULL && row.extra_count == 0 && s->rows[i].place == i, "row slice");
}

static void check_window(const struct dx_row_slice *s)
{
    struct dx_merged_window w = { .rows = NULL };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_listing_row row;

    EXPECT(dx_merged_window_add_rows(&w, s->rows, s->text, 1, 70, &err) == DX_OK, "row slice");
    EXPECT(dx_merged_window_add_rows(&w, s->rows + 1, s->text, 2, 90, &err) == DX_OK, "row slice");
    EXPECT(w.count == 3 && w.rows[0].place == 70 && w.rows[1].place == 90 && w.rows[2].place == 91,
           "row slice");
    dx_merged_row_get(&w.rows[2], w.text.data, &row);
    EXPECT(dx_span_equal(row.path_query, dx_span_str("/b")) && row.has_ts && row.ts_us == -7,
           "row slice");
    dx_merged_window_release(&w);
}

static void check_keys(struct dx_page_cache *cache)
{
    static const struct dx_build_id build_2 = { { 3 } };
    static const struct dx_hash128 hash_2 = { { 4 } };
    struct dx_row_slice s;
    struct dx_cache_key key;

    dx_row_slice_key(&key, &build_2, &hash, 5, 1024, 3);
    EXPECT(!dx_row_slice_find(&s, cache, &key), "row slice");
    dx_row_slice_key(&key, &build, &hash_2, 5, 1024, 3);
    EXPECT(!dx_row_slice_find(&s, cache, &key), "row slice");
    dx_row_slice_key(&key, &build, &hash, 6, 1024, 3);
    EXPECT(!dx_row_slice_find(&s, cache, &key), "row slice");
    dx_row_slice_key(&key, &build, &hash, 5, 0, 3);
    EXPECT(!dx_row_slice_find(&s, cache, &key), "row slice");
    dx_row_slice_key(&key, &build, &hash, 5, 1024, 4);
    EXPECT(!dx_row_slice_find(&s, cache, &key), "row slice");
    dx_row_slice_key(&key, &build, &hash, 5, 1024, 3);
    EXPECT(dx_row_slice_find(&s, cache, &key) && s.pages == 4 && s.bytes == 99 && s.ordered,
           "row slice");
    look(&s, 0, "/a");
    dx_row_slice_put(&s, cache);
}

int main(void)
{
    struct dx_row_slice_maker maker = { .rows = { .rows = NULL } };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_page_cache *cache;
    struct dx_cache_key key;
    struct dx_row_slice s;

    EXPECT(dx_page_cache_new(&cache, 1 << 20, DX_EVICT_SIEVE, &err) == DX_OK, "row slice");
    add(&maker, "/a", false, 0);
    add(&maker, "/b", false, 0);
    add(&maker, "/b", true, -7);
    dx_row_slice_key(&key, &build, &hash, 5, 1024, 3);
    EXPECT(dx_row_slice_make(&maker, cache, &key, 4, 99, &s, &err) == DX_OK, "row slice");
    EXPECT(s.count == 3 && s.ordered && maker.rows.count == 0, "row slice");
    look(&s, 0, "/a");
    look(&s, 2, "/b");
    check_window(&s);
    dx_row_slice_put(&s, cache);
    check_keys(cache);

    add(&maker, "/b", true, 8);
    add(&maker, "/b", true, 7);
    dx_row_slice_key(&key, &build, &hash, 5, 0, 2);
    EXPECT(dx_row_slice_make(&maker, cache, &key, 4, 99, &s, &err) == DX_OK && !s.ordered,
           "row slice");
    dx_row_slice_put(&s, cache);
    dx_row_slice_maker_release(&maker);
    dx_page_cache_free(&cache);
    return failures > 0;
}
