/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "fetch/object_url.h"
#include "server/routes/answers.h"
#include "server/routes/route.h"

static void restart(const struct dx_ask *ask, struct dx_buf *b)
{
    dx_buf_str(b, "/v1/complete?q=");
    dx_url_encode_span(b, ask->asked, false);
    if (ask->limit_given)
        dx_buf_fmt(b, "&limit=%llu", (unsigned long long)dx_restart_limit(ask));
}

static int answer(const struct dx_answering *a)
{
    const struct dx_complete_ask complete = { .asked = a->ask->asked, .limit = a->ask->page.limit };

    return dx_answer_complete(a->view, a->canon, &complete, a->body, a->problem);
}

static const struct dx_route_words complete_words = {
    .operation = "complete",
    .group = "domains",
    .summary = "Domains that begin with a text",
    .text = "What is typed is completed under suffixes with many domains.",
    .answer = "CompleteAnswer",
};

static const struct dx_param complete_q = {
    .name = "q",
    .member = offsetof(struct dx_ask, asked),
    .schema = "\"type\":\"string\"",
    .text = "The beginning of a domain, or a URL.",
    .example = "exam",
};

const struct dx_route dx_route_complete = {
    .name = "complete",
    .pattern = "complete",
    .words = &complete_words,
    .params = DX_PARAMS(&complete_q, &dx_param_limit, &dx_param_version),
    .needs = "q",
    .limit = { 10, 100 },
    .limit_why = "type more of the name",
    .cost = { .base = 5, .rows_a_unit = 20 },
    .canon = true,
    .restart = restart,
    .answer = answer,
};
