/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_out.h"
#include "base/log.h"
#include "builder/cli/command.h"
#include "builder/root/root.h"
#include "canon/url.h"
#include "loader/followed/suppressions_live.h"
#include "loader/version.h"
#include "query/changes/answer_changes.h"
#include "query/changes/diff_json.h"
#include "query/view/view.h"

#include <inttypes.h>
#include <stdio.h>

#define LINE_MAX_BYTES (256u << 20) /* of one domain: as many datasets as there are */
#define FLUSH_BYTES (256u << 10)

enum { OPT_ROOT, OPT_JSON, OPT_SUMMARY, OPT_DOMAIN, OPT_CACHE_DIR, OPT_QUIET, OPT_COUNT };

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL, "where the lake and the index live", DX_OPT_ONE_TEXT },
    [OPT_JSON] = { "json", NULL, NULL, "lines of JSON, one a domain, and one with the totals",
                   DX_OPT_FLAG },
    [OPT_SUMMARY] = { "summary", NULL, NULL, "the totals only", DX_OPT_FLAG },
    [OPT_DOMAIN] = { "domain", "DOMAIN", NULL, "this domain only, as the API answers it",
                     DX_OPT_TEXT },
    [OPT_CACHE_DIR] = DX_OPTION_CACHE_DIR,
    [OPT_QUIET] = { "quiet", NULL, NULL, "no totals on standard error", DX_OPT_FLAG },
};

/* By enum dx_change. */
struct totals {
    uint64_t domains[4], pairs[4], datasets[4];
};

struct diff {
    struct dx_caches *caches;
    struct dx_version *before, *after;
    bool json, summary, quiet;
    struct totals totals;
    struct dx_buf out;
};

static int open_both(struct diff *d, const struct dx_options *o, struct dx_error *err)
{
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    const char *root = dx_options_text(o, OPT_ROOT);
    struct dx_source_options source;
    int rc = DX_OK;

    options.mirror_dir = dx_options_text(o, OPT_CACHE_DIR);
    if (!dx_root_in_place(root)) {
        rc = dx_root_options(&source, err);
        options.source = &source;
    }
    if (rc == DX_OK)
        rc = dx_caches_new(&d->caches, &options, err);
    if (rc == DX_OK)
        rc = dx_suppressions_live_open(&d->caches->suppressions, root, options.source,
                                       DX_SUPPRESSIONS_LIVE_WAIT, err);
    if (rc == DX_OK)
        rc = dx_version_open_named(&d->before, root, o->operand[0], d->caches, &options, err);
    if (rc == DX_OK)
        rc = dx_version_open_named(&d->after, root, o->operand[1], d->caches, &options, err);
    return rc;
}

/* ---- lines ---- */

static int flush(struct diff *d, size_t above, struct dx_error *err)
{
    if (d->out.failed)
        return dx_buf_fail(&d->out, err, "diff");
    if (d->out.size <= above)
        return DX_OK;
    if (fwrite(d->out.data, 1, d->out.size, stdout) != d->out.size)
        return dx_fail(err, DX_E_IO, "cannot write to standard output");
    dx_buf_clear(&d->out);
    return DX_OK;
}

static const char *sign(enum dx_change change)
{
    static const char *const signs[] = { "=", "+", "-", "~" };

    return signs[change];
}

static enum dx_change change_of(const void *before, const void *after)
{
    return before == NULL ? DX_CHANGE_ADDED : after == NULL ? DX_CHANGE_REMOVED : DX_CHANGE_CHANGED;
}

/* Tabs between, a line a dataset; a side without it has zeros. */
static void text_pair(struct diff *d, const struct dx_diff_item *item,
                      const struct dx_pairs_diff *p)
{
    static const struct dx_pair_count none = { 0 };
    const struct dx_pair_count *b = p->before != NULL ? p->before : &none;
    const struct dx_pair_count *a = p->after != NULL ? p->after : &none;

    dx_buf_fmt(&d->out,
               "%s\t%.*s\t%s\t%" PRIu32 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
               sign(item->change), (int)item->domain_size, (const char *)item->domain,
               sign(change_of(p->before, p->after)), p->dataset_id, b->url_count, a->url_count,
               b->row_count, a->row_count);
}

static int json_item(struct diff *d, const struct dx_diff_item *item, struct dx_error *err)
{
    struct dx_json j;
    int rc;

    dx_json_open(&j, &d->out);
    dx_json_object(&j);
    rc = dx_diff_item_write(item, d->before, d->after, &j, err);
    dx_json_end(&j);
    dx_buf_u8(&d->out, '\n');
    return rc;
}

static int one_domain(struct diff *d, struct dx_version_diff *at, struct dx_error *err)
{
    struct dx_diff_item item = { .change = at->change, .before = at->before, .after = at->after };
    struct dx_problem problem;
    struct dx_pairs_diff p;
    int rc = dx_diff_domain(&item, at->part, at->key, at->ordinal, err);

    if (rc < 0)
        return rc;
    rc = dx_diff_show(&item, DX_VIEW_ALL(d->before), DX_VIEW_ALL(d->after), at, &problem);
    if (rc < 0)
        return dx_fail(err, (enum dx_code)rc, "%s", problem.detail);
    if (rc == 0)
        return DX_OK;
    d->totals.domains[item.change]++;
    dx_pairs_diff_begin(&p, &item.before, &item.after);
    while (dx_pairs_diff_next(&p)) {
        d->totals.pairs[change_of(p.before, p.after)]++;
        if (!d->summary && !d->json)
            text_pair(d, &item, &p);
    }
    rc = !d->summary && d->json ? json_item(d, &item, err) : DX_OK;
    return rc < 0 ? rc : flush(d, FLUSH_BYTES, err);
}

static int all_domains(struct diff *d, struct dx_error *err)
{
    struct dx_version_diff at;
    int rc;

    dx_version_diff_begin(&at, DX_VIEW_ALL(d->before), DX_VIEW_ALL(d->after), 0, 0);
    do {
        rc = dx_version_diff_next(&at, UINT64_MAX, err);
        if (rc == DX_DIFF_FOUND && one_domain(d, &at, err) < 0)
            rc = (int)err->code;
    } while (rc == DX_DIFF_FOUND);
    dx_version_diff_end(&at);
    return rc;
}

/* ---- totals ---- */

static void count_datasets(struct diff *d)
{
    const struct dx_registry *b = &d->before->registry;
    const struct dx_registry *a = &d->after->registry;

    for (size_t i = 0; i < b->count; i++)
        if (dx_registry_by_id(a, b->datasets[i].dataset_id) == NULL)
            d->totals.datasets[DX_CHANGE_REMOVED]++;
    for (size_t i = 0; i < a->count; i++) {
        const struct dx_dataset *now = &a->datasets[i];
        const struct dx_dataset *then = dx_registry_by_id(b, now->dataset_id);

        if (then == NULL)
            d->totals.datasets[DX_CHANGE_ADDED]++;
        else if (then->domains != now->domains || then->urls != now->urls ||
                 then->rows != now->rows)
            d->totals.datasets[DX_CHANGE_CHANGED]++;
    }
}

static void json_three(struct dx_json *j, const char *key, const uint64_t counts[4])
{
    dx_json_key(j, key);
    dx_json_object(j);
    for (int c = DX_CHANGE_ADDED; c <= DX_CHANGE_CHANGED; c++) {
        dx_json_key(j, dx_change_name((enum dx_change)c));
        dx_json_u64(j, counts[c]);
    }
    dx_json_end(j);
}

static void json_totals(struct diff *d)
{
    struct dx_json j;

    dx_json_open(&j, &d->out);
    dx_json_object(&j);
    dx_json_key(&j, "from");
    dx_json_str(&j, dx_version_name(d->before));
    dx_json_key(&j, "to");
    dx_json_str(&j, dx_version_name(d->after));
    json_three(&j, "datasets", d->totals.datasets);
    json_three(&j, "domains", d->totals.domains);
    json_three(&j, "pairs", d->totals.pairs);
    dx_json_end(&j);
    dx_buf_u8(&d->out, '\n');
}

static void text_three(struct dx_buf *out, const char *what, const uint64_t counts[4])
{
    dx_buf_fmt(out, "%-9s %14" PRIu64 " added %14" PRIu64 " removed %14" PRIu64 " changed\n", what,
               counts[DX_CHANGE_ADDED], counts[DX_CHANGE_REMOVED], counts[DX_CHANGE_CHANGED]);
}

/* Lines of a diff are for programs, so its totals do not stand among them. */
static int write_totals(struct diff *d, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(4096);

    if (d->json) {
        json_totals(d);
        return flush(d, 0, err);
    }
    if (d->quiet && !d->summary)
        return DX_OK;
    dx_buf_fmt(&text, "%s -> %s\n", dx_version_name(d->before), dx_version_name(d->after));
    text_three(&text, "datasets", d->totals.datasets);
    text_three(&text, "domains", d->totals.domains);
    text_three(&text, "pairs", d->totals.pairs);
    (void)fwrite(text.data, 1, text.size, d->summary ? stdout : stderr);
    dx_buf_release(&text);
    return DX_OK;
}

/* ---- the command ---- */

static int one_by_name(struct diff *d, const char *asked, struct dx_error *err)
{
    struct dx_canon *canon = NULL;
    struct dx_problem problem;
    int rc = dx_version_canon_new(d->after, &canon, err);

    if (rc < 0)
        return rc;
    rc = dx_answer_diff(DX_VIEW_ALL(d->before), DX_VIEW_ALL(d->after), canon, dx_span_str(asked),
                        NULL, &d->out, &problem);
    dx_canon_free(&canon);
    if (rc != 1)
        return dx_fail(err, rc < 0 ? (enum dx_code)rc : DX_E_NOT_FOUND, "%s", problem.detail);
    dx_buf_u8(&d->out, '\n');
    return flush(d, 0, err);
}

static int compare(struct diff *d, const struct dx_options *o, struct dx_error *err)
{
    int rc = open_both(d, o, err);

    if (rc < 0)
        return rc;
    if (dx_options_has(o, OPT_DOMAIN))
        return one_by_name(d, dx_options_text(o, OPT_DOMAIN), err);
    rc = all_domains(d, err);
    if (rc == DX_OK)
        rc = flush(d, 0, err);
    if (rc == DX_OK) {
        count_datasets(d);
        rc = write_totals(d, err);
    }
    return rc;
}

static int run_diff(const struct dx_options *o)
{
    struct diff d = { .json = dx_options_has(o, OPT_JSON),
                      .summary = dx_options_has(o, OPT_SUMMARY),
                      .quiet = dx_options_has(o, OPT_QUIET),
                      .out = DX_BUF_INIT(LINE_MAX_BYTES) };
    struct dx_error err = DX_ERROR_INIT;
    int rc;

    if (dx_options_text(o, OPT_ROOT) == NULL || o->operand_count != 2) {
        (void)dx_line_print(stderr,
                            "domaindex diff: give --root ROOT and two versions, such as 1 2 "
                            "('domaindex versions' lists "
                            "them)");
        return DX_EXIT_USAGE;
    }
    rc = compare(&d, o, &err);
    if (rc == DX_OK && fflush(stdout) != 0)
        rc = dx_fail(&err, DX_E_IO, "cannot write to standard output");
    if (rc < 0)
        (void)dx_command_fail("diff", DX_EXIT_REFUSED, &err);
    dx_version_unpin(d.before);
    dx_version_unpin(d.after);
    dx_caches_free(&d.caches);
    dx_buf_release(&d.out);
    return rc == DX_OK ? DX_EXIT_DONE : DX_EXIT_REFUSED;
}

const struct dx_command dx_command_diff = {
    .name = "diff",
    .synopsis = "--root ROOT A B [--json] [--summary] [--domain DOMAIN]",
    .summary = "what version B has that version A has not, and the other way",
    .description =
        "Prints a line for each dataset of each domain in which the two versions differ, in order "
        "of domains, with tabs between: + the domain is new, - it is gone, ~ it was there; the "
        "domain; + - ~ the same of the dataset in it; the dataset's number; its distinct URLs in "
        "A and in B; its rows in A and in B. The totals go to standard error. Rows that were "
        "replaced by as many others do not show. What suppressions hide now is in neither version, "
        "as in answers; the totals of datasets are those of the versions, with it.\n\n"
        "With --json a line is a domain, as an item of GET /v1/changes is, and the last one has "
        "the totals. A version is a name or a number of `domaindex versions`. Both are read once, "
        "from the front; memory does not grow with them.\n\n"
        "ROOT is a directory, http://..., https://... or s3://bucket/prefix; domaindex(1) names "
        "the environment variables that remote ones are reached with.",
    .example = "domaindex diff --root ./quickstart-root --summary 1 2",
    .options = options_table,
    .option_count = OPT_COUNT,
    .run = run_diff,
};
