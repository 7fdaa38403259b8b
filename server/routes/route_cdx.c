/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "query/cdx/cdx_query.h"
#include "query/cdx/cdx_task.h"
#include "query/cdx/cdx_text.h"
#include "server/routes/answers.h"
#include "server/routes/route.h"

static enum dx_cdx_dialect dialect_of(const struct dx_ask *ask)
{
    return ask->route == DX_ROUTE_CDX ? DX_CDX_WAYBACK : DX_CDX_PYWB;
}

/* The rest is read by the task, whose problems are those of a CDX server. */
static int take_query(struct dx_span query, struct dx_ask *ask, struct dx_problem *problem)
{
    struct dx_span version = dx_cdx_query_value(query, "version");
    struct dx_span receipt = dx_cdx_query_value(query, "receipt");

    if (version.data != NULL && version.size == 0) {
        (void)dx_route_refuse(problem, "version is empty; /v1/versions lists them");
        problem->says_message = true;
        return 0;
    }
    ask->version = version;
    ask->receipt = dx_span_equal(receipt, dx_span_str("1"));
    if (receipt.data == NULL || ask->receipt || dx_span_equal(receipt, dx_span_str("0")))
        return 1;
    (void)dx_route_refuse(problem, "receipt '%.*s' is neither 0 nor 1", dx_shown(receipt),
                          (const char *)receipt.data);
    problem->says_message = true;
    return 0;
}

static int capture_dataset(struct dx_span captured, struct dx_ask *ask, struct dx_problem *problem)
{
    return dx_ask_decode(ask, captured, &ask->asked, problem);
}

static const char *media_of(const struct dx_ask *ask)
{
    const char *type = "text/plain";
    struct dx_buf text = DX_BUF_INIT(ask->query.size + 1);
    struct dx_problem problem;
    struct dx_cdx_ask cdx;

    if (dx_cdx_query_parse(ask->query, dialect_of(ask), &text, &cdx, &problem) == 1)
        type = dx_cdx_text_type(&cdx);
    dx_buf_release(&text);
    return type;
}

static int answer(const struct dx_answering *a)
{
    const struct dx_cdx_request request = {
        .query = a->ask->query,
        .dialect = dialect_of(a->ask),
        .dataset = a->ask->asked,
        .deadline_ms = a->deadline_ms,
    };

    return dx_task_cdx(a->view, a->canon, &request, a->task, a->summary, a->body, a->problem);
}

static int answer_collinfo(const struct dx_answering *a)
{
    struct dx_buf base = DX_BUF_INIT(4096);
    struct dx_span host = a->ask->host;
    struct dx_error err = DX_ERROR_INIT;
    int rc;

    if (host.size > 0 && memmem(host.data, host.size, "://", 3) == NULL)
        dx_buf_str(&base, a->ask->secure ? "https://" : "http://");
    dx_buf_append(&base, host.data, host.size);
    if (base.failed) {
        (void)dx_buf_fail(&base, &err, "the address of this server");
        rc = dx_problem_of_error(a->problem, &err);
    } else {
        rc = dx_answer_collinfo(a->view, dx_span_of(base.data, base.size), a->body, a->problem);
    }
    dx_buf_release(&base);
    return rc;
}

/* ---- words ---- */

#define PARAM(word, form, meaning)                          \
    &(const struct dx_param)                                \
    {                                                       \
        .name = (word), .schema = (form), .text = (meaning) \
    }
#define TEXT "\"type\":\"string\""
#define BOOL "\"type\":\"string\",\"enum\":[\"true\",\"false\"]"
#define TIMESTAMP "\"type\":\"string\",\"pattern\":\"^[0-9]{1,14}$\""
#define LIST "\"type\":\"array\",\"items\":{\"type\":\"string\"}"

#define CDX_PARAMS                                                                                 \
    DX_PARAMS(                                                                                     \
        PARAM("url", TEXT ",\"minLength\":1",                                                      \
              "A URL; with a star, as in *.example.com or example.com/*, all of a domain or with " \
              "a prefix."),                                                                        \
        PARAM("matchType",                                                                         \
              "\"type\":\"string\",\"enum\":[\"exact\",\"prefix\",\"host\",\"domain\"]",           \
              "What of the URL counts, instead of stars."),                                        \
        PARAM("from", TIMESTAMP, "Only captures from this time on: 1 to 14 digits."),              \
        PARAM("to", TIMESTAMP, "Only captures up to this time, and all of it."),                   \
        PARAM("filter", LIST, "[!][=~]field:text, any number of times."),                          \
        PARAM("fl", TEXT, "Names of fields, separated by commas."),                                \
        PARAM("fields", TEXT, "The same."),                                                        \
        PARAM("collapse", LIST,                                                                    \
              "field or field:N: of neighbours with the same value, or the same first N "          \
              "characters, the first one."),                                                       \
        PARAM("collapseTime", "\"type\":\"integer\",\"minimum\":0,\"maximum\":14",                 \
              "Of neighbours with the same first digits of the timestamp and the same status, "    \
              "the first one."),                                                                   \
        PARAM("sort", "\"type\":\"string\",\"enum\":[\"default\",\"reverse\",\"closest\"]",        \
              "default: by urlkey and timestamp."),                                                \
        PARAM("closest", TIMESTAMP, "Those nearest to this time first."),                          \
        PARAM("limit", "\"type\":\"integer\"", "So many rows at most; negative: the last ones."),  \
        PARAM("offset", "\"type\":\"integer\",\"minimum\":0", "Rows to skip."),                    \
        PARAM("page", "\"type\":\"integer\",\"minimum\":0", "One page of the rows, from 0."),      \
        PARAM("pageSize", "\"type\":\"integer\",\"minimum\":1,\"maximum\":50",                     \
              "Of a page: blocks of 3000 rows."),                                                  \
        PARAM("showNumPages", BOOL, "How many pages there are, instead of rows."),                 \
        PARAM("resumeKey", TEXT, "Go on behind the answer that ended with this key."),             \
        PARAM("showResumeKey", BOOL,                                                               \
              "End with such a key, behind an empty line, if there are more rows."),               \
        PARAM("output", "\"type\":\"string\",\"enum\":[\"text\",\"json\",\"cdxj\",\"link\"]",      \
              "The form of rows."),                                                                \
        PARAM("resolveRevisits", BOOL,                                                             \
              "Add what the first record with the same digest has to revisits."),                  \
        PARAM("dataset", TEXT,                                                                     \
              "Only these datasets: at most 64 ids or names, separated by commas."),               \
        PARAM("showUntimed", BOOL, "Rows without a time too, with the timestamp -."),              \
        &dx_param_version)

static const char *const media[] = { "application/json", "application/link-format", "text/x-cdxj",
                                     "text/x-ndjson", NULL };

#define WORDS(what, about, missing)                                                                \
    {                                                                                              \
        .operation = (what), .group = "cdx", .summary = (about),                                   \
        .text = "Parameters and forms of rows as that server has them: docs/API.md. Unknown "      \
                "parameters are ignored.",                                                         \
        .answer = "Page", .media = "text/plain", .also = media, .refused = "missing-parameter",    \
        .absent = (missing), .too_much = "ask for a host or prefix, a dataset, or less at a time", \
        .withheld = true, .counts_only = true                                                      \
    }

static const struct dx_route_words cdx_words = WORDS(
    "getCdx", "Captures in all datasets, as the Wayback Machine's CDX server answers",
    "dataset-not-found");
static const struct dx_route_words cdx_index_words = WORDS(
    "getIndex", "Captures in all datasets, as pywb and Common Crawl's index answer",
    "no-captures, dataset-not-found");
static const struct dx_route_words dataset_index_words = WORDS(
    "getDatasetIndex", "Captures in one dataset, as Common Crawl's index answers",
    "no-captures, dataset-not-found");

/* With a key it may end where there was enough to look at, by the clock. */
static bool lasts(const struct dx_ask *ask)
{
    return dx_cdx_query_value(ask->query, "showResumeKey").data == NULL;
}

/* What it looks at is paid afterwards: it is known only then. */
#define CDX_ROUTE                                                                      \
    .params = CDX_PARAMS, .query = take_query, .needs = "url", .cost = { .base = 20 }, \
    .lasts = lasts, .canon = true, .media = media_of, .answer = answer

const struct dx_route dx_route_cdx = { .name = "cdx",
                                       .pattern = "cdx",
                                       .alias = "cdx/search/cdx",
                                       .bare = true,
                                       .words = &cdx_words,
                                       CDX_ROUTE };

const struct dx_route dx_route_cdx_index = {
    .name = "cdx_index", .pattern = "index", .bare = true, .words = &cdx_index_words, CDX_ROUTE
};

const struct dx_route dx_route_dataset_index = { .name = "dataset_index",
                                                 .pattern = "{dataset}-index",
                                                 .bare = true,
                                                 .words = &dataset_index_words,
                                                 .capture = capture_dataset,
                                                 CDX_ROUTE };

static const struct dx_route_words collinfo_words = {
    .operation = "getCollinfo",
    .group = "cdx",
    .summary = "Datasets and the addresses of their indexes",
    .text = "In the form of Common Crawl's collinfo.json.",
    .answer = "Collinfo",
};

const struct dx_route dx_route_collinfo = {
    .name = "collinfo",
    .pattern = "collinfo.json",
    .bare = true,
    .words = &collinfo_words,
    .params = DX_PARAMS(&dx_param_version),
    .query = take_query,
    .cost = { .base = 20 },
    .answer = answer_collinfo,
};
