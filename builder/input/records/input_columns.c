/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/records/input_columns.h"

#include <assert.h>
#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/log.h"
#include "builder/input/bytes/cdx_line.h"
#include "builder/input/records/column_names.h"
#include "builder/input/records/list_line.h"
#include "builder/input/records/rejects.h"
#include "builder/input/records/row_record.h"
#include "format/text/locator.h"
#include "format/text/record_fields.h"
#include "format/version/url_ids.h"

/* As CDXJ calls the places of a WARC record, and the letters of CDX are named (cdx_line.h). */
static const char *const place_names[DX_PLACE_COUNT] = { "filename", "offset", "length" };

#define NAME_SHOWN 40
#define NAMES_SHOWN 250
#define NAMED_RECORD_MAX ((size_t)64 << 10)

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

/* "NAME=C": letters, digits and '_' before the sign; a column with such a name goes in quotes. */
void dx_columns_want_extra(struct dx_columns_want *want, const char *text)
{
    static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    size_t n = strspn(text, word);
    size_t i = want->extra_count++;

    assert(i < DX_EXTRA_COLUMNS_MAX);
    if (n > 0 && text[n] == '=') {
        want->extra_as[i] = dx_span_of((const uint8_t *)text, n);
        text += n + 1;
    }
    want->extra[i] = text;
}

static const char *const *url_names(const struct dx_columns_want *want)
{
    return want->url_names != NULL ? want->url_names : dx_column_url_names;
}

static const char *const *ts_names(const struct dx_columns_want *want)
{
    return want->ts_names != NULL ? want->ts_names : dx_column_ts_names;
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
        } else if (want->header == DX_HEADER_NO && (i < 3 || i >= 3 + want->extra_optional)) {
            return dx_fail(err, DX_E_INVALID,
                           "column '%s' is a name, but there is no header; give its number",
                           all[i]);
        }
    }
    return DX_OK;
}

void dx_columns_want_release(struct dx_columns_want *want)
{
    for (size_t i = 0; i <= DX_EXTRA_COLUMNS_MAX; i++) {
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

static int find_field(const struct dx_span *field, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (dx_span_equal(field[i], dx_span_trimmed(dx_span_str(name))))
            return (int)i;
    return -1;
}

static bool is_lake_column(const char *name)
{
    static const char *const taken[] = { "dataset_id", "domain",        "domain_id",      "url_id",
                                         "scheme",     "host",          "path_query",     "raw_url",
                                         "ts",         "domain_prefix", DX_LOCATOR_COLUMN };

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

    if (want->extra_as[i].size > 0)
        name = want->extra_as[i];
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
    return want->extra_name[i] == NULL ? dx_no_memory(err, "columns") : DX_OK;
}

static int add_path(struct dx_columns *cols, const char *text, struct dx_error *err)
{
    return dx_json_path_parse(&cols->path[cols->path_count++], text, err);
}

/* The given path, or those that are known. */
static int add_paths(struct dx_columns *cols, const char *given, const char *const *known,
                     size_t *count, struct dx_error *err)
{
    int rc = DX_OK;

    *count = 0;
    if (given != NULL) {
        *count = 1;
        return add_path(cols, given, err);
    }
    for (; rc == DX_OK && *known != NULL; known++) {
        rc = add_path(cols, *known, err);
        cols->path[cols->path_count - 1].any_case = true;
        (*count)++;
    }
    return rc;
}

/* Appends a name from outside, shortened. */
static void put_name(struct dx_buf *out, const char *between, struct dx_span name)
{
    if (out->size > 0)
        dx_buf_str(out, between);
    dx_rejects_text(out, dx_span_of(name.data, name.size < NAME_SHOWN ? name.size : NAME_SHOWN));
    if (name.size > NAME_SHOWN)
        dx_buf_str(out, "...");
}

/* The keys of a JSON object and of the objects right in it, as paths. */
static void put_keys(struct dx_buf *out, json_t *object, const char *above)
{
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        char path[NAME_SHOWN * 2 + 8];
        const char *quote = strpbrk(key, ".\"") != NULL ? "\"" : "";

        (void)snprintf(path, sizeof path, "%s%s%.*s%s", above, quote, NAME_SHOWN, key, quote);
        if (json_is_object(value) && above[0] == '\0') {
            (void)snprintf(path, sizeof path, "%.*s.", NAME_SHOWN, key);
            put_keys(out, value, path);
        } else {
            put_name(out, ", ", dx_span_str(path));
        }
    }
}

static void put_json_names(struct dx_buf *out, struct dx_span record)
{
    json_t *object = NULL;

    if (record.size <= NAMED_RECORD_MAX) /* a tree of it takes many times its size */
        object = json_loadb((const char *)record.data, record.size, JSON_ALLOW_NUL, NULL);
    put_keys(out, object, "");
    json_decref(object);
}

static void put_field_names(struct dx_buf *out, const struct dx_span *field, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put_name(out, ", ", field[i]);
}

/* What the columns are called, cut to what a message holds; to be released. */
static const char *finish_names(struct dx_buf *names)
{
    if (names->size > NAMES_SHOWN) {
        names->size = NAMES_SHOWN;
        dx_buf_str(names, "...");
    }
    dx_buf_u8(names, 0);
    return names->failed || names->data == NULL ? "" : (const char *)names->data;
}

/* Too little memory is not the fault of a record; only a huge one may need more than the scratch
 * holds. */
static int malformed(const struct dx_buf *scratch, struct dx_span record)
{
    return scratch->failed && record.size <= scratch->max / DX_JSON_PATHS_MAX
               ? DX_E_NOMEM
               : DX_ROW_RECORD_MALFORMED;
}

/* The JSON of a record; of a CDXJ line without any, the line. */
static struct dx_span json_of(const struct dx_columns *cols, struct dx_span record)
{
    struct dx_span time, json;

    return cols->format == DX_RECORD_CDXJ && dx_cdx_json(record, &time, &json) ? json : record;
}

/* *best: the first of count paths that some record of the sample has a value for; count if none
 * has. *parsed: the number of records that are JSON objects. */
static int find_present(const struct dx_columns *cols, size_t from, size_t count,
                        const struct dx_columns_sample *sample, size_t *best, size_t *parsed,
                        struct dx_error *err)
{
    struct dx_buf scratch = DX_BUF_INIT(2u * DX_LINE_MAX);
    struct dx_json_value value[DX_JSON_PATHS_MAX];
    int rc = DX_OK;

    *best = count;
    *parsed = 0;
    for (size_t i = 0; rc == DX_OK && i < sample->count; i++) {
        struct dx_span record = json_of(cols, sample->record[i]);

        if (!dx_json_pick(record, cols->path + from, count, value, &scratch)) {
            if (malformed(&scratch, record) == DX_E_NOMEM)
                rc = dx_no_memory(err, "a record of %zu bytes", record.size);
            continue;
        }
        (*parsed)++;
        for (size_t k = 0; k < *best; k++)
            if (value[k].kind != DX_JSON_ABSENT && value[k].kind != DX_JSON_NULL)
                *best = k;
    }
    dx_buf_release(&scratch);
    return rc;
}

static void label(char out[DX_COLUMN_LABEL], const char *text)
{
    struct dx_buf b = DX_BUF_INIT(DX_COLUMN_LABEL * 16);

    put_name(&b, "", dx_span_str(text));
    dx_buf_u8(&b, 0);
    (void)snprintf(out, DX_COLUMN_LABEL, "%s", b.failed ? "?" : (const char *)b.data);
    dx_buf_release(&b);
}

/* What was looked for: "column meta.url", "columns a, b". The usual names are not said. */
static void put_wanted(struct dx_buf *out, const char *const *names)
{
    struct dx_buf list = DX_BUF_INIT(1 << 16);

    for (const char *const *n = names; *n != NULL; n++)
        put_name(&list, ", ", dx_span_str(*n));
    dx_buf_fmt(out, "column%s ", names[0] != NULL && names[1] != NULL ? "s" : "");
    dx_buf_append(out, list.data, list.size);
    dx_buf_release(&list);
}

const char *dx_columns_wanted(struct dx_buf *out, const char *const *url_names)
{
    put_wanted(out, url_names);
    dx_buf_u8(out, 0);
    return out->failed ? "?" : (const char *)out->data;
}

/* No record of the sample has a URL under a usual name: nothing would be stored. */
static int fail_json_url(const struct dx_columns *cols, const struct dx_columns_want *want,
                         const struct dx_columns_sample *sample, const char *input,
                         struct dx_error *err)
{
    struct dx_buf names = DX_BUF_INIT(1 << 20);
    struct dx_buf wanted = DX_BUF_INIT(1 << 16);
    int rc;

    put_json_names(&names, json_of(cols, sample->record[0]));
    if (want->url_names != NULL)
        rc = dx_fail(err, DX_E_INVALID,
                     "%s: no record of the first %zu has a URL in the profile's %s; give "
                     "--url-column, or leave the file out with --exclude; the first record has: %s",
                     input, sample->count, dx_columns_wanted(&wanted, want->url_names),
                     finish_names(&names));
    else
        rc = dx_fail(err, DX_E_INVALID,
                     "%s: cannot tell which member is the URL; give --url-column; the first record "
                     "has: %s",
                     input, finish_names(&names));
    dx_buf_release(&names);
    dx_buf_release(&wanted);
    return rc;
}

/* A hint only: later records may have it. */
static void note_lacking(struct dx_columns *cols, const char *given,
                         const struct dx_columns_sample *sample, const char *input)
{
    struct dx_buf names = DX_BUF_INIT(1 << 20);
    char shown[DX_COLUMN_LABEL];

    label(shown, given);
    put_json_names(&names, json_of(cols, sample->record[0]));
    if (names.size > 0)
        (void)snprintf(cols->lacks, sizeof cols->lacks,
                       "%s: no record of the first %zu has a value of '%s'; the first has: %s",
                       input, sample->count, shown, finish_names(&names));
    cols->lacks_input = strnlen(input, sizeof cols->lacks) + strlen(": ");
    dx_buf_release(&names);
}

static int label_dataset(struct dx_columns *cols, const char *given,
                         const struct dx_columns_sample *sample, const char *input,
                         struct dx_error *err)
{
    size_t parsed, found = 0;
    int rc = find_present(cols, cols->url_paths + cols->ts_paths, 1, sample, &found, &parsed, err);

    label(cols->dataset_label, given);
    if (rc == DX_OK && found == 1)
        note_lacking(cols, given, sample, input);
    return rc;
}

static bool is_string(struct dx_span record)
{
    return record.size > 0 && record.data[0] == '"';
}

static int label_json(struct dx_columns *cols, const struct dx_columns_want *want,
                      const struct dx_columns_sample *sample, const char *input,
                      struct dx_error *err)
{
    size_t parsed, url, ts;
    int rc = find_present(cols, 0, cols->url_paths, sample, &url, &parsed, err);

    if (rc < 0)
        return rc;
    cols->no_url = want->url == NULL && url == cols->url_paths && parsed == sample->count;
    if (cols->no_url && want->url_may_lack)
        return DX_OK;
    if (cols->no_url)
        return fail_json_url(cols, want, sample, input, err);
    label(cols->url_label, want->url != NULL              ? want->url
                           : url < cols->url_paths        ? url_names(want)[url]
                           : is_string(sample->record[0]) ? "the strings"
                                                          : "found by its name");
    rc = find_present(cols, cols->url_paths, cols->ts_paths, sample, &ts, &parsed, err);
    if (rc < 0)
        return rc;
    if (want->ts != NULL && ts == cols->ts_paths)
        note_lacking(cols, want->ts, sample, input);
    if (want->ts != NULL)
        label(cols->ts_label, want->ts);
    else if (cols->ts_in_front)
        label(cols->ts_label, "in front of the JSON");
    else if (ts < cols->ts_paths)
        label(cols->ts_label, ts_names(want)[ts]);
    if (want->dataset != NULL)
        rc = label_dataset(cols, want->dataset, sample, input, err);
    if (want->url != NULL && url == cols->url_paths)
        note_lacking(cols, want->url, sample, input);
    return rc;
}

static int resolve_json(struct dx_columns *cols, struct dx_columns_want *want,
                        const struct dx_columns_sample *sample, const char *input,
                        struct dx_error *err)
{
    static const char *const cdxj_names[] = { "url", NULL };
    char name[300];
    int rc = add_paths(cols, want->url,
                       cols->format == DX_RECORD_CDXJ ? cdxj_names : url_names(want),
                       &cols->url_paths, err);

    cols->ts_in_front = cols->format == DX_RECORD_CDXJ && want->ts == NULL && !want->no_ts;
    cols->ts_archive = cols->ts_in_front;
    if (rc == DX_OK && !want->no_ts && !cols->ts_in_front)
        rc = add_paths(cols, want->ts, ts_names(want), &cols->ts_paths, err);
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
    cols->places = want->locators && cols->format == DX_RECORD_CDXJ;
    for (size_t i = 0; cols->places && rc == DX_OK && i < DX_PLACE_COUNT; i++)
        rc = add_path(cols, place_names[i], err);
    return rc < 0 ? rc : label_json(cols, want, sample, input, err);
}

static bool wants_name(const struct dx_columns_want *want)
{
    if ((want->url != NULL && !is_number(want->url)) ||
        (want->ts != NULL && !is_number(want->ts)) ||
        (want->dataset != NULL && !is_number(want->dataset)))
        return true;
    for (size_t i = want->extra_optional; i < want->extra_count; i++)
        if (!is_number(want->extra[i]))
            return true;
    return false;
}

/* The first record of a table, split, and what the sample says of the others. */
struct table {
    const struct dx_span *field;
    size_t count;
    size_t count_max; /* of any record of the sample */
    const char *input;
};

static int fail_column(const struct table *t, bool header, const char *given, struct dx_error *err)
{
    struct dx_buf names = DX_BUF_INIT(1 << 20);
    int rc;

    put_field_names(&names, t->field, t->count);
    if (given == NULL)
        rc = dx_fail(
            err, DX_E_INVALID,
            "%s: cannot tell which of %zu column%s is the URL; give --url-column; the first "
            "line has: %s",
            t->input, t->count, dx_plural(t->count), finish_names(&names));
    else if (is_number(given))
        rc = dx_fail(err, DX_E_INVALID, "%s: there is no column %s; the first line has %zu: %s",
                     t->input, given, t->count, finish_names(&names));
    else
        rc = dx_fail(err, DX_E_INVALID, "%s: the %s has no column '%s'; it has: %s", t->input,
                     header ? "header" : "first line", given, finish_names(&names));
    dx_buf_release(&names);
    return rc;
}

/* Which of two fields of one name is meant cannot be known. */
static int check_twin(const struct table *t, int at, bool any_case, struct dx_error *err)
{
    int twin = at < 0 ? -1 : dx_column_twin(t->field, t->count, (size_t)at, any_case);
    struct dx_buf name = DX_BUF_INIT(1 << 16);

    if (twin < 0)
        return DX_OK;
    put_name(&name, "", t->field[at]);
    dx_buf_u8(&name, 0);
    (void)dx_fail(err, DX_E_INVALID,
                  "%s: columns %d and %d of the header are both called '%s': give one by its "
                  "number, as in --url-column %d",
                  t->input, at + 1, twin + 1, name.failed ? "?" : (const char *)name.data, at + 1);
    dx_buf_release(&name);
    return DX_E_INVALID;
}

/* The field a given column means; in *at. */
static int locate(const struct dx_columns *cols, const char *given, const struct table *t, int *at,
                  struct dx_error *err)
{
    if (is_number(given)) {
        *at = number_of(given, err);
        if (*at >= 0 && (size_t)*at >= t->count_max)
            return fail_column(t, cols->header, given, err);
        return *at < 0 ? *at : DX_OK;
    }
    *at = cols->header ? find_field(t->field, t->count, given) : -1;
    return *at < 0 ? fail_column(t, cols->header, given, err) : check_twin(t, *at, false, err);
}

static int locate_url(struct dx_columns *cols, const struct dx_columns_want *want,
                      const struct table *t, struct dx_error *err)
{
    if (want->url != NULL)
        return locate(cols, want->url, t, &cols->url, err);
    if (cols->header)
        cols->url = dx_column_find(t->field, t->count, url_names(want));
    if (cols->url >= 0)
        return check_twin(t, cols->url, true, err);
    if (t->count_max == 1)
        cols->url = 0;
    cols->no_url = cols->url < 0 && want->url_may_lack;
    if (cols->no_url)
        return DX_OK;
    return cols->url < 0 ? fail_column(t, cols->header, NULL, err) : DX_OK;
}

static void label_field(char out[DX_COLUMN_LABEL], const struct dx_columns *cols, int at,
                        const struct table *t)
{
    struct dx_buf b = DX_BUF_INIT(DX_COLUMN_LABEL * 16);

    if (at < 0)
        return;
    if (cols->header && (size_t)at < t->count && t->field[at].size > 0)
        put_name(&b, "", t->field[at]);
    else
        dx_buf_fmt(&b, "%d", at + 1);
    dx_buf_u8(&b, 0);
    (void)snprintf(out, DX_COLUMN_LABEL, "%s", b.failed ? "?" : (const char *)b.data);
    dx_buf_release(&b);
}

/* ASCII letters, digits, blanks, '_' and '-' with a letter among them: no host has a registered
 * domain without a dot, so this is not a URL. */
static bool is_bare_word(struct dx_span s)
{
    bool letter = false;

    for (size_t i = 0; i < s.size; i++) {
        letter = letter || (isascii(s.data[i]) && isalpha(s.data[i]));
        if (!isascii(s.data[i]) || (!isalnum(s.data[i]) && strchr(" _-", s.data[i]) == NULL) ||
            s.data[i] == 0)
            return false;
    }
    return letter;
}

static bool looks_like_header(const struct dx_columns_want *want, const struct table *t)
{
    size_t at = 0;

    if (want->url == NULL && dx_column_find(t->field, t->count, url_names(want)) >= 0)
        return true;
    if (want->url != NULL)
        at = is_number(want->url) ? strtoul(want->url, NULL, 10) - 1 : t->count;
    else if (t->count_max > 1)
        return false;
    return at < t->count && (dx_column_is_url_name(t->field[at]) || is_bare_word(t->field[at]));
}

/* Whether a table may be without an extra. Where nothing but the extra's name says that its first
 * line is a header, that line may be data as well, which must not be lost. */
static bool may_lack(const struct dx_columns_want *want, size_t extra, const struct table *t)
{
    if (is_number(want->extra[extra]))
        return false;
    return extra < want->extra_optional ||
           (want->extras_may_lack && (want->header == DX_HEADER_YES || looks_like_header(want, t) ||
                                      (want->url != NULL && !is_number(want->url))));
}

static int locate_extras(struct dx_columns *cols, struct dx_columns_want *want,
                         const struct table *t, struct dx_error *err)
{
    char numbered[300];
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < want->extra_count; i++) {
        cols->extra[i] = -1;
        if (may_lack(want, i, t) &&
            (!cols->header || find_field(t->field, t->count, want->extra[i]) < 0)) {
            cols->lacking |= UINT32_C(1) << i;
            flat_name(want->extra[i], numbered, sizeof numbered);
            rc = name_extra(want, i, dx_span_str(numbered), t->input, err);
            continue;
        }
        rc = locate(cols, want->extra[i], t, &cols->extra[i], err);
        if (rc < 0)
            break;
        (void)snprintf(numbered, sizeof numbered, want->extra_count == 1 ? "extra" : "extra_%d",
                       cols->extra[i] + 1);
        rc = name_extra(want, i,
                        cols->header && (size_t)cols->extra[i] < t->count ? t->field[cols->extra[i]]
                                                                          : dx_span_str(numbered),
                        t->input, err);
    }
    return rc;
}

static int locate_all(struct dx_columns *cols, struct dx_columns_want *want, const struct table *t,
                      struct dx_error *err)
{
    int rc = locate_url(cols, want, t, err);

    if (cols->no_url)
        return rc;
    if (rc == DX_OK && want->ts != NULL)
        rc = locate(cols, want->ts, t, &cols->ts, err);
    else if (rc == DX_OK && cols->header && !want->no_ts) {
        cols->ts = dx_column_find(t->field, t->count, ts_names(want));
        rc = check_twin(t, cols->ts, true, err);
    }
    cols->ts_archive = cols->format == DX_RECORD_CDX_JSON && want->ts == NULL;
    if (rc == DX_OK && want->dataset != NULL)
        rc = locate(cols, want->dataset, t, &cols->dataset, err);
    if (rc == DX_OK)
        rc = locate_extras(cols, want, t, err);
    label_field(cols->url_label, cols, cols->url, t);
    label_field(cols->ts_label, cols, cols->ts, t);
    label_field(cols->dataset_label, cols, cols->dataset, t);
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
    if (format == DX_RECORD_CDX)
        return dx_cdx_split(record, f->split, max);
    if (format == DX_RECORD_CDX_JSON)
        return dx_json_row(record, f->split, max, &f->scratch, ok);
    f->split[0] = record;
    return 1;
}

/* Blanks around a name are common, before one in quotes, too; in CSV they are of the field, and so are the quotes. */
static struct dx_span header_name(enum dx_record_format format, struct dx_span field)
{
    struct dx_span name = dx_span_trimmed(field);

    if (format == DX_RECORD_CSV && name.size >= 2 && name.data[0] == '"' &&
        name.data[name.size - 1] == '"')
        name = dx_span_of(name.data + 1, name.size - 2);
    return name;
}

static int resolve_table(struct dx_columns *cols, struct dx_columns_want *want,
                         const struct dx_columns_sample *sample, const char *input,
                         struct dx_fields *f, struct dx_error *err)
{
    struct table t = { .field = f->split, .input = input };
    bool ok;
    int rc;

    for (size_t i = sample->count; i > 0; i--) { /* the first one last: its fields stay */
        t.count = split(cols->format, sample->record[i - 1], DX_COLUMN_NUMBER_MAX, f, &ok);
        if (ok && t.count > t.count_max)
            t.count_max = t.count;
    }
    for (size_t i = 0; i < t.count; i++)
        f->split[i] = header_name(cols->format, f->split[i]);
    cols->header = want->header == DX_HEADER_YES || cols->format == DX_RECORD_CDX_JSON ||
                   (want->header == DX_HEADER_AUTO && wants_name(want));
    if (want->header == DX_HEADER_AUTO && !cols->header && cols->format != DX_RECORD_LIST)
        cols->header = ok && looks_like_header(want, &t);
    if (cols->header && !ok)
        rc = dx_fail(err, DX_E_INVALID, "%s: the header line %s", input,
                     cols->format == DX_RECORD_CDX_JSON ? "is not an array of names"
                                                        : "has broken quotes");
    else
        rc = locate_all(cols, want, &t, err);
    count_fields(cols);
    return rc;
}

static int locate_cdx(const struct dx_cdx_layout *layout, const char *given, const char *input,
                      int *at, struct dx_error *err)
{
    struct dx_buf names = DX_BUF_INIT(1 << 16);
    int rc;

    *at = is_number(given) ? number_of(given, err) : dx_cdx_column(layout, given);
    if (*at >= 0 && (size_t)*at < layout->count)
        return DX_OK;
    for (size_t i = 0; i < layout->count; i++)
        if (layout->name[i][0] != '\0')
            put_name(&names, ", ", dx_span_str(layout->name[i]));
    rc = dx_fail(err, DX_E_INVALID, "%s: the lines have no field '%s'; they have %zu: %s", input,
                 given, layout->count, finish_names(&names));
    dx_buf_release(&names);
    return rc;
}

/* By the header, else by the first line with a usual number of fields: a URL may have a space. */
static bool find_layout(const struct dx_columns_sample *sample, struct dx_cdx_layout *layout)
{
    if (sample->header.size > 0)
        return dx_cdx_layout(sample->header, layout);
    for (size_t i = 0; i < sample->count; i++)
        if (dx_cdx_layout(sample->record[i], layout))
            return true;
    return false;
}

/* Fields of CDX by the names of its letters. */
static int resolve_cdx(struct dx_columns *cols, struct dx_columns_want *want,
                       const struct dx_columns_sample *sample, const char *input,
                       struct dx_error *err)
{
    const char *url = want->url != NULL ? want->url : "original";
    const char *ts = want->ts != NULL ? want->ts : "timestamp";
    struct dx_cdx_layout layout;
    int rc;

    if (!find_layout(sample, &layout))
        return dx_fail(err, DX_E_INVALID,
                       "%s: a CDX index without a header, and of none of the usual numbers of "
                       "fields (7, 9, 10, 11, 14); give --format tsv after tr ' ' '\\t'",
                       input);
    rc = locate_cdx(&layout, url, input, &cols->url, err);
    label(cols->url_label, url);
    if (rc == DX_OK && !want->no_ts) {
        rc = locate_cdx(&layout, ts, input, &cols->ts, err);
        label(cols->ts_label, ts);
        cols->ts_archive = strcasecmp(ts, "timestamp") == 0;
    }
    if (rc == DX_OK && want->dataset != NULL) {
        rc = locate_cdx(&layout, want->dataset, input, &cols->dataset, err);
        label(cols->dataset_label, want->dataset);
    }
    for (size_t i = 0; rc == DX_OK && i < want->extra_count; i++) {
        cols->extra[i] = dx_cdx_column(&layout, want->extra[i]);
        if (cols->extra[i] < 0 &&
            (i < want->extra_optional || (want->extras_may_lack && !is_number(want->extra[i]))))
            cols->lacking |= UINT32_C(1) << i;
        else
            rc = locate_cdx(&layout, want->extra[i], input, &cols->extra[i], err);
        if (rc == DX_OK)
            rc = name_extra(want, i,
                            dx_span_str(cols->extra[i] < 0 ? dx_cdx_name(want->extra[i])
                                                           : layout.name[cols->extra[i]]),
                            input, err);
    }
    cols->cdx_fields = layout.count;
    cols->cdx_type = dx_cdx_column(&layout, "mimetype");
    cols->cdx_status = dx_cdx_column(&layout, "statuscode");
    cols->places = want->locators;
    for (size_t i = 0; i < DX_PLACE_COUNT; i++)
        cols->place[i] = dx_cdx_column(&layout, place_names[i]);
    count_fields(cols);
    return rc;
}

/* What the path of the input says of the dataset of its records. */
static int name_dataset(struct dx_columns *cols, const struct dx_columns_want *want,
                        const char *input, struct dx_error *err)
{
    cols->dataset_column = want->dataset != NULL;
    if (want->dataset_prefix == NULL)
        return DX_OK;
    return dx_dataset_template_fill(want->dataset_prefix, input, cols->dataset_prefix,
                                    sizeof cols->dataset_prefix, err);
}

int dx_columns_resolve(struct dx_columns *cols, struct dx_columns_want *want,
                       enum dx_record_format format, const struct dx_columns_sample *sample,
                       const char *input, struct dx_error *err)
{
    struct dx_fields f;
    int rc;

    *cols = (struct dx_columns){
        .format = format, .url = -1, .ts = -1, .dataset = -1, .extra_count = want->extra_count
    };
    cols->canonical = want->canonical;
    rc = name_dataset(cols, want, input, err);
    if (rc < 0)
        return rc;
    if (format == DX_RECORD_JSONL || format == DX_RECORD_CDXJ) {
        cols->by_record = UINT64_MAX;
        return resolve_json(cols, want, sample, input, err);
    }
    if (format == DX_RECORD_CDX)
        return resolve_cdx(cols, want, sample, input, err);
    rc = dx_fields_init(&f, err);
    if (rc < 0)
        return rc;
    rc = resolve_table(cols, want, sample, input, &f, err);
    if (rc == DX_OK && format == DX_RECORD_LIST && cols->field_max > 1)
        rc = dx_fail(err, DX_E_INVALID,
                     "%s: a plain list has one column; give --format tsv or csv for more", input);
    dx_fields_release(&f);
    return rc;
}

int dx_columns_of_row(struct dx_columns *cols, struct dx_columns_want *want,
                      const struct dx_column_labels *labels, const char *input,
                      struct dx_error *err)
{
    char name[300];
    int rc;

    *cols = (struct dx_columns){ .format = DX_RECORD_PARQUET,
                                 .url = -1,
                                 .ts = -1,
                                 .dataset = -1,
                                 .extra_count = want->extra_count,
                                 .lacking = labels->lacking,
                                 .by_record = labels->by_record,
                                 .no_url = labels->no_url,
                                 .canonical = want->canonical };
    memcpy(cols->url_label, labels->url, sizeof labels->url);
    memcpy(cols->ts_label, labels->ts, sizeof labels->ts);
    memcpy(cols->dataset_label, labels->dataset, sizeof labels->dataset);
    rc = name_dataset(cols, want, input, err);
    for (size_t i = 0; rc == DX_OK && i < want->extra_count; i++) {
        flat_name(is_number(want->extra[i]) ? labels->extra[i] : want->extra[i], name, sizeof name);
        rc = name_extra(want, i, dx_span_str(name), input, err);
    }
    return rc;
}

/* Names of a list in `out`, behind what stands there. */
static void put_lacking(const struct dx_columns *cols, const struct dx_columns_want *want,
                        struct dx_buf *out)
{
    struct dx_buf names = DX_BUF_INIT(DX_EXTRA_COLUMNS_MAX * DX_COLUMN_LABEL * 16);

    for (size_t i = 0; i < cols->extra_count; i++)
        if ((cols->lacking >> i & 1) != 0)
            put_name(&names, ", ", dx_span_str(want->extra[i]));
    dx_buf_u8(&names, 0);
    dx_buf_fmt(out, "; no column: %s (null)", names.failed ? "?" : (const char *)names.data);
    dx_buf_release(&names);
}

/* Extras that are not called as they were asked for, as the lake has such a column. */
static void put_renamed(const struct dx_columns_want *want, struct dx_buf *out)
{
    for (size_t i = 0; i < want->extra_count; i++) {
        struct dx_buf shown = DX_BUF_INIT(DX_COLUMN_LABEL * 16);
        const char *name = want->extra_name[i];
        char asked[300];

        if (want->extra_as[i].size > 0)
            (void)snprintf(asked, sizeof asked, "%.*s", (int)want->extra_as[i].size,
                           (const char *)want->extra_as[i].data);
        else
            flat_name(want->extra[i], asked, sizeof asked);
        if (name == NULL || strncmp(name, "extra_", 6) != 0 || !is_lake_column(name + 6) ||
            strcmp(name, asked) == 0)
            continue;
        put_name(&shown, "", dx_span_str(want->extra[i]));
        dx_buf_u8(&shown, 0);
        dx_buf_fmt(out, "; column '%s' is stored as '%s', as the lake has a column '%s' itself",
                   shown.failed ? "?" : (const char *)shown.data, name, name + 6);
        dx_buf_release(&shown);
    }
}

void dx_columns_describe(const struct dx_columns *cols, const struct dx_columns_want *want,
                         struct dx_buf *out)
{
    dx_buf_fmt(out, "%s%s; ", dx_record_format_name(cols->format),
               cols->header ? " with a header" : "");
    if (cols->no_url) {
        dx_buf_str(out, "without URLs, passed over: no ");
        put_wanted(out, url_names(want));
        return;
    }
    if (cols->format == DX_RECORD_LIST)
        dx_buf_str(out, "each line is a URL");
    else
        dx_buf_fmt(out, "url column: %s", cols->url_label);
    dx_buf_fmt(out, "; time column: %s", cols->ts_label[0] == '\0' ? "none" : cols->ts_label);
    if (cols->dataset_prefix[0] != '\0')
        dx_buf_fmt(out, cols->dataset_column ? "; dataset: %s{%s}" : "; dataset: %s",
                   cols->dataset_prefix, cols->dataset_label);
    else if (cols->dataset_label[0] != '\0')
        dx_buf_fmt(out, "; dataset column: %s", cols->dataset_label);
    if (cols->lacking != 0)
        put_lacking(cols, want, out);
    put_renamed(want, out);
    if (strlen(cols->lacks) > cols->lacks_input)
        dx_buf_fmt(out, "; %s", cols->lacks + cols->lacks_input);
}

int dx_fields_init(struct dx_fields *f, struct dx_error *err)
{
    *f = (struct dx_fields){ .url = { NULL, 0 } };
    dx_buf_init(&f->scratch, 2u * DX_LINE_MAX);
    dx_buf_init(&f->dataset_name, 2u * DX_LINE_MAX);
    dx_buf_init(&f->list.text, 2u * DX_LINE_MAX);
    dx_buf_init(&f->list.scratch, 2u * DX_LINE_MAX);
    dx_buf_init(&f->list.joined, 2u * DX_LINE_MAX);
    dx_buf_init(&f->list.nested, 2u * DX_LINE_MAX);
    f->split = calloc(DX_COLUMN_NUMBER_MAX, sizeof *f->split);
    f->list.behind = calloc(DX_JSON_PATHS_MAX, sizeof *f->list.behind);
    if (f->split != NULL && f->list.behind != NULL)
        return DX_OK;
    dx_fields_release(f);
    return dx_no_memory(err, "records");
}

void dx_fields_release(struct dx_fields *f)
{
    free(f->split);
    free(f->list.behind);
    f->split = NULL;
    f->list.behind = NULL;
    dx_buf_release(&f->scratch);
    dx_buf_release(&f->dataset_name);
    dx_buf_release(&f->list.text);
    dx_buf_release(&f->list.scratch);
    dx_buf_release(&f->list.joined);
    dx_buf_release(&f->list.nested);
}

static struct dx_span text_of(const struct dx_json_value *v)
{
    return dx_json_has_text(v) ? v->text : (struct dx_span){ NULL, 0 };
}

/* The first of n values that is there. */
static struct dx_span first_of(const struct dx_json_value *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text_of(&v[i]).data != NULL)
            return v[i].text;
    return (struct dx_span){ NULL, 0 };
}

/* A field that an index of an archive has nothing for: null, as it is in CDX (cdx_line.h). */
static void drop_dashes(struct dx_json_value *value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (value[i].kind == DX_JSON_STRING && value[i].text.size == 1 &&
            value[i].text.data[0] == '-')
            value[i] = (struct dx_json_value){ .kind = DX_JSON_NULL };
}

/* Texts of extras, whose paths and values these are. What lies in an array that is not the URL's is an array. */
static int pick_extras(const struct dx_json_path *path, const struct dx_json_value *v, size_t count,
                       struct dx_buf *joined, struct dx_fields *f)
{
    size_t begin[DX_EXTRA_COLUMNS_MAX];

    dx_buf_clear(joined);
    for (size_t i = 0; i < count; i++) {
        f->extra[i] = text_of(&v[i]);
        begin[i] = joined->size;
        if (v[i].kind == DX_JSON_LIST &&
            !dx_json_list_text(&path[i], &v[i], joined, &f->list.scratch))
            return malformed(joined->failed ? joined : &f->list.scratch, v[i].text);
    }
    for (size_t i = 0; i < count; i++) /* it may have moved until now */
        if (v[i].kind == DX_JSON_LIST)
            f->extra[i] = dx_span_of(joined->data + begin[i],
                                     (i + 1 < count ? begin[i + 1] : joined->size) - begin[i]);
    return 0;
}

/* Whether a path leads into the array that the URL's leads to by its first parts. */
static bool goes_along(const struct dx_json_path *path, const struct dx_json_path *url, size_t used)
{
    bool same = path->count >= used;

    for (size_t i = 0; same && i < used; i++) {
        struct dx_span a = path->part[i], b = url->part[i];

        same = dx_span_equal(a, b) ||
               (path->any_case && url->any_case && a.size == b.size &&
                strncasecmp((const char *)a.data, (const char *)b.data, a.size) == 0);
    }
    return same;
}

static void find_along(const struct dx_columns *cols, size_t used, struct dx_fields_list *l)
{
    if (l->behind_used == used)
        return;
    l->behind_used = used;
    l->behind_count = 0;
    for (size_t i = 0; i < cols->path_count; i++) {
        l->along[i] = goes_along(&cols->path[i], l->of.path, used);
        if (l->along[i])
            l->behind[l->behind_count++] = dx_json_path_behind(&cols->path[i], used);
    }
}

/* The values of the element that go along with the URL's. */
static int pick_along(const struct dx_columns *cols, struct dx_span element, size_t used,
                      struct dx_fields *f, struct dx_json_value *value)
{
    struct dx_json_value found[DX_JSON_PATHS_MAX], whole;
    bool is_object = element.data[0] == '{';
    size_t count = 0;

    find_along(cols, used, &f->list);
    if (!dx_json_value_of(element, &whole, &f->list.text) ||
        (is_object &&
         !dx_json_pick(element, f->list.behind, f->list.behind_count, found, &f->list.text)))
        return malformed(&f->list.text, element);
    for (size_t i = 0; i < cols->path_count; i++) {
        const struct dx_json_value none = { .kind = DX_JSON_ABSENT };

        value[i] = none;
        if (f->list.along[i])
            value[i] = f->list.behind[count].count == 0 ? whole : is_object ? found[count] : none;
        value[i].used += used;
        count += f->list.along[i];
    }
    return 0;
}

/* Where the paths of the time begin, of the dataset, of the extras. */
struct path_places {
    size_t ts, dataset, extra;
};

static struct path_places places_of(const struct dx_columns *cols)
{
    struct path_places p = { .ts = cols->url_paths, .dataset = cols->url_paths + cols->ts_paths };

    p.extra = p.dataset + cols->dataset_path;
    return p;
}

/* Where no time has a text: size 0 if one is there, without a value. Of a list it is not known which of its times holds:
 * an invalid one. */
static struct dx_span time_without_text(const struct dx_json_value *v, size_t n)
{
    struct dx_span time = { NULL, 0 };

    for (size_t i = 0; time.size == 0 && i < n; i++)
        if (v[i].kind != DX_JSON_ABSENT)
            time = v[i].kind == DX_JSON_LIST ? v[i].text : dx_span_str("");
    return time;
}

static struct dx_span time_of(const struct dx_json_value *v, size_t n)
{
    struct dx_span time = first_of(v, n);

    return time.data != NULL ? time : time_without_text(v, n);
}

/* The next row of a record whose URL lies in an array. */
static int next_element(const struct dx_columns *cols, struct dx_fields *f)
{
    const struct path_places at = places_of(cols);
    struct dx_json_value v[DX_JSON_PATHS_MAX];
    const bool *along = f->list.along;
    bool along_ts = false;
    size_t used, url = (size_t)(f->list.of.path - cols->path);
    int rc = dx_json_list_next(&f->list.of, &f->list.element, &used, &f->list.scratch);

    f->list.is_open = rc > 0;
    if (rc == 0)
        return DX_COLUMNS_END;
    rc = rc < 0 ? malformed(&f->list.scratch, f->list.element)
                : pick_along(cols, f->list.element, used, f, v);
    if (rc == 0)
        rc = pick_extras(cols->path + at.extra, v + at.extra, cols->extra_count, &f->list.nested,
                         f);
    for (size_t i = at.ts; rc == 0 && i < at.dataset; i++)
        along_ts = along_ts || along[i];
    if (rc != 0)
        return rc;
    f->ts = along_ts ? time_of(v + at.ts, cols->ts_paths) : f->list.ts_for_all;
    f->dataset = cols->dataset_path && along[at.dataset] ? text_of(&v[at.dataset])
                                                         : f->list.dataset_for_all;
    for (size_t i = 0; i < cols->extra_count; i++)
        if (!along[at.extra + i])
            f->extra[i] = f->list.extra_for_all[i];
    f->url = v[url].kind == DX_JSON_STRING ? v[url].text : (struct dx_span){ NULL, 0 };
    return f->url.data == NULL ? DX_ROW_COLUMN_MISSING : 0;
}

static int open_list(const struct dx_columns *cols, const struct dx_json_path *path,
                     const struct dx_json_value *array, struct dx_fields *f)
{
    f->list.is_open = true;
    f->list.behind_used = SIZE_MAX;
    f->list.ts_for_all = f->ts;
    f->list.dataset_for_all = f->dataset;
    memcpy(f->list.extra_for_all, f->extra, cols->extra_count * sizeof *f->extra);
    dx_json_list_begin(&f->list.of, path, array);
    return next_element(cols, f);
}

/* A string in the place of an object is a URL, unless the URL's column is named. */
static int pick_string(const struct dx_columns *cols, struct dx_span record, struct dx_fields *f)
{
    struct dx_json_value value;
    struct dx_span text = record;

    while (text.size > 0 && text.data[text.size - 1] <= ' ')
        text.size--;
    if (!dx_json_value_of(text, &value, &f->scratch))
        return malformed(&f->scratch, record);
    f->ts = f->dataset = dx_span_of(NULL, 0);
    memset(f->extra, 0, cols->extra_count * sizeof *f->extra);
    f->url = value.text;
    return cols->path[0].any_case ? 0 : DX_ROW_COLUMN_MISSING;
}

static int pick_json(const struct dx_columns *cols, struct dx_span record, struct dx_fields *f)
{
    const struct path_places at = places_of(cols);
    struct dx_json_value v[DX_JSON_PATHS_MAX];
    struct dx_span time = { NULL, 0 };
    size_t url = 0;
    int why;

    if (cols->format == DX_RECORD_CDXJ && !dx_cdx_json(record, &time, &record))
        return DX_ROW_RECORD_MALFORMED;
    if (cols->format == DX_RECORD_JSONL && record.size > 0 && record.data[0] == '"')
        return pick_string(cols, record, f);
    if (!dx_json_pick(record, cols->path, cols->path_count, v, &f->scratch))
        return malformed(&f->scratch, record);
    if (cols->format == DX_RECORD_CDXJ)
        drop_dashes(v, cols->path_count);
    while (url < cols->url_paths && v[url].kind != DX_JSON_STRING && !dx_json_is_list(&v[url]))
        url++;
    f->ts = cols->ts_in_front ? time : time_of(v + at.ts, cols->ts_paths);
    f->dataset = cols->dataset_path ? text_of(&v[at.dataset]) : (struct dx_span){ NULL, 0 };
    why = pick_extras(cols->path + at.extra, v + at.extra, cols->extra_count, &f->list.joined, f);
    for (size_t i = 0; cols->places && i < DX_PLACE_COUNT; i++)
        f->place[i] = text_of(&v[at.extra + cols->extra_count + i]);
    if (why != 0)
        return why;
    if (url < cols->url_paths && v[url].kind != DX_JSON_STRING)
        return open_list(cols, &cols->path[url], &v[url], f);
    f->url = url < cols->url_paths ? v[url].text : (struct dx_span){ NULL, 0 };
    return f->url.data == NULL ? DX_ROW_COLUMN_MISSING : 0;
}

static int pick_row(const struct dx_columns *cols, struct dx_span record, struct dx_fields *f)
{
    if (!dx_row_record_get(record, f->split, DX_ROW_EXTRA + cols->extra_count))
        return DX_ROW_RECORD_MALFORMED;
    f->url = f->split[DX_ROW_URL];
    f->ts = f->split[DX_ROW_TS];
    f->dataset = f->split[DX_ROW_DATASET];
    memcpy(f->extra, f->split + DX_ROW_EXTRA, cols->extra_count * sizeof *f->extra);
    return f->url.data == NULL ? DX_ROW_COLUMN_MISSING : 0;
}

/* A field that may be empty. */
static struct dx_span optional(const struct dx_fields *f, int at)
{
    return at < 0 || f->split[at].size == 0 ? (struct dx_span){ NULL, 0 } : f->split[at];
}

/* A line of CDX with more fields than the layout has a URL or a name of a file with spaces. The URL
 * is cut then, and all behind it is shifted: the status does not begin with a digit, the type has no slash. */
static bool is_shifted(const struct dx_columns *cols, const struct dx_fields *f, size_t n)
{
    struct dx_span type = { NULL, 0 };
    struct dx_span status = { NULL, 0 };

    if (cols->format != DX_RECORD_CDX || n <= cols->cdx_fields)
        return false;
    if (cols->cdx_type >= 0)
        type = f->split[cols->cdx_type];
    if (cols->cdx_status >= 0)
        status = f->split[cols->cdx_status];
    return (type.data != NULL && memchr(type.data, '/', type.size) == NULL) ||
           (status.data != NULL && (status.size == 0 || !isdigit(status.data[0])));
}

/* In text without escapes a control character stands between two things; canon/url.h would join them. */
static bool is_one_url(enum dx_record_format format, struct dx_span url)
{
    return format == DX_RECORD_LIST ? dx_list_line_split(url) == DX_LIST_LINE_WHOLE
           : format == DX_RECORD_TSV || format == DX_RECORD_CSV ? !dx_span_has_control(url)
                                                                : true;
}

static int pick_fields(const struct dx_columns *cols, struct dx_span record, struct dx_fields *f)
{
    bool ok;
    size_t n;

    if (cols->format == DX_RECORD_JSONL || cols->format == DX_RECORD_CDXJ)
        return pick_json(cols, record, f);
    if (dx_record_format_has_rows(cols->format))
        return pick_row(cols, record, f);
    n = split(cols->format, record,
              cols->format == DX_RECORD_CDX ? DX_CDX_FIELDS_MAX : cols->field_max, f, &ok);
    if (!ok)
        return malformed(&f->scratch, record);
    if (is_shifted(cols, f, n))
        return DX_ROW_RECORD_MALFORMED;
    if (n < cols->field_max)
        return DX_ROW_COLUMN_MISSING;
    f->url = f->split[cols->url];
    if (!is_one_url(cols->format, f->url))
        return DX_ROW_NOT_ONE_URL;
    f->ts = optional(f, cols->ts);
    f->dataset = optional(f, cols->dataset);
    for (size_t i = 0; i < cols->extra_count; i++)
        f->extra[i] = optional(f, cols->extra[i]);
    for (size_t i = 0; cols->places && i < DX_PLACE_COUNT; i++)
        f->place[i] = (size_t)(cols->place[i] + 1) > n ? (struct dx_span){ NULL, 0 }
                                                       : optional(f, cols->place[i]);
    return 0;
}

/* The name of the dataset, of a row that was picked. */
static int name_row(const struct dx_columns *cols, struct dx_fields *f)
{
    if (cols->dataset_prefix[0] == '\0')
        return 0;
    if (!cols->dataset_column) {
        f->dataset = dx_span_str(cols->dataset_prefix);
        return 0;
    }
    if (f->dataset.size == 0)
        return 0;
    dx_buf_clear(&f->dataset_name);
    dx_buf_str(&f->dataset_name, cols->dataset_prefix);
    dx_buf_append(&f->dataset_name, f->dataset.data, f->dataset.size);
    if (f->dataset_name.failed)
        return DX_E_NOMEM;
    f->dataset = dx_span_of(f->dataset_name.data, f->dataset_name.size);
    return 0;
}

int dx_columns_pick(const struct dx_columns *cols, struct dx_span record, struct dx_fields *f)
{
    int why;

    f->list.is_open = false;
    why = pick_fields(cols, record, f);
    return why != 0 ? why : name_row(cols, f);
}

int dx_columns_more(const struct dx_columns *cols, struct dx_fields *f)
{
    int why = f->list.is_open ? next_element(cols, f) : DX_COLUMNS_END;

    return why != 0 ? why : name_row(cols, f);
}
