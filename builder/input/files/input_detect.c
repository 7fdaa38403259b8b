/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/files/input_detect.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/civil_time.h"
#include "builder/input/archive/warc_rows.h"
#include "builder/input/bytes/cdx_line.h"
#include "builder/input/bytes/input.h"
#include "builder/input/parquet/parquet_rows.h"
#include "builder/input/records/input_format.h"
#include "builder/input/records/input_time.h"
#include "builder/input/records/rejects.h"
#include "format/text/record_fields.h"
#include "parquet/footer.h"

#define WINDOW_MAX (256u << 20)
#define MEMORY (1u << 30)            /* the default of ingest */
#define RECORD_MAX ((size_t)1 << 20) /* larger JSON is not parsed into a tree */
#define JSON_DEPTH 4

/* The input while it is looked at. */
struct look {
    struct dx_detected *d;
    const char *path;
    struct dx_span record[DX_DETECT_RECORDS];
    size_t count;
    struct dx_span header;
    struct dx_fields fields;
    char dataset[DX_DATASET_TEMPLATE_MAX];
};

static struct dx_detected_column *column_at(struct dx_detected *d, const char *name)
{
    struct dx_detected_column *c;

    for (size_t i = 0; i < d->column_count && i < DX_DETECT_COLUMNS; i++)
        if (strcmp(d->column[i].name, name) == 0)
            return &d->column[i];
    if (d->column_count >= DX_DETECT_COLUMNS || strlen(name) >= sizeof c->name) {
        d->column_count++;
        return NULL;
    }
    c = &d->column[d->column_count++];
    (void)snprintf(c->name, sizeof c->name, "%s", name);
    return c;
}

/* ---- values ---- */

static bool is_url(struct dx_span s)
{
    return (s.size > 10 && strncasecmp((const char *)s.data, "http://", 7) == 0) ||
           (s.size > 11 && strncasecmp((const char *)s.data, "https://", 8) == 0);
}

/* Numbers only where they have as many digits as the times of our days. */
static bool is_time(struct dx_span s)
{
    size_t digits = 0;
    int64_t us;

    while (digits < s.size && s.data[digits] >= '0' && s.data[digits] <= '9')
        digits++;
    if (digits == s.size && digits != 10 && digits != 13 && digits != 14 && digits != 16)
        return false;
    return s.size >= 8 && dx_input_time(s, DX_TS_AUTO, &us);
}

static void count_value(struct dx_detected_column *c, struct dx_span s)
{
    if (c == NULL || s.data == NULL || s.size == 0)
        return;
    c->values++;
    c->urls += is_url(s);
    c->times += is_time(s);
}

static void type_column(struct dx_detected_column *c, const char *type)
{
    if (c == NULL || strcmp(c->type, type) == 0)
        return;
    (void)snprintf(c->type, sizeof c->type, "%s", c->type[0] == '\0' ? type : "mixed");
}

/* The first column of which nearly all values are such; NULL: none. */
static const char *by_values(const struct dx_detected *d, bool urls)
{
    for (size_t i = 0; i < d->column_count && i < DX_DETECT_COLUMNS; i++) {
        const struct dx_detected_column *c = &d->column[i];

        if (c->values > 0 && (urls ? c->urls : c->times) * 10 >= c->values * 9)
            return c->name;
    }
    return NULL;
}

/* ---- columns of each format ---- */

static void name_key(char *out, size_t size, const char *above, const char *key)
{
    const char *quote = strpbrk(key, ".\"") != NULL || key[0] == '\0' ? "\"" : "";

    (void)snprintf(out, size, "%s%s%s%s%s", above, above[0] == '\0' ? "" : ".", quote, key, quote);
}

static void look_at_json(struct dx_detected *d, const json_t *value, const char *name, int depth)
{
    static const char *const types[] = {
        [JSON_OBJECT] = "object",  [JSON_ARRAY] = "list",  [JSON_STRING] = "string",
        [JSON_INTEGER] = "number", [JSON_REAL] = "number", [JSON_TRUE] = "boolean",
        [JSON_FALSE] = "boolean"
    };
    struct dx_detected_column *c;

    if (json_is_object(value) && depth < JSON_DEPTH) {
        void *at = json_object_iter((json_t *)(uintptr_t)value);

        for (; at != NULL; at = json_object_iter_next((json_t *)(uintptr_t)value, at)) {
            char path[4 * DX_COLUMN_LABEL];

            name_key(path, sizeof path, name, json_object_iter_key(at));
            look_at_json(d, json_object_iter_value(at), path, depth + 1);
        }
        return;
    }
    if (json_is_string(value) && depth > 0 && depth < JSON_DEPTH &&
        json_string_value(value)[0] == '{') {
        json_t *inside = json_loads(json_string_value(value), 0, NULL);

        if (json_is_object(inside))
            look_at_json(d, inside, name, JSON_DEPTH - 1); /* its strings are not looked into */
        json_decref(inside);
    }
    c = column_at(d, name);
    if (c == NULL || json_is_null(value))
        return;
    type_column(c, types[json_typeof(value)]);
    if (json_is_string(value))
        count_value(
            c, dx_span_of((const uint8_t *)json_string_value(value), json_string_length(value)));
}

static void look_at_json_lines(const struct look *l)
{
    for (size_t i = 0; i < l->count; i++) {
        struct dx_span time, json = l->record[i];
        json_t *tree = NULL;

        if (l->d->format == DX_RECORD_CDXJ && !dx_cdx_json(json, &time, &json))
            continue;
        if (json.size <= RECORD_MAX)
            tree = json_loadb((const char *)json.data, json.size, JSON_ALLOW_NUL, NULL);
        if (json_is_object(tree))
            look_at_json(l->d, tree, "", 0);
        json_decref(tree);
    }
}

static size_t split(struct look *l, struct dx_span record)
{
    bool ok = true;

    if (l->d->format == DX_RECORD_CSV)
        return dx_fields_csv(record, l->fields.split, DX_COLUMN_NUMBER_MAX, &l->fields.scratch,
                             &ok);
    if (l->d->format == DX_RECORD_TSV)
        return dx_fields_tsv(record, l->fields.split, DX_COLUMN_NUMBER_MAX);
    if (l->d->format == DX_RECORD_CDX)
        return dx_cdx_split(record, l->fields.split, DX_DETECT_COLUMNS);
    if (l->d->format == DX_RECORD_CDX_JSON)
        return dx_json_row(record, l->fields.split, DX_COLUMN_NUMBER_MAX, &l->fields.scratch, &ok);
    l->fields.split[0] = record;
    return 1;
}

static bool is_number(struct dx_span s)
{
    for (size_t i = 0; i < s.size; i++)
        if (strchr("0123456789.-", s.data[i]) == NULL || s.data[i] == 0)
            return false;
    return true; /* an empty field is not a name either */
}

/* A header has names: no URL, time or number among them. */
static bool begins_with_header(struct look *l)
{
    size_t n = split(l, l->record[0]);

    if (l->d->format == DX_RECORD_CDX_JSON)
        return true;
    if (l->d->format != DX_RECORD_CSV && l->d->format != DX_RECORD_TSV)
        return false;
    for (size_t i = 0; i < n; i++)
        if (is_url(l->fields.split[i]) || is_time(l->fields.split[i]) ||
            is_number(l->fields.split[i]))
            return false;
    return true;
}

static void name_field(const struct look *l, const struct dx_cdx_layout *layout, size_t i,
                       struct dx_span header, char *out, size_t size)
{
    if (layout->count > i && layout->name[i][0] != '\0')
        (void)snprintf(out, size, "%s", layout->name[i]);
    else if (l->d->header && header.size > 0)
        (void)snprintf(out, size, "%.*s", (int)header.size, (const char *)header.data);
    else
        (void)snprintf(out, size, "%zu", i + 1);
}

static void look_at_table(struct look *l)
{
    struct dx_detected_column *of[DX_DETECT_COLUMNS]; /* of each field; NULL: it is only counted */
    struct dx_cdx_layout layout = { .count = 0 };
    size_t first = 0;
    size_t named;

    if (l->d->format == DX_RECORD_CDX)
        (void)dx_cdx_layout(l->header.size > 0 ? l->header : l->record[0], &layout);
    l->d->header = begins_with_header(l);
    named = split(l, l->record[0]);
    for (size_t i = 0; i < named; i++) {
        struct dx_detected_column *c;
        char name[DX_COLUMN_LABEL * 2];

        name_field(l, &layout, i, l->fields.split[i], name, sizeof name);
        c = column_at(l->d, name);
        if (i < DX_DETECT_COLUMNS)
            of[i] = c;
    }
    first = l->d->header ? 1 : 0;
    for (size_t k = first; k < l->count; k++) {
        size_t n = split(l, l->record[k]);

        for (size_t i = 0; i < n && i < named && i < DX_DETECT_COLUMNS; i++)
            count_value(of[i], l->fields.split[i]);
    }
    for (size_t i = 0; i < l->d->column_count && i < DX_DETECT_COLUMNS; i++)
        type_column(&l->d->column[i], "text");
}

static void look_at_parquet(void *ctx, const char *path, const struct dx_pq_node *node,
                            const struct dx_pq_chunk *chunk)
{
    static const char *const units[] = { "", " (ms)", " (us)", " (ns)", " (INT96)" };
    struct look *l = ctx;
    struct dx_detected_column *c = column_at(l->d, path);

    l->d->container = chunk == NULL ? "" : dx_pq_codec_name(chunk->codec);
    if (c == NULL)
        return;
    if (node->time_unit != DX_PQ_TIME_NONE && node->time_unit <= DX_PQ_TIME_INT96)
        (void)snprintf(c->type, sizeof c->type, "timestamp%s", units[node->time_unit]);
    else if (node->logical == DX_PQ_LOGICAL_NONE)
        (void)snprintf(c->type, sizeof c->type, "%s", dx_pq_type_name((unsigned)node->type));
    else
        (void)snprintf(c->type, sizeof c->type, "%s", dx_pq_logical_name(node->logical));
    (void)snprintf(c->type + strlen(c->type), sizeof c->type - strlen(c->type), "%s%s",
                   node->max_rep > 0 ? ", list" : "",
                   chunk != NULL && chunk->is_encrypted ? ", encrypted" : "");
    if (node->logical == DX_PQ_LOGICAL_TIMESTAMP || node->type == DX_PQ_INT96)
        c->values = c->times = 1;
}

/* ---- profile ---- */

/* metadata."WARC-Date" is metadata.WARC-Date among the columns of a profile. */
static bool is_name(const char *name, const char *plain)
{
    for (; *name != '\0'; name++) {
        if (*name == '"')
            continue;
        if (*plain != *name)
            return false;
        plain++;
    }
    return *plain == '\0';
}

/* Columns below it count: images.list.element is of images. */
static bool is_name_or_below(const char *name, const char *plain)
{
    size_t n = strlen(plain);

    return is_name(name, plain) || (strncmp(name, plain, n) == 0 && name[n] == '.');
}

/* "headers.key_value.key" is the map that "headers.date" may be a key of. */
static bool is_map_of(const char *name, const char *plain)
{
    static const char *const ends[] = { ".key_value.key", ".map.key", ".entries.key" };
    size_t n = strlen(name);

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t end = strlen(ends[i]);

        if (n > end && strcmp(name + n - end, ends[i]) == 0 && strncmp(name, plain, n - end) == 0 &&
            plain[n - end] == '.')
            return true;
    }
    return false;
}

static bool has_column(const struct dx_detected *d, const char *plain)
{
    for (size_t i = 0; i < d->column_count && i < DX_DETECT_COLUMNS; i++)
        if (is_name_or_below(d->column[i].name, plain) || is_map_of(d->column[i].name, plain))
            return true;
    return false;
}

/* How many of its columns show that a file is of a profile; 0: it is not. */
static size_t fits(const struct dx_profile *p, const struct dx_detected *d)
{
    size_t n = 0;

    if (p->format != DX_RECORD_AUTO && p->format != d->format)
        return 0;
    if (p->format == DX_RECORD_CDX || p->format == DX_RECORD_CDXJ)
        return 1;
    for (; p->sign[n] != NULL; n++)
        if (!has_column(d, p->sign[n]))
            return 0;
    return p->sign_all && d->column_count != n ? 0 : n;
}

static const struct dx_profile *find_profile(const struct dx_detected *d)
{
    const struct dx_profile *best = NULL;
    size_t most = 0;

    for (size_t i = 0; i < dx_profile_count; i++) {
        size_t n = fits(&dx_profiles[i], d);

        if (n > most) {
            best = &dx_profiles[i];
            most = n;
        }
    }
    return best;
}

/* ---- rows ---- */

static void put_cut(struct dx_buf *out, struct dx_span s, size_t most)
{
    dx_rejects_text(out, dx_span_of(s.data, s.size < most ? s.size : most));
    if (s.size > most)
        dx_buf_str(out, "...");
}

static void show_row(struct look *l, const struct dx_columns *cols,
                     const struct dx_columns_want *want)
{
    const struct dx_fields *f = &l->fields;
    struct dx_buf text = DX_BUF_INIT(64 * DX_DETECT_TEXT);
    char ts[DX_CIVIL_TEXT] = "no time";
    int64_t us;

    if (f->ts.size > 0 && dx_input_time(f->ts, dx_columns_ts_unit(cols, DX_TS_AUTO), &us))
        (void)dx_civil_text_us(us, ts);
    dx_buf_fmt(&text, "%s  ", ts);
    put_cut(&text, f->url, DX_DETECT_TEXT / 4);
    if (f->dataset.size > 0) {
        dx_buf_str(&text, "  dataset=");
        put_cut(&text, f->dataset, 40);
    }
    for (size_t i = 0; i < cols->extra_count; i++)
        if (f->extra[i].size > 0 && want->extra_name[i] != NULL) {
            dx_buf_fmt(&text, "  %s=", want->extra_name[i]);
            put_cut(&text, f->extra[i], 40);
        }
    dx_buf_u8(&text, 0);
    (void)snprintf(l->d->row[l->d->row_count++], DX_DETECT_TEXT, "%s",
                   text.failed ? "?" : (const char *)text.data);
    dx_buf_release(&text);
}

/* Shows the first records, columns found. *urls: how many of those looked at have one. */
static int pick_rows(struct look *l, const struct dx_columns *cols,
                     const struct dx_columns_want *want, unsigned *urls)
{
    *urls = 0;
    l->d->row_count = 0;
    (void)snprintf(l->d->url, sizeof l->d->url, "%s", cols->url_label);
    (void)snprintf(l->d->ts, sizeof l->d->ts, "%s", cols->ts_label);
    for (size_t i = cols->header ? 1 : 0; i < l->count; i++) {
        int why = dx_columns_pick(cols, l->record[i], &l->fields);

        if (why < 0)
            return why;
        if (why > 0)
            continue;
        *urls += is_url(l->fields.url);
        if (l->d->row_count < DX_DETECT_ROWS)
            show_row(l, cols, want);
    }
    return DX_OK;
}

static void want_columns(const struct look *l, struct dx_columns_want *want,
                         struct dx_dataset_template *t)
{
    *want = (struct dx_columns_want){ .url = l->d->url_given, .ts = l->d->ts_given };
    if (l->d->profile == NULL)
        return;
    dx_profile_apply(l->d->profile, want);
    if (dx_dataset_template_parse(t, l->d->profile->dataset, NULL) < 0 ||
        dx_dataset_template_fill(t->prefix, l->path, l->d->dataset, sizeof l->d->dataset, NULL) < 0)
        return;
    want->dataset_prefix = t->prefix;
    want->dataset = t->column[0] == '\0' ? NULL : t->column;
    if (want->dataset != NULL)
        (void)snprintf(l->d->dataset, sizeof l->d->dataset, "%s", l->d->profile->dataset);
}

static void set_records(struct look *l, const struct dx_batch *batch)
{
    for (l->count = 0; l->count < DX_DETECT_RECORDS && l->count < batch->count; l->count++)
        l->record[l->count] = dx_batch_record(batch, l->count);
}

static int pick_parquet(struct look *l, unsigned *urls, struct dx_error *err)
{
    struct dx_dataset_template t;
    struct dx_columns_want want;
    struct dx_parquet_rows *rows = NULL;
    struct dx_batch batch = { .data = NULL };
    int rc;

    want_columns(l, &want, &t);
    rc = dx_parquet_rows_open(&rows, l->path, &want, MEMORY, err);
    if (rc == DX_OK)
        do
            rc = dx_parquet_rows_fill(rows, &batch, err);
        while (rc == DX_RECORDS_GROW);
    if (rc >= 0) {
        set_records(l, &batch);
        rc = pick_rows(l, dx_parquet_rows_columns(rows), &want, urls);
    }
    dx_parquet_rows_close(&rows);
    dx_batch_release(&batch);
    dx_columns_want_release(&want);
    return rc;
}

static int pick_text(struct look *l, unsigned *urls, struct dx_error *err)
{
    struct dx_columns_sample sample = { l->record, l->count, l->header };
    struct dx_columns *cols = calloc(1, sizeof *cols);
    struct dx_dataset_template t;
    struct dx_columns_want want;
    int rc;

    if (cols == NULL)
        return dx_no_memory(err, "%s", l->path);
    want_columns(l, &want, &t);
    rc = dx_columns_resolve(cols, &want, l->d->format, &sample, l->path, err);
    if (rc == DX_OK)
        rc = pick_rows(l, cols, &want, urls);
    free(cols);
    dx_columns_want_release(&want);
    return rc;
}

static int pick_any(struct look *l, unsigned *urls, struct dx_error *err)
{
    int rc = l->d->format == DX_RECORD_PARQUET ? pick_parquet(l, urls, err)
                                               : pick_text(l, urls, err);

    return rc == DX_E_NOMEM ? dx_no_memory(err, "%s", l->path) : rc;
}

/* A column of strings of which the first rows are URLs. */
static int guess_parquet_url(struct look *l, struct dx_error *err)
{
    for (size_t i = 0; i < l->d->column_count && i < DX_DETECT_COLUMNS; i++) {
        unsigned urls = 0;

        l->d->url_given = l->d->column[i].name;
        if (strncmp(l->d->column[i].type, "timestamp", 9) != 0 &&
            pick_any(l, &urls, NULL) == DX_OK && urls > 0 && (size_t)urls * 10 >= l->count * 9)
            return pick_any(l, &urls, err);
    }
    l->d->url_given = NULL;
    l->d->row_count = 0;
    return DX_E_INVALID;
}

/* Columns by their names, then by their values. */
static int find_columns(struct look *l, struct dx_error *err)
{
    struct dx_detected *d = l->d;
    unsigned urls;
    int rc = pick_any(l, &urls, err);

    if (rc == DX_E_INVALID && d->profile == NULL && d->format == DX_RECORD_PARQUET)
        rc = guess_parquet_url(l, err);
    else if (rc == DX_E_INVALID && d->profile == NULL &&
             (d->url_given = by_values(d, true)) != NULL)
        rc = pick_any(l, &urls, err);
    if (rc == DX_OK && d->profile == NULL && d->ts[0] == '\0' &&
        (d->ts_given = by_values(d, false)) != NULL)
        rc = pick_any(l, &urls, err);
    if (rc == DX_OK && d->row_count == 0 && l->count > 0)
        rc = dx_fail(err, DX_E_INVALID,
                     "%s: none of the first %zu records has a URL in column %s; give --url-column",
                     l->path, l->count, d->url);
    return rc;
}

/* ---- inputs ---- */

static int set_format(struct look *l, struct dx_records *records, enum dx_record_format asked,
                      struct dx_error *err)
{
    struct dx_input_head head = { .name = l->path };
    int rc = dx_records_head(records, &head.bytes, &head.whole, err);

    if (rc == DX_OK)
        rc = dx_input_format_find(&head, asked, false, &l->d->format, err);
    /* A table without a header: a line may be meant as a URL, if no --format says otherwise. */
    if (rc == DX_E_INVALID && asked == DX_RECORD_AUTO &&
        dx_input_format_find(&head, asked, true, &l->d->format, NULL) == DX_OK) {
        l->d->format_given = true;
        rc = DX_OK;
    }
    if (rc == DX_OK && dx_record_is_wrapped(l->d->format, head.bytes))
        rc = dx_records_unwrap(records, err);
    if (rc == DX_OK)
        dx_records_set_format(records, l->d->format);
    else
        l->d->format = DX_RECORD_AUTO; /* what was tried last */
    return rc;
}

static int look_at_records(struct look *l, struct dx_error *err)
{
    if (l->count == 0)
        return dx_fail(err, DX_E_INVALID, "%s: has no record", l->path);
    if (l->d->format == DX_RECORD_JSONL || l->d->format == DX_RECORD_CDXJ)
        look_at_json_lines(l);
    else
        look_at_table(l);
    if (l->d->profile == NULL)
        l->d->profile = find_profile(l->d);
    return find_columns(l, err);
}

/* The profile that the format or the ending of a WARC's name says. */
static const struct dx_profile *warc_profile(const struct look *l)
{
    const struct dx_profile *p = NULL;

    (void)dx_profile_get(&p,
                         l->d->format == DX_RECORD_ARC     ? "arc"
                         : strstr(l->path, ".wat") != NULL ? "wat"
                         : strstr(l->path, ".wet") != NULL ? "wet"
                                                           : "warc",
                         NULL);
    return p;
}

static int detect_warc(struct look *l, struct dx_input *in, struct dx_error *err)
{
    struct dx_dataset_template t;
    struct dx_columns_want want;
    struct dx_warc_rows *rows = NULL;
    struct dx_batch batch = { .data = NULL };
    unsigned urls;
    int rc;

    if (l->d->profile == NULL)
        l->d->profile = warc_profile(l);
    want_columns(l, &want, &t);
    rc = dx_warc_rows_open(&rows, in, l->d->format, &want, err);
    if (rc == DX_OK)
        do
            rc = dx_warc_rows_fill(rows, &batch, err);
        while (rc == DX_RECORDS_GROW);
    if (rc >= 0) {
        set_records(l, &batch);
        rc = pick_rows(l, dx_warc_rows_columns(rows), &want, &urls);
    }
    dx_warc_rows_close(&rows);
    dx_batch_release(&batch);
    dx_columns_want_release(&want);
    return rc;
}

static int detect_text(struct look *l, enum dx_record_format asked, struct dx_error *err)
{
    struct dx_input *in = NULL;
    struct dx_records *records = NULL;
    struct dx_batch batch = { .data = NULL };
    int rc = dx_input_open(&in, l->path, WINDOW_MAX, err);

    if (rc == DX_OK) {
        l->d->container = dx_input_container(in);
        rc = dx_warc_rows_is(in, asked, err);
    }
    if (rc > 0) {
        l->d->format = (enum dx_record_format)rc;
        rc = detect_warc(l, in, err);
        dx_input_close(&in);
        return rc;
    }
    if (rc == DX_OK)
        rc = dx_records_new(&records, in, DX_LINE_MAX, err);
    if (rc == DX_OK)
        rc = set_format(l, records, asked, err);
    if (rc == DX_OK)
        do
            rc = dx_records_fill(records, &batch, err);
        while (rc == DX_RECORDS_GROW);
    if (rc >= 0) {
        l->header = dx_records_header(records);
        set_records(l, &batch);
        rc = look_at_records(l, err);
    }
    dx_batch_release(&batch);
    dx_records_free(&records);
    dx_input_close(&in);
    return rc;
}

static int detect_parquet(struct look *l, struct dx_error *err)
{
    int rc;

    l->d->format = DX_RECORD_PARQUET;
    rc = dx_parquet_rows_schema(l->path, look_at_parquet, l, err);
    if (rc < 0)
        return rc;
    if (l->d->profile == NULL)
        l->d->profile = find_profile(l->d);
    return find_columns(l, err);
}

int dx_input_detect(struct dx_detected **out, const char *path, enum dx_record_format format,
                    const struct dx_profile *profile, struct dx_error *err)
{
    struct dx_detected *d = calloc(1, sizeof *d);
    struct look *l = calloc(1, sizeof *l);
    int rc = d == NULL || l == NULL ? dx_no_memory(err, "%s", path) : DX_OK;

    *out = d;
    if (rc == DX_OK)
        rc = dx_fields_init(&l->fields, err);
    if (rc < 0) {
        free(l);
        return rc;
    }
    l->d = d;
    l->path = path;
    d->container = "";
    d->profile = profile;
    d->format_given = format != DX_RECORD_AUTO;
    if (profile != NULL && format == DX_RECORD_AUTO)
        format = profile->format;
    rc = format == DX_RECORD_PARQUET ? 1
         : format == DX_RECORD_AUTO  ? dx_parquet_rows_is(path, err)
                                     : 0;
    if (rc >= 0)
        rc = rc > 0 ? detect_parquet(l, err) : detect_text(l, format, err);
    dx_fields_release(&l->fields);
    free(l);
    return rc;
}

void dx_input_detect_free(struct dx_detected **d)
{
    free(*d);
    *d = NULL;
}
