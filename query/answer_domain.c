/* SPDX-License-Identifier: Apache-2.0 */
#include "canon/url.h"
#include "loader/domain_pairs.h"
#include "loader/version.h"
#include "query/answer.h"
#include "query/domain_text.h"
#include "query/lookup.h"
#include "query/withheld.h"

static int write_answer(struct dx_version *v, const struct dx_found *found,
                        const struct dx_withheld *withheld, struct dx_buf *body,
                        struct dx_error *err)
{
    struct dx_domain_pairs pairs = DX_DOMAIN_PAIRS_INIT;
    int rc = dx_domain_pairs_read(&pairs, v, found->ordinal, err);

    if (rc == DX_OK) {
        struct dx_domain_text t = {
            .domain = dx_span_of(found->domain, found->domain_size),
            .domain_id = found->domain_id,
            .ids = pairs.ids,
            .pairs = pairs.counts,
            .withheld = withheld,
            .version = dx_span_str(v->entry.version),
        };

        t.count = dx_withheld_show(withheld, pairs.ids, pairs.counts, pairs.count,
                                   &t.withheld_rows);
        rc = dx_domain_text_write(&t, &v->heads, body, err);
    }
    dx_domain_pairs_release(&pairs);
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
    rc = write_answer(v, &found, &withheld, body, &err);
    dx_withheld_release(&withheld);
    if (rc < 0) {
        dx_buf_clear(body);
        return dx_problem_of_error(problem, &err);
    }
    return 1;
}
