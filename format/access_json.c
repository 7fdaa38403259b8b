/* SPDX-License-Identifier: Apache-2.0 */
#include "format/access_json.h"

#include <jansson.h>

#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/civil_time.h"
#include "base/json_out.h"
#include "format/registry_json.h"

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
    return dx_fail(err, DX_E_INVALID,
                   "'%.*s' is no principal's name: 1 to %d letters, digits and . _ : @ + - and not "
                   "'" DX_ACCESS_ANONYMOUS "'",
                   (int)(name.size < 140 ? name.size : 140), (const char *)name.data,
                   DX_ACCESS_NAME_MAX);
}

static int no_memory(struct dx_error *err)
{
    return dx_fail(err, DX_E_NOMEM, "access table: out of memory");
}

static char *copy_of(struct dx_span s)
{
    char *to = malloc(s.size + 1);

    if (to == NULL)
        return NULL;
    if (s.size > 0)
        memcpy(to, s.data, s.size);
    to[s.size] = '\0';
    return to;
}

/* ---- finding ---- */

/* Where the thing stands, or where it belongs: compare(context, i) is what thing i is to the one sought. */
static bool find(size_t count, int (*compare)(const void *context, size_t i), const void *context,
                 size_t *at)
{
    size_t lo = 0;
    size_t hi = count;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = compare(context, mid);

        if (c == 0) {
            *at = mid;
            return true;
        }
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    *at = lo;
    return false;
}

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

    return find(j->principal_count, compare_principal, &s, at);
}

static bool find_entry(const struct dx_access_json *j, uint32_t dataset_id, size_t *at)
{
    const struct sought s = { .j = j, .dataset_id = dataset_id };

    return find(j->entry_count, compare_entry, &s, at);
}

static bool find_grantee(const struct dx_access_entry *e, struct dx_span name, size_t *at)
{
    const struct sought s = { .entry = e, .name = name };

    return find(e->count, compare_grantee, &s, at);
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
        return no_memory(err);
    j->principal = list;
    copy = copy_of(name);
    if (copy == NULL)
        return no_memory(err);
    *p = &j->principal[at];
    memmove(*p + 1, *p, (j->principal_count - at) * sizeof **p);
    **p = (struct dx_access_principal){ .name = copy };
    j->principal_count++;
    return 1;
}

static int add_entry(struct dx_access_json *j, uint32_t dataset_id, size_t at, struct dx_error *err)
{
    struct dx_access_entry *list;

    if (j->entry_count >= DX_ACCESS_ENTRIES_MAX)
        return dx_fail(err, DX_E_LIMIT, "%u datasets are named, which is the most",
                       DX_ACCESS_ENTRIES_MAX);
    list = dx_array_room(j->entry, j->entry_count, &j->entry_room, sizeof *list);
    if (list == NULL)
        return no_memory(err);
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
    char *copy = copy_of(name);

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
        return no_memory(err);
    memmove(e->name + at + 1, e->name + at, (e->count - at) * sizeof *e->name);
    e->name[at] = copy;
    e->count++;
    return 1;
}

static void drop_entry(struct dx_access_json *j, size_t at)
{
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
    to->by = copy_of(by);
    to->did = copy_of(did);
    j->history_count++;
    return to->by == NULL || to->did == NULL ? no_memory(err) : DX_OK;
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

static struct dx_span json_span(const json_t *v)
{
    return dx_span_of(json_string_value(v), json_string_length(v));
}

static bool read_number(const json_t *v, uint64_t max, uint64_t *out)
{
    if (!json_is_integer(v) || json_integer_value(v) < 0 || (uint64_t)json_integer_value(v) > max)
        return false;
    *out = (uint64_t)json_integer_value(v);
    return true;
}

/* As the writer prints it, of a whole second. */
static bool read_time(const json_t *v, int64_t *us)
{
    char text[DX_CIVIL_TEXT];

    return json_is_string(v) && dx_civil_parse(json_span(v), us) && *us % SECOND_US == 0 &&
           dx_span_equal(json_span(v), dx_span_of(text, dx_civil_text_us(*us, text)));
}

/* An object of these members and no others; the first `must` of them have to be there. */
static int members(json_t *o, const char *const *names, size_t count, size_t must,
                   struct dx_error *err)
{
    const char *key;
    json_t *value;

    if (!json_is_object(o))
        return dx_fail(err, DX_E_CORRUPT, "is no object");
    for (size_t i = 0; i < must; i++)
        if (json_object_get(o, names[i]) == NULL)
            return dx_fail(err, DX_E_CORRUPT, "'%s' is missing", names[i]);
    json_object_foreach(o, key, value)
    {
        size_t i = 0;

        while (i < count && strcmp(key, names[i]) != 0)
            i++;
        if (i == count)
            return dx_fail(err, DX_E_CORRUPT, "'%.60s' is a member that is not known", key);
    }
    return DX_OK;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_sha256(const json_t *v, uint8_t sha256[32])
{
    const char *text = json_string_value(v);

    if (text == NULL || json_string_length(v) != SHA256_HEX)
        return false;
    for (size_t i = 0; i < 32; i++) {
        int high = hex_digit(text[2 * i]);
        int low = hex_digit(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        sha256[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static int read_token(struct dx_access_principal *p, json_t *o, struct dx_error *err)
{
    static const char *const names[] = { "sha256", "created", "expires" };
    struct dx_access_token t = { .expires_s = 0 };
    const json_t *expires = json_object_get(o, "expires");
    int64_t created_us = 0;
    int64_t expires_us = 0;
    int rc = members(o, names, 3, 2, err);

    if (rc < 0)
        return rc;
    if (!read_sha256(json_object_get(o, "sha256"), t.sha256))
        return dx_fail(err, DX_E_CORRUPT, "sha256 is not %d lower-case hex digits", SHA256_HEX);
    if (!read_time(json_object_get(o, "created"), &created_us))
        return dx_fail(err, DX_E_CORRUPT, "created is no time like 2026-11-22T04:00:00Z");
    if (expires != NULL && (!read_time(expires, &expires_us) || expires_us <= 0))
        return dx_fail(err, DX_E_CORRUPT, "expires is no time like 2026-11-22T04:00:00Z");
    t.created_s = created_us / SECOND_US;
    t.expires_s = expires_us / SECOND_US;
    p->token[p->token_count++] = t;
    return DX_OK;
}

static int read_tokens(struct dx_access_principal *p, const json_t *list, struct dx_error *err)
{
    size_t count = json_array_size(list);

    if (!json_is_array(list))
        return dx_fail(err, DX_E_CORRUPT, "tokens is no array");
    if (count > DX_ACCESS_TOKENS_MAX)
        return dx_fail(err, DX_E_LIMIT, "%zu tokens, at most %d", count, DX_ACCESS_TOKENS_MAX);
    for (size_t i = 0; i < count; i++)
        if (read_token(p, json_array_get(list, i), err) < 0)
            return dx_fail_in(err, "token %zu of %zu", i + 1, count);
    return DX_OK;
}

static int read_cost(const json_t *o, const char *key, uint32_t *out, struct dx_error *err)
{
    const json_t *v = json_object_get(o, key);
    uint64_t cost = 0;

    if (v != NULL && (!read_number(v, DX_ACCESS_COST_MAX, &cost) || cost == 0))
        return dx_fail(err, DX_E_CORRUPT, "%s is no whole number of 1..%d", key,
                       DX_ACCESS_COST_MAX);
    *out = (uint32_t)cost;
    return DX_OK;
}

static int read_principal(struct dx_access_json *j, json_t *o, struct dx_error *err)
{
    static const char *const names[] = { "name", "all", "tokens", "cost_per_s", "cost_burst" };
    const json_t *name = json_object_get(o, "name");
    const json_t *all = json_object_get(o, "all");
    struct dx_access_principal *p;
    int rc = members(o, names, 5, 3, err);

    if (rc < 0)
        return rc;
    if (!json_is_string(name) || !json_is_boolean(all))
        return dx_fail(err, DX_E_CORRUPT, "name is no text, or all is neither true nor false");
    if (j->principal_count > 0 &&
        dx_span_compare(json_span(name), dx_span_str(j->principal[j->principal_count - 1].name)) <=
            0)
        return dx_fail(err, DX_E_CORRUPT, "name '%.140s' is not behind the one before, by bytes",
                       json_string_value(name));
    rc = dx_access_json_add(j, json_span(name), &p, err);
    if (rc < 0)
        return rc;
    p->all = json_is_true(all);
    rc = read_cost(o, "cost_per_s", &p->cost_per_s, err);
    if (rc == DX_OK)
        rc = read_cost(o, "cost_burst", &p->cost_burst, err);
    return rc < 0 ? rc : read_tokens(p, json_object_get(o, "tokens"), err);
}

static int read_grantees(struct dx_access_entry *e, const json_t *list, struct dx_error *err)
{
    size_t count = json_array_size(list);

    if (!json_is_array(list) || count == 0 || count > DX_ACCESS_PRINCIPALS_MAX)
        return dx_fail(err, DX_E_CORRUPT, "principals is no array of 1 to %d names",
                       DX_ACCESS_PRINCIPALS_MAX);
    for (size_t i = 0; i < count; i++) {
        const json_t *name = json_array_get(list, i);
        int rc;

        if (!json_is_string(name) || !grantee_ok(json_span(name)))
            return dx_fail(err, DX_E_CORRUPT, "principal %zu of %zu is no name", i + 1, count);
        if (i > 0 && dx_span_compare(json_span(name), dx_span_str(e->name[i - 1])) <= 0)
            return dx_fail(err, DX_E_CORRUPT,
                           "principal '%.140s' is not behind the one before, by bytes",
                           json_string_value(name));
        rc = add_grantee(e, json_span(name), i, err);
        if (rc < 0)
            return rc;
    }
    return DX_OK;
}

static int read_entry(struct dx_access_json *j, json_t *o, struct dx_error *err)
{
    static const char *const names[] = { "dataset_id", "principals" };
    uint32_t last = j->entry_count == 0 ? 0 : j->entry[j->entry_count - 1].dataset_id;
    uint64_t id = 0;
    int rc = members(o, names, 2, 2, err);

    if (rc < 0)
        return rc;
    if (!read_number(json_object_get(o, "dataset_id"), DX_DATASET_ID_MAX, &id) || id == 0)
        return dx_fail(err, DX_E_CORRUPT, "dataset_id is not in 1..%u", DX_DATASET_ID_MAX);
    if (id <= last)
        return dx_fail(err, DX_E_CORRUPT, "dataset_id %" PRIu64 " is not above the one before", id);
    rc = add_entry(j, (uint32_t)id, j->entry_count, err);
    return rc < 0 ? rc
                  : read_grantees(&j->entry[j->entry_count - 1], json_object_get(o, "principals"),
                                  err);
}

static int read_change(struct dx_access_json *j, json_t *o, struct dx_error *err)
{
    static const char *const names[] = { "generation", "time", "by", "did" };
    const struct dx_access_change *last = j->history_count == 0 ? NULL
                                                                : &j->history[j->history_count - 1];
    const json_t *by = json_object_get(o, "by");
    const json_t *did = json_object_get(o, "did");
    struct dx_access_change c = { .generation = 0 };
    int rc = members(o, names, 4, 4, err);

    if (rc < 0)
        return rc;
    if (j->history_count == DX_ACCESS_HISTORY_MAX)
        return dx_fail(err, DX_E_LIMIT, "over %d changes", DX_ACCESS_HISTORY_MAX);
    if (!read_number(json_object_get(o, "generation"), j->generation, &c.generation) ||
        (last != NULL && c.generation <= last->generation))
        return dx_fail(err, DX_E_CORRUPT,
                       "generation is not above the one before and up to the table's");
    if (!read_time(json_object_get(o, "time"), &c.time_us) || !json_is_string(by) ||
        !json_is_string(did))
        return dx_fail(err, DX_E_CORRUPT,
                       "time is no time like 2026-11-22T04:00:00Z, or by or did no text");
    return add_change(j, &c, json_span(by), json_span(did), err);
}

static int read_list(struct dx_access_json *j, const json_t *root, const char *key,
                     int (*read)(struct dx_access_json *j, json_t *o, struct dx_error *err),
                     struct dx_error *err)
{
    const json_t *list = json_object_get(root, key);
    size_t count = json_array_size(list);

    if (list != NULL && !json_is_array(list))
        return dx_fail(err, DX_E_CORRUPT, "'%s' is no array", key);
    for (size_t i = 0; i < count; i++)
        if (read(j, json_array_get(list, i), err) < 0)
            return dx_fail_in(err, "%s: %zu of %zu", key, i + 1, count);
    return DX_OK;
}

static int read_table(struct dx_access_json *j, json_t *root, struct dx_error *err)
{
    static const char *const names[] = { "format",     "generation", "updated", "dataset_acl",
                                         "principals", "enforced",   "history" };
    const json_t *enforced = json_object_get(root, "enforced");
    uint64_t format = 0;
    int rc = DX_OK;

    /* Before all else: a table of another format has other members. */
    if (!read_number(json_object_get(root, "format"), FORMAT, &format) || format != FORMAT)
        return dx_fail(err, DX_E_UNSUPPORTED, "is no access table of format %d", FORMAT);
    rc = members(root, names, sizeof names / sizeof *names, 5, err);
    if (rc < 0)
        return rc;
    if (!read_number(json_object_get(root, "generation"), INT64_MAX, &j->generation) ||
        j->generation == 0)
        return dx_fail(err, DX_E_CORRUPT, "generation is no whole number from 1 on");
    if (!read_time(json_object_get(root, "updated"), &j->updated_us))
        return dx_fail(err, DX_E_CORRUPT, "updated is no time like 2026-11-22T04:00:00Z");
    if (enforced != NULL && !json_is_boolean(enforced))
        return dx_fail(err, DX_E_CORRUPT, "enforced is neither true nor false");
    j->open = json_is_false(enforced);
    rc = read_list(j, root, "dataset_acl", read_entry, err);
    if (rc == DX_OK)
        rc = read_list(j, root, "principals", read_principal, err);
    if (rc == DX_OK)
        rc = read_list(j, root, "history", read_change, err);
    if (rc == DX_OK && j->open && j->entry_count + j->principal_count > 0)
        rc = dx_fail(err, DX_E_CORRUPT, "is not enforced, but has principals or grants");
    return rc;
}

int dx_access_json_parse(struct dx_access_json *j, struct dx_span text, const char *name,
                         struct dx_error *err)
{
    struct dx_error local = DX_ERROR_INIT; /* so that there is a text to put a context before */
    json_error_t where;
    json_t *root;
    int rc;

    *j = (struct dx_access_json)DX_ACCESS_JSON_INIT;
    if (text.size > DX_ACCESS_MAX)
        return dx_fail(err, DX_E_LIMIT, "%s: %zu bytes, at most %u are read", name, text.size,
                       DX_ACCESS_MAX);
    root = json_loadb((const char *)text.data, text.size, JSON_REJECT_DUPLICATES, &where);
    if (root == NULL)
        return dx_fail(err, DX_E_CORRUPT, "%s: line %d, column %d: %s", name, where.line,
                       where.column, where.text);
    rc = read_table(j, root, &local);
    json_decref(root);
    if (rc == DX_OK)
        return rc;
    dx_access_json_release(j);
    (void)dx_fail_in(&local, "%s", name);
    if (err != NULL)
        *err = local;
    return rc;
}
