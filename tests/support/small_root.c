/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/small_root.h"

#include "base/file.h"
#include "builder/lake/dataset_registry.h"
#include "builder/lake/lake_file.h"
#include "builder/publish/publish.h"
#include "canon/ids.h"
#include "tests/support/root_registry.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char suffix_list[] = "// ===BEGIN ICANN DOMAINS===\ncom\norg\nuk\nco.uk\n"
                                  "// ===END ICANN DOMAINS===\n";

static void die(const char *what, const struct dx_error *err)
{
    fprintf(stderr, "small_root: %s: %s\n", what, err->text);
    exit(1);
}

void dx_test_root_domain(unsigned i, char out[64])
{
    static const char *const suffixes[] = { "com", "org", "co.uk" };

    if (i % 7 == 6)
        (void)snprintf(out, 64, "192.0.%u.%u", 2 + i / 1792,
                       i % 256); /* 7 * 256: no two the same */
    else
        (void)snprintf(out, 64, "name%u-%x.%s", i, i * 2654435761u, suffixes[i % 3]);
}

bool dx_test_root_member(unsigned i, unsigned dataset)
{
    return dataset == 1 || (i + dataset) % 3 != 0;
}

unsigned dx_test_root_rows(unsigned i, unsigned dataset)
{
    return 1 + (i * 5 + dataset * 3) % 7;
}

/* Rows ascend by path: two digits. */
static void path_of_row(unsigned dataset, unsigned row, char out[64])
{
    (void)snprintf(out, 64, "/d%u/%02u?k=%u", dataset, row, row * row);
}

void dx_test_root_url(unsigned i, unsigned dataset, unsigned row, char out[128])
{
    char domain[64];
    char path[64];

    dx_test_root_domain(i, domain);
    path_of_row(dataset, row, path);
    (void)snprintf(out, 128, "https://%s%s", domain, path);
}

static int compare_names(const void *a, const void *b)
{
    char x[64];
    char y[64];

    dx_test_root_domain(*(const unsigned *)a, x);
    dx_test_root_domain(*(const unsigned *)b, y);
    return strcmp(x, y);
}

/* ---- the usual shape ---- */

static unsigned usual_rows(unsigned i, unsigned dataset)
{
    return dx_test_root_member(i, dataset) ? dx_test_root_rows(i, dataset) : 0;
}

static void usual_row(unsigned i, unsigned dataset, unsigned row, struct dx_test_row *out)
{
    dx_test_root_domain(i, out->host);
    path_of_row(dataset, row, out->path);
}

static const struct dx_test_shape usual = { .rows = usual_rows, .row = usual_row };

void dx_test_root_usual(struct dx_test_shape *shape)
{
    *shape = usual;
}

/* ---- the lake ---- */

static int compare_rows(const void *a, const void *b)
{
    const struct dx_test_row *x = a;
    const struct dx_test_row *y = b;
    int c = strcmp(x->host, y->host);

    return c != 0 ? c : strcmp(x->path, y->path);
}

static void add_rows(const struct dx_test_shape *shape, struct dx_lake_file *w, unsigned i,
                     unsigned dataset)
{
    struct dx_error err = DX_ERROR_INIT;
    unsigned count = shape->rows(i, dataset);
    struct dx_test_row *rows = calloc(count + 1, sizeof *rows);
    char domain[DX_TEST_TEXT];
    char url[160];

    for (unsigned row = 0; row < count; row++)
        shape->row(i, dataset, row, &rows[row]);
    qsort(rows, count, sizeof *rows, compare_rows);
    dx_test_root_domain(i, domain);
    for (unsigned row = 0; row < count; row++) {
        struct dx_lake_row r = { .dataset_id = dataset,
                                 .domain_id = dx_domain_id(dx_span_str(domain)),
                                 .domain = dx_span_str(domain),
                                 .scheme = dx_span_str("https"),
                                 .host = dx_span_str(rows[row].host),
                                 .has_ts = row % 4 != 3,
                                 .ts_us = (int64_t)(1300000000 + i * 1000 + row) * 1000000 };

        const char *value = shape->tags == NULL ? NULL : shape->tags(i, dataset, row);
        struct dx_span tags = value == NULL ? dx_span_of(NULL, 0) : dx_span_str(value);

        r.extra = &tags;
        if (rows[row].raw[0] != '\0')
            r.raw_url = dx_span_str(rows[row].raw);
        (void)snprintf(url, sizeof url, "https://%s%s", rows[row].host, rows[row].path);
        r.path_query = dx_span_str(rows[row].path);
        r.url_id = dx_url_id(dx_span_str(url));
        if (dx_lake_file_add(w, &r, &err) < 0)
            die("add", &err);
    }
    free(rows);
}

/* Of the domains from `first` on. */
static void write_lake_file(const struct dx_test_root *r, const struct dx_test_shape *shape,
                            unsigned dataset, unsigned first)
{
    static const char *const extras[] = { "tags" };
    struct dx_lake_schema schema = { .dataset_name = "test",
                                     .extra_names = extras,
                                     .extra_count = shape->tags != NULL,
                                     .url_id = true };
    struct dx_lake_file w = DX_LAKE_FILE_INIT;
    struct dx_lake_stats stats;
    struct dx_error err = DX_ERROR_INIT;
    unsigned *order = calloc(r->domains, sizeof *order);
    char path[256];

    for (unsigned i = first; i < r->domains; i++)
        order[i - first] = i;
    qsort(order, r->domains - first, sizeof *order, compare_names);
    (void)snprintf(path, sizeof path, "%s/urls/dataset_id=%u/domain_prefix=00-ff", r->path,
                   dataset);
    if (dx_dir_make(path, &err) < 0)
        die("mkdir", &err);
    (void)snprintf(path, sizeof path, "%s/urls/dataset_id=%u/domain_prefix=00-ff/part-%05u.parquet",
                   r->path, dataset, first);
    if (dx_lake_file_open(&w, path, &schema, NULL, &err) < 0)
        die("open", &err);
    for (unsigned i = first; i < r->domains; i++)
        add_rows(shape, &w, order[i - first], dataset);
    if (dx_lake_file_close(&w, DX_SYNC_NOW, &stats, &err) < 0)
        die("close", &err);
    free(order);
}

static void write_dataset_registry(const struct dx_test_root *r, uint64_t without)
{
    struct dx_dataset_registry *dataset_registry = NULL;
    struct dx_error err = DX_ERROR_INIT;
    char name[32];
    uint32_t id;
    int rc = root_registry(&dataset_registry, r->path, &err);

    for (unsigned d = 1; rc >= 0 && d <= r->datasets; d++) {
        (void)snprintf(name, sizeof name, "dataset \"%u\"", d);
        rc = dx_dataset_registry_add(dataset_registry, dx_span_str(name), &id, &err);
    }
    for (unsigned d = 1; rc >= 0 && d <= r->datasets; d++)
        if ((without >> d & 1) != 0)
            rc = dx_dataset_registry_remove(dataset_registry, d, &err);
    if (rc >= 0)
        rc = dx_dataset_registry_save(dataset_registry, r->path, &err);
    if (rc < 0)
        die("registry", &err);
    dx_dataset_registry_free(&dataset_registry);
}

/* Tests take lake files away on purpose: each dataset of the registry may lack its own. */
static void publish(struct dx_test_root *r, unsigned parts)
{
    struct dx_publish_options options = { .root = r->path,
                                          .memory = DX_PUBLISH_MEMORY_MIN,
                                          .threads = 1,
                                          .now_us = 1763719200000000,
                                          .parts_max = parts };
    struct dx_dataset_registry *registry = NULL;
    struct dx_publish_result result;
    struct dx_error err = DX_ERROR_INIT;
    const char **names;
    size_t count;

    if (root_registry(&registry, r->path, &err) < 0)
        die("registry", &err);
    count = dx_dataset_registry_count(registry);
    names = calloc(count + 1, sizeof *names);
    for (size_t i = 0; names != NULL && i < count; i++)
        names[i] = dx_dataset_registry_at(registry, i)->name;
    options.allow = (struct dx_publish_allow){ .dataset = names,
                                               .count = names != NULL ? count : 0 };
    if (dx_publish(&options, &result, &err) < 0)
        die("publish", &err);
    free(names);
    dx_dataset_registry_free(&registry);
    (void)snprintf(r->version, sizeof r->version, "%s", result.version);
    dx_publish_result_release(&result);
}

void dx_test_root_publish(struct dx_test_root *r)
{
    publish(r, 1);
}

void dx_test_root_grow(struct dx_test_root *r, unsigned more)
{
    unsigned first = r->domains;

    r->domains += more;
    write_lake_file(r, &usual, 1, first);
    publish(r, 8);
}

void dx_test_root_make(struct dx_test_root *r, unsigned domains, unsigned datasets)
{
    dx_test_root_make_of(r, domains, datasets, &usual);
}

void dx_test_root_make_of(struct dx_test_root *r, unsigned domains, unsigned datasets,
                          const struct dx_test_shape *shape)
{
    struct dx_error err = DX_ERROR_INIT;
    char path[128];

    *r = (struct dx_test_root){ .domains = domains, .datasets = datasets };
    (void)snprintf(r->path, sizeof r->path, "%s/domaindex-test-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(r->path) == NULL) {
        perror(r->path);
        exit(1);
    }
    (void)snprintf(path, sizeof path, "%s/urls", r->path);
    if (dx_dir_make(path, &err) < 0)
        die("mkdir", &err);
    write_dataset_registry(r, shape->without);
    (void)snprintf(path, sizeof path, "%s/psl.dat", r->path);
    if (dx_file_replace(path, dx_span_str(suffix_list), &err) < 0)
        die("psl", &err);
    for (unsigned d = 1; d <= datasets; d++)
        if ((shape->without >> d & 1) == 0)
            write_lake_file(r, shape, d, 0);
    dx_test_root_publish(r);
}

void dx_test_root_remove(struct dx_test_root *r)
{
    struct dx_error err = DX_ERROR_INIT;

    if (dx_dir_remove(r->path, &err) < 0)
        fprintf(stderr, "%s\n", err.text);
}

#define PARQUET_TAIL 8u /* length of the footer, magic */

/* A byte in front of the footer belongs to nothing. */
void dx_test_root_again(const char *path, unsigned part)
{
    struct dx_buf from = DX_BUF_INIT(64 << 20);
    struct dx_buf to = DX_BUF_INIT(64 << 20);
    struct dx_error err = DX_ERROR_INIT;
    char name[PATH_MAX];
    uint32_t footer;

    (void)snprintf(name, sizeof name, "%s/urls/dataset_id=1/domain_prefix=00-ff/part-00000.parquet",
                   path);
    if (dx_file_read(name, 64 << 20, &from, &err) < 0)
        abort();
    memcpy(&footer, from.data + from.size - PARQUET_TAIL, sizeof footer);
    dx_buf_append(&to, from.data, from.size - PARQUET_TAIL - footer);
    dx_buf_u8(&to, (uint8_t)part);
    dx_buf_append(&to, from.data + from.size - PARQUET_TAIL - footer, PARQUET_TAIL + footer);
    (void)snprintf(name, sizeof name, "%s/urls/dataset_id=1/domain_prefix=00-ff/part-%05u.parquet",
                   path, part);
    if (dx_file_replace(name, dx_span_of(to.data, to.size), &err) < 0)
        abort();
    dx_buf_release(&from);
    dx_buf_release(&to);
}
