/* SPDX-License-Identifier: Apache-2.0
 * access_call.h - what the parts of 'domaindex access' share: its options, and one call of it.
 *
 *   struct dx_access_call c = { .root = root, .options = &options, .operand = words, .operand_count = n };
 *   rc = dx_access_call_words(&c, most, &err);               more operands are an error
 *   rc = dx_access_call_edit(&c, kind, edit, &err);          `edit` gets the table; c.changed, c.outcome
 *   rc = dx_access_call_token_new(&c, &err);                 and _token_revoke: edits of their own
 *
 * cmd_access.c has the command, grants, principals and reports, access_tokens.c tokens. One thread.
 */
#ifndef DX_BUILDER_CLI_ACCESS_CALL_H
#define DX_BUILDER_CLI_ACCESS_CALL_H

#include "base/command/options.h"
#include "base/crypto/sha256.h"
#include "builder/policy/access_edit.h"
#include "builder/policy/access_report.h"
#include "format/root/access_token.h"

enum {
    OPT_ROOT,
    OPT_TO,
    OPT_FROM,
    OPT_DATASET,
    OPT_PRINCIPAL,
    OPT_ALL,
    OPT_NOT_ALL,
    OPT_COST_PER_S,
    OPT_COST_BURST,
    OPT_EXPIRES,
    OPT_PUBLIC,
    OPT_YES,
    OPT_DRY_RUN,
    OPT_QUIET,
    OPT_JSON,
    OPT_COUNT
};

struct dx_dataset_registry;

/* What --json prints of an edit. */
struct dx_access_outcome {
    bool edited;  /* the action was one that edits, and it did not fail */
    bool changed; /* false: it was so already */
    uint64_t generation;
    char token_id[DX_ACCESS_TOKEN_ID]; /* "": none was made */
    bool revokes_tokens;
    size_t tokens_revoked; /* of a dry run: that would be */
};

struct dx_access_call {
    const char *root;
    const struct dx_options *options;
    const char *const *operand; /* behind the verb */
    size_t operand_count;
    struct dx_dataset_registry *datasets; /* NULL: of a call that is not about them */
    uint32_t *ids;                        /* of the operands */
    char token[DX_ACCESS_TOKEN_TEXT];
    uint8_t sha256[DX_SHA256_SIZE];
    int64_t expires_s;
    size_t changed; /* things, by the last edit */
    bool hides_all; /* the edit: builder/policy/access_edit.h */
    struct dx_access_outcome outcome;
};

typedef int dx_access_editor(struct dx_access_edit *e, struct dx_access_json *j,
                             struct dx_error *err);

/* Says on standard error what came of it, but with --quiet; e->ctx is the call. */
int dx_access_call_edit(struct dx_access_call *c, enum dx_access_edit_kind kind,
                        dx_access_editor *edit, struct dx_error *err);

/* Operands beyond so many are an error. */
int dx_access_call_words(const struct dx_access_call *c, size_t most, struct dx_error *err);

int dx_access_call_token_new(struct dx_access_call *c, struct dx_error *err);
int dx_access_call_token_revoke(struct dx_access_call *c, struct dx_error *err);

#endif
