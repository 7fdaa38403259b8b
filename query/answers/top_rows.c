/* SPDX-License-Identifier: Apache-2.0 */
#include "query/answers/top_rows.h"

#include "base/fraction.h"
#include "base/put.h"
#include "query/answers/top_domains.h"
#include "query/view/counts_json.h"

#include <assert.h>

void dx_top_csv_head(struct dx_buf *out)
{
    dx_buf_str(out, "rank,domain,url_count,share,page_count\r\n");
}

/* A name in quotes if it has a byte that ends a field; quotes in it are doubled. */
static uint8_t *put_field(uint8_t *p, struct dx_span s)
{
    bool plain = true;

    for (size_t i = 0; i < s.size; i++)
        plain = plain && s.data[i] != '"' && s.data[i] != ',' && s.data[i] != '\r' &&
                s.data[i] != '\n';
    if (plain)
        return dx_put_span(p, s);
    *p++ = '"';
    for (size_t i = 0; i < s.size; i++) {
        if (s.data[i] == '"')
            *p++ = '"';
        *p++ = s.data[i];
    }
    *p = '"';
    return p + 1;
}

int dx_top_csv_row(const struct dx_top_domains *t, const struct dx_top_domain *row,
                   struct dx_buf *out, struct dx_error *err)
{
    bool pages = dx_counts_json_pages(t->dataset);
    uint8_t name[DX_SURT_MAX];
    size_t size;
    uint8_t *begin;
    uint8_t *p;
    int rc = dx_top_domains_name(t, row, name, &size, err);

    if (rc < 0)
        return rc;
    begin = dx_buf_reserve(out, 2 * DX_PUT_U64_MAX + 2 * DX_SURT_MAX + 2 + DX_FRACTION_MAX +
                                    DX_PUT_SIZE(",,,,\r\n"));
    if (begin == NULL)
        return dx_buf_fail(out, err, "answer");
    p = dx_put_u64(begin, row->rank);
    *p++ = ',';
    p = put_field(p, dx_span_of(name, size));
    *p++ = ',';
    p = pages ? p : dx_put_u64(p, row->url_count);
    *p++ = ',';
    p = dx_put_fraction(p, row->url_count, t->url_count);
    *p++ = ',';
    p = pages ? dx_put_u64(p, row->url_count) : p;
    p = DX_PUT(p, "\r\n");
    out->size += (size_t)(p - begin);
    assert(out->size <= out->capacity);
    return DX_OK;
}

int dx_top_json_row(const struct dx_top_domains *t, const struct dx_top_domain *row,
                    struct dx_buf *out, struct dx_error *err)
{
    uint8_t name[DX_SURT_MAX];
    size_t size;
    struct dx_json j;
    int rc = dx_top_domains_name(t, row, name, &size, err);

    if (rc < 0)
        return rc;
    dx_json_open(&j, out);
    dx_json_object(&j);
    dx_json_key(&j, "rank");
    dx_json_u64(&j, row->rank);
    dx_json_key(&j, "domain");
    dx_json_text(&j, dx_span_of(name, size));
    dx_json_key(&j, "url_count");
    dx_counts_json_pages(t->dataset) ? dx_json_null(&j) : dx_json_u64(&j, row->url_count);
    dx_json_key(&j, "share");
    dx_json_fraction(&j, row->url_count, t->url_count);
    if (dx_counts_json_pages(t->dataset))
        dx_json_key_u64(&j, "page_count", row->url_count);
    dx_json_end(&j);
    return out->failed ? dx_buf_fail(out, err, "answer") : DX_OK;
}
