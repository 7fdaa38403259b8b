/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "server/routes/answers.h"
#include "server/routes/route.h"

static const char *const words[] = { "month", "year", "day" }; /* by enum dx_timeline_by */

static int set_by(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (dx_span_equal(value, dx_span_str(words[i]))) {
            ask->by = (enum dx_timeline_by)i;
            return 1;
        }
    return dx_route_refuse(problem, "by '%.*s' is neither month, year nor day", dx_shown(value),
                           (const char *)value.data);
}

static void restart(const struct dx_ask *ask, struct dx_buf *b)
{
    dx_restart_path(ask, b);
    dx_buf_fmt(b, "?by=%s", words[ask->by]);
    dx_restart_param("dataset", ask->datasets, b);
}

static int answer(const struct dx_answering *a)
{
    const struct dx_timeline_ask timeline = { .asked = a->ask->asked,
                                              .datasets = a->ask->datasets,
                                              .by = a->ask->by,
                                              .deadline_ms = a->deadline_ms };

    return dx_task_timeline(a->view, a->canon, &timeline, a->task, a->summary, a->body, a->problem);
}

static const struct dx_route_words timeline_words = {
    .operation = "getTimeline",
    .group = "domains",
    .summary = "Rows of a domain by month, year or day",
    .text =
        "Over all datasets, or some. Only periods with rows are listed; rows without a time are "
        "counted as such.",
    .answer = "TimelineAnswer",
    .refused = "not-a-domain",
    .absent = "domain-not-found, dataset-not-found, domain-not-in-dataset",
    .too_much = "ask for some of the datasets",
    .withheld = true,
    .counts_only = true,
};

static const struct dx_param timeline_by = {
    .name = "by",
    .set = set_by,
    .schema = "\"type\":\"string\",\"enum\":[\"month\",\"year\",\"day\"],\"default\":\"month\"",
    .text = "Length of a period. UTC.",
};

const struct dx_route dx_route_timeline = {
    .name = "timeline",
    .pattern = "domain/{domain}/timeline",
    .words = &timeline_words,
    .params = DX_PARAMS(&timeline_by, &dx_param_datasets, &dx_param_version, &dx_param_format),
    .rows = DX_ROWS(.member = "periods",
                    DX_ROW_COLUMNS({ "period", DX_COLUMN_TEXT }, { "row_count", DX_COLUMN_U64 })),
    .cost = { .base = 20 },
    .canon = true,
    .restart = restart,
    .answer = answer,
};
