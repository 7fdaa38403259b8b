/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_out.h"
#include "loader/version.h"
#include "query/answers/answer.h"
#include "query/view/counts_json.h"
#include "query/view/lookup.h"
#include "query/view/suppressed.h"
#include "query/view/view.h"

static void write_time(struct dx_json *j, const char *key, bool has_ts, int64_t us)
{
    dx_json_key(j, key);
    has_ts ? dx_json_time_us(j, us) : dx_json_null(j);
}

/* The members of a dataset, into an object that is open. */
static void write_dataset(struct dx_json *j, const struct dx_dataset *d)
{
    dx_json_key_u64(j, "dataset_id", d->dataset_id);
    dx_json_key(j, "name");
    dx_json_str(j, d->name);
    dx_counts_json_kind(j, d);
    dx_json_key_u64(j, "domain_count", d->domains);
    dx_counts_json(j, d, d->urls, d->rows);
    write_time(j, "first_ts", d->has_ts, d->first_us);
    write_time(j, "last_ts", d->has_ts, d->last_us);
    dx_registry_metadata_write(j, d);
}

static void write_version(struct dx_json *j, const struct dx_version *v)
{
    dx_json_key(j, "version");
    dx_json_str(j, v->entry.version);
    dx_json_key(j, "complete");
    dx_json_bool(j, true);
}

static int finish(struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;

    if (!body->failed)
        return 1;
    (void)dx_buf_fail(body, &err, "answer");
    dx_buf_clear(body);
    return dx_problem_of_error(problem, &err);
}

int dx_answer_datasets(const struct dx_view *view, struct dx_page_of page, struct dx_buf *body,
                       struct dx_problem *problem)
{
    const struct dx_registry *r = &view->version->registry;
    size_t total = dx_view_datasets(view);
    size_t begin = page.offset < total ? (size_t)page.offset : total;
    size_t end = page.limit < total - begin ? begin + (size_t)page.limit : total;
    size_t place = 0; /* among those that are visible */
    struct dx_json j;

    dx_json_open(&j, body);
    dx_json_object(&j);
    dx_json_key(&j, "datasets");
    dx_json_array(&j);
    for (size_t i = 0; i < r->count && place < end; i++) {
        if (!dx_view_shows(view, r->datasets[i].dataset_id) || place++ < begin)
            continue;
        dx_json_object(&j);
        write_dataset(&j, &r->datasets[i]);
        dx_json_end(&j);
    }
    dx_json_end(&j);
    dx_json_key_u64(&j, "total", total);
    dx_json_key_u64(&j, "offset", page.offset);
    dx_json_key(&j, "next_offset");
    end > begin &&end < total ? dx_json_u64(&j, end) : dx_json_null(&j);
    write_version(&j, view->version);
    dx_json_end(&j);
    return finish(body, problem);
}

int dx_answer_dataset(const struct dx_view *view, uint32_t dataset_id,
                      struct dx_answer_summary *summary, struct dx_buf *body,
                      struct dx_problem *problem)
{
    const struct dx_dataset *dataset;
    struct dx_json j;
    int rc = dx_lookup_dataset(view, dataset_id, &dataset, problem);

    if (rc <= 0)
        return rc;
    dx_json_open(&j, body);
    dx_json_object(&j);
    dx_answer_summarize(summary, (struct dx_answer_summary){ .rows = dataset->rows });
    write_dataset(&j, dataset);
    write_version(&j, view->version);
    dx_json_end(&j);
    return finish(body, problem);
}

static void write_text(struct dx_json *j, const char *key, const char *text)
{
    dx_json_key(j, key);
    text[0] != '\0' ? dx_json_str(j, text) : dx_json_null(j);
}

/* Sums over all datasets: also of datasets that the caller may not see. */
static void write_totals(struct dx_json *j, const struct dx_manifest_version *m)
{
    dx_json_key_u64(j, "domain_count", m->domains);
    dx_json_key_u64(j, "dataset_count", m->datasets);
    dx_json_key_u64(j, "pair_count", m->pairs);
    dx_json_key_u64(j, "url_count", m->urls - m->pages);
    dx_json_key_u64(j, "row_count", m->rows - m->pages);
    if (m->pages > 0)
        dx_json_key_u64(j, "page_count", m->pages);
}

static void write_listed(struct dx_json *j, const struct dx_manifest_version *m, bool current,
                         bool resident, bool totals)
{
    bool superseded = m->superseded_us != DX_MANIFEST_NEVER;

    dx_json_object(j);
    write_text(j, "version", m->version);
    dx_json_key_u64(j, "sequence", m->sequence);
    write_time(j, "published", true, m->published_us);
    dx_json_key(j, "current");
    dx_json_bool(j, current);
    write_text(j, "state", dx_version_state_name(m->state));
    dx_json_key(j, "resident");
    dx_json_bool(j, resident);
    write_text(j, "base", m->base);
    write_time(j, "superseded", superseded, superseded ? m->superseded_us : 0);
    if (totals)
        write_totals(j, m);
    dx_json_end(j);
}

int dx_answer_versions(const struct dx_view *view, bool (*resident)(void *ctx, const char *version),
                       void *ctx, struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_shared_manifest *listed = dx_version_listed(view->version);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_json j;
    int rc;

    if (listed == NULL) {
        (void)dx_fail(&err, DX_E_INVALID, "version %s was opened without its manifest",
                      view->version->entry.version);
        return dx_problem_of_error(problem, &err);
    }
    dx_json_open(&j, body);
    dx_json_object(&j);
    write_text(&j, "current_version", view->version->entry.version);
    dx_json_key_u64(&j, "sequence", listed->manifest.sequence);
    dx_json_key(&j, "versions");
    dx_json_array(&j);
    for (size_t i = 0; i < listed->manifest.version_count; i++) {
        const struct dx_manifest_version *m = &listed->manifest.versions[i];
        bool current = strcmp(m->version, view->version->entry.version) == 0;

        write_listed(&j, m, current, current || (resident != NULL && resident(ctx, m->version)),
                     !dx_view_restricted(view));
    }
    dx_json_end(&j);
    if (!dx_view_restricted(view))
        dx_json_key_u64(&j, "suppression_count", dx_suppressed_count(view->version));
    write_version(&j, view->version);
    dx_json_end(&j);
    rc = finish(body, problem);
    dx_shared_manifest_put(&listed);
    return rc;
}
