/* SPDX-License-Identifier: Apache-2.0 */
#include "query/domain_text.h"

#include "base/civil_time.h"
#include "base/json_out.h"
#include "base/put.h"
#include "loader/dataset_heads.h"
#include "query/withheld.h"

#define TIME_NAMES "\"first_ts\":\"\",\"last_ts\":\"\""
#define TIMES_MAX (DX_PUT_SIZE(TIME_NAMES) + 2 * DX_CIVIL_TEXT)
#define WITHHELD_NAME ",\"withheld_rows\":"
#define COUNTS_MAX \
    (DX_PUT_SIZE("\"url_count\":,\"url_count_est\":,\"row_count\":,") + 3 * DX_PUT_U64_MAX)

/* An object's members behind its head, with what closes it; of the whole answer, those behind the
 * domain, without the version. */
#define DATASET_MAX \
    (COUNTS_MAX + TIMES_MAX + DX_PUT_SIZE(WITHHELD_NAME) + DX_PUT_U64_MAX + DX_PUT_SIZE("},"))
#define ID_NAMES "\",\"domain_id\":\"0x\",\"dataset_count\":,"
#define SUMS_MAX                                                                           \
    (DX_PUT_SIZE(ID_NAMES) + DX_PUT_HEX64_SIZE + DX_PUT_U64_MAX + COUNTS_MAX + TIMES_MAX + \
     DX_PUT_SIZE(WITHHELD_NAME) + DX_PUT_U64_MAX + DX_PUT_SIZE(",\"datasets\":["))

#define BEGIN "{\"domain\":\""

static uint8_t *put_times(uint8_t *p, const struct dx_pair_count *pair)
{
    if (!pair->has_ts)
        return DX_PUT(p, "\"first_ts\":null,\"last_ts\":null");
    p = DX_PUT(p, "\"first_ts\":\"");
    p += dx_civil_text_us(pair->first_us, (char *)p);
    p = DX_PUT(p, "\",\"last_ts\":\"");
    p += dx_civil_text_us(pair->last_us, (char *)p);
    *p = '"';
    return p + 1;
}

static uint8_t *put_withheld(uint8_t *p, uint64_t rows)
{
    return rows == 0 ? p : dx_put_u64(DX_PUT(p, WITHHELD_NAME), rows);
}

static uint8_t *put_dataset(uint8_t *p, struct dx_span head, const struct dx_pair_count *pair,
                            uint64_t withheld_rows)
{
    const uint8_t *urls;
    size_t digits;

    p = dx_put_span(p, head);
    p = DX_PUT(p, "\"url_count\":");
    urls = p;
    p = dx_put_u64(p, pair->url_count);
    digits = (size_t)(p - urls);
    p = DX_PUT(p, ",\"url_count_est\":");
    p = dx_put(p, urls, digits);
    p = DX_PUT(p, ",\"row_count\":");
    p = dx_put_u64(p, pair->row_count);
    *p++ = ',';
    p = put_times(p, pair);
    p = put_withheld(p, withheld_rows);
    return DX_PUT(p, "},");
}

static void write_sums(const struct dx_domain_text *t, struct dx_buf *body)
{
    struct dx_pair_count sum = { 0 };
    uint8_t *begin;
    uint8_t *p;

    for (size_t i = 0; i < t->count; i++)
        dx_pair_count_add(&sum, &t->pairs[i]);
    dx_buf_str(body, BEGIN);
    dx_json_escape(body, t->domain);
    begin = dx_buf_reserve(body, SUMS_MAX);
    if (begin == NULL)
        return;
    p = dx_put_hex64(DX_PUT(begin, "\",\"domain_id\":\"0x"), t->domain_id);
    p = dx_put_u64(DX_PUT(p, "\",\"dataset_count\":"), t->count);
    p = dx_put_u64(DX_PUT(p, ",\"url_count\":"), sum.url_count);
    p = dx_put_u64(DX_PUT(p, ",\"row_count\":"), sum.row_count);
    *p++ = ',';
    p = put_withheld(put_times(p, &sum), t->withheld_rows);
    p = DX_PUT(p, ",\"datasets\":[");
    body->size += (size_t)(p - begin);
}

static int write_dataset(const struct dx_domain_text *t, size_t i,
                         const struct dx_dataset_heads *heads, struct dx_buf *body,
                         struct dx_error *err)
{
    const struct dx_withheld_pair *hidden = dx_withheld_pair(t->withheld, t->ids[i]);
    struct dx_span head;
    uint8_t *begin;

    if (!dx_dataset_heads_get(heads, t->ids[i], &head))
        return dx_fail(err, DX_E_CORRUPT, "dataset %u of a domain is not in datasets.json",
                       (unsigned)t->ids[i]);
    begin = dx_buf_reserve(body, head.size + DATASET_MAX);
    if (begin == NULL)
        return dx_buf_fail(body, err, "answer");
    body->size += (size_t)(put_dataset(begin, head, &t->pairs[i],
                                       hidden == NULL ? 0 : hidden->withheld_rows) -
                           begin);
    return DX_OK;
}

int dx_domain_text_write(const struct dx_domain_text *t, const struct dx_dataset_heads *heads,
                         struct dx_buf *body, struct dx_error *err)
{
    write_sums(t, body);
    if (body->failed)
        return dx_buf_fail(body, err, "answer");
    for (size_t i = 0; i < t->count; i++) {
        int rc = write_dataset(t, i, heads, body, err);

        if (rc < 0)
            return rc;
    }
    if (t->count > 0)
        body->size--; /* the last comma */
    dx_buf_str(body, "],\"version\":\"");
    dx_json_escape(body, t->version);
    dx_buf_str(body, "\",\"complete\":true}");
    return body->failed ? dx_buf_fail(body, err, "answer") : DX_OK;
}

struct dx_span dx_domain_text_subject(struct dx_span text)
{
    struct dx_span s = { text.data + DX_PUT_SIZE(BEGIN), 0 };

    if (text.size < DX_PUT_SIZE(BEGIN) || memcmp(text.data, BEGIN, DX_PUT_SIZE(BEGIN)) != 0)
        return (struct dx_span){ NULL, 0 };
    while (DX_PUT_SIZE(BEGIN) + s.size < text.size && s.data[s.size] != '"' &&
           s.data[s.size] != '\\')
        s.size++;
    if (DX_PUT_SIZE(BEGIN) + s.size >= text.size || s.data[s.size] != '"')
        s.size = 0;
    return s;
}
