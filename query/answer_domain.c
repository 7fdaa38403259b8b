/* SPDX-License-Identifier: Apache-2.0 */
#include "canon/url.h"
#include "loader/version.h"
#include "query/answer.h"
#include "query/domain_text.h"
#include "query/lookup.h"
#include "query/withheld.h"

#include <stdlib.h>

/* Datasets of most domains; more come from the heap. */
#define FEW 64

static int read_sets(struct dx_version *v, const struct dx_found *found,
                     const struct dx_withheld *withheld, struct dx_buf *body, struct dx_error *err)
{
    uint32_t few_ids[FEW];
    struct dx_pair_count few_pairs[FEW];
    uint32_t *ids = few_ids;
    struct dx_pair_count *pairs = few_pairs;
    struct dx_dataset_set set;
    size_t count;
    int rc = dx_membership_get(&v->membership, found->ordinal, &set, err);

    if (rc < 0)
        return rc;
    count = dx_dataset_set_count(&set);
    if (count > v->registry.count)
        return dx_fail(err, DX_E_CORRUPT, "%s: a domain has %zu datasets of %zu", v->directory,
                       count, v->registry.count);
    if (count > FEW) {
        ids = malloc(count * sizeof *ids);
        pairs = malloc(count * sizeof *pairs);
    }
    if (ids == NULL || pairs == NULL) {
        rc = dx_fail(err, DX_E_NOMEM, "answer: out of memory");
        goto out;
    }
    (void)dx_dataset_set_ids(&set, ids, count);
    rc = dx_counts_get(&v->counts, found->ordinal, (uint32_t)count, pairs, err);
    if (rc >= 0) {
        struct dx_domain_text t = {
            .domain = dx_span_of(found->domain, found->domain_size),
            .domain_id = found->domain_id,
            .ids = ids,
            .pairs = pairs,
            .withheld = withheld,
            .version = dx_span_str(v->entry.version),
        };

        t.count = dx_withheld_show(withheld, ids, pairs, count, &t.withheld_rows);
        rc = dx_domain_text_write(&t, &v->heads, body, err);
    }
out:
    if (ids != few_ids)
        free(ids);
    if (pairs != few_pairs)
        free(pairs);
    return rc;
}

int dx_answer_domain(struct dx_version *v, struct dx_canon *canon, struct dx_span asked,
                     struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_withheld withheld;
    struct dx_found found;
    int rc = dx_lookup_domain(v, canon, asked, &found, problem);

    if (rc == 1)
        rc = dx_withheld_of(v, &found, &withheld, problem);
    if (rc <= 0)
        return rc;
    rc = read_sets(v, &found, &withheld, body, &err);
    dx_withheld_release(&withheld);
    if (rc < 0) {
        dx_buf_clear(body);
        return dx_problem_of_error(problem, &err);
    }
    return 1;
}
