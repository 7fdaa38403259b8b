/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "fetch/object_url.h"
#include "server/routes/answers.h"
#include "server/routes/route.h"

static void restart(const struct dx_ask *ask, struct dx_buf *b)
{
    dx_buf_str(b, "/v1/keys?url=");
    dx_url_encode_span(b, ask->asked, false);
}

static int answer(const struct dx_answering *a)
{
    return dx_answer_keys(a->view, a->canon, a->ask->asked, a->answers->numbers, a->summary,
                          a->body, a->problem);
}

static const struct dx_route_words keys_words = {
    .operation = "getKeys",
    .group = "urls",
    .summary = "The keys of one URL in each scheme",
    .text = "Also answers for URLs that no dataset contains.",
    .answer = "KeysAnswer",
    .refused = "not-a-url",
};

static const struct dx_param keys_url = {
    .name = "url",
    .member = offsetof(struct dx_ask, asked),
    .schema = "\"type\":\"string\"",
    .text = "The URL, in any form.",
    .example = "http://teaching.jadud.com/olin",
};

const struct dx_route dx_route_keys = {
    .name = "keys",
    .pattern = "keys",
    .words = &keys_words,
    .params = DX_PARAMS(&dx_param_version, &keys_url),
    .needs = "url",
    .cost = { .base = 2 },
    .lasts = dx_route_never, /* names are numbered after a version is made, too */
    /* a registry is mapped, and not in memory as an index is */
    .canon = true,
    .restart = restart,
    .answer = answer,
};

static void restart_normalize(const struct dx_ask *ask, struct dx_buf *b)
{
    dx_buf_str(b, "/v1/normalize?q=");
    dx_url_encode_span(b, ask->asked, false);
}

static int answer_normalize(const struct dx_answering *a)
{
    return dx_answer_normalize(a->view, a->canon, a->ask->asked, a->body, a->problem);
}

static const struct dx_route_words normalize_words = {
    .operation = "normalize",
    .group = "urls",
    .summary = "Canonical form of a URL, host or name",
    .text = "Answers for any text: a rejected one gets a reason.",
    .answer = "NormalizeAnswer",
};

static const struct dx_param normalize_q = {
    .name = "q",
    .member = offsetof(struct dx_ask, asked),
    .schema = "\"type\":\"string\"",
    .text = "A URL, host or name.",
    .example = "WWW.Example.COM.",
};

const struct dx_route dx_route_normalize = {
    .name = "normalize",
    .pattern = "normalize",
    .words = &normalize_words,
    .params = DX_PARAMS(&dx_param_version, &normalize_q),
    .needs = "q",
    .cost = { .base = 1 },
    .on_loop = dx_route_always,
    .canon = true,
    .restart = restart_normalize,
    .answer = answer_normalize,
};
