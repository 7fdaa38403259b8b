/* SPDX-License-Identifier: Apache-2.0 */
#include "query/answers/domain_text.h"

#include "base/civil_time.h"
#include "base/fraction.h"
#include "base/json_out.h"
#include "base/plain_text.h"
#include "base/put.h"
#include "canon/idna.h"
#include "format/version/url_sketch.h"
#include "loader/dataset_heads.h"
#include "query/answers/answer.h"
#include "query/suppression/suppression_view.h"

#include <assert.h>
#include <stdlib.h>

#define AS_TEXT(macro) AS_TEXT_(macro)
#define AS_TEXT_(value) #value

#define FIRST_NAME "\"first_ts\":"
#define LAST_NAME "\"last_ts\":"
#define COMMON_TIME DX_PUT_SIZE("\"2024-06-14T08:15:30Z\",")
#define TIMES_MAX (DX_PUT_SIZE(FIRST_NAME LAST_NAME "\"\",\"\",") + 2 * DX_CIVIL_TEXT)
#define WITHHELD_NAME "\"withheld_rows\":"
#define WITHHELD_MAX (DX_PUT_SIZE(WITHHELD_NAME ",") + DX_PUT_U64_MAX)
#define SUMS_NAMES "\"url_count\":,\"row_count\":,"
#define DISTINCT_NAME "\"distinct_url_count\":"
#define DISTINCT_ERROR ",\"distinct_error\":"
#define COUNTS_NAMES "\"kind\":\"counts\",\"page_count\":,nullnullnull"
#define COUNTS_ONLY_NAME "\"counts_only_datasets\":"
#define RANKING_NAMES "\"share\":,\"rank\":,"

/* An object with what closes it, but for the name; of the whole answer, the members behind the
 * domain, without the version. */
#define DATASET_MAX                                                                                \
    (DX_PUT_SIZE("{\"dataset_id\":," SUMS_NAMES "\"url_count_est\":," RANKING_NAMES) + TIMES_MAX + \
     5 * DX_PUT_U64_MAX + DX_FRACTION_MAX + WITHHELD_MAX + DX_PUT_SIZE(COUNTS_NAMES "},"))
#define ID_NAMES "\",\"domain_id\":\"0x\",\"dataset_count\":,"
#define SUMS_MAX                                                                            \
    (DX_PUT_SIZE(ID_NAMES) + DX_PUT_HEX64_SIZE + DX_PUT_U64_MAX + DX_PUT_SIZE(SUMS_NAMES) + \
     2 * DX_PUT_U64_MAX + DX_PUT_SIZE(DISTINCT_NAME DISTINCT_ERROR) + DX_PUT_U64_MAX +      \
     DX_PUT_SIZE(AS_TEXT(DX_SKETCH_ERROR) ",") + TIMES_MAX + WITHHELD_MAX +                 \
     DX_PUT_SIZE(COUNTS_ONLY_NAME ",\"datasets\":[") + DX_PUT_U64_MAX)

#define OFFSET_NAME "\"offset\":"
#define NEXT_NAME "\"next_offset\":"
#define VERSION_NAME "\"version\":\""
#define COMPLETE "\",\"complete\":true}"
#define END_MAX \
    (DX_PUT_SIZE("]," OFFSET_NAME "," NEXT_NAME "," VERSION_NAME COMPLETE) + 2 * DX_PUT_U64_MAX)

#define BEGIN "{\"domain\":\""

static inline uint8_t *put_time(uint8_t *p, bool has_ts, int64_t us)
{
    if (!has_ts)
        return DX_PUT(p, "null,");
    *p++ = '"';
    p += dx_civil_text_us(us, (char *)p);
    return DX_PUT(p, "\",");
}

/* Most pairs have one row, so one time: its text is copied. */
static uint8_t *put_times(uint8_t *p, const struct dx_pair_count *pair)
{
    const uint8_t *first = DX_PUT(p, FIRST_NAME);

    p = put_time(DX_PUT(p, FIRST_NAME), pair->has_ts, pair->first_us);
    if (pair->has_ts && pair->first_us == pair->last_us && p - first == COMMON_TIME)
        return dx_put(DX_PUT(p, LAST_NAME), first, COMMON_TIME);
    return put_time(DX_PUT(p, LAST_NAME), pair->has_ts, pair->last_us);
}

static uint8_t *put_number(uint8_t *p, uint64_t v)
{
    p = dx_put_u64(p, v);
    *p = ',';
    return p + 1;
}

static uint8_t *put_withheld(uint8_t *p, uint64_t rows)
{
    return rows == 0 ? p : put_number(DX_PUT(p, WITHHELD_NAME), rows);
}

/* What an item shows beside its pair. */
struct item {
    const struct dx_dataset_head *dataset;
    struct dx_span head;
    uint64_t rank;
    uint64_t withheld_rows;
};

/* As most clients want them: url_count_est repeats url_count, and most of the numbers have one digit. */
static uint8_t *put_all_counts(uint8_t *p, const struct dx_pair_count *pair)
{
    if ((pair->url_count | pair->row_count) < 8) {
        uint8_t *digits = p;

        p = DX_PUT(p, "\"url_count\":0,\"url_count_est\":0,\"row_count\":0,");
        digits[DX_PUT_SIZE("\"url_count\":")] |= (uint8_t)pair->url_count;
        digits[DX_PUT_SIZE("\"url_count\":0,\"url_count_est\":")] |= (uint8_t)pair->url_count;
        p[-2] |= (uint8_t)pair->row_count;
        return p;
    }
    p = put_number(DX_PUT(p, "\"url_count\":"), pair->url_count);
    p = put_number(DX_PUT(p, "\"url_count_est\":"), pair->url_count);
    return put_number(DX_PUT(p, "\"row_count\":"), pair->row_count);
}

static uint8_t *put_some_counts(uint8_t *p, const struct dx_pair_count *pair, unsigned fields)
{
    if ((fields & DX_DOMAIN_FIELD_URLS) != 0)
        p = put_number(DX_PUT(p, "\"url_count\":"), pair->url_count);
    if ((fields & DX_DOMAIN_FIELD_URLS_EST) != 0)
        p = put_number(DX_PUT(p, "\"url_count_est\":"), pair->url_count);
    if ((fields & DX_DOMAIN_FIELD_ROWS) != 0)
        p = put_number(DX_PUT(p, "\"row_count\":"), pair->row_count);
    return p;
}

/* Of a dataset of counts, whose pair counts pages: no URLs, and no rows to list. */
static uint8_t *put_pages(uint8_t *p, const struct dx_pair_count *pair, unsigned fields)
{
    p = put_number(DX_PUT(p, "\"kind\":\"counts\",\"page_count\":"), pair->row_count);
    if ((fields & DX_DOMAIN_FIELD_URLS) != 0)
        p = DX_PUT(p, "\"url_count\":null,");
    if ((fields & DX_DOMAIN_FIELD_URLS_EST) != 0)
        p = DX_PUT(p, "\"url_count_est\":null,");
    if ((fields & DX_DOMAIN_FIELD_ROWS) != 0)
        p = DX_PUT(p, "\"row_count\":null,");
    return p;
}

/* Each member ends in a comma, and the last of them becomes the brace. */
static uint8_t *put_dataset(uint8_t *p, const struct item *item, const struct dx_pair_count *pair,
                            unsigned fields)
{
    const unsigned counts = DX_DOMAIN_FIELD_URLS | DX_DOMAIN_FIELD_URLS_EST | DX_DOMAIN_FIELD_ROWS;
    const unsigned both = DX_DOMAIN_FIELD_FIRST_TS | DX_DOMAIN_FIELD_LAST_TS;

    if ((fields & DX_DOMAIN_FIELD_NAME) != 0)
        p = dx_put_span(p, item->head);
    else
        p = put_number(DX_PUT(p, "{\"dataset_id\":"), item->dataset->dataset_id);
    p = item->dataset->of_counts      ? put_pages(p, pair, fields)
        : (fields & counts) == counts ? put_all_counts(p, pair)
                                      : put_some_counts(p, pair, fields);
    if ((fields & both) == both)
        p = put_times(p, pair);
    else if ((fields & DX_DOMAIN_FIELD_FIRST_TS) != 0)
        p = put_time(DX_PUT(p, FIRST_NAME), pair->has_ts, pair->first_us);
    else if ((fields & DX_DOMAIN_FIELD_LAST_TS) != 0)
        p = put_time(DX_PUT(p, LAST_NAME), pair->has_ts, pair->last_us);
    if ((fields & DX_DOMAIN_FIELD_SHARE) != 0) {
        p = dx_put_fraction(DX_PUT(p, "\"share\":"), pair->url_count, item->dataset->urls);
        *p++ = ',';
    }
    if ((fields & DX_DOMAIN_FIELD_RANK) != 0)
        p = put_number(DX_PUT(p, "\"rank\":"), item->rank);
    p = put_withheld(p, item->withheld_rows);
    p[-1] = '}';
    *p = ',';
    return p + 1;
}

void dx_domain_text_unicode(struct dx_span domain, struct dx_buf *body)
{
    DX_UNINITIALIZED uint8_t text[DX_IDNA_UTF8_MAX];
    size_t size;

    if (!dx_idna_to_unicode(domain, text, sizeof text, &size))
        return;
    dx_buf_str(body, "\",\"domain_unicode\":\"");
    dx_json_escape(body, dx_span_of(text, size));
}

static void write_sums(const struct dx_domain_text *t, struct dx_buf *body)
{
    struct dx_pair_count sum = { 0 };
    uint64_t counts_only = 0;
    uint8_t *begin;
    uint8_t *p;

    for (size_t i = 0; i < t->count; i++)
        if (t->registry != NULL && dx_registry_of_counts(t->registry, t->ids[i]))
            counts_only++;
        else
            dx_pair_count_add(&sum, &t->pairs[i]);
    dx_answer_summarize(t->summary, (struct dx_answer_summary){ .domain_id = t->domain_id,
                                                                .has_domain_id = true,
                                                                .datasets = t->count,
                                                                .rows = sum.row_count });
    dx_buf_str(body, BEGIN);
    dx_json_escape(body, t->domain);
    dx_domain_text_unicode(t->domain, body);
    begin = dx_buf_reserve(body, SUMS_MAX);
    if (begin == NULL)
        return;
    p = dx_put_hex64(DX_PUT(begin, "\",\"domain_id\":\"0x"), t->domain_id);
    p = put_number(DX_PUT(p, "\",\"dataset_count\":"), t->count);
    p = put_number(DX_PUT(p, "\"url_count\":"), sum.url_count);
    p = put_number(DX_PUT(p, "\"row_count\":"), sum.row_count);
    p = dx_put_u64(DX_PUT(p, DISTINCT_NAME), t->distinct_url_count);
    p = DX_PUT(p, DISTINCT_ERROR);
    p = t->distinct_dense ? DX_PUT(p, AS_TEXT(DX_SKETCH_ERROR) ",") : DX_PUT(p, "0,");
    p = put_withheld(put_times(p, &sum), t->withheld_rows);
    if (counts_only > 0)
        p = put_number(DX_PUT(p, COUNTS_ONLY_NAME), counts_only);
    p = DX_PUT(p, "\"datasets\":[");
    body->size += (size_t)(p - begin);
    assert(body->size <= body->capacity);
}

static int read_item(const struct dx_domain_text *t, size_t i, const struct dx_dataset_heads *heads,
                     struct item *item, struct dx_error *err)
{
    const struct dx_dataset_head *dataset = dx_dataset_heads_get(heads, t->ids[i]);
    const struct dx_suppression_pair *hidden;

    assert(i < t->count);
    if (dataset == NULL)
        return dx_fail(err, DX_E_CORRUPT, "dataset %u of a domain is not in datasets.json",
                       (unsigned)t->ids[i]);
    if (t->pairs[i].url_count > dataset->urls)
        return dx_fail(err, DX_E_CORRUPT, "dataset %u has %llu URLs, a domain in it %llu",
                       (unsigned)t->ids[i], (unsigned long long)dataset->urls,
                       (unsigned long long)t->pairs[i].url_count);
    *item = (struct item){ .dataset = dataset, .head = dx_dataset_head_text(heads, dataset) };
    hidden = t->withheld->entry == NULL ? NULL : dx_suppression_view_pair(t->withheld, t->ids[i]);
    if (hidden != NULL)
        item->withheld_rows = hidden->withheld_rows;
    else
        item->rank = dx_dataset_heads_kept(heads, dataset, t->pairs[i].url_count);
    if ((t->fields & DX_DOMAIN_FIELD_RANK) == 0 || item->rank > 0)
        return DX_OK;
    return t->rank(t->rank_ctx, i, &item->rank, err);
}

/* Room for some datasets is made at once: of most domains for all. */
#define RUN 8

/* Those of [first, end), at most RUN of them. */
static int write_run(const struct dx_domain_text *t, const uint32_t *places, size_t first,
                     size_t end, const struct dx_dataset_heads *heads, struct dx_buf *body,
                     struct dx_error *err)
{
    uint8_t *begin = dx_buf_reserve(body, (end - first) * (heads->longest + DATASET_MAX));
    uint8_t *p = begin;

    if (begin == NULL)
        return dx_buf_fail(body, err, "answer");
    for (size_t at = first; at < end; at++) {
        size_t i = places != NULL ? places[at] : at;
        DX_UNINITIALIZED struct item item;
        int rc = read_item(t, i, heads, &item, err);

        if (rc < 0)
            return rc;
        p = put_dataset(p, &item, &t->pairs[i], t->fields);
    }
    body->size += (size_t)(p - begin);
    assert(body->size <= body->capacity);
    return DX_OK;
}

/* places: NULL, or the order of all. */
static int write_datasets(const struct dx_domain_text *t, const uint32_t *places, size_t first,
                          size_t end, const struct dx_dataset_heads *heads, struct dx_buf *body,
                          struct dx_error *err)
{
    for (size_t at = first; at < end; at += RUN) {
        int rc = write_run(t, places, at, end - at < RUN ? end : at + RUN, heads, body, err);

        if (rc < 0)
            return rc;
    }
    if (end > first)
        body->size--; /* the last comma */
    return DX_OK;
}

static uint8_t *put_place(uint8_t *p, const struct dx_domain_text *t, size_t first, size_t end)
{
    p = put_number(DX_PUT(p, OFFSET_NAME), t->order.page.offset);
    p = DX_PUT(p, NEXT_NAME);
    return end > first && end < t->count ? put_number(p, end) : DX_PUT(p, "null,");
}

/* What follows the datasets. */
static void write_end(const struct dx_domain_text *t, size_t first, size_t end, struct dx_buf *body)
{
    uint8_t *begin = dx_buf_reserve(body, END_MAX + t->version.size);
    uint8_t *p;

    if (begin == NULL)
        return;
    p = DX_PUT(begin, "],");
    if (dx_dataset_order_is_paged(&t->order))
        p = put_place(p, t, first, end);
    p = dx_put_span(DX_PUT(p, VERSION_NAME), t->version);
    p = DX_PUT(p, COMPLETE);
    body->size += (size_t)(p - begin);
    assert(body->size <= body->capacity);
}

int dx_domain_text_write(const struct dx_domain_text *t, const struct dx_dataset_heads *heads,
                         struct dx_buf *body, struct dx_error *err)
{
    const struct dx_dataset_items items = { t->ids, t->pairs, t->count, t->rank, t->rank_ctx };
    uint32_t *places;
    size_t first;
    size_t end;
    int rc;

    write_sums(t, body);
    if (body->failed)
        return dx_buf_fail(body, err, "answer");
    rc = dx_dataset_order_make(&t->order, &items, heads, &places, err);
    if (rc < 0)
        return rc;
    dx_dataset_order_window(&t->order, t->count, &first, &end);
    rc = write_datasets(t, places, first, end, heads, body, err);
    free(places);
    if (rc < 0)
        return rc;
    write_end(t, first, end, body);
    return body->failed ? dx_buf_fail(body, err, "answer") : DX_OK;
}

struct dx_span dx_domain_text_subject(struct dx_span text)
{
    const size_t at = DX_PUT_SIZE(BEGIN);
    struct dx_span s;

    if (text.size < at || memcmp(text.data, BEGIN, at) != 0)
        return (struct dx_span){ NULL, 0 };
    s = (struct dx_span){ text.data + at, dx_plain_prefix(text.data + at, text.size - at) };
    if (at + s.size >= text.size || s.data[s.size] != '"')
        s.size = 0;
    return s;
}
