/* SPDX-License-Identifier: Apache-2.0 */
#include "format/lease_json.h"

#include "base/hash.h"
#include "base/json_out.h"

#include <jansson.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define FORMAT_NAME "domaindex-lease"
#define FORMAT_VERSION 1
#define MEMBERS 10
#define CHECKSUM_KEY ",\"checksum\":\""
#define CHECKSUM_END "\"}\n"

static bool letter_or_digit(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool dx_lease_server_ok(struct dx_span name)
{
    if (name.size == 0 || name.size >= DX_LEASE_SERVER || name.data[0] == '.' ||
        name.data[0] == '-')
        return false;
    for (size_t i = 0; i < name.size; i++) {
        uint8_t c = name.data[i];

        if (!letter_or_digit(c) && c != '.' && c != '_' && c != '-')
            return false;
    }
    return true;
}

static bool instance_ok(const char *text)
{
    return strlen(text) == DX_LEASE_INSTANCE - 1 && text[strspn(text, "0123456789abcdef")] == '\0';
}

bool dx_lease_text_names(const struct dx_lease_text *t, const char *version)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->versions[i], version) == 0)
            return true;
    return false;
}

int dx_lease_text_add(struct dx_lease_text *t, const char *version, struct dx_error *err)
{
    if (dx_lease_text_names(t, version))
        return DX_OK;
    if (!dx_version_name_ok(dx_span_str(version), NULL))
        return dx_fail(err, DX_E_INVALID, "lease: '%.64s' is not the name of a version", version);
    if (t->count == DX_LEASE_VERSIONS_MAX)
        return dx_fail(err, DX_E_LIMIT, "lease: more than %d versions", DX_LEASE_VERSIONS_MAX);
    if (t->count == t->room) {
        size_t room = t->room == 0 ? 8 : 2 * t->room;
        char(*more)[DX_VERSION_NAME] = reallocarray(t->versions, room, sizeof *more);

        if (more == NULL)
            return dx_fail(err, DX_E_NOMEM, "lease: out of memory");
        t->versions = more;
        t->room = room;
    }
    memcpy(t->versions[t->count++], version, DX_VERSION_NAME);
    return DX_OK;
}

void dx_lease_text_release(struct dx_lease_text *t)
{
    free(t->versions);
    *t = (struct dx_lease_text)DX_LEASE_TEXT_INIT;
}

/* What a lease of any origin must be; NULL, or what is wrong. */
static const char *fault(const struct dx_lease_text *t)
{
    if (!dx_lease_server_ok(dx_span_str(t->server)))
        return "server is not 1 to 64 letters, digits, '.', '_' and '-', or begins with '.' or '-'";
    if (!instance_ok(t->instance))
        return "instance is not 32 hex digits";
    if (t->serial == 0 || t->serial > INT64_MAX)
        return "serial is not from 1 on";
    if (t->ttl_s == 0 || t->ttl_s > DX_LEASE_SECONDS_MAX)
        return "ttl_s is not 1 to 604800";
    if (t->cursor_life_s > DX_LEASE_SECONDS_MAX)
        return "cursor_life_s is above 604800";
    if (t->request_s > DX_LEASE_SECONDS_MAX)
        return "request_s is above 604800";
    return NULL;
}

/* ---- text ---- */

int dx_lease_text_write(const struct dx_lease_text *t, struct dx_buf *out, struct dx_error *err)
{
    const char *wrong = fault(t);
    size_t begin = out->size;
    char hex[DX_HASH128_TEXT];
    struct dx_json j;

    if (wrong != NULL)
        return dx_fail(err, DX_E_INVALID, "lease: %s", wrong);
    dx_json_open(&j, out);
    dx_json_object(&j);
    dx_json_key(&j, "format");
    dx_json_str(&j, FORMAT_NAME);
    dx_json_key(&j, "format_version");
    dx_json_u64(&j, FORMAT_VERSION);
    dx_json_key(&j, "server");
    dx_json_str(&j, t->server);
    dx_json_key(&j, "instance");
    dx_json_str(&j, t->instance);
    dx_json_key(&j, "serial");
    dx_json_u64(&j, t->serial);
    dx_json_key(&j, "ttl_s");
    dx_json_u64(&j, t->ttl_s);
    dx_json_key(&j, "cursor_life_s");
    dx_json_u64(&j, t->cursor_life_s);
    dx_json_key(&j, "request_s");
    dx_json_u64(&j, t->request_s);
    dx_json_key(&j, "versions");
    dx_json_array(&j);
    for (size_t i = 0; i < t->count; i++)
        dx_json_str(&j, t->versions[i]);
    dx_json_end(&j); /* of the list; the object ends with the checksum of what is before it */
    if (!out->failed) {
        struct dx_hash128 sum = dx_hash128_of(dx_span_of(out->data + begin, out->size - begin));

        dx_hash128_text(&sum, hex);
        dx_buf_fmt(out, CHECKSUM_KEY "%s" CHECKSUM_END, hex);
    }
    return out->failed ? dx_buf_fail(out, err, "lease") : DX_OK;
}

/* The tail is that of dx_lease_text_write byte for byte, so no flipped bit hides in it. */
static int check_sum(struct dx_span text, const char *name, struct dx_error *err)
{
    char want[sizeof CHECKSUM_KEY + DX_HASH128_TEXT + sizeof CHECKSUM_END];
    char hex[DX_HASH128_TEXT];
    size_t tail = strlen(CHECKSUM_KEY CHECKSUM_END) + DX_HASH128_TEXT - 1;
    struct dx_hash128 sum;

    if (text.size < tail)
        return dx_fail(err, DX_E_TRUNCATED, "%s: %zu bytes are no lease", name, text.size);
    sum = dx_hash128_of(dx_span_of(text.data, text.size - tail));
    dx_hash128_text(&sum, hex);
    (void)snprintf(want, sizeof want, CHECKSUM_KEY "%s" CHECKSUM_END, hex);
    if (memcmp(text.data + text.size - tail, want, tail) != 0)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: does not end in its checksum: damaged, cut, or no lease", name);
    return DX_OK;
}

static int read_text(const json_t *root, const char *member, char *to, size_t room,
                     const char *name, struct dx_error *err)
{
    const json_t *value = json_object_get(root, member);
    size_t n = json_string_length(value);

    if (!json_is_string(value) || n >= room || strlen(json_string_value(value)) != n)
        return dx_fail(err, DX_E_CORRUPT, "%s: %s is not text of at most %zu bytes", name, member,
                       room - 1);
    memcpy(to, json_string_value(value), n + 1);
    return DX_OK;
}

static int read_number(const json_t *root, const char *member, uint64_t *to, const char *name,
                       struct dx_error *err)
{
    const json_t *value = json_object_get(root, member);

    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return dx_fail(err, DX_E_CORRUPT, "%s: %s is not a number from 0 on", name, member);
    *to = (uint64_t)json_integer_value(value);
    return DX_OK;
}

static int read_seconds(const json_t *root, const char *member, uint32_t *to, const char *name,
                        struct dx_error *err)
{
    uint64_t value = 0;
    int rc = read_number(root, member, &value, name, err);

    if (rc < 0)
        return rc;
    if (value > DX_LEASE_SECONDS_MAX)
        return dx_fail(err, DX_E_CORRUPT, "%s: %s is %" PRIu64 ", at most %d seconds make sense",
                       name, member, value, DX_LEASE_SECONDS_MAX);
    *to = (uint32_t)value;
    return DX_OK;
}

static int read_head(const json_t *root, const char *name, struct dx_error *err)
{
    char format[32] = "";
    uint64_t version = 0;
    int rc = read_text(root, "format", format, sizeof format, name, err);

    if (rc == DX_OK)
        rc = read_number(root, "format_version", &version, name, err);
    if (rc == DX_OK && (strcmp(format, FORMAT_NAME) != 0 || version != FORMAT_VERSION))
        rc = dx_fail(err, DX_E_UNSUPPORTED,
                     "%s: format '%s', version %" PRIu64 ", is not known here: a newer server's?",
                     name, format, version);
    if (rc == DX_OK && json_object_size(root) != MEMBERS)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: %zu members, a lease has %d", name,
                     json_object_size(root), MEMBERS);
    return rc;
}

static int read_versions(struct dx_lease_text *t, const json_t *root, const char *name,
                         struct dx_error *err)
{
    const json_t *list = json_object_get(root, "versions");
    const json_t *value;
    size_t i;

    if (!json_is_array(list) || json_array_size(list) > DX_LEASE_VERSIONS_MAX)
        return dx_fail(err, DX_E_CORRUPT, "%s: versions is not a list of at most %d", name,
                       DX_LEASE_VERSIONS_MAX);
    json_array_foreach(list, i, value)
    {
        struct dx_span text = { (const uint8_t *)json_string_value(value),
                                json_string_length(value) };
        size_t before = t->count;
        int rc;

        if (!json_is_string(value) || !dx_version_name_ok(text, NULL))
            return dx_fail(err, DX_E_CORRUPT, "%s: versions[%zu] is not the name of a version",
                           name, i);
        rc = dx_lease_text_add(t, json_string_value(value), err);
        if (rc < 0)
            return rc;
        if (t->count == before)
            return dx_fail(err, DX_E_CORRUPT, "%s: version %s stands twice", name,
                           json_string_value(value));
    }
    return DX_OK;
}

static int read_lease(struct dx_lease_text *t, const json_t *root, const char *name,
                      struct dx_error *err)
{
    int rc = read_head(root, name, err);

    if (rc == DX_OK)
        rc = read_text(root, "server", t->server, sizeof t->server, name, err);
    if (rc == DX_OK)
        rc = read_text(root, "instance", t->instance, sizeof t->instance, name, err);
    if (rc == DX_OK)
        rc = read_number(root, "serial", &t->serial, name, err);
    if (rc == DX_OK)
        rc = read_seconds(root, "ttl_s", &t->ttl_s, name, err);
    if (rc == DX_OK)
        rc = read_seconds(root, "cursor_life_s", &t->cursor_life_s, name, err);
    if (rc == DX_OK)
        rc = read_seconds(root, "request_s", &t->request_s, name, err);
    if (rc == DX_OK)
        rc = read_versions(t, root, name, err);
    if (rc == DX_OK && fault(t) != NULL)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: %s", name, fault(t));
    return rc;
}

int dx_lease_text_parse(struct dx_lease_text *t, struct dx_span text, const char *name,
                        struct dx_error *err)
{
    json_error_t where;
    json_t *root;
    int rc;

    *t = (struct dx_lease_text)DX_LEASE_TEXT_INIT;
    if (text.size > DX_LEASE_TEXT_MAX)
        return dx_fail(err, DX_E_LIMIT, "%s: %zu bytes, at most %u are read", name, text.size,
                       DX_LEASE_TEXT_MAX);
    rc = check_sum(text, name, err);
    if (rc < 0)
        return rc;
    root = json_loadb((const char *)text.data, text.size, JSON_REJECT_DUPLICATES, &where);
    if (root == NULL)
        return dx_fail(err, DX_E_CORRUPT, "%s: line %d, column %d: %s", name, where.line,
                       where.column, where.text);
    rc = json_is_object(root) ? read_lease(t, root, name, err)
                              : dx_fail(err, DX_E_CORRUPT, "%s: not an object", name);
    json_decref(root);
    if (rc < 0)
        dx_lease_text_release(t);
    return rc;
}
