/* SPDX-License-Identifier: Apache-2.0 */
#include "format/registry_json.h"

#include "base/array.h"
#include "base/civil_time.h"
#include "base/json_out.h"

#include <jansson.h>

#include <inttypes.h>
#include <stdlib.h>

#define DATASET_MEMBERS 9
#define ROOT_FORMAT "domaindex-registry"
#define ROOT_VERSION_PLAIN 1 /* names and ids alone */
#define ROOT_VERSION 2       /* says of files that they do not count: a reader must know that */

enum form { OF_VERSION, OF_ROOT }; /* datasets.json, registry.json */

/* Length of the well-formed UTF-8 sequence at p that is no control character, else 0. */
static size_t text_length(const uint8_t *p, size_t left)
{
    uint32_t c = p[0];
    uint32_t least;
    size_t n;

    if (c < 0x80)
        return c >= 0x20 && c != 0x7f ? 1 : 0;
    if (c >= 0xf0) {
        n = 4;
        least = 0x10000;
        c &= 0x0f;
        if (p[0] > 0xf4)
            return 0;
    } else if (c >= 0xe0) {
        n = 3;
        least = 0x800;
        c &= 0x0f;
    } else if (c >= 0xc2) {
        n = 2;
        least = 0xa0; /* U+0080..U+009F are controls */
        c &= 0x1f;
    } else {
        return 0;
    }
    if (left < n)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3f);
    }
    return c >= least && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff) ? n : 0;
}

bool dx_dataset_text_ok(struct dx_span text, size_t max)
{
    size_t i = 0;

    while (i < text.size) {
        size_t n = text_length(text.data + i, text.size - i);

        if (n == 0)
            return false;
        i += n;
    }
    return text.size >= 1 && text.size <= max;
}

static char *copy_text(struct dx_span s)
{
    char *to = malloc(s.size + 1);

    if (to == NULL)
        return NULL;
    if (s.size > 0)
        memcpy(to, s.data, s.size);
    to[s.size] = '\0';
    return to;
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

/* Where the name stands in by_name, or where it belongs. */
static bool find_name(const struct dx_registry *r, struct dx_span name, size_t *at)
{
    size_t lo = 0;
    size_t hi = r->count;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = dx_span_compare(dx_span_str(r->datasets[r->by_name[mid]].name), name);

        if (c == 0) {
            *at = mid;
            return true;
        }
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    *at = lo;
    return false;
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
        return dx_fail(err, DX_E_NOMEM, "out of memory for %zu datasets", capacity);
    r->capacity = capacity;
    return DX_OK;
}

/* dataset_id is above all others, the name is new and belongs at name_at. */
static int append_dataset(struct dx_registry *r, uint32_t dataset_id, struct dx_span name,
                          size_t name_at, struct dx_dataset **out, struct dx_error *err)
{
    char *copy;
    int rc = make_room(r, err);

    if (rc < 0)
        return rc;
    copy = copy_text(name);
    if (copy == NULL)
        return dx_fail(err, DX_E_NOMEM, "out of memory for the name of a dataset");
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

static int append_meta(struct dx_dataset *d, size_t at, struct dx_span key, struct dx_span value,
                       struct dx_error *err)
{
    struct dx_dataset_meta fresh = { copy_text(key), copy_text(value) };
    struct dx_dataset_meta *grown = NULL;

    if (fresh.key != NULL && fresh.value != NULL)
        grown = realloc(d->metadata, (d->metadata_count + 1) * sizeof *grown);
    if (grown == NULL) {
        free(fresh.key);
        free(fresh.value);
        return dx_fail(err, DX_E_NOMEM, "out of memory for metadata");
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
    copy = copy_text(value);
    if (copy == NULL)
        return dx_fail(err, DX_E_NOMEM, "out of memory for metadata");
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
    uint32_t *grown = dx_array_room(r->removed, r->removed_count, &r->removed_capacity,
                                    sizeof *grown);

    if (grown == NULL)
        return dx_fail(err, DX_E_NOMEM, "out of memory for %zu removed datasets",
                       r->removed_count + 1);
    r->removed = grown;
    memmove(r->removed + at + 1, r->removed + at, (r->removed_count - at) * sizeof *r->removed);
    r->removed[at] = id;
    r->removed_count++;
    return DX_OK;
}

static void drop_dataset(struct dx_registry *r, uint32_t index)
{
    size_t kept = 0;

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
                          x->replacing != y->replacing))
            return false;
    }
    return true;
}

/* ---- writing ---- */

static void write_number(struct dx_json *j, const char *key, uint64_t v)
{
    dx_json_key(j, key);
    dx_json_u64(j, v);
}

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
    write_number(j, "files", d->files);
    write_number(j, "rows", d->rows);
    write_number(j, "urls", d->urls);
    write_number(j, "domains", d->domains);
    write_time(j, "first_ts", d->has_ts, d->first_us);
    write_time(j, "last_ts", d->has_ts, d->last_us);
}

static void write_part(struct dx_json *j, const char *key, uint32_t part)
{
    if (part > 0)
        write_number(j, key, part);
}

static void write_dataset(const struct dx_dataset *d, enum form form, struct dx_buf *out)
{
    struct dx_json j;

    dx_json_open(&j, out);
    dx_json_object(&j);
    write_number(&j, "dataset_id", d->dataset_id);
    dx_json_key(&j, "name");
    dx_json_str(&j, d->name);
    if (form == OF_ROOT) {
        write_part(&j, "first_part", d->first_part);
        write_part(&j, "end_part", d->end_part);
        write_part(&j, "replacing", d->replacing);
        write_part(&j, "next_part", d->next_part);
    }
    if (form == OF_VERSION || d->metadata_count > 0)
        dx_registry_metadata_write(&j, d);
    if (form == OF_VERSION)
        write_totals(&j, d);
    dx_json_end(&j);
}

/* What parse would refuse, told to the one who can help it. */
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

static bool is_plain(const struct dx_registry *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->datasets[i].first_part > 0 || r->datasets[i].replacing > 0 ||
            r->datasets[i].next_part > 0)
            return false;
    return r->removed_count == 0;
}

static void write_head(const struct dx_registry *r, struct dx_buf *out)
{
    dx_buf_fmt(out,
               "\"format\":\"" ROOT_FORMAT "\",\"version\":%d,\"next_dataset_id\":%" PRIu32 ",",
               is_plain(r) ? ROOT_VERSION_PLAIN : ROOT_VERSION, r->next_id);
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

static struct dx_span json_span(const json_t *v)
{
    return dx_span_of(json_string_value(v), json_string_length(v));
}

static bool read_number(const json_t *o, const char *key, uint64_t max, uint64_t *out)
{
    const json_t *v = json_object_get(o, key);

    if (!json_is_integer(v) || json_integer_value(v) < 0 || (uint64_t)json_integer_value(v) > max)
        return false;
    *out = (uint64_t)json_integer_value(v);
    return true;
}

/* As the writer prints it: a time has one text. */
static bool read_time(const json_t *v, int64_t *us)
{
    char text[DX_CIVIL_TEXT];

    return json_is_string(v) && dx_civil_parse(json_span(v), us) &&
           dx_span_equal(json_span(v), dx_span_of(text, dx_civil_text_us(*us, text)));
}

static const char *read_times(const json_t *o, struct dx_dataset *d)
{
    const json_t *first = json_object_get(o, "first_ts");
    const json_t *last = json_object_get(o, "last_ts");

    if (json_is_null(first) && json_is_null(last))
        return NULL;
    if (!read_time(first, &d->first_us) || !read_time(last, &d->last_us))
        return "first_ts and last_ts are not both times or both null";
    if (d->last_us < d->first_us)
        return "last_ts is before first_ts";
    d->has_ts = true;
    return NULL;
}

static int read_metadata(json_t *o, struct dx_dataset *d, struct dx_error *err)
{
    const char *key;
    json_t *value;

    if (!json_is_object(o))
        return dx_fail(err, DX_E_CORRUPT, "metadata is no object");
    json_object_foreach(o, key, value)
    {
        int rc;

        if (!json_is_string(value))
            return dx_fail(err, DX_E_CORRUPT, "metadata '%s' is not text", key);
        rc = dx_registry_meta(d, dx_span_str(key), json_span(value), err);
        if (rc < 0)
            return rc;
    }
    return DX_OK;
}

static int read_totals(const json_t *o, struct dx_dataset *d, struct dx_error *err)
{
    const char *why;

    if (!read_number(o, "files", INT64_MAX, &d->files) ||
        !read_number(o, "rows", INT64_MAX, &d->rows) ||
        !read_number(o, "urls", INT64_MAX, &d->urls) ||
        !read_number(o, "domains", INT64_MAX, &d->domains))
        return dx_fail(err, DX_E_CORRUPT, "files, rows, urls or domains is no count");
    why = read_times(o, d);
    return why == NULL ? DX_OK : dx_fail(err, DX_E_CORRUPT, "%s", why);
}

static bool read_part(const json_t *o, const char *key, uint64_t max, uint32_t *out)
{
    uint64_t v;

    if (json_object_get(o, key) == NULL)
        return true;
    if (!read_number(o, key, max, &v) || v == 0)
        return false;
    *out = (uint32_t)v;
    return true;
}

static int read_parts(const json_t *o, struct dx_dataset *d, struct dx_error *err)
{
    if (!read_part(o, "first_part", DX_DATASET_PART_MAX, &d->first_part) ||
        !read_part(o, "end_part", DX_DATASET_PART_MAX + 1, &d->end_part) ||
        !read_part(o, "replacing", DX_DATASET_PART_MAX, &d->replacing) ||
        !read_part(o, "next_part", DX_DATASET_PART_MAX + 1, &d->next_part))
        return dx_fail(err, DX_E_CORRUPT,
                       "first_part, end_part, replacing or next_part is not in 1..%u (end_part and "
                       "next_part: one more)",
                       DX_DATASET_PART_MAX);
    if (d->first_part == 0 ? d->end_part != 0 : d->end_part <= d->first_part)
        return dx_fail(err, DX_E_CORRUPT, "end_part %" PRIu32 " is not above first_part %" PRIu32,
                       d->end_part, d->first_part);
    if (d->replacing > 0 && d->replacing < d->end_part)
        return dx_fail(err, DX_E_CORRUPT, "replacing %" PRIu32 " is below end_part %" PRIu32,
                       d->replacing, d->end_part);
    return DX_OK;
}

static int read_dataset(struct dx_registry *r, enum form form, const json_t *o,
                        struct dx_error *err)
{
    uint32_t id_max = form == OF_ROOT ? r->next_id - 1 : UINT32_MAX;
    json_t *metadata = json_object_get(o, "metadata");
    const json_t *name = json_object_get(o, "name");
    struct dx_dataset *d = NULL;
    uint64_t id;
    int rc;

    if (form == OF_VERSION && (!json_is_object(o) || json_object_size(o) != DATASET_MEMBERS ||
                               !json_is_string(name) || !json_is_object(metadata)))
        return dx_fail(err, DX_E_CORRUPT, "not an object of the %d members of a dataset",
                       DATASET_MEMBERS);
    if (!read_number(o, "dataset_id", id_max, &id) || id == 0)
        return dx_fail(err, DX_E_CORRUPT, "dataset_id is not in 1..%" PRIu32, id_max);
    if (r->count > 0 && id <= r->datasets[r->count - 1].dataset_id)
        return dx_fail(err, DX_E_CORRUPT, "dataset_id %" PRIu64 " does not ascend", id);
    if (!json_is_string(name) || !dx_dataset_text_ok(json_span(name), DX_DATASET_NAME_MAX))
        return dx_fail(err, DX_E_CORRUPT,
                       "name is not 1 to %d bytes of UTF-8 without control characters",
                       DX_DATASET_NAME_MAX);
    rc = append_dataset(r, (uint32_t)id, json_span(name), r->count, &d, err);
    if (rc == DX_OK && form == OF_VERSION)
        rc = read_totals(o, d, err);
    if (rc == DX_OK && form == OF_ROOT)
        rc = read_parts(o, d, err);
    return rc < 0 || metadata == NULL ? rc : read_metadata(metadata, d, err);
}

static int compare_names(const void *a, const void *b, void *datasets)
{
    const struct dx_dataset *d = datasets;

    return strcmp(d[*(const uint32_t *)a].name, d[*(const uint32_t *)b].name);
}

/* Once at the end: keeping a million names in order while they come would move 2 TB. */
static int sort_names(struct dx_registry *r, const char *name, struct dx_error *err)
{
    if (r->count > 1)
        qsort_r(r->by_name, r->count, sizeof *r->by_name, compare_names, r->datasets);
    for (size_t i = 1; i < r->count; i++)
        if (compare_names(&r->by_name[i - 1], &r->by_name[i], r->datasets) == 0)
            return dx_fail(
                err, DX_E_CORRUPT, "%s: name '%s' stands twice: dataset %" PRIu32 " has it already",
                name, r->datasets[r->by_name[i]].name, r->datasets[r->by_name[i - 1]].dataset_id);
    return DX_OK;
}

static int read_root_head(struct dx_registry *r, const json_t *root, const char *name,
                          struct dx_error *err)
{
    const char *format = json_string_value(json_object_get(root, "format"));
    uint64_t version = 0;
    uint64_t next = 0;

    if (format == NULL || strcmp(format, ROOT_FORMAT) != 0)
        return dx_fail(err, DX_E_CORRUPT, "%s: is no " ROOT_FORMAT, name);
    if (!read_number(root, "version", ROOT_VERSION, &version) || version == 0)
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "%s: its version is none of those that this program knows (%d and %d)", name,
                       ROOT_VERSION_PLAIN, ROOT_VERSION);
    if (!read_number(root, "next_dataset_id", (uint64_t)DX_DATASET_ID_MAX + 1, &next) || next == 0)
        return dx_fail(err, DX_E_CORRUPT, "%s: next_dataset_id is missing or out of range", name);
    r->next_id = (uint32_t)next;
    return DX_OK;
}

/* Ids that went: ascending, below the next one, and of no dataset that is there. */
static int read_removed(struct dx_registry *r, const json_t *root, const char *name,
                        struct dx_error *err)
{
    const json_t *list = json_object_get(root, "removed");
    size_t count = json_array_size(list);
    json_int_t last = 0;
    int rc = DX_OK;

    if (list != NULL && !json_is_array(list))
        return dx_fail(err, DX_E_CORRUPT, "%s: 'removed' is no array", name);
    for (size_t i = 0; rc == DX_OK && i < count; i++) {
        const json_t *v = json_array_get(list, i);
        json_int_t id = json_integer_value(v);

        if (!json_is_integer(v) || id <= last || id >= (json_int_t)r->next_id ||
            dx_registry_by_id(r, (uint32_t)id) != NULL)
            return dx_fail(err, DX_E_CORRUPT,
                           "%s: removed id %zu of %zu: not an id above the one before and below "
                           "next_dataset_id that no dataset has",
                           name, i, count);
        last = id;
        rc = insert_removed(r, (uint32_t)id, i, err);
    }
    return rc;
}

static int read_registry(struct dx_registry *r, enum form form, const json_t *root,
                         const char *name, struct dx_error *err)
{
    const json_t *list = json_object_get(root, "datasets");
    size_t count = json_array_size(list);

    int rc = form == OF_ROOT ? read_root_head(r, root, name, err) : DX_OK;

    if (rc < 0)
        return rc;
    if (form == OF_VERSION &&
        (!json_is_object(root) || json_object_size(root) != 1 || !json_is_array(list)))
        return dx_fail(err, DX_E_CORRUPT, "%s: not an object with the one member 'datasets'", name);
    if (!json_is_array(list))
        return dx_fail(err, DX_E_CORRUPT, "%s: 'datasets' is missing or no array", name);
    for (size_t i = 0; i < count; i++) {
        rc = read_dataset(r, form, json_array_get(list, i), err);
        if (rc < 0)
            return dx_fail_in(err, "%s: dataset %zu of %zu", name, i, count);
    }
    rc = form == OF_ROOT ? read_removed(r, root, name, err) : DX_OK;
    return rc < 0 ? rc : sort_names(r, name, err);
}

static int parse_form(struct dx_registry *r, enum form form, struct dx_span text, const char *name,
                      struct dx_error *err)
{
    struct dx_error local = DX_ERROR_INIT; /* so that there is a text to put a context before */
    json_error_t where;
    json_t *root;
    int rc;

    *r = (struct dx_registry)DX_REGISTRY_INIT;
    if (text.size > DX_REGISTRY_MAX)
        return dx_fail(err, DX_E_LIMIT, "%s: %zu bytes, at most %u are read", name, text.size,
                       DX_REGISTRY_MAX);
    root = json_loadb((const char *)text.data, text.size, JSON_REJECT_DUPLICATES, &where);
    if (root == NULL)
        return dx_fail(err, DX_E_CORRUPT, "%s: line %d, column %d: %s", name, where.line,
                       where.column, where.text);
    rc = read_registry(r, form, root, name, &local);
    json_decref(root);
    if (rc < 0) {
        dx_registry_release(r);
        if (err != NULL)
            *err = local;
    }
    return rc;
}

int dx_registry_parse(struct dx_registry *r, struct dx_span text, const char *name,
                      struct dx_error *err)
{
    return parse_form(r, OF_VERSION, text, name, err);
}

int dx_registry_parse_root(struct dx_registry *r, struct dx_span text, const char *name,
                           struct dx_error *err)
{
    return parse_form(r, OF_ROOT, text, name, err);
}
