/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input_columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "builder/rejects.h"
#include "format/record_fields.h"
#include "format/url_ids.h"

/* In order of preference: what common crawls and training sets call them. */
static const char *const url_paths[] = {
    "url",
    "URL",
    "uri",
    "u",
    "metadata.url",
    "meta.url",
    "metadata.\"WARC-Target-URI\"",
    "warc_headers.\"warc-target-uri\"",
    "headers.\"warc-target-uri\"",
    "\"warc-target-uri\"",
};
static const char *const ts_paths[] = {
    "fetch_time",
    "date",
    "timestamp",
    "ts",
    "date_download",
    "crawl_date",
    "warc_headers.\"warc-date\"",
    "metadata.\"WARC-Date\"",
};

#define URL_PATHS (sizeof url_paths / sizeof url_paths[0])
#define TS_PATHS (sizeof ts_paths / sizeof ts_paths[0])

static bool is_number(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

static int number_of(const char *text, struct dx_error *err)
{
    unsigned long n = strtoul(text, NULL, 10);

    if (n < 1 || n > DX_COLUMN_NUMBER_MAX)
        return dx_fail(err, DX_E_INVALID, "column %s: numbers go from 1 to %d", text,
                       DX_COLUMN_NUMBER_MAX);
    return (int)n - 1;
}

int dx_columns_want_check(struct dx_columns_want *want, struct dx_error *err)
{
    const char *all[DX_EXTRA_COLUMNS_MAX + 3] = { want->url, want->ts, want->dataset };

    memcpy(all + 3, want->extra, want->extra_count * sizeof *all);
    for (size_t i = 0; i < want->extra_count + 3; i++) {
        if (all[i] == NULL)
            continue;
        if (all[i][0] == '\0')
            return dx_fail(err, DX_E_INVALID, "a column needs a name or a number from 1");
        if (is_number(all[i])) {
            int n = number_of(all[i], err);

            if (n < 0)
                return n;
        } else if (want->header == DX_HEADER_NO) {
            return dx_fail(err, DX_E_INVALID,
                           "column '%s' is a name, but there is no header; give its number",
                           all[i]);
        }
    }
    return DX_OK;
}

void dx_columns_want_release(struct dx_columns_want *want)
{
    for (size_t i = 0; i < DX_EXTRA_COLUMNS_MAX; i++) {
        free(want->extra_name[i]);
        want->extra_name[i] = NULL;
    }
}

/* "metadata.\"WARC-Date\"" -> "metadata.WARC-Date": as flat files write such a name. */
static void flat_name(const char *path, char *out, size_t size)
{
    size_t n = 0;

    for (; *path != '\0' && n + 1 < size; path++)
        if (*path != '"')
            out[n++] = *path;
    out[n] = '\0';
}

static bool is_known_url_name(struct dx_span field)
{
    char name[64];

    for (size_t i = 0; i < URL_PATHS; i++) {
        flat_name(url_paths[i], name, sizeof name);
        if (strlen(name) == field.size &&
            strncasecmp(name, (const char *)field.data, field.size) == 0)
            return true;
    }
    return false;
}

static int find_field(const struct dx_span *field, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (dx_span_equal(field[i], dx_span_str(name)))
            return (int)i;
    return -1;
}

static int find_known(const struct dx_span *field, size_t n, const char *const *paths,
                      size_t path_count)
{
    char name[64];

    for (size_t i = 0; i < path_count; i++) {
        int at;

        flat_name(paths[i], name, sizeof name);
        at = find_field(field, n, name);
        if (at >= 0)
            return at;
    }
    return -1;
}

static bool is_lake_column(const char *name)
{
    static const char *const taken[] = { "dataset_id", "domain",       "domain_id",  "url_id",
                                         "scheme",     "host",         "path_query", "raw_url",
                                         "ts",         "domain_prefix" };

    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        if (strcasecmp(name, taken[i]) == 0)
            return true;
    return false;
}

/* Fixes the Parquet name of extra i; all inputs of one run must agree on it. */
static int name_extra(struct dx_columns_want *want, size_t i, struct dx_span name,
                      const char *input, struct dx_error *err)
{
    char text[300];

    if (name.size == 0 || name.size > 255 || memchr(name.data, 0, name.size) != NULL)
        return dx_fail(err, DX_E_INVALID, "%s: column %s has no usable name", input,
                       want->extra[i]);
    (void)snprintf(text, sizeof text, "%.*s", (int)name.size, (const char *)name.data);
    if (is_lake_column(text))
        (void)snprintf(text, sizeof text, "extra_%.*s", (int)name.size, (const char *)name.data);
    if (i + 1 == want->canonical)
        (void)snprintf(text, sizeof text, "%s", DX_REQUESTED_URL);
    if (want->extra_name[i] != NULL && strcmp(want->extra_name[i], text) != 0)
        return dx_fail(err, DX_E_INVALID,
                       "%s: column %s is called '%s' here and '%s' in an input before; ingest them "
                       "in runs of their own",
                       input, want->extra[i], text, want->extra_name[i]);
    for (size_t k = 0; k < want->extra_count; k++)
        if (k != i && want->extra_name[k] != NULL && strcmp(want->extra_name[k], text) == 0)
            return dx_fail(err, DX_E_INVALID, "%s: two extra columns are called '%s'", input, text);
    if (want->extra_name[i] == NULL)
        want->extra_name[i] = strdup(text);
    return want->extra_name[i] == NULL ? dx_fail(err, DX_E_NOMEM, "out of memory") : DX_OK;
}

static int add_path(struct dx_columns *cols, const char *text, struct dx_error *err)
{
    return dx_json_path_parse(&cols->path[cols->path_count++], text, err);
}

static int add_paths(struct dx_columns *cols, const char *given, const char *const *known,
                     size_t known_count, size_t *count, struct dx_error *err)
{
    int rc = DX_OK;

    *count = given != NULL ? 1 : known_count;
    if (given != NULL)
        return add_path(cols, given, err);
    for (size_t i = 0; rc == DX_OK && i < known_count; i++)
        rc = add_path(cols, known[i], err);
    return rc;
}

static int resolve_json(struct dx_columns *cols, struct dx_columns_want *want, const char *input,
                        struct dx_error *err)
{
    char name[300];
    int rc = add_paths(cols, want->url, url_paths, URL_PATHS, &cols->url_paths, err);

    if (rc == DX_OK && !want->no_ts)
        rc = add_paths(cols, want->ts, ts_paths, TS_PATHS, &cols->ts_paths, err);
    if (rc == DX_OK && want->dataset != NULL) {
        cols->dataset_path = true;
        rc = add_path(cols, want->dataset, err);
    }
    for (size_t i = 0; rc == DX_OK && i < want->extra_count; i++) {
        flat_name(want->extra[i], name, sizeof name);
        rc = add_path(cols, want->extra[i], err);
        if (rc == DX_OK)
            rc = name_extra(want, i, dx_span_str(name), input, err);
    }
    return rc;
}

static bool wants_name(const struct dx_columns_want *want)
{
    if ((want->url != NULL && !is_number(want->url)) ||
        (want->ts != NULL && !is_number(want->ts)) ||
        (want->dataset != NULL && !is_number(want->dataset)))
        return true;
    for (size_t i = 0; i < want->extra_count; i++)
        if (!is_number(want->extra[i]))
            return true;
    return false;
}

/* The field a given column means; in *at. */
static int locate(const struct dx_columns *cols, const char *given, const struct dx_span *field,
                  size_t n, const char *input, int *at, struct dx_error *err)
{
    char seen[200] = "";
    size_t size = 0;

    if (is_number(given)) {
        *at = number_of(given, err);
        return *at < 0 ? *at : DX_OK;
    }
    *at = cols->header ? find_field(field, n, given) : -1;
    if (*at >= 0)
        return DX_OK;
    for (size_t i = 0; i < n && size + 1 < sizeof seen; i++) {
        int wrote = snprintf(seen + size, sizeof seen - size, "%s%.*s", i == 0 ? "" : ", ",
                             (int)(field[i].size < 40 ? field[i].size : 40),
                             (const char *)field[i].data);

        size += wrote < 0 ? 0 : (size_t)wrote;
    }
    return dx_fail(err, DX_E_INVALID, "%s: the header has no column '%s'; it has: %s", input, given,
                   seen);
}

static int locate_url(struct dx_columns *cols, const struct dx_columns_want *want,
                      const struct dx_span *field, size_t n, const char *input,
                      struct dx_error *err)
{
    if (want->url != NULL)
        return locate(cols, want->url, field, n, input, &cols->url, err);
    if (cols->header)
        cols->url = find_known(field, n, url_paths, URL_PATHS);
    else if (n == 1)
        cols->url = 0;
    if (cols->url < 0)
        return dx_fail(err, DX_E_INVALID,
                       "%s: cannot tell which of %zu columns is the URL; give --url-column", input,
                       n);
    return DX_OK;
}

static int locate_all(struct dx_columns *cols, struct dx_columns_want *want,
                      const struct dx_span *field, size_t n, const char *input,
                      struct dx_error *err)
{
    char numbered[32];
    int rc = locate_url(cols, want, field, n, input, err);

    if (rc == DX_OK && want->ts != NULL)
        rc = locate(cols, want->ts, field, n, input, &cols->ts, err);
    else if (rc == DX_OK && cols->header && !want->no_ts)
        cols->ts = find_known(field, n, ts_paths, TS_PATHS);
    if (rc == DX_OK && want->dataset != NULL)
        rc = locate(cols, want->dataset, field, n, input, &cols->dataset, err);
    for (size_t i = 0; rc == DX_OK && i < want->extra_count; i++) {
        rc = locate(cols, want->extra[i], field, n, input, &cols->extra[i], err);
        if (rc < 0)
            break;
        (void)snprintf(numbered, sizeof numbered, want->extra_count == 1 ? "extra" : "extra_%d",
                       cols->extra[i] + 1);
        rc = name_extra(want, i,
                        cols->header && (size_t)cols->extra[i] < n ? field[cols->extra[i]]
                                                                   : dx_span_str(numbered),
                        input, err);
    }
    return rc;
}

static void count_fields(struct dx_columns *cols)
{
    int last = cols->url > cols->ts ? cols->url : cols->ts;

    if (cols->dataset > last)
        last = cols->dataset;
    for (size_t i = 0; i < cols->extra_count; i++)
        if (cols->extra[i] > last)
            last = cols->extra[i];
    cols->field_max = (size_t)last + 1;
}

static size_t split(enum dx_record_format format, struct dx_span record, size_t max,
                    struct dx_fields *f, bool *ok)
{
    *ok = true;
    if (format == DX_RECORD_CSV)
        return dx_fields_csv(record, f->split, max, &f->scratch, ok);
    if (format == DX_RECORD_TSV)
        return dx_fields_tsv(record, f->split, max);
    f->split[0] = record;
    return 1;
}

static bool looks_like_header(const struct dx_columns_want *want, const struct dx_span *field,
                              size_t n)
{
    size_t at;

    if (want->url == NULL)
        return find_known(field, n, url_paths, URL_PATHS) >= 0;
    at = is_number(want->url) ? strtoul(want->url, NULL, 10) - 1 : n;
    return at < n && is_known_url_name(field[at]);
}

int dx_columns_resolve(struct dx_columns *cols, struct dx_columns_want *want,
                       enum dx_record_format format, struct dx_span first, const char *input,
                       struct dx_error *err)
{
    struct dx_fields f;
    bool ok;
    size_t n;
    int rc;

    *cols = (struct dx_columns){
        .format = format, .url = -1, .ts = -1, .dataset = -1, .extra_count = want->extra_count
    };
    cols->canonical = want->canonical;
    if (format == DX_RECORD_JSONL)
        return resolve_json(cols, want, input, err);
    rc = dx_fields_init(&f, err);
    if (rc < 0)
        return rc;
    n = split(format, first, DX_COLUMN_NUMBER_MAX, &f, &ok);
    cols->header = want->header == DX_HEADER_YES ||
                   (want->header == DX_HEADER_AUTO && wants_name(want));
    if (want->header == DX_HEADER_AUTO && !cols->header && format != DX_RECORD_LIST)
        cols->header = ok && looks_like_header(want, f.split, n);
    if (cols->header && !ok)
        rc = dx_fail(err, DX_E_INVALID, "%s: the header line has broken quotes", input);
    else
        rc = locate_all(cols, want, f.split, n, input, err);
    count_fields(cols);
    if (rc == DX_OK && format == DX_RECORD_LIST && cols->field_max > 1)
        rc = dx_fail(err, DX_E_INVALID,
                     "%s: a plain list has one column; give --format tsv or csv for more", input);
    dx_fields_release(&f);
    return rc;
}

int dx_fields_init(struct dx_fields *f, struct dx_error *err)
{
    *f = (struct dx_fields){ .url = { NULL, 0 } };
    dx_buf_init(&f->scratch, 2u * DX_LINE_MAX);
    f->split = calloc(DX_COLUMN_NUMBER_MAX, sizeof *f->split);
    return f->split == NULL ? dx_fail(err, DX_E_NOMEM, "records: out of memory") : DX_OK;
}

void dx_fields_release(struct dx_fields *f)
{
    free(f->split);
    f->split = NULL;
    dx_buf_release(&f->scratch);
}

static struct dx_span text_of(const struct dx_json_value *v)
{
    return v->kind == DX_JSON_ABSENT || v->kind == DX_JSON_NULL ? (struct dx_span){ NULL, 0 }
                                                                : v->text;
}

/* The first of n values that is there. */
static struct dx_span first_of(const struct dx_json_value *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text_of(&v[i]).data != NULL)
            return v[i].text;
    return (struct dx_span){ NULL, 0 };
}

static int pick_json(const struct dx_columns *cols, struct dx_span record, struct dx_fields *f)
{
    struct dx_json_value value[DX_JSON_PATHS_MAX];
    const struct dx_json_value *v = value;

    if (!dx_json_pick(record, cols->path, cols->path_count, value, &f->scratch))
        return DX_ROW_RECORD_MALFORMED;
    f->url = (struct dx_span){ NULL, 0 };
    for (size_t i = 0; i < cols->url_paths && f->url.data == NULL; i++)
        if (v[i].kind == DX_JSON_STRING)
            f->url = v[i].text;
    v += cols->url_paths;
    f->ts = first_of(v, cols->ts_paths);
    v += cols->ts_paths;
    f->dataset = cols->dataset_path ? text_of(v++) : (struct dx_span){ NULL, 0 };
    for (size_t i = 0; i < cols->extra_count; i++)
        f->extra[i] = text_of(&v[i]);
    return f->url.data == NULL ? DX_ROW_COLUMN_MISSING : 0;
}

/* A field that may be empty. */
static struct dx_span optional(const struct dx_fields *f, int at)
{
    return at < 0 || f->split[at].size == 0 ? (struct dx_span){ NULL, 0 } : f->split[at];
}

int dx_columns_pick(const struct dx_columns *cols, struct dx_span record, struct dx_fields *f)
{
    bool ok;
    size_t n;

    if (cols->format == DX_RECORD_JSONL)
        return pick_json(cols, record, f);
    n = split(cols->format, record, cols->field_max, f, &ok);
    if (!ok)
        return DX_ROW_RECORD_MALFORMED;
    if (n < cols->field_max)
        return DX_ROW_COLUMN_MISSING;
    f->url = f->split[cols->url];
    f->ts = optional(f, cols->ts);
    f->dataset = optional(f, cols->dataset);
    for (size_t i = 0; i < cols->extra_count; i++)
        f->extra[i] = optional(f, cols->extra[i]);
    return 0;
}
