/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "canon/key_number.h"
#include "fetch/object_url.h"
#include "server/routes/answers.h"
#include "server/routes/route.h"

static void restart(const struct dx_ask *ask, struct dx_buf *b)
{
    dx_buf_str(b, "/v1/url?u=");
    dx_url_encode_span(b, ask->asked, false);
    if (ask->limit_given)
        dx_buf_fmt(b, "&limit=%llu", (unsigned long long)dx_restart_limit(ask));
}

static bool may_be_brief(const struct dx_ask *ask)
{
    return ask->page.limit <= DX_URL_LIMIT_DEFAULT;
}

static int answer(const struct dx_answering *a)
{
    const struct dx_url_ask url = { .asked = a->ask->asked,
                                    .limit = a->ask->page.limit,
                                    .brief = a->ask->brief,
                                    .deadline_ms = a->deadline_ms };

    return dx_task_url(a->view, a->canon, &url, a->task, a->summary, a->body, a->problem);
}

static const struct dx_route_words url_words = {
    .operation = "url",
    .group = "urls",
    .summary = "One URL in all datasets",
    .text = "Rows of each dataset that has the URL, by its canonical form.",
    .answer = "UrlAnswer",
    .refused = "not-a-url",
    .absent = "url-not-found",
    .too_much = "over 4096 places of the lake, or too many pages",
    .withheld = true,
};

static const struct dx_param url_u = {
    .name = "u",
    .member = offsetof(struct dx_ask, asked),
    .schema = "\"type\":\"string\"",
    .text = "The URL, in any form.",
    .example = "https://example.com/",
};

const struct dx_route dx_route_url = {
    .name = "url",
    .pattern = "url",
    .words = &url_words,
    .params = DX_PARAMS(&dx_param_limit, &dx_param_version, &url_u),
    .needs = "u",
    .limit = { DX_URL_LIMIT_DEFAULT, DX_URL_LIMIT_MAX },
    .limit_why = "row_count counts all rows",
    .cost = { .base = 10, .rows_a_unit = 50 },
    .may_be_brief = may_be_brief,
    .canon = true,
    .restart = restart,
    .answer = answer,
};

/* As answers write it: 0x and 16 digits. */
static int capture_urlid(struct dx_span text, struct dx_ask *ask, struct dx_problem *problem)
{
    if (text.size == 18 && text.data[0] == '0' && (text.data[1] | 0x20) == 'x' &&
        dx_key_number(text, &ask->url_id))
        return 1;
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-url-id", "Bad URL id",
                          "url id '%.*s' is not 0x and 16 hexadecimal digits; /v1/normalize?q= and "
                          "listings give the id of a URL",
                          dx_shown(text), (const char *)text.data);
}

static void restart_urlid(const struct dx_ask *ask, struct dx_buf *b)
{
    dx_buf_fmt(b, "/v1/urlid/0x%016llx", (unsigned long long)ask->url_id);
}

static int answer_urlid(const struct dx_answering *a)
{
    return dx_task_urlid(a->view, a->ask->url_id, a->deadline_ms, a->task, a->body, a->problem);
}

static const struct dx_route_words urlid_words = {
    .operation = "urlid",
    .group = "urls",
    .summary = "Every URL with an id",
    .text = "More than one URL has an id only where hashes collide.",
    .answer = "UrlIdAnswer",
    .refused = "bad-url-id",
    .absent = "url-not-found",
    .too_much = "over 4096 places of the lake, or too many pages",
    .withheld = true,
};

const struct dx_route dx_route_urlid = {
    .name = "urlid",
    .pattern = "urlid/{url_id}",
    .words = &urlid_words,
    .params = DX_PARAMS(&dx_param_version),
    .capture = capture_urlid,
    .cost = { .base = 10 },
    .restart = restart_urlid,
    .answer = answer_urlid,
};
