/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/parquet/parquet_columns.h"

#include <stdio.h>
#include <stdlib.h>

#include "builder/input/records/column_names.h"
#include "builder/input/records/hive_folder.h"
#include "builder/input/records/rejects.h"
#include "parquet/value_text.h"

#define NAMES_SHOWN 250

struct find {
    struct dx_parquet_columns *out;
    const struct dx_pq_footer *f;
    const struct dx_columns_want *want;
    const char *path;
    struct dx_error *err;
};

static bool is_text(const struct find *w, uint32_t leaf)
{
    return dx_pq_text_is_plain(&w->f->node[w->f->leaf[leaf]]);
}

/* Bytes without a logical type are text in the columns that a row needs (parquet_rows.h). */
static bool may_be_url(const struct find *w, uint32_t leaf)
{
    const struct dx_pq_node *node = &w->f->node[w->f->leaf[leaf]];

    return is_text(w, leaf) || (node->type == DX_PQ_FIXED && node->logical == DX_PQ_LOGICAL_NONE);
}

/* A dotted path as a column, or as a column of strings and what lies in their JSON. */
static bool in_schema(const struct find *w, const struct dx_json_path *path,
                      struct dx_parquet_column *c)
{
    if (!dx_pq_column_path(w->f, path->part, path->count, path->any_case, &c->found))
        return false;
    c->json[0] = (struct dx_json_path){ .count = path->count - c->found.used,
                                        .any_case = path->any_case };
    memcpy(c->json[0].part, path->part + c->found.used, c->json[0].count * sizeof *path->part);
    c->json_count = c->json[0].count > 0;
    c->from = DX_PARQUET_FROM_LEAF;
    return c->json_count == 0 || is_text(w, c->found.leaf);
}

/* A dotted path as the value of a key of a map: which keys there are is seen in each row. */
static bool in_map(const struct find *w, const struct dx_json_path *path,
                   struct dx_parquet_column *c)
{
    struct dx_pq_column_map map;

    if (!dx_pq_column_map(w->f, path->part, path->count, path->any_case, &c->found, &map))
        return false;
    c->from = DX_PARQUET_FROM_LEAF;
    c->json_count = 0;
    c->is_map = true;
    c->any_case = path->any_case;
    c->key_leaf = map.key_leaf;
    c->key[0] = map.key;
    c->key_count = 1;
    return true;
}

static bool has_usual(const struct find *w, const char *name, bool in_json,
                      struct dx_parquet_column *c)
{
    struct dx_json_path path;

    if (dx_json_path_parse(&path, name, NULL) < 0)
        return false;
    path.any_case = true;
    *c = (struct dx_parquet_column){ .from = DX_PARQUET_ABSENT };
    if (in_schema(w, &path, c))
        return (c->json_count > 0) == in_json;
    return in_json && in_map(w, &path, c);
}

/* The value of "name=value" among the folders of the path: 1, or 0. */
static int in_path(const struct find *w, const char *name, size_t field,
                   struct dx_parquet_column *c)
{
    char **value = &w->out->owned[field];
    int rc = dx_hive_folder_value(w->path, name, value, w->err);

    if (rc > 0) {
        c->from = DX_PARQUET_FROM_PATH;
        c->constant = *value == NULL ? (struct dx_span){ NULL, 0 } : dx_span_str(*value);
    }
    return rc;
}

/* Common Crawl's host index has a row a host, with counts, and no URL. */
static bool is_host_index(const struct find *w)
{
    char path[160];
    bool found = false;

    for (uint32_t i = 0; !found && i < w->f->leaf_count; i++)
        found = strcmp(dx_pq_footer_path(w->f, i, path, sizeof path), "surt_host_name") == 0;
    return found;
}

static const char *const *url_names(const struct find *w)
{
    return w->want->url_names != NULL ? w->want->url_names : dx_column_url_names;
}

/* A column that is called as one of URLs, and has no text. */
static const char *other_type(const struct find *w, char *path, size_t size)
{
    for (const char *const *name = url_names(w); *name != NULL; name++) {
        struct dx_parquet_column found;

        if (has_usual(w, *name, false, &found))
            return dx_pq_footer_path(w->f, found.found.leaf, path, size);
    }
    return NULL;
}

static int fail_column(const struct find *w, const char *given)
{
    struct dx_buf names = DX_BUF_INIT(1 << 16), wanted = DX_BUF_INIT(1 << 16);
    char path[160];
    int rc;

    for (uint32_t i = 0; i < w->f->leaf_count && names.size < NAMES_SHOWN; i++) {
        const char *name = dx_pq_footer_path(w->f, i, path, sizeof path);

        if (i > 0)
            dx_buf_str(&names, ", ");
        dx_rejects_text(&names, dx_span_str(name));
    }
    if (names.size > NAMES_SHOWN) {
        names.size = NAMES_SHOWN;
        dx_buf_str(&names, "...");
    }
    dx_buf_u8(&names, 0);
    if (given == NULL && is_host_index(w))
        rc = dx_fail(
            w->err, DX_E_UNSUPPORTED,
            "%s: is a host index: a row a host with its count of pages, without URLs; give "
            "--profile host-index",
            w->path);
    else if (given == NULL && other_type(w, path, sizeof path) != NULL)
        rc = dx_fail(w->err, DX_E_INVALID,
                     "%s: column '%s' is not of text, so it is not taken for the URL; give "
                     "--url-column; the file has: %s",
                     w->path, path, names.failed ? "?" : (const char *)names.data);
    else if (given == NULL && w->want->url_names != NULL)
        rc = dx_fail(
            w->err, DX_E_INVALID,
            "%s: has none of the profile's %s for the URL; give --url-column, or leave the "
            "file out with --exclude; the file has: %s",
            w->path, dx_columns_wanted(&wanted, w->want->url_names),
            names.failed ? "?" : (const char *)names.data);
    else if (given == NULL)
        rc = dx_fail(w->err, DX_E_INVALID,
                     "%s: cannot tell which column is the URL; give --url-column; the file has: %s",
                     w->path, names.failed ? "?" : (const char *)names.data);
    else
        rc = dx_fail(w->err, DX_E_INVALID, "%s: there is no column '%s'; the file has: %s", w->path,
                     given, names.failed ? "?" : (const char *)names.data);
    dx_buf_release(&names);
    dx_buf_release(&wanted);
    return rc;
}

/* Which of two columns of one name is meant cannot be known. */
static int check_twin(const struct find *w, const struct dx_parquet_column *c, bool any_case)
{
    char path[160];
    uint32_t twin;

    if (!dx_pq_column_twin(w->f, c->found.leaf, any_case, &twin))
        return DX_OK;
    return dx_fail(w->err, DX_E_INVALID,
                   "%s: columns %lu and %lu are both called '%s': give one by its number, as in "
                   "--url-column %lu",
                   w->path, dx_pq_column_number_of(w->f, c->found.leaf),
                   dx_pq_column_number_of(w->f, twin),
                   dx_pq_footer_path(w->f, c->found.leaf, path, sizeof path),
                   dx_pq_column_number_of(w->f, c->found.leaf));
}

/* "meta.url" may be a column and the member of another one. */
static int check_other(const struct find *w, const struct dx_parquet_column *c, const char *given,
                       bool any_case)
{
    struct dx_json_path path;
    uint32_t other;

    if (dx_json_path_parse(&path, given, NULL) < 0 ||
        !dx_pq_column_other(w->f, path.part, path.count, any_case, c->found.leaf, &other))
        return DX_OK;
    return dx_fail(w->err, DX_E_INVALID,
                   "%s: '%s' is in columns %lu and %lu: write \"A.B\" in quotes for the column of "
                   "that name, A.\"B\" for the member B of column A",
                   w->path, given, dx_pq_column_number_of(w->f, c->found.leaf),
                   dx_pq_column_number_of(w->f, other));
}

static int check_only(const struct find *w, const struct dx_parquet_column *c, const char *given,
                      bool any_case)
{
    int rc = check_twin(w, c, any_case);

    return rc == DX_OK && c->json_count == 0 ? check_other(w, c, given, any_case) : rc;
}

/* may_lack: a column that is not there is DX_PARQUET_ABSENT. */
static int locate_column(const struct find *w, const char *given, size_t field, bool may_lack)
{
    struct dx_parquet_column *c = &w->out->column[field];
    struct dx_json_path whole = { .part = { dx_span_str(given) }, .count = 1 };
    struct dx_json_path path;
    int rc;

    /* Not by way of its name, which other columns may have too. */
    if (given[strspn(given, "0123456789")] == '\0') {
        if (!dx_pq_column_number(w->f, strtoul(given, NULL, 10), &c->found))
            return fail_column(w, given);
        c->from = DX_PARQUET_FROM_LEAF;
        return DX_OK;
    }
    if (in_schema(w, &whole, c))
        return check_only(w, c, given, false);
    rc = dx_json_path_parse(&path, given, w->err);
    if (rc < 0)
        return rc;
    if (in_schema(w, &path, c))
        return check_only(w, c, given, false);
    *c = (struct dx_parquet_column){ .from = DX_PARQUET_ABSENT };
    if (in_map(w, &path, c))
        return DX_OK;
    *c = (struct dx_parquet_column){ .from = DX_PARQUET_ABSENT };
    rc = in_path(w, given, field, c);
    return rc < 0 ? rc : rc > 0 || may_lack ? DX_OK : fail_column(w, given);
}

/* The usual names that the JSON of one column could have: which of them it has is seen in each
 * row. The first of the names, NULL: none. */
static const char *locate_in_json(const struct find *w, const char *const *names,
                                  struct dx_parquet_column *c)
{
    struct dx_parquet_column found;
    const char *first = NULL;

    for (; *names != NULL && c->json_count + c->key_count < DX_PARQUET_JSON_MAX; names++) {
        if (!has_usual(w, *names, true, &found))
            continue;
        if (first == NULL) {
            first = *names;
            *c = found;
        } else if (found.found.leaf != c->found.leaf)
            continue;
        else if (found.is_map)
            c->key[c->key_count++] = found.key[0];
        else
            c->json[c->json_count++] = found.json[0];
    }
    return first;
}

/* The first of the usual names that a column has, else a folder of the path (not for the URL),
 * else the JSON of a column; *name NULL: none. */
static int locate_usual(const struct find *w, const char *const *names, size_t field,
                        const char **name)
{
    struct dx_parquet_column *c = &w->out->column[field];
    struct dx_parquet_column found;
    bool is_url = field == DX_ROW_URL;

    for (const char *const *n = names; *n != NULL; n++)
        if (has_usual(w, *n, false, &found) && (!is_url || may_be_url(w, found.found.leaf))) {
            *c = found;
            *name = *n;
            return check_only(w, c, *n, true);
        }
    for (const char *const *n = names; !is_url && *n != NULL; n++) {
        int rc = in_path(w, *n, field, c);

        *name = *n;
        if (rc != 0)
            return rc < 0 ? rc : DX_OK;
    }
    *name = locate_in_json(w, names, c);
    return DX_OK;
}

/* How a column is called: its path in the file, and in JSON as given. */
static void label(const struct find *w, size_t field, const char *given, char out[DX_COLUMN_LABEL])
{
    const struct dx_parquet_column *c = &w->out->column[field];
    char path[DX_COLUMN_LABEL];

    if (c->from == DX_PARQUET_FROM_LEAF && c->json_count + c->key_count != 1)
        given = dx_pq_footer_path(w->f, c->found.leaf, path, sizeof path);
    if (given != NULL && c->from != DX_PARQUET_ABSENT)
        (void)snprintf(out, DX_COLUMN_LABEL, "%.*s%s", DX_COLUMN_LABEL - 32, given,
                       c->key_count == 1    ? " (map)"
                       : c->key_count > 1   ? " (map), found by its name"
                       : c->json_count == 0 ? ""
                       : c->json_count == 1 ? " (JSON)"
                                            : " (JSON), found by its name");
}

/* The schema does not say what is in JSON or which keys a map has. */
static bool is_by_record(const struct find *w, size_t field)
{
    return w->out->column[field].json_count + w->out->column[field].key_count > 0;
}

static bool is_below(const struct find *w, uint32_t node, uint32_t above)
{
    while (node != above && node != 0)
        node = w->f->node[node].parent;
    return node == above;
}

/* A column that is repeated goes along with the URL's elements, or is arrays, or refused. */
static int check_repeated(const struct find *w, size_t field)
{
    uint32_t list = w->out->column[DX_ROW_URL].found.repeated_at;
    struct dx_parquet_column *c = &w->out->column[field];
    char path[160];

    if (c->from != DX_PARQUET_FROM_LEAF || c->found.repeated_at == 0 ||
        c->found.repeated_at == list)
        return DX_OK;
    c->is_array = field >= DX_ROW_EXTRA;
    if (list != 0 && is_below(w, c->found.repeated_at, list)) {
        c->apart = w->f->node[list].max_rep;
        c->found.element_def = w->f->node[list].max_def;
    }
    return c->is_array
               ? DX_OK
               : dx_fail(w->err, DX_E_UNSUPPORTED,
                         "%s: column %s is repeated, and not in one list with the URL: "
                         "which value holds for a URL is not known",
                         w->path, dx_pq_footer_path(w->f, c->found.leaf, path, sizeof path));
}

static void set_bytes(const struct find *w, size_t field)
{
    struct dx_parquet_column *c = &w->out->column[field];
    const struct dx_pq_node *node = &w->f->node[w->f->leaf[c->found.leaf]];

    if (c->from != DX_PARQUET_FROM_LEAF || node->logical != DX_PQ_LOGICAL_NONE)
        return;
    c->is_fixed_text = node->type == DX_PQ_FIXED && field < DX_ROW_EXTRA;
    c->may_be_hex = node->type == DX_PQ_BYTE_ARRAY && field >= DX_ROW_EXTRA && c->json_count == 0;
}

static int find_all(const struct find *w)
{
    struct dx_column_labels *labels = &w->out->labels;
    const struct dx_columns_want *want = w->want;
    const char *name = want->url;
    int rc = DX_OK;

    if (name != NULL)
        rc = locate_column(w, name, DX_ROW_URL, false);
    else
        rc = locate_usual(w, url_names(w), DX_ROW_URL, &name);
    labels->no_url = rc == DX_OK && name == NULL && want->url_may_lack;
    if (labels->no_url)
        return DX_OK;
    if (rc == DX_OK && name == NULL)
        rc = fail_column(w, NULL);
    label(w, DX_ROW_URL, name, labels->url);
    name = want->ts;
    if (rc == DX_OK && name != NULL)
        rc = locate_column(w, name, DX_ROW_TS, false);
    else if (rc == DX_OK && !want->no_ts)
        rc = locate_usual(w, want->ts_names != NULL ? want->ts_names : dx_column_ts_names,
                          DX_ROW_TS, &name);
    label(w, DX_ROW_TS, name, labels->ts);
    if (is_by_record(w, DX_ROW_TS))
        labels->by_record |= DX_COLUMNS_TS;
    if (rc == DX_OK && want->dataset != NULL)
        rc = locate_column(w, want->dataset, DX_ROW_DATASET, false);
    label(w, DX_ROW_DATASET, want->dataset, labels->dataset);
    for (size_t i = 0; rc == DX_OK && i < want->extra_count; i++) {
        rc = locate_column(w, want->extra[i], DX_ROW_EXTRA + i,
                           i < want->extra_optional || want->extras_may_lack);
        if (w->out->column[DX_ROW_EXTRA + i].from == DX_PARQUET_ABSENT)
            labels->lacking |= UINT32_C(1) << i;
        if (is_by_record(w, DX_ROW_EXTRA + i))
            labels->by_record |= UINT64_C(1) << i;
        label(w, DX_ROW_EXTRA + i, want->extra[i], labels->extra[i]);
    }
    for (size_t i = DX_ROW_TS; rc == DX_OK && i < DX_ROW_EXTRA + want->extra_count; i++)
        rc = check_repeated(w, i);
    for (size_t i = 0; rc == DX_OK && i < DX_ROW_EXTRA + want->extra_count; i++)
        set_bytes(w, i);
    return rc;
}

int dx_parquet_columns_find(struct dx_parquet_columns *c, const struct dx_pq_footer *f,
                            const struct dx_columns_want *want, const char *path,
                            struct dx_error *err)
{
    const struct find w = { c, f, want, path, err };

    *c = (struct dx_parquet_columns){ .extra_count = want->extra_count };
    return find_all(&w);
}

void dx_parquet_columns_release(struct dx_parquet_columns *c)
{
    for (size_t i = 0; i < sizeof c->owned / sizeof *c->owned; i++)
        free(c->owned[i]);
}
