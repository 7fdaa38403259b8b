/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/check/inspect.h"

#include "base/json_out.h"
#include "base/map.h"
#include "builder/lake/dataset_registry.h"
#include "builder/root/root.h"
#include "canon/psl.h"
#include "format/core/zseek_whole.h"
#include "format/root/registry_json.h"
#include "format/version/manifest.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define TEXT_DEPTH_MAX 32

void dx_inspect_u64(const struct dx_inspect *in, const char *key, uint64_t value)
{
    char text[24];

    dx_json_key(in->json, key);
    if (value <= INT64_MAX) {
        dx_json_u64(in->json, value);
    } else { /* no sound file has it, and readers of JSON stumble over such numbers */
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)value);
        dx_json_str(in->json, text);
    }
}

void dx_inspect_str(const struct dx_inspect *in, const char *key, struct dx_span value)
{
    dx_json_key(in->json, key);
    dx_json_text(in->json, value);
}

struct number {
    const char *key;
    uint64_t value;
};

static void write_numbers(struct dx_json *j, const struct number *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        dx_json_key(j, numbers[i].key);
        dx_json_u64(j, numbers[i].value);
    }
}

/* Older versions whose files it has, and what its own files hold. */
static void write_parts(struct dx_json *j, const struct dx_manifest_version *v)
{
    const struct number own[] = { { "part_domains", v->part.domains },
                                  { "part_pairs", v->part.pairs },
                                  { "part_urls", v->part.urls },
                                  { "part_rows", v->part.rows },
                                  { "first_file", v->part.first_file } };

    dx_json_key(j, "parts");
    dx_json_array(j);
    for (size_t i = 0; i < v->part_count; i++)
        dx_json_str(j, v->parts[i]);
    dx_json_end(j);
    write_numbers(j, own, sizeof own / sizeof own[0]);
}

static void write_version(struct dx_json *j, const struct dx_manifest_version *v, bool current)
{
    char hex[DX_HASH128_TEXT];
    struct dx_hash128 build;
    uint64_t bytes = 0;

    memcpy(build.bytes, v->build.bytes, sizeof build.bytes);
    dx_hash128_text(&build, hex);
    for (size_t i = 0; i < v->file_count; i++)
        bytes += v->files[i].size;
    dx_json_object(j);
    dx_json_key(j, "version");
    dx_json_str(j, v->version);
    dx_json_key(j, "current");
    dx_json_bool(j, current);
    dx_json_key(j, "published");
    dx_json_time_us(j, v->published_us);
    dx_json_key(j, "build_id");
    dx_json_str(j, hex);
    const struct number numbers[] = { { "canon_version", v->canon_version },
                                      { "domains", v->domains },
                                      { "datasets", v->datasets },
                                      { "pairs", v->pairs },
                                      { "urls", v->urls },
                                      { "rows", v->rows },
                                      { "page_count", v->pages },
                                      { "rows_left_out", v->rows_left_out },
                                      { "lake_files", v->lake_files },
                                      { "files", v->file_count },
                                      { "bytes", bytes } };
    write_numbers(j, numbers, sizeof numbers / sizeof numbers[0]);
    if (v->part_count > 0)
        write_parts(j, v);
    dx_json_end(j);
}

static void write_manifest(struct dx_json *j, const struct dx_manifest *m)
{
    dx_json_key(j, "kind");
    dx_json_str(j, "manifest");
    dx_json_key(j, "sequence");
    dx_json_u64(j, m->sequence);
    dx_json_key(j, "current_version");
    dx_json_str(j, m->current);
    dx_json_key(j, "versions");
    dx_json_array(j);
    for (size_t i = 0; i < m->version_count; i++)
        write_version(j, &m->versions[i], strcmp(m->versions[i].version, m->current) == 0);
    dx_json_end(j);
}

static void write_dataset(struct dx_json *j, const struct dx_dataset *d)
{
    dx_json_object(j);
    dx_json_key(j, "dataset_id");
    dx_json_u64(j, d->dataset_id);
    dx_json_key(j, "name");
    dx_json_str(j, d->name);
    if (d->kind == DX_DATASET_COUNTS) {
        dx_json_key(j, "kind");
        dx_json_str(j, "counts");
    }
    dx_json_key(j, "domains");
    dx_json_u64(j, d->domains);
    dx_json_key(j, "urls");
    dx_json_u64(j, d->urls);
    dx_json_key(j, "rows");
    dx_json_u64(j, d->rows);
    dx_json_key(j, "files");
    dx_json_u64(j, d->files);
    dx_json_end(j);
}

/* JSON files are distinguished by what parses: each of the three is strict. */
static int inspect_json(const struct dx_inspect *in, struct dx_error *err)
{
    struct dx_manifest manifest = DX_MANIFEST_INIT;
    struct dx_registry registry = DX_REGISTRY_INIT;
    struct dx_dataset_registry *dataset_registry = NULL;
    struct dx_error why = DX_ERROR_INIT;
    int rc;

    if (memmem(in->bytes.data, in->bytes.size, "\"domaindex-index\"", 17) != NULL ||
        memmem(in->bytes.data, in->bytes.size, "\"domaindex-manifest\"", 20) != NULL) {
        rc = dx_manifest_parse(in->bytes, in->path, &manifest, err);
        if (rc == DX_OK)
            write_manifest(in->json, &manifest);
        dx_manifest_release(&manifest);
        return rc;
    }
    rc = dx_registry_parse(&registry, in->bytes, in->path, &why);
    if (rc == DX_E_NOMEM)
        return dx_no_memory(err, "%s", in->path);
    if (rc == DX_OK) {
        dx_inspect_str(in, "kind", dx_span_str("datasets of a version"));
        dx_json_key(in->json, "datasets");
        dx_json_array(in->json);
        for (size_t i = 0; i < registry.count; i++)
            write_dataset(in->json, &registry.datasets[i]);
        dx_json_end(in->json);
        dx_registry_release(&registry);
        return DX_OK;
    }
    rc = dx_dataset_registry_parse(&dataset_registry, in->bytes, in->path, err);
    if (rc == DX_E_NOMEM)
        return rc;
    if (rc < 0)
        return dx_fail(
            err, DX_E_UNSUPPORTED,
            "%s: JSON, but neither a manifest, nor datasets.json (%s), nor registry.json", in->path,
            why.text);
    dx_inspect_str(in, "kind", dx_span_str("registry of dataset names"));
    dx_json_key(in->json, "datasets");
    dx_json_array(in->json);
    for (size_t i = 0; i < dx_dataset_registry_count(dataset_registry); i++) {
        dx_json_object(in->json);
        dx_inspect_u64(in, "dataset_id", dx_dataset_registry_at(dataset_registry, i)->dataset_id);
        dx_inspect_str(in, "name", dx_span_str(dx_dataset_registry_at(dataset_registry, i)->name));
        dx_json_end(in->json);
    }
    dx_json_end(in->json);
    dx_dataset_registry_free(&dataset_registry);
    return DX_OK;
}

static bool begins(struct dx_span s, const char *magic)
{
    size_t n = strlen(magic);

    return s.size >= n && memcmp(s.data, magic, n) == 0;
}

/* Lines that are neither empty nor comments: publicsuffix.org/list. */
static uint64_t count_rules(struct dx_span text)
{
    struct dx_bytes at = dx_bytes_of(text);
    uint64_t rules = 0;

    while (dx_bytes_left(&at) > 0) {
        const uint8_t *end = memchr(at.at, '\n', dx_bytes_left(&at));
        struct dx_span line = dx_bytes_take(&at, end == NULL ? dx_bytes_left(&at)
                                                             : (size_t)(end - at.at));

        rules += line.size > 0 && line.data[0] > ' ' && !begins(line, "//");
        (void)dx_bytes_u8(&at);
    }
    return rules;
}

static int inspect_psl(const struct dx_inspect *in, struct dx_error *err)
{
    struct dx_psl *psl = NULL;
    int rc = dx_psl_new(&psl, in->bytes, err);

    dx_psl_free(&psl);
    if (rc < 0)
        return dx_fail_in(err, "%s", in->path);
    dx_inspect_str(in, "kind", dx_span_str("Public Suffix List"));
    dx_inspect_u64(in, "rules", count_rules(in->bytes));
    return DX_OK;
}

static bool is_named(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');

    return strcmp(slash == NULL ? path : slash + 1, name) == 0;
}

/* The registry or the suffix list of a version, compressed. */
static int inspect_text(const struct dx_inspect *in, struct dx_error *err)
{
    bool psl = is_named(in->path, DX_FILE_PSL);
    struct dx_buf text = DX_BUF_INIT(psl ? DX_PSL_TEXT_MAX : DX_REGISTRY_MAX);
    struct dx_inspect plain = *in;
    int rc = dx_zseek_read(in->bytes, in->path, &text, err);

    plain.bytes = dx_span_of(text.data, text.size);
    if (rc == DX_OK)
        rc = psl ? inspect_psl(&plain, err) : inspect_json(&plain, err);
    dx_buf_release(&text);
    return rc;
}

static int inspect_bytes(const struct dx_inspect *in, struct dx_error *err);

/* ROOT/index/VERSION/part.pack: the manifest of ROOT says what is where in it. */
static int split_pack(const char *path, char root[PATH_MAX], char version[DX_VERSION_NAME],
                      struct dx_error *err)
{
    static const char end[] = "/" DX_FILE_PACK;
    static const char index[] = DX_INDEX_DIR "/";
    size_t tail = sizeof index - 1 + DX_VERSION_NAME - 1 + sizeof end - 1;
    size_t size = strlen(path);
    size_t at = size - tail;

    if (size < tail || size - tail >= PATH_MAX || (at > 0 && path[at - 1] != '/') ||
        memcmp(path + at, index, sizeof index - 1) != 0 ||
        memcmp(path + size - (sizeof end - 1), end, sizeof end - 1) != 0)
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "%s: the files of a version in one object, which the manifest cuts apart: "
                       "give its path as ROOT/index/VERSION/part.pack",
                       path);
    memcpy(version, path + at + sizeof index - 1, DX_VERSION_NAME - 1);
    version[DX_VERSION_NAME - 1] = '\0';
    (void)snprintf(root, PATH_MAX, "%.*s", at == 0 ? 1 : (int)at - 1, at == 0 ? "." : path);
    return DX_OK;
}

static int inspect_packed(const struct dx_inspect *in, const struct dx_manifest_version *v,
                          const struct dx_manifest_file *file, struct dx_error *err)
{
    struct dx_manifest_place place;
    struct dx_inspect one = *in;
    char path[PATH_MAX];
    int rc;

    dx_manifest_place(v, file, &place);
    (void)snprintf(path, sizeof path, "%s/%s", in->path, file->name);
    one.path = path;
    one.bytes = dx_span_of(in->bytes.data + place.at, (size_t)file->size);
    dx_json_object(in->json);
    dx_inspect_str(in, "name", dx_span_str(file->name));
    dx_inspect_u64(in, "offset", place.at);
    dx_inspect_u64(in, "size", file->size);
    rc = inspect_bytes(&one, err);
    if (rc == DX_OK)
        dx_json_end(in->json);
    return rc;
}

static int inspect_pack(const struct dx_inspect *in, struct dx_error *err)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    const struct dx_manifest_version *v = NULL;
    char version[DX_VERSION_NAME];
    char root[PATH_MAX];
    int rc = split_pack(in->path, root, version, err);

    if (rc == DX_OK)
        rc = dx_root_manifest(root, &m, err);
    if (rc == DX_OK) {
        v = dx_manifest_find(&m, version);
        if (v == NULL || !dx_manifest_packed(v))
            rc = dx_fail(err, DX_E_NOT_FOUND, "%s: the manifest of %s lists no such pack", in->path,
                         root);
        else if (v->pack.size != in->bytes.size)
            rc = dx_fail(err, DX_E_CORRUPT, "%s: %zu bytes, the manifest says %llu", in->path,
                         in->bytes.size, (unsigned long long)v->pack.size);
    }
    if (rc == DX_OK) {
        dx_inspect_str(in, "kind", dx_span_str("files of a version"));
        dx_inspect_str(in, "version", dx_span_str(version));
        dx_json_key(in->json, "files");
        dx_json_array(in->json);
        for (size_t i = 0; rc == DX_OK && i < v->file_count; i++)
            rc = inspect_packed(in, v, &v->files[i], err);
        if (rc == DX_OK)
            dx_json_end(in->json);
    }
    dx_manifest_release(&m);
    return rc;
}

static int inspect_bytes(const struct dx_inspect *in, struct dx_error *err)
{
    static const char zst_magic[] = "\x28\xb5\x2f\xfd";
    static const char *const envelopes[] = { "DXDD", "DXMP", "DTDR", "DXDC", "DXPD",
                                             "DXPG", "DXTD", "DXCP", "DXTG", "DXDE" };

    if (in->bytes.size == 0)
        return dx_fail(err, DX_E_TRUNCATED, "%s: is empty", in->path);
    if (is_named(in->path, DX_FILE_PACK))
        return inspect_pack(in, err);
    if (is_named(in->path, DX_FILE_DATASETS) || is_named(in->path, DX_FILE_PSL))
        return inspect_text(in, err);
    if (begins(in->bytes, "PAR1"))
        return dx_inspect_parquet(in, err);
    if (begins(in->bytes, zst_magic))
        return dx_inspect_zst(in, err);
    for (size_t i = 0; i < sizeof envelopes / sizeof envelopes[0]; i++)
        if (begins(in->bytes, envelopes[i]))
            return dx_inspect_envelope(in, err);
    if (begins(in->bytes, "{"))
        return inspect_json(in, err);
    if (memmem(in->bytes.data, in->bytes.size, "===BEGIN ICANN DOMAINS===", 25) != NULL)
        return inspect_psl(in, err);
    return dx_fail(
        err, DX_E_UNSUPPORTED,
        "%s: not a file of an index or a lake: its first bytes are not a known magic number",
        in->path);
}

int dx_inspect_span(const char *name, struct dx_span bytes, bool deep, struct dx_buf *json,
                    struct dx_error *err)
{
    struct dx_inspect in = { .path = name, .bytes = bytes, .deep = deep };
    char hex[DX_HASH128_TEXT];
    struct dx_hash128 hash;
    struct dx_json j;
    int rc;

    dx_json_open(&j, json);
    in.json = &j;
    dx_json_object(&j);
    dx_inspect_str(&in, "file", dx_span_str(name));
    dx_inspect_u64(&in, "size", bytes.size);
    if (deep) {
        hash = dx_hash128_of(bytes);
        dx_hash128_text(&hash, hex);
        dx_inspect_str(&in, "xxh3_128", dx_span_str(hex));
    }
    rc = inspect_bytes(&in, err);
    if (rc < 0)
        return rc;
    dx_json_end(&j);
    return json->failed ? dx_buf_fail(json, err, name) : DX_OK;
}

int dx_inspect_file(const char *path, bool deep, struct dx_buf *json, struct dx_error *err)
{
    struct dx_map map = DX_MAP_INIT;
    int rc = dx_map_open(&map, path, DX_MAP_SEQUENTIAL, err);

    if (rc == DX_OK)
        rc = dx_inspect_span(path, map.bytes, deep, json, err);
    dx_map_close(&map);
    return rc;
}

int dx_inspect_root(const char *root, struct dx_buf *json, struct dx_error *err)
{
    struct dx_manifest manifest = DX_MANIFEST_INIT;
    struct dx_json j;
    int rc = dx_root_manifest(root, &manifest, err);

    if (rc < 0)
        return rc;
    dx_json_open(&j, json);
    dx_json_object(&j);
    dx_json_key(&j, "root");
    dx_json_str(&j, root);
    write_manifest(&j, &manifest);
    dx_json_end(&j);
    dx_manifest_release(&manifest);
    return json->failed ? dx_buf_fail(json, err, root) : DX_OK;
}

static void indent(struct dx_buf *out, unsigned depth)
{
    for (unsigned i = 0; i < depth; i++)
        dx_buf_str(out, "  ");
}

static void text_value(const json_t *value, unsigned depth, struct dx_buf *out);

/* "key: value" lines; a list of objects has "-" in front of the first line of each. */
static void text_object(const json_t *object, unsigned depth, bool first_in_place,
                        struct dx_buf *out)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        if (!first_in_place)
            indent(out, depth);
        first_in_place = false;
        dx_buf_printable(out, key, strlen(key));
        dx_buf_u8(out, ':');
        text_value(value, depth, out);
    }
}

static void text_array(const json_t *array, unsigned depth, struct dx_buf *out)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);

        indent(out, depth);
        dx_buf_str(out, "-");
        if (json_is_object(item)) {
            dx_buf_u8(out, ' ');
            text_object(item, depth + 1, true, out);
        } else {
            text_value(item, depth, out);
        }
    }
}

static void text_value(const json_t *value, unsigned depth, struct dx_buf *out)
{
    if (json_is_object(value) && depth < TEXT_DEPTH_MAX) {
        dx_buf_u8(out, '\n');
        text_object(value, depth + 1, false, out);
    } else if (json_is_array(value) && depth < TEXT_DEPTH_MAX) {
        dx_buf_str(out, json_array_size(value) == 0 ? " none\n" : "\n");
        text_array(value, depth + 1, out);
    } else {
        char *text = json_dumps(value, JSON_ENCODE_ANY);

        dx_buf_u8(out, ' ');
        if (text != NULL && json_is_string(value) && strchr(text, '\\') == NULL)
            dx_buf_printable(out, text + 1, strlen(text) - 2); /* no quotes when that is plain */
        else if (text != NULL)
            dx_buf_printable(out, text, strlen(text));
        out->failed |= text == NULL; /* no memory: it must not look like a value */
        dx_buf_u8(out, '\n');
        free(text);
    }
}

int dx_inspect_text(struct dx_span json, struct dx_buf *out, struct dx_error *err)
{
    json_error_t why;
    json_t *object = json_loadb((const char *)json.data, json.size, JSON_ALLOW_NUL, &why);

    if (object == NULL)
        return dx_fail(err, DX_E_NOMEM, "inspect: out of memory%s%s",
                       why.text[0] == '\0' ? "" : ": ", why.text);
    text_object(object, 0, true, out);
    json_decref(object);
    return out->failed ? dx_buf_fail(out, err, "inspect") : DX_OK;
}
