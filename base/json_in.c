/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_in.h"

#include "base/civil_time.h"

#include <jansson.h>

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define PATH_TEXT 256

/* jansson takes a failed allocation for bad syntax, or for a shorter string, so its allocator notes
 * failures. */
static _Thread_local bool ran_out;
static pthread_once_t allocator_once = PTHREAD_ONCE_INIT;

static void *allocate(size_t size)
{
    void *p = malloc(size);

    if (p == NULL)
        ran_out = true;
    return p;
}

static void set_allocator(void)
{
    json_set_alloc_funcs(allocate, free);
}

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

const struct json_t *dx_json_in_open(struct dx_json_in *in, struct dx_span text, size_t size_max,
                                     const char *name)
{
    json_error_t where;

    *in = (struct dx_json_in){ .name = name };
    if (text.size > size_max) {
        dx_json_in_fail(in, DX_E_LIMIT, "%zu bytes, at most %zu are read", text.size, size_max);
        return NULL;
    }
    (void)pthread_once(&allocator_once, set_allocator);
    ran_out = false;
    in->root = json_loadb((const char *)text.data, text.size, JSON_REJECT_DUPLICATES, &where);
    if (ran_out)
        dx_json_in_fail(in, DX_E_NOMEM, "%zu bytes: out of memory", text.size);
    else if (in->root == NULL)
        dx_json_in_fail(in, DX_E_CORRUPT, "line %d, column %d: %s", where.line, where.column,
                        where.text);
    else if (!json_is_object(in->root))
        dx_json_in_fail(in, DX_E_CORRUPT, "not an object");
    return in->rc < 0 ? NULL : in->root;
}

int dx_json_in_close(struct dx_json_in *in, struct dx_error *err)
{
    json_decref(in->root);
    in->root = NULL;
    if (in->rc < 0 && err != NULL)
        *err = in->err;
    return in->rc;
}

/* ---- members ---- */

static bool is_named(const char *key, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(key, names[i]) == 0)
            return true;
    return false;
}

void dx_json_in_members(struct dx_json_in *in, const struct json_t *o, const char *const *names,
                        size_t count, size_t must)
{
    if (!json_is_object(o))
        dx_json_in_fail(in, DX_E_CORRUPT, "not an object");
    for (size_t i = 0; i < must && in->rc == DX_OK; i++)
        if (!dx_json_in_has(o, names[i]))
            dx_json_in_fail(in, DX_E_CORRUPT, "'%s' is missing", names[i]);
    for (void *at = json_object_iter((json_t *)(uintptr_t)o); at != NULL && in->rc == DX_OK;
         at = json_object_iter_next((json_t *)(uintptr_t)o, at))
        if (!is_named(json_object_iter_key(at), names, count))
            dx_json_in_fail(in, DX_E_CORRUPT, "'%.60s' is a member that is not known",
                            json_object_iter_key(at));
}

size_t dx_json_in_count(const struct json_t *o)
{
    return json_object_size(o);
}

bool dx_json_in_has(const struct json_t *o, const char *member)
{
    return json_object_get(o, member) != NULL;
}

bool dx_json_in_null(const struct json_t *o, const char *member)
{
    return json_is_null(json_object_get(o, member));
}

/* ---- values; what: the member in quotes and a blank, or nothing for an entry ---- */

static uint64_t number_of(struct dx_json_in *in, const json_t *v, const char *member, uint64_t min,
                          uint64_t max)
{
    uint64_t n = json_is_integer(v) && json_integer_value(v) >= 0 ? (uint64_t)json_integer_value(v)
                                                                  : UINT64_MAX;

    if (in->rc == DX_OK && n >= min && n <= max && n <= INT64_MAX)
        return n;
    if (member != NULL)
        dx_json_in_fail(in, DX_E_CORRUPT, "'%s' is not a whole number of %" PRIu64 "..%" PRIu64,
                        member, min, max);
    else
        dx_json_in_fail(in, DX_E_CORRUPT, "not a whole number of %" PRIu64 "..%" PRIu64, min, max);
    return 0;
}

static const char *text_of(struct dx_json_in *in, const json_t *v, const char *member,
                           size_t size_max)
{
    if (in->rc == DX_OK && json_is_string(v) && json_string_length(v) <= size_max)
        return json_string_value(v);
    if (member != NULL)
        dx_json_in_fail(in, DX_E_CORRUPT, "'%s' is not a text of at most %zu bytes", member,
                        size_max);
    else
        dx_json_in_fail(in, DX_E_CORRUPT, "not a text of at most %zu bytes", size_max);
    return "";
}

uint64_t dx_json_in_u64(struct dx_json_in *in, const struct json_t *o, const char *member,
                        uint64_t min, uint64_t max)
{
    return number_of(in, json_object_get(o, member), member, min, max);
}

uint64_t dx_json_in_entry_u64(struct dx_json_in *in, const struct json_t *entry, uint64_t min,
                              uint64_t max)
{
    return number_of(in, entry, NULL, min, max);
}

const char *dx_json_in_str(struct dx_json_in *in, const struct json_t *o, const char *member,
                           size_t size_max)
{
    return text_of(in, json_object_get(o, member), member, size_max);
}

const char *dx_json_in_entry_str(struct dx_json_in *in, const struct json_t *entry, size_t size_max)
{
    return text_of(in, entry, NULL, size_max);
}

bool dx_json_in_bool(struct dx_json_in *in, const struct json_t *o, const char *member)
{
    const json_t *v = json_object_get(o, member);

    if (!json_is_boolean(v))
        dx_json_in_fail(in, DX_E_CORRUPT, "'%s' is neither true nor false", member);
    return in->rc == DX_OK && json_is_true(v);
}

int64_t dx_json_in_time(struct dx_json_in *in, const struct json_t *o, const char *member,
                        int64_t unit_us)
{
    const json_t *v = json_object_get(o, member);
    struct dx_span text = dx_span_of(json_string_value(v), json_string_length(v));
    char again[DX_CIVIL_TEXT];
    int64_t us = 0;

    if (!json_is_string(v) || !dx_civil_parse(text, &us) || us % unit_us != 0 ||
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

void dx_json_in_hex(struct dx_json_in *in, const struct json_t *o, const char *member, uint8_t *to,
                    size_t size)
{
    const json_t *v = json_object_get(o, member);
    const char *text = json_string_value(v);
    bool ok = text != NULL && json_string_length(v) == 2 * size;

    for (size_t i = 0; i < size && ok; i++) {
        int high = hex_digit(text[2 * i]);
        int low = hex_digit(text[2 * i + 1]);

        ok = high >= 0 && low >= 0;
        to[i] = ok ? (uint8_t)((unsigned)high << 4 | (unsigned)low) : 0;
    }
    if (!ok)
        dx_json_in_fail(in, DX_E_CORRUPT, "'%s' is not %zu lower-case hex digits", member,
                        2 * size);
}

/* ---- lists ---- */

static void begin(struct dx_json_in *in, struct dx_json_list *l, const char *member,
                  const json_t *of, const char *kind, size_t count_max)
{
    *l = (struct dx_json_list){ .member = member, .of = of, .at = SIZE_MAX };
    if (of == NULL)
        dx_json_in_fail(in, DX_E_CORRUPT, "'%s' is not %s", member, kind);
    l->count = json_is_array(of) ? json_array_size(of) : json_object_size(of);
    if (l->count > count_max)
        dx_json_in_fail(in, DX_E_LIMIT, "'%s' has %zu entries, at most %zu are read", member,
                        l->count, count_max);
    if (in->rc < 0)
        return;
    assert(in->depth < DX_JSON_IN_DEPTH);
    in->list[in->depth++] = l;
}

void dx_json_in_list(struct dx_json_in *in, struct dx_json_list *l, const struct json_t *o,
                     const char *member, size_t count_max)
{
    const json_t *v = json_object_get(o, member);

    begin(in, l, member, json_is_array(v) ? v : NULL, "an array", count_max);
}

void dx_json_in_map(struct dx_json_in *in, struct dx_json_list *l, const struct json_t *o,
                    const char *member, size_t count_max)
{
    const json_t *v = json_object_get(o, member);

    begin(in, l, member, json_is_object(v) ? v : NULL, "an object", count_max);
}

const struct json_t *dx_json_in_next(struct dx_json_in *in, struct dx_json_list *l)
{
    json_t *object = (json_t *)(uintptr_t)l->of;

    if (in->rc < 0)
        return NULL;
    assert(in->depth > 0 && in->list[in->depth - 1] == l);
    l->at++;
    if (l->at == l->count) {
        in->depth--;
        return NULL;
    }
    if (json_is_array(object))
        return json_array_get(object, l->at);
    l->iter = l->at == 0 ? json_object_iter(object) : json_object_iter_next(object, l->iter);
    l->key = json_object_iter_key(l->iter);
    return json_object_iter_value(l->iter);
}
