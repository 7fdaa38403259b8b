/* SPDX-License-Identifier: Apache-2.0
 * cmd_suppress.c - domaindex suppress: what is to be shown no more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/hash.h"
#include "base/log.h"
#include "builder/cli/command.h"
#include "builder/policy/suppress.h"
#include "builder/policy/suppress_report.h"
#include "builder/policy/suppress_values.h"
#include "builder/root/root.h"
#include "format/version/manifest.h"

/* A log of DX_SUPPRESSIONS_MAX as JSON, with escapes. */
#define TEXT_MAX ((size_t)1 << 30)

enum {
    OPT_ROOT,
    OPT_DOMAIN,
    OPT_HOST,
    OPT_PREFIX,
    OPT_URL,
    OPT_FILE,
    OPT_POLICY,
    OPT_REASON,
    OPT_JSON,
    OPT_DRY_RUN,
    OPT_QUIET,
    OPT_COUNT
};

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL, "where the lake and the index live", DX_OPT_ONE_TEXT },
    [OPT_DOMAIN] = { "domain", "NAME", NULL,
                     "add: a registered domain and all its hosts; may be given again",
                     DX_OPT_TEXT },
    [OPT_HOST] = { "host", "HOST", NULL,
                   "add: one host by any scheme, with its port if that is not the scheme's own; "
                   "with a "
                   "trailing dot it is another host; may be given again",
                   DX_OPT_TEXT },
    [OPT_PREFIX] = { "prefix", "URL", NULL,
                     "add: the URLs of a host, by any scheme, whose path and query begin like this "
                     "in "
                     "canonical form (parameters sorted by name); may be given again",
                     DX_OPT_TEXT },
    [OPT_URL] = { "url", "URL", NULL,
                  "add: one URL with its scheme, by its canonical form; may be given again",
                  DX_OPT_TEXT },
    [OPT_FILE] = { "file", "FILE", NULL,
                   "add: lines of 'domain NAME', 'host HOST', 'prefix URL' or 'url URL'; - is "
                   "standard input",
                   DX_OPT_TEXT },
    [OPT_POLICY] = { "policy", "WITHHELD|ABSENT", "withheld",
                     "add: what a client gets: 451, or an answer as if the rows did not exist",
                     DX_OPT_CHOICE },
    [OPT_REASON] = { "reason", "TEXT", "", "add, lift: kept in the log", DX_OPT_TEXT },
    [OPT_JSON] = DX_OPTION_JSON,
    [OPT_DRY_RUN] = { "dry-run", NULL, NULL,
                      "add, lift, accept: print what would be logged, and change nothing",
                      DX_OPT_FLAG },
    [OPT_QUIET] = { "quiet", NULL, NULL, "add, lift: print the result only", DX_OPT_FLAG },
};

static int64_t now_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000;
}

/* An edit of the log; with --dry-run of a copy, which is dropped. */
static int change(const char *root, const struct dx_options *o, dx_suppress_edit *edit, void *ctx,
                  struct dx_error *err)
{
    struct dx_suppressions log;
    int rc;

    if (!dx_options_has(o, OPT_DRY_RUN))
        return dx_suppress_change(root, edit, ctx, err);
    rc = dx_suppress_read(root, &log, err);
    if (rc < 0)
        return rc;
    rc = edit(ctx, &log, err);
    dx_suppressions_release(&log);
    if (rc >= 0 && !dx_options_has(o, OPT_QUIET))
        (void)dx_line_print(stderr, "suppress: dry run: nothing is written");
    return rc;
}

/* ---- add ---- */

struct adding {
    const struct dx_suppress_values *values;
    enum dx_suppress_policy policy;
    struct dx_span reason;
    uint32_t *known; /* numbers of the active rules of this policy: open addressing, 0 is free */
    size_t known_mask;
    uint64_t *number; /* of each value; 0: there was such a rule */
};

/* The place of a rule among the known ones: of its number, or 0. */
static uint32_t *place_of(struct adding *a, const struct dx_suppressions *log,
                          enum dx_suppress_kind kind, struct dx_span value)
{
    size_t at = (size_t)dx_hash64_seeded(value, (uint64_t)kind) & a->known_mask;

    for (; a->known[at] != 0; at = (at + 1) & a->known_mask) {
        const struct dx_suppression *line = &log->lines[a->known[at] - 1];

        if (line->kind == kind && dx_span_equal(dx_suppression_value(log, line), value))
            break;
    }
    return &a->known[at];
}

static int note_log(struct adding *a, const struct dx_suppressions *log, struct dx_error *err)
{
    size_t size = 64;

    while (size < 2 * (log->count + a->values->count + 1))
        size *= 2;
    free(a->known);
    a->known = calloc(size, sizeof *a->known);
    a->known_mask = size - 1;
    if (a->known == NULL)
        return dx_no_memory(err, "suppress");
    for (size_t i = 0; i < log->count; i++) {
        const struct dx_suppression *line = &log->lines[i];

        if (!line->lift && line->other == 0 && line->policy == a->policy)
            *place_of(a, log, line->kind, dx_suppression_value(log, line)) = (uint32_t)(i + 1);
    }
    return DX_OK;
}

static int add_all(void *ctx, struct dx_suppressions *log, struct dx_error *err)
{
    struct adding *a = ctx;
    size_t before = log->count;
    int rc = note_log(a, log, err);

    for (size_t i = 0; i < a->values->count && rc == DX_OK; i++) {
        const struct dx_suppress_value *value = &a->values->value[i];
        struct dx_span text = dx_span_str(value->text);
        const struct dx_suppress_rule rule = { .time_us = now_us(),
                                               .kind = value->kind,
                                               .policy = a->policy,
                                               .value = text,
                                               .reason = a->reason };

        uint32_t *place = place_of(a, log, value->kind, text);

        a->number[i] = 0;
        if (*place == 0)
            rc = dx_suppressions_add(log, &rule, &a->number[i], err);
        if (*place == 0)
            *place = (uint32_t)a->number[i];
    }
    return rc < 0 ? rc : log->count > before;
}

/* ---- what --json prints of an edit: {"action":..,"rules":[..],"dry_run":..} ---- */

static void json_open(struct dx_json *j, struct dx_buf *out, const char *action)
{
    dx_command_json_open(j, out);
    dx_json_key(j, "action");
    dx_json_str(j, action);
}

static int json_print(struct dx_json *j, struct dx_buf *out, const struct dx_options *o,
                      struct dx_error *err)
{
    dx_json_key(j, "dry_run");
    dx_json_bool(j, dx_options_has(o, OPT_DRY_RUN));
    dx_command_json_end(j, out);
    return dx_command_write(out, err);
}

static int print_added(const struct adding *a, const struct dx_options *o, struct dx_error *err)
{
    struct dx_buf out = DX_BUF_INIT(TEXT_MAX);
    struct dx_json j;

    json_open(&j, &out, "add");
    dx_json_key(&j, "rules");
    dx_json_array(&j);
    for (size_t i = 0; i < a->values->count; i++) {
        const struct dx_suppress_value *v = &a->values->value[i];

        dx_json_object(&j);
        dx_json_key(&j, "rule");
        a->number[i] == 0 ? dx_json_null(&j) : dx_json_u64(&j, a->number[i]);
        dx_json_key(&j, "kind");
        dx_json_str(&j, dx_suppress_kind_name(v->kind));
        dx_json_key(&j, "policy");
        dx_json_str(&j, dx_suppress_policy_name(a->policy));
        dx_json_key(&j, "value");
        dx_json_str(&j, v->text);
        dx_json_key(&j, "added");
        dx_json_bool(&j, a->number[i] != 0);
        dx_json_end(&j);
    }
    dx_json_end(&j);
    return json_print(&j, &out, o, err);
}

static void say_added(const struct adding *a)
{
    for (size_t i = 0; i < a->values->count; i++) {
        const struct dx_suppress_value *v = &a->values->value[i];

        if (a->number[i] == 0)
            (void)printf("     -  %s %s %s (was there already)\n", dx_suppress_kind_name(v->kind),
                         dx_suppress_policy_name(a->policy), v->text);
        else
            (void)printf("%6llu  %s %s %s\n", (unsigned long long)a->number[i],
                         dx_suppress_kind_name(v->kind), dx_suppress_policy_name(a->policy),
                         v->text);
    }
}

static int take_values(struct dx_suppress_values *v, const struct dx_options *o,
                       struct dx_error *err)
{
    static const struct {
        size_t option;
        enum dx_suppress_kind kind;
    } rows[] = { { OPT_DOMAIN, DX_SUPPRESS_DOMAIN },
                 { OPT_HOST, DX_SUPPRESS_HOST },
                 { OPT_PREFIX, DX_SUPPRESS_PREFIX },
                 { OPT_URL, DX_SUPPRESS_URL } };
    const char *text;
    int rc = DX_OK;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t n = 0; rc == DX_OK && (text = dx_options_nth(o, rows[i].option, n)) != NULL;
             n++)
            rc = dx_suppress_values_add(v, rows[i].kind, dx_span_str(text), err);
    for (size_t n = 0; rc == DX_OK && (text = dx_options_nth(o, OPT_FILE, n)) != NULL; n++)
        rc = dx_suppress_values_read(v, text, err);
    if (rc == DX_OK && v->count == 0)
        rc = dx_fail(err, DX_E_INVALID,
                     "nothing to suppress is given: --domain, --host, --prefix, --url or --file");
    return rc;
}

static int add_rules(const char *root, const struct dx_options *o, struct dx_error *err)
{
    struct adding a = { .reason = dx_span_str(dx_options_text(o, OPT_REASON)) };
    struct dx_suppress_values values;
    uint64_t policy = 0;
    int rc = dx_suppress_values_open(&values, root, err);

    a.values = &values;
    if (rc == DX_OK)
        rc = dx_options_value(o, OPT_POLICY, &policy, err);
    a.policy = (enum dx_suppress_policy)policy;
    if (rc == DX_OK)
        rc = take_values(&values, o, err);
    if (rc == DX_OK) {
        a.number = calloc(values.count, sizeof *a.number);
        rc = a.number == NULL ? dx_no_memory(err, "suppress") : change(root, o, add_all, &a, err);
    }
    if (rc >= 0 && !dx_options_has(o, OPT_JSON))
        say_added(&a);
    else if (rc >= 0 && print_added(&a, o, err) < 0)
        rc = (int)err->code;
    if (rc == 1 && !dx_options_has(o, OPT_DRY_RUN) && !dx_options_has(o, OPT_QUIET))
        (void)dx_line_print(stderr,
                            "servers of this root hide it from their next look at it on; the rows "
                            "stay in the lake until 'domaindex compact'");
    free(a.known);
    free(a.number);
    dx_suppress_values_release(&values);
    return rc;
}

/* ---- lift ---- */

struct lifting {
    const uint64_t *rules;
    uint64_t *numbers;
    size_t count;
    struct dx_span reason;
};

static int lift_all(void *ctx, struct dx_suppressions *log, struct dx_error *err)
{
    struct lifting *l = ctx;

    for (size_t i = 0; i < l->count; i++) {
        int rc = dx_suppressions_lift(log, now_us(), l->rules[i], l->reason, &l->numbers[i], err);

        if (rc < 0)
            return rc;
    }
    return 1;
}

static bool rule_number(const char *text, uint64_t *number)
{
    char *end;

    if (text[0] < '1' || text[0] > '9' || strlen(text) > 9)
        return false;
    *number = strtoull(text, &end, 10);
    return *end == '\0';
}

static int print_lifted(const struct lifting *l, const struct dx_options *o, struct dx_error *err)
{
    struct dx_buf out = DX_BUF_INIT(TEXT_MAX);
    struct dx_json j;

    json_open(&j, &out, "lift");
    dx_json_key(&j, "rules");
    dx_json_array(&j);
    for (size_t i = 0; i < l->count; i++) {
        dx_json_object(&j);
        dx_json_key_u64(&j, "rule", l->numbers[i]);
        dx_json_key_u64(&j, "lifts", l->rules[i]);
        dx_json_end(&j);
    }
    dx_json_end(&j);
    return json_print(&j, &out, o, err);
}

static int lift_rules(const char *root, const struct dx_options *o, struct dx_error *err)
{
    size_t count = o->operand_count - 1;
    uint64_t *numbers = calloc(2 * count + 1, sizeof *numbers);
    struct lifting l = { numbers, numbers == NULL ? NULL : numbers + count, count,
                         dx_span_str(dx_options_text(o, OPT_REASON)) };
    int rc = DX_OK;

    if (numbers == NULL)
        return dx_no_memory(err, "suppress");
    for (size_t i = 0; i < count && rc == DX_OK; i++)
        if (!rule_number(o->operand[i + 1], &numbers[i]))
            rc = dx_fail(
                err, DX_E_INVALID,
                "'%.40s' is not the number of a rule; 'domaindex suppress list' shows them",
                o->operand[i + 1]);
    if (rc == DX_OK && count == 0)
        rc = dx_fail(err, DX_E_INVALID,
                     "the number of a rule is missing; 'domaindex suppress list' shows them");
    if (rc == DX_OK)
        rc = change(root, o, lift_all, &l, err);
    if (rc >= 0 && dx_options_has(o, OPT_JSON))
        rc = print_lifted(&l, o, err);
    for (size_t i = 0; i < count && rc >= 0 && !dx_options_has(o, OPT_JSON); i++)
        (void)printf("%6llu  lift rule %llu\n", (unsigned long long)l.numbers[i],
                     (unsigned long long)l.rules[i]);
    free(numbers);
    return rc;
}

/* ---- list, status ---- */

static int print_report(const char *root, const struct dx_options *o, bool status,
                        struct dx_error *err)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_suppressions log;
    struct dx_buf out = DX_BUF_INIT(TEXT_MAX);
    bool json = dx_options_has(o, OPT_JSON);
    int rc = DX_OK;

    /* The manifest first: what it says is gone was in a log that was there before it. */
    if (status) {
        rc = dx_root_manifest(root, &m, err);
        rc = rc == DX_E_NOT_FOUND ? DX_OK : rc;
    }
    if (rc == DX_OK)
        rc = dx_suppress_read(root, &log, err);
    if (rc == DX_OK) {
        if (status)
            dx_suppress_status(&log, &m, json, &out);
        else
            dx_suppress_list(&log, json, &out);
        rc = dx_command_write(&out, err);
        dx_suppressions_release(&log);
    }
    dx_manifest_release(&m);
    dx_buf_release(&out);
    return rc;
}

static int accept_log(const char *root, const struct dx_options *o, struct dx_error *err)
{
    bool dry_run = dx_options_has(o, OPT_DRY_RUN);
    struct dx_buf out = DX_BUF_INIT(TEXT_MAX);
    struct dx_json j;
    uint64_t lines;
    int rc = dx_suppress_accept(root, dry_run, &lines, err);

    if (rc >= 0 && dx_options_has(o, OPT_JSON)) {
        json_open(&j, &out, "accept");
        dx_json_key_u64(&j, "lines", lines);
        return json_print(&j, &out, o, err);
    }
    if (rc >= 0)
        (void)printf("the log of suppressions has %llu line%s, and %s taken as the whole one\n",
                     (unsigned long long)lines, dx_plural(lines), dry_run ? "would be" : "is");
    return rc;
}

static int run_action(const char *root, const char *what, const struct dx_options *o,
                      struct dx_error *err)
{
    if (strcmp(what, "lift") == 0)
        return lift_rules(root, o, err);
    if (o->operand_count > 1)
        return dx_fail(err, DX_E_INVALID,
                       "unexpected argument '%.40s'; to suppress it, say what it is: --domain, "
                       "--host, --prefix or --url",
                       o->operand[1]);
    if (strcmp(what, "add") == 0)
        return add_rules(root, o, err);
    if (strcmp(what, "accept") == 0)
        return accept_log(root, o, err);
    if (dx_options_has(o, OPT_DRY_RUN))
        return dx_fail(err, DX_E_INVALID, "--dry-run goes with add, lift and accept");
    if (strcmp(what, "list") == 0 || strcmp(what, "status") == 0)
        return print_report(root, o, what[0] == 's', err);
    return dx_fail(err, DX_E_INVALID,
                   "unknown action '%.40s'; give add, lift, list, status or accept", what);
}

static int run_suppress(const struct dx_options *o)
{
    const char *root = dx_options_text(o, OPT_ROOT);
    struct dx_error err = DX_ERROR_INIT;
    int rc;

    if (root == NULL || o->operand_count == 0) {
        (void)dx_line_print(
            stderr, "domaindex suppress: --root ROOT and an action are needed: add, lift, list, "
                    "status or accept");
        return DX_EXIT_USAGE;
    }
    rc = run_action(root, o->operand[0], o, &err);
    if (rc >= 0 && fflush(stdout) != 0)
        rc = dx_fail(&err, DX_E_IO, "standard output failed");
    if (rc >= 0)
        return DX_EXIT_DONE;
    return dx_command_fail("suppress", rc == DX_E_INVALID ? DX_EXIT_USAGE : DX_EXIT_REFUSED, &err);
}

const struct dx_command dx_command_suppress = {
    .name = "suppress",
    .synopsis =
        "add|lift|list|status|accept --root ROOT [--domain NAME|--host HOST|--prefix URL|--url "
        "URL|--file FILE]... [--policy withheld|absent] [--reason TEXT] [--json] [--dry-run] "
        "[--quiet] "
        "[RULE...]",
    .operands = "add lift list status accept",
    .summary = "hide domains, hosts, path prefixes or URLs from all answers",
    .description =
        "'add' writes rules into index/suppressions.log, from where each server of the root takes "
        "them within seconds, for all versions, without a rebuild. Policy 'withheld': a domain of "
        "which nothing else is left is answered with status 451, one of which something is left "
        "says "
        "how many rows are withheld. Policy 'absent': as if the rows were not there.\n\n"
        "'lift' ends rules by their numbers. 'list' prints the log, which only ever grows. "
        "'status' "
        "says of each rule whether its rows are only hidden or gone from the lake files of the "
        "current "
        "version: 'domaindex compact' takes them out; older versions keep theirs until they are "
        "collected. Until then programs that read the Parquet files of ROOT/urls/ see these "
        "rows.\n\n"
        "A log that has fewer lines than were in force, or others, was lost or is an older copy: "
        "servers do not start with it, and "
        "no command uses it. Restore the whole log. 'accept' takes the log that is there as the "
        "whole one: rules that are not "
        "in it are given up, and servers that know more keep theirs until they are restarted.\n\n"
        "Values are fetched into canonical form first, as rows are; one whose canonical form would "
        "hide "
        "other URLs than its text says (a dot segment, a fragment, a user name, a path behind a "
        "domain, a port of the scheme) is refused with that form. All of one command are added or "
        "none. A rule that is there already is not added again. ROOT is a directory or "
        "s3://bucket/prefix.",
    .example = "domaindex suppress add --root ./root --host www.example.com --reason 'ticket 17'",
    .options = options_table,
    .option_count = OPT_COUNT,
    .run = run_suppress,
};
