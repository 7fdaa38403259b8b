/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "server/http/accept.h"
#include "server/routes/answers.h"
#include "server/routes/route.h"

#define ATOM "application/atom+xml"

static int pin(const void *from, const char *name, struct dx_version **v,
               struct dx_problem *problem)
{
    const struct dx_answers *answers = from;
    int rc = answers->pin_named(answers->from, name, v, problem);

    return rc == DX_ASK_NOT_OPEN ? answers->fetch(answers->from, name, v, problem) : rc;
}

static bool unpin(const void *from, struct dx_version *v, struct dx_problem *problem)
{
    const struct dx_answers *answers = from;
    bool sound = answers->intact == NULL || answers->intact(v, problem);

    answers->unpin(v);
    return sound;
}

static void restart(const struct dx_ask *ask, struct dx_buf *b)
{
    dx_restart_limited(ask, b);
    if (ask->atom_given)
        dx_buf_fmt(b, "%cformat=%s", ask->limit_given ? '&' : '?', ask->atom ? "atom" : "json");
}

static int answer(const struct dx_answering *a)
{
    const struct dx_domain_changes_ask ask = { .asked = a->ask->asked,
                                               .limit = a->ask->page.limit,
                                               .atom = a->ask->atom,
                                               .base = a->ask->host,
                                               .deadline_ms = a->deadline_ms,
                                               .from = a->answers,
                                               .pin = pin,
                                               .unpin = unpin };

    return dx_answer_domain_changes(a->view, a->canon, &ask, a->summary, a->body, a->problem);
}

static const char *media_of(const struct dx_ask *ask)
{
    return ask->atom ? ATOM : "application/json";
}

static const char *const also[] = { ATOM, NULL };

static const struct dx_route_words domain_changes_words = {
    .operation = "getDomainChanges",
    .group = "domains",
    .summary = "What each version changed for a domain",
    .text = "The newest first: each version is compared with the one before it. A domain that no "
            "version has, has no "
            "changes. With `format=atom` it is a feed to subscribe to.",
    .answer = "DomainChangesAnswer",
    .also = also,
    .refused = "not-a-domain",
    .withheld = true,
};

static const struct dx_param changes_to = {
    .name = "to",
    .member = offsetof(struct dx_ask, version),
    .schema = DX_VERSION_SCHEMA,
    .text = "The newest version to look at; default: the current one. `next_to` of an answer goes "
            "on here.",
};

static int set_format(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    ask->atom = dx_span_equal(value, dx_span_str("atom"));
    ask->atom_given = true;
    if (ask->atom || dx_span_equal(value, dx_span_str("json")))
        return 1;
    return dx_route_refuse(problem, "format '%.*s' is neither json nor atom", dx_shown(value),
                           (const char *)value.data);
}

static void choose(struct dx_span accept, struct dx_ask *ask)
{
    if (!ask->atom_given && accept.size > 0)
        ask->atom = dx_accept_weight(accept, ATOM) > dx_accept_weight(accept, "application/json");
}

static const struct dx_param changes_format = {
    .name = "format",
    .set = set_format,
    .schema = "\"type\":\"string\",\"enum\":[\"json\",\"atom\"],\"default\":\"json\"",
    .text = "An Atom feed instead of JSON; without it Accept says which.",
};

const struct dx_route dx_route_domain_changes = {
    .name = "domain_changes",
    .pattern = "domain/{domain}/changes",
    .words = &domain_changes_words,
    .params = DX_PARAMS(&dx_param_limit, &changes_to, &changes_format),
    .version_param = "to",
    .limit = { 10, 100 },
    .limit_why = "; go on at next_to",
    .cost = { .base = 10, .rows_a_unit = 0.1 },
    .lasts = dx_route_never, /* it is of the versions that are kept */
    .canon = true,
    .choose = choose,
    .media = media_of,
    .restart = restart,
    .answer = answer,
};
