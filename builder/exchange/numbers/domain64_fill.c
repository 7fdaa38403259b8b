/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/exchange/numbers/domain64_fill.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "builder/exchange/numbers/domain64_assign.h"
#include "builder/exchange/numbers/domain64_book.h"
#include "builder/exchange/numbers/domain64_commit.h"
#include "builder/lake/lake_scan.h"
#include "builder/lake/listed_files.h"
#include "builder/policy/suppress.h"
#include "builder/root/root.h"
#include "builder/root/version_files.h"
#include "builder/root/work_folder.h"
#include "builder/sort/spill_sort.h"
#include "canon/psl.h"
#include "canon/row_form.h"
#include "fetch/download.h"
#include "format/core/surt.h"
#include "format/root/rules.h"
#include "loader/version.h"

#define TRIES 20
#define STOP_EVERY 4096 /* rows */

struct filling {
    struct dx_domain64_fill *f;
    struct dx_root remote;
    struct dx_manifest manifest;
    const struct dx_manifest_version *entry;
    struct dx_rules *rules;
    struct dx_psl *psl;
    struct dx_row_form *form;    /* of a version that leaves faulty rows out; else NULL */
    struct dx_registry registry; /* of a version with datasets of counts; else empty */
    struct dx_work_folder work;
    struct dx_domain64_registry *numbers;
    struct dx_spill_sort *names;
    struct dx_spill_sort *records;
    struct dx_buf key;
    struct dx_buf last;
};

static int sorter(const struct filling *g, bool distinct, struct dx_spill_sort **s,
                  struct dx_error *err)
{
    const struct dx_spill_sort_options o = { .dir = g->work.path,
                                             .memory_bytes = g->f->memory,
                                             .lanes = 1,
                                             .distinct = distinct,
                                             .unique = !distinct };

    return dx_spill_sort_new(s, &o, err);
}

/* ---- names of the lake ---- */

/* SURT of the domain, 0, subdomain, 0, path. */
static int take_row(struct filling *g, const struct dx_lake_row *row, struct dx_error *err)
{
    struct dx_domain64_names names;
    uint8_t surt[DX_SURT_MAX];
    size_t n;

    g->f->rows++;
    if (dx_rules_match(g->rules, row->domain, row->scheme, row->host, row->path_query) != 0)
        return DX_OK;
    n = dx_surt_key(row->domain, surt);
    if (n == 0 ||
        !dx_domain64_names(row->domain, row->host, row->path_query, g->numbers->layout, &names))
        return DX_OK; /* a name of one label: not counted, since it is not a URL of a domain */
    dx_buf_clear(&g->key);
    dx_buf_append(&g->key, surt, n);
    for (unsigned part = DX_PART_SUBDOMAIN; part < DX_DOMAIN64_PARTS; part++) {
        struct dx_span s = names.part[part];

        if (s.size > 0 && memchr(s.data, 0, s.size) != NULL)
            return dx_fail(err, DX_E_INVALID, "a URL with a zero byte");
        dx_buf_u8(&g->key, 0);
        dx_buf_append(&g->key, s.data, s.size);
    }
    if (g->key.no_memory)
        return dx_buf_fail(&g->key, err, "domain64");
    if (g->key.failed)
        return dx_fail(err, DX_E_LIMIT, "a URL of over %d bytes", DX_NUMBER_NAME_MAX);
    if (g->last.data != NULL &&
        dx_span_equal(dx_span_of(g->key.data, g->key.size), dx_span_of(g->last.data, g->last.size)))
        return DX_OK;
    dx_buf_clear(&g->last);
    dx_buf_append(&g->last, g->key.data, g->key.size);
    return dx_spill_sort_add(g->names, 0, dx_span_of(g->key.data, g->key.size), dx_span_of(NULL, 0),
                             err);
}

static int read_rows(struct filling *g, const char *path, struct dx_error *err)
{
    struct dx_lake_scan scan = DX_LAKE_SCAN_INIT;
    struct dx_lake_row row;
    int rc = dx_lake_scan_open(&scan, path, err);

    scan.skip_by = g->form;
    while (rc >= 0 && (rc = dx_lake_scan_group(&scan, err)) == 1) {
        while ((rc = dx_lake_scan_row(&scan, &row, err)) == 1) {
            rc = take_row(g, &row, err);
            if (rc == DX_OK && g->f->rows % STOP_EVERY == 0 && g->f->stopped != NULL &&
                g->f->stopped())
                rc = dx_fail(err, DX_E_BUSY, "stopped; nothing was changed");
            if (rc < 0)
                break;
        }
        if (rc < 0)
            break;
    }
    dx_lake_scan_close(&scan);
    return rc < 0 ? rc : DX_OK;
}

static int read_file(void *ctx, const struct dx_files_row *row, struct dx_error *err)
{
    struct filling *g = ctx;
    bool far = !dx_root_in_place(g->f->root);
    char object[DX_OBJECT_NAME_MAX + 1];
    char path[PATH_MAX];
    struct dx_download d = {
        .source = g->remote.source, .object = object, .size = row->size, .pin = { row->size, NULL }
    };
    int rc = dx_path_format(object, sizeof object, err, "%s%.*s", g->entry->parquet_root,
                            (int)row->path.size, (const char *)row->path.data);

    if (dx_registry_of_counts(&g->registry, row->dataset_id))
        return DX_OK;
    if (rc == DX_OK)
        rc = far ? dx_path_format(path, sizeof path, err, "%s/file.parquet", g->work.path)
                 : dx_path_format(path, sizeof path, err, "%s/%s", g->f->root, object);
    if (rc == DX_OK && far)
        rc = dx_download_run(&d, path, err);
    if (rc == DX_OK)
        rc = read_rows(g, path, err);
    if (far)
        (void)unlink(path);
    return rc < 0 ? dx_fail_in(err, "%s", object) : DX_OK;
}

static int read_rules(struct filling *g, struct dx_error *err)
{
    struct dx_suppressions log;
    int rc = dx_suppress_read(g->f->root, &log, err);

    if (rc == DX_OK)
        rc = dx_rules_new(&g->rules, &log, err);
    dx_suppressions_release(&log);
    return rc;
}

static int open_form(struct filling *g, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_PSL_TEXT_MAX);
    int rc = dx_version_text_read(g->remote.source, g->entry, DX_FILE_PSL, DX_PSL_TEXT_MAX, &text,
                                  err);

    if (rc == DX_OK)
        rc = dx_psl_new(&g->psl, dx_span_of(text.data, text.size), err);
    dx_buf_release(&text);
    return rc == DX_OK ? dx_row_form_new(&g->form, g->psl, err) : rc;
}

static int read_registry(struct filling *g, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_REGISTRY_MAX);
    int rc = dx_version_text_read(g->remote.source, g->entry, DX_FILE_DATASETS, DX_REGISTRY_MAX,
                                  &text, err);

    if (rc == DX_OK)
        rc = dx_registry_parse(&g->registry, dx_span_of(text.data, text.size), DX_FILE_DATASETS,
                               err);
    dx_buf_release(&text);
    return rc;
}

static int read_lake(struct filling *g, struct dx_error *err)
{
    char etag[DX_SOURCE_ETAG];
    int rc = dx_version_manifest_get(g->remote.source, g->f->root, NULL, etag, &g->manifest, err);

    if (rc < 0)
        return rc;
    g->entry = dx_manifest_current(&g->manifest);
    memcpy(g->f->version, g->entry->version, sizeof g->f->version);
    rc = read_rules(g, err);
    if (rc == DX_OK && g->entry->rows_left_out > 0)
        rc = open_form(g, err);
    if (rc == DX_OK && g->entry->pages > 0)
        rc = read_registry(g, err);
    if (rc == DX_OK)
        rc = dx_work_folder_make(&g->work, g->f->work_dir, "domain64", err);
    if (rc == DX_OK)
        rc = sorter(g, true, &g->names, err);
    if (rc == DX_OK)
        rc = dx_listed_files_all(g->remote.source, NULL, &g->manifest, g->entry, read_file, g, err);
    return rc < 0 ? rc : dx_spill_sort_finish(g->names, err);
}

/* ---- numbers ---- */

static int add_record(void *ctx, uint64_t number, struct dx_span name, struct dx_error *err)
{
    struct filling *g = ctx;
    uint8_t key[8];

    dx_store_u64(key, __builtin_bswap64(number));
    return dx_spill_sort_add(g->records, 0, dx_span_of(key, sizeof key), name, err);
}

static int next_record(void *ctx, uint64_t *number, struct dx_span *name, struct dx_error *err)
{
    struct filling *g = ctx;
    struct dx_span key;
    int rc = dx_spill_sort_next(g->records, &key, name, err);

    if (rc == 1)
        *number = __builtin_bswap64(dx_load_u64(key.data));
    return rc;
}

static int assign_numbers(struct filling *g, struct dx_domain64_assign *a, struct dx_error *err)
{
    struct dx_span key;
    struct dx_span value;
    int rc = dx_spill_sort_rewind(g->names, err);

    while (rc >= 0 && (rc = dx_spill_sort_next(g->names, &key, &value, err)) == 1) {
        const uint8_t *end = memchr(key.data, 0, key.size);
        size_t n = end == NULL ? key.size : (size_t)(end - key.data);
        struct dx_span rest = dx_span_of(key.data + n + 1, key.size - n - 1);
        const uint8_t *cut = memchr(rest.data, 0, rest.size);
        size_t sub = cut == NULL ? rest.size : (size_t)(cut - rest.data);
        uint8_t text[DX_SURT_MAX];
        struct dx_span domain = dx_span_of(text, dx_surt_domain(dx_span_of(key.data, n), text));
        struct dx_domain64_names names;

        (void)dx_domain64_names(domain, domain, dx_span_of(NULL, 0), g->numbers->layout, &names);
        names.part[DX_PART_SUBDOMAIN] = dx_span_of(rest.data, sub);
        names.part[DX_PART_PATH] = dx_span_of(rest.data + sub + 1, rest.size - sub - 1);
        rc = dx_domain64_assign_url(a, domain, &names, err);
    }
    return rc < 0 ? rc : DX_OK;
}

/* The list with another book: that of this filling, or one of all. */
static int commit_list(struct filling *g, struct dx_domain64_manifest *list, const char *path,
                       struct dx_error *err)
{
    const struct dx_domain64_commit c = { .root = g->f->root,
                                          .remote = &g->remote,
                                          .etag = g->numbers->etag,
                                          .before = &g->numbers->list,
                                          .list = list,
                                          .path = path };
    struct dx_number_file want;
    int rc;

    assert(list->count > 0);
    want = list->file[list->count - 1];
    rc = dx_domain64_commit(&c, err);
    if (rc != DX_E_UNKNOWN && rc != DX_E_CONFLICT && rc != DX_OK)
        return rc;
    dx_domain64_registry_close(&g->numbers);
    if (dx_domain64_registry_open(&g->numbers, g->f->root, g->remote.source, err) != 1)
        return DX_E_UNKNOWN;
    for (size_t i = 0; i < g->numbers->list.count; i++)
        if (dx_hash128_equal(&g->numbers->list.file[i].hash, &want.hash))
            return DX_OK;
    return rc == DX_OK ? DX_OK : DX_E_CONFLICT;
}

static int clear_book(const struct filling *g, char path[PATH_MAX], struct dx_error *err)
{
    int rc = dx_path_format(path, PATH_MAX, err, "%s/book", g->work.path);

    if (rc == DX_OK)
        (void)unlink(path);
    return rc;
}

static void take_counts(struct dx_domain64_fill *f, const struct dx_domain64_assign *a,
                        struct dx_domain64_manifest *list)
{
    for (size_t i = 0; i < DX_NUMBER_PARTS; i++) {
        f->added[i] = a->added[i];
        list->names[i] += a->added[i];
        f->full[i] = list->full[i] = a->full[i];
    }
    f->urls = a->urls;
    f->urls_out = list->urls_out = a->urls_out;
    (void)snprintf(list->filled, sizeof list->filled, "%s", f->version);
}

/* One filling onto the registry that is open. DX_E_CONFLICT: onto that which is open now. */
static int fill_once(struct filling *g, struct dx_error *err)
{
    struct dx_domain64_assign a = { .numbers = g->numbers, .add = add_record, .ctx = g };
    struct dx_domain64_manifest list = g->numbers->list;
    struct dx_domain64_book book = { .list = &list,
                                     .first = dx_domain64_manifest_last(&list) + 1,
                                     .last = dx_domain64_manifest_last(&list) + 1,
                                     .next = next_record,
                                     .ctx = g,
                                     .dir = g->work.path,
                                     .memory = g->f->memory };
    struct dx_number_file file;
    char path[PATH_MAX];
    int rc = sorter(g, false, &g->records, err);

    if (rc == DX_OK)
        rc = assign_numbers(g, &a, err);
    if (rc == DX_OK)
        rc = dx_spill_sort_finish(g->records, err);
    take_counts(g->f, &a, &list);
    dx_domain64_assign_release(&a);
    book.count = rc < 0 ? 0 : dx_spill_sort_count(g->records);
    if (rc == DX_OK && book.count > 0 && !g->f->dry_run) {
        g->f->filling = book.first;
        rc = clear_book(g, path, err);
        if (rc == DX_OK)
            rc = dx_domain64_book_write(&book, path, &file, err);
        if (rc == DX_OK)
            rc = dx_domain64_manifest_add(&list, &file, err);
        if (rc == DX_OK)
            rc = commit_list(g, &list, path, err);
    }
    dx_spill_sort_free(&g->records);
    return rc;
}

/* ---- all books into one ---- */

static int next_of_all(void *ctx, uint64_t *number, struct dx_span *name, struct dx_error *err)
{
    struct dx_domain64_registry_walk *w = ctx;
    int rc = dx_domain64_registry_walk_next(w, err);

    *number = w->number;
    *name = w->name;
    return rc;
}

static int merge_books(struct filling *g, struct dx_error *err)
{
    struct dx_domain64_registry_walk walk = { .cursor = NULL };
    struct dx_domain64_manifest list = g->numbers->list;
    struct dx_domain64_book book = { .list = &list,
                                     .first = 1,
                                     .last = dx_domain64_manifest_last(&list),
                                     .next = next_of_all,
                                     .ctx = &walk,
                                     .dir = g->work.path,
                                     .memory = g->f->memory };
    size_t books = list.count;
    struct dx_number_file file;
    char path[PATH_MAX];
    int rc = clear_book(g, path, err);

    for (size_t i = 0; i < books; i++)
        book.count += list.file[i].names;
    if (rc == DX_OK)
        rc = dx_domain64_registry_walk_open(&walk, g->numbers, 0, err);
    if (rc == DX_OK)
        rc = dx_domain64_book_write(&book, path, &file, err);
    dx_domain64_registry_walk_close(&walk);
    list.count = 0;
    if (rc == DX_OK)
        rc = dx_domain64_manifest_add(&list, &file, err);
    if (rc == DX_OK)
        rc = commit_list(g, &list, path, err);
    if (rc == DX_OK)
        g->f->merged = books;
    return rc == DX_E_CONFLICT ? DX_OK
                               : rc; /* the writer that came between merges, or the next one does */
}

/* The list names as many books as it can if a merge failed or was killed again and again. */
static int make_room(struct filling *g, struct dx_error *err)
{
    bool is_full = g->numbers->list.count == DX_DOMAIN64_SEGMENTS_MAX;

    return is_full && !g->f->dry_run ? merge_books(g, err) : DX_OK;
}

int dx_domain64_fill_run(struct dx_domain64_fill *f, struct dx_error *err)
{
    struct filling g = {
        .f = f, .remote = DX_ROOT_INIT, .manifest = DX_MANIFEST_INIT, .work = DX_WORK_FOLDER_INIT
    };
    int rc = dx_root_open(&g.remote, f->root, f->dry_run ? DX_ROOT_READ : DX_ROOT_WRITE, err);

    dx_buf_init(&g.key, 3 * DX_NUMBER_NAME_MAX);
    dx_buf_init(&g.last, 3 * DX_NUMBER_NAME_MAX);
    if (rc == DX_OK)
        rc = dx_domain64_registry_open(&g.numbers, f->root, g.remote.source, err);
    if (rc == 0)
        rc = dx_fail(err, DX_E_NOT_FOUND,
                     "%s: no domain64 registry; run 'domaindex domain64 init --root %s' first",
                     f->root, f->root);
    if (rc == 1)
        rc = read_lake(&g, err);
    if (rc == DX_OK)
        rc = DX_E_CONFLICT;
    for (unsigned i = 0; rc == DX_E_CONFLICT && i < TRIES; i++) {
        rc = make_room(&g, err);
        if (rc == DX_OK)
            rc = fill_once(&g, err);
    }
    if (rc == DX_OK && !f->dry_run && g.numbers->list.count > f->merge_above)
        rc = merge_books(&g, err);
    dx_spill_sort_free(&g.names);
    dx_domain64_registry_close(&g.numbers);
    dx_rules_free(&g.rules);
    dx_row_form_free(&g.form);
    dx_registry_release(&g.registry);
    dx_psl_free(&g.psl);
    dx_manifest_release(&g.manifest);
    dx_work_folder_remove(&g.work);
    dx_root_close(&g.remote);
    dx_buf_release(&g.key);
    dx_buf_release(&g.last);
    return rc;
}
