/* SPDX-License-Identifier: Apache-2.0
 * cmd_access.c - domaindex access: which principals may see which datasets.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "builder/cli/access_call.h"
#include "builder/cli/command.h"
#include "builder/lake/dataset_registry.h"
#include "builder/policy/access_binding.h"
#include "builder/policy/access_report.h"

#define TEXT_MAX ((size_t)1 << 28)

#define AT(member) DX_OPT_PLACE(struct dx_access_principal, member)

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL, "where the lake and the index live", DX_OPT_ONE_TEXT },
    [OPT_TO] = { "to", "PRINCIPAL", NULL, "grant: shall see it; * is everybody; may be given again",
                 DX_OPT_TEXT },
    [OPT_FROM] = { "from", "PRINCIPAL", NULL, "revoke: shall not; may be given again",
                   DX_OPT_TEXT },
    [OPT_DATASET] = { "dataset", "DATASET", NULL, "list: of this one alone", DX_OPT_ONE_TEXT },
    [OPT_PRINCIPAL] = { "principal", "PRINCIPAL", NULL,
                        "list, token list, token revoke: of this one alone", DX_OPT_TEXT },
    [OPT_ALL] = { "all", NULL, NULL,
                  "principal add: sees every dataset, also those that come later", DX_OPT_FLAG },
    [OPT_NOT_ALL] = { "not-all", NULL, NULL, "principal add: sees no more than what is granted",
                      DX_OPT_FLAG },
    [OPT_COST_PER_S] = { "cost-per-s", "NUMBER", NULL,
                         "principal add: what it may spend a second; 0: as the servers are set",
                         DX_OPT_NUMBER(0, DX_ACCESS_COST_MAX), AT(cost_per_s) },
    [OPT_COST_BURST] = { "cost-burst", "NUMBER", NULL,
                         "principal add: what it may have saved up; 0: as the servers are set",
                         DX_OPT_NUMBER(0, DX_ACCESS_COST_MAX), AT(cost_burst) },
    [OPT_EXPIRES] = { "expires", "TIME", NULL,
                      "token new: when it ends: 90d, 12h, 30m, 2027-01-31 or "
                      "2027-01-31T12:00:00Z; else it does not",
                      DX_OPT_TEXT },
    [OPT_PUBLIC] = { "public", NULL, NULL,
                     "init: grant every dataset that there is to everybody, so that only what "
                     "comes "
                     "later is hidden at first",
                     DX_OPT_FLAG },
    [OPT_YES] = { "yes", NULL, NULL, "remove, accept: everybody shall see all", DX_OPT_FLAG },
    [OPT_DRY_RUN] = { "dry-run", NULL, NULL,
                      "init, grant, revoke, principal, token new, token revoke, remove, accept: "
                      "say what would change, and change nothing",
                      DX_OPT_FLAG },
    [OPT_QUIET] = { "quiet", NULL, NULL, "print the result and warnings only", DX_OPT_FLAG },
    [OPT_JSON] = DX_OPTION_JSON,
};

int dx_access_call_edit(struct dx_access_call *c, enum dx_access_edit_kind kind,
                        dx_access_editor *edit, struct dx_error *err)
{
    struct dx_access_edit e = { .root = c->root,
                                .kind = kind,
                                .dry_run = dx_options_has(c->options, OPT_DRY_RUN),
                                .hides_all = c->hides_all,
                                .edit = edit,
                                .ctx = c };
    int rc = dx_access_edit_run(&e, err);

    c->outcome.edited = rc >= 0;
    c->outcome.changed = rc == 1;
    c->outcome.generation = e.generation;
    if (dx_options_has(c->options, OPT_QUIET))
        return rc;
    if (rc == 1 && e.dry_run)
        (void)dx_line_print(stderr, "access: dry run: the table would change; nothing is written");
    else if (rc == 1)
        (void)dx_line_print(stderr, "access: generation %" PRIu64 "; servers follow within seconds",
                            e.generation);
    else if (rc == 0)
        (void)dx_line_print(stderr, "access: it is so already; nothing was written");
    return rc;
}

int dx_access_call_words(const struct dx_access_call *c, size_t most, struct dx_error *err)
{
    return c->operand_count <= most
               ? DX_OK
               : dx_fail(err, DX_E_INVALID, "unexpected argument '%.80s'", c->operand[most]);
}

/* ---- init, remove, accept ---- */

static int edit_init(struct dx_access_edit *e, struct dx_access_json *j, struct dx_error *err)
{
    const struct dx_access_call *c = e->ctx;
    struct dx_span everybody = dx_span_str(DX_ACCESS_EVERYBODY);
    size_t count = dx_options_has(c->options, OPT_PUBLIC) ? dx_dataset_registry_count(c->datasets)
                                                          : 0;
    int rc = 1;

    if (j->generation > 0 && !j->open)
        return 0;
    j->open = false;
    for (size_t i = 0; rc >= 0 && i < count; i++)
        rc = dx_access_json_grant(j, dx_dataset_registry_at(c->datasets, i)->dataset_id, everybody,
                                  err);
    dx_buf_str(&e->did, count > 0 ? "init, all datasets there are to everybody" : "init");
    return rc < 0 ? rc : 1;
}

static int init(struct dx_access_call *c, struct dx_error *err)
{
    int rc = dx_access_call_words(c, 0, err);

    c->hides_all = !dx_options_has(c->options, OPT_PUBLIC);
    if (rc == DX_OK)
        rc = dx_access_call_edit(c, DX_ACCESS_EDIT_BEGINS, edit_init, err);
    if (rc == 1 && !dx_options_has(c->options, OPT_DRY_RUN) &&
        !dx_options_has(c->options, OPT_QUIET))
        (void)dx_line_print(stderr,
                            "from now on a principal sees only datasets that are granted to it, "
                            "or to everybody ('*'). Requests without a token see what everybody "
                            "may see, or get 401 if that is nothing. 'access grant' and 'access "
                            "token new' come next; 'access remove --yes' undoes this");
    return rc;
}

static int edit_remove(struct dx_access_edit *e, struct dx_access_json *j, struct dx_error *err)
{
    (void)err;
    if (j->generation == 0 || j->open)
        return 0;
    dx_access_json_clear(j);
    dx_buf_str(&e->did, "remove: everybody sees all, all tokens and grants are gone");
    return 1;
}

static int remove_table(struct dx_access_call *c, struct dx_error *err)
{
    int rc = dx_access_call_words(c, 0, err);

    if (rc == DX_OK && !dx_options_has(c->options, OPT_YES) &&
        !dx_options_has(c->options, OPT_DRY_RUN))
        rc = dx_fail(err, DX_E_INVALID,
                     "this takes the table out of force: everybody will see every dataset, and all "
                     "grants and tokens are gone. If that is meant, say --yes");
    return rc < 0 ? rc : dx_access_call_edit(c, DX_ACCESS_EDIT_BEGINS, edit_remove, err);
}

static void say_accepted(int rc, const struct dx_access_accept *a)
{
    if (rc == 0)
        (void)dx_line_print(stderr, "access: it is so already; nothing was written");
    else if (a->generation > 0)
        (void)dx_line_print(stderr,
                            "access: the table of generation %" PRIu64
                            " %s taken as the newest one; servers that know a newer one keep it "
                            "until this one is changed",
                            a->generation, a->dry_run ? "would be" : "is");
    else
        (void)dx_line_print(stderr,
                            "access: no table is in force, and servers %s without one: everybody "
                            "sees all",
                            a->dry_run ? "would start" : "start");
}

static int accept_table(struct dx_access_call *c, struct dx_error *err)
{
    struct dx_access_accept a = { .dry_run = dx_options_has(c->options, OPT_DRY_RUN),
                                  .shows_all = dx_options_has(c->options, OPT_YES) };
    int rc = dx_access_call_words(c, 0, err);

    if (rc == DX_OK)
        rc = dx_access_accept(c->root, &a, err);
    c->outcome.edited = rc >= 0;
    c->outcome.changed = rc == 1;
    c->outcome.generation = a.generation;
    if (rc >= 0 && !dx_options_has(c->options, OPT_QUIET))
        say_accepted(rc, &a);
    return rc;
}

/* ---- grant, revoke ---- */

static void did_list(struct dx_access_edit *e, const struct dx_access_call *c, const char *verb,
                     const char *word, size_t option)
{
    const char *name;

    dx_buf_fmt(&e->did, "%s ", verb);
    for (size_t i = 0; i < c->operand_count; i++)
        dx_buf_fmt(&e->did, "%s%" PRIu32, i == 0 ? "" : ", ", c->ids[i]);
    dx_buf_fmt(&e->did, " %s ", word);
    for (size_t n = 0; (name = dx_options_nth(c->options, option, n)) != NULL; n++)
        dx_buf_fmt(&e->did, "%s%s", n == 0 ? "" : ", ", name);
}

static int edit_grant(struct dx_access_edit *e, struct dx_access_json *j, struct dx_error *err)
{
    struct dx_access_call *c = e->ctx;
    const char *name;

    c->changed = 0;
    for (size_t n = 0; (name = dx_options_nth(c->options, OPT_TO, n)) != NULL; n++)
        for (size_t i = 0; i < c->operand_count; i++) {
            int rc = dx_access_json_grant(j, c->ids[i], dx_span_str(name), err);

            if (rc < 0)
                return rc;
            c->changed += rc == 1;
        }
    did_list(e, c, "grant", "to", OPT_TO);
    return c->changed > 0;
}

static int edit_revoke(struct dx_access_edit *e, struct dx_access_json *j, struct dx_error *err)
{
    struct dx_access_call *c = e->ctx;
    const char *name;

    (void)err;
    c->changed = 0;
    for (size_t n = 0; (name = dx_options_nth(c->options, OPT_FROM, n)) != NULL; n++)
        for (size_t i = 0; i < c->operand_count; i++)
            c->changed += dx_access_json_revoke(j, c->ids[i], dx_span_str(name)) == 1;
    did_list(e, c, "revoke", "from", OPT_FROM);
    return c->changed > 0;
}

/* The principals that see it all the same: a revocation that has no effect should not look like one. */
static void say_who_still_sees(struct dx_access_call *c)
{
    struct dx_access_json j;
    const char *name;

    if (dx_access_edit_read(c->root, &j, NULL) < 0)
        return;
    for (size_t n = 0; (name = dx_options_nth(c->options, OPT_FROM, n)) != NULL; n++) {
        const struct dx_access_principal *p = dx_access_json_principal(&j, dx_span_str(name));

        if (p != NULL && p->all)
            (void)dx_line_print(stderr,
                                "access: %s sees every dataset all the same: 'access principal "
                                "add %s --not-all'",
                                name, name);
        for (size_t i = 0; i < c->operand_count; i++) {
            const struct dx_access_entry *e = dx_access_json_entry(&j, c->ids[i]);

            for (size_t k = 0; e != NULL && k < e->count; k++)
                if (strcmp(e->name[k], DX_ACCESS_EVERYBODY) == 0)
                    (void)dx_line_print(stderr,
                                        "access: dataset %" PRIu32 " is granted to everybody, so "
                                        "%s sees it all the same",
                                        c->ids[i], name);
        }
    }
    dx_access_json_release(&j);
}

static int grant_or_revoke(struct dx_access_call *c, bool grant, struct dx_error *err)
{
    int rc = DX_OK;

    if (c->operand_count == 0)
        return dx_fail(err, DX_E_INVALID, "which datasets? ids or names");
    if (dx_options_text(c->options, grant ? OPT_TO : OPT_FROM) == NULL)
        return dx_fail(err, DX_E_INVALID, "--%s PRINCIPAL is missing", grant ? "to" : "from");
    c->ids = calloc(c->operand_count, sizeof *c->ids);
    if (c->ids == NULL)
        return dx_no_memory(err, "access");
    /* What was removed from the lake can still be taken from the table. */
    for (size_t i = 0; rc == DX_OK && i < c->operand_count; i++)
        rc = dx_access_datasets_find(c->datasets, c->operand[i], grant, &c->ids[i], err);
    if (rc == DX_OK)
        rc = dx_access_call_edit(c, DX_ACCESS_EDIT_CHANGES, grant ? edit_grant : edit_revoke, err);
    if (rc >= 0 && !grant && !dx_options_has(c->options, OPT_DRY_RUN))
        say_who_still_sees(c);
    return rc;
}

/* ---- principals ---- */

static int edit_principal_add(struct dx_access_edit *e, struct dx_access_json *j,
                              struct dx_error *err)
{
    const struct dx_access_call *c = e->ctx;
    struct dx_access_principal *p = NULL;
    struct dx_access_principal was;
    int fresh = dx_access_json_add(j, dx_span_str(c->operand[0]), &p, err);
    int rc;

    if (fresh < 0)
        return fresh;
    was = *p;
    if (dx_options_has(c->options, OPT_ALL) || dx_options_has(c->options, OPT_NOT_ALL))
        p->all = dx_options_has(c->options, OPT_ALL);
    rc = dx_options_store(c->options, p, err);
    dx_buf_fmt(&e->did, "principal %s %s: %s, cost_per_s %" PRIu32 ", cost_burst %" PRIu32,
               fresh == 1 ? "add" : "change", p->name, p->all ? "sees all" : "sees what is granted",
               p->cost_per_s, p->cost_burst);
    if (rc < 0)
        return rc;
    return fresh == 1 || was.all != p->all || was.cost_per_s != p->cost_per_s ||
           was.cost_burst != p->cost_burst;
}

static int edit_principal_remove(struct dx_access_edit *e, struct dx_access_json *j,
                                 struct dx_error *err)
{
    const struct dx_access_call *c = e->ctx;

    (void)err;
    dx_buf_fmt(&e->did, "principal remove %s: its grants and tokens are gone", c->operand[0]);
    return dx_access_json_remove(j, dx_span_str(c->operand[0]));
}

static int change_principal(struct dx_access_call *c, struct dx_error *err)
{
    const char *what = c->operand_count == 0 ? "" : c->operand[0];
    bool add = strcmp(what, "add") == 0;
    int rc;

    if (!add && strcmp(what, "remove") != 0)
        return dx_fail(err, DX_E_INVALID, "principal add NAME, or principal remove NAME");
    c->operand++;
    c->operand_count--;
    if (c->operand_count == 0)
        return dx_fail(err, DX_E_INVALID, "principal %s whom?", what);
    rc = dx_access_call_words(c, 1, err);
    if (rc == DX_OK && dx_options_has(c->options, OPT_ALL) &&
        dx_options_has(c->options, OPT_NOT_ALL))
        rc = dx_fail(err, DX_E_INVALID, "--all and --not-all");
    return rc < 0 ? rc
                  : dx_access_call_edit(c, DX_ACCESS_EDIT_CHANGES,
                                        add ? edit_principal_add : edit_principal_remove, err);
}

/* ---- what the table says ---- */

static int print(struct dx_buf *out, struct dx_error *err)
{
    if (out->failed)
        return dx_buf_fail(out, err, "access");
    if (out->size > 0 && fwrite(out->data, 1, out->size, stdout) != out->size)
        return dx_fail(err, DX_E_IO, "standard output failed");
    return DX_OK;
}

enum report { REPORT_LIST, REPORT_TOKENS, REPORT_STATUS, REPORT_LOG };

static int print_report(struct dx_access_call *c, enum report which, struct dx_error *err)
{
    struct dx_access_of of = { .principal = dx_options_text(c->options, OPT_PRINCIPAL) };
    const char *dataset = dx_options_text(c->options, OPT_DATASET);
    struct dx_buf out = DX_BUF_INIT(TEXT_MAX);
    bool json = dx_options_has(c->options, OPT_JSON);
    struct dx_access_json j = DX_ACCESS_JSON_INIT;
    int64_t now_s = (int64_t)time(NULL);
    int rc = dx_access_call_words(c, 0, err);

    if (rc == DX_OK && dx_options_has(c->options, OPT_DRY_RUN))
        rc = dx_fail(err, DX_E_INVALID, "--dry-run goes with actions that change the table");
    if (rc == DX_OK && which == REPORT_LIST && dataset != NULL)
        rc = dx_access_datasets_find(c->datasets, dataset, false, &of.dataset_id, err);
    if (rc == DX_OK)
        rc = dx_access_edit_read(c->root, &j, err);
    if (rc == DX_OK) {
        if (which == REPORT_LIST)
            dx_access_list(&j, c->datasets, &of, json, &out);
        else if (which == REPORT_TOKENS)
            dx_access_tokens(&j, of.principal, now_s, json, &out);
        else if (which == REPORT_STATUS)
            dx_access_status(&j, now_s, json, &out);
        else
            dx_access_log(&j, json, &out);
        rc = print(&out, err);
    }
    if (rc == DX_OK && which != REPORT_STATUS && (j.generation == 0 || j.open) &&
        !dx_options_has(c->options, OPT_QUIET))
        (void)dx_line_print(stderr, "access: no table is in force: everybody may see all");
    dx_access_json_release(&j);
    dx_buf_release(&out);
    return rc;
}

static int token(struct dx_access_call *c, struct dx_error *err)
{
    const char *what = c->operand_count == 0 ? "" : c->operand[0];

    if (c->operand_count > 0) {
        c->operand++;
        c->operand_count--;
    }
    if (strcmp(what, "new") == 0)
        return dx_access_call_token_new(c, err);
    if (strcmp(what, "revoke") == 0)
        return dx_access_call_token_revoke(c, err);
    if (strcmp(what, "list") == 0)
        return print_report(c, REPORT_TOKENS, err);
    return dx_fail(err, DX_E_INVALID, "token new, token list or token revoke");
}

static int run_action(struct dx_access_call *c, const char *what, struct dx_error *err)
{
    if (strcmp(what, "init") == 0)
        return init(c, err);
    if (strcmp(what, "grant") == 0 || strcmp(what, "revoke") == 0)
        return grant_or_revoke(c, what[0] == 'g', err);
    if (strcmp(what, "list") == 0)
        return print_report(c, REPORT_LIST, err);
    if (strcmp(what, "principal") == 0)
        return change_principal(c, err);
    if (strcmp(what, "token") == 0)
        return token(c, err);
    if (strcmp(what, "status") == 0)
        return print_report(c, REPORT_STATUS, err);
    if (strcmp(what, "log") == 0)
        return print_report(c, REPORT_LOG, err);
    if (strcmp(what, "remove") == 0)
        return remove_table(c, err);
    if (strcmp(what, "accept") == 0)
        return accept_table(c, err);
    return dx_fail(
        err, DX_E_INVALID,
        "unknown action '%.40s'; give init, grant, revoke, list, principal, token, status, log, "
        "remove or accept",
        what);
}

/* One line of what an edit came to; reports print their own. */
static int print_outcome(const struct dx_access_call *c, const char *action, struct dx_error *err)
{
    const struct dx_access_outcome *o = &c->outcome;
    bool dry = dx_options_has(c->options, OPT_DRY_RUN);
    struct dx_buf out = DX_BUF_INIT(4096);
    struct dx_json j;
    int rc;

    dx_command_json_open(&j, &out);
    dx_json_key(&j, "action");
    dx_json_str(&j, action);
    dx_json_key(&j, "changed");
    dx_json_bool(&j, o->changed);
    dx_json_key(&j, "generation"); /* the time is in it, so a dry run cannot know it */
    dry && o->changed ? dx_json_null(&j) : dx_json_u64(&j, o->generation);
    if (o->token_id[0] != '\0') {
        dx_json_key(&j, "token_id");
        dx_json_str(&j, o->token_id);
        dx_json_key(&j, "token");
        dx_json_str(&j, c->token);
    }
    if (o->revokes_tokens)
        dx_json_key_u64(&j, "tokens_revoked", o->tokens_revoked);
    dx_json_key(&j, "dry_run");
    dx_json_bool(&j, dry);
    dx_command_json_end(&j, &out);
    rc = dx_command_write(&out, err);
    if (rc < 0 && o->token_id[0] != '\0')
        rc = dx_fail(err, DX_E_IO,
                     "standard output failed, so the token was lost: 'access token revoke %s'",
                     o->token_id);
    return rc;
}

/* The others work also where the lake's registry cannot be read: a token that leaked does not
 * wait. */
static bool is_about_datasets(const char *verb)
{
    return strcmp(verb, "init") == 0 || strcmp(verb, "grant") == 0 || strcmp(verb, "revoke") == 0 ||
           strcmp(verb, "list") == 0;
}

static int run_access(const struct dx_options *o)
{
    struct dx_access_call c = { .root = dx_options_text(o, OPT_ROOT), .options = o };
    struct dx_error err = DX_ERROR_INIT;
    int rc;

    if (c.root == NULL || o->operand_count == 0) {
        (void)dx_line_print(stderr,
                            "domaindex access: --root ROOT and one of init, grant, revoke, list, "
                            "principal, token, status, log, remove, accept");
        return DX_EXIT_USAGE;
    }
    c.operand = o->operand + 1;
    c.operand_count = o->operand_count - 1;
    rc = is_about_datasets(o->operand[0]) ? dx_access_datasets_open(&c.datasets, c.root, &err)
                                          : DX_OK;
    if (rc == DX_OK)
        rc = run_action(&c, o->operand[0], &err);
    if (rc >= 0 && c.outcome.edited && dx_options_has(o, OPT_JSON))
        rc = print_outcome(&c, o->operand[0], &err);
    if (rc >= 0 && fflush(stdout) != 0)
        rc = dx_fail(&err, DX_E_IO, "standard output failed");
    dx_dataset_registry_free(&c.datasets);
    free(c.ids);
    if (rc >= 0)
        return DX_EXIT_DONE;
    return dx_command_fail("access", rc == DX_E_INVALID ? DX_EXIT_USAGE : DX_EXIT_REFUSED, &err);
}

const struct dx_command dx_command_access = {
    .name = "access",
    .synopsis =
        "init|grant|revoke|list|principal|token|status|log|remove|accept --root ROOT [DATASET...] "
        "[--to PRINCIPAL|--from PRINCIPAL]... [option ...]",
    .operands = "init grant revoke list principal token status log remove accept",
    .summary = "control which principals see which datasets",
    .description =
        "Without a table everybody sees everything. 'init' puts one in force, "
        "index/access.json: from then on principals see only datasets that are granted to them, "
        "and "
        "every "
        "answer of a server is what it would be if the others did not exist. Servers follow within "
        "a "
        "second in a directory, within their --poll-ms on a store. A rollback, a publish or gc "
        "does "
        "not touch the table.\n\n"
        "'grant DATASET... --to PRINCIPAL' and 'revoke DATASET... --from PRINCIPAL': datasets by "
        "id "
        "or name (id:7, name:7 where it may be either); the principal * is everybody, also "
        "requests without a principal. 'principal add NAME' makes one, or changes it: --all lets "
        "it see every "
        "dataset, --cost-per-s and --cost-burst bound what it may ask for. 'principal remove NAME' "
        "takes its grants and tokens too. 'list' shows who sees what.\n\n"
        "'token new PRINCIPAL' prints a token for 'Authorization: Bearer', once; only its SHA-256 "
        "is "
        "kept. A principal has two at most, so that one can be replaced by another while both "
        "hold. "
        "'token list' shows them by the beginning of that hash, 'token revoke ID...' ends them, or "
        "all of one with --principal NAME, or the one that is read from standard input with -.\n\n"
        "'status' counts, 'log' says who changed what (the last 256 changes). 'remove --yes' takes "
        "the table out of force: everybody sees all again.\n\n"
        "A table that is missing or older than the manifest says (index/manifest.json; written "
        "with each change and each publish) was lost: servers do not start with it, and no action "
        "goes on with it. Restore it. 'init' begins one that grants nothing in place of one that "
        "is missing. 'accept' takes the table that is there as the newest one. With --yes it also "
        "accepts a root without a table: everybody sees all datasets then.\n\n"
        "Changes are made under a lock in a "
        "directory and by conditional writes on a store, so of two at once both are in it. ROOT is "
        "a "
        "directory or s3://bucket/prefix.",
    .example = "domaindex access grant reddit --root ./root --to team-a",
    .options = options_table,
    .option_count = OPT_COUNT,
    .run = run_access,
};
