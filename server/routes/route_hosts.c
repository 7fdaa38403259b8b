/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "server/routes/answers.h"
#include "server/routes/route.h"

static void restart(const struct dx_ask *ask, struct dx_buf *b)
{
    dx_restart_path(ask, b);
    dx_buf_fmt(b, "?limit=%llu%s", (unsigned long long)dx_restart_limit(ask),
               ask->by_name ? "&order=name" : "");
    dx_restart_dataset(ask, b);
}

static int answer(const struct dx_answering *a)
{
    const struct dx_hosts_ask hosts = { .asked = a->ask->asked,
                                        .by_name = a->ask->by_name,
                                        .one_dataset = a->ask->one_dataset,
                                        .dataset_id = a->ask->dataset_id,
                                        .page = a->ask->page,
                                        .deadline_ms = a->deadline_ms };

    return dx_task_hosts(a->view, a->canon, &hosts, a->task, a->summary, a->body, a->problem);
}

static const struct dx_route_words hosts_words = {
    .operation = "getHosts",
    .group = "domains",
    .summary = "Hosts of a domain",
    .text = "With the number of the domain's URLs on each host.",
    .answer = "HostsAnswer",
    .refused = "not-a-domain",
    .absent = "domain-not-found, dataset-not-found, domain-not-in-dataset",
    .too_much = "request the hosts of one dataset",
    .withheld = true,
};

static const struct dx_param hosts_order = {
    .name = "order",
    .words = { "urls", "name" },
    .member = offsetof(struct dx_ask, by_name),
    .text = "Most URLs first, equal ones by host; or by host, in byte order.",
};

const struct dx_route dx_route_hosts = {
    .name = "hosts",
    .pattern = "domain/{domain}/hosts",
    .words = &hosts_words,
    .params = DX_PARAMS(&dx_param_offset, &dx_param_limit, &dx_param_version, &hosts_order,
                        &dx_param_dataset, &dx_param_format),
    .limit = { DX_LIMIT_DEFAULT, DX_LIMIT_MAX },
    .rows = DX_ROWS(.member = "hosts",
                    DX_ROW_COLUMNS({ "host", DX_COLUMN_TEXT }, { "dataset_count", DX_COLUMN_U64 },
                                   { "url_count", DX_COLUMN_U64 }, { "row_count", DX_COLUMN_U64 },
                                   { "page_count", DX_COLUMN_U64 }),
                    .page = "site/{domain}"),
    .cost = { .base = 10, .rows_a_unit = 100 },
    .canon = true,
    .restart = restart,
    .answer = answer,
};

static void restart_paths(const struct dx_ask *ask, struct dx_buf *b)
{
    dx_restart_path(ask, b);
    dx_buf_fmt(b, "?limit=%llu%s", (unsigned long long)dx_restart_limit(ask),
               ask->sections ? "&by=section" : "");
}

static int answer_paths(const struct dx_answering *a)
{
    const struct dx_paths_ask paths = { .asked = a->ask->asked,
                                        .dataset_id = a->ask->dataset_id,
                                        .sections = a->ask->sections,
                                        .whole = a->ask->row_format != DX_ROWS_JSON &&
                                                 a->ask->row_limit > DX_PATHS_LIMIT_MAX,
                                        .limit = a->ask->page.limit,
                                        .deadline_ms = a->deadline_ms };

    return dx_task_paths(a->view, a->canon, &paths, a->task, a->summary, a->body, a->problem);
}

static const struct dx_route_words paths_words = {
    .operation = "getPaths",
    .group = "domains",
    .summary = "Paths of a domain in one dataset with most URLs",
    .text = "The first `limit` paths; the others are summed up.",
    .answer = "PathsAnswer",
    .refused = "not-a-domain",
    .absent = "domain-not-found, dataset-not-found, domain-not-in-dataset",
    .too_much = "the rows to read lie on too many pages, or suppressions hide "
                "a part of very many; a stream of over 256 paths needs a limit",
    .withheld = true,
    .counts_only = true,
};

static const struct dx_param paths_by = {
    .name = "by",
    .words = { "path", "section" },
    .member = offsetof(struct dx_ask, sections),
    .text = "Whole paths, or first directories.",
};

const struct dx_route dx_route_paths = {
    .name = "paths",
    .pattern = "domain/{domain}/datasets/{dataset}/paths",
    .words = &paths_words,
    .params = DX_PARAMS(&dx_param_limit, &dx_param_version, &paths_by, &dx_param_format),
    .limit = { DX_PATHS_LIMIT_DEFAULT, DX_PATHS_LIMIT_MAX },
    .limit_why = "paths behind that are only summed up",
    .rows = DX_ROWS(.member = "paths",
                    DX_ROW_COLUMNS({ "host", DX_COLUMN_TEXT }, { "path", DX_COLUMN_TEXT },
                                   { "url_count", DX_COLUMN_U64 }, { "row_count", DX_COLUMN_U64 })),
    .cost = { .base = 20 },
    .canon = true,
    .restart = restart_paths,
    .answer = answer_paths,
};
