/* SPDX-License-Identifier: Apache-2.0 */
#include "format/root/access_json.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/civil_time.h"
#include "base/json_in.h"
#include "base/json_out.h"
#include "base/search.h"
#include "base/text_copy.h"
#include "format/root/registry_json.h"

#define SHA256_HEX 64
#define SECOND_US 1000000
#define FORMAT 1

/* ---- names ---- */

static bool name_byte_ok(uint8_t c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
           (c != '\0' && strchr("._:@+-", c) != NULL);
}

bool dx_access_name_ok(struct dx_span name)
{
    for (size_t i = 0; i < name.size; i++)
        if (!name_byte_ok(name.data[i]))
            return false;
    return name.size >= 1 && name.size <= DX_ACCESS_NAME_MAX &&
           !dx_span_equal(name, dx_span_str(DX_ACCESS_ANONYMOUS));
}

static bool grantee_ok(struct dx_span name)
{
    return dx_access_name_ok(name) || dx_span_equal(name, dx_span_str(DX_ACCESS_EVERYBODY));
}

static int bad_name(struct dx_span name, struct dx_error *err)
{
    return dx_fail(
        err, DX_E_INVALID,
        "'%.*s' is not a principal's name: 1 to %d letters, digits and . _ : @ + - and not "
        "'" DX_ACCESS_ANONYMOUS "'",
        (int)(name.size < 140 ? name.size : 140), (const char *)name.data, DX_ACCESS_NAME_MAX);
}

/* ---- finding ---- */

struct sought {
    const struct dx_access_json *j;
    const struct dx_access_entry *entry;
    struct dx_span name;
    uint32_t dataset_id;
};

static int compare_principal(const void *context, size_t i)
{
    const struct sought *s = context;

    return dx_span_compare(dx_span_str(s->j->principal[i].name), s->name);
}

static int compare_entry(const void *context, size_t i)
{
    const struct sought *s = context;
    uint32_t id = s->j->entry[i].dataset_id;

    return (id > s->dataset_id) - (id < s->dataset_id);
}

static int compare_grantee(const void *context, size_t i)
{
    const struct sought *s = context;

    return dx_span_compare(dx_span_str(s->entry->name[i]), s->name);
}

static bool find_principal(const struct dx_access_json *j, struct dx_span name, size_t *at)
{
    const struct sought s = { .j = j, .name = name };

    return dx_search(j->principal_count, compare_principal, &s, at);
}

static bool find_entry(const struct dx_access_json *j, uint32_t dataset_id, size_t *at)
{
    const struct sought s = { .j = j, .dataset_id = dataset_id };

    return dx_search(j->entry_count, compare_entry, &s, at);
}

static bool find_grantee(const struct dx_access_entry *e, struct dx_span name, size_t *at)
{
    const struct sought s = { .entry = e, .name = name };

    return dx_search(e->count, compare_grantee, &s, at);
}

struct dx_access_principal *dx_access_json_principal(const struct dx_access_json *j,
                                                     struct dx_span name)
{
    size_t at;

    return find_principal(j, name, &at) ? &j->principal[at] : NULL;
}

const struct dx_access_entry *dx_access_json_entry(const struct dx_access_json *j,
                                                   uint32_t dataset_id)
{
    size_t at;

    return find_entry(j, dataset_id, &at) ? &j->entry[at] : NULL;
}

/* ---- changing ---- */

int dx_access_json_add(struct dx_access_json *j, struct dx_span name,
                       struct dx_access_principal **p, struct dx_error *err)
{
    struct dx_access_principal *list;
    char *copy;
    size_t at;

    if (!dx_access_name_ok(name))
        return bad_name(name, err);
    if (find_principal(j, name, &at)) {
        *p = &j->principal[at];
        return 0;
    }
    if (j->principal_count >= DX_ACCESS_PRINCIPALS_MAX)
        return dx_fail(err, DX_E_LIMIT, "there are %d principals, which is the most",
                       DX_ACCESS_PRINCIPALS_MAX);
    list = dx_array_room(j->principal, j->principal_count, &j->principal_room, sizeof *list);
    if (list == NULL)
        return dx_no_memory(err, "access table");
    j->principal = list;
    copy = dx_text_copy(name);
    if (copy == NULL)
        return dx_no_memory(err, "access table");
    *p = &j->principal[at];
    memmove(*p + 1, *p, (j->principal_count - at) * sizeof **p);
    **p = (struct dx_access_principal){ .name = copy };
    j->principal_count++;
    return 1;
}

static int add_entry(struct dx_access_json *j, uint32_t dataset_id, size_t at, struct dx_error *err)
{
    struct dx_access_entry *list;

    assert(at <= j->entry_count);
    if (j->entry_count >= DX_ACCESS_ENTRIES_MAX)
        return dx_fail(err, DX_E_LIMIT, "%u datasets are named, which is the most",
                       DX_ACCESS_ENTRIES_MAX);
    list = dx_array_room(j->entry, j->entry_count, &j->entry_room, sizeof *list);
    if (list == NULL)
        return dx_no_memory(err, "access table");
    j->entry = list;
    memmove(&j->entry[at + 1], &j->entry[at], (j->entry_count - at) * sizeof *j->entry);
    j->entry[at] = (struct dx_access_entry){ .dataset_id = dataset_id };
    j->entry_count++;
    return DX_OK;
}

/* The list grows when its count is a power of two. */
static int add_grantee(struct dx_access_entry *e, struct dx_span name, size_t at,
                       struct dx_error *err)
{
    char *copy = dx_text_copy(name);

    assert(at <= e->count);
    if (copy != NULL && (e->count & (e->count - 1)) == 0) {
        char **more = reallocarray(e->name, e->count == 0 ? 1 : 2 * e->count, sizeof *more);

        if (more == NULL) {
            free(copy);
            copy = NULL;
        } else {
            e->name = more;
        }
    }
    if (copy == NULL)
        return dx_no_memory(err, "access table");
    memmove(e->name + at + 1, e->name + at, (e->count - at) * sizeof *e->name);
    e->name[at] = copy;
    e->count++;
    return 1;
}

static void drop_entry(struct dx_access_json *j, size_t at)
{
    assert(at < j->entry_count);
    free(j->entry[at].name);
    j->entry_count--;
    memmove(&j->entry[at], &j->entry[at + 1], (j->entry_count - at) * sizeof *j->entry);
}

int dx_access_json_grant(struct dx_access_json *j, uint32_t dataset_id, struct dx_span name,
                         struct dx_error *err)
{
    size_t entry;
    size_t at = 0;
    int rc;

    if (!grantee_ok(name))
        return bad_name(name, err);
    if (dataset_id == 0 || dataset_id > DX_DATASET_ID_MAX)
        return dx_fail(err, DX_E_INVALID, "dataset_id %" PRIu32 " is not in 1..%u", dataset_id,
                       DX_DATASET_ID_MAX);
    if (find_entry(j, dataset_id, &entry) && find_grantee(&j->entry[entry], name, &at))
        return 0;
    if (entry == j->entry_count || j->entry[entry].dataset_id != dataset_id) {
        rc = add_entry(j, dataset_id, entry, err);
        if (rc < 0)
            return rc;
        at = 0;
    }
    rc = add_grantee(&j->entry[entry], name, at, err);
    if (rc < 0 && j->entry[entry].count == 0)
        drop_entry(j, entry);
    return rc;
}

static void drop_grantee(struct dx_access_json *j, size_t entry, size_t at)
{
    struct dx_access_entry *e = &j->entry[entry];

    assert(at < e->count);
    free(e->name[at]);
    e->count--;
    memmove(e->name + at, e->name + at + 1, (e->count - at) * sizeof *e->name);
    if (e->count == 0)
        drop_entry(j, entry);
}

int dx_access_json_revoke(struct dx_access_json *j, uint32_t dataset_id, struct dx_span name)
{
    size_t entry;
    size_t at;

    if (!find_entry(j, dataset_id, &entry) || !find_grantee(&j->entry[entry], name, &at))
        return 0;
    drop_grantee(j, entry, at);
    return 1;
}

int dx_access_json_remove(struct dx_access_json *j, struct dx_span name)
{
    int found = 0;
    size_t at;

    if (find_principal(j, name, &at)) {
        free(j->principal[at].name);
        j->principal_count--;
        memmove(&j->principal[at], &j->principal[at + 1],
                (j->principal_count - at) * sizeof *j->principal);
        found = 1;
    }
    for (size_t i = j->entry_count; i-- > 0;)
        if (find_grantee(&j->entry[i], name, &at)) {
            drop_grantee(j, i, at);
            found = 1;
        }
    return found;
}

void dx_access_json_clear(struct dx_access_json *j)
{
    for (size_t i = 0; i < j->entry_count; i++) {
        for (size_t k = 0; k < j->entry[i].count; k++)
            free(j->entry[i].name[k]);
        free(j->entry[i].name);
    }
    for (size_t i = 0; i < j->principal_count; i++)
        free(j->principal[i].name);
    j->entry_count = j->principal_count = 0;
    j->open = true;
}

static void drop_oldest(struct dx_access_json *j)
{
    assert(j->history_count > 0);
    free(j->history[0].by);
    free(j->history[0].did);
    j->history_count--;
    memmove(&j->history[0], &j->history[1], j->history_count * sizeof j->history[0]);
}

void dx_access_json_release(struct dx_access_json *j)
{
    dx_access_json_clear(j);
    free(j->entry);
    free(j->principal);
    for (size_t i = 0; i < j->history_count; i++) {
        free(j->history[i].by);
        free(j->history[i].did);
    }
    *j = (struct dx_access_json)DX_ACCESS_JSON_INIT;
}

static int add_change(struct dx_access_json *j, const struct dx_access_change *c, struct dx_span by,
                      struct dx_span did, struct dx_error *err)
{
    struct dx_access_change *to;

    if (!dx_dataset_text_ok(by, DX_ACCESS_HISTORY_TEXT) ||
        !dx_dataset_text_ok(did, DX_ACCESS_HISTORY_TEXT))
        return dx_fail(err, DX_E_INVALID,
                       "'by' or 'did' of a change is not 1 to %d bytes of UTF-8 without control "
                       "characters",
                       DX_ACCESS_HISTORY_TEXT);
    to = &j->history[j->history_count];
    *to = *c;
    to->by = dx_text_copy(by);
    to->did = dx_text_copy(did);
    j->history_count++;
    return to->by == NULL || to->did == NULL ? dx_no_memory(err, "access table") : DX_OK;
}

int dx_access_json_note(struct dx_access_json *j, int64_t time_us, const char *by, const char *did,
                        struct dx_error *err)
{
    struct dx_access_change c = { .time_us = time_us - time_us % SECOND_US };
    uint64_t now_ms = time_us < 0 ? 0 : (uint64_t)(time_us / 1000);

    if (j->generation >= INT64_MAX)
        return dx_fail(err, DX_E_LIMIT, "no generation is left");
    c.generation = now_ms > j->generation ? now_ms : j->generation + 1;
    if (j->history_count == DX_ACCESS_HISTORY_MAX)
        drop_oldest(j);
    j->generation = c.generation;
    j->updated_us = c.time_us;
    return add_change(j, &c, dx_span_str(by), dx_span_str(did), err);
}

/* ---- beside the manifest ---- */

int dx_access_check_least(uint64_t generation, uint64_t least, const char *root,
                          struct dx_error *err)
{
    if (generation >= least)
        return DX_OK;
    if (generation == 0)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s/" DX_ACCESS_FILE ": not found, but generation %" PRIu64
                       " was in force (" DX_MANIFEST_FILE
                       "): the table was lost, and what it hides would be shown. Restore it; or "
                       "begin one that grants nothing: 'domaindex access init'; or give it up: "
                       "'domaindex access accept --root %s'",
                       root, least, root);
    return dx_fail(err, DX_E_CORRUPT,
                   "%s/" DX_ACCESS_FILE ": generation %" PRIu64 ", but %" PRIu64
                   " was in force (" DX_MANIFEST_FILE
                   "): it is an older copy, and what the newer one hides could be shown. Restore "
                   "the newer one; or take this one: 'domaindex access accept --root %s'",
                   root, generation, least, root);
}

/* ---- writing ---- */

static void write_token(struct dx_json *w, const struct dx_access_token *t)
{
    static const char hex[] = "0123456789abcdef";
    char text[SHA256_HEX];

    for (size_t i = 0; i < sizeof t->sha256; i++) {
        text[2 * i] = hex[t->sha256[i] >> 4];
        text[2 * i + 1] = hex[t->sha256[i] & 15];
    }
    dx_json_object(w);
    dx_json_key(w, "sha256");
    dx_json_text(w, dx_span_of(text, sizeof text));
    dx_json_key(w, "created");
    dx_json_time_us(w, t->created_s * SECOND_US);
    if (t->expires_s != 0) {
        dx_json_key(w, "expires");
        dx_json_time_us(w, t->expires_s * SECOND_US);
    }
    dx_json_end(w);
}

static void write_principal(struct dx_json *w, const struct dx_access_principal *p)
{
    dx_json_object(w);
    dx_json_key(w, "name");
    dx_json_str(w, p->name);
    dx_json_key(w, "all");
    dx_json_bool(w, p->all);
    if (p->cost_per_s > 0)
        dx_json_key_u64(w, "cost_per_s", p->cost_per_s);
    if (p->cost_burst > 0)
        dx_json_key_u64(w, "cost_burst", p->cost_burst);
    dx_json_key(w, "tokens");
    dx_json_array(w);
    for (size_t i = 0; i < p->token_count; i++)
        write_token(w, &p->token[i]);
    dx_json_end(w);
    dx_json_end(w);
}

static void write_entry(struct dx_json *w, const struct dx_access_entry *e)
{
    dx_json_object(w);
    dx_json_key_u64(w, "dataset_id", e->dataset_id);
    dx_json_key(w, "principals");
    dx_json_array(w);
    for (size_t i = 0; i < e->count; i++)
        dx_json_str(w, e->name[i]);
    dx_json_end(w);
    dx_json_end(w);
}

static void write_change(struct dx_json *w, const struct dx_access_change *c)
{
    dx_json_object(w);
    dx_json_key_u64(w, "generation", c->generation);
    dx_json_key(w, "time");
    dx_json_time_us(w, c->time_us);
    dx_json_key(w, "by");
    dx_json_str(w, c->by);
    dx_json_key(w, "did");
    dx_json_str(w, c->did);
    dx_json_end(w);
}

/* A line each, for people and for diff. */
static void begin_line(struct dx_buf *out, struct dx_json *w, size_t i)
{
    dx_buf_str(out, i == 0 ? "\n" : ",\n");
    dx_json_open(w, out);
}

int dx_access_json_write(const struct dx_access_json *j, struct dx_buf *out, struct dx_error *err)
{
    size_t before = out->size;
    struct dx_json w;

    dx_buf_fmt(out, "{\"format\":%d,\"generation\":%" PRIu64 ",\"updated\":", FORMAT,
               j->generation);
    dx_json_open(&w, out);
    dx_json_time_us(&w, j->updated_us);
    dx_buf_str(out, j->open ? ",\"enforced\":false" : "");
    dx_buf_str(out, ",\n\"dataset_acl\":[");
    for (size_t i = 0; i < j->entry_count; i++) {
        begin_line(out, &w, i);
        write_entry(&w, &j->entry[i]);
    }
    dx_buf_str(out, "],\n\"principals\":[");
    for (size_t i = 0; i < j->principal_count; i++) {
        begin_line(out, &w, i);
        write_principal(&w, &j->principal[i]);
    }
    dx_buf_str(out, "],\n\"history\":[");
    for (size_t i = 0; i < j->history_count; i++) {
        begin_line(out, &w, i);
        write_change(&w, &j->history[i]);
    }
    dx_buf_str(out, "]}\n");
    if (out->failed)
        return dx_buf_fail(out, err, DX_ACCESS_FILE);
    if (out->size - before > DX_ACCESS_MAX)
        return dx_fail(err, DX_E_LIMIT, DX_ACCESS_FILE ": %zu bytes, at most %u are read",
                       out->size - before, DX_ACCESS_MAX);
    return DX_OK;
}

/* ---- parsing ---- */

static void read_token(struct dx_json_in *in, struct dx_access_principal *p,
                       const struct dx_json_node *o)
{
    static const char *const names[] = { "sha256", "created", "expires" };
    struct dx_access_token t = { .expires_s = 0 };

    dx_json_in_members(in, o, names, 3, 2);
    dx_json_in_hex(in, o, "sha256", t.sha256, sizeof t.sha256);
    t.created_s = dx_json_in_time(in, o, "created", SECOND_US) / SECOND_US;
    if (dx_json_in_has(o, "expires")) {
        t.expires_s = dx_json_in_time(in, o, "expires", SECOND_US) / SECOND_US;
        if (t.expires_s <= 0)
            dx_json_in_fail(in, DX_E_CORRUPT, "'expires' is not after 1970");
    }
    p->token[p->token_count++] = t;
}

static uint32_t read_cost(struct dx_json_in *in, const struct dx_json_node *o, const char *member)
{
    return dx_json_in_has(o, member)
               ? (uint32_t)dx_json_in_u64(in, o, member, 1, DX_ACCESS_COST_MAX)
               : 0;
}

static void read_principal(struct dx_json_in *in, struct dx_access_json *j,
                           const struct dx_json_node *o)
{
    static const char *const names[] = { "name", "all", "tokens", "cost_per_s", "cost_burst" };
    struct dx_access_principal *p;
    struct dx_span name;
    struct dx_json_list l;

    dx_json_in_members(in, o, names, 5, 3);
    name = dx_span_str(dx_json_in_str(in, o, "name", DX_ACCESS_NAME_MAX));
    if (j->principal_count > 0 &&
        dx_span_compare(name, dx_span_str(j->principal[j->principal_count - 1].name)) <= 0)
        dx_json_in_fail(in, DX_E_CORRUPT, "name '%s' is not behind the one before, by bytes",
                        (const char *)name.data);
    if (in->rc < 0 || !dx_json_in_try(in, dx_access_json_add(j, name, &p, &in->err)))
        return;
    p->all = dx_json_in_bool(in, o, "all");
    p->cost_per_s = read_cost(in, o, "cost_per_s");
    p->cost_burst = read_cost(in, o, "cost_burst");
    dx_json_in_list(in, &l, o, "tokens", DX_ACCESS_TOKENS_MAX);
    while ((o = dx_json_in_next(in, &l)) != NULL)
        read_token(in, p, o);
}

static void read_grantees(struct dx_json_in *in, struct dx_access_entry *e,
                          const struct dx_json_node *o)
{
    const struct dx_json_node *item;
    struct dx_json_list l;

    dx_json_in_list(in, &l, o, "principals", DX_ACCESS_PRINCIPALS_MAX);
    while ((item = dx_json_in_next(in, &l)) != NULL) {
        struct dx_span name = dx_span_str(dx_json_in_entry_str(in, item, DX_ACCESS_NAME_MAX));

        if (!grantee_ok(name))
            dx_json_in_fail(in, DX_E_CORRUPT, "not a principal's name");
        if (l.at > 0 && dx_span_compare(name, dx_span_str(e->name[l.at - 1])) <= 0)
            dx_json_in_fail(in, DX_E_CORRUPT, "'%s' is not behind the one before, by bytes",
                            (const char *)name.data);
        if (in->rc == DX_OK)
            (void)dx_json_in_try(in, add_grantee(e, name, l.at, &in->err));
    }
    if (l.count == 0)
        dx_json_in_fail(in, DX_E_CORRUPT, "'principals' is empty");
}

static void read_entry(struct dx_json_in *in, struct dx_access_json *j,
                       const struct dx_json_node *o)
{
    static const char *const names[] = { "dataset_id", "principals" };
    uint32_t last = j->entry_count == 0 ? 0 : j->entry[j->entry_count - 1].dataset_id;
    uint32_t id;

    dx_json_in_members(in, o, names, 2, 2);
    id = (uint32_t)dx_json_in_u64(in, o, "dataset_id", 1, DX_DATASET_ID_MAX);
    if (id <= last)
        dx_json_in_fail(in, DX_E_CORRUPT, "dataset_id %" PRIu32 " is not above the one before", id);
    if (in->rc == DX_OK && dx_json_in_try(in, add_entry(j, id, j->entry_count, &in->err)))
        read_grantees(in, &j->entry[j->entry_count - 1], o);
}

static void read_change(struct dx_json_in *in, struct dx_access_json *j,
                        const struct dx_json_node *o)
{
    static const char *const names[] = { "generation", "time", "by", "did" };
    uint64_t least = j->history_count == 0 ? 0 : j->history[j->history_count - 1].generation + 1;
    struct dx_access_change c = { .generation = 0 };
    struct dx_span by;
    struct dx_span did;

    dx_json_in_members(in, o, names, 4, 4);
    /* Above the one before, and up to the table's. */
    c.generation = dx_json_in_u64(in, o, "generation", least, j->generation);
    c.time_us = dx_json_in_time(in, o, "time", SECOND_US);
    by = dx_span_str(dx_json_in_str(in, o, "by", DX_ACCESS_MAX));
    did = dx_span_str(dx_json_in_str(in, o, "did", DX_ACCESS_MAX));
    if (in->rc == DX_OK)
        (void)dx_json_in_try(in, add_change(j, &c, by, did, &in->err));
}

static void read_list(struct dx_json_in *in, struct dx_access_json *j,
                      const struct dx_json_node *root, const char *member, size_t count_max,
                      void (*read)(struct dx_json_in *in, struct dx_access_json *j,
                                   const struct dx_json_node *o))
{
    const struct dx_json_node *o;
    struct dx_json_list l;

    dx_json_in_list(in, &l, root, member, count_max);
    while ((o = dx_json_in_next(in, &l)) != NULL)
        read(in, j, o);
}

static void read_table(struct dx_json_in *in, struct dx_access_json *j,
                       const struct dx_json_node *root)
{
    static const char *const names[] = { "format",     "generation", "updated", "dataset_acl",
                                         "principals", "enforced",   "history" };

    /* Before all else: a table of another format has other members. */
    if (in->rc == DX_OK && (!dx_json_in_has(root, "format") ||
                            dx_json_in_u64(in, root, "format", 0, INT64_MAX) != FORMAT))
        dx_json_in_fail(in, DX_E_UNSUPPORTED, "not an access table of format %d", FORMAT);
    dx_json_in_members(in, root, names, sizeof names / sizeof *names, 5);
    j->generation = dx_json_in_u64(in, root, "generation", 1, INT64_MAX);
    j->updated_us = dx_json_in_time(in, root, "updated", SECOND_US);
    j->open = dx_json_in_has(root, "enforced") && !dx_json_in_bool(in, root, "enforced");
    read_list(in, j, root, "dataset_acl", SIZE_MAX, read_entry);
    read_list(in, j, root, "principals", SIZE_MAX, read_principal);
    if (dx_json_in_has(root, "history"))
        read_list(in, j, root, "history", DX_ACCESS_HISTORY_MAX, read_change);
    if (j->open && j->entry_count + j->principal_count > 0)
        dx_json_in_fail(in, DX_E_CORRUPT, "not enforced, but with principals or grants");
}

int dx_access_json_parse(struct dx_access_json *j, struct dx_span text, const char *name,
                         struct dx_error *err)
{
    struct dx_json_in in;
    const struct dx_json_node *root = dx_json_in_open(&in, text, DX_ACCESS_MAX, name);

    *j = (struct dx_access_json)DX_ACCESS_JSON_INIT;
    read_table(&in, j, root);
    if (in.rc < 0)
        dx_access_json_release(j);
    return dx_json_in_close(&in, err);
}
