/* SPDX-License-Identifier: Apache-2.0 */
#include "format/root/registry_json.h"

#include "base/array.h"
#include "base/civil_time.h"
#include "base/json_in.h"
#include "base/json_out.h"
#include "base/search.h"
#include "base/text_copy.h"
#include "base/utf8.h"
#include "format/root/registry_lines.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#define DATASET_MEMBERS 9 /* and `kind`, of one of counts */
#define KIND_COUNTS "counts"
#define ROOT_FORMAT "domaindex-registry"
#define ROOT_VERSION 1

enum form { OF_VERSION, OF_ROOT }; /* datasets.json, registry.json */

bool dx_dataset_text_ok(struct dx_span text, size_t max)
{
    size_t i = 0;

    while (i < text.size) {
        size_t n = dx_utf8_printable_size(text.data + i, text.size - i);

        if (n == 0)
            return false;
        i += n;
    }
    return text.size >= 1 && text.size <= max;
}

static void dataset_release(struct dx_dataset *d)
{
    for (size_t i = 0; i < d->metadata_count; i++) {
        free(d->metadata[i].key);
        free(d->metadata[i].value);
    }
    free(d->metadata);
    free(d->name);
    *d = (struct dx_dataset){ .dataset_id = 0 };
}

void dx_registry_release(struct dx_registry *r)
{
    for (size_t i = 0; i < r->count; i++)
        dataset_release(&r->datasets[i]);
    free(r->datasets);
    free(r->by_name);
    free(r->removed);
    *r = (struct dx_registry)DX_REGISTRY_INIT;
}

struct dx_dataset *dx_registry_by_id(const struct dx_registry *r, uint32_t dataset_id)
{
    size_t likely = (size_t)dataset_id - 1; /* where it stands if no dataset was ever removed */
    size_t lo = 0;
    size_t hi = r->count;

    if (likely < r->count && r->datasets[likely].dataset_id == dataset_id)
        return &r->datasets[likely];
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (r->datasets[mid].dataset_id == dataset_id)
            return &r->datasets[mid];
        if (r->datasets[mid].dataset_id < dataset_id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

struct sought {
    const struct dx_registry *registry;
    struct dx_span name;
};

static int compare_name(const void *ctx, size_t i)
{
    const struct sought *s = ctx;
    const struct dx_registry *r = s->registry;

    return dx_span_compare(dx_span_str(r->datasets[r->by_name[i]].name), s->name);
}

/* Where the name stands in by_name, or where it belongs. */
static bool find_name(const struct dx_registry *r, struct dx_span name, size_t *at)
{
    const struct sought s = { r, name };

    return dx_search(r->count, compare_name, &s, at);
}

struct dx_dataset *dx_registry_by_name(const struct dx_registry *r, struct dx_span name)
{
    size_t at;

    return find_name(r, name, &at) ? &r->datasets[r->by_name[at]] : NULL;
}

static int make_room(struct dx_registry *r, struct dx_error *err)
{
    size_t capacity = r->capacity == 0 ? 64 : 2 * r->capacity;
    struct dx_dataset *datasets;
    uint32_t *by_name;

    if (r->count < r->capacity)
        return DX_OK;
    datasets = realloc(r->datasets, capacity * sizeof *datasets);
    if (datasets != NULL)
        r->datasets = datasets;
    by_name = realloc(r->by_name, capacity * sizeof *by_name);
    if (by_name != NULL)
        r->by_name = by_name;
    if (datasets == NULL || by_name == NULL)
        return dx_no_memory(err, "%zu datasets", capacity);
    r->capacity = capacity;
    return DX_OK;
}

/* The name is new and belongs at name_at. */
static int append_dataset(struct dx_registry *r, uint32_t dataset_id, struct dx_span name,
                          size_t name_at, struct dx_dataset **out, struct dx_error *err)
{
    char *copy;
    int rc = make_room(r, err);

    assert(name_at <= r->count &&
           (r->count == 0 || dataset_id > r->datasets[r->count - 1].dataset_id));
    if (rc < 0)
        return rc;
    copy = dx_text_copy(name);
    if (copy == NULL)
        return dx_no_memory(err, "name of a dataset");
    memmove(r->by_name + name_at + 1, r->by_name + name_at,
            (r->count - name_at) * sizeof *r->by_name);
    r->by_name[name_at] = (uint32_t)r->count;
    *out = &r->datasets[r->count++];
    **out = (struct dx_dataset){ .dataset_id = dataset_id, .name = copy };
    return DX_OK;
}

int dx_registry_add(struct dx_registry *r, struct dx_span name, struct dx_dataset **out,
                    struct dx_error *err)
{
    uint32_t last = r->count == 0 ? 0 : r->datasets[r->count - 1].dataset_id;
    size_t at;
    int rc;

    if (r->next_id > 0 && r->next_id - 1 > last)
        last = r->next_id - 1;
    if (!dx_dataset_text_ok(name, DX_DATASET_NAME_MAX))
        return dx_fail(err, DX_E_INVALID,
                       "dataset name of %zu bytes: it must be 1 to %d bytes of UTF-8 without "
                       "control characters",
                       name.size, DX_DATASET_NAME_MAX);
    if (find_name(r, name, &at)) {
        *out = &r->datasets[r->by_name[at]];
        return 0;
    }
    if (last == UINT32_MAX)
        return dx_fail(err, DX_E_LIMIT, "no dataset_id is left");
    rc = append_dataset(r, last + 1, name, at, out, err);
    if (rc < 0)
        return rc;
    if (r->next_id > 0)
        r->next_id = last + 2;
    return 1;
}

void dx_registry_set_kind(struct dx_registry *r, struct dx_dataset *d, enum dx_dataset_kind kind)
{
    assert(d >= r->datasets && d < r->datasets + r->count);
    d->kind = kind;
    r->has_counts = r->has_counts || kind == DX_DATASET_COUNTS;
}

static int append_meta(struct dx_dataset *d, size_t at, struct dx_span key, struct dx_span value,
                       struct dx_error *err)
{
    struct dx_dataset_meta fresh = { dx_text_copy(key), dx_text_copy(value) };
    struct dx_dataset_meta *grown = NULL;

    if (fresh.key != NULL && fresh.value != NULL)
        grown = realloc(d->metadata, (d->metadata_count + 1) * sizeof *grown);
    if (grown == NULL) {
        free(fresh.key);
        free(fresh.value);
        return dx_no_memory(err, "metadata");
    }
    d->metadata = grown;
    memmove(grown + at + 1, grown + at, (d->metadata_count - at) * sizeof *grown);
    grown[at] = fresh;
    d->metadata_count++;
    return DX_OK;
}

int dx_registry_meta(struct dx_dataset *d, struct dx_span key, struct dx_span value,
                     struct dx_error *err)
{
    size_t at = 0;
    int order = 1;
    char *copy;

    if (!dx_dataset_text_ok(key, DX_DATASET_NAME_MAX) ||
        (value.size > 0 && !dx_dataset_text_ok(value, DX_DATASET_META_VALUE_MAX)))
        return dx_fail(err, DX_E_INVALID,
                       "metadata of dataset %" PRIu32 ": key of %zu, value of %zu bytes: UTF-8 "
                       "without control characters, at most %d and %d bytes",
                       d->dataset_id, key.size, value.size, DX_DATASET_NAME_MAX,
                       DX_DATASET_META_VALUE_MAX);
    while (at < d->metadata_count &&
           (order = dx_span_compare(key, dx_span_str(d->metadata[at].key))) > 0)
        at++;
    if (at == d->metadata_count || order != 0) {
        if (d->metadata_count == DX_DATASET_META_MAX)
            return dx_fail(err, DX_E_LIMIT, "dataset %" PRIu32 ": over %d metadata members",
                           d->dataset_id, DX_DATASET_META_MAX);
        return append_meta(d, at, key, value, err);
    }
    copy = dx_text_copy(value);
    if (copy == NULL)
        return dx_no_memory(err, "metadata");
    free(d->metadata[at].value);
    d->metadata[at].value = copy;
    return DX_OK;
}

bool dx_registry_meta_remove(struct dx_dataset *d, struct dx_span key)
{
    size_t at = 0;

    while (at < d->metadata_count && !dx_span_equal(key, dx_span_str(d->metadata[at].key)))
        at++;
    if (at == d->metadata_count)
        return false;
    free(d->metadata[at].key);
    free(d->metadata[at].value);
    d->metadata_count--;
    memmove(&d->metadata[at], &d->metadata[at + 1], (d->metadata_count - at) * sizeof *d->metadata);
    return true;
}

/* ---- what counts in a lake ---- */

/* Where the id stands in `removed`, or where it belongs. */
static bool find_removed(const struct dx_registry *r, uint32_t id, size_t *at)
{
    size_t lo = 0;
    size_t hi = r->removed_count;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (r->removed[mid] < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    *at = lo;
    return lo < r->removed_count && r->removed[lo] == id;
}

bool dx_registry_removed(const struct dx_registry *r, uint32_t dataset_id)
{
    size_t at;

    return find_removed(r, dataset_id, &at);
}

static int insert_removed(struct dx_registry *r, uint32_t id, size_t at, struct dx_error *err)
{
    uint32_t *grown;

    assert(at <= r->removed_count && (at == 0 || r->removed[at - 1] < id));
    grown = dx_array_room(r->removed, r->removed_count, &r->removed_capacity, sizeof *grown);
    if (grown == NULL)
        return dx_no_memory(err, "%zu removed datasets", r->removed_count + 1);
    r->removed = grown;
    memmove(r->removed + at + 1, r->removed + at, (r->removed_count - at) * sizeof *r->removed);
    r->removed[at] = id;
    r->removed_count++;
    return DX_OK;
}

static void drop_dataset(struct dx_registry *r, uint32_t index)
{
    size_t kept = 0;

    assert(index < r->count);
    for (size_t i = 0; i < r->count; i++)
        if (r->by_name[i] != index)
            r->by_name[kept++] = r->by_name[i] - (r->by_name[i] > index);
    dataset_release(&r->datasets[index]);
    r->count--;
    memmove(&r->datasets[index], &r->datasets[index + 1], (r->count - index) * sizeof *r->datasets);
}

int dx_registry_remove(struct dx_registry *r, uint32_t dataset_id, struct dx_error *err)
{
    struct dx_dataset *d = dx_registry_by_id(r, dataset_id);
    size_t at;
    int rc = DX_OK;

    if (d == NULL)
        return dx_fail(err, DX_E_NOT_FOUND, "registry: no dataset %" PRIu32, dataset_id);
    if (!find_removed(r, dataset_id, &at))
        rc = insert_removed(r, dataset_id, at, err);
    if (rc == DX_OK)
        drop_dataset(r, (uint32_t)(d - r->datasets));
    return rc;
}

static bool is_merged(const struct dx_dataset *d, uint32_t part)
{
    for (uint32_t i = 0; i < d->merged_count; i++)
        if (part >= d->merged[i].first && part < d->merged[i].end)
            return true;
    return false;
}

void dx_dataset_merged_add(struct dx_dataset *d, struct dx_part_range range)
{
    assert(range.first > 0 && range.first < range.end);
    assert(d->merged_count == 0 || d->merged[d->merged_count - 1].end <= range.first);
    if (d->merged_count == DX_DATASET_MERGED_MAX)
        memmove(d->merged, d->merged + 1, --d->merged_count * sizeof *d->merged);
    d->merged[d->merged_count++] = range;
}

static bool same_merged(const struct dx_dataset *a, const struct dx_dataset *b)
{
    return a->merged_count == b->merged_count &&
           memcmp(a->merged, b->merged, a->merged_count * sizeof *a->merged) == 0;
}

enum dx_lake_standing dx_registry_standing(const struct dx_registry *r, uint32_t dataset_id,
                                           uint32_t part)
{
    const struct dx_dataset *d = dx_registry_by_id(r, dataset_id);

    if (d == NULL)
        return dx_registry_removed(r, dataset_id) ? DX_LAKE_REMOVED : DX_LAKE_UNKNOWN;
    if (part == DX_LAKE_NO_PART)
        return DX_LAKE_STANDS;
    if (part < d->first_part)
        return DX_LAKE_REPLACED;
    if (is_merged(d, part))
        return DX_LAKE_MERGED;
    if (d->replacing > 0 && part >= d->replacing)
        return DX_LAKE_MAKING;
    return part < d->end_part ? DX_LAKE_REPLACES : DX_LAKE_STANDS;
}

/* A dataset that one of them does not have has no files there yet, or is removed there. */
bool dx_registry_same_standing(const struct dx_registry *a, const struct dx_registry *b)
{
    if (a->removed_count != b->removed_count ||
        (a->removed_count > 0 &&
         memcmp(a->removed, b->removed, a->removed_count * sizeof *a->removed) != 0))
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct dx_dataset *x = &a->datasets[i];
        const struct dx_dataset *y = dx_registry_by_id(b, x->dataset_id);

        if (y != NULL && (x->first_part != y->first_part || x->end_part != y->end_part ||
                          x->replacing != y->replacing || !same_merged(x, y)))
            return false;
    }
    return true;
}

/* ---- writing ---- */

static void write_time(struct dx_json *j, const char *key, bool has_ts, int64_t us)
{
    dx_json_key(j, key);
    if (has_ts)
        dx_json_time_us(j, us);
    else
        dx_json_null(j);
}

void dx_registry_metadata_write(struct dx_json *j, const struct dx_dataset *d)
{
    dx_json_key(j, "metadata");
    dx_json_object(j);
    for (size_t i = 0; i < d->metadata_count; i++) {
        dx_json_key_span(j, dx_span_str(d->metadata[i].key));
        dx_json_str(j, d->metadata[i].value);
    }
    dx_json_end(j);
}

static void write_totals(struct dx_json *j, const struct dx_dataset *d)
{
    dx_json_key_u64(j, "files", d->files);
    dx_json_key_u64(j, "rows", d->rows);
    dx_json_key_u64(j, "urls", d->urls);
    dx_json_key_u64(j, "domains", d->domains);
    write_time(j, "first_ts", d->has_ts, d->first_us);
    write_time(j, "last_ts", d->has_ts, d->last_us);
}

static void write_part(struct dx_json *j, const char *key, uint32_t part)
{
    if (part > 0)
        dx_json_key_u64(j, key, part);
}

static void write_merged(struct dx_json *j, const struct dx_dataset *d)
{
    if (d->merged_count == 0)
        return;
    dx_json_key(j, "merged");
    dx_json_array(j);
    for (uint32_t i = 0; i < d->merged_count; i++) {
        dx_json_u64(j, d->merged[i].first);
        dx_json_u64(j, d->merged[i].end);
    }
    dx_json_end(j);
}

static void write_dataset(const struct dx_dataset *d, enum form form, struct dx_buf *out)
{
    struct dx_json j;

    dx_json_open(&j, out);
    dx_json_object(&j);
    dx_json_key_u64(&j, "dataset_id", d->dataset_id);
    dx_json_key(&j, "name");
    dx_json_str(&j, d->name);
    if (d->kind == DX_DATASET_COUNTS) {
        dx_json_key(&j, "kind");
        dx_json_str(&j, KIND_COUNTS);
    }
    if (form == OF_ROOT) {
        write_part(&j, "first_part", d->first_part);
        write_part(&j, "end_part", d->end_part);
        write_part(&j, "replacing", d->replacing);
        write_part(&j, "next_part", d->next_part);
        write_merged(&j, d);
    }
    if (form == OF_VERSION || d->metadata_count > 0)
        dx_registry_metadata_write(&j, d);
    if (form == OF_VERSION)
        write_totals(&j, d);
    dx_json_end(&j);
}

/* What parse would refuse, reported to the caller that can change it. */
static const char *dataset_fault(const struct dx_dataset *d)
{
    char text[DX_CIVIL_TEXT];
    int64_t back;

    if (d->files > INT64_MAX || d->rows > INT64_MAX || d->urls > INT64_MAX ||
        d->domains > INT64_MAX)
        return "a total is over 63 bits";
    if (!d->has_ts)
        return NULL;
    if (d->last_us < d->first_us)
        return "last_ts is before first_ts";
    if (!dx_civil_parse(dx_span_of(text, dx_civil_text_us(d->first_us, text)), &back) ||
        !dx_civil_parse(dx_span_of(text, dx_civil_text_us(d->last_us, text)), &back))
        return "a time is not in the years 0000 to 9999";
    return NULL;
}

static void write_head(const struct dx_registry *r, struct dx_buf *out)
{
    dx_buf_fmt(out,
               "\"format\":\"" ROOT_FORMAT "\",\"version\":%d,\"next_dataset_id\":%" PRIu32 ",",
               ROOT_VERSION, r->next_id);
    if (r->removed_count == 0)
        return;
    for (size_t i = 0; i < r->removed_count; i++)
        dx_buf_fmt(out, "%s%" PRIu32, i == 0 ? "\"removed\":[" : ",", r->removed[i]);
    dx_buf_str(out, "],");
}

static int write_form(const struct dx_registry *r, enum form form, struct dx_buf *out,
                      struct dx_error *err)
{
    const char *file = form == OF_ROOT ? "registry.json" : "datasets.json";

    dx_buf_str(out, "{");
    if (form == OF_ROOT)
        write_head(r, out);
    dx_buf_str(out, "\"datasets\":[");
    for (size_t i = 0; i < r->count; i++) {
        const char *why = dataset_fault(&r->datasets[i]);

        if (why != NULL)
            return dx_fail(err, DX_E_INVALID, "%s: dataset %" PRIu32 ": %s", file,
                           r->datasets[i].dataset_id, why);
        dx_buf_str(out, i == 0 ? "\n" : ",\n"); /* a line a dataset: for people and diff */
        write_dataset(&r->datasets[i], form, out);
    }
    dx_buf_str(out, "\n]}\n");
    if (out->failed)
        return dx_buf_fail(out, err, file);
    if (out->size > DX_REGISTRY_MAX)
        return dx_fail(err, DX_E_LIMIT, "%s: %zu bytes, at most %u are read", file, out->size,
                       DX_REGISTRY_MAX);
    return DX_OK;
}

int dx_registry_write(const struct dx_registry *r, struct dx_buf *out, struct dx_error *err)
{
    return write_form(r, OF_VERSION, out, err);
}

int dx_registry_write_root(const struct dx_registry *r, struct dx_buf *out, struct dx_error *err)
{
    return write_form(r, OF_ROOT, out, err);
}

/* ---- parsing ---- */

static void read_times(struct dx_json_in *in, const struct dx_json_node *o, struct dx_dataset *d)
{
    d->has_ts = !dx_json_in_null(o, "first_ts") || !dx_json_in_null(o, "last_ts");
    if (!d->has_ts)
        return;
    d->first_us = dx_json_in_time(in, o, "first_ts", 1);
    d->last_us = dx_json_in_time(in, o, "last_ts", 1);
    if (d->last_us < d->first_us)
        dx_json_in_fail(in, DX_E_CORRUPT, "last_ts is before first_ts");
}

static void read_metadata(struct dx_json_in *in, const struct dx_json_node *o, struct dx_dataset *d)
{
    const struct dx_json_node *value;
    struct dx_json_list l;

    dx_json_in_map(in, &l, o, "metadata", SIZE_MAX);
    while ((value = dx_json_in_next(in, &l)) != NULL) {
        struct dx_span text = dx_span_str(dx_json_in_entry_str(in, value, DX_REGISTRY_MAX));

        if (in->rc == DX_OK)
            (void)dx_json_in_try(in, dx_registry_meta(d, dx_span_str(l.key), text, &in->err));
    }
}

static void read_totals(struct dx_json_in *in, const struct dx_json_node *o, struct dx_dataset *d)
{
    d->files = dx_json_in_u64(in, o, "files", 0, INT64_MAX);
    d->rows = dx_json_in_u64(in, o, "rows", 0, INT64_MAX);
    d->urls = dx_json_in_u64(in, o, "urls", 0, INT64_MAX);
    d->domains = dx_json_in_u64(in, o, "domains", 0, INT64_MAX);
    read_times(in, o, d);
}

static uint32_t read_part(struct dx_json_in *in, const struct dx_json_node *o, const char *member,
                          uint32_t max)
{
    return dx_json_in_has(o, member) ? (uint32_t)dx_json_in_u64(in, o, member, 1, max) : 0;
}

/* First and end of each range, all ascending. */
static void read_merged(struct dx_json_in *in, const struct dx_json_node *o, struct dx_dataset *d)
{
    const struct dx_json_node *item;
    uint32_t last = 0;
    struct dx_json_list l;

    if (!dx_json_in_has(o, "merged"))
        return;
    dx_json_in_list(in, &l, o, "merged", 2 * DX_DATASET_MERGED_MAX);
    if (l.count % 2 != 0)
        dx_json_in_fail(in, DX_E_CORRUPT, "merged has a first part without an end");
    while ((item = dx_json_in_next(in, &l)) != NULL) {
        bool is_end = l.at % 2 != 0;

        last = (uint32_t)dx_json_in_entry_u64(in, item, last + (is_end || last == 0),
                                              DX_DATASET_PART_MAX + 1);
        if (is_end)
            d->merged[d->merged_count++].end = last;
        else
            d->merged[d->merged_count].first = last;
    }
    if (in->rc < 0)
        d->merged_count = 0;
}

static void read_parts(struct dx_json_in *in, const struct dx_json_node *o, struct dx_dataset *d)
{
    d->first_part = read_part(in, o, "first_part", DX_DATASET_PART_MAX);
    d->end_part = read_part(in, o, "end_part", DX_DATASET_PART_MAX + 1);
    d->replacing = read_part(in, o, "replacing", DX_DATASET_PART_MAX);
    d->next_part = read_part(in, o, "next_part", DX_DATASET_PART_MAX + 1);
    read_merged(in, o, d);
    if (d->first_part == 0 ? d->end_part != 0 : d->end_part <= d->first_part)
        dx_json_in_fail(in, DX_E_CORRUPT, "end_part %" PRIu32 " is not above first_part %" PRIu32,
                        d->end_part, d->first_part);
    if (d->replacing > 0 && d->replacing < d->end_part)
        dx_json_in_fail(in, DX_E_CORRUPT, "replacing %" PRIu32 " is below end_part %" PRIu32,
                        d->replacing, d->end_part);
}

/* Programs that do not know the member refuse the file: they would take the rows for URLs. */
static void read_kind(struct dx_json_in *in, struct dx_registry *r, const struct dx_json_node *o,
                      struct dx_dataset *d)
{
    if (!dx_json_in_has(o, "kind"))
        return;
    if (strcmp(dx_json_in_str(in, o, "kind", 64), KIND_COUNTS) != 0 && in->rc == DX_OK)
        dx_json_in_fail(in, DX_E_UNSUPPORTED,
                        "dataset %" PRIu32 " is of a kind that this program does not know",
                        d->dataset_id);
    dx_registry_set_kind(r, d, DX_DATASET_COUNTS);
}

static void read_dataset(struct dx_json_in *in, struct dx_registry *r, enum form form,
                         const struct dx_json_node *o)
{
    uint32_t id_max = form == OF_ROOT ? r->next_id - 1 : UINT32_MAX;
    struct dx_dataset *d = NULL;
    struct dx_span name;
    uint32_t id;

    if (form == OF_VERSION &&
        dx_json_in_count(o) != DATASET_MEMBERS + (size_t)dx_json_in_has(o, "kind"))
        dx_json_in_fail(in, DX_E_CORRUPT, "not an object of the %d members of a dataset",
                        DATASET_MEMBERS);
    id = (uint32_t)dx_json_in_u64(in, o, "dataset_id", 1, id_max);
    if (r->count > 0 && id <= r->datasets[r->count - 1].dataset_id)
        dx_json_in_fail(in, DX_E_CORRUPT, "dataset_id %" PRIu32 " does not ascend", id);
    name = dx_span_str(dx_json_in_str(in, o, "name", DX_DATASET_NAME_MAX));
    if (!dx_dataset_text_ok(name, DX_DATASET_NAME_MAX))
        dx_json_in_fail(in, DX_E_CORRUPT,
                        "name is not 1 to %d bytes of UTF-8 without control characters",
                        DX_DATASET_NAME_MAX);
    if (in->rc < 0 || !dx_json_in_try(in, append_dataset(r, id, name, r->count, &d, &in->err)))
        return;
    read_kind(in, r, o, d);
    if (form == OF_VERSION)
        read_totals(in, o, d);
    else
        read_parts(in, o, d);
    if (form == OF_VERSION || dx_json_in_has(o, "metadata"))
        read_metadata(in, o, d);
}

static int compare_names(const void *a, const void *b, void *datasets)
{
    const struct dx_dataset *d = datasets;

    return strcmp(d[*(const uint32_t *)a].name, d[*(const uint32_t *)b].name);
}

/* Once at the end: keeping a million names in order while they come would move 2 TB. The place of the first name that stands twice,
 * or 0. */
static size_t sort_names(struct dx_registry *r)
{
    size_t i = 1;

    while (i < r->count && compare_names(&r->by_name[i - 1], &r->by_name[i], r->datasets) < 0)
        i++;
    if (i >= r->count)
        return 0;
    qsort_r(r->by_name, r->count, sizeof *r->by_name, compare_names, r->datasets);
    for (i = 1; i < r->count; i++)
        if (compare_names(&r->by_name[i - 1], &r->by_name[i], r->datasets) == 0)
            return i;
    return 0;
}

static void check_names(struct dx_json_in *in, struct dx_registry *r)
{
    size_t twice = sort_names(r);

    if (twice > 0)
        dx_json_in_fail(
            in, DX_E_CORRUPT, "name '%s' stands twice: dataset %" PRIu32 " has it already",
            r->datasets[r->by_name[twice]].name, r->datasets[r->by_name[twice - 1]].dataset_id);
}

static void read_root_head(struct dx_json_in *in, struct dx_registry *r,
                           const struct dx_json_node *root)
{
    uint64_t version;

    if (in->rc == DX_OK && (!dx_json_in_has(root, "format") ||
                            strcmp(dx_json_in_str(in, root, "format", 64), ROOT_FORMAT) != 0))
        dx_json_in_fail(in, DX_E_CORRUPT, "'format' is not '" ROOT_FORMAT "'");
    version = dx_json_in_u64(in, root, "version", 0, INT64_MAX);
    if (version != ROOT_VERSION)
        dx_json_in_fail(in, DX_E_UNSUPPORTED,
                        "version %" PRIu64
                        ", this program reads %d: a newer one wrote it, or one of "
                        "before release 1.0; of the latter ingest the data into a new root: "
                        "'domaindex ingest --root NEW'",
                        version, ROOT_VERSION);
    r->next_id = (uint32_t)dx_json_in_u64(in, root, "next_dataset_id", 1,
                                          (uint64_t)DX_DATASET_ID_MAX + 1);
}

/* Ids that went: ascending, below the next one, and of no dataset that is there. */
static void read_removed(struct dx_json_in *in, struct dx_registry *r,
                         const struct dx_json_node *root)
{
    const struct dx_json_node *entry;
    struct dx_json_list l;

    dx_json_in_list(in, &l, root, "removed", SIZE_MAX);
    while ((entry = dx_json_in_next(in, &l)) != NULL) {
        uint32_t last = l.at == 0 ? 0 : r->removed[l.at - 1];
        uint32_t id = (uint32_t)dx_json_in_entry_u64(in, entry, (uint64_t)last + 1, r->next_id - 1);

        if (dx_registry_by_id(r, id) != NULL)
            dx_json_in_fail(in, DX_E_CORRUPT, "dataset %" PRIu32 " is there", id);
        if (in->rc == DX_OK)
            (void)dx_json_in_try(in, insert_removed(r, id, l.at, &in->err));
    }
}

static void read_registry(struct dx_json_in *in, struct dx_registry *r, enum form form,
                          const struct dx_json_node *root)
{
    const struct dx_json_node *o;
    struct dx_json_list l;

    if (form == OF_ROOT)
        read_root_head(in, r, root);
    else if (dx_json_in_count(root) != 1)
        dx_json_in_fail(in, DX_E_CORRUPT, "not an object with the one member 'datasets'");
    dx_json_in_list(in, &l, root, "datasets", SIZE_MAX);
    while ((o = dx_json_in_next(in, &l)) != NULL)
        read_dataset(in, r, form, o);
    if (form == OF_ROOT && dx_json_in_has(root, "removed"))
        read_removed(in, r, root);
    if (in->rc == DX_OK)
        check_names(in, r);
}

static int parse_form(struct dx_registry *r, enum form form, struct dx_span text, const char *name,
                      struct dx_error *err)
{
    struct dx_json_in in;
    const struct dx_json_node *root = dx_json_in_open(&in, text, DX_REGISTRY_MAX, name);

    *r = (struct dx_registry)DX_REGISTRY_INIT;
    read_registry(&in, r, form, root);
    if (in.rc < 0)
        dx_registry_release(r);
    return dx_json_in_close(&in, err);
}

/* ---- the form that a version has ---- */

/* 1; 0: for the reader of JSON; below 0: out of memory. */
static int add_line_meta(struct dx_dataset *d, struct dx_registry_line *line, struct dx_error *err)
{
    struct dx_span key;
    struct dx_span value;

    while (dx_registry_line_meta(line, &key, &value)) {
        size_t before = d->metadata_count;
        int rc = dx_registry_meta(d, key, value, err);

        if (rc == DX_E_NOMEM)
            return rc;
        if (rc < 0 || d->metadata_count == before)
            return 0;
    }
    return line->metadata.size == 0;
}

static int add_line(struct dx_registry *r, struct dx_registry_line *line, struct dx_error *err)
{
    uint32_t last = r->count == 0 ? 0 : r->datasets[r->count - 1].dataset_id;
    struct dx_dataset *d;
    int rc;

    if (line->dataset_id <= last || line->name.size == 0 || line->name.size > DX_DATASET_NAME_MAX ||
        (!line->plain_name && !dx_dataset_text_ok(line->name, DX_DATASET_NAME_MAX)) ||
        (line->has_ts && line->last_us < line->first_us))
        return 0;
    rc = append_dataset(r, line->dataset_id, line->name, r->count, &d, err);
    if (rc < 0)
        return rc;
    if (line->of_counts)
        dx_registry_set_kind(r, d, DX_DATASET_COUNTS);
    d->files = line->files;
    d->rows = line->rows;
    d->urls = line->urls;
    d->domains = line->domains;
    d->has_ts = line->has_ts;
    d->first_us = line->first_us;
    d->last_us = line->last_us;
    return add_line_meta(d, line, err);
}

/* 1; 0: the text is of another form; below 0: out of memory. If not 1, r is empty. */
static int parse_lines(struct dx_registry *r, struct dx_span text, struct dx_error *err)
{
    struct dx_registry_lines lines;
    struct dx_registry_line line;
    int rc = text.size <= DX_REGISTRY_MAX;

    *r = (struct dx_registry)DX_REGISTRY_INIT;
    dx_registry_lines_open(&lines, text);
    while (rc == 1 && dx_registry_lines_next(&lines, &line))
        rc = add_line(r, &line, err);
    if (rc == 1 && (!dx_registry_lines_whole(&lines) || sort_names(r) > 0))
        rc = 0;
    if (rc != 1)
        dx_registry_release(r);
    return rc;
}

int dx_registry_parse(struct dx_registry *r, struct dx_span text, const char *name,
                      struct dx_error *err)
{
    int rc = parse_lines(r, text, err);

    return rc != 0 ? (rc < 0 ? rc : DX_OK) : parse_form(r, OF_VERSION, text, name, err);
}

int dx_registry_parse_root(struct dx_registry *r, struct dx_span text, const char *name,
                           struct dx_error *err)
{
    return parse_form(r, OF_ROOT, text, name, err);
}
