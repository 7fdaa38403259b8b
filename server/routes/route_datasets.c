/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "fetch/object_url.h"
#include "server/routes/answers.h"
#include "server/routes/route.h"

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
    .params = DX_PARAMS(&dx_param_offset, &dx_param_limit, &dx_param_version, &dx_param_format),
    .limit = { DX_DATASETS_LIMIT_DEFAULT, DX_DATASETS_LIMIT_MAX },
    .rows = DX_ROWS(.member = "datasets",
                    DX_ROW_COLUMNS({ "dataset_id", DX_COLUMN_U64 }, { "name", DX_COLUMN_TEXT },
                                   { "domain_count", DX_COLUMN_U64 },
                                   { "url_count", DX_COLUMN_U64 }, { "row_count", DX_COLUMN_U64 },
                                   { "first_ts", DX_COLUMN_TIME }, { "last_ts", DX_COLUMN_TIME },
                                   { "metadata", DX_COLUMN_JSON }, { "kind", DX_COLUMN_TEXT },
                                   { "page_count", DX_COLUMN_U64 }),
                    .page = "datasets"),
    .cost = { .base = 1, .rows_a_unit = 200 },
    .on_loop = is_short,
    .restart = dx_restart_limited,
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
    .pattern = "datasets/{dataset}",
    .words = &dataset_words,
    .params = DX_PARAMS(&dx_param_version),
    .cost = { .base = 1 },
    .on_loop = dx_route_always,
    .restart = dx_restart_path,
    .answer = answer_one,
};

static int answer_overlap(const struct dx_answering *a)
{
    return dx_task_overlap(a->view, a->canon, a->ask->dataset_id, a->ask->other_id,
                           a->ask->row_format != DX_ROWS_JSON, a->task, a->body, a->problem);
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
    .params = DX_PARAMS(&dx_param_version, &dx_param_format),
    .rows = DX_ROWS(.member = "measures",
                    DX_ROW_COLUMNS({ "measure", DX_COLUMN_TEXT }, { "a", DX_COLUMN_U64 },
                                   { "b", DX_COLUMN_U64 }, { "shared_a", DX_COLUMN_U64 },
                                   { "shared_b", DX_COLUMN_U64 }, { "only_a", DX_COLUMN_U64 },
                                   { "only_b", DX_COLUMN_U64 }, { "min", DX_COLUMN_U64 },
                                   { "max", DX_COLUMN_U64 }, { "jaccard", DX_COLUMN_F64 })),
    .cost = { .base = 10 },
    .canon = true,
    .restart = dx_restart_path,
    .answer = answer_overlap,
};

static void restart_top_domains(const struct dx_ask *ask, struct dx_buf *b)
{
    dx_restart_path(ask, b);
    dx_buf_fmt(b, "?limit=%llu", (unsigned long long)dx_restart_limit(ask));
    if (ask->share.size == 0)
        return;
    dx_buf_str(b, "&share=");
    dx_url_encode_span(b, ask->share, false);
}

static int answer_top_domains(const struct dx_answering *a)
{
    const struct dx_top_ask top = { .dataset_id = a->ask->dataset_id,
                                    .share = a->ask->share,
                                    .page = a->ask->page };

    return dx_answer_top_domains(a->view, a->canon, &top, a->body, a->problem);
}

static const struct dx_route_words top_domains_words = {
    .operation = "getTopDomains",
    .group = "datasets",
    .summary = "The domains of a dataset, those with the most URLs first",
    .text = "Equal numbers are in the order of the index (by reversed labels).",
    .answer = "TopDomainsAnswer",
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

const struct dx_route dx_route_top_domains = {
    .name = "top_domains",
    .pattern = "datasets/{dataset}/top-domains",
    .words = &top_domains_words,
    .params = DX_PARAMS(&dx_param_offset, &dx_param_limit, &dx_param_version, &top_domains_share,
                        &dx_param_format),
    .limit = { DX_LIMIT_DEFAULT, DX_LIMIT_MAX },
    .rows = DX_ROWS(.member = "domains",
                    DX_ROW_COLUMNS({ "rank", DX_COLUMN_U64 }, { "domain", DX_COLUMN_TEXT },
                                   { "url_count", DX_COLUMN_U64 }, { "share", DX_COLUMN_F64 },
                                   { "page_count", DX_COLUMN_U64 }),
                    .page = "dataset/{dataset}"),
    .cost = { .base = 5, .rows_a_unit = 100 },
    /* a copy, but each suppression is looked up: 2 us for each */
    .canon = true,
    .restart = restart_top_domains,
    .answer = answer_top_domains,
};
