/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/records/dataset_template.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "builder/input/records/hive_folder.h"

static const char *const of_path[] = { "file", "folder", "crawl" };

enum part { PART_FILE, PART_FOLDER, PART_CRAWL, PART_COLUMN };

static enum part part_of(struct dx_span name)
{
    enum part p = PART_FILE;

    while (p < PART_COLUMN && !dx_span_equal(name, dx_span_str(of_path[p])))
        p++;
    return p;
}

/* The {…} that *text begins with; *text is then behind it. */
static bool take_part(const char **text, struct dx_span *name)
{
    size_t n = strcspn(*text, "}");

    if (**text != '{' || (*text)[n] != '}' || n < 2)
        return false;
    *name = dx_span_of((const uint8_t *)*text + 1, n - 1);
    *text += n + 1;
    return true;
}

int dx_dataset_template_parse(struct dx_dataset_template *t, const char *text, struct dx_error *err)
{
    const char *at = text;
    struct dx_span name;

    *t = (struct dx_dataset_template){ .prefix = "" };
    if (text[0] == '\0' || strlen(text) >= DX_DATASET_TEMPLATE_MAX)
        return dx_fail(err, DX_E_INVALID, "'%.40s': a name of 1..%d bytes is expected", text,
                       DX_DATASET_TEMPLATE_MAX - 1);
    while (*at != '\0') {
        const char *begin = at;

        if (*at != '{') {
            at += strcspn(at, "{");
            continue;
        }
        if (!take_part(&at, &name))
            return dx_fail(err, DX_E_INVALID,
                           "'%s': {file}, {folder}, {crawl} or {COLUMN} is expected at '%s'", text,
                           begin);
        if (part_of(name) != PART_COLUMN)
            continue;
        if (*at != '\0')
            return dx_fail(err, DX_E_INVALID, "'%s': the column {%.*s} must stand last", text,
                           (int)name.size, (const char *)name.data);
        (void)snprintf(t->prefix, sizeof t->prefix, "%.*s", (int)(begin - text), text);
        (void)snprintf(t->column, sizeof t->column, "%.*s", (int)name.size,
                       (const char *)name.data);
        return DX_OK;
    }
    (void)snprintf(t->prefix, sizeof t->prefix, "%s", text);
    return DX_OK;
}

/* ---- parts of a path ---- */

static struct dx_span without_endings(struct dx_span name)
{
    static const char *const endings[] = { ".gz",    ".zst",    ".zstd", ".bz2", ".xz",  ".json",
                                           ".jsonl", ".ndjson", ".csv",  ".tsv", ".txt", ".parquet",
                                           ".cdx",   ".cdxj",   ".warc", ".wat", ".wet", ".tab" };
    bool found = true;

    while (found) {
        found = false;
        for (size_t i = 0; !found && i < sizeof endings / sizeof *endings; i++) {
            size_t n = strlen(endings[i]);

            found = name.size > n &&
                    strncasecmp((const char *)name.data + name.size - n, endings[i], n) == 0;
            name.size -= found ? n : 0;
        }
    }
    return name;
}

static bool has_form(const char *text, const char *form)
{
    for (; *form != '\0'; text++, form++)
        if (*form == '0' ? !isdigit((unsigned char)*text) : *text != *form)
            return false;
    return !isdigit((unsigned char)*text);
}

/* The name of a folder that is 2024-10. */
static bool crawl_of_folder(const char *path, char *out, size_t size)
{
    const char *end;

    for (const char *at = path; (end = strchr(at, '/')) != NULL; at = end + 1)
        if (end - at == 7 && has_form(at, "0000-00")) {
            (void)snprintf(out, size, "%.7s", at);
            return true;
        }
    return false;
}

/* The name of a crawl anywhere in the path. */
static bool crawl_of_name(const char *path, char *out, size_t size)
{
    for (const char *at = path; (at = strstr(at, "CC-")) != NULL; at++) {
        if (has_form(at, "CC-MAIN-0000-00")) {
            (void)snprintf(out, size, "%.15s", at);
            return true;
        }
        if (has_form(at, "CC-NEWS-00000000000000") || has_form(at, "CC-NEWS-00000000")) {
            (void)snprintf(out, size, "%.12s-%.2s", at, at + 12);
            return true;
        }
    }
    return false;
}

/* 1, or 0: the path does not say it. */
static int find_crawl(const char *path, char *out, size_t size, struct dx_error *err)
{
    char *value;
    int rc = dx_hive_folder_value(path, "crawl", &value, err);

    if (rc > 0 && value != NULL && value[0] != '\0')
        (void)snprintf(out, size, "%s", value);
    else if (rc == 0 || (rc > 0 && value != NULL))
        rc = crawl_of_name(path, out, size) || crawl_of_folder(path, out, size);
    else if (rc > 0) /* the folder's value is null: no dataset */
        rc = 0;
    free(value);
    return rc;
}

static int find_part(enum part part, const char *path, char *out, size_t size, struct dx_error *err)
{
    const char *name = strrchr(path, '/');
    struct dx_span s = dx_span_str(name == NULL ? path : name + 1);

    if (part == PART_CRAWL)
        return find_crawl(path, out, size, err);
    if (part == PART_FILE) {
        s = without_endings(s);
    } else {
        const char *begin = name;

        while (begin != NULL && begin > path && begin[-1] != '/')
            begin--;
        s = begin == NULL ? (struct dx_span){ NULL, 0 }
                          : dx_span_of((const uint8_t *)begin, (size_t)(name - begin));
    }
    if (s.size > 0)
        (void)snprintf(out, size, "%.*s", (int)s.size, (const char *)s.data);
    return s.size > 0;
}

int dx_dataset_template_fill(const char *prefix, const char *path, char *out, size_t size,
                             struct dx_error *err)
{
    size_t n = 0;

    while (*prefix != '\0' && n < size) {
        char value[2 * DX_DATASET_TEMPLATE_MAX];
        struct dx_span name;
        int rc;

        if (*prefix != '{') {
            out[n++] = *prefix++;
            continue;
        }
        if (!take_part(&prefix, &name))
            return dx_fail(err, DX_E_INVALID, "'%s': no name of a dataset", prefix);
        rc = find_part(part_of(name), path, value, sizeof value, err);
        if (rc < 0)
            return rc;
        if (rc == 0)
            return dx_fail(err, DX_E_INVALID,
                           "%s: its path has no {%.*s} to name the dataset by; give --dataset NAME",
                           path, (int)name.size, (const char *)name.data);
        if (strlen(value) >= size - n)
            n = size;
        else
            n += (size_t)snprintf(out + n, size - n, "%s", value);
    }
    if (n >= size)
        return dx_fail(err, DX_E_LIMIT,
                       "%s: the name of its dataset is longer than %zu bytes; give --dataset NAME",
                       path, size - 1);
    out[n] = '\0';
    return DX_OK;
}
