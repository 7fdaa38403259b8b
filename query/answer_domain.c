/* SPDX-License-Identifier: Apache-2.0 */
#include "canon/url.h"
#include "loader/domain_pairs.h"
#include "loader/version.h"
#include "query/answer.h"
#include "query/domain_text.h"
#include "query/lookup.h"
#include "query/view.h"
#include "query/withheld.h"

/* What the rank of a pair is found with. */
struct ranking {
    const struct dx_version *version;
    const struct dx_domain_pairs *pairs;
    const struct dx_withheld *withheld;
};

/* Among the counts of the index: there the domain itself may have more URLs than it shows. */
static int rank_of(void *ctx, size_t i, uint64_t *rank, struct dx_error *err)
{
    const struct ranking *r = ctx;
    uint32_t id = r->pairs->ids[i];
    uint64_t urls = r->pairs->counts[i].url_count;
    const struct dx_withheld_pair *hidden = dx_withheld_pair(r->withheld, id);
    struct dx_domain_list list;
    int rc = dx_dataset_domains_of(&r->version->dataset_domains, id, &list, err);

    if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: dataset %u of a domain has no domains in %s",
                     r->version->directory, (unsigned)id, DX_FILE_DATASET_DOMAINS);
    if (rc == 1)
        rc = dx_dataset_domains_rank(&r->version->dataset_domains, &list, urls, rank, err);
    if (rc >= 0 && hidden != NULL && hidden->url_count > urls)
        --*rank;
    return rc;
}

static int read_distinct(const struct dx_version *v, const struct dx_found *found,
                         struct dx_domain_text *t, struct dx_error *err)
{
    uint64_t less = 0;
    uint64_t sum = 0;
    uint64_t largest = 0;
    int rc = DX_OK;

    if (t->withheld->entry != NULL && t->count > 1) {
        t->distinct_url_count = t->withheld->distinct_url_count; /* of what is left */
        t->distinct_dense = t->withheld->distinct_dense;
        return DX_OK;
    }
    for (size_t i = 0; i < t->count; i++) {
        sum += t->pairs[i].url_count;
        if (t->pairs[i].url_count > largest)
            largest = t->pairs[i].url_count;
    }
    if (t->count > 1)
        rc = dx_counts_distinct(&v->counts, found->ordinal, &less, &t->distinct_dense, err);
    if (rc >= 0 && less > sum - largest)
        rc = dx_fail(
            err, DX_E_CORRUPT,
            "%s: domain %llu has %llu URLs, %llu of them repeated, and %llu in one dataset",
            v->directory, (unsigned long long)found->ordinal, (unsigned long long)sum,
            (unsigned long long)less, (unsigned long long)largest);
    t->distinct_url_count = sum - less;
    return rc < 0 ? rc : DX_OK;
}

static int write_answer(struct dx_version *v, const struct dx_found *found,
                        const struct dx_withheld *withheld, unsigned fields, struct dx_buf *body,
                        struct dx_error *err)
{
    struct dx_domain_pairs pairs = DX_DOMAIN_PAIRS_INIT;
    struct ranking ranking = { v, &pairs, withheld };
    int rc = dx_domain_pairs_read(&pairs, v, found->ordinal, err);

    if (rc == DX_OK) {
        struct dx_domain_text t = {
            .domain = dx_span_of(found->domain, found->domain_size),
            .domain_id = found->domain_id,
            .ids = pairs.ids,
            .pairs = pairs.counts,
            .fields = fields,
            .rank = rank_of,
            .rank_ctx = &ranking,
            .withheld = withheld,
            .version = dx_span_str(v->entry.version),
        };

        t.count = dx_withheld_show(withheld, pairs.ids, pairs.counts, pairs.count,
                                   &t.withheld_rows);
        rc = read_distinct(v, found, &t, err);
        if (rc == DX_OK)
            rc = dx_domain_text_write(&t, &v->heads, body, err);
    }
    dx_domain_pairs_release(&pairs);
    return rc;
}

int dx_answer_domain(const struct dx_view *view, struct dx_canon *canon, struct dx_span asked,
                     unsigned fields, struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_withheld withheld;
    struct dx_found found;
    int rc = dx_lookup_domain(view, canon, asked, &found, problem);

    if (rc == 1)
        rc = dx_withheld_of(view, &found, &withheld, problem);
    if (rc <= 0)
        return rc;
    rc = write_answer(view->version, &found, &withheld, fields, body, &err);
    dx_withheld_release(&withheld);
    if (rc < 0) {
        dx_buf_clear(body);
        return dx_problem_of_error(problem, &err);
    }
    return 1;
}
