/* SPDX-License-Identifier: Apache-2.0 */
#include "format/root/lease_json.h"

#include "base/hash.h"
#include "base/json_in.h"
#include "base/json_out.h"

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
            return dx_no_memory(err, "lease");
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
        struct dx_hash128 sum = dx_hash128_of(dx_buf_from(out, begin));

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
        return dx_fail(err, DX_E_TRUNCATED, "%s: %zu bytes are not a lease", name, text.size);
    sum = dx_hash128_of(dx_span_of(text.data, text.size - tail));
    dx_hash128_text(&sum, hex);
    (void)snprintf(want, sizeof want, CHECKSUM_KEY "%s" CHECKSUM_END, hex);
    if (memcmp(text.data + text.size - tail, want, tail) != 0)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: does not end in its checksum: damaged, cut, or no lease", name);
    return DX_OK;
}

static void read_head(struct dx_json_in *in, const struct dx_json_node *root)
{
    const char *format = dx_json_in_str(in, root, "format", 31);
    uint64_t version = dx_json_in_u64(in, root, "format_version", 0, INT64_MAX);

    if (strcmp(format, FORMAT_NAME) != 0 || version != FORMAT_VERSION)
        dx_json_in_fail(in, DX_E_UNSUPPORTED,
                        "format '%s', version %" PRIu64 ", is not known here: a newer server's?",
                        format, version);
    if (dx_json_in_count(root) != MEMBERS)
        dx_json_in_fail(in, DX_E_CORRUPT, "%zu members, a lease has %d", dx_json_in_count(root),
                        MEMBERS);
}

static void read_versions(struct dx_json_in *in, struct dx_lease_text *t,
                          const struct dx_json_node *root)
{
    const struct dx_json_node *entry;
    struct dx_json_list l;

    dx_json_in_list(in, &l, root, "versions", DX_LEASE_VERSIONS_MAX);
    while ((entry = dx_json_in_next(in, &l)) != NULL) {
        const char *version = dx_json_in_entry_str(in, entry, DX_VERSION_NAME - 1);
        size_t before = t->count;

        if (!dx_version_name_ok(dx_span_str(version), NULL))
            dx_json_in_fail(in, DX_E_CORRUPT, "not the name of a version");
        else if (dx_json_in_try(in, dx_lease_text_add(t, version, &in->err)) && t->count == before)
            dx_json_in_fail(in, DX_E_CORRUPT, "%s stands twice", version);
    }
}

static void read_lease(struct dx_json_in *in, struct dx_lease_text *t,
                       const struct dx_json_node *root)
{
    read_head(in, root);
    (void)snprintf(t->server, sizeof t->server, "%s",
                   dx_json_in_str(in, root, "server", sizeof t->server - 1));
    (void)snprintf(t->instance, sizeof t->instance, "%s",
                   dx_json_in_str(in, root, "instance", sizeof t->instance - 1));
    t->serial = dx_json_in_u64(in, root, "serial", 1, INT64_MAX);
    t->ttl_s = (uint32_t)dx_json_in_u64(in, root, "ttl_s", 1, DX_LEASE_SECONDS_MAX);
    t->cursor_life_s = (uint32_t)dx_json_in_u64(in, root, "cursor_life_s", 0, DX_LEASE_SECONDS_MAX);
    t->request_s = (uint32_t)dx_json_in_u64(in, root, "request_s", 0, DX_LEASE_SECONDS_MAX);
    read_versions(in, t, root);
    if (in->rc == DX_OK && fault(t) != NULL)
        dx_json_in_fail(in, DX_E_CORRUPT, "%s", fault(t));
}

int dx_lease_text_parse(struct dx_lease_text *t, struct dx_span text, const char *name,
                        struct dx_error *err)
{
    struct dx_json_in in;
    const struct dx_json_node *root;
    int rc;

    *t = (struct dx_lease_text)DX_LEASE_TEXT_INIT;
    if (text.size > DX_LEASE_TEXT_MAX)
        return dx_fail(err, DX_E_LIMIT, "%s: %zu bytes, at most %u are read", name, text.size,
                       DX_LEASE_TEXT_MAX);
    rc = check_sum(text, name, err);
    if (rc < 0)
        return rc;
    root = dx_json_in_open(&in, text, DX_LEASE_TEXT_MAX, name);
    read_lease(&in, t, root);
    if (in.rc < 0)
        dx_lease_text_release(t);
    return dx_json_in_close(&in, err);
}
