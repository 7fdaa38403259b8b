/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/parquet/parquet_rows.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/json_out.h"
#include "builder/input/bytes/input_ranges.h"
#include "builder/input/parquet/parquet_columns.h"
#include "builder/input/parquet/parquet_footer.h"
#include "builder/input/records/row_record.h"
#include "fetch/source.h"
#include "parquet/chunk.h"
#include "parquet/value_text.h"

#define WINDOW (1u << 20)
#define PAGE_BYTES_MIN (1u << 20)
#define PAGE_BYTES_MAX (128u << 20)
#define PART_ROWS 16384
#define VALUE_BYTES 24                  /* of a page that is decoded, besides text */
#define ROW_TEXT_MAX ((size_t)64 << 20) /* of the elements of one row */
#define TOO_LONG_KEPT 4096              /* of the URL of a record too long, for the rejects file */
#define LEVELS_MAX 16                   /* lists in lists, as extras */
#define FIELDS_MAX (DX_ROW_EXTRA + DX_EXTRA_COLUMNS_MAX)

/* Where a value lies: outside (data), or in the text of its column. */
struct element {
    struct dx_span span;
    size_t at;
    bool in_text;
};

/* What is read of one column. */
struct column {
    const struct dx_parquet_column *is;
    struct column *key;              /* of a map: the keys, slot by slot with the values */
    struct dx_parquet_column key_is; /* what `is` points to in a column of keys */
    struct dx_pq_reader reader;
    struct dx_pq_values values;
    uint32_t slot;           /* the next one of values */
    bool goes_along;         /* an element for each of the URL's */
    bool is_direct;          /* one value a row, whose text is in the page */
    struct dx_buf text;      /* of values that are made or kept, of the current row */
    struct dx_buf scratch;   /* of JSON */
    struct element *element; /* of the current row; one where the column is not repeated */
    size_t count, room, room_max;
    /* Of arrays: the definition level from which on an element of each repetition level exists, and how many are open. */
    uint8_t level_def[LEVELS_MAX + 1];
    unsigned open;
};

struct dx_parquet_rows {
    struct dx_input_ranges *ranges;
    const char *name;
    struct dx_buf metadata;
    struct dx_pq_footer footer;
    struct dx_pq_fetch fetch;
    struct dx_pq_limits limits;
    uint32_t page_bytes;                   /* of limits, when it was opened */
    uint64_t value_bytes, value_bytes_max; /* for the values of all columns; when it was opened */
    struct dx_parquet_columns columns;
    struct column field[FIELDS_MAX];
    size_t field_count;
    struct dx_columns cols;
    uint32_t group, group_end;
    uint64_t row;        /* in the group, of the next row to load */
    uint64_t row_number; /* in the file, of the current row, from 1 */
    bool in_group;
    size_t next_element; /* of the current row, to be given */
    size_t element_count;
    bool partial; /* the record did not fit the batch given last */
};

bool dx_parquet_rows_named(const char *path)
{
    static const char *const endings[] = { ".parquet", ".parq", ".pq" };
    size_t n = strlen(path);

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (n > strlen(endings[i]) && strcasecmp(path + n - strlen(endings[i]), endings[i]) == 0)
            return true;
    return false;
}

int dx_parquet_rows_is(const char *path, struct dx_error *err)
{
    struct dx_input_ranges *r = NULL;
    uint8_t magic[4] = { 0 };
    struct stat st;
    int rc;

    if (dx_source_remote(path))
        return dx_parquet_rows_named(path);
    if (strcmp(path, "-") == 0 || stat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 4)
        return 0;
    rc = dx_input_ranges_open(&r, path, err);
    if (rc == DX_OK)
        rc = dx_input_ranges_read(r, 0, sizeof magic, magic, err);
    dx_input_ranges_close(&r);
    return rc < 0 ? rc : memcmp(magic, "PAR1", sizeof magic) == 0;
}

/* ---- opening ---- */

static int fail_at_column(const struct dx_parquet_rows *p, const struct column *c,
                          struct dx_error *err)
{
    const char *hint = err != NULL && err->code == DX_E_LIMIT &&
                               (p->limits.page_bytes < PAGE_BYTES_MAX ||
                                c->reader.limits.page_rows < p->limits.page_rows)
                           ? " (a page may have an eighth of --memory, and the values of all "
                             "columns together a quarter, nulls among them)"
                           : "";
    char path[160];

    return dx_fail_in(err, "%s: row group %" PRIu32 ", column %s%s", p->name, p->group,
                      dx_pq_footer_path(&p->footer, c->is->found.leaf, path, sizeof path), hint);
}

static int find_levels(const struct dx_parquet_rows *p, struct column *c, struct dx_error *err)
{
    uint32_t node = p->footer.leaf[c->is->found.leaf];

    if (p->footer.node[node].max_rep > LEVELS_MAX)
        return dx_fail(err, DX_E_UNSUPPORTED, "over %d lists in each other", LEVELS_MAX);
    for (; node != 0; node = p->footer.node[node].parent)
        if (p->footer.node[node].repetition == DX_PQ_REPEATED)
            c->level_def[p->footer.node[node].max_rep] = p->footer.node[node].max_def;
    return DX_OK;
}

static int check_column(struct dx_parquet_rows *p, const struct column *c, struct dx_error *err)
{
    struct dx_pq_column ignored;
    int rc = dx_pq_text_check(&p->footer, c->is->found.leaf, err);

    if (rc == DX_OK && p->footer.group_count > 0)
        rc = dx_pq_footer_nested_column(&p->footer, 0, c->is->found.leaf, &ignored, err);
    if (rc == DX_OK && p->footer.group_count > 0)
        rc = dx_pq_column_check(&ignored, err);
    return rc < 0 ? fail_at_column(p, c, err) : DX_OK;
}

static bool is_direct(const struct dx_parquet_rows *p, const struct dx_parquet_column *is)
{
    const struct dx_pq_node *node = &p->footer.node[p->footer.leaf[is->found.leaf]];

    return dx_pq_text_is_plain(node) && node->logical != DX_PQ_LOGICAL_NULL && !is->is_map &&
           !is->may_be_hex && is->json_count == 0 && is->found.repeated_at == 0;
}

/* A list of nulls takes no bytes in its file, and a row may go on over any number of pages. By address: a copy reads
 * in one piece what was just written in two, which waits for both. */
static int add_element(struct column *c, const struct element *e, struct dx_error *err)
{
    if (c->count == c->room) {
        size_t room = c->room == 0 ? 1 : c->room * 2;
        struct element *more;

        if (c->count == c->room_max)
            return dx_fail(err, DX_E_LIMIT,
                           "a row of over %zu elements: they may have an eighth of --memory too",
                           c->room_max);
        room = room < c->room_max ? room : c->room_max;
        more = realloc(c->element, room * sizeof *more);
        if (more == NULL)
            return dx_no_memory(err, "elements of a row");
        c->element = more;
        c->room = room;
    }
    c->element[c->count++] = *e;
    return DX_OK;
}

static int open_keys(struct dx_parquet_rows *p, struct column *c, struct dx_error *err)
{
    struct column *k = calloc(1, sizeof *k);

    c->key = k;
    if (k == NULL)
        return dx_no_memory(err, "%s", p->name);
    k->key_is = (struct dx_parquet_column){ .from = DX_PARQUET_FROM_LEAF,
                                            .found.leaf = c->is->key_leaf };
    k->is = &k->key_is;
    k->reader = (struct dx_pq_reader)DX_PQ_READER_INIT;
    k->values = (struct dx_pq_values)DX_PQ_VALUES_INIT;
    dx_buf_init(&k->reader.walk.window, 0);
    return check_column(p, k, err);
}

static int open_fields(struct dx_parquet_rows *p, struct dx_error *err)
{
    int rc = DX_OK;

    p->field_count = DX_ROW_EXTRA + p->columns.extra_count;
    for (size_t i = 0; rc == DX_OK && i < p->field_count; i++) {
        struct column *c = &p->field[i];

        *c = (struct column){ .is = &p->columns.column[i],
                              .reader = DX_PQ_READER_INIT,
                              .values = DX_PQ_VALUES_INIT,
                              .room_max = p->page_bytes / sizeof(struct element) };
        dx_buf_init(&c->text, ROW_TEXT_MAX);
        dx_buf_init(&c->scratch, ROW_TEXT_MAX);
        dx_buf_init(&c->reader.walk.window, 0);
        if (c->is->from != DX_PARQUET_FROM_LEAF) {
            /* Of all rows. */
            rc = add_element(c, &(struct element){ .span = c->is->constant }, err);
            continue;
        }
        c->is_direct = is_direct(p, c->is);
        /* Whose span load_direct sets. */
        rc = c->is_direct ? add_element(c, &(struct element){ .in_text = false }, err) : DX_OK;
        if (rc < 0)
            return rc;
        c->goes_along = c->is->found.repeated_at != 0 && (!c->is->is_array || c->is->apart > 0);
        rc = c->is->is_array ? find_levels(p, c, err) : DX_OK;
        if (rc < 0)
            return fail_at_column(p, c, err);
        rc = check_column(p, c, err);
        if (rc == DX_OK && c->is->is_map)
            rc = open_keys(p, c, err);
    }
    return rc;
}

/* A folder year=2024 or month=202401 does not say a second of 1970. */
static bool is_year_or_month(const struct dx_parquet_column *c)
{
    size_t n = c->constant.size;

    if (c->from != DX_PARQUET_FROM_PATH || (n != 4 && n != 6))
        return false;
    while (n > 0 && isdigit(c->constant.data[n - 1]))
        n--;
    return n == 0;
}

int dx_parquet_rows_open(struct dx_parquet_rows **out, const char *path,
                         struct dx_columns_want *want, uint64_t memory, struct dx_error *err)
{
    struct dx_parquet_rows *p = calloc(1, sizeof *p);
    uint64_t page = memory / 8;
    int rc;

    *out = NULL;
    if (p == NULL)
        return dx_no_memory(err, "%s", path);
    dx_buf_init(&p->metadata, DX_PQ_FOOTER_MAX);
    p->limits = (struct dx_pq_limits)DX_PQ_LIMITS_DEFAULT;
    p->limits.page_bytes = page < PAGE_BYTES_MIN   ? PAGE_BYTES_MIN
                           : page > PAGE_BYTES_MAX ? PAGE_BYTES_MAX
                                                   : (uint32_t)page;
    p->page_bytes = p->limits.page_bytes;
    p->value_bytes = memory / 4 < PAGE_BYTES_MIN ? PAGE_BYTES_MIN : memory / 4;
    p->value_bytes_max = p->value_bytes;
    rc = dx_input_ranges_open(&p->ranges, path, err);
    if (rc == DX_OK) {
        p->name = dx_input_ranges_name(p->ranges);
        p->fetch = (struct dx_pq_fetch){ dx_parquet_footer_fetch, p->ranges,
                                         dx_source_remote(path) ? DX_INPUT_CHUNK : WINDOW };
        rc = dx_parquet_footer_read(&p->footer, p->ranges, &p->metadata, memory / 2, err);
        if (rc < 0)
            (void)dx_fail_in(err, "%s%s", p->name,
                             rc == DX_E_LIMIT ? " (a footer may have half of --memory)" : "");
    }
    if (rc == DX_OK)
        rc = dx_parquet_columns_find(&p->columns, &p->footer, want, p->name, err);
    if (rc == DX_OK)
        rc = dx_columns_of_row(&p->cols, want, &p->columns.labels, p->name, err);
    p->cols.ts_archive = is_year_or_month(&p->columns.column[DX_ROW_TS]);
    if (rc == DX_OK)
        rc = open_fields(p, err);
    if (rc < 0)
        dx_parquet_rows_close(&p);
    else
        p->group_end = p->footer.group_count;
    *out = p;
    return rc;
}

void dx_parquet_rows_close(struct dx_parquet_rows **out)
{
    struct dx_parquet_rows *p = *out;

    if (p == NULL)
        return;
    for (size_t i = 0; i < p->field_count; i++) {
        dx_pq_reader_release(&p->field[i].reader);
        dx_pq_values_release(&p->field[i].values);
        dx_buf_release(&p->field[i].text);
        dx_buf_release(&p->field[i].scratch);
        free(p->field[i].element);
        if (p->field[i].key != NULL) {
            dx_pq_reader_release(&p->field[i].key->reader);
            dx_pq_values_release(&p->field[i].key->values);
        }
        free(p->field[i].key);
    }
    dx_parquet_columns_release(&p->columns);
    dx_pq_footer_release(&p->footer);
    dx_buf_release(&p->metadata);
    dx_input_ranges_close(&p->ranges);
    free(p);
    *out = NULL;
}

int dx_parquet_rows_schema(const char *path, dx_parquet_rows_on_column *on_column, void *ctx,
                           struct dx_error *err)
{
    struct dx_parquet_rows *p = calloc(1, sizeof *p);
    char name[160];
    int rc;

    if (p == NULL)
        return dx_no_memory(err, "%s", path);
    dx_buf_init(&p->metadata, DX_PQ_FOOTER_MAX);
    rc = dx_input_ranges_open(&p->ranges, path, err);
    if (rc == DX_OK &&
        (rc = dx_parquet_footer_read(&p->footer, p->ranges, &p->metadata, UINT64_MAX, err)) < 0)
        (void)dx_fail_in(err, "%s", dx_input_ranges_name(p->ranges));
    for (uint32_t i = 0; rc == DX_OK && i < p->footer.leaf_count; i++)
        on_column(ctx, dx_pq_footer_path(&p->footer, i, name, sizeof name),
                  &p->footer.node[p->footer.leaf[i]],
                  p->footer.group_count == 0 ? NULL : &p->footer.group[0].chunk[i]);
    dx_parquet_rows_close(&p);
    return rc;
}

const struct dx_columns *dx_parquet_rows_columns(const struct dx_parquet_rows *p)
{
    return &p->cols;
}

uint64_t dx_parquet_rows_size(const struct dx_parquet_rows *p)
{
    return dx_input_ranges_size(p->ranges);
}

uint64_t dx_parquet_rows_consumed(const struct dx_parquet_rows *p)
{
    uint64_t rows = p->footer.row_count;
    double share = rows == 0 || p->row_number > rows ? 1 : (double)p->row_number / (double)rows;

    return (uint64_t)(share * (double)dx_parquet_rows_size(p));
}

/* ---- one column ---- */

static uint64_t kept_values(const struct dx_pq_values *v)
{
    return (uint64_t)v->span_capacity + v->int_capacity;
}

/* A page of nulls, or of one value, takes some bytes in its file however many there are. What other
 * columns keep room for is theirs. */
static uint32_t value_room(const struct dx_parquet_rows *p, const struct column *c)
{
    uint64_t room = p->value_bytes / VALUE_BYTES;

    for (size_t i = 0; i < p->field_count; i++)
        for (const struct column *other = &p->field[i]; other != NULL; other = other->key) {
            uint64_t kept = kept_values(&other->reader.dictionary.values) +
                            kept_values(&other->values);

            if (other != c)
                room -= kept < room ? kept : room;
        }
    return room < p->limits.page_rows ? (uint32_t)room : p->limits.page_rows;
}

/* Of the next page that has values; as find_slot. */
static int find_page(const struct dx_parquet_rows *p, struct column *c, struct dx_error *err)
{
    int rc = 1;

    while (rc > 0 && c->slot == c->values.row_count) {
        c->reader.limits.page_rows = value_room(p, c);
        rc = dx_pq_reader_next(&c->reader, &c->values, err);
        c->slot = 0;
    }
    return rc < 0 ? fail_at_column(p, c, err) : rc;
}

/* 1: c->slot is one of values; 0: the column chunk has ended. */
static int find_slot(const struct dx_parquet_rows *p, struct column *c, struct dx_error *err)
{
    return c->slot < c->values.row_count ? 1 : find_page(p, c, err);
}

/* The first of the paths that the text has a value at, of the URL a text; data NULL: none. */
static struct dx_span out_of_json(const struct dx_parquet_rows *p, struct column *c,
                                  struct dx_span text)
{
    bool is_url = c->is == &p->columns.column[DX_ROW_URL];
    struct dx_json_value value[DX_PARQUET_JSON_MAX];

    if (dx_json_pick(text, c->is->json, c->is->json_count, value, &c->scratch))
        for (size_t i = 0; i < c->is->json_count; i++)
            if (is_url ? value[i].kind == DX_JSON_STRING : dx_json_has_text(&value[i]))
                return value[i].text;
    return (struct dx_span){ NULL, 0 };
}

static struct dx_span without_padding(struct dx_span s)
{
    while (s.size > 0 && (s.data[s.size - 1] == 0 || s.data[s.size - 1] == ' '))
        s.size--;
    return s;
}

/* The value of a slot that is not null. `keep`: it must outlive the page. */
static int take_value(const struct dx_parquet_rows *p, struct column *c, bool keep,
                      struct dx_error *err)
{
    const struct dx_pq_node *node = &p->footer.node[p->footer.leaf[c->is->found.leaf]];
    struct element e = { .at = c->text.size };

    if (c->is->may_be_hex && dx_pq_text_is_hex(node, c->values.spans[c->slot])) {
        dx_pq_text_hex(c->values.spans[c->slot], &c->text);
    } else if (dx_pq_text_is_plain(node) || c->is->is_fixed_text) {
        e.span = c->values.spans[c->slot];
        if (c->is->json_count > 0)
            e.span = out_of_json(p, c, e.span);
        else if (c->is->is_fixed_text)
            e.span = without_padding(e.span);
        if (!keep || e.span.data == NULL)
            return add_element(c, &e, err);
        dx_buf_append(&c->text, e.span.data, e.span.size);
    } else {
        dx_pq_value_text(node, &c->values, c->slot, &c->text);
    }
    if (c->text.failed)
        return dx_buf_fail(&c->text, err, "values of a row");
    e.in_text = true;
    e.span.size = c->text.size - e.at;
    return add_element(c, &e, err);
}

static unsigned definition(const struct column *c)
{
    if (c->values.def != NULL)
        return c->values.def[c->slot];
    return dx_pq_is_null(&c->values, c->slot) ? 0 : c->reader.walk.column.max_def;
}

static int take_slot(const struct dx_parquet_rows *p, struct column *c, struct dx_error *err)
{
    const struct dx_pq_node *node = &p->footer.node[p->footer.leaf[c->is->found.leaf]];
    bool repeated = c->is->found.repeated_at != 0;

    if (repeated && definition(c) < c->is->found.element_def)
        return DX_OK; /* an empty list */
    if (dx_pq_text_is_null(node, &c->values, c->slot))
        return add_element(c, &(struct element){ .in_text = false }, err);
    return take_value(p, c, repeated, err);
}

/* The same, to be kept while other slots of the row are passed. */
static int keep_slot(const struct dx_parquet_rows *p, struct column *c, struct dx_error *err)
{
    const struct dx_pq_node *node = &p->footer.node[p->footer.leaf[c->is->found.leaf]];

    if (dx_pq_text_is_null(node, &c->values, c->slot))
        return add_element(c, &(struct element){ .in_text = false }, err);
    return take_value(p, c, true, err);
}

/* ---- arrays ---- */

static void put_json_value(const struct dx_parquet_rows *p, struct column *c)
{
    const struct dx_pq_node *node = &p->footer.node[p->footer.leaf[c->is->found.leaf]];
    struct dx_span text = { NULL, 0 };

    if (dx_pq_text_is_null(node, &c->values, c->slot)) {
        dx_buf_str(&c->text, "null");
        return;
    }
    dx_buf_clear(&c->scratch);
    if (c->is->json_count > 0) {
        text = out_of_json(p, c, c->values.spans[c->slot]);
    } else if (c->is->may_be_hex && dx_pq_text_is_hex(node, c->values.spans[c->slot])) {
        dx_pq_text_hex(c->values.spans[c->slot], &c->scratch);
        text = dx_span_of(c->scratch.data, c->scratch.size);
    } else if (dx_pq_text_is_plain(node)) {
        text = c->values.spans[c->slot];
    } else {
        dx_pq_value_text(node, &c->values, c->slot, &c->scratch);
        text = dx_span_of(c->scratch.data, c->scratch.size);
    }
    if (c->scratch.failed)
        c->text.failed = true;
    else if (c->is->json_count > 0 && text.data == NULL)
        dx_buf_str(&c->text, "null");
    else if (dx_pq_text_is_number(node, text))
        dx_buf_append(&c->text, text.data, text.size);
    else {
        dx_buf_u8(&c->text, '"');
        dx_json_escape(&c->text, text);
        dx_buf_u8(&c->text, '"');
    }
}

static void close_arrays(struct column *c, unsigned left)
{
    for (; c->open > left; c->open--)
        dx_buf_u8(&c->text, ']');
}

/* The arrays of an element are complete. */
static int end_element(struct column *c, struct dx_error *err)
{
    struct element *e = c->count == 0 ? NULL : &c->element[c->count - 1];

    close_arrays(c, 0);
    if (e != NULL && e->in_text)
        e->span.size = c->text.size - e->at;
    return c->text.failed ? dx_buf_fail(&c->text, err, "values of a row") : DX_OK;
}

/* The arrays that the slot begins, and its value. `level`: the repetition level that it goes on in. */
static void put_levels(const struct dx_parquet_rows *p, struct column *c, unsigned level)
{
    unsigned last = p->footer.node[p->footer.leaf[c->is->found.leaf]].max_rep;
    unsigned def = definition(c);

    while (level++ < last) {
        if (def + 1 < c->level_def[level]) {
            dx_buf_str(&c->text, "null");
            return;
        }
        dx_buf_u8(&c->text, '[');
        c->open++;
        if (def < c->level_def[level])
            return;
    }
    put_json_value(p, c);
}

/* A slot of a column of arrays. */
static int take_array_slot(const struct dx_parquet_rows *p, struct column *c, struct dx_error *err)
{
    unsigned rep = c->values.rep == NULL ? 0 : c->values.rep[c->slot];
    unsigned apart = c->is->apart;
    int rc = DX_OK;

    if (rep > apart) {
        if (rep - apart > c->open)
            return dx_fail(err, DX_E_CORRUPT, "an element of a list that has not begun");
        close_arrays(c, rep - apart);
        dx_buf_u8(&c->text, ',');
        put_levels(p, c, rep);
        return DX_OK;
    }
    rc = end_element(c, err);
    if (rc < 0 || (apart > 0 && definition(c) < c->is->found.element_def))
        return rc; /* of an empty list of URLs */
    if (definition(c) + 1 < c->level_def[apart + 1])
        return add_element(c, &(struct element){ .in_text = false }, err);
    rc = add_element(c, &(struct element){ .at = c->text.size, .in_text = true }, err);
    if (rc == DX_OK)
        put_levels(p, c, apart);
    return rc;
}

/* ---- maps ---- */

/* Which of the wanted keys the entry at the slot has; key_count: none. */
static size_t find_key(const struct dx_parquet_rows *p, const struct column *c)
{
    const struct column *k = c->key;
    size_t i = c->is->key_count;

    if (definition(k) < p->footer.node[p->footer.leaf[k->is->found.leaf]].max_def)
        return i; /* no entry */
    for (i = 0; i < c->is->key_count; i++) {
        struct dx_span key = c->is->key[i], is = k->values.spans[k->slot];

        if (dx_span_equal(key, is) ||
            (c->is->any_case && key.size == is.size &&
             strncasecmp((const char *)key.data, (const char *)is.data, key.size) == 0))
            break;
    }
    return i;
}

/* A slot of keys goes with one of values. 1, or 0: the chunk has ended. */
static int find_entry(const struct dx_parquet_rows *p, struct column *c, struct dx_error *err)
{
    struct column *k = c->key;
    int rc = find_slot(p, c, err);
    int keys = rc < 0 ? rc : find_slot(p, k, err);

    if (rc < 0 || keys < 0)
        return rc < 0 ? rc : keys;
    if (rc != keys || (rc > 0 && (c->values.rep == NULL || k->values.rep == NULL ||
                                  c->values.rep[c->slot] != k->values.rep[k->slot])))
        rc = dx_fail(err, DX_E_CORRUPT, "the keys of a map are not those of its values");
    return rc < 0 ? fail_at_column(p, c, err) : rc;
}

/* The value of the first of the keys that has one; of equal keys the first counts, as in DuckDB. */
static int load_entry(const struct dx_parquet_rows *p, struct column *c, struct dx_error *err)
{
    const struct dx_pq_node *node = &p->footer.node[p->footer.leaf[c->is->found.leaf]];
    size_t best = c->is->key_count;
    int rc = find_entry(p, c, err);

    if (rc == 0 || (rc > 0 && c->values.rep[c->slot] != 0))
        rc = dx_fail(err, DX_E_CORRUPT, "row %" PRIu64 " of the group does not begin", p->row);
    while (rc > 0) {
        size_t i = find_key(p, c);

        if (i < best && (c->is->key_count == 1 || !dx_pq_text_is_null(node, &c->values, c->slot))) {
            best = i;
            c->count = 0;
            dx_buf_clear(&c->text);
            rc = keep_slot(p, c, err);
        }
        c->slot++;
        c->key->slot++;
        rc = rc < 0 ? fail_at_column(p, c, err) : find_entry(p, c, err);
        if (rc > 0 && c->values.rep[c->slot] == 0)
            rc = 0;
    }
    if (rc < 0)
        return rc;
    return c->count > 0 ? DX_OK : add_element(c, &(struct element){ .in_text = false }, err);
}

/* 1: the slot that a row begins with, as each has to. */
static int begin_row(const struct dx_parquet_rows *p, struct column *c, struct dx_error *err)
{
    int rc = find_slot(p, c, err);

    if (rc < 0 || (rc > 0 && (c->values.rep == NULL || c->values.rep[c->slot] == 0)))
        return rc;
    (void)dx_fail(err, DX_E_CORRUPT, "row %" PRIu64 " of the group does not begin", p->row);
    return fail_at_column(p, c, err);
}

static int load_direct(const struct dx_parquet_rows *p, struct column *c, struct dx_error *err)
{
    int rc = begin_row(p, c, err);

    if (rc < 0)
        return rc;
    c->element->span = dx_pq_is_null(&c->values, c->slot) ? (struct dx_span){ NULL, 0 }
                                                          : c->values.spans[c->slot];
    c->slot++;
    return DX_OK;
}

/* The elements of the next row of a column. */
static int load_column(const struct dx_parquet_rows *p, struct column *c, struct dx_error *err)
{
    int rc;

    if (c->is->from != DX_PARQUET_FROM_LEAF)
        return DX_OK;
    if (c->is_direct)
        return load_direct(p, c, err);
    c->count = 0;
    c->open = 0;
    dx_buf_clear(&c->text);
    if (c->is->is_map)
        return load_entry(p, c, err);
    rc = begin_row(p, c, err);
    if (rc < 0)
        return rc;
    do {
        rc = c->is->is_array ? take_array_slot(p, c, err) : take_slot(p, c, err);
        if (rc < 0)
            return fail_at_column(p, c, err);
        c->slot++;
        if (c->is->found.repeated_at == 0)
            return DX_OK;
        rc = find_slot(p, c, err);
        if (rc < 0)
            return rc;
    } while (rc > 0 && c->values.rep != NULL && c->values.rep[c->slot] != 0);
    return c->is->is_array ? end_element(c, err) : DX_OK;
}

static struct dx_span span_of(const struct column *c, size_t i)
{
    const struct element *e = &c->element[i];

    return e->in_text ? dx_span_of(c->text.data + e->at, e->span.size) : e->span;
}

/* ---- rows ---- */

static int open_group(struct dx_parquet_rows *p, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; i < p->field_count; i++)
        for (struct column *c = &p->field[i]; c != NULL; c = c->key) {
            c->slot = 0;
            c->values.row_count = 0;
            if (c->is->from != DX_PARQUET_FROM_LEAF)
                continue;
            rc = dx_pq_reader_open_fetch(&c->reader, &p->fetch, &p->footer, p->group,
                                         c->is->found.leaf, &p->limits, err);
            if (rc < 0)
                return fail_at_column(p, c, err);
        }
    p->in_group = rc == DX_OK;
    p->row = 0;
    return rc;
}

/* All rows of the group are there; slots that are left mean that a page before had other rows. */
static int close_group(struct dx_parquet_rows *p, struct dx_error *err)
{
    for (size_t i = 0; i < p->field_count; i++) {
        struct column *c = &p->field[i];
        int rc = c->is->from == DX_PARQUET_FROM_LEAF ? find_slot(p, c, err) : 0;

        if (rc > 0) {
            (void)dx_fail(err, DX_E_CORRUPT, "more rows than the group has");
            return fail_at_column(p, c, err);
        }
        if (rc < 0)
            return rc;
    }
    p->in_group = false;
    p->group++;
    return DX_OK;
}

static int load_row(struct dx_parquet_rows *p, struct dx_error *err)
{
    const struct column *url = &p->field[DX_ROW_URL];
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < p->field_count; i++) {
        struct column *c = &p->field[i];

        rc = load_column(p, c, err);
        if (rc < 0)
            return rc;
        if (c->goes_along && c->count != url->count)
            rc = dx_fail(err, DX_E_CORRUPT, "%zu elements in row %" PRIu64 ", the URL's has %zu",
                         c->count, p->row, url->count);
        if (rc < 0)
            return fail_at_column(p, c, err);
    }
    p->row++;
    p->row_number++;
    p->next_element = 0;
    p->element_count = url->count;
    return rc;
}

/* 1: there is a record to give; 0: the end of the file. */
static int find_record(struct dx_parquet_rows *p, struct dx_error *err)
{
    int rc = DX_OK;

    while (rc == DX_OK && p->next_element == p->element_count) {
        if (p->in_group && p->row < p->footer.group[p->group].row_count)
            rc = load_row(p, err);
        else if (p->in_group)
            rc = close_group(p, err);
        else if (p->group < p->group_end)
            rc = open_group(p, err);
        else
            return 0;
    }
    return rc < 0 ? rc : 1;
}

static void record_fields(const struct dx_parquet_rows *p, struct dx_span field[FIELDS_MAX])
{
    for (size_t i = 0; i < p->field_count; i++) {
        const struct column *c = &p->field[i];

        field[i] = span_of(c, c->goes_along ? p->next_element : 0);
    }
}

static int prepare(struct dx_parquet_rows *p, struct dx_batch *b, struct dx_error *err)
{
    size_t want = p->partial ? b->capacity * 2 : DX_BATCH_SIZE;

    p->partial = false;
    b->size = b->count = 0;
    return dx_batch_reserve(b, want, p->name, err);
}

/* 1: the record is in the batch; 0: it does not fit. */
static int put_record(struct dx_parquet_rows *p, struct dx_batch *b, struct dx_error *err)
{
    DX_UNINITIALIZED struct dx_span field[FIELDS_MAX];
    uint8_t flaw = DX_FLAW_NONE;
    size_t size;

    record_fields(p, field);
    size = dx_row_record_size(field, p->field_count);
    if (size > DX_LINE_MAX) {
        flaw = DX_FLAW_TOO_LONG;
        if (field[DX_ROW_URL].size > TOO_LONG_KEPT)
            field[DX_ROW_URL].size = TOO_LONG_KEPT;
        for (size_t i = DX_ROW_URL + 1; i < p->field_count; i++)
            field[i] = (struct dx_span){ NULL, 0 };
        size = dx_row_record_size(field, p->field_count);
    }
    if (size > b->capacity - b->size)
        return 0;
    if (dx_batch_room(b, p->name, err) < 0)
        return DX_E_NOMEM;
    dx_row_record_put(field, p->field_count, b->data + b->size);
    b->records[b->count++] = (struct dx_record){ .offset = (uint32_t)b->size,
                                                 .size = (uint32_t)size,
                                                 .line = p->row_number,
                                                 .place = (int64_t)p->group,
                                                 .place_size = (int64_t)p->row - 1,
                                                 .flaw = flaw };
    b->size += size;
    p->next_element++;
    return 1;
}

int dx_parquet_rows_fill(struct dx_parquet_rows *p, struct dx_batch *b, struct dx_error *err)
{
    int rc = prepare(p, b, err);

    while (rc >= 0 && b->size < DX_BATCH_SIZE) {
        rc = find_record(p, err);
        if (rc > 0)
            rc = put_record(p, b, err);
        else if (rc == 0)
            break;
        if (rc == 0 && b->count == 0) {
            p->partial = true;
            return DX_RECORDS_GROW;
        }
        if (rc == 0)
            break;
    }
    return rc < 0 ? rc : b->count > 0;
}

/* ---- parts of a file ---- */

static bool measure_chunk(const struct dx_parquet_rows *p, uint32_t leaf, uint64_t *bytes,
                          uint64_t *most)
{
    for (uint32_t g = 0; g < p->footer.group_count; g++) {
        const struct dx_pq_chunk *c = &p->footer.group[g].chunk[leaf];

        *bytes = c->uncompressed_size > *bytes ? c->uncompressed_size : *bytes;
        *bytes = c->compressed_size > *bytes ? c->compressed_size : *bytes;
        *most = c->value_count > *most ? c->value_count : *most;
        if ((c->encodings >> DX_PQ_DELTA_BYTE_ARRAY & 1) != 0)
            return false;
    }
    return true;
}

/* The largest chunk of a wanted column, in bytes and in values, and the values of the largest of each column; false: its pages may be larger than it
 * is, as each string is stored without what it shares with the one before. */
static bool measure_chunks(const struct dx_parquet_rows *p, uint64_t *bytes, uint64_t *values,
                           uint64_t *all)
{
    *bytes = *values = *all = 0;
    for (size_t i = 0; i < p->field_count; i++)
        for (const struct column *c = &p->field[i]; c != NULL; c = c->key) {
            uint64_t most = 0;

            if (c->is->from == DX_PARQUET_FROM_LEAF &&
                !measure_chunk(p, c->is->found.leaf, bytes, &most))
                return false;
            *values = most > *values ? most : *values;
            *all += most < PAGE_BYTES_MAX ? most : PAGE_BYTES_MAX;
        }
    return true;
}

static uint64_t footer_hash(const struct dx_parquet_rows *p)
{
    return dx_hash64(dx_span_of(p->metadata.data, p->metadata.size));
}

void dx_parquet_rows_known(const struct dx_parquet_rows *p, uint64_t *size, uint64_t *hash)
{
    *size = dx_parquet_rows_size(p);
    *hash = footer_hash(p);
}

int dx_parquet_rows_split(const struct dx_parquet_rows *p, uint64_t memory,
                          struct dx_parquet_split *split, struct dx_error *err)
{
    uint64_t page, values, all, rows = 0;

    *split = (struct dx_parquet_split){ .rows = p->footer.row_count,
                                        .size = dx_parquet_rows_size(p),
                                        .footer = footer_hash(p) };
    if (p->group_end < 2 || !measure_chunks(p, &page, &values, &all))
        return 0;
    page = page < PAGE_BYTES_MIN ? PAGE_BYTES_MIN : page;
    if (page > PAGE_BYTES_MAX || values > PAGE_BYTES_MAX ||
        page + values * VALUE_BYTES + p->metadata.size + p->footer.memory > memory / 2)
        return 0;
    split->page_bytes = (uint32_t)page;
    split->bytes = page + values * VALUE_BYTES + p->metadata.size + p->footer.memory;
    split->value_bytes = all * VALUE_BYTES < p->value_bytes_max ? all * VALUE_BYTES
                                                                : p->value_bytes_max;
    split->end = calloc(p->group_end, sizeof *split->end);
    if (split->end == NULL)
        return dx_no_memory(err, "%s", p->name);
    for (uint32_t g = 0; g < p->group_end; g++) {
        rows += p->footer.group[g].row_count;
        if (rows < PART_ROWS && g + 1 < p->group_end)
            continue;
        split->end[split->count++] = g + 1;
        rows = 0;
    }
    if (split->count > 1)
        return 1;
    dx_parquet_split_release(split);
    return 0;
}

int dx_parquet_rows_only(struct dx_parquet_rows *p, const struct dx_parquet_split *split, size_t i,
                         bool is_large, struct dx_error *err)
{
    if (split->rows != p->footer.row_count || split->size != dx_parquet_rows_size(p) ||
        split->footer != footer_hash(p))
        return dx_fail(err, DX_E_CONFLICT, "%s: was replaced while it was read", p->name);
    p->limits.page_bytes = is_large ? p->page_bytes : split->page_bytes;
    p->value_bytes = is_large ? p->value_bytes_max : split->value_bytes;
    p->group = i == 0 ? 0 : split->end[i - 1];
    p->group_end = split->end[i];
    p->in_group = p->partial = false;
    p->next_element = p->element_count = 0;
    p->row_number = 0;
    for (uint32_t g = 0; g < p->group; g++)
        p->row_number += p->footer.group[g].row_count;
    return DX_OK;
}

void dx_parquet_split_release(struct dx_parquet_split *split)
{
    free(split->end);
    *split = (struct dx_parquet_split){ .end = NULL };
}
