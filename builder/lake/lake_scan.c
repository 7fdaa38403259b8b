/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/lake_scan.h"

#include "base/file.h"
#include "canon/url.h"
#include "format/version/pages.h"
#include "format/version/url_ids.h"
#include "loader/guard/bus_fault.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROLE_COUNT DX_LAKE_EXTRA

static const char *const role_name[ROLE_COUNT + 1] = {
    [DX_LAKE_DATASET_ID] = "dataset_id",
    [DX_LAKE_DOMAIN] = "domain",
    [DX_LAKE_DOMAIN_ID] = "domain_id",
    [DX_LAKE_SCHEME] = "scheme",
    [DX_LAKE_HOST] = "host",
    [DX_LAKE_PATH_QUERY] = "path_query",
    [DX_LAKE_RAW_URL] = "raw_url",
    [DX_LAKE_TS] = "ts",
    [DX_LAKE_URL_ID] = "url_id",
    [DX_LAKE_EXTRA] = "extra",
};

/* Where each column of the current row group is, and rows of which each column has a page at hand:
 * they are given by their places in the pages alone. */
struct dx_lake_scan_cursor {
    _Atomic unsigned lost; /* 1: a page of the file could not be read, and zeros are in its place */
    bool is_open;          /* readers of the current group are open */
    struct dx_lake_scan_reader {
        struct dx_pq_reader reader;
        struct dx_pq_values values;
        uint32_t next; /* row in values: the first of the batch */
    } column[DX_LAKE_COLUMN_MAX];
    uint32_t at, count; /* of the batch */
    /* its values, by role; NULL: the file has no such column */
    const struct dx_span *spans[ROLE_COUNT];
    const int64_t *ints[ROLE_COUNT];
    const uint8_t *has_ts; /* NULL: all have */
    unsigned time_unit;
    const struct dx_span *extras[DX_LAKE_EXTRA_MAX];
    struct dx_span extra[DX_LAKE_EXTRA_MAX];
};

/* ---- opening ---- */

static bool is_role_type(enum dx_lake_role role, const struct dx_pq_node *n)
{
    switch (role) {
    case DX_LAKE_DATASET_ID:
        return n->type == DX_PQ_INT32 || n->type == DX_PQ_INT64;
    case DX_LAKE_DOMAIN_ID:
    case DX_LAKE_URL_ID:
        return n->type == DX_PQ_INT64;
    case DX_LAKE_TS:
        return n->logical == DX_PQ_LOGICAL_TIMESTAMP &&
               (n->type == DX_PQ_INT96 || (n->type == DX_PQ_INT64 && n->time_unit != 0));
    default:
        return n->type == DX_PQ_BYTE_ARRAY;
    }
}

static bool is_role_optional(enum dx_lake_role role)
{
    return role == DX_LAKE_RAW_URL || role == DX_LAKE_TS || role == DX_LAKE_URL_ID;
}

/* A string as it stands: no decimal or the like in bytes. */
static bool is_text(const struct dx_pq_node *n)
{
    return n->type == DX_PQ_BYTE_ARRAY && n->max_def <= 1 && n->max_rep == 0 &&
           (n->logical == DX_PQ_LOGICAL_NONE || n->logical == DX_PQ_LOGICAL_STRING ||
            n->logical == DX_PQ_LOGICAL_ENUM || n->logical == DX_PQ_LOGICAL_JSON);
}

static int add_role(struct dx_lake_scan *s, enum dx_lake_role role, struct dx_error *err)
{
    int64_t leaf = dx_pq_footer_leaf(&s->footer, dx_span_str(role_name[role]));
    const struct dx_pq_node *n;

    if (leaf < 0)
        return is_role_optional(role) || role == DX_LAKE_DATASET_ID
                   ? DX_OK
                   : dx_fail(err, DX_E_UNSUPPORTED, "column %s is missing", role_name[role]);
    n = &s->footer.node[s->footer.leaf[leaf]];
    if (n->max_rep > 0)
        return dx_fail(err, DX_E_UNSUPPORTED, "column %s is repeated", role_name[role]);
    if (!is_role_type(role, n))
        return dx_fail(err, DX_E_UNSUPPORTED, "column %s is %s (%s), which is not its type",
                       role_name[role], dx_pq_type_name((unsigned)n->type),
                       dx_pq_logical_name(n->logical));
    s->has_dataset_id = s->has_dataset_id || role == DX_LAKE_DATASET_ID;
    s->column[s->column_count++] = (struct dx_lake_scan_column){ .role = role,
                                                                 .name = n->name,
                                                                 .leaf = (uint32_t)leaf };
    return DX_OK;
}

static bool is_taken(const struct dx_lake_scan *s, uint32_t leaf)
{
    for (size_t i = 0; i < s->column_count; i++)
        if (s->column[i].leaf == leaf)
            return true;
    return false;
}

static void skip_column(struct dx_lake_scan *s, const struct dx_pq_node *n)
{
    if (s->skipped_count++ == 0)
        s->skipped = n->name;
}

static void add_extras(struct dx_lake_scan *s)
{
    for (uint32_t i = 0; i < s->footer.leaf_count; i++) {
        const struct dx_pq_node *n = &s->footer.node[s->footer.leaf[i]];

        if (is_taken(s, i))
            continue;
        if (n->parent != 0 || !is_text(n) || n->name.size == 0 || n->name.size > DX_PAGE_NAME_MAX ||
            s->extra_count == DX_LAKE_EXTRA_MAX) {
            skip_column(s, n);
            continue;
        }
        s->column[s->column_count++] = (struct dx_lake_scan_column){ .role = DX_LAKE_EXTRA,
                                                                     .name = n->name,
                                                                     .leaf = i };
        s->extra_count++;
        if (dx_span_equal(n->name, dx_span_str(DX_REQUESTED_URL)))
            s->requested = s->extra_count;
    }
}

/* The last value of a key in the file's metadata; NULL: the file does not have it. */
static const struct dx_span *find_metadata(const struct dx_pq_footer *f, const char *key)
{
    for (uint32_t i = f->key_value_count; i > 0; i--)
        if (dx_span_equal(f->key_value[i - 1].key, dx_span_str(key)))
            return &f->key_value[i - 1].value;
    return NULL;
}

/* Our files carry a checksum of their footer; a file without one was written by another program. */
static int check_footer_sum(struct dx_lake_scan *s, struct dx_error *err)
{
    const struct dx_pq_footer *f = &s->footer;
    const struct dx_span *value = find_metadata(f, DX_LAKE_SUM_KEY);
    char text[DX_LAKE_SUM_SIZE + 1];
    uint8_t *copy;

    if (value == NULL)
        return DX_OK;
    if (value->size != DX_LAKE_SUM_SIZE)
        return dx_fail(err, DX_E_CORRUPT, "footer: its checksum has %zu digits", value->size);
    copy = malloc(f->size);
    if (copy == NULL)
        return dx_no_memory(err, "footer: %u bytes", f->size);
    memcpy(copy, s->map.bytes.data + f->offset, f->size);
    memcpy(copy + (size_t)(value->data - (s->map.bytes.data + f->offset)), DX_LAKE_SUM_ZERO,
           DX_LAKE_SUM_SIZE);
    (void)snprintf(text, sizeof(text), "%016" PRIx64, dx_hash64(dx_span_of(copy, f->size)));
    free(copy);
    s->is_ours = memcmp(text, value->data, DX_LAKE_SUM_SIZE) == 0;
    return s->is_ours
               ? DX_OK
               : dx_fail(
                     err, DX_E_CORRUPT,
                     "footer: wrong checksum: damaged, or rewritten by another program that kept "
                     "the metadata " DX_LAKE_SUM_KEY
                     "; write it again without that key, or restore the file");
}

/* URLs of another canonical form must not be indexed as if they were of this one. */
static int check_canon_version(const struct dx_lake_scan *s, struct dx_error *err)
{
    const struct dx_span *value = find_metadata(&s->footer, DX_LAKE_CANON_KEY);
    char known[16];

    (void)snprintf(known, sizeof(known), "%d", DX_CANON_VERSION);
    if (value == NULL || dx_span_equal(*value, dx_span_str(known)))
        return DX_OK;
    return dx_fail(err, DX_E_UNSUPPORTED,
                   "its URLs are in canonical form %.*s, this program knows %s: ingest them again",
                   value->size > 16 ? 16 : (int)value->size, (const char *)value->data, known);
}

/* A file that its owner closed is one dataset's matter (scan_faults.h). */
static int map_file(struct dx_lake_scan *s, struct dx_error *err)
{
    int rc = dx_map_open(&s->map, s->path, DX_MAP_SEQUENTIAL, err);

    if (rc == DX_E_IO && dx_file_is_closed(s->path, R_OK)) {
        if (err != NULL)
            err->code = DX_E_DENIED;
        return DX_E_DENIED;
    }
    if (rc == DX_OK) /* with no room left for it, a page that is lost ends the process */
        (void)dx_bus_add(s->map.base, s->map.length, &s->cursor->lost, 1, NULL);
    return rc;
}

/* Of what was read until now. Zeros in the place of a page make other errors, or none. */
static int check_pages_were_read(const struct dx_lake_scan *s, int rc, struct dx_error *err)
{
    int lost = dx_bus_check(&s->cursor->lost, s->path, err);

    return lost < 0 ? lost : rc;
}

int dx_lake_scan_open(struct dx_lake_scan *s, const char *path, struct dx_error *err)
{
    int rc;

    *s = (struct dx_lake_scan)DX_LAKE_SCAN_INIT;
    s->path = strdup(path);
    s->cursor = calloc(1, sizeof(*s->cursor));
    if (s->path == NULL || s->cursor == NULL) {
        rc = dx_no_memory(err, "%s", path);
        goto fail;
    }
    rc = map_file(s, err);
    if (rc < 0)
        goto fail;
    rc = dx_pq_footer_open(&s->footer, s->map.bytes, err);
    if (rc == DX_OK)
        rc = check_footer_sum(s, err);
    if (rc == DX_OK)
        rc = check_canon_version(s, err);
    for (int role = 0; rc == DX_OK && role < ROLE_COUNT; role++)
        rc = add_role(s, (enum dx_lake_role)role, err);
    if (rc < 0)
        rc = dx_fail_in(err, "%s", path);
    rc = check_pages_were_read(s, rc, err);
    if (rc < 0)
        goto fail;
    add_extras(s);
    return DX_OK;
fail:
    dx_lake_scan_close(s);
    return rc;
}

void dx_lake_scan_close(struct dx_lake_scan *s)
{
    dx_bus_remove(s->map.base);
    for (size_t i = 0; i < DX_LAKE_COLUMN_MAX; i++)
        free(s->group.column[i].page);
    if (s->cursor != NULL) {
        for (size_t i = 0; i < DX_LAKE_COLUMN_MAX; i++) {
            dx_pq_reader_release(&s->cursor->column[i].reader);
            dx_pq_values_release(&s->cursor->column[i].values);
        }
        free(s->cursor);
    }
    dx_pq_footer_release(&s->footer);
    dx_map_close(&s->map);
    free(s->path);
    *s = (struct dx_lake_scan)DX_LAKE_SCAN_INIT;
}

int dx_lake_scan_hash(const struct dx_lake_scan *s, struct dx_hash128 *hash, struct dx_error *err)
{
    *hash = dx_hash128_of(s->map.bytes);
    return check_pages_were_read(s, DX_OK, err);
}

/* ---- row groups ---- */

static int add_page(struct dx_lake_chunk *c, const struct dx_lake_page *page, struct dx_error *err)
{
    if (c->page_count == c->page_capacity) {
        uint32_t capacity = c->page_capacity == 0 ? 64 : c->page_capacity * 2;
        void *bigger = realloc(c->page, capacity * sizeof(*c->page));

        if (bigger == NULL)
            return dx_no_memory(err, "%u pages", capacity);
        c->page = bigger;
        c->page_capacity = capacity;
    }
    c->page[c->page_count++] = *page;
    return DX_OK;
}

static int walk_chunk(struct dx_lake_scan *s, uint32_t leaf, struct dx_lake_chunk *c,
                      struct dx_error *err)
{
    struct dx_pq_page_place place;
    struct dx_pq_walk walk;
    int rc = dx_pq_walk_open(&walk, s->map.bytes, &s->footer, s->group.number, leaf, err);

    if (rc < 0)
        return rc;
    c->column = walk.column;
    c->page_count = 0;
    c->has_dictionary = false;
    rc = dx_pq_column_check(&c->column, err);
    if (rc < 0)
        return rc;
    while ((rc = dx_pq_walk_next(&walk, &place, err)) == 1) {
        const struct dx_lake_page page = { .offset = place.offset,
                                           .first_row = place.first_row,
                                           .size = place.size,
                                           .row_count = place.row_count };

        if (place.is_dictionary) {
            c->has_dictionary = true;
            c->dictionary = page;
        } else if (page.row_count > 0) {
            rc = add_page(c, &page, err);
            if (rc < 0)
                return rc;
        }
    }
    return rc;
}

static int fail_in_column(const struct dx_lake_scan *s, size_t column, struct dx_error *err)
{
    const struct dx_span *name = &s->column[column].name;

    return dx_fail_in(err, "%s: row group %u, column %.*s", s->path, s->group.number,
                      name->size > 100 ? 100 : (int)name->size, (const char *)name->data);
}

int dx_lake_scan_group(struct dx_lake_scan *s, struct dx_error *err)
{
    if (s->next_group == s->footer.group_count)
        return check_pages_were_read(s, 0, err);
    s->group.number = s->next_group;
    s->group.row_count = s->footer.group[s->next_group].row_count;
    for (size_t i = 0; i < s->column_count; i++) {
        int rc = walk_chunk(s, s->column[i].leaf, &s->group.column[i], err);

        if (rc < 0)
            return check_pages_were_read(s, fail_in_column(s, i, err), err);
    }
    s->next_group++;
    s->next_row = 0;
    s->cursor->is_open = false;
    return check_pages_were_read(s, 1, err);
}

/* ---- rows ---- */

static int open_readers(struct dx_lake_scan *s, struct dx_error *err)
{
    static const struct dx_pq_limits limits = DX_PQ_LIMITS_DEFAULT;

    for (size_t i = 0; i < s->column_count; i++) {
        struct dx_lake_scan_reader *r = &s->cursor->column[i];
        int rc = dx_pq_reader_open(&r->reader, s->map.bytes, &s->footer, s->group.number,
                                   s->column[i].leaf, &limits, err);

        if (rc < 0)
            return fail_in_column(s, i, err);
        r->values.row_count = 0;
        r->next = 0;
    }
    s->cursor->at = s->cursor->count = 0;
    s->cursor->is_open = true;
    return DX_OK;
}

static int need_value(struct dx_lake_scan *s, size_t column, struct dx_error *err)
{
    struct dx_lake_scan_reader *r = &s->cursor->column[column];

    while (r->next == r->values.row_count) {
        int rc = dx_pq_reader_next(&r->reader, &r->values, err);

        if (rc == 0) /* the walk holds the sum of rows against the row group's */
            rc = dx_fail(err, DX_E_CORRUPT, "too few rows");
        if (rc < 0)
            return fail_in_column(s, column, err);
        r->next = 0;
    }
    return DX_OK;
}

static int fail_in_row(const struct dx_lake_scan *s, size_t column, struct dx_error *err)
{
    (void)dx_fail_in(err, "row %" PRIu64, s->next_row);
    return fail_in_column(s, column, err);
}

/* The batch ends before the first null of a column that must have none. */
static int end_before_null(struct dx_lake_scan *s, size_t column, struct dx_error *err)
{
    struct dx_lake_scan_cursor *c = s->cursor;
    const struct dx_lake_scan_reader *r = &c->column[column];
    enum dx_lake_role role = s->column[column].role;

    if (r->values.valid == NULL || is_role_optional(role) || role == DX_LAKE_EXTRA)
        return DX_OK;
    for (uint32_t i = 0; i < c->count; i++)
        if (r->values.valid[r->next + i] == 0)
            c->count = i;
    if (c->count > 0)
        return DX_OK;
    (void)dx_fail(err, DX_E_CORRUPT, "a null");
    return fail_in_row(s, column, err);
}

static void point_at_values(struct dx_lake_scan *s)
{
    struct dx_lake_scan_cursor *c = s->cursor;
    size_t extra = 0;

    for (size_t i = 0; i < s->column_count; i++) {
        const struct dx_lake_scan_reader *r = &c->column[i];
        enum dx_lake_role role = s->column[i].role;

        if (role == DX_LAKE_EXTRA) {
            c->extras[extra++] = r->values.spans + r->next;
            continue;
        }
        c->spans[role] = r->values.spans == NULL ? NULL : r->values.spans + r->next;
        c->ints[role] = r->values.ints == NULL ? NULL : r->values.ints + r->next;
        if (role == DX_LAKE_TS) {
            c->has_ts = r->values.valid == NULL ? NULL : r->values.valid + r->next;
            c->time_unit = r->reader.walk.column.time_unit;
        }
    }
}

/* The next rows of which each column has the page: at least one. */
static int next_batch(struct dx_lake_scan *s, struct dx_error *err)
{
    struct dx_lake_scan_cursor *c = s->cursor;
    int rc = DX_OK;

    for (size_t i = 0; i < s->column_count; i++)
        c->column[i].next += c->count;
    c->at = 0;
    c->count = UINT32_MAX;
    for (size_t i = 0; rc == DX_OK && i < s->column_count; i++) {
        const struct dx_lake_scan_reader *r = &c->column[i];

        rc = need_value(s, i, err);
        if (rc == DX_OK && r->values.row_count - r->next < c->count)
            c->count = r->values.row_count - r->next;
        if (rc == DX_OK)
            rc = end_before_null(s, i, err);
    }
    if (rc < 0) {
        c->count = 0;
        return rc;
    }
    point_at_values(s);
    return DX_OK;
}

/* A time that no answer can write counts as missing: one row must not stop the publish of all
 * others. */
static void read_time(struct dx_lake_scan *s, uint32_t at, struct dx_lake_row *row)
{
    const struct dx_lake_scan_cursor *c = s->cursor;

    if (c->has_ts != NULL && c->has_ts[at] == 0)
        return;
    row->has_ts = c->time_unit == DX_PQ_TIME_INT96
                      ? dx_pq_int96_us(c->spans[DX_LAKE_TS][at].data, &row->ts_us)
                      : dx_pq_time_us(c->time_unit, c->ints[DX_LAKE_TS][at], &row->ts_us);
    if (!row->has_ts)
        row->ts_us = 0;
    s->times_left_out += !row->has_ts;
}

static int read_dataset_id(struct dx_lake_scan *s, uint32_t at, struct dx_lake_row *row,
                           struct dx_error *err)
{
    int64_t v = s->cursor->ints[DX_LAKE_DATASET_ID][at];

    assert(s->column[0].role == DX_LAKE_DATASET_ID);
    row->dataset_id = (uint32_t)v;
    if (v >= 0 && v <= UINT32_MAX)
        return DX_OK;
    (void)dx_fail(err, DX_E_CORRUPT, "dataset_id %" PRId64 " is out of range", v);
    return fail_in_row(s, 0, err);
}

static int next_row(struct dx_lake_scan *s, struct dx_lake_row *row, struct dx_error *err)
{
    struct dx_lake_scan_cursor *c = s->cursor;
    uint32_t at;
    int rc = DX_OK;

    assert(s->next_group > 0);
    if (s->next_row == s->group.row_count)
        return check_pages_were_read(s, 0, err);
    if (!c->is_open)
        rc = open_readers(s, err);
    if (rc == DX_OK && c->at == c->count)
        rc = next_batch(s, err);
    if (rc < 0)
        return check_pages_were_read(s, rc, err);
    at = c->at;
    /* Field by field: a string instruction that zeroes the whole first takes longer than all this. */
    row->extra = c->extra;
    row->dataset_id = 0;
    row->has_ts = false;
    row->ts_us = 0;
    row->domain = c->spans[DX_LAKE_DOMAIN][at];
    row->domain_id = (uint64_t)c->ints[DX_LAKE_DOMAIN_ID][at];
    row->scheme = c->spans[DX_LAKE_SCHEME][at];
    row->host = c->spans[DX_LAKE_HOST][at];
    row->path_query = c->spans[DX_LAKE_PATH_QUERY][at];
    row->raw_url = c->spans[DX_LAKE_RAW_URL] == NULL ? (struct dx_span){ NULL, 0 }
                                                     : c->spans[DX_LAKE_RAW_URL][at];
    row->url_id = c->ints[DX_LAKE_URL_ID] == NULL ? 0 : (uint64_t)c->ints[DX_LAKE_URL_ID][at];
    if (c->ints[DX_LAKE_TS] != NULL || c->spans[DX_LAKE_TS] != NULL)
        read_time(s, at, row);
    for (size_t i = 0; i < s->extra_count; i++)
        c->extra[i] = c->extras[i][at];
    if (c->ints[DX_LAKE_DATASET_ID] != NULL)
        rc = read_dataset_id(s, at, row, err);
    if (rc < 0)
        return rc;
    c->at++;
    s->next_row++;
    return 1;
}

bool dx_lake_scan_keeps(const struct dx_lake_scan *s)
{
    return s->skip_by == NULL && s->cursor->is_open && s->cursor->at < s->cursor->count;
}

static void note_left_out(struct dx_lake_scan *s, const struct dx_lake_row *row, const char *why)
{
    char text[DX_ROW_FAULT_TEXT];
    uint64_t before = 0;

    assert(s->next_group > 0 && s->next_row > 0);
    if (s->rows_left_out++ > 0)
        return;
    for (uint32_t g = 0; g + 1 < s->next_group; g++)
        before += s->footer.group[g].row_count;
    dx_lake_row_fault_text(why, row, text);
    (void)snprintf(s->first_left_out, sizeof(s->first_left_out), "row %" PRIu64 ": %s",
                   before + s->next_row - 1, text);
}

const char *dx_lake_scan_fault(const struct dx_lake_scan *s, struct dx_row_form *form,
                               const struct dx_lake_row *row)
{
    const char *why = dx_lake_row_fault(form, row);

    if (why != NULL || s->is_ours)
        return why;
    return dx_lake_given_fault(
        form, row, s->requested > 0 ? row->extra[s->requested - 1] : dx_span_of(NULL, 0));
}

int dx_lake_scan_row(struct dx_lake_scan *s, struct dx_lake_row *row, struct dx_error *err)
{
    for (;;) {
        int rc = next_row(s, row, err);
        const char *why = rc == 1 && s->skip_by != NULL ? dx_lake_scan_fault(s, s->skip_by, row)
                                                        : NULL;

        if (why == NULL)
            return rc;
        note_left_out(s, row, why);
    }
}
