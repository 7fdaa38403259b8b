/* SPDX-License-Identifier: Apache-2.0
 * access_json.h - index/access.json as it is written: which principals may see which datasets. No I/O.
 *
 *   struct dx_access_json j = DX_ACCESS_JSON_INIT;
 *   rc = dx_access_json_parse(&j, text, name, &err);       strict; sorted when it returns
 *   p = dx_access_json_principal(&j, name);                NULL: none
 *   rc = dx_access_json_add(&j, name, &p, &err);           1 new, 0 was there
 *   rc = dx_access_json_grant(&j, 3, name, &err);          1 new, 0 was there; "*": everybody
 *   rc = dx_access_json_revoke(&j, 3, name);               1, or 0: there was no such grant
 *   rc = dx_access_json_remove(&j, name);                  the principal, its tokens and its grants
 *   rc = dx_access_json_note(&j, time_us, by, did, &err);  what was done; the generation grows
 *   rc = dx_access_json_write(&j, &buf, &err);             deterministic text
 *   rc = dx_access_check_least(j.generation, m.access, root, &err);     not behind what the manifest says
 *   dx_access_json_release(&j);
 *
 * For commands that change the table, and for what answers from it (format/root/access_table.h).
 * Unknown members, invalid names, names and ids twice, invalid hex, three tokens of one principal
 * and sizes over the caps below are refused with the place. docs/FORMAT.md has the layout.
 *
 * A name need not be a principal to be granted something: then who is called so by a trusted proxy
 * has it. The generation is the millisecond of the change since 1970, or one more than the last if
 * that is later: so a table that was lost, or fetched back from a copy, is ahead of all that
 * servers knew once it is changed.
 *
 * Entries ascend by dataset_id, names by bytes. Pointers are valid until the next change. One
 * thread.
 */
#ifndef DX_FORMAT_ROOT_ACCESS_JSON_H
#define DX_FORMAT_ROOT_ACCESS_JSON_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "format/version/names.h"

#define DX_ACCESS_MAX (8u << 20)         /* bytes of text */
#define DX_ACCESS_NAME_MAX 128           /* bytes of a principal's name */
#define DX_ACCESS_PRINCIPALS_MAX 20000   /* also of the names that grants have */
#define DX_ACCESS_ENTRIES_MAX (1u << 20) /* datasets that are named */
#define DX_ACCESS_TOKENS_MAX 2           /* of a principal: the old one, and the one after it */
#define DX_ACCESS_COST_MAX 1000000000    /* cost_per_s, cost_burst */
#define DX_ACCESS_HISTORY_MAX 256        /* changes that are kept */
#define DX_ACCESS_HISTORY_TEXT 400       /* bytes of "by" and of "did" */
#define DX_ACCESS_EVERYBODY "*"
#define DX_ACCESS_ANONYMOUS "anonymous" /* a caller without a name; reserved */

struct dx_access_token {
    uint8_t sha256[32];
    int64_t created_s; /* since 1970 */
    int64_t expires_s; /* 0: never */
};

struct dx_access_principal {
    char *name;
    bool all;            /* sees every dataset, also those that the table does not name */
    uint32_t cost_per_s; /* 0: what the server is set to */
    uint32_t cost_burst;
    struct dx_access_token token[DX_ACCESS_TOKENS_MAX];
    size_t token_count;
};

struct dx_access_entry {
    uint32_t dataset_id;
    char **name;
    size_t count;
};

struct dx_access_change {
    uint64_t generation;
    int64_t time_us; /* whole seconds */
    char *by;
    char *did;
};

struct dx_access_json {
    uint64_t generation; /* 0: there is no table yet */
    int64_t updated_us;  /* whole seconds */
    bool open;           /* the table was taken out of force: everybody sees all */
    struct dx_access_entry *entry;
    size_t entry_count, entry_room;
    struct dx_access_principal *principal;
    size_t principal_count, principal_room;
    struct dx_access_change history[DX_ACCESS_HISTORY_MAX]; /* the oldest first */
    size_t history_count;
};

#define DX_ACCESS_JSON_INIT \
    {                       \
        .generation = 0     \
    }

int dx_access_json_parse(struct dx_access_json *j, struct dx_span text, const char *name,
                         struct dx_error *err);
int dx_access_json_write(const struct dx_access_json *j, struct dx_buf *out, struct dx_error *err);
void dx_access_json_release(struct dx_access_json *j);

/* 1..DX_ACCESS_NAME_MAX letters, digits, and . _ : @ + - ; not "anonymous". */
bool dx_access_name_ok(struct dx_span name);

struct dx_access_principal *dx_access_json_principal(const struct dx_access_json *j,
                                                     struct dx_span name);
const struct dx_access_entry *dx_access_json_entry(const struct dx_access_json *j,
                                                   uint32_t dataset_id);
int dx_access_json_add(struct dx_access_json *j, struct dx_span name,
                       struct dx_access_principal **p, struct dx_error *err);
int dx_access_json_grant(struct dx_access_json *j, uint32_t dataset_id, struct dx_span name,
                         struct dx_error *err);
int dx_access_json_revoke(struct dx_access_json *j, uint32_t dataset_id, struct dx_span name);
int dx_access_json_remove(struct dx_access_json *j, struct dx_span name);

/* Takes the table out of force: no principals, no grants. Generation and history go on. */
void dx_access_json_clear(struct dx_access_json *j);
int dx_access_json_note(struct dx_access_json *j, int64_t time_us, const char *by, const char *did,
                        struct dx_error *err);

/* generation: of the table of `root`, 0: it has none; least: that the manifest says (0: any table
 * will do), read before the table. DX_E_CORRUPT: the table was lost, or is an older copy. */
int dx_access_check_least(uint64_t generation, uint64_t least, const char *root,
                          struct dx_error *err);

#endif
