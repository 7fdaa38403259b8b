/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/twin_roots.h"

#include "base/file.h"
#include "builder/lake/dataset_registry.h"
#include "builder/lake/lake_file.h"
#include "builder/policy/suppress.h"
#include "canon/ids.h"
#include "tests/support/root_registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char suffix_list[] = "// ===BEGIN ICANN DOMAINS===\ncom\norg\nuk\nco.uk\n"
                                  "// ===END ICANN DOMAINS===\n";

static void must(bool ok, const char *what, const struct dx_error *err)
{
    if (!ok) {
        fprintf(stderr, "twin_roots: %s: %s\n", what, err->text);
        exit(1);
    }
}

/* ---- the rule ---- */

static unsigned mixed(unsigned i, unsigned dataset, unsigned part, unsigned n)
{
    uint64_t h = (i * UINT64_C(1000003) + dataset * UINT64_C(10007) + part * UINT64_C(101) + n +
                  1) *
                 UINT64_C(0x9e3779b97f4a7c15);

    h = (h ^ h >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
    return (unsigned)(h >> 40);
}

/* Domain i has the parts of a URL n: hosts and schemes in turn. */
static const char *scheme_of(unsigned n)
{
    return n % 2 == 0 ? "https" : "http";
}

static void host_of(unsigned i, unsigned n, char host[80])
{
    char domain[64];

    dx_test_root_domain(i, domain);
    (void)snprintf(host, 80, "%s%s", n / 2 % 2 == 1 && i % 7 != 6 ? "www." : "", domain);
}

static void path_of(unsigned n, char path[32])
{
    (void)snprintf(path, 32, "/p%u/x?k=%u", n / 4 % TWIN_PATHS, n / 4 % TWIN_PATHS % 2);
}

void twin_roots_url(unsigned i, unsigned n, char url[128])
{
    char host[80];
    char path[32];

    host_of(i, n, host);
    path_of(n, path);
    (void)snprintf(url, 128, "%s://%s%s", scheme_of(n), host, path);
}

struct row {
    unsigned i, n, time;
};

/* Below 0: none. */
static int time_of(const struct row *row)
{
    return row->time % 3 == 2 ? -1 : 1300000000 + (int)row->time;
}

/* As rows of a lake file stand: by domain, host, path and query, time (none first), scheme. */
static int by_place(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    char p[80];
    char q[80];
    int c;

    dx_test_root_domain(x->i, p);
    dx_test_root_domain(y->i, q);
    if ((c = strcmp(p, q)) != 0)
        return c;
    host_of(x->i, x->n, p);
    host_of(y->i, y->n, q);
    if ((c = strcmp(p, q)) != 0)
        return c;
    path_of(x->n, p);
    path_of(y->n, q);
    if ((c = strcmp(p, q)) != 0)
        return c;
    if (time_of(x) != time_of(y))
        return time_of(x) < time_of(y) ? -1 : 1;
    return strcmp(scheme_of(x->n), scheme_of(y->n));
}

/* Rows of one file, in order: each domain that a dataset has is in it with up to five URLs. */
static size_t make_rows(const struct dx_test_root *r, unsigned dataset, unsigned part,
                        struct row *rows)
{
    size_t n = 0;

    for (unsigned i = 0; i < r->domains; i++) {
        unsigned in = mixed(i, dataset, part, 1000) % 8;

        /* Every ninth domain is in the first dataset alone. */
        if (i % 9 == 4 ? dataset != 1 : in > (part == 0 ? 4 : 1))
            continue;
        for (unsigned k = 0; k <= mixed(i, dataset, part, 1001) % 5; k++)
            rows[n++] = (struct row){ i, mixed(i, dataset, part, k) % TWIN_URLS,
                                      3 * part + mixed(i, dataset, part, 100 + k) % 3 };
    }
    qsort(rows, n, sizeof *rows, by_place);
    return n;
}

/* ---- files ---- */

static int add_row(struct dx_lake_file *w, unsigned dataset, const struct row *row,
                   struct dx_error *err)
{
    char domain[64];
    char host[80];
    char path[32];
    char url[128];
    struct dx_lake_row r = { .dataset_id = dataset,
                             .has_ts = time_of(row) >= 0,
                             .ts_us = (int64_t)time_of(row) * 1000000 };

    dx_test_root_domain(row->i, domain);
    host_of(row->i, row->n, host);
    path_of(row->n, path);
    twin_roots_url(row->i, row->n, url);
    r.domain = dx_span_str(domain);
    r.domain_id = dx_domain_id(r.domain);
    r.scheme = dx_span_str(scheme_of(row->n));
    r.host = dx_span_str(host);
    r.path_query = dx_span_str(path);
    r.url_id = dx_url_id(dx_span_str(url));
    return dx_lake_file_add(w, &r, err);
}

static void write_rows(const struct dx_test_root *r, unsigned dataset, unsigned part,
                       const struct row *rows, size_t n)
{
    struct dx_lake_schema schema = { .dataset_name = "test", .url_id = true };
    struct dx_lake_file w = DX_LAKE_FILE_INIT;
    struct dx_lake_stats stats;
    struct dx_error err = DX_ERROR_INIT;
    char path[256];
    int rc;

    (void)snprintf(path, sizeof path, "%s/urls/dataset_id=%u/domain_prefix=00-ff", r->path,
                   dataset);
    must(dx_dir_make(path, &err) >= 0, path, &err);
    (void)snprintf(path, sizeof path, "%s/urls/dataset_id=%u/domain_prefix=00-ff/part-%05u.parquet",
                   r->path, dataset, part);
    rc = dx_lake_file_open(&w, path, &schema, NULL, &err);
    for (size_t k = 0; k < n && rc >= 0; k++)
        if (k == 0 || by_place(&rows[k - 1], &rows[k]) != 0)
            rc = add_row(&w, dataset, &rows[k], &err);
    must(rc >= 0 && dx_lake_file_close(&w, DX_SYNC_LATER, &stats, &err) >= 0, path, &err);
}

static void write_part(const struct dx_test_root *r, unsigned dataset, unsigned part)
{
    struct row *rows = calloc(5 * (size_t)r->domains + 1, sizeof *rows);
    struct dx_error err = DX_ERROR_INIT;

    must(rows != NULL, "out of memory", &err);
    write_rows(r, dataset, part, rows, make_rows(r, dataset, part, rows));
    free(rows);
}

/* Adds the datasets that it never had to the registry, and removes those of `gone`. */
static void change_dataset_registry(const struct dx_test_root *r, unsigned datasets, unsigned gone)
{
    struct dx_dataset_registry *dataset_registry = NULL;
    struct dx_error err = DX_ERROR_INIT;
    int rc = root_registry(&dataset_registry, r->path, &err);
    unsigned had = rc < 0 || dx_dataset_registry_count(dataset_registry) == 0 ? 0 : r->datasets;

    for (unsigned d = 1; rc >= 0 && d <= datasets; d++) {
        char name[32];
        uint32_t id;

        (void)snprintf(name, sizeof name, "dataset \"%u\"", d);
        if (d > had)
            rc = dx_dataset_registry_add(dataset_registry, dx_span_str(name), &id, &err);
        if (rc >= 0 && d < 32 && (gone >> d & 1) != 0 &&
            dx_dataset_registry_get(dataset_registry, d) != NULL)
            rc = dx_dataset_registry_remove(dataset_registry, d, &err);
    }
    if (rc >= 0)
        rc = dx_dataset_registry_save(dataset_registry, r->path, &err);
    must(rc >= 0, "registry", &err);
    dx_dataset_registry_free(&dataset_registry);
}

static void begin_root(struct dx_test_root *r, unsigned domains, unsigned datasets, unsigned has)
{
    struct dx_error err = DX_ERROR_INIT;
    char path[128];

    *r = (struct dx_test_root){ .domains = domains, .datasets = datasets };
    (void)snprintf(r->path, sizeof r->path, "%s/domaindex-test-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    must(mkdtemp(r->path) != NULL, r->path, &err);
    (void)snprintf(path, sizeof path, "%s/urls", r->path);
    must(dx_dir_make(path, &err) >= 0, path, &err);
    (void)snprintf(path, sizeof path, "%s/psl.dat", r->path);
    must(dx_file_replace(path, dx_span_str(suffix_list), &err) >= 0, path, &err);
    change_dataset_registry(r, datasets, ~has);
}

static void begin(struct twin_roots *t, unsigned domains, unsigned datasets, unsigned visible)
{
    struct dx_scope *scope = NULL;
    struct dx_error err = DX_ERROR_INIT;
    uint32_t ids[32];
    size_t n = 0;

    for (uint32_t d = 1; d <= datasets; d++)
        if ((visible >> d & 1) != 0)
            ids[n++] = d;
    must(dx_scope_more(&scope, NULL, ids, n, &err) >= 0, "scope", &err);
    *t = (struct twin_roots){ .datasets = datasets, .visible = visible, .scope = scope };
    begin_root(&t->whole, domains, datasets, ~0u);
    begin_root(&t->shown, domains, datasets, visible);
}

static void publish(struct twin_roots *t)
{
    struct dx_error err = DX_ERROR_INIT;

    dx_test_root_publish(&t->whole);
    dx_test_root_publish(&t->shown);
    must(strcmp(t->whole.version, t->shown.version) == 0, "versions of two names", &err);
    if (t->first[0] == '\0')
        memcpy(t->first, t->whole.version, sizeof t->first);
}

void twin_roots_make(struct twin_roots *t, unsigned domains, unsigned datasets, unsigned visible)
{
    begin(t, domains, datasets, visible);
    for (unsigned d = 1; d <= datasets; d++) {
        write_part(&t->whole, d, 0);
        if ((visible >> d & 1) != 0)
            write_part(&t->shown, d, 0);
    }
    publish(t);
}

void twin_roots_make_places(struct twin_roots *t, unsigned hidden)
{
    const struct row row = { 0, 0, 0 };

    begin(t, 1, 2, 1u << 1 | 1u << 2);
    change_dataset_registry(&t->whole, hidden + 2, 0);
    for (unsigned d = 1; d <= hidden + 2; d++)
        write_rows(&t->whole, d, 0, &row, 1);
    for (unsigned d = 1; d <= 2; d++)
        write_rows(&t->shown, d, 0, &row, 1);
    publish(t);
}

static void more(struct dx_test_root *r, unsigned has, unsigned gone)
{
    change_dataset_registry(r, r->datasets, gone);
    for (unsigned d = 1; d <= r->datasets; d++)
        if ((has & ~gone) >> d & 1)
            write_part(r, d, 1);
}

void twin_roots_more(struct twin_roots *t, unsigned gone)
{
    more(&t->whole, ~0u, gone);
    more(&t->shown, t->visible, gone);
    publish(t);
}

/* ---- rules ---- */

static int add_rule(void *ctx, struct dx_suppressions *log, struct dx_error *err)
{
    uint64_t number;
    int rc = dx_suppressions_add(log, ctx, &number, err);

    return rc < 0 ? rc : 1;
}

void twin_roots_suppress(const struct twin_roots *t, enum dx_suppress_kind kind,
                         enum dx_suppress_policy policy, const char *value)
{
    struct dx_suppress_rule rule = { .kind = kind, .policy = policy, .value = dx_span_str(value) };
    struct dx_error err = DX_ERROR_INIT;

    must(dx_suppress_change(t->whole.path, add_rule, &rule, &err) == 1, value, &err);
    must(dx_suppress_change(t->shown.path, add_rule, &rule, &err) == 1, value, &err);
}

void twin_roots_remove(struct twin_roots *t)
{
    dx_scope_drop(&t->scope);
    dx_test_root_remove(&t->whole);
    dx_test_root_remove(&t->shown);
}
