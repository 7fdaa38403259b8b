/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/suppress_values.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "builder/ingest_remote.h"
#include "builder/remote_root.h"
#include "canon/url.h"

#define LINE_MAX_BYTES ((size_t)4 * DX_URL_MAX)

static int no_memory(struct dx_error *err)
{
    return dx_fail(err, DX_E_NOMEM, "suppress: out of memory");
}

/* ---- the suffix list ---- */

/* The lake's own: 1, or 0 if it has none. */
static int lake_psl(const char *root, struct dx_buf *text, struct dx_error *err)
{
    struct dx_remote_root remote;
    char etag[DX_SOURCE_ETAG];
    char path[PATH_MAX];
    int rc;

    if (dx_source_remote(root)) {
        rc = dx_remote_root_open(&remote, root, DX_REMOTE_READ, err);
        if (rc == DX_OK)
            rc = dx_remote_root_get(&remote, DX_LAKE_PSL, DX_PSL_TEXT_MAX, text, etag, err);
        dx_remote_root_close(&remote);
        return rc;
    }
    (void)snprintf(path, sizeof path, "%s/" DX_LAKE_PSL, root);
    if (access(path, F_OK) < 0)
        return 0;
    rc = dx_file_read(path, DX_PSL_TEXT_MAX, text, err);
    return rc < 0 ? rc : 1;
}

int dx_suppress_values_open(struct dx_suppress_values *v, const char *root, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_PSL_TEXT_MAX);
    int rc;

    *v = (struct dx_suppress_values){ .value = NULL };
    rc = lake_psl(root, &text, err);
    if (rc == 0)
        rc = dx_file_read(DX_PSL_DEFAULT_PATH, DX_PSL_TEXT_MAX, &text, err);
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

/* Only what the name says: nobody who writes www.example.com means all of example.com. */
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
    if (kind == DX_SUPPRESS_HOST && !dx_span_equal(url.path_query, dx_span_str("/")))
        return bad(err, kind, given, "this is more than a host: say --prefix or --url");
    *out = kind == DX_SUPPRESS_HOST ? url.host
           : kind == DX_SUPPRESS_URL
               ? url.url
               : dx_span_of(url.host.data, url.host.size + url.path_query.size);
    return DX_OK;
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
    struct dx_span text;
    int rc = dx_suppress_values_canonical(v, kind, given, &text, err);

    if (rc < 0)
        return rc;
    if (v->count == v->capacity) {
        size_t more = v->capacity == 0 ? 16 : v->capacity * 2;
        struct dx_suppress_value *to = realloc(v->value, more * sizeof *to);

        if (to == NULL)
            return no_memory(err);
        v->value = to;
        v->capacity = more;
    }
    v->value[v->count].kind = kind;
    v->value[v->count].text = strndup((const char *)text.data, text.size);
    if (v->value[v->count].text == NULL)
        return no_memory(err);
    v->count++;
    return DX_OK;
}

/* ---- many, from a file ---- */

static struct dx_span trimmed(struct dx_span s)
{
    while (s.size > 0 && (s.data[0] == ' ' || s.data[0] == '\t'))
        s = dx_span_of(s.data + 1, s.size - 1);
    while (s.size > 0 && strchr(" \t\r\n", s.data[s.size - 1]) != NULL)
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

    while ((rc = next_line(file, line, &size, err)) == 1) {
        struct dx_span text = trimmed(dx_span_of(line, size));

        number++;
        if (text.size > 0 && text.data[0] != '#')
            rc = read_line(v, text, err);
        if (rc < 0)
            break;
    }
    return rc < 0 ? dx_fail_in(err, "line %llu", (unsigned long long)number) : DX_OK;
}

int dx_suppress_values_read(struct dx_suppress_values *v, const char *path, struct dx_error *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "re");
    char *line = malloc(LINE_MAX_BYTES);
    int rc;

    if (file == NULL)
        rc = dx_fail_errno(err, errno, "%s: cannot open", path);
    else if (line == NULL)
        rc = no_memory(err);
    else
        rc = read_lines(v, file, line, err);
    if (rc < 0 && file != NULL)
        rc = dx_fail_in(err, "%s", is_stdin ? "standard input" : path);
    if (file != NULL && !is_stdin)
        (void)fclose(file);
    free(line);
    return rc;
}
