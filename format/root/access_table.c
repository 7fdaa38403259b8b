/* SPDX-License-Identifier: Apache-2.0 */
#include "format/root/access_table.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/hash.h"

/* Roaring sets of all principals together. A table of the largest text could ask for far more, by
 * many principals that each have a little and everything that everybody has. */
#define SCOPES_BYTES_MAX ((size_t)256 << 20)

struct token {
    uint8_t sha256[32];
    int64_t expires_s; /* 0: never; also of a free place, which has no principal */
    const struct dx_principal *principal;
};

struct dx_access_table {
    struct dx_access_json text;     /* owns the names */
    struct dx_hash128 hash;         /* of the text as it was read */
    struct dx_principal *principal; /* by name in byte order; behind them anonymous */
    size_t count;                   /* without anonymous */
    struct token *token;            /* open addressing by the first 8 bytes of the hash */
    size_t token_mask;
    const struct dx_scope **scope; /* each one once: open addressing by dx_scope_hash */
    size_t scope_mask;
    size_t scope_bytes;
    atomic_ulong holds;
};

/* At least twice the count. */
static size_t mask_of(size_t count)
{
    size_t size = 4;

    while (size < 2 * count)
        size *= 2;
    return size - 1;
}

/* ---- names ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* All names that principals and grants have, each once; "*" is not one. To be freed. */
static int names_of(const struct dx_access_json *j, const char ***names, size_t *count,
                    struct dx_error *err)
{
    size_t room = j->principal_count;
    size_t n = 0;

    for (size_t i = 0; i < j->entry_count; i++)
        room += j->entry[i].count;
    *names = calloc(room + 1, sizeof **names);
    if (*names == NULL)
        return dx_no_memory(err, "access table");
    for (size_t i = 0; i < j->principal_count; i++)
        (*names)[n++] = j->principal[i].name;
    for (size_t i = 0; i < j->entry_count; i++)
        for (size_t k = 0; k < j->entry[i].count; k++)
            if (strcmp(j->entry[i].name[k], DX_ACCESS_EVERYBODY) != 0)
                (*names)[n++] = j->entry[i].name[k];
    qsort(*names, n, sizeof **names, compare_names);
    *count = 0;
    for (size_t i = 0; i < n; i++)
        if (*count == 0 || strcmp((*names)[*count - 1], (*names)[i]) != 0)
            (*names)[(*count)++] = (*names)[i];
    return *count <= DX_ACCESS_PRINCIPALS_MAX ? DX_OK
                                              : dx_fail(err, DX_E_LIMIT, "%zu names, at most %d",
                                                        *count, DX_ACCESS_PRINCIPALS_MAX);
}

static struct dx_principal *find_name(const struct dx_access_table *t, struct dx_span name)
{
    size_t lo = 0;
    size_t hi = t->count;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = dx_span_compare(dx_span_str(t->principal[mid].name), name);

        if (c == 0)
            return &t->principal[mid];
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

static int take_names(struct dx_access_table *t, struct dx_error *err)
{
    const char **names = NULL;
    int rc = names_of(&t->text, &names, &t->count, err);

    if (rc == DX_OK) {
        t->principal = calloc(t->count + 1, sizeof *t->principal);
        rc = t->principal == NULL ? dx_no_memory(err, "access table") : DX_OK;
    }
    for (size_t i = 0; rc == DX_OK && i <= t->count; i++) {
        struct dx_principal *p = &t->principal[i];
        const struct dx_access_principal *a = i == t->count ? NULL
                                                            : dx_access_json_principal(
                                                                  &t->text, dx_span_str(names[i]));

        p->name = i == t->count ? DX_ACCESS_ANONYMOUS : names[i];
        p->number = (uint32_t)i;
        p->cost_per_s = a == NULL ? 0 : a->cost_per_s;
        p->cost_burst = a == NULL ? 0 : a->cost_burst;
    }
    free(names);
    return rc;
}

/* ---- scopes ---- */

static const struct dx_scope *find_scope(const struct dx_access_table *t,
                                         const struct dx_scope *like, size_t *at)
{
    *at = (size_t)dx_scope_hash(like) & t->scope_mask;
    while (t->scope[*at] != NULL && !dx_scope_equal(t->scope[*at], like))
        *at = (*at + 1) & t->scope_mask;
    return t->scope[*at];
}

/* Takes `fresh`, or drops it for an equal one that this table or the former has. */
static int keep_scope(struct dx_access_table *t, const struct dx_access_table *former,
                      const struct dx_scope *fresh, const struct dx_scope **kept,
                      struct dx_error *err)
{
    const struct dx_scope *known;
    size_t at;
    size_t other;

    *kept = find_scope(t, fresh, &at);
    if (*kept != NULL) {
        dx_scope_drop(&fresh);
        return DX_OK;
    }
    known = former == NULL ? NULL : find_scope(former, fresh, &other);
    if (known != NULL) {
        dx_scope_drop(&fresh);
        fresh = dx_scope_hold(known);
    }
    *kept = t->scope[at] = fresh;
    t->scope_bytes += dx_scope_bytes(fresh);
    return t->scope_bytes <= SCOPES_BYTES_MAX
               ? DX_OK
               : dx_fail(err, DX_E_LIMIT, "sets of datasets of over %zu bytes", SCOPES_BYTES_MAX);
}

/* What each name is granted: ids[begin[i] .. begin[i + 1]), i == count: everybody. */
struct grants {
    uint32_t *ids;
    size_t *begin;
};

static size_t grantee(const struct dx_access_table *t, const char *name)
{
    return strcmp(name, DX_ACCESS_EVERYBODY) == 0
               ? t->count
               : (size_t)(find_name(t, dx_span_str(name)) - t->principal);
}

static int grants_of(const struct dx_access_table *t, struct grants *g, struct dx_error *err)
{
    const struct dx_access_json *j = &t->text;
    size_t total;

    g->begin = calloc(t->count + 3, sizeof *g->begin);
    if (g->begin == NULL)
        return dx_no_memory(err, "access table");
    for (size_t i = 0; i < j->entry_count; i++)
        for (size_t k = 0; k < j->entry[i].count; k++)
            g->begin[grantee(t, j->entry[i].name[k]) + 2]++;
    for (size_t i = 2; i < t->count + 3; i++)
        g->begin[i] += g->begin[i - 1];
    total = g->begin[t->count + 2];
    g->ids = calloc(total + 1, sizeof *g->ids);
    if (g->ids == NULL)
        return dx_no_memory(err, "access table");
    /* begin[i + 1] is where the next of i goes, and in the end where i + 1 begins. */
    for (size_t i = 0; i < j->entry_count; i++)
        for (size_t k = 0; k < j->entry[i].count; k++)
            g->ids[g->begin[grantee(t, j->entry[i].name[k]) + 1]++] = j->entry[i].dataset_id;
    return DX_OK;
}

static bool sees_all(const struct dx_access_table *t, size_t i)
{
    const struct dx_access_principal *a = i == t->count
                                              ? NULL
                                              : dx_access_json_principal(
                                                    &t->text, dx_span_str(t->principal[i].name));

    return a != NULL && a->all;
}

/* Of everybody first: the others have what it has, and more. */
static int make_scopes(struct dx_access_table *t, const struct dx_access_table *former,
                       const struct grants *g, struct dx_error *err)
{
    const struct dx_scope *everybody = NULL;
    int rc = DX_OK;

    for (size_t i = t->count + 1; i-- > 0 && rc == DX_OK;) {
        size_t n = g->begin[i + 1] - g->begin[i];
        struct dx_scope *fresh = NULL;

        if (sees_all(t, i))
            continue;
        if (n == 0 && everybody != NULL) {
            t->principal[i].scope = everybody;
            continue;
        }
        rc = dx_scope_more(&fresh, everybody, g->ids + g->begin[i], n, err);
        if (rc == DX_OK)
            rc = keep_scope(t, former, fresh, &t->principal[i].scope, err);
        if (i == t->count)
            everybody = t->principal[i].scope;
    }
    return rc;
}

static int take_grants(struct dx_access_table *t, const struct dx_access_table *former,
                       struct dx_error *err)
{
    struct grants g = { NULL, NULL };
    int rc;

    t->scope_mask = mask_of(t->count + 1);
    t->scope = calloc(t->scope_mask + 1, sizeof(*t->scope));
    rc = t->scope == NULL ? dx_no_memory(err, "access table") : grants_of(t, &g, err);
    if (rc == DX_OK)
        rc = make_scopes(t, former, &g, err);
    free(g.ids);
    free(g.begin);
    return rc;
}

/* ---- tokens ---- */

/* How long it takes does not tell how many bytes are right. */
static bool same_hash(const uint8_t a[32], const uint8_t b[32])
{
    volatile uint64_t differ = 0; /* so that no compiler ends the loop early */

    for (size_t i = 0; i < 32; i += 8)
        differ = differ | (dx_load_u64(a + i) ^ dx_load_u64(b + i));
    return differ == 0;
}

static struct token *find_token(const struct dx_access_table *t, const uint8_t sha256[32])
{
    size_t at = (size_t)dx_load_u64(sha256) & t->token_mask;

    while (t->token[at].principal != NULL && !same_hash(t->token[at].sha256, sha256))
        at = (at + 1) & t->token_mask;
    return &t->token[at];
}

static int take_tokens(struct dx_access_table *t, struct dx_error *err)
{
    const struct dx_access_json *j = &t->text;

    t->token_mask = mask_of(j->principal_count * DX_ACCESS_TOKENS_MAX);
    t->token = calloc(t->token_mask + 1, sizeof *t->token);
    if (t->token == NULL)
        return dx_no_memory(err, "access table");
    for (size_t i = 0; i < j->principal_count; i++)
        for (size_t k = 0; k < j->principal[i].token_count; k++) {
            const struct dx_access_token *from = &j->principal[i].token[k];
            struct token *to = find_token(t, from->sha256);

            if (to->principal != NULL)
                return dx_fail(err, DX_E_CORRUPT,
                               "principals: %zu of %zu: token %zu: its sha256 stands twice", i + 1,
                               j->principal_count, k + 1);
            memcpy(to->sha256, from->sha256, sizeof to->sha256);
            to->expires_s = from->expires_s;
            to->principal = find_name(t, dx_span_str(j->principal[i].name));
        }
    return DX_OK;
}

/* ---- the table ---- */

int dx_access_table_parse(const struct dx_access_table **out, struct dx_span text, const char *name,
                          const struct dx_access_table *former, struct dx_error *err)
{
    struct dx_error local = DX_ERROR_INIT;
    struct dx_access_table *t = calloc(1, sizeof *t);
    int rc;

    *out = NULL;
    if (t == NULL)
        return dx_no_memory(err, "access table");
    atomic_init(&t->holds, 1);
    rc = dx_access_json_parse(&t->text, text, name, err);
    if (rc == DX_OK) {
        t->hash = dx_hash128_of(text);
        rc = take_names(t, &local);
        if (rc == DX_OK)
            rc = take_grants(t, former, &local);
        if (rc == DX_OK)
            rc = take_tokens(t, &local);
        if (rc < 0) {
            (void)dx_fail_in(&local, "%s", name);
            if (err != NULL)
                *err = local;
        }
    }
    *out = t;
    if (rc < 0)
        dx_access_table_drop(out);
    return rc;
}

const struct dx_access_table *dx_access_table_hold(const struct dx_access_table *t)
{
    if (t != NULL)
        (void)atomic_fetch_add_explicit(&((struct dx_access_table *)t)->holds, 1,
                                        memory_order_relaxed);
    return t;
}

void dx_access_table_drop(const struct dx_access_table **out)
{
    struct dx_access_table *t = (struct dx_access_table *)*out;

    *out = NULL;
    if (t == NULL || atomic_fetch_sub_explicit(&t->holds, 1, memory_order_acq_rel) > 1)
        return;
    for (size_t i = 0; t->scope != NULL && i <= t->scope_mask; i++)
        dx_scope_drop(&t->scope[i]);
    free(t->scope);
    free(t->token);
    free(t->principal);
    dx_access_json_release(&t->text);
    free(t);
}

const struct dx_principal *dx_access_table_token(const struct dx_access_table *t,
                                                 const uint8_t sha256[32], int64_t now_s)
{
    const struct token *found = find_token(t, sha256);

    return found->expires_s != 0 && found->expires_s <= now_s ? NULL : found->principal;
}

const struct dx_principal *dx_access_table_named(const struct dx_access_table *t,
                                                 struct dx_span name)
{
    return find_name(t, name);
}

const struct dx_principal *dx_access_table_anonymous(const struct dx_access_table *t)
{
    return &t->principal[t->count];
}

uint64_t dx_access_table_generation(const struct dx_access_table *t)
{
    return t->text.generation;
}

bool dx_access_table_open(const struct dx_access_table *t)
{
    return t->text.open;
}

size_t dx_access_table_principals(const struct dx_access_table *t)
{
    return t->count;
}

bool dx_access_table_same(const struct dx_access_table *a, const struct dx_access_table *b)
{
    return dx_hash128_equal(&a->hash, &b->hash);
}
