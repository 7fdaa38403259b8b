/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_in.h"

#include "base/civil_time.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define PATH_TEXT 256

/* The lists that are being read: "versions[2].files.pages.dxp", with ": " behind it, or "". */
static void write_path(const struct dx_json_in *in, char out[PATH_TEXT])
{
    size_t at = 0;

    out[0] = '\0';
    for (unsigned i = 0; i < in->depth && at < PATH_TEXT; i++) {
        const struct dx_json_list *l = in->list[i];
        const char *end = i + 1 == in->depth ? ": " : ".";
        int n = l->key == NULL
                    ? snprintf(out + at, PATH_TEXT - at, "%s[%zu]%s", l->member, l->at, end)
                    : snprintf(out + at, PATH_TEXT - at, "%s.%.60s%s", l->member, l->key, end);

        at += n < 0 ? 0 : (size_t)n;
    }
}

void dx_json_in_fail(struct dx_json_in *in, enum dx_code code, const char *fmt, ...)
{
    char path[PATH_TEXT];
    char text[sizeof in->err.text];
    va_list ap;

    if (in->rc < 0)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    write_path(in, path);
    in->rc = dx_fail(&in->err, code, "%s: %s%s", in->name, path, text);
}

bool dx_json_in_try(struct dx_json_in *in, int rc)
{
    struct dx_error why = in->err;

    if (in->rc < 0)
        return false;
    if (rc < 0)
        dx_json_in_fail(in, (enum dx_code)rc, "%s", why.text);
    return rc >= 0;
}

const struct dx_json_node *dx_json_in_open(struct dx_json_in *in, struct dx_span text,
                                           size_t size_max, const char *name)
{
    *in = (struct dx_json_in){ .name = name };
    if (text.size > size_max)
        dx_json_in_fail(in, DX_E_LIMIT, "%zu bytes, at most %zu are read", text.size, size_max);
    else if (dx_json_in_try(in, dx_json_tree_parse(&in->tree, text, &in->err)) &&
             in->tree.node->kind != DX_JSON_OBJECT)
        dx_json_in_fail(in, DX_E_CORRUPT, "not an object");
    return in->rc < 0 ? NULL : in->tree.node;
}

int dx_json_in_close(struct dx_json_in *in, struct dx_error *err)
{
    dx_json_tree_release(&in->tree);
    if (in->rc < 0 && err != NULL)
        *err = in->err;
    return in->rc;
}

/* ---- members ---- */

static bool is_kind(const struct dx_json_node *v, enum dx_json_kind kind)
{
    return v != NULL && v->kind == kind;
}

static const struct dx_json_node *member_of(const struct dx_json_node *o, const char *name)
{
    size_t size = strlen(name);
    const struct dx_json_node *key;

    if (!is_kind(o, DX_JSON_OBJECT))
        return NULL;
    key = dx_json_first(o);
    for (uint32_t i = 0; i < o->size; i++, key = dx_json_after(key + 1))
        if (key->size == size && key->text[0] == name[0] && memcmp(key->text, name, size) == 0)
            return key + 1;
    return NULL;
}

static bool is_named(const char *key, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(key, names[i]) == 0)
            return true;
    return false;
}

void dx_json_in_members(struct dx_json_in *in, const struct dx_json_node *o,
                        const char *const *names, size_t count, size_t must)
{
    const struct dx_json_node *key;

    if (!is_kind(o, DX_JSON_OBJECT))
        dx_json_in_fail(in, DX_E_CORRUPT, "not an object");
    for (size_t i = 0; i < must && in->rc == DX_OK; i++)
        if (!dx_json_in_has(o, names[i]))
            dx_json_in_fail(in, DX_E_CORRUPT, "'%s' is missing", names[i]);
    if (in->rc < 0)
        return;
    key = dx_json_first(o);
    for (uint32_t i = 0; i < o->size && in->rc == DX_OK; i++, key = dx_json_after(key + 1))
        if (!is_named(key->text, names, count))
            dx_json_in_fail(in, DX_E_CORRUPT, "'%.60s' is a member that is not known", key->text);
}

size_t dx_json_in_count(const struct dx_json_node *o)
{
    return is_kind(o, DX_JSON_OBJECT) ? o->size : 0;
}

bool dx_json_in_has(const struct dx_json_node *o, const char *member)
{
    return member_of(o, member) != NULL;
}

bool dx_json_in_null(const struct dx_json_node *o, const char *member)
{
    return is_kind(member_of(o, member), DX_JSON_NULL);
}

/* ---- values; what: the member in quotes and a blank, or nothing for an entry ---- */

static uint64_t number_of(struct dx_json_in *in, const struct dx_json_node *v, const char *member,
                          uint64_t min, uint64_t max)
{
    uint64_t n = is_kind(v, DX_JSON_WHOLE) && v->number >= 0 ? (uint64_t)v->number : UINT64_MAX;

    if (in->rc == DX_OK && n >= min && n <= max && n <= INT64_MAX)
        return n;
    if (member != NULL)
        dx_json_in_fail(in, DX_E_CORRUPT, "'%s' is not a whole number of %" PRIu64 "..%" PRIu64,
                        member, min, max);
    else
        dx_json_in_fail(in, DX_E_CORRUPT, "not a whole number of %" PRIu64 "..%" PRIu64, min, max);
    return 0;
}

static const char *text_of(struct dx_json_in *in, const struct dx_json_node *v, const char *member,
                           size_t size_max)
{
    if (in->rc == DX_OK && is_kind(v, DX_JSON_TEXT) && v->size <= size_max)
        return v->text;
    if (member != NULL)
        dx_json_in_fail(in, DX_E_CORRUPT, "'%s' is not a text of at most %zu bytes", member,
                        size_max);
    else
        dx_json_in_fail(in, DX_E_CORRUPT, "not a text of at most %zu bytes", size_max);
    return "";
}

uint64_t dx_json_in_u64(struct dx_json_in *in, const struct dx_json_node *o, const char *member,
                        uint64_t min, uint64_t max)
{
    return number_of(in, member_of(o, member), member, min, max);
}

uint64_t dx_json_in_entry_u64(struct dx_json_in *in, const struct dx_json_node *entry, uint64_t min,
                              uint64_t max)
{
    return number_of(in, entry, NULL, min, max);
}

const char *dx_json_in_str(struct dx_json_in *in, const struct dx_json_node *o, const char *member,
                           size_t size_max)
{
    return text_of(in, member_of(o, member), member, size_max);
}

const char *dx_json_in_entry_str(struct dx_json_in *in, const struct dx_json_node *entry,
                                 size_t size_max)
{
    return text_of(in, entry, NULL, size_max);
}

bool dx_json_in_bool(struct dx_json_in *in, const struct dx_json_node *o, const char *member)
{
    const struct dx_json_node *v = member_of(o, member);

    if (!is_kind(v, DX_JSON_TRUE) && !is_kind(v, DX_JSON_FALSE))
        dx_json_in_fail(in, DX_E_CORRUPT, "'%s' is neither true nor false", member);
    return in->rc == DX_OK && v->kind == DX_JSON_TRUE;
}

int64_t dx_json_in_time(struct dx_json_in *in, const struct dx_json_node *o, const char *member,
                        int64_t unit_us)
{
    const struct dx_json_node *v = member_of(o, member);
    bool is_text = is_kind(v, DX_JSON_TEXT);
    struct dx_span text = is_text ? dx_span_of(v->text, v->size) : (struct dx_span){ NULL, 0 };
    char again[DX_CIVIL_TEXT];
    int64_t us = 0;

    if (!is_text || !dx_civil_parse(text, &us) || us % unit_us != 0 ||
        !dx_span_equal(text, dx_span_of(again, dx_civil_text_us(us, again))))
        dx_json_in_fail(in, DX_E_CORRUPT, "'%s' is not a time like 2026-11-21T10:30:00Z", member);
    return in->rc == DX_OK ? us : 0;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void dx_json_in_hex(struct dx_json_in *in, const struct dx_json_node *o, const char *member,
                    uint8_t *to, size_t size)
{
    const struct dx_json_node *v = member_of(o, member);
    bool ok = is_kind(v, DX_JSON_TEXT) && v->size == 2 * size;

    for (size_t i = 0; i < size && ok; i++) {
        int high = hex_digit(v->text[2 * i]);
        int low = hex_digit(v->text[2 * i + 1]);

        ok = high >= 0 && low >= 0;
        to[i] = ok ? (uint8_t)((unsigned)high << 4 | (unsigned)low) : 0;
    }
    if (!ok)
        dx_json_in_fail(in, DX_E_CORRUPT, "'%s' is not %zu lower-case hex digits", member,
                        2 * size);
}

/* ---- lists ---- */

static void begin(struct dx_json_in *in, struct dx_json_list *l, const char *member,
                  const struct dx_json_node *of, const char *kind, size_t count_max)
{
    *l = (struct dx_json_list){ .member = member, .of = of, .at = SIZE_MAX };
    if (of == NULL)
        dx_json_in_fail(in, DX_E_CORRUPT, "'%s' is not %s", member, kind);
    else
        l->count = of->size;
    if (l->count > count_max)
        dx_json_in_fail(in, DX_E_LIMIT, "'%s' has %zu entries, at most %zu are read", member,
                        l->count, count_max);
    if (in->rc < 0)
        return;
    assert(in->depth < DX_JSON_IN_DEPTH);
    in->list[in->depth++] = l;
}

void dx_json_in_list(struct dx_json_in *in, struct dx_json_list *l, const struct dx_json_node *o,
                     const char *member, size_t count_max)
{
    const struct dx_json_node *v = member_of(o, member);

    begin(in, l, member, is_kind(v, DX_JSON_ARRAY) ? v : NULL, "an array", count_max);
}

void dx_json_in_map(struct dx_json_in *in, struct dx_json_list *l, const struct dx_json_node *o,
                    const char *member, size_t count_max)
{
    const struct dx_json_node *v = member_of(o, member);

    begin(in, l, member, is_kind(v, DX_JSON_OBJECT) ? v : NULL, "an object", count_max);
}

const struct dx_json_node *dx_json_in_next(struct dx_json_in *in, struct dx_json_list *l)
{
    const struct dx_json_node *value;

    if (in->rc < 0)
        return NULL;
    assert(in->depth > 0 && in->list[in->depth - 1] == l);
    l->at++;
    if (l->at == l->count) {
        in->depth--;
        return NULL;
    }
    value = l->at == 0 ? dx_json_first(l->of) : l->next;
    if (l->of->kind == DX_JSON_OBJECT) {
        l->key = value->text;
        value++;
    }
    l->next = dx_json_after(value);
    return value;
}
