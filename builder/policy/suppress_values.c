/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/policy/suppress_values.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/hex.h"
#include "builder/lake/suffix_list.h"
#include "builder/root/root.h"
#include "canon/url.h"

#define LINE_MAX_BYTES ((size_t)4 * DX_URL_MAX)

int dx_suppress_values_open(struct dx_suppress_values *v, const char *root, struct dx_error *err)
{
    struct dx_buf text = DX_SUFFIX_LIST_INIT;
    struct dx_root lake;
    int rc = dx_root_open(&lake, root, DX_ROOT_READ, err);

    *v = (struct dx_suppress_values){ .value = NULL };
    if (rc == DX_OK)
        rc = dx_suffix_list_of_lake(&lake, &text, err);
    if (rc == 0)
        rc = dx_suffix_list_read(NULL, &text, err);
    dx_root_close(&lake);
    if (rc >= 0)
        rc = dx_psl_new(&v->psl, dx_span_of(text.data, text.size), err);
    if (rc == DX_OK)
        rc = dx_canon_new(&v->canon, v->psl, err);
    dx_buf_release(&text);
    return rc;
}

void dx_suppress_values_release(struct dx_suppress_values *v)
{
    for (size_t i = 0; i < v->count; i++)
        free(v->value[i].text);
    free(v->value);
    dx_canon_free(&v->canon);
    dx_psl_free(&v->psl);
    *v = (struct dx_suppress_values){ .value = NULL };
}

/* ---- values ---- */

static int bad(struct dx_error *err, enum dx_suppress_kind kind, struct dx_span given,
               const char *why)
{
    return dx_fail(err, DX_E_INVALID, "--%s '%.*s': %s", dx_suppress_kind_name(kind),
                   (int)(given.size < 200 ? given.size : 200), (const char *)given.data, why);
}

static int rejected(struct dx_error *err, enum dx_suppress_kind kind, struct dx_span given,
                    enum dx_reject why)
{
    char words[120];

    (void)snprintf(words, sizeof words, "it has no canonical form (%s)", dx_reject_name(why));
    return bad(err, kind, given, words);
}

/* Only what the name says: www.example.com must not hide all of example.com. */
static int domain_of(struct dx_suppress_values *v, struct dx_span given, struct dx_span *out,
                     struct dx_error *err)
{
    char words[2 * DX_DOMAIN_MAX + 120];
    char name[DX_DOMAIN_MAX + 1];
    enum dx_reject why = DX_REJECT_NONE;
    struct dx_url url;

    if (dx_canon_domain(v->canon, given, out, &why) == 0)
        return rejected(err, DX_SUPPRESS_DOMAIN, given, why);
    (void)snprintf(name, sizeof name, "%.*s", (int)out->size, (const char *)out->data);
    if (dx_canon_url(v->canon, given, &url, &why) == 1 &&
        !dx_span_equal(url.hostname, dx_span_str(name))) {
        (void)snprintf(words, sizeof words,
                       "this is a host of the domain %s: say --host, or --domain %s", name, name);
        return bad(err, DX_SUPPRESS_DOMAIN, given, words);
    }
    return dx_canon_domain(v->canon, given, out, &why) == 1
               ? DX_OK
               : rejected(err, DX_SUPPRESS_DOMAIN, given, why);
}

static int canonical(struct dx_suppress_values *v, enum dx_suppress_kind kind, struct dx_span given,
                     struct dx_span *out, struct dx_error *err)
{
    enum dx_reject why = DX_REJECT_NONE;
    struct dx_url url;

    if (kind == DX_SUPPRESS_DOMAIN)
        return domain_of(v, given, out, err);
    if (dx_canon_url(v->canon, given, &url, &why) == 0)
        return rejected(err, kind, given, why);
    *out = kind == DX_SUPPRESS_HOST ? url.host
           : kind == DX_SUPPRESS_URL
               ? url.url
               : dx_span_of(url.host.data, url.host.size + url.path_query.size);
    return DX_OK;
}

/* ---- what the text says ---- */

/* A value as it was given, cut as docs/CANON.md cuts URLs. */
struct spelled {
    bool scheme;
    struct dx_span authority;
    struct dx_span rest; /* from the first '/', '?' or '#' */
};

static struct spelled split_value(struct dx_span given)
{
    static const char *const schemes[] = { "http:", "https:", "ftp:" };
    struct spelled s = { .authority = given };
    size_t n = 0;

    for (size_t i = 0; i < sizeof schemes / sizeof *schemes && !s.scheme; i++) {
        n = strlen(schemes[i]);
        s.scheme = given.size >= n && strncasecmp((const char *)given.data, schemes[i], n) == 0;
    }
    if (!s.scheme)
        n = 0;
    while (n < given.size && (given.data[n] == '/' || given.data[n] == '\\'))
        n++;
    s.authority = dx_span_of(given.data + n, 0);
    while (n + s.authority.size < given.size &&
           memchr("/\\?#", s.authority.data[s.authority.size], 4) == NULL)
        s.authority.size++;
    n += s.authority.size;
    s.rest = dx_span_from(given, n);
    return s;
}

/* From the colon on; empty: none. */
static struct dx_span port_of(struct dx_span host)
{
    for (size_t i = host.size; i > 0 && host.data[i - 1] != ']'; i--)
        if (host.data[i - 1] == ':')
            return dx_span_of(host.data + i - 1, host.size - i + 1);
    return dx_span_of(NULL, 0);
}

/* The byte at the front, decoded if it is an escape. */
static uint8_t next_byte(struct dx_span *s)
{
    int escaped = dx_hex_escape(s->data, s->data + s->size);
    uint8_t c = escaped < 0 ? s->data[0] : (uint8_t)escaped;
    size_t n = escaped < 0 ? 1 : 3;

    *s = dx_span_from(*s, n);
    return c;
}

/* Whether two paths differ in nothing but which of their bytes are escaped. */
static bool same_path(struct dx_span a, struct dx_span b)
{
    while (a.size > 0 && b.size > 0)
        if (next_byte(&a) != next_byte(&b))
            return false;
    return a.size == b.size;
}

/* Of a path, which is not empty. */
static bool cut_escape(struct dx_span s)
{
    return s.data[s.size - 1] == '%' ||
           (s.size > 1 && s.data[s.size - 2] == '%' && dx_hex_digit(s.data[s.size - 1]) >= 0);
}

static const char *port_fault(enum dx_suppress_kind kind, const struct spelled *s,
                              struct dx_span host)
{
    struct dx_span port = port_of(s->authority);

    if (port.size == 0 || (host.size > 0 && host.data[0] == '[' && s->authority.data[0] != '['))
        return NULL;
    if (kind == DX_SUPPRESS_DOMAIN)
        return "a domain has no port: say --host, or leave it out to hide all ports";
    if (port_of(host).size == 0)
        return "this port is the scheme's own, and a host without a port stands for http, https "
               "and "
               "ftp alike: leave it out to hide them all, or say --url";
    if (!s->scheme &&
        (dx_span_equal(port, dx_span_str(":443")) || dx_span_equal(port, dx_span_str(":21"))))
        return "this port is the own one of https or ftp, where no URL has it: leave it out, or "
               "say http:// in front";
    return NULL;
}

/* Why the canonical form would hide more or other URLs than the text says; NULL: it does not. */
static const char *spelling_fault(enum dx_suppress_kind kind, struct dx_span given,
                                  struct dx_span value)
{
    struct spelled s = split_value(given);
    struct dx_suppress_parts parts;
    struct dx_span rest = s.rest.size == 0 ? dx_span_str("/") : s.rest;

    for (size_t i = 0; i < given.size; i++)
        if (given.data[i] <= 0x20 || given.data[i] == 0x7f)
            return "it has a blank or a control character in it; in a URL write %20";
    (void)dx_suppress_parts_of(kind, value, &parts);
    if (s.rest.size > 0 && memchr(s.rest.data, '#', s.rest.size) != NULL)
        return "fragments are not part of stored URLs: leave out what begins with #";
    if (kind == DX_SUPPRESS_URL)
        return s.scheme ? NULL
                        : "no scheme: http:// and https:// are two URLs; say which, or --prefix";
    if (memchr(s.authority.data, '@', s.authority.size) != NULL)
        return "a user name is not part of a host: leave out what ends in @";
    if (kind != DX_SUPPRESS_PREFIX && !dx_span_equal(rest, dx_span_str("/")))
        return "this is more than a host: say --prefix or --url";
    if (kind == DX_SUPPRESS_PREFIX && cut_escape(rest))
        return "it ends within a percent-escape";
    if (kind == DX_SUPPRESS_PREFIX && !same_path(rest, parts.path_query))
        return "stored URLs are canonical (no . or .. segments, no empty ones, parameters sorted "
               "by name), and none begins like this";
    return port_fault(kind, &s, parts.host);
}

/* A value that was written by hand must mean what it says. */
static int check_spelling(enum dx_suppress_kind kind, struct dx_span given, struct dx_span value,
                          struct dx_error *err)
{
    const char *why = spelling_fault(kind, given, value);
    char words[480];

    if (why == NULL)
        return DX_OK;
    (void)snprintf(words, sizeof words, "%s; its canonical form is '%.*s'", why,
                   (int)(value.size < 200 ? value.size : 200), (const char *)value.data);
    return bad(err, kind, given, words);
}

int dx_suppress_values_canonical(struct dx_suppress_values *v, enum dx_suppress_kind kind,
                                 struct dx_span given, struct dx_span *out, struct dx_error *err)
{
    struct dx_suppress_parts parts;
    int rc = canonical(v, kind, given, out, err);

    if (rc == DX_OK && !dx_suppress_parts_of(kind, *out, &parts))
        rc = bad(err, kind, given, "its canonical form cannot be written in the log");
    return rc;
}

int dx_suppress_values_add(struct dx_suppress_values *v, enum dx_suppress_kind kind,
                           struct dx_span given, struct dx_error *err)
{
    struct dx_suppress_value *to;
    struct dx_span text;
    int rc = dx_suppress_values_canonical(v, kind, given, &text, err);

    if (rc == DX_OK)
        rc = check_spelling(kind, given, text, err);
    if (rc < 0)
        return rc;
    to = dx_array_room(v->value, v->count, &v->capacity, sizeof *to);
    if (to == NULL)
        return dx_no_memory(err, "suppress");
    v->value = to;
    v->value[v->count].kind = kind;
    v->value[v->count].text = strndup((const char *)text.data, text.size);
    if (v->value[v->count].text == NULL)
        return dx_no_memory(err, "suppress");
    v->count++;
    return DX_OK;
}

/* ---- many, from a file ---- */

static struct dx_span trimmed(struct dx_span s)
{
    while (s.size > 0 && (s.data[0] == ' ' || s.data[0] == '\t'))
        s = dx_span_of(s.data + 1, s.size - 1);
    while (s.size > 0 && memchr(" \t\r\n", s.data[s.size - 1], 4) != NULL)
        s.size--;
    return s;
}

static int read_line(struct dx_suppress_values *v, struct dx_span line, struct dx_error *err)
{
    enum dx_suppress_kind kind;
    struct dx_span word = { line.data, 0 };

    while (word.size < line.size && line.data[word.size] != ' ' && line.data[word.size] != '\t')
        word.size++;
    if (!dx_suppress_kind_parse(word, &kind))
        return dx_fail(err, DX_E_INVALID,
                       "does not begin with domain, host, prefix or url, and a blank");
    return dx_suppress_values_add(
        v, kind, trimmed(dx_span_of(line.data + word.size, line.size - word.size)), err);
}

/* A line without its end: 1, or 0 at the end of the file. */
static int next_line(FILE *file, char *line, size_t *size, struct dx_error *err)
{
    int c = getc_unlocked(file);

    *size = 0;
    if (c == EOF)
        return ferror(file) ? dx_fail_errno(err, errno, "cannot read") : 0;
    for (; c != EOF && c != '\n'; c = getc_unlocked(file)) {
        if (*size == LINE_MAX_BYTES)
            return dx_fail(err, DX_E_LIMIT, "over %zu bytes", LINE_MAX_BYTES);
        line[(*size)++] = (char)c;
    }
    return 1;
}

static int read_lines(struct dx_suppress_values *v, FILE *file, char *line, struct dx_error *err)
{
    uint64_t number = 0;
    size_t size;
    int rc;

    do {
        number++;
        rc = next_line(file, line, &size, err);
        if (rc == 1) {
            struct dx_span text = trimmed(dx_span_of(line, size));

            if (text.size > 0 && text.data[0] != '#' && read_line(v, text, err) < 0)
                rc = (int)err->code;
        }
    } while (rc == 1);
    return rc < 0 ? dx_fail_in(err, "line %llu", (unsigned long long)number) : DX_OK;
}

static FILE *open_list(const char *path, struct dx_error *err)
{
    struct stat st;
    int fd = dx_file_open_input(path, &st, err);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

    if (file == NULL && fd >= 0) {
        (void)close(fd);
        (void)dx_no_memory(err, "suppress");
    }
    return file;
}

int dx_suppress_values_read(struct dx_suppress_values *v, const char *path, struct dx_error *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : open_list(path, err);
    char *line = malloc(LINE_MAX_BYTES);
    int rc;

    assert(err != NULL); /* its code is returned */
    if (file == NULL) {
        free(line);
        return err->code;
    }
    rc = line == NULL ? dx_no_memory(err, "suppress") : read_lines(v, file, line, err);
    if (rc < 0)
        rc = dx_fail_in(err, "%s", is_stdin ? "standard input" : path);
    if (!is_stdin)
        (void)fclose(file);
    free(line);
    return rc;
}
