/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/policy/access_report.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/civil_time.h"
#include "base/json_out.h"
#include "builder/policy/access_edit.h"

#define SECOND_US INT64_C(1000000)

void dx_access_token_id(const struct dx_access_token *t, char id[DX_ACCESS_TOKEN_ID])
{
    for (size_t i = 0; i < (DX_ACCESS_TOKEN_ID - 1) / 2; i++)
        (void)snprintf(id + 2 * i, 3, "%02x", t->sha256[i]);
}

static void put_time(struct dx_buf *out, int64_t us)
{
    char text[DX_CIVIL_TEXT];

    dx_buf_append(out, text, dx_civil_text_us(us, text));
}

static bool expired(const struct dx_access_token *t, int64_t now_s)
{
    return t->expires_s != 0 && t->expires_s <= now_s;
}

/* ---- list ---- */

static bool names(const struct dx_access_entry *e, const char *name)
{
    for (size_t i = 0; i < e->count; i++)
        if (strcmp(e->name[i], name) == 0)
            return true;
    return false;
}

static bool shown(const struct dx_access_entry *e, const struct dx_access_of *of)
{
    return (of->dataset_id == 0 || of->dataset_id == e->dataset_id) &&
           (of->principal == NULL || names(e, of->principal) || names(e, DX_ACCESS_EVERYBODY));
}

static void list_text(const struct dx_access_json *j, const struct dx_dataset_registry *datasets,
                      const struct dx_access_of *of, struct dx_buf *out)
{
    for (size_t i = 0; i < j->principal_count; i++) {
        const struct dx_access_principal *p = &j->principal[i];

        if (p->all && (of->principal == NULL || strcmp(of->principal, p->name) == 0))
            dx_buf_fmt(out, "       all  (every dataset)  %s\n", p->name);
    }
    for (size_t i = 0; i < j->entry_count; i++) {
        const struct dx_access_entry *e = &j->entry[i];
        const char *name = dx_access_datasets_name(datasets, e->dataset_id);

        if (!shown(e, of))
            continue;
        dx_buf_fmt(out, "%10" PRIu32 "  %s  ", e->dataset_id, name == NULL ? "(not known)" : name);
        for (size_t k = 0; k < e->count; k++)
            dx_buf_fmt(out, "%s%s", k == 0 ? "" : ", ", e->name[k]);
        dx_buf_u8(out, '\n');
    }
}

static void list_json(const struct dx_access_json *j, const struct dx_dataset_registry *datasets,
                      const struct dx_access_of *of, struct dx_buf *out)
{
    struct dx_json w;

    dx_json_open(&w, out);
    dx_json_object(&w);
    dx_json_key_u64(&w, "generation", j->generation);
    dx_json_key(&w, "all");
    dx_json_array(&w);
    for (size_t i = 0; i < j->principal_count; i++)
        if (j->principal[i].all &&
            (of->principal == NULL || strcmp(of->principal, j->principal[i].name) == 0))
            dx_json_str(&w, j->principal[i].name);
    dx_json_end(&w);
    dx_json_key(&w, "datasets");
    dx_json_array(&w);
    for (size_t i = 0; i < j->entry_count; i++) {
        const struct dx_access_entry *e = &j->entry[i];
        const char *name = dx_access_datasets_name(datasets, e->dataset_id);

        if (!shown(e, of))
            continue;
        dx_json_object(&w);
        dx_json_key_u64(&w, "dataset_id", e->dataset_id);
        dx_json_key(&w, "name");
        name == NULL ? dx_json_null(&w) : dx_json_str(&w, name);
        dx_json_key(&w, "principals");
        dx_json_array(&w);
        for (size_t k = 0; k < e->count; k++)
            dx_json_str(&w, e->name[k]);
        dx_json_end(&w);
        dx_json_end(&w);
    }
    dx_json_end(&w);
    dx_json_end(&w);
    dx_buf_u8(out, '\n');
}

void dx_access_list(const struct dx_access_json *j, const struct dx_dataset_registry *datasets,
                    const struct dx_access_of *of, bool json, struct dx_buf *out)
{
    json ? list_json(j, datasets, of, out) : list_text(j, datasets, of, out);
}

/* ---- tokens ---- */

static void token_json(struct dx_json *w, const char *name, const struct dx_access_token *t,
                       int64_t now_s)
{
    char id[DX_ACCESS_TOKEN_ID];

    dx_access_token_id(t, id);
    dx_json_object(w);
    dx_json_key(w, "principal");
    dx_json_str(w, name);
    dx_json_key(w, "token");
    dx_json_str(w, id);
    dx_json_key(w, "created");
    dx_json_time_us(w, t->created_s * SECOND_US);
    dx_json_key(w, "expires");
    t->expires_s == 0 ? dx_json_null(w) : dx_json_time_us(w, t->expires_s * SECOND_US);
    dx_json_key(w, "expired");
    dx_json_bool(w, expired(t, now_s));
    dx_json_end(w);
}

static void token_text(struct dx_buf *out, const char *name, const struct dx_access_token *t,
                       int64_t now_s)
{
    char id[DX_ACCESS_TOKEN_ID];

    dx_access_token_id(t, id);
    dx_buf_fmt(out, "%s  %s  created ", id, name);
    put_time(out, t->created_s * SECOND_US);
    if (t->expires_s != 0) {
        dx_buf_str(out, expired(t, now_s) ? "  expired " : "  expires ");
        put_time(out, t->expires_s * SECOND_US);
    }
    dx_buf_u8(out, '\n');
}

void dx_access_tokens(const struct dx_access_json *j, const char *principal, int64_t now_s,
                      bool json, struct dx_buf *out)
{
    struct dx_json w;

    if (json) {
        dx_json_open(&w, out);
        dx_json_object(&w);
        dx_json_key(&w, "tokens");
        dx_json_array(&w);
    }
    for (size_t i = 0; i < j->principal_count; i++) {
        const struct dx_access_principal *p = &j->principal[i];

        if (principal != NULL && strcmp(principal, p->name) != 0)
            continue;
        for (size_t k = 0; k < p->token_count; k++)
            if (json)
                token_json(&w, p->name, &p->token[k], now_s);
            else
                token_text(out, p->name, &p->token[k], now_s);
    }
    if (json) {
        dx_json_end(&w);
        dx_json_end(&w);
        dx_buf_u8(out, '\n');
    }
}

/* ---- status, log ---- */

struct sums {
    size_t grants, tokens, expired, all, public;
};

static struct sums sums_of(const struct dx_access_json *j, int64_t now_s)
{
    struct sums s = { .grants = 0 };

    for (size_t i = 0; i < j->entry_count; i++) {
        s.grants += j->entry[i].count;
        s.public += names(&j->entry[i], DX_ACCESS_EVERYBODY);
    }
    for (size_t i = 0; i < j->principal_count; i++) {
        s.all += j->principal[i].all;
        s.tokens += j->principal[i].token_count;
        for (size_t k = 0; k < j->principal[i].token_count; k++)
            s.expired += expired(&j->principal[i].token[k], now_s);
    }
    return s;
}

static void status_json(const struct dx_access_json *j, const struct sums *s, struct dx_buf *out)
{
    struct dx_json w;

    dx_json_open(&w, out);
    dx_json_object(&w);
    dx_json_key(&w, "enforced");
    dx_json_bool(&w, j->generation > 0 && !j->open);
    dx_json_key_u64(&w, "generation", j->generation);
    dx_json_key(&w, "updated");
    j->generation == 0 ? dx_json_null(&w) : dx_json_time_us(&w, j->updated_us);
    dx_json_key_u64(&w, "datasets", j->entry_count);
    dx_json_key_u64(&w, "datasets_for_everybody", s->public);
    dx_json_key_u64(&w, "grants", s->grants);
    dx_json_key_u64(&w, "principals", j->principal_count);
    dx_json_key_u64(&w, "principals_that_see_all", s->all);
    dx_json_key_u64(&w, "tokens", s->tokens);
    dx_json_key_u64(&w, "tokens_expired", s->expired);
    dx_json_end(&w);
    dx_buf_u8(out, '\n');
}

void dx_access_status(const struct dx_access_json *j, int64_t now_s, bool json, struct dx_buf *out)
{
    struct sums s = sums_of(j, now_s);

    if (json) {
        status_json(j, &s, out);
        return;
    }
    if (j->generation == 0) {
        dx_buf_str(out, "no access table: everybody may see all\n");
        return;
    }
    dx_buf_fmt(out, "%s\ngeneration %" PRIu64 ", ",
               j->open ? "not in force: everybody may see all"
                       : "in force: principals see only what is granted to them",
               j->generation);
    put_time(out, j->updated_us);
    dx_buf_fmt(out,
               "\n%zu datasets are granted, %zu of them to everybody; %zu grants\n"
               "%zu principals, %zu of them see all; %zu tokens, %zu of them expired\n",
               j->entry_count, s.public, s.grants, j->principal_count, s.all, s.tokens, s.expired);
}

void dx_access_log(const struct dx_access_json *j, bool json, struct dx_buf *out)
{
    struct dx_json w;

    if (!json) {
        for (size_t i = 0; i < j->history_count; i++) {
            dx_buf_fmt(out, "%" PRIu64 "  ", j->history[i].generation);
            put_time(out, j->history[i].time_us);
            dx_buf_str(out, "  ");
            dx_buf_printable(out, j->history[i].by, strlen(j->history[i].by));
            dx_buf_str(out, ": ");
            dx_buf_printable(out, j->history[i].did, strlen(j->history[i].did));
            dx_buf_u8(out, '\n');
        }
        return;
    }
    dx_json_open(&w, out);
    dx_json_object(&w);
    dx_json_key(&w, "history");
    dx_json_array(&w);
    for (size_t i = 0; i < j->history_count; i++) {
        dx_json_object(&w);
        dx_json_key_u64(&w, "generation", j->history[i].generation);
        dx_json_key(&w, "time");
        dx_json_time_us(&w, j->history[i].time_us);
        dx_json_key(&w, "by");
        dx_json_str(&w, j->history[i].by);
        dx_json_key(&w, "did");
        dx_json_str(&w, j->history[i].did);
        dx_json_end(&w);
    }
    dx_json_end(&w);
    dx_json_end(&w);
    dx_buf_u8(out, '\n');
}
