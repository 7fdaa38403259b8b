/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_out.h"
#include "canon/url.h"
#include "loader/version.h"
#include "query/answer.h"
#include "query/lookup.h"
#include "query/withheld.h"

#include <stdlib.h>

/* Datasets of most domains; more come from the heap. */
#define FEW 64

static void write_times(struct dx_json *j, bool has_ts, int64_t first_us, int64_t last_us)
{
    dx_json_key(j, "first_ts");
    has_ts ? dx_json_time_us(j, first_us) : dx_json_null(j);
    dx_json_key(j, "last_ts");
    has_ts ? dx_json_time_us(j, last_us) : dx_json_null(j);
}

/* What the answer is about, less what suppressions hide. */
struct shown {
    uint32_t *ids;
    struct dx_pair_count *pairs;
    size_t count;
    uint64_t withheld_rows; /* of all datasets, also of those of which nothing is left */
    const struct dx_withheld *withheld;
};

static void write_withheld(struct dx_json *j, uint64_t rows)
{
    if (rows == 0)
        return;
    dx_json_key(j, "withheld_rows");
    dx_json_u64(j, rows);
}

static int write_dataset(struct dx_json *j, const struct dx_version *v, const struct shown *s,
                         size_t i, struct dx_error *err)
{
    uint32_t dataset_id = s->ids[i];
    const struct dx_pair_count *pair = &s->pairs[i];
    const struct dx_withheld_pair *hidden = dx_withheld_pair(s->withheld, dataset_id);
    const struct dx_dataset *d = dx_registry_by_id(&v->registry, dataset_id);

    if (d == NULL)
        return dx_fail(err, DX_E_CORRUPT, "%s: dataset %u of a domain is not in datasets.json",
                       v->directory, (unsigned)dataset_id);
    dx_json_object(j);
    dx_json_key(j, "dataset_id");
    dx_json_u64(j, dataset_id);
    dx_json_key(j, "name");
    dx_json_str(j, d->name);
    dx_json_key(j, "url_count");
    dx_json_u64(j, pair->url_count);
    dx_json_key(j, "url_count_est");
    dx_json_u64(j, pair->url_count);
    dx_json_key(j, "row_count");
    dx_json_u64(j, pair->row_count);
    write_times(j, pair->has_ts, pair->first_us, pair->last_us);
    write_withheld(j, hidden == NULL ? 0 : hidden->withheld_rows);
    dx_json_end(j);
    return DX_OK;
}

static int write_answer(struct dx_version *v, const struct dx_found *found, const struct shown *s,
                        struct dx_buf *body, struct dx_error *err)
{
    struct dx_pair_count t = { 0 };
    struct dx_json j;
    int rc = DX_OK;

    for (size_t i = 0; i < s->count; i++)
        dx_pair_count_add(&t, &s->pairs[i]);
    dx_json_open(&j, body);
    dx_json_object(&j);
    dx_json_key(&j, "domain");
    dx_json_text(&j, dx_span_of(found->domain, found->domain_size));
    dx_json_key(&j, "domain_id");
    dx_json_hex64(&j, found->domain_id);
    dx_json_key(&j, "dataset_count");
    dx_json_u64(&j, s->count);
    dx_json_key(&j, "url_count");
    dx_json_u64(&j, t.url_count);
    dx_json_key(&j, "row_count");
    dx_json_u64(&j, t.row_count);
    write_times(&j, t.has_ts, t.first_us, t.last_us);
    write_withheld(&j, s->withheld_rows);
    dx_json_key(&j, "datasets");
    dx_json_array(&j);
    for (size_t i = 0; i < s->count && rc == DX_OK; i++)
        rc = write_dataset(&j, v, s, i, err);
    if (rc < 0)
        return rc;
    dx_json_end(&j);
    dx_json_key(&j, "version");
    dx_json_str(&j, v->entry.version);
    dx_json_key(&j, "complete");
    dx_json_bool(&j, true);
    dx_json_end(&j);
    return body->failed ? dx_buf_fail(body, err, "answer") : DX_OK;
}

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
        struct shown s = { ids, pairs, count, 0, withheld };

        s.count = dx_withheld_show(withheld, ids, pairs, count, &s.withheld_rows);
        rc = write_answer(v, found, &s, body, err);
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
