/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "fetch/object_url.h"
#include "server/routes/answers.h"
#include "server/routes/route.h"

/* Members of rows with a tag, unless others are asked for. */
#define TAG_FIELDS (DX_FIELDS_DEFAULT | DX_FIELD_TITLE | DX_FIELD_TAGS)

static int set_of(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    ask->of_given = true;
    ask->of_urls = dx_span_equal(value, dx_span_str("urls"));
    if (ask->of_urls || dx_span_equal(value, dx_span_str("domains")))
        return 1;
    return dx_route_refuse(problem, "of '%.*s' is neither domains nor urls", dx_shown(value),
                           (const char *)value.data);
}

static int resolve_tag(struct dx_ask *ask, struct dx_problem *problem)
{
    if (ask->fields.data == NULL || ask->of_urls || ask->cursor.data != NULL)
        return 1;
    return dx_route_refuse(problem, "fields are of rows: they go with of=urls");
}

/* What is not said is what the cursor says. */
static int take_cursor(struct dx_ask *ask, struct dx_problem *problem)
{
    const struct dx_cursor *c = &ask->from;

    if (ask->of_given && c->rows != ask->of_urls)
        return dx_route_mismatch(problem,
                                 c->rows ? "this cursor is of urls" : "this cursor is of domains");
    ask->of_urls = c->rows;
    return dx_take_dataset(ask, problem);
}

static void restart_tags(const struct dx_ask *ask, struct dx_buf *b)
{
    if (ask->cursor.data != NULL && ask->prefix.data == NULL)
        return; /* a cursor does not say of which prefix it is */
    dx_buf_fmt(b, "/v1/tags?limit=%llu", (unsigned long long)dx_restart_limit(ask));
    dx_restart_dataset(ask, b);
    if (ask->prefix.size > 0) {
        dx_buf_str(b, "&prefix=");
        dx_url_encode_span(b, ask->prefix, false);
    }
}

static void restart_tag(const struct dx_ask *ask, struct dx_buf *b)
{
    dx_restart_path(ask, b);
    dx_buf_fmt(b, "?limit=%llu", (unsigned long long)dx_restart_limit(ask));
    if (ask->of_urls) {
        dx_buf_str(b, "&of=urls");
        dx_restart_fields(ask->field_bits, TAG_FIELDS, b);
    }
    dx_restart_dataset(ask, b);
}

static int answer_tags(const struct dx_answering *a)
{
    const struct dx_tags_ask tags = { .one_dataset = a->ask->one_dataset,
                                      .dataset_id = a->ask->dataset_id,
                                      .prefix = a->ask->prefix,
                                      .limit = a->ask->page.limit,
                                      .paging = dx_answering_paging(a),
                                      .deadline_ms = a->deadline_ms };

    return dx_task_tags(a->view, a->canon, &tags, a->task, a->body, a->problem);
}

static int answer_tag(const struct dx_answering *a)
{
    const struct dx_tag_ask tag = { .tag = a->ask->asked,
                                    .urls = a->ask->of_urls,
                                    .one_dataset = a->ask->one_dataset,
                                    .dataset_id = a->ask->dataset_id,
                                    .limit = a->ask->page.limit,
                                    .fields = a->ask->field_bits,
                                    .paging = dx_answering_paging(a),
                                    .deadline_ms = a->deadline_ms };

    return dx_task_tag(a->view, a->canon, &tag, a->task, a->summary, a->body, a->problem);
}

static const struct dx_route_fields tag_fields = { dx_fields_parse, DX_ROW_FIELDS_WORDS, TAG_FIELDS,
                                                   dx_field_names, DX_FIELD_COUNT };

static const struct dx_route_words tags_words = {
    .operation = "getTags",
    .group = "tags",
    .summary = "Tags of rows, in byte order",
    .text = "With the counts of their domains and rows.",
    .answer = "TagsAnswer",
    .absent = "dataset-not-found",
    .counts_only = true,
    .too_much = "suppressions concern too many domains with the tag, or its "
                "sets are too large; request one dataset",
};

static const struct dx_param tags_prefix = {
    .name = "prefix",
    .member = offsetof(struct dx_ask, prefix),
    .schema = "\"type\":\"string\"",
    .text = "Tags that begin with these bytes.",
};

const struct dx_route dx_route_tags = {
    .name = "tags",
    .pattern = "tags",
    .words = &tags_words,
    .params = DX_PARAMS(&dx_param_limit, &dx_param_cursor, &dx_param_version, &dx_param_dataset,
                        &tags_prefix, &dx_param_format),
    .limit = { DX_TAGS_LIMIT_DEFAULT, DX_TAGS_LIMIT_MAX },
    .rows = DX_ROWS(.member = "tags",
                    DX_ROW_COLUMNS({ "tag", DX_COLUMN_TEXT }, { "row_count", DX_COLUMN_U64 },
                                   { "domain_count", DX_COLUMN_U64 },
                                   { "datasets", DX_COLUMN_JSON })),
    .cost = { .base = 10, .rows_a_unit = 10 },
    .pages = "tags",
    .cursor = DX_CURSOR_TAGS,
    .take_cursor = dx_take_dataset,
    .canon = true,
    .restart = restart_tags,
    .answer = answer_tags,
};

static const struct dx_route_words tag_words = {
    .operation = "getTag",
    .group = "tags",
    .summary = "Domains, or rows, that have a tag",
    .text = "`of` says what the items are. fields is only valid with of=urls,"
            " or with a cursor of such a listing.",
    .answer = "TagAnswer",
    .absent = "tag-not-found, dataset-not-found",
    .counts_only = true,
    .too_much = "suppressions concern too many domains with the tag, or its "
                "sets are too large; request one dataset",
};

static const struct dx_param tag_of = {
    .name = "of",
    .set = set_of,
    .schema = "\"type\":\"string\",\"enum\":[\"domains\",\"urls\"]",
    .text = "What is listed. Default, if no cursor holds it: domains.",
};

const struct dx_route dx_route_tag = {
    .name = "tag",
    .pattern = "tags/{tag}",
    .words = &tag_words,
    .params = DX_PARAMS(&dx_param_limit, &dx_param_fields, &dx_param_cursor, &dx_param_version,
                        &dx_param_dataset, &tag_of, &dx_param_format),
    .limit = { DX_TAGS_LIMIT_DEFAULT, DX_TAGS_LIMIT_MAX },
    .fields = &tag_fields,
    .rows = DX_ROWS(.member = "items",
                    DX_ROW_COLUMNS({ "domain", DX_COLUMN_TEXT }, { "domain_id", DX_COLUMN_HEX64 },
                                   { "row_count", DX_COLUMN_U64 }, { "datasets", DX_COLUMN_JSON })),
    .url_rows = DX_ROWS(.member = "items", .urls = true,
                        DX_ROW_COLUMNS({ "domain", DX_COLUMN_TEXT },
                                       { "dataset_id", DX_COLUMN_U64 },
                                       { "dataset", DX_COLUMN_TEXT })),
    .cost = { .base = 20,
              .rows_a_unit = 1,
              .url_rows_a_unit = 20 }, /* each costs a posting list or more */
    .pages = "tags",
    .cursor = DX_CURSOR_TAG,
    .resolve = resolve_tag,
    .take_cursor = take_cursor,
    .canon = true,
    .restart = restart_tag,
    .answer = answer_tag,
};
