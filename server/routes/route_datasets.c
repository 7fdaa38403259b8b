/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "fetch/object_url.h"
#include "server/routes/answers.h"
#include "server/routes/route.h"

#include <stdio.h>

/* More datasets than this in one page take a while to write out. */
#define INLINE_MAX 1000

static bool is_short(const struct dx_ask *ask)
{
    return ask->page.limit <= INLINE_MAX;
}

static int answer_all(const struct dx_answering *a)
{
    return dx_answer_datasets(a->view, a->ask->page, a->body, a->problem);
}

static int answer_one(const struct dx_answering *a)
{
    return dx_answer_dataset(a->view, a->ask->dataset_id, a->summary, a->body, a->problem);
}

static const struct dx_route_words datasets_words = {
    .operation = "listDatasets",
    .group = "datasets",
    .summary = "All datasets",
    .text = "In order of their ids.",
    .answer = "DatasetsAnswer",
};

const struct dx_route dx_route_datasets = {
    .name = "datasets",
    .pattern = "datasets",
    .words = &datasets_words,
    .params = DX_PARAMS(&dx_param_offset, &dx_param_limit, &dx_param_version),
    .limit = { DX_DATASETS_LIMIT_DEFAULT, DX_DATASETS_LIMIT_MAX },
    .cost = { .base = 1, .rows_a_unit = 200 },
    .on_loop = is_short,
    .restart = dx_restart_path,
    .answer = answer_all,
};

static const struct dx_route_words dataset_words = {
    .operation = "getDataset",
    .group = "datasets",
    .summary = "One dataset",
    .text = "404 dataset-not-found: this version does not have it, or it "
            "is hidden from the caller.",
    .answer = "DatasetAnswer",
    .absent = "dataset-not-found",
};

const struct dx_route dx_route_dataset = {
    .name = "dataset",
    .pattern = "datasets/{dataset_id}",
    .words = &dataset_words,
    .params = DX_PARAMS(&dx_param_version),
    .cost = { .base = 1 },
    .on_loop = dx_route_always,
    .restart = dx_restart_path,
    .answer = answer_one,
};

static int answer_overlap(const struct dx_answering *a)
{
    return dx_task_overlap(a->view, a->ask->dataset_id, a->ask->other_id, a->task, a->body,
                           a->problem);
}

static const struct dx_route_words overlap_words = {
    .operation = "getOverlap",
    .group = "datasets",
    .summary = "What two datasets share, by domains and by their URLs",
    .text = "By domains and by canonical URLs, exact.",
    .answer = "OverlapAnswer",
    .absent = "dataset-not-found",
};

const struct dx_route dx_route_overlap = {
    .name = "overlap",
    .pattern = "datasets/{a}/overlap/{b}",
    .words = &overlap_words,
    .params = DX_PARAMS(&dx_param_version),
    .cost = { .base = 10 },
    .restart = dx_restart_path,
    .answer = answer_overlap,
};

/* Of JSON fewer rows are given than of CSV, whichever of the two parameters comes first. */
static int check(struct dx_ask *ask, struct dx_problem *problem)
{
    if (ask->csv && !ask->limit_given)
        ask->page.limit = DX_CSV_LIMIT;
    if (ask->csv || ask->page.limit <= DX_LIMIT_MAX)
        return 1;
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "limit-too-large", "Limit too large",
                          "limit %llu is over the cap of %d; ask for pages of at most %d and go on "
                          "with next_offset, or for format=csv",
                          (unsigned long long)ask->page.limit, DX_LIMIT_MAX, DX_LIMIT_MAX);
}

static void content(const struct dx_ask *ask, struct dx_ask_content *content)
{
    if (!ask->csv)
        return;
    content->type = "text/csv; charset=utf-8; header=present";
    (void)snprintf(content->room, sizeof content->room,
                   "attachment; filename=\"dataset-%u-top-domains.csv\"",
                   (unsigned)ask->dataset_id);
    content->disposition = content->room;
}

static void restart_top_domains(const struct dx_ask *ask, struct dx_buf *b)
{
    dx_restart_path(ask, b);
    dx_buf_fmt(b, "?limit=%llu&format=%s", (unsigned long long)ask->page.limit,
               ask->csv ? "csv" : "json");
    if (ask->share.size == 0)
        return;
    dx_buf_str(b, "&share=");
    dx_url_encode_span(b, ask->share, false);
}

static int answer_top_domains(const struct dx_answering *a)
{
    const struct dx_top_ask top = { .dataset_id = a->ask->dataset_id,
                                    .share = a->ask->share,
                                    .page = a->ask->page,
                                    .csv = a->ask->csv };

    return dx_answer_top_domains(a->view, a->canon, &top, a->body, a->problem);
}

static const struct dx_route_words top_domains_words = {
    .operation = "getTopDomains",
    .group = "datasets",
    .summary = "The domains of a dataset, those with the most URLs first",
    .text = "Equal numbers are in the order of the index (by reversed labels). "
            "With format=csv a page has 100000 lines, by default and at "
            "most; the first line has the names rank,domain,url_count,share.",
    .answer = "TopDomainsAnswer",
    .csv = true,
    .absent = "dataset-not-found",
    .too_much = "suppressions hide over four million domains of this dataset",
};

static const struct dx_param top_domains_share = {
    .name = "share",
    .member = offsetof(struct dx_ask, share),
    .percent = true,
    .schema = "\"type\":\"string\",\"pattern\":\"^((100|[1-9][0-9]?(\\\\.[0-9]{1,"
              "4})?|0\\\\.[0-9]{0,3}[1-9])%|1|0\\\\.[0-9]{0,5}[1-9])$\"",
    .example = "10%",
    .text = "Only the first part of all domains, rounded up: a percentage "
            "(10%, 12.5%; the sign is %25 in a URL) with at most four decimals,"
            " or a fraction (0.1, 1) with at most six.",
};

static const struct dx_param top_domains_format = {
    .name = "format",
    .words = { "json", "csv" },
    .member = offsetof(struct dx_ask, csv),
    .text = "csv: RFC 4180, with the names in the first line.",
};

const struct dx_route dx_route_top_domains = {
    .name = "top_domains",
    .pattern = "datasets/{dataset_id}/top-domains",
    .words = &top_domains_words,
    .params = DX_PARAMS(&dx_param_offset, &dx_param_limit, &dx_param_version, &top_domains_share,
                        &top_domains_format),
    .limit = { DX_LIMIT_DEFAULT, DX_CSV_LIMIT },
    .json_limit = DX_LIMIT_MAX,
    .check = check,
    .cost = { .base = 5, .rows_a_unit = 100 },
    /* a copy, but each suppression is looked up: 2 us for each */
    .canon = true,
    .content = content,
    .restart = restart_top_domains,
    .answer = answer_top_domains,
};
