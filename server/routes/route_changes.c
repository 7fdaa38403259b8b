/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/current.h"
#include "server/routes/answers.h"
#include "server/routes/route.h"

#include <string.h>

/* A version may be given by its number too, with leading zeros or without. */
static bool is_since(struct dx_span said, const char *since)
{
    uint32_t sequence = 0;
    uint32_t number = 0;
    size_t i = 0;

    (void)dx_version_name_ok(dx_span_str(since), &sequence);
    for (; i < said.size && i < 6 && said.data[i] >= '0' && said.data[i] <= '9'; i++)
        number = number * 10 + (uint32_t)(said.data[i] - '0');
    return dx_span_equal(said, dx_span_str(since)) || (i == said.size && number == sequence);
}

static int take_cursor(struct dx_ask *ask, struct dx_problem *problem)
{
    if (ask->before.data != NULL && !is_since(ask->before, ask->from.since))
        return dx_route_mismatch(problem, "this cursor is of changes since another version");
    memcpy(ask->compared, ask->from.since, sizeof ask->compared);
    return 1;
}

static int answer(const struct dx_answering *a)
{
    const struct dx_changes_ask changes = {
        .limit = a->ask->page.limit,
        .paging = dx_answering_paging(a),
    };

    return dx_answer_changes(a->before, a->view, &changes, a->body, a->problem);
}

static const struct dx_route_words changes_words = {
    .operation = "getChanges",
    .group = "versions",
    .summary = "Domains that differ between a version and the current one",
    .text = "`since` is the name or number of a version; default: the one "
            "before the current one.",
    .answer = "ChangesAnswer",
    .absent = "no-version-before",
};

static const struct dx_param changes_since = {
    .name = "since",
    .member = offsetof(struct dx_ask, before),
    .schema = DX_VERSION_SCHEMA,
    .text = "Name or number of the older version; default: the one before "
            "the current one.",
};

const struct dx_route dx_route_changes = {
    .name = "changes",
    .pattern = "changes",
    .words = &changes_words,
    .params = DX_PARAMS(&dx_param_limit, &dx_param_cursor, &changes_since, &dx_param_format),
    .limit = { DX_LIMIT_DEFAULT, DX_LIMIT_MAX },
    .rows = DX_ROWS(.member = "changes",
                    DX_ROW_COLUMNS({ "domain", DX_COLUMN_TEXT }, { "domain_id", DX_COLUMN_HEX64 },
                                   { "change", DX_COLUMN_TEXT }, { "datasets", DX_COLUMN_JSON },
                                   { "domain_unicode", DX_COLUMN_TEXT })),
    .cost = { .base = 500, .rows_a_unit = 10 },
    .pages = "changes",
    .cursor = DX_CURSOR_CHANGES,
    .take_cursor = take_cursor,
    .compares = true,
    .restart = dx_restart_limited,
    .answer = answer,
};

static int answer_diff(const struct dx_answering *a)
{
    return dx_answer_diff(a->before, a->view, a->canon, a->ask->asked, a->summary, a->body,
                          a->problem);
}

static const struct dx_route_words diff_words = {
    .operation = "getDiff",
    .group = "domains",
    .summary = "Datasets of a domain in two versions",
    .text = "`to` is by default the current version, `from` the one before it.",
    .answer = "DiffAnswer",
    .refused = "not-a-domain",
    .absent = "domain-not-found, no-version-before",
    .withheld = true,
};

static const struct dx_param diff_from = {
    .name = "from",
    .member = offsetof(struct dx_ask, before),
    .schema = DX_VERSION_SCHEMA,
    .text = "The older version; default: the one before `to`.",
};

/* Which version is the one before follows from those that are kept. */
static bool names_both(const struct dx_ask *ask)
{
    return ask->before.data != NULL;
}

static const struct dx_param diff_to = {
    .name = "to",
    .member = offsetof(struct dx_ask, version),
    .schema = DX_VERSION_SCHEMA,
    .text = "The newer version; default: the current one.",
};

const struct dx_route dx_route_diff = {
    .name = "diff",
    .pattern = "domain/{domain}/diff",
    .words = &diff_words,
    .params = DX_PARAMS(&diff_from, &diff_to),
    .version_param = "to",
    .cost = { .base = 10 },
    .lasts = names_both,
    .canon = true,
    .compares = true,
    .restart = dx_restart_path,
    .answer = answer_diff,
};

static bool is_resident(void *ctx, const char *version)
{
    const struct dx_current_stats *stats = ctx;

    for (size_t i = 0; i < stats->resident_count; i++)
        if (strcmp(stats->resident[i], version) == 0)
            return true;
    return false;
}

static int answer_versions(const struct dx_answering *a)
{
    struct dx_current_stats stats;

    dx_current_stats(a->answers->from, &stats);
    return dx_answer_versions(a->view, is_resident, &stats, a->body, a->problem);
}

static const struct dx_route_words versions_words = {
    .operation = "listVersions",
    .group = "versions",
    .summary = "Published versions",
    .text = "Those that are kept, the oldest first.",
    .answer = "VersionsAnswer",
};

const struct dx_route dx_route_versions = {
    .name = "versions",
    .pattern = "versions",
    .words = &versions_words,
    .cost = { .base = 1 },
    .on_loop = dx_route_always,
    .answer = answer_versions,
};
