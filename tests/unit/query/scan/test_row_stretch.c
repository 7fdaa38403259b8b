/* SPDX-License-Identifier: Apache-2.0
 * Stretches of rows: what was put in comes out, under its key alone; whatever is part of a question changes the key. */
#include "query/scan/row_stretch.h"

#include "loader/version.h"
#include "tests/support/damage.h"

#include <stdlib.h>
#include <string.h>

static unsigned failures;

static void add(struct dx_row_stretch_maker *maker, size_t pair, uint64_t place, const char *path)
{
    struct dx_listing_row row = { .scheme = dx_span_str("https"),
                                  .host = dx_span_str("a.com"),
                                  .path_query = dx_span_str(path),
                                  .has_ts = true,
                                  .ts_us = 5 };
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_row_stretch_add(maker, pair, place, &row, &err) == DX_OK, "row stretch");
}

static bool has(struct dx_page_cache *cache, const struct dx_row_stretch_question *q,
                const struct dx_domain_rows_place *start)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_row_stretch s;
    struct dx_cache_key key;
    bool found;

    EXPECT(dx_row_stretch_key(&key, q, start, &err) == DX_OK, "row stretch");
    found = dx_row_stretch_find(&s, cache, &key);
    if (found)
        dx_row_stretch_put(&s, cache);
    return found;
}

static void check_keys(struct dx_page_cache *cache, const struct dx_row_stretch_question *asked)
{
    struct dx_domain_rows *rows = (struct dx_domain_rows *)(uintptr_t)asked->rows;
    const struct dx_domain_rows_place start = { 7, 9 };
    struct dx_row_stretch_question q = *asked;
    const struct dx_part *part = rows->part;
    struct dx_part other = *part;

    EXPECT(has(cache, &q, NULL) && !has(cache, &q, &start), "row stretch: where it begins");
    q.reverse = true;
    EXPECT(!has(cache, &q, NULL), "row stretch: order");
    q = *asked;
    q.limit = 2000;
    EXPECT(!has(cache, &q, NULL), "row stretch: limit");
    q = *asked;
    q.range = (struct dx_url_range){ DX_URL_RANGE_HOST, dx_span_str("a.com"), { NULL, 0 } };
    EXPECT(!has(cache, &q, NULL), "row stretch: range");
    rows->pairs[1].dataset_id++;
    EXPECT(!has(cache, asked, NULL), "row stretch: another dataset");
    rows->pairs[1].dataset_id--;
    rows->pair_count--;
    EXPECT(!has(cache, asked, NULL), "row stretch: a dataset less");
    rows->pair_count++;
    rows->ordinal++;
    EXPECT(!has(cache, asked, NULL), "row stretch: domain");
    rows->ordinal--;
    other.entry.build.bytes[3]++;
    rows->part = &other;
    EXPECT(!has(cache, asked, NULL), "row stretch: part");
    rows->part = part;
    rows->version->entry.build.bytes[3]++;
    EXPECT(!has(cache, asked, NULL), "row stretch: version");
    rows->version->entry.build.bytes[3]--;
    EXPECT(has(cache, asked, NULL), "row stretch: the same again");
}

static void check_rows(const struct dx_row_stretch *s)
{
    struct dx_listing_row row;

    EXPECT(s->head.count == 2 && s->head.more && s->head.last.row == 4 && s->head.rows_seen == 12,
           "row stretch: head");
    EXPECT(s->rows[0].pair == 1 && s->rows[1].pair == 0 && s->rows[1].row.place == 4,
           "row stretch: places");
    dx_merged_row_get(&s->rows[1].row, s->text, &row);
    EXPECT(dx_span_equal(row.path_query, dx_span_str("/second")) && row.has_ts && row.ts_us == 5,
           "row stretch: row");
}

int main(void)
{
    struct dx_domain_rows_pair pairs[2] = { { .dataset_id = 3 }, { .dataset_id = 8 } };
    struct dx_version *version = calloc(1, sizeof *version);
    struct dx_part part = { .entry = { .build = { { 5 } } } };
    struct dx_domain_rows rows = {
        .pairs = pairs, .pair_count = 2, .version = version, .part = &part
    };
    const struct dx_row_stretch_question q = { .rows = &rows, .limit = 1000 };
    const struct dx_row_stretch_head head = { .more = true, .last = { 3, 4 }, .rows_seen = 12 };
    struct dx_row_stretch_maker maker = { .rows = NULL };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_page_cache *cache;
    struct dx_cache_key key;
    struct dx_row_stretch s;

    EXPECT(version != NULL, "memory");
    EXPECT(dx_page_cache_new(&cache, 1 << 20, DX_EVICT_SIEVE, &err) == DX_OK, "row stretch");
    add(&maker, 1, 0, "/first");
    add(&maker, 0, 4, "/second");
    EXPECT(dx_row_stretch_key(&key, &q, NULL, &err) == DX_OK, "row stretch");
    EXPECT(dx_row_stretch_make(&maker, &head, cache, &key, &s, &err) == DX_OK && maker.count == 0,
           "row stretch");
    check_rows(&s);
    dx_row_stretch_put(&s, cache);
    check_keys(cache, &q);
    dx_row_stretch_maker_release(&maker);
    dx_page_cache_free(&cache);
    free(version);
    return failures > 0;
}
