/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/limits.h"
#include "server/routes/answers.h"
#include "server/routes/route.h"

/* As names stand in the index: lower case, A-labels. */
static bool is_name(struct dx_span s)
{
    for (size_t i = 0; i < s.size; i++)
        if ((s.data[i] < 'a' || s.data[i] > 'z') && (s.data[i] < '0' || s.data[i] > '9') &&
            (s.data[i] == '\0' || strchr("-._", s.data[i]) == NULL))
            return false;
    return s.size > 0 && s.size <= DX_DOMAIN_MAX && s.data[0] != '.';
}

static int set_name(const char *name, struct dx_span value, struct dx_span *to,
                    struct dx_problem *problem)
{
    *to = value;
    return is_name(value)
               ? 1
               : dx_route_refuse(problem,
                                 "%s '%.*s' is not a part of a name: lower-case letters, "
                                 "digits, '-' and '.', Unicode as A-labels (xn--)",
                                 name, dx_shown(value), (const char *)value.data);
}

static int set_suffix(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    if (ask->suffix.data != NULL)
        return dx_route_refuse(problem, "tld and suffix do not go together");
    return set_name("suffix", value, &ask->suffix, problem);
}

static int set_tld(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    if (ask->suffix.data != NULL)
        return dx_route_refuse(problem, "tld and suffix do not go together");
    if (value.size > 0 && memchr(value.data, '.', value.size) != NULL)
        return dx_route_refuse(problem, "tld '%.*s' has more than one label; use suffix",
                               dx_shown(value), (const char *)value.data);
    return set_name("tld", value, &ask->suffix, problem);
}

static int set_prefix(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    return set_name("prefix", value, &ask->prefix, problem);
}

/* Of the cursor: the suffix and the prefix, and the dataset. */
static int take_cursor(struct dx_ask *ask, struct dx_problem *problem)
{
    struct dx_row_filter question;

    (void)dx_row_filter_unpack(dx_span_of(ask->from.filter, ask->from.filter_size), &question);
    if ((ask->suffix.data != NULL && !dx_span_equal(ask->suffix, question.tag)) ||
        (ask->prefix.data != NULL && !dx_span_equal(ask->prefix, question.prefix)))
        return dx_route_mismatch(problem, "this cursor goes on with other domains");
    ask->suffix = question.tag;
    ask->prefix = question.prefix;
    return dx_take_dataset(ask, problem);
}

static void restart(const struct dx_ask *ask, struct dx_buf *b)
{
    dx_restart_path(ask, b);
    dx_buf_fmt(b, "?limit=%llu", (unsigned long long)dx_restart_limit(ask));
    dx_restart_param("suffix", ask->suffix, b);
    dx_restart_param("prefix", ask->prefix, b);
    dx_restart_dataset(ask, b);
}

static int answer(const struct dx_answering *a)
{
    const struct dx_domains_ask domains = { .one_dataset = a->ask->one_dataset,
                                            .dataset_id = a->ask->dataset_id,
                                            .suffix = a->ask->suffix,
                                            .prefix = a->ask->prefix,
                                            .limit = a->ask->page.limit,
                                            .paging = dx_answering_paging(a) };

    return dx_answer_domains(a->view, a->canon, &domains, a->body, a->problem);
}

static const struct dx_route_words domains_words = {
    .operation = "listDomains",
    .group = "domains",
    .summary = "Domains in order of their names",
    .text = "By reversed labels: all of a TLD or suffix follow each other. A page may be short, "
            "even empty, and still not be the last: only next_cursor marks the end.",
    .answer = "DomainsAnswer",
    .absent = "dataset-not-found",
};

static const struct dx_param domains_tld = {
    .name = "tld",
    .set = set_tld,
    .schema = "\"type\":\"string\",\"pattern\":\"^[a-z0-9_-]{1,253}$\"",
    .text = "Only domains whose last label is this. Not together with `suffix`.",
};

static const struct dx_param domains_suffix = {
    .name = "suffix",
    .set = set_suffix,
    .schema = "\"type\":\"string\",\"pattern\":\"^[a-z0-9_-][a-z0-9._-]{0,252}$\"",
    .text = "Only domains below this name, and itself: `co.uk`, `github.io`.",
};

static const struct dx_param domains_prefix = {
    .name = "prefix",
    .set = set_prefix,
    .schema = "\"type\":\"string\",\"pattern\":\"^[a-z0-9_-][a-z0-9._-]{0,252}$\"",
    .text = "Only domains that begin with this text.",
};

const struct dx_route dx_route_domains = {
    .name = "domains",
    .pattern = "domains",
    .words = &domains_words,
    .params = DX_PARAMS(&dx_param_limit, &dx_param_cursor, &dx_param_version, &dx_param_dataset,
                        &domains_tld, &domains_suffix, &domains_prefix),
    .limit = { DX_LIMIT_DEFAULT, DX_LIMIT_MAX },
    .cost = { .base = 20, .rows_a_unit = 50 },
    .pages = "domains",
    .cursor = DX_CURSOR_DOMAINS,
    .take_cursor = take_cursor,
    .canon = true,
    .restart = restart,
    .answer = answer,
};
