/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/limits.h"
#include "query/range/suffix_name.h"
#include "query/view/name_pattern.h"
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

/* A copy that is held as long as the question. False: there is no room, as no text that can be one is so long. */
static bool keep(struct dx_ask *ask, struct dx_span text, struct dx_span *kept)
{
    uint8_t *to = ask->text + ask->text_size;

    if (text.size > sizeof ask->text - ask->text_size)
        return false;
    memcpy(to, text.data, text.size);
    ask->text_size += text.size;
    *kept = dx_span_of(to, text.size);
    return true;
}

/* The same in lower case, as names stand in the index. */
static struct dx_span in_lower_case(struct dx_ask *ask, struct dx_span value)
{
    struct dx_span kept = value;
    size_t begin = ask->text_size;

    if (value.size == 0 || value.size > DX_DOMAIN_MAX || !keep(ask, value, &kept))
        return value;
    for (size_t i = begin; i < ask->text_size; i++)
        if (ask->text[i] >= 'A' && ask->text[i] <= 'Z')
            ask->text[i] |= 0x20;
    return kept;
}

static int bad_name(const char *name, struct dx_span value, struct dx_problem *problem)
{
    return dx_route_refuse(problem,
                           "%s '%.*s' is not a part of a name: letters, digits, '-' and '.'; "
                           "Unicode in a prefix as A-labels (xn--)",
                           name, dx_shown(value), (const char *)value.data);
}

/* Whole labels: canonical as /v1/suffix/{suffix} makes them. */
static int set_labels(const char *name, struct dx_span value, struct dx_ask *ask,
                      struct dx_problem *problem)
{
    uint8_t text[DX_HOST_ROOM];
    struct dx_span labels;

    if (is_name(value)) {
        ask->suffix = value;
        return 1;
    }
    return dx_suffix_name_text(value, text, &labels) && is_name(labels) &&
                   keep(ask, labels, &ask->suffix)
               ? 1
               : bad_name(name, value, problem);
}

static int set_suffix(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    if (ask->suffix.data != NULL)
        return dx_route_refuse(problem, "tld and suffix do not go together");
    return set_labels("suffix", value, ask, problem);
}

static int set_tld(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    if (ask->suffix.data != NULL)
        return dx_route_refuse(problem, "tld and suffix do not go together");
    if (set_labels("tld", value, ask, problem) == 0)
        return 0;
    return memchr(ask->suffix.data, '.', ask->suffix.size) == NULL
               ? 1
               : dx_route_refuse(problem, "tld '%.*s' has more than one label; use suffix",
                                 dx_shown(value), (const char *)value.data);
}

static int set_prefix(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    ask->prefix = in_lower_case(ask, value);
    return is_name(ask->prefix) ? 1 : bad_name("prefix", value, problem);
}

/* One label as a whole: no domain is that. */
static bool is_a_word(struct dx_span value)
{
    for (size_t i = 0; i < value.size; i++)
        if (strchr("*?.[:", value.data[i]) != NULL)
            return false;
    return value.size > 0;
}

static int set_match(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    ask->match = in_lower_case(ask, value);
    if (!dx_name_pattern_check(ask->match))
        return dx_route_refuse(problem,
                               "match '%.*s' is not a pattern of names: letters, "
                               "digits, '-', '.' and '_', Unicode as A-labels (xn--), '*' for any "
                               "text and '?' for one character",
                               dx_shown(value), (const char *)value.data);
    if (is_a_word(value))
        return dx_route_refuse(problem,
                               "match '%.*s' is a whole name without a dot, which no domain has; "
                               "write *%.*s* for names with it",
                               dx_shown(value), (const char *)value.data, dx_shown(value),
                               (const char *)value.data);
    return 1;
}

/* What it says is checked when the answer begins. */
static int set_regex(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    ask->regex = value;
    return value.size > 0 ? 1 : dx_route_refuse(problem, "regex is empty");
}

/* Beside each other they must fit into a cursor. */
static int check(struct dx_ask *ask, struct dx_problem *problem)
{
    return ask->suffix.size + ask->prefix.size + ask->match.size + ask->regex.size <=
                   DX_ROW_FILTER_TEXT
               ? 1
               : dx_route_refuse(problem,
                                 "suffix, prefix, match and regex together have over %d bytes",
                                 DX_ROW_FILTER_TEXT);
}

static bool differs(struct dx_span said, struct dx_span is)
{
    return said.data != NULL && !dx_span_equal(said, is);
}

/* Of the cursor: what names are asked for, and the dataset. */
static int take_cursor(struct dx_ask *ask, struct dx_problem *problem)
{
    struct dx_row_filter question;

    (void)dx_row_filter_unpack(dx_span_of(ask->from.filter, ask->from.filter_size), &question);
    if (differs(ask->suffix, question.tag) || differs(ask->prefix, question.prefix) ||
        differs(ask->match, question.status) || differs(ask->regex, question.lang))
        return dx_route_mismatch(problem, "this cursor goes on with other domains");
    ask->suffix = question.tag;
    ask->prefix = question.prefix;
    ask->match = question.status;
    ask->regex = question.lang;
    return dx_take_dataset(ask, problem);
}

static void restart(const struct dx_ask *ask, struct dx_buf *b)
{
    dx_restart_path(ask, b);
    dx_buf_fmt(b, "?limit=%llu", (unsigned long long)dx_restart_limit(ask));
    dx_restart_plan(ask, b);
    dx_restart_param("suffix", ask->suffix, b);
    dx_restart_param("prefix", ask->prefix, b);
    dx_restart_param("match", ask->match, b);
    dx_restart_param("regex", ask->regex, b);
    for (unsigned f = 0, n = 0;
         ask->field_bits != DX_DOMAINS_FIELDS_ALL && f < DX_DOMAINS_FIELD_COUNT; f++)
        if ((ask->field_bits >> f & 1) != 0)
            dx_buf_fmt(b, "%s%s", n++ == 0 ? "&fields=" : ",", dx_domains_field_names[f]);
    dx_restart_dataset(ask, b);
}

static int answer(const struct dx_answering *a)
{
    const struct dx_domains_ask domains = { .one_dataset = a->ask->one_dataset,
                                            .dataset_id = a->ask->dataset_id,
                                            .suffix = a->ask->suffix,
                                            .prefix = a->ask->prefix,
                                            .match = a->ask->match,
                                            .regex = a->ask->regex,
                                            .fields = a->ask->field_bits,
                                            .plan = a->ask->plan,
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
    .too_much = "a plan over very many domains; ask for a suffix, or without plan",
};

static const struct dx_param domains_tld = {
    .name = "tld",
    .set = set_tld,
    .schema = "\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9_-]{1,253}$\"",
    .text = "Only domains whose last label is this. Not together with `suffix`.",
};

static const struct dx_param domains_suffix = {
    .name = "suffix",
    .set = set_suffix,
    .schema = "\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,252}$\"",
    .text = "Only domains below this name, and itself: `co.uk`, `github.io`.",
};

static const struct dx_param domains_prefix = {
    .name = "prefix",
    .set = set_prefix,
    .schema = "\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,252}$\"",
    .text = "Only domains that begin with this text.",
};

static const struct dx_param domains_match = {
    .name = "match",
    .set = set_match,
    .schema = "\"type\":\"string\",\"maxLength\":253,"
              "\"pattern\":\"^[A-Za-z0-9_-]{0,252}[.*?][A-Za-z0-9._*?-]{0,252}$\"",
    .text = "Only domains that this takes: `*` stands for any text, `?` for one character; a name "
            "without these has a dot.",
    .example = "*example*",
};

static const struct dx_param domains_regex = {
    .name = "regex",
    .set = set_regex,
    .schema = "\"type\":\"string\",\"minLength\":1,\"maxLength\":500",
    .text = "Only domains that this regular expression (PCRE2 without back references and look "
            "around) matches somewhere.",
    .example = "^(pay|bank)[0-9]",
};

static const struct dx_route_fields domains_fields = {
    dx_domains_fields_parse,
    "is not a field; there are domain, domain_unicode, domain_id, dataset_count, url_count and "
    "row_count, separated by commas",
    DX_DOMAINS_FIELDS_ALL,
    dx_domains_field_names,
    DX_DOMAINS_FIELD_COUNT,
};

const struct dx_route dx_route_domains = {
    .name = "domains",
    .pattern = "domains",
    .words = &domains_words,
    .params = DX_PARAMS(&dx_param_limit, &dx_param_fields, &dx_param_cursor, &dx_param_plan,
                        &dx_param_version, &dx_param_dataset, &domains_tld, &domains_suffix,
                        &domains_prefix, &domains_match, &domains_regex, &dx_param_format),
    .check = check,
    .limit = { DX_LIMIT_DEFAULT, DX_LIMIT_MAX },
    .fields = &domains_fields,
    .rows = DX_ROWS(.member = "domains",
                    DX_ROW_COLUMNS(
                        { "domain", DX_COLUMN_TEXT }, { "domain_unicode", DX_COLUMN_TEXT },
                        { "domain_id", DX_COLUMN_HEX64 }, { "dataset_count", DX_COLUMN_U64 },
                        { "url_count", DX_COLUMN_U64 }, { "row_count", DX_COLUMN_U64 },
                        { "page_count", DX_COLUMN_U64 })),
    .cost = { .base = 20, .rows_a_unit = 50 },
    .pages = "domains",
    .cursor = DX_CURSOR_DOMAINS,
    .take_cursor = take_cursor,
    .canon = true,
    .restart = restart,
    .answer = answer,
};
