/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/index/index_pass.h"

#include <assert.h>

#include "base/few_bytes.h"

struct dx_span dx_index_pass_domain(const struct dx_index_state *b)
{
    assert(b->domain_size > 0); /* the pass has `texts` */
    return dx_span_of(b->domain_text, b->domain_size);
}

struct dx_span dx_index_pass_key(const struct dx_index_state *b)
{
    return dx_span_of(b->surt_text, b->surt_size);
}

const uint32_t *dx_index_pass_ids(const struct dx_index_state *b, size_t *count)
{
    *count = b->ids.size / sizeof(uint32_t);
    return (const uint32_t *)(const void *)b->ids.data;
}

const struct dx_pair_count *dx_index_pass_counts(const struct dx_index_state *b, size_t *count)
{
    *count = b->counts.size / sizeof(struct dx_pair_count);
    return (const struct dx_pair_count *)(const void *)b->counts.data;
}

static int end_domain(struct dx_index_pass *p, struct dx_error *err)
{
    struct dx_index_state *b = p->b;
    int rc;

    if (b->ids.failed || b->counts.failed)
        return dx_buf_fail(b->ids.failed ? &b->ids : &b->counts, err, "pairs of a domain");
    if (b->ids.size == 0)
        return DX_OK;
    if (dx_index_state_stopped(b))
        return dx_fail(err, DX_E_BUSY, "interrupted");
    rc = p->domain(p, p->ordinal, err);
    dx_buf_clear(&b->ids);
    dx_buf_clear(&b->counts);
    p->ordinal++;
    return rc;
}

static int begin_domain(struct dx_index_pass *p, struct dx_span key, struct dx_error *err)
{
    struct dx_index_state *b = p->b;
    int rc = end_domain(p, err);

    dx_few_copy(b->surt_text, key.data, key.size);
    b->surt_size = key.size;
    if (rc != DX_OK || !p->texts)
        return rc;
    b->domain_size = dx_surt_domain(key, b->domain_text);
    return b->domain_size > 0 ? DX_OK
                              : dx_fail(err, DX_E_CORRUPT, "pairs: \"%.*s\" is a key of no domain",
                                        (int)key.size, (const char *)key.data);
}

static int take_pair(struct dx_index_pass *p, const struct dx_index_pair *pair,
                     struct dx_error *err)
{
    struct dx_index_state *b = p->b;
    int rc = DX_OK;

    if (!dx_few_equal(pair->surt, dx_index_pass_key(b)))
        rc = begin_domain(p, pair->surt, err);
    dx_buf_append(&b->ids, &pair->dataset_id, sizeof pair->dataset_id);
    dx_buf_append(&b->counts, &pair->count, sizeof pair->count);
    return rc;
}

int dx_index_pass_run(struct dx_index_pass *p, struct dx_error *err)
{
    struct dx_index_state *b = p->b;
    enum dx_index_origin origin;
    const struct dx_index_pair *pair;
    int rc;

    b->merge.heads = p->pair == NULL;
    rc = dx_index_merge_begin(&b->merge, b->lake, b->options->memory / 8, err);
    p->ordinal = 0;
    dx_buf_clear(&b->ids);
    dx_buf_clear(&b->counts);
    b->surt_size = 0;
    while (rc == DX_OK && (rc = dx_index_merge_next(&b->merge, &pair, &origin, err)) == 1) {
        rc = origin == DX_INDEX_DROPPED ? DX_OK : take_pair(p, pair, err);
        if (rc == DX_OK && p->pair != NULL)
            rc = p->pair(p, pair, origin, err);
        if (rc != DX_OK)
            return rc;
    }
    return rc < 0 ? rc : end_domain(p, err);
}
