/* SPDX-License-Identifier: Apache-2.0
 * access_tokens.c - domaindex access token: made, and revoked.
 */
#include "builder/cli/access_call.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/crypto/secret.h"
#include "base/log.h"
#include "builder/policy/access_expiry.h"
#include "builder/policy/access_report.h"

static bool is_granted_something(const struct dx_access_json *j, const char *name)
{
    for (size_t i = 0; i < j->entry_count; i++)
        for (size_t k = 0; k < j->entry[i].count; k++)
            if (strcmp(j->entry[i].name[k], name) == 0)
                return true;
    return false;
}

static void drop_token(struct dx_access_principal *p, size_t at)
{
    assert(at < p->token_count);
    p->token_count--;
    memmove(&p->token[at], &p->token[at + 1], (p->token_count - at) * sizeof p->token[0]);
}

/* Room for one more: tokens that are over go. */
static int make_room(struct dx_access_principal *p, int64_t now_s, struct dx_error *err)
{
    char a[DX_ACCESS_TOKEN_ID];
    char b[DX_ACCESS_TOKEN_ID];

    for (size_t i = p->token_count; i-- > 0;)
        if (p->token[i].expires_s != 0 && p->token[i].expires_s <= now_s)
            drop_token(p, i);
    if (p->token_count < DX_ACCESS_TOKENS_MAX)
        return DX_OK;
    dx_access_token_id(&p->token[0], a);
    dx_access_token_id(&p->token[1], b);
    return dx_fail(err, DX_E_LIMIT,
                   "%s has two tokens, %s and %s: revoke the one that is not in use any more "
                   "('access token revoke')",
                   p->name, a, b);
}

static int edit_token_new(struct dx_access_edit *e, struct dx_access_json *j, struct dx_error *err)
{
    const struct dx_access_call *c = e->ctx;
    struct dx_access_principal *p = dx_access_json_principal(j, dx_span_str(c->operand[0]));
    struct dx_access_token t = { .created_s = e->now_s, .expires_s = c->expires_s };
    char id[DX_ACCESS_TOKEN_ID];
    int rc = DX_OK;

    memcpy(t.sha256, c->sha256, sizeof t.sha256);
    if (p == NULL && is_granted_something(j, c->operand[0]))
        rc = dx_access_json_add(j, dx_span_str(c->operand[0]), &p, err);
    if (rc < 0)
        return rc;
    if (p == NULL)
        return dx_fail(err, DX_E_NOT_FOUND,
                       "there is no principal '%.140s': 'access principal add' makes one",
                       c->operand[0]);
    for (size_t i = 0; i < p->token_count; i++)
        if (memcmp(p->token[i].sha256, t.sha256, sizeof t.sha256) == 0)
            return 0; /* written by an attempt whose reply was lost */
    rc = make_room(p, e->now_s, err);
    if (rc < 0)
        return rc;
    p->token[p->token_count++] = t;
    dx_access_token_id(&t, id);
    dx_buf_fmt(&e->did, "token new %s for %s", id, p->name);
    return 1;
}

int dx_access_call_token_new(struct dx_access_call *c, struct dx_error *err)
{
    uint8_t random[DX_ACCESS_TOKEN_RANDOM];
    const char *expires = dx_options_text(c->options, OPT_EXPIRES);
    struct dx_access_token t;
    char id[DX_ACCESS_TOKEN_ID];
    int rc = dx_access_call_words(c, 1, err);

    if (rc == DX_OK && c->operand_count == 0)
        rc = dx_fail(err, DX_E_INVALID, "token new for whom?");
    if (rc == DX_OK && expires != NULL)
        rc = dx_access_expiry(expires, (int64_t)time(NULL), &c->expires_s, err);
    dx_secret_held();
    if (rc == DX_OK && getrandom(random, sizeof random, 0) != sizeof random)
        rc = dx_fail(err, DX_E_IO, "the system gives no random bytes");
    if (rc < 0)
        return rc;
    dx_access_token_write(random, c->token);
    if (!dx_sha256(dx_span_str(c->token), c->sha256))
        return dx_no_memory(err, "access");
    rc = dx_access_call_edit(c, DX_ACCESS_EDIT_CHANGES, edit_token_new, err);
    /* The token of a dry run is in no table: printing it would look like one that works. */
    if (rc < 0 || dx_options_has(c->options, OPT_DRY_RUN))
        return rc;
    memcpy(t.sha256, c->sha256, sizeof t.sha256);
    dx_access_token_id(&t, id);
    if (!dx_options_has(c->options, OPT_QUIET))
        (void)dx_line_print(
            stderr,
            "access: token %s for %s; it is shown this once, on standard output, and stored "
            "nowhere",
            id, c->operand[0]);
    memcpy(c->outcome.token_id, id, sizeof id);
    if (dx_options_has(c->options, OPT_JSON))
        return rc; /* the token is printed with the rest */
    if (printf("%s\n", c->token) < 0 || fflush(stdout) != 0)
        return dx_fail(err, DX_E_IO,
                       "standard output failed, so the token was lost: 'access token revoke %s'",
                       id);
    return rc;
}

/* Whether an operand means the token: the beginning of its SHA-256. */
static bool means(const char *operand, const struct dx_access_token *t)
{
    char hex[DX_SHA256_HEX];

    dx_sha256_hex(t->sha256, hex);
    return strncmp(hex, operand, strlen(operand)) == 0;
}

static size_t tokens_meant(const struct dx_access_json *j, const char *operand)
{
    size_t count = 0;

    for (size_t i = 0; i < j->principal_count; i++)
        for (size_t k = 0; k < j->principal[i].token_count; k++)
            count += means(operand, &j->principal[i].token[k]);
    return count;
}

static void revoke_tokens(struct dx_access_edit *e, struct dx_access_call *c,
                          struct dx_access_principal *p, bool whole)
{
    for (size_t k = p->token_count; k-- > 0;) {
        bool gone = whole;
        char id[DX_ACCESS_TOKEN_ID];

        for (size_t i = 0; i < c->operand_count && !gone; i++)
            gone = means(c->operand[i], &p->token[k]);
        if (!gone)
            continue;
        dx_access_token_id(&p->token[k], id);
        dx_buf_fmt(&e->did, "%s%s of %s", c->changed == 0 ? "token revoke " : ", ", id, p->name);
        drop_token(p, k);
        c->changed++;
    }
}

static int edit_token_revoke(struct dx_access_edit *e, struct dx_access_json *j,
                             struct dx_error *err)
{
    struct dx_access_call *c = e->ctx;
    const char *of = dx_options_text(c->options, OPT_PRINCIPAL);
    size_t before = c->changed; /* by an attempt whose reply was lost, or that lost a race */

    c->changed = 0;
    for (size_t i = 0; i < c->operand_count; i++)
        if (tokens_meant(j, c->operand[i]) > 1)
            return dx_fail(err, DX_E_INVALID, "'%s' is the beginning of several tokens' ids",
                           c->operand[i]);
    for (size_t i = 0; i < j->principal_count; i++)
        revoke_tokens(e, c, &j->principal[i], of != NULL && strcmp(of, j->principal[i].name) == 0);
    if (c->changed == 0 && before == 0)
        return dx_fail(err, DX_E_NOT_FOUND, "no such token is in the table");
    return c->changed > 0;
}

/* A token itself, from standard input: on the command line others could read it. */
static int read_leaked(char hex[DX_SHA256_HEX], struct dx_error *err)
{
    char line[256];
    uint8_t sha256[DX_SHA256_SIZE];

    dx_secret_held();
    if (fgets(line, sizeof line, stdin) == NULL)
        return dx_fail(err, DX_E_IO, "nothing comes from standard input");
    line[strcspn(line, "\r\n")] = '\0';
    if (!dx_access_token_ok(dx_span_str(line)))
        return dx_fail(
            err, DX_E_INVALID,
            "standard input does not hold a token, as 'domaindex access token new' prints one");
    if (!dx_sha256(dx_span_str(line), sha256))
        return dx_no_memory(err, "access");
    dx_sha256_hex(sha256, hex);
    return DX_OK;
}

int dx_access_call_token_revoke(struct dx_access_call *c, struct dx_error *err)
{
    char leaked[DX_SHA256_HEX];
    const char *const one[] = { leaked };
    struct dx_access_call with = *c;
    int rc = DX_OK;

    if (c->operand_count == 0 && dx_options_text(c->options, OPT_PRINCIPAL) == NULL)
        return dx_fail(err, DX_E_INVALID,
                       "which? ids of 'access token list', --principal NAME for all of one, or - "
                       "to read the token itself from standard input");
    if (c->operand_count == 1 && strcmp(with.operand[0], "-") == 0) {
        rc = read_leaked(leaked, err);
        with.operand = one;
    }
    for (size_t i = 0; rc == DX_OK && i < with.operand_count; i++)
        if (strlen(with.operand[i]) < 8 || strlen(with.operand[i]) >= DX_SHA256_HEX ||
            with.operand[i][strspn(with.operand[i], "0123456789abcdef")] != '\0')
            rc = dx_fail(err, DX_E_INVALID,
                         "an id of a token is 8 or more hex digits, as 'access token list' shows "
                         "them");
    if (rc == DX_OK)
        rc = dx_access_call_edit(&with, DX_ACCESS_EDIT_CHANGES, edit_token_revoke, err);
    c->outcome = with.outcome;
    c->outcome.revokes_tokens = true;
    c->outcome.tokens_revoked = rc == 1 ? with.changed : 0;
    if (rc == 1 && !dx_options_has(c->options, OPT_DRY_RUN) &&
        !dx_options_has(c->options, OPT_QUIET))
        (void)dx_line_print(stderr, "access: %zu token%s revoked", with.changed,
                            dx_plural(with.changed));
    return rc;
}
