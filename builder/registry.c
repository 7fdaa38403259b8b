/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/registry.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json_out.h"
#include "builder/lake_layout.h"

#define FILE_MAX ((size_t)512 << 20)

struct dx_roster {
    struct dx_roster_entry *dataset; /* by id */
    size_t count;
    size_t capacity;
    uint32_t next_id;
    uint32_t *slot; /* open addressing by name: index + 1, 0 free */
    size_t slot_count;
    bool changed;
};

/* Well-formed UTF-8 without C0, DEL and C1 controls. */
static bool plain_text(struct dx_span s)
{
    size_t i = 0;

    while (i < s.size) {
        uint8_t c = s.data[i];
        uint8_t d = i + 1 < s.size ? s.data[i + 1] : 0;
        size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

        if (c < 0x20 || c == 0x7f || (c >= 0x80 && c < 0xc2) || c > 0xf4 || n > s.size - i)
            return false;
        for (size_t k = 1; k < n; k++)
            if ((s.data[i + k] & 0xc0) != 0x80)
                return false;
        if ((c == 0xc2 && d < 0xa0) || (c == 0xe0 && d < 0xa0) || (c == 0xed && d > 0x9f) ||
            (c == 0xf0 && d < 0x90) || (c == 0xf4 && d > 0x8f))
            return false;
        i += n;
    }
    return true;
}

bool dx_roster_name_valid(struct dx_span name)
{
    return name.size >= 1 && name.size <= DX_ROSTER_NAME_MAX && plain_text(name);
}

static void dataset_release(struct dx_roster_entry *d)
{
    for (size_t i = 0; i < d->meta_count; i++) {
        free(d->meta[i].key);
        free(d->meta[i].value);
    }
    free(d->meta);
    free(d->name);
}

void dx_roster_free(struct dx_roster **handle)
{
    struct dx_roster *reg = *handle;

    if (reg == NULL)
        return;
    for (size_t i = 0; i < reg->count; i++)
        dataset_release(&reg->dataset[i]);
    free(reg->dataset);
    free(reg->slot);
    free(reg);
    *handle = NULL;
}

static int registry_new(struct dx_roster **reg, struct dx_error *err)
{
    *reg = calloc(1, sizeof **reg);
    if (*reg == NULL)
        return dx_fail(err, DX_E_NOMEM, "registry: out of memory");
    (*reg)->next_id = 1;
    return DX_OK;
}

/* The slot of the name, or the free one where it would go. */
static size_t slot_of(const struct dx_roster *reg, struct dx_span name)
{
    size_t i = (size_t)dx_hash64(name) & (reg->slot_count - 1);

    while (reg->slot[i] != 0 &&
           !dx_span_equal(dx_span_str(reg->dataset[reg->slot[i] - 1].name), name))
        i = (i + 1) & (reg->slot_count - 1);
    return i;
}

static int grow_slots(struct dx_roster *reg, struct dx_error *err)
{
    size_t count = reg->slot_count == 0 ? 64 : reg->slot_count * 2;
    uint32_t *slot = calloc(count, sizeof *slot);

    if (slot == NULL)
        return dx_fail(err, DX_E_NOMEM, "registry: out of memory");
    free(reg->slot);
    reg->slot = slot;
    reg->slot_count = count;
    for (size_t i = 0; i < reg->count; i++)
        reg->slot[slot_of(reg, dx_span_str(reg->dataset[i].name))] = (uint32_t)i + 1;
    return DX_OK;
}

/* A dataset behind the last one; the caller has checked id and name. */
static int append(struct dx_roster *reg, uint32_t id, struct dx_span name, struct dx_error *err)
{
    struct dx_roster_entry d = { .id = id };

    if (reg->count == reg->capacity) {
        size_t capacity = reg->capacity == 0 ? 64 : reg->capacity * 2;
        struct dx_roster_entry *grown = realloc(reg->dataset, capacity * sizeof *grown);

        if (grown == NULL)
            return dx_fail(err, DX_E_NOMEM, "registry: out of memory");
        reg->dataset = grown;
        reg->capacity = capacity;
    }
    if (2 * (reg->count + 1) > reg->slot_count) {
        int rc = grow_slots(reg, err);

        if (rc < 0)
            return rc;
    }
    d.name = strndup((const char *)name.data, name.size);
    if (d.name == NULL)
        return dx_fail(err, DX_E_NOMEM, "registry: out of memory");
    reg->slot[slot_of(reg, name)] = (uint32_t)reg->count + 1;
    reg->dataset[reg->count++] = d;
    return DX_OK;
}

uint32_t dx_roster_find(const struct dx_roster *reg, struct dx_span name)
{
    uint32_t found = reg->slot_count == 0 ? 0 : reg->slot[slot_of(reg, name)];

    return found == 0 ? 0 : reg->dataset[found - 1].id;
}

const struct dx_roster_entry *dx_roster_get(const struct dx_roster *reg, uint32_t id)
{
    size_t low = 0;
    size_t high = reg->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (reg->dataset[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < reg->count && reg->dataset[low].id == id ? &reg->dataset[low] : NULL;
}

size_t dx_roster_count(const struct dx_roster *reg)
{
    return reg->count;
}

const struct dx_roster_entry *dx_roster_at(const struct dx_roster *reg, size_t i)
{
    return &reg->dataset[i];
}

int dx_roster_add(struct dx_roster *reg, struct dx_span name, uint32_t *id, struct dx_error *err)
{
    int rc;

    if (!dx_roster_name_valid(name))
        return dx_fail(err, DX_E_INVALID,
                       "dataset name must be 1..%d bytes of UTF-8 without control characters",
                       DX_ROSTER_NAME_MAX);
    *id = dx_roster_find(reg, name);
    if (*id != 0)
        return DX_OK;
    if (reg->next_id > DX_ROSTER_ID_MAX)
        return dx_fail(err, DX_E_LIMIT, "registry: all %u dataset ids are used", DX_ROSTER_ID_MAX);
    rc = append(reg, reg->next_id, name, err);
    if (rc < 0)
        return rc;
    *id = reg->next_id++;
    reg->changed = true;
    return DX_OK;
}

static int set_meta(struct dx_roster_entry *d, size_t at, bool there, const char *key,
                    const char *value, struct dx_error *err)
{
    struct dx_roster_meta fresh = { strdup(key), strdup(value) };
    struct dx_roster_meta *grown = NULL;

    if (fresh.key != NULL && fresh.value != NULL)
        grown = realloc(d->meta, (d->meta_count + 1) * sizeof *grown);
    if (grown == NULL) {
        free(fresh.key);
        free(fresh.value);
        return dx_fail(err, DX_E_NOMEM, "registry: out of memory");
    }
    d->meta = grown;
    if (there) {
        free(grown[at].key);
        free(grown[at].value);
    } else {
        memmove(&grown[at + 1], &grown[at], (d->meta_count - at) * sizeof *grown);
        d->meta_count++;
    }
    grown[at] = fresh;
    return DX_OK;
}

int dx_roster_set(struct dx_roster *reg, uint32_t id, const char *key, const char *value,
                  struct dx_error *err)
{
    struct dx_roster_entry *d = (struct dx_roster_entry *)(uintptr_t)dx_roster_get(reg, id);
    size_t at = 0;
    bool there;
    int rc;

    if (d == NULL)
        return dx_fail(err, DX_E_NOT_FOUND, "registry: no dataset %u", id);
    if (!dx_roster_name_valid(dx_span_str(key)) || strlen(value) > DX_ROSTER_META_TEXT_MAX ||
        !plain_text(dx_span_str(value)))
        return dx_fail(err, DX_E_INVALID,
                       "metadata '%s' must be text: a key of 1..%d bytes, a value of at most %d",
                       key, DX_ROSTER_NAME_MAX, DX_ROSTER_META_TEXT_MAX);
    while (at < d->meta_count && strcmp(d->meta[at].key, key) < 0)
        at++;
    there = at < d->meta_count && strcmp(d->meta[at].key, key) == 0;
    if (there ? strcmp(d->meta[at].value, value) == 0 : *value == '\0')
        return DX_OK;
    reg->changed = true;
    if (*value == '\0') {
        free(d->meta[at].key);
        free(d->meta[at].value);
        d->meta_count--;
        memmove(&d->meta[at], &d->meta[at + 1], (d->meta_count - at) * sizeof *d->meta);
        return DX_OK;
    }
    if (!there && d->meta_count == DX_ROSTER_META_MAX)
        return dx_fail(err, DX_E_LIMIT, "dataset '%s' has %d metadata keys already", d->name,
                       DX_ROSTER_META_MAX);
    rc = set_meta(d, at, there, key, value, err);
    return rc;
}

static int parse_meta(struct dx_roster *reg, uint32_t id, json_t *meta, const char *what,
                      struct dx_error *err)
{
    const char *key;
    json_t *value;

    if (meta == NULL)
        return DX_OK;
    if (!json_is_object(meta))
        return dx_fail(err, DX_E_CORRUPT, "%s: metadata of dataset %u is no object", what, id);
    json_object_foreach(meta, key, value)
    {
        int rc = json_is_string(value)
                     ? dx_roster_set(reg, id, key, json_string_value(value), err)
                     : dx_fail(err, DX_E_CORRUPT, "metadata '%s' is no string", key);

        if (rc < 0)
            return dx_fail_in(err, "%s: dataset %u", what, id);
    }
    return DX_OK;
}

static int parse_dataset(struct dx_roster *reg, json_t *entry, const char *what,
                         struct dx_error *err)
{
    json_t *id = json_object_get(entry, "dataset_id");
    json_t *name = json_object_get(entry, "name");
    json_int_t last = reg->count == 0 ? 0 : reg->dataset[reg->count - 1].id;
    struct dx_span text;
    int rc;

    if (!json_is_integer(id) || json_integer_value(id) <= last ||
        json_integer_value(id) >= (json_int_t)reg->next_id)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: entry %zu: dataset_id must be a number above the one before and below "
                       "next_dataset_id",
                       what, reg->count);
    text = dx_span_of(json_string_value(name), json_string_length(name));
    if (!json_is_string(name) || !dx_roster_name_valid(text))
        return dx_fail(err, DX_E_CORRUPT, "%s: entry %zu: no valid name", what, reg->count);
    if (dx_roster_find(reg, text) != 0)
        return dx_fail(err, DX_E_CORRUPT, "%s: entry %zu: the name '%.*s' is there already", what,
                       reg->count, (int)text.size, (const char *)text.data);
    rc = append(reg, (uint32_t)json_integer_value(id), text, err);
    return rc < 0 ? rc
                  : parse_meta(reg, (uint32_t)json_integer_value(id),
                               json_object_get(entry, "metadata"), what, err);
}

static int parse_top(struct dx_roster *reg, json_t *top, const char *what, struct dx_error *err)
{
    json_t *datasets = json_object_get(top, "datasets");
    json_t *next = json_object_get(top, "next_dataset_id");
    const char *format = json_string_value(json_object_get(top, "format"));
    json_t *entry;
    size_t i;
    int rc;

    if (format == NULL || strcmp(format, "domaindex-registry") != 0)
        return dx_fail(err, DX_E_CORRUPT, "%s: is no domaindex-registry", what);
    if (json_integer_value(json_object_get(top, "version")) != 1)
        return dx_fail(err, DX_E_UNSUPPORTED, "%s: its version is not 1", what);
    if (!json_is_integer(next) || json_integer_value(next) < 1 ||
        json_integer_value(next) > (json_int_t)DX_ROSTER_ID_MAX + 1)
        return dx_fail(err, DX_E_CORRUPT, "%s: next_dataset_id is missing or out of range", what);
    if (!json_is_array(datasets))
        return dx_fail(err, DX_E_CORRUPT, "%s: datasets is no array", what);
    reg->next_id = (uint32_t)json_integer_value(next);
    json_array_foreach(datasets, i, entry)
    {
        rc = parse_dataset(reg, entry, what, err);
        if (rc < 0)
            return rc;
    }
    return DX_OK;
}

int dx_roster_parse(struct dx_roster **reg, struct dx_span text, const char *what,
                    struct dx_error *err)
{
    json_error_t where;
    json_t *top;
    int rc = registry_new(reg, err);

    if (rc < 0)
        return rc;
    top = json_loadb((const char *)text.data, text.size, JSON_REJECT_DUPLICATES, &where);
    rc = top == NULL ? dx_fail(err, DX_E_CORRUPT, "%s: line %d: %s", what, where.line, where.text)
                     : parse_top(*reg, top, what, err);
    json_decref(top);
    if (rc < 0)
        dx_roster_free(reg);
    else
        (*reg)->changed = false;
    return rc;
}

static int path_of(const char *root, char path[PATH_MAX], struct dx_error *err)
{
    int n = snprintf(path, PATH_MAX, "%s/" DX_ROSTER_FILE, root);

    return n < 0 || n >= PATH_MAX ? dx_fail(err, DX_E_INVALID, "%s: path too long", root) : DX_OK;
}

int dx_roster_open(struct dx_roster **reg, const char *root, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(FILE_MAX);
    char path[PATH_MAX];
    int rc;

    *reg = NULL;
    rc = path_of(root, path, err);
    if (rc < 0)
        return rc;
    if (access(path, F_OK) < 0 && errno == ENOENT)
        return registry_new(reg, err);
    rc = dx_file_read(path, FILE_MAX, &text, err);
    if (rc == DX_OK)
        rc = dx_roster_parse(reg, dx_span_of(text.data, text.size), path, err);
    dx_buf_release(&text);
    return rc;
}

static void write_dataset(struct dx_buf *out, const struct dx_roster_entry *d)
{
    struct dx_json j;

    dx_json_open(&j, out);
    dx_json_object(&j);
    dx_json_key(&j, "dataset_id");
    dx_json_u64(&j, d->id);
    dx_json_key(&j, "name");
    dx_json_str(&j, d->name);
    if (d->meta_count > 0) {
        dx_json_key(&j, "metadata");
        dx_json_object(&j);
        for (size_t i = 0; i < d->meta_count; i++) {
            dx_json_key_span(&j, dx_span_str(d->meta[i].key));
            dx_json_str(&j, d->meta[i].value);
        }
        dx_json_end(&j);
    }
    dx_json_end(&j);
}

int dx_roster_save(struct dx_roster *reg, const char *root, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(FILE_MAX);
    char path[PATH_MAX];
    char dir[PATH_MAX];
    int rc = path_of(root, path, err);

    if (rc < 0 || !reg->changed)
        return rc;
    (void)snprintf(dir, sizeof dir, "%s/" DX_LAKE_DIR, root);
    rc = dx_dir_make(dir, err);
    if (rc == DX_OK)
        rc = dx_dir_sync(root, err);
    /* One dataset a line: people look at it with grep and diff. */
    dx_buf_fmt(&text,
               "{\"format\":\"domaindex-registry\",\"version\":1,\"next_dataset_id\":%u,"
               "\"datasets\":[",
               reg->next_id);
    for (size_t i = 0; i < reg->count; i++) {
        dx_buf_str(&text, i == 0 ? "\n" : ",\n");
        write_dataset(&text, &reg->dataset[i]);
    }
    dx_buf_str(&text, "\n]}\n");
    if (rc == DX_OK)
        rc = text.failed ? dx_buf_fail(&text, err, path)
                         : dx_file_replace(path, dx_span_of(text.data, text.size), err);
    if (rc == DX_OK)
        reg->changed = false;
    dx_buf_release(&text);
    return rc;
}
