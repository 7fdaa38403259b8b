/* SPDX-License-Identifier: Apache-2.0
 * A version merged from an older one and what changed in the lake says the same as one made from
 * the whole lake: names, sets, counts, listings, totals, pages; over random small lakes that grow,
 * lose files and datasets. Both are verified to the last byte.
 */
#include "builder/scan/index_base.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "builder/check/verify.h"
#include "builder/index/index_build.h"
#include "builder/index/index_identity.h"
#include "builder/lake/lake_file.h"
#include "builder/scan/index_lake.h"
#include "builder/scan/index_scan.h"
#include "canon/ids.h"
#include "format/root/rules.h"
#include "format/version/manifest.h"
#include "format/version/url_ids.h"
#include "loader/cold_walk.h"
#include "loader/version.h"
#include "tests/support/damage.h"
#include "tests/support/sample.h"

#define DOMAINS 60
#define DATASETS 6
#define FILES 120
#define ROWS 700

static int failures;
static char root[64];
static const char suffix_list[] = "// ===BEGIN ICANN DOMAINS===\ncom\n// ===END ICANN DOMAINS===\n";
static struct dx_caches *caches;
static unsigned made; /* versions */
static size_t places_of_tags;

/* ---- the lake ---- */

struct file {
    bool there;
    uint32_t dataset;
    unsigned first, last; /* prefixes */
    unsigned part;
    char path[96];
};

struct world {
    uint64_t seed;
    struct file files[FILES];
    size_t count;
    bool registered[DATASETS + 1];
};

struct row {
    char domain[32], host[40], path[16];
    const char *scheme;
    bool has_ts;
    int64_t ts;
    const char *tags; /* NULL: null */
};

static void must(int rc, const struct dx_error *err, const char *what)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "%s: %s\n", what, err->text);
    exit(1);
}

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    int c = strcmp(x->domain, y->domain);

    if (c == 0)
        c = strcmp(x->host, y->host);
    if (c == 0)
        c = strcmp(x->path, y->path);
    if (c == 0 && x->has_ts != y->has_ts)
        c = x->has_ts ? 1 : -1;
    if (c == 0)
        c = x->ts < y->ts ? -1 : x->ts > y->ts;
    return c != 0 ? c : strcmp(x->scheme, y->scheme);
}

/* By the row's own text, so that a world is the same with and without. */
static const char *tags_of(const struct row *r, size_t i)
{
    static const char *const tags[] = { NULL,
                                        "[]",
                                        "[\"news\"]",
                                        "[\"news\",\"a b\",\"news\"]",
                                        " [ \"\\u00e9t\\u00e9\" , \"\" ]",
                                        "no list",
                                        "[\"news\", 5]",
                                        "[\"zero\\u0000\",\"x\"]" };
    char own[64];
    int n = snprintf(own, sizeof own, "%s%s%zu", r->host, r->path, i);
    uint64_t h = dx_hash64(dx_span_of(own, (size_t)n));

    /* One in 16 is rare: a few rows of some files. */
    return h % 16 == 15 ? "[\"rare\"]" : tags[h % 8];
}

static bool tagged(const struct file *f)
{
    return f->part % 3 != 0 || f->dataset == 5;
}

static size_t make_rows(struct world *w, const struct file *f, struct row *rows)
{
    size_t n = 0;

    for (unsigned i = 0; i < DOMAINS; i++) {
        char domain[32];
        unsigned prefix;

        (void)snprintf(domain, sizeof domain, "name%u.com", i * 2654435761u % 100000);
        prefix = dx_domain_prefix(dx_domain_id(dx_span_str(domain)));
        if (prefix < f->first || prefix > f->last || random_below(&w->seed, 3) == 0)
            continue;
        for (uint64_t k = random_below(&w->seed, 7); k > 0 && n < ROWS; k--) {
            struct row *r = &rows[n++];

            *r = (struct row){ .scheme = random_below(&w->seed, 4) == 0 ? "http" : "https",
                               .has_ts = random_below(&w->seed, 5) != 0 };
            strcpy(r->domain, domain);
            (void)snprintf(r->host, sizeof r->host, "%s%s",
                           random_below(&w->seed, 3) == 0 ? "www." : "", domain);
            (void)snprintf(r->path, sizeof r->path, "/%u", (unsigned)random_below(&w->seed, 5));
            r->ts = r->has_ts ? (int64_t)random_below(&w->seed, 1000) * 1000000 : 0;
        }
    }
    qsort(rows, n, sizeof *rows, compare_rows);
    for (size_t i = 0; i < n; i++)
        rows[i].tags = tags_of(&rows[i], i);
    return n;
}

static void write_file(struct world *w, const struct file *f)
{
    static const struct dx_lake_options options = { 3, 5, 1 << 20, 9, 23, 6 << 20, 1 };
    static struct row rows[ROWS];
    static const char *const extras[] = { "tags" };
    struct dx_lake_schema schema = {
        .dataset_name = "test", .extra_names = extras, .extra_count = tagged(f), .url_id = true
    };
    struct dx_lake_file out = DX_LAKE_FILE_INIT;
    struct dx_lake_stats stats;
    struct dx_error err = DX_ERROR_INIT;
    size_t n = make_rows(w, f, rows);
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/urls/%s", root, f->path);
    *strrchr(path, '/') = '\0';
    must(dx_dir_make(path, &err), &err, "folder");
    path[strlen(path)] = '/';
    must(dx_lake_file_open(&out, path, &schema, &options, &err), &err, "file");
    for (size_t i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        struct dx_span tags = r->tags == NULL ? dx_span_of(NULL, 0) : dx_span_str(r->tags);
        char url[512];
        struct dx_lake_row row = { .extra = &tags,
                                   .dataset_id = f->dataset,
                                   .domain_id = dx_domain_id(dx_span_str(r->domain)),
                                   .domain = dx_span_str(r->domain),
                                   .scheme = dx_span_str(r->scheme),
                                   .host = dx_span_str(r->host),
                                   .path_query = dx_span_str(r->path),
                                   .has_ts = r->has_ts,
                                   .ts_us = r->ts };

        (void)snprintf(url, sizeof url, "%s://%s%s", r->scheme, r->host, r->path);
        row.url_id = dx_url_id(dx_span_str(url));
        must(dx_lake_file_add(&out, &row, &err), &err, "row");
    }
    must(dx_lake_file_close(&out, DX_SYNC_LATER, &stats, &err), &err, "close");
}

static bool part_taken(const struct world *w, const struct file *f)
{
    for (size_t i = 0; i < w->count; i++)
        if (strcmp(w->files[i].path, f->path) == 0)
            return true;
    return false;
}

/* order 0: a random part number, which may sort before others; else a growing one. */
static void add_file(struct world *w, uint32_t dataset, unsigned order)
{
    static const unsigned ranges[][2] = { { 0, 255 }, { 0, 127 }, { 128, 255 }, { 60, 200 } };
    struct file *f = &w->files[w->count];
    size_t range = random_below(&w->seed, 4);

    *f = (struct file){
        .there = true, .dataset = dataset, .first = ranges[range][0], .last = ranges[range][1]
    };
    do {
        f->part = order == 0 ? (unsigned)random_below(&w->seed, 1000) : order++;
        (void)snprintf(f->path, sizeof f->path,
                       "dataset_id=%u/domain_prefix=%02x-%02x/part-%05u.parquet", dataset, f->first,
                       f->last, f->part);
    } while (part_taken(w, f));
    w->registered[dataset] = true;
    w->count++;
    write_file(w, f);
}

/* ---- versions ---- */

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct dx_index_file *)a)->path, ((const struct dx_index_file *)b)->path);
}

static void make_lake(const struct world *w, struct dx_index_lake *lake, struct dx_registry *reg)
{
    static char urls[PATH_MAX];
    struct dx_error err = DX_ERROR_INIT;

    *lake = (struct dx_index_lake){ .root = urls, .registry = reg };
    *reg = (struct dx_registry)DX_REGISTRY_INIT;
    (void)snprintf(urls, sizeof urls, "%s/urls", root);
    for (uint32_t d = 1; d <= DATASETS; d++) {
        struct dx_dataset *added;
        char name[16];

        (void)snprintf(name, sizeof name, "set%u", d);
        reg->next_id = d;
        if (w->registered[d])
            must(dx_registry_add(reg, dx_span_str(name), &added, &err), &err, "registry");
    }
    lake->files = calloc(FILES + 1, sizeof *lake->files);
    for (size_t i = 0; i < w->count; i++) {
        const struct file *f = &w->files[i];
        struct dx_index_file *to = &lake->files[lake->file_count];
        char path[PATH_MAX];
        char prefix[8];

        if (!f->there)
            continue;
        (void)snprintf(prefix, sizeof prefix, "%02x-%02x", f->first, f->last);
        *to = (struct dx_index_file){ .path = strdup(f->path),
                                      .prefix = strdup(prefix),
                                      .dataset_id = f->dataset,
                                      .prefix_first = (uint8_t)f->first,
                                      .prefix_last = (uint8_t)f->last };
        (void)snprintf(path, sizeof path, "%s/%s", urls, f->path);
        must(dx_file_size(path, &to->size, &err), &err, "size");
        lake->file_count++;
    }
    qsort(lake->files, lake->file_count, sizeof *lake->files, by_path);
}

static void free_lake(struct dx_index_lake *lake)
{
    dx_index_lake_release(lake);
    for (size_t i = 0; i < lake->file_count; i++) {
        free(lake->files[i].path);
        free(lake->files[i].prefix);
    }
    free(lake->files);
    dx_registry_release(lake->registry);
}

struct making {
    struct dx_version *base;
    size_t memory;
    unsigned threads;
    unsigned hash_bits;
    const struct dx_rules *rules;
    /* what came of it: */
    int rc;
    bool merged;
    struct dx_error err;
    struct dx_index_stats stats;
    uint64_t files_scanned, rows_scanned, suppressed_first;
    char why[DX_INDEX_WHY];
    char name[DX_VERSION_NAME];
};

static int scan_and_build(struct making *m, struct dx_index_lake *lake, const char *dir,
                          struct dx_manifest_version *entry)
{
    struct dx_span psl = dx_span_str(suffix_list);
    struct dx_index_scan_options scan = {
        .tmp_dir = root, .memory = m->memory, .threads = m->threads, .rules = m->rules
    };
    struct dx_index_options build = { .dir = dir,
                                      .tmp_dir = root,
                                      .psl_text = psl,
                                      .memory = m->memory,
                                      .threads = m->threads,
                                      .hash_bits = m->hash_bits };
    struct dx_index_identity id;
    int rc = dx_index_scan(lake, &scan, &m->err);

    m->files_scanned = lake->files_scanned;
    m->rows_scanned = lake->rows_scanned;
    m->suppressed_first = lake->suppressed_first;
    if (rc == DX_OK)
        rc = dx_index_identity(lake, psl, &id, &m->err);
    if (rc != DX_OK)
        return rc;
    entry->datasets = lake->registry->count;
    rc = dx_dir_make(dir, &m->err);
    if (rc == DX_OK)
        rc = dx_index_build(lake, &id, &build, entry, &m->stats, &m->err);
    dx_index_identity_release(&id);
    return rc;
}

/* The version, open; NULL with m->rc. The manifest names it alone. */
static struct dx_version *make_version(const struct world *w, struct making *m)
{
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_manifest manifest = DX_MANIFEST_INIT;
    struct dx_manifest_version *entry;
    struct dx_index_lake lake;
    struct dx_registry registry;
    struct dx_version *v = NULL;
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    char path[PATH_MAX];

    m->err = (struct dx_error)DX_ERROR_INIT;
    m->why[0] = '\0';
    make_lake(w, &lake, &registry);
    (void)dx_version_name_make(++made, 0, m->name);
    m->rc = m->base == NULL ? 0 : dx_index_rebase(&lake, m->base, m->why, &m->err);
    m->merged = m->rc == 1;
    if (m->rc < 0)
        goto out;
    (void)snprintf(path, sizeof path, "%s/index/%s", root, m->name);
    must(dx_manifest_add(&manifest, m->name, &entry, &m->err), &m->err, "entry");
    m->rc = scan_and_build(m, &lake, path, entry);
    if (m->rc == DX_INDEX_FULL) {
        free_lake(&lake);
        make_lake(w, &lake, &registry);
        m->merged = false;
        must(dx_dir_remove(path, &m->err), &m->err, "remove");
        must(dx_manifest_remove(&manifest, m->name, &m->err), &m->err, "entry");
        must(dx_manifest_add(&manifest, m->name, &entry, &m->err), &m->err, "entry");
        m->rc = scan_and_build(m, &lake, path, entry);
    }
    if (m->rc != DX_OK)
        goto out;
    strcpy(entry->parquet_root, "urls/");
    if (m->merged)
        strcpy(entry->base, dx_version_name(m->base));
    must(dx_manifest_flip(&manifest, m->name, made, 0, &m->err), &m->err, "flip");
    must(dx_manifest_write(&manifest, &text, &m->err), &m->err, "manifest");
    (void)snprintf(path, sizeof path, "%s/index/manifest.json", root);
    must(dx_file_replace(path, dx_span_of(text.data, text.size), &m->err), &m->err, "manifest");
    m->rc = dx_version_open(&v, root, &manifest, dx_manifest_current(&manifest), caches, &options,
                            &m->err);
out:
    dx_buf_release(&text);
    dx_manifest_release(&manifest);
    free_lake(&lake);
    return v;
}

static void say(void *ctx, const char *text)
{
    (void)ctx;
    fprintf(stderr, "verify: %s\n", text);
}

static void verify(const char *name, const char *what)
{
    struct dx_verify_options options = { .root = root,
                                         .version = name,
                                         .deep = true,
                                         .tmp_dir = root,
                                         .memory = 64 << 20,
                                         .threads = 1,
                                         .found = say };
    struct dx_verify_result result;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_verify(&options, &result, &err);

    /* The files here are written without asking what others have: equal rows are in the world. */
    EXPECT(rc == DX_OK && result.damages == (result.rows_twice > 0),
           "%s, version %s: %s, %llu damages", what, name, err.text,
           (unsigned long long)result.damages);
}

/* ---- the same answers ---- */

static size_t runs_of(struct dx_version *v, struct dx_pair_place place, uint32_t dataset,
                      struct dx_buf *text)
{
    struct dx_source *shards = dx_version_own(v)->paged;
    struct dx_postings_page page;
    struct dx_posting posting;
    struct dx_payload payload;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_span bytes;
    struct dx_run run;
    struct dx_zstd_decoder *decoder = dx_zstd_decoder_new();
    uint8_t *raw[2];
    uint8_t *plain[2];

    dx_buf_clear(text);
    if (dx_postings_page_find(&dx_version_own(v)->postings, place, &page, &err) != 1)
        return 0;
    for (int i = 0; i < 2; i++) {
        size_t size = i == 0 ? page.idx_size : page.dat_size;
        const char *name = i == 0 ? DX_FILE_POSTINGS_IDX : DX_FILE_POSTINGS_DAT;
        char object[DX_MANIFEST_FILE_PATH];
        struct dx_read read = { object, i == 0 ? page.idx_offset : page.dat_offset, size, NULL };

        dx_manifest_file_path(&v->entry, dx_manifest_file(&v->entry, name), object);
        raw[i] = read.to = malloc(size);
        plain[i] = malloc(i == 0 ? page.idx_plain : page.dat_plain);
        must(dx_source_read(shards, &read, 1, &err), &err, object);
    }
    must(dx_postings_idx_decode(&page, decoder, 0, dx_span_of(raw[0], page.idx_size), plain[0],
                                &err),
         &err, "idx");
    must(dx_postings_dat_decode(&page, decoder, 0, dx_span_of(raw[1], page.dat_size), plain[1],
                                &err),
         &err, "dat");
    if (dx_postings_entry_find(&page, dx_span_of(plain[0], page.idx_plain), place, &posting,
                               &err) == 1) {
        must(dx_postings_payload(&page, dx_span_of(plain[1], page.dat_plain), &posting, &bytes,
                                 &err),
             &err, "payload");
        must(dx_postings_list(&dx_version_own(v)->postings, place.domain, dataset, bytes, "p",
                              &payload, &err),
             &err, "payload");
        while (dx_payload_next(&payload, &run) == 1) {
            struct dx_pages_file file;

            EXPECT(dx_pages_file(&dx_version_own(v)->pages, run.file_id, &file, &err) == 1,
                   "a hole is named");
            dx_buf_append(text, file.path.data, file.path.size);
            dx_buf_fmt(text, " %u %llu %llu\n", run.row_group, (unsigned long long)run.first_row,
                       (unsigned long long)run.row_count);
        }
    }
    for (int i = 0; i < 2; i++) {
        free(raw[i]);
        free(plain[i]);
    }
    dx_zstd_decoder_free(&decoder);
    return text->size;
}

static bool same_count(const struct dx_pair_count *a, const struct dx_pair_count *b)
{
    return a->url_count == b->url_count && a->row_count == b->row_count && a->has_ts == b->has_ts &&
           a->first_us == b->first_us && a->last_us == b->last_us;
}

static void compare_domain(struct dx_version *a, struct dx_version *b, uint64_t ordinal,
                           const char *what)
{
    struct dx_version *both[2] = { a, b };
    uint8_t domain[2][DX_SURT_MAX];
    size_t size[2];
    uint32_t ids[2][DATASETS];
    struct dx_pair_count counts[2][DATASETS];
    uint32_t count[2] = { 0, 0 };
    uint64_t less[2];
    bool dense[2];
    uint64_t id[2];
    struct dx_buf runs[2] = { DX_BUF_INIT(1 << 20), DX_BUF_INIT(1 << 20) };
    struct dx_error err = DX_ERROR_INIT;

    for (int i = 0; i < 2; i++) {
        struct dx_dataset_set set;
        uint64_t found;

        must(dx_dictionary_get(&dx_version_own(both[i])->dictionary, ordinal, domain[i], &size[i],
                               &err),
             &err, "name");
        EXPECT(dx_mphf_find(&dx_version_own(both[i])->mphf, &dx_version_own(both[i])->dictionary,
                            dx_span_of(domain[i], size[i]), &found, &id[i], &err) == 1 &&
                   found == ordinal,
               "%s: %.*s is not found", what, (int)size[i], (const char *)domain[i]);
        must(dx_membership_get(&dx_version_own(both[i])->membership, ordinal, &set, &err), &err,
             "set");
        count[i] = (uint32_t)dx_dataset_set_ids(&set, ids[i], DATASETS);
        must(dx_counts_get(&dx_version_own(both[i])->counts, ordinal, count[i], counts[i], &err),
             &err, "counts");
        must(dx_counts_distinct(&dx_version_own(both[i])->counts, ordinal, &less[i], &dense[i],
                                &err),
             &err, "distinct");
    }
    EXPECT(less[0] == less[1] && dense[0] == dense[1],
           "%s: domain %llu: %llu less, by the whole "
           "lake %llu",
           what, (unsigned long long)ordinal, (unsigned long long)less[0],
           (unsigned long long)less[1]);
    EXPECT(size[0] == size[1] && memcmp(domain[0], domain[1], size[0]) == 0 &&
               count[0] == count[1] && id[0] == id[1] &&
               memcmp(ids[0], ids[1], count[0] * sizeof ids[0][0]) == 0,
           "%s: %.*s, domain %llu: another name, id or set", what, (int)size[0],
           (const char *)domain[0], (unsigned long long)ordinal);
    for (uint32_t k = 0; k < count[0] && k < count[1]; k++) {
        EXPECT(
            same_count(&counts[0][k], &counts[1][k]),
            "%s: %.*s, %u: %llu URLs in %llu rows, by the whole lake %llu in %llu", what,
            (int)size[0], (const char *)domain[0], ids[0][k],
            (unsigned long long)counts[0][k].url_count, (unsigned long long)counts[0][k].row_count,
            (unsigned long long)counts[1][k].url_count, (unsigned long long)counts[1][k].row_count);
        for (int i = 0; i < 2; i++)
            EXPECT(runs_of(both[i], (struct dx_pair_place){ ordinal, k }, ids[i][k], &runs[i]) > 0,
                   "%s: no posting", what);
        EXPECT(runs[0].size == runs[1].size &&
                   memcmp(runs[0].data, runs[1].data, runs[0].size) == 0,
               "%s: %.*s, %u: another listing", what, (int)size[0], (const char *)domain[0],
               ids[0][k]);
    }
    dx_buf_release(&runs[0]);
    dx_buf_release(&runs[1]);
}

/* Each file of b, by path, with the same facts and pages in a. */
static void compare_files(struct dx_version *a, struct dx_version *b, const char *what)
{
    struct dx_error err = DX_ERROR_INIT;
    uint64_t there = 0;

    for (uint64_t i = 0; i < dx_version_own(a)->pages.files; i++) {
        struct dx_pages_file x;
        struct dx_pages_file y = { 0 };
        uint64_t k = 0;

        if (dx_pages_file(&dx_version_own(a)->pages, i, &x, &err) != 1)
            continue;
        there++;
        while (k < dx_version_own(b)->pages.files &&
               (dx_pages_file(&dx_version_own(b)->pages, k, &y, &err) != 1 ||
                !dx_span_equal(x.path, y.path)))
            k++;
        EXPECT(k < dx_version_own(b)->pages.files && x.dataset_id == y.dataset_id &&
                   x.rows == y.rows && x.size == y.size && x.row_groups == y.row_groups &&
                   dx_hash128_equal(&x.hash, &y.hash),
               "%s: %.*s: other facts", what, (int)x.path.size, (const char *)x.path.data);
        for (uint32_t g = 0; g < x.row_groups && g < y.row_groups; g++) {
            struct dx_page_group p;
            struct dx_page_group q;

            EXPECT(dx_pages_group(&dx_version_own(a)->pages, &x, g, &p, &err) == 1 &&
                       dx_pages_group(&dx_version_own(b)->pages, &y, g, &q, &err) == 1 &&
                       dx_span_equal(p.record, q.record),
                   "%s: %.*s: other pages", what, (int)x.path.size, (const char *)x.path.data);
        }
    }
    EXPECT(there == b->entry.lake_files && there == a->entry.lake_files, "%s: files", what);
}

/* A place of a URL, whatever the number of its file. */
struct url_at {
    struct dx_url_place place; /* group: within the file */
    struct dx_span path;
};

static int by_id_and_path(const void *a, const void *b)
{
    const struct url_at *x = a;
    const struct url_at *y = b;
    int c = x->place.id < y->place.id ? -1 : x->place.id > y->place.id;

    if (c == 0)
        c = dx_span_compare(x->path, y->path);
    return c == 0 ? dx_url_place_compare(&x->place, &y->place) : c;
}

static size_t url_places(struct dx_version *v, struct url_at *out, const char *what)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_cold_walk walk;
    size_t n = 0;
    int rc;

    must(dx_cold_walk_begin(&walk, dx_version_own(v), DX_COLD_URL_IDS, &err), &err, what);
    while ((rc = dx_cold_walk_next(&walk, &err)) == 1) {
        struct dx_url_page page;

        rc = dx_url_page_open(&page, &walk.part->cold, &walk.page, walk.plain, "url_ids", &err);
        while (rc >= 0 && n < FILES * ROWS &&
               (rc = dx_url_page_next(&page, &out[n].place, &err)) == 1) {
            struct dx_pages_file file;
            uint32_t group = 0;

            EXPECT(dx_pages_of_group(&dx_version_own(v)->pages, out[n].place.group, &file, &group,
                                     &err) == 1,
                   "%s: %s", what, err.text);
            out[n].place.group = group;
            out[n++].path = file.path;
        }
        must(rc, &err, what);
    }
    must(rc, &err, what);
    dx_cold_walk_close(&walk);
    qsort(out, n, sizeof *out, by_id_and_path);
    return n;
}

static void compare_urls(struct dx_version *a, struct dx_version *b, const char *what)
{
    static struct url_at x[FILES * ROWS];
    static struct url_at y[FILES * ROWS];
    size_t n = url_places(a, x, what);
    size_t m = url_places(b, y, what);

    EXPECT(n == m, "%s: %zu and %zu places of URLs", what, n, m);
    EXPECT(n >= a->entry.urls, "%s: %zu places of %llu URLs", what, n,
           (unsigned long long)a->entry.urls);
    for (size_t i = 0; i < n && i < m; i++)
        EXPECT(by_id_and_path(&x[i], &y[i]) == 0 && x[i].place.rows == y[i].place.rows,
               "%s: place %zu of a URL: %016llx %.*s row group %llu row %llu", what, i,
               (unsigned long long)x[i].place.id, (int)x[i].path.size, (const char *)x[i].path.data,
               (unsigned long long)x[i].place.group, (unsigned long long)x[i].place.row);
}

/* A row that has a tag, or a domain with such rows. */
struct tag_at {
    struct dx_span tag, path;
    bool is_domain;
    uint64_t what; /* row in the file, or domain_id */
};

static int by_tag(const void *a, const void *b)
{
    const struct tag_at *x = a;
    const struct tag_at *y = b;
    int c = dx_span_compare(x->tag, y->tag);

    if (c == 0)
        c = dx_span_compare(x->path, y->path);
    if (c == 0)
        c = x->is_domain - y->is_domain;
    return c != 0 ? c : x->what < y->what ? -1 : x->what > y->what;
}

static size_t take_set(struct dx_version *v, const struct dx_dataset_set *set, struct tag_at like,
                       struct tag_at *out)
{
    static uint32_t ids[ROWS];
    size_t n = dx_dataset_set_ids(set, ids, ROWS);
    struct dx_error err = DX_ERROR_INIT;

    for (size_t i = 0; i < n; i++) {
        uint8_t domain[DX_SURT_MAX];
        size_t size = 0;

        out[i] = like;
        out[i].what = ids[i];
        if (!like.is_domain)
            continue;
        must(dx_dictionary_get(&dx_version_own(v)->dictionary, ids[i], domain, &size, &err), &err,
             "domain");
        out[i].what = dx_domain_id(dx_span_of(domain, size));
    }
    return n;
}

static size_t tag_places(struct dx_version *v, struct tag_at *out, const char *what)
{
    struct dx_error err = DX_ERROR_INIT;
    size_t n = 0;

    for (uint64_t i = 0; dx_version_own(v)->tags != NULL && i < dx_version_own(v)->tags->count;
         i++) {
        struct tag_at at;
        struct dx_tag_cursor files;
        struct dx_tag_file f;

        must(dx_tags_name(dx_version_own(v)->tags, i, &at.tag, &err), &err, what);
        must(dx_tags_files(dx_version_own(v)->tags, i, &files, &err), &err, what);
        while (dx_tag_cursor_next(&files, &f, &err) == 1) {
            struct dx_dataset_set rows;
            struct dx_dataset_set domains;
            struct dx_pages_file file;

            must(dx_pages_file(&dx_version_own(v)->pages, f.file_id, &file, &err), &err, what);
            must(dx_tag_file_sets(dx_version_own(v)->tags, &f, &rows, &domains, &err), &err, what);
            at.path = file.path;
            at.is_domain = false;
            n += take_set(v, &rows, at, out + n);
            at.is_domain = true;
            n += take_set(v, &domains, at, out + n);
        }
    }
    qsort(out, n, sizeof *out, by_tag);
    return n;
}

static void compare_tags(struct dx_version *a, struct dx_version *b, const char *what)
{
    static struct tag_at x[FILES * ROWS * 4];
    static struct tag_at y[FILES * ROWS * 4];
    size_t n = tag_places(a, x, what);
    size_t m = tag_places(b, y, what);

    EXPECT((dx_version_own(a)->tags == NULL) == (dx_version_own(b)->tags == NULL) && n == m,
           "%s: %zu and %zu places of tags", what, n, m);
    EXPECT(dx_version_own(a)->tags == NULL ||
               dx_version_own(a)->tags->left_count == dx_version_own(b)->tags->left_count,
           "%s: files that are not whole", what);
    for (size_t i = 0; i < n && i < m; i++)
        EXPECT(by_tag(&x[i], &y[i]) == 0, "%s: place %zu of a tag: %.*s %.*s %llu", what, i,
               (int)x[i].tag.size, (const char *)x[i].tag.data, (int)x[i].path.size,
               (const char *)x[i].path.data, (unsigned long long)x[i].what);
    places_of_tags += n;
}

static void compare_datasets(struct dx_version *a, struct dx_version *b, const char *what)
{
    struct dx_buf text[2] = { DX_BUF_INIT(1 << 20), DX_BUF_INIT(1 << 20) };

    must(dx_registry_write(&a->registry, &text[0], NULL), NULL, "registry");
    must(dx_registry_write(&b->registry, &text[1], NULL), NULL, "registry");
    EXPECT(text[0].size == text[1].size && memcmp(text[0].data, text[1].data, text[0].size) == 0,
           "%s: datasets\n%.*s\nby the whole lake\n%.*s", what, (int)text[0].size,
           (const char *)text[0].data, (int)text[1].size, (const char *)text[1].data);
    dx_buf_release(&text[0]);
    dx_buf_release(&text[1]);
}

/* Neither knows numbers of files. */
static void compare_facts(const struct dx_version *a, const struct dx_version *b, const char *what)
{
    static const char *const names[] = { DX_FILE_FACTS, DX_FILE_SKETCHES };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct dx_manifest_file *f = dx_manifest_file(&a->entry, names[i]);
        const struct dx_manifest_file *g = dx_manifest_file(&b->entry, names[i]);

        EXPECT(f != NULL && g != NULL && f->size == g->size && dx_hash128_equal(&f->hash, &g->hash),
               "%s: %s: other bytes than by the whole lake", what, names[i]);
    }
}

/* With the same numbers of files the bytes are the same too. */
static void compare_bytes(const struct dx_version *a, const struct dx_version *b, const char *what)
{
    for (size_t i = 0; i < a->entry.file_count; i++) {
        const struct dx_manifest_file *f = &a->entry.files[i];
        const struct dx_manifest_file *g = dx_manifest_file(&b->entry, f->name);

        EXPECT(g != NULL && f->size == g->size && dx_hash128_equal(&f->hash, &g->hash),
               "%s: %s: other bytes", what, f->name);
    }
}

/* a: merged; b: of the whole lake. Whether their files have the same numbers. */
static bool compare_versions(struct dx_version *a, struct dx_version *b, const char *what)
{
    bool same_build = memcmp(&a->entry.build, &b->entry.build, sizeof a->entry.build) == 0;

    EXPECT(a->entry.domains == b->entry.domains && a->entry.pairs == b->entry.pairs &&
               a->entry.rows == b->entry.rows && a->entry.urls == b->entry.urls,
           "%s: totals", what);
    for (uint64_t i = 0; i < a->entry.domains && i < b->entry.domains; i++)
        compare_domain(a, b, i, what);
    compare_files(a, b, what);
    compare_urls(a, b, what);
    compare_tags(a, b, what);
    compare_datasets(a, b, what);
    compare_facts(a, b, what);
    if (same_build)
        compare_bytes(a, b, what);
    return same_build;
}

/* ---- worlds ---- */

static void change(struct world *w, unsigned step, char *what, size_t size)
{
    uint32_t dataset = 1 + (uint32_t)random_below(&w->seed, DATASETS);
    unsigned order = random_below(&w->seed, 2) == 0 ? 0 : 1000 + step * 10;
    uint64_t which = random_below(&w->seed, 10);

    (void)snprintf(what, size, "step %u: nothing", step);
    if (which < 6) { /* new days, or a new dataset */
        for (uint64_t n = 1 + random_below(&w->seed, 3); n > 0; n--)
            add_file(w, dataset, order);
        (void)snprintf(what, size, "step %u: files for dataset %u", step, dataset);
    } else if (which < 8) { /* files go: the dataset is redone, or gone; the last number too */
        for (size_t i = 0; i < w->count; i++)
            if (w->files[i].dataset == dataset &&
                (i + 1 == w->count || random_below(&w->seed, 2) == 0))
                w->files[i].there = false;
        if (which == 7)
            add_file(w, dataset, order);
        (void)snprintf(what, size, "step %u: dataset %u redone", step, dataset);
    } else if (which == 8) {
        for (size_t i = 0; i < w->count; i++)
            if (w->files[i].dataset == dataset)
                w->files[i].there = false;
        w->registered[dataset] = random_below(&w->seed, 2) == 0;
        (void)snprintf(what, size, "step %u: dataset %u removed", step, dataset);
    }
}

static size_t live_files(const struct world *w)
{
    size_t n = 0;

    for (size_t i = 0; i < w->count; i++)
        n += w->files[i].there;
    return n;
}

static void test_world(uint64_t seed, unsigned steps)
{
    static struct world w;
    struct making full = { .memory = 64 << 20, .threads = 1 };
    struct making part = { .memory = 64 << 20, .threads = 1 + (unsigned)(seed % 2) };
    struct dx_version *base;
    uint64_t kept = 0;
    unsigned identical = 0;
    char what[100];

    memset(&w, 0, sizeof w);
    w.seed = seed;
    for (uint32_t d = 1; d <= 3; d++)
        for (unsigned i = 0; i < 3; i++)
            add_file(&w, d, 0);
    base = make_version(&w, &full);
    must(full.rc, &full.err, "first version");
    for (unsigned s = 1; s <= steps && w.count + 4 < FILES; s++) {
        struct dx_version *merged;
        struct dx_version *whole;
        char text[64];

        change(&w, s, text, sizeof text);
        (void)snprintf(what, sizeof what, "world %llu, %s", (unsigned long long)seed, text);
        if (live_files(&w) == 0)
            break;
        part.base = base;
        merged = make_version(&w, &part);
        EXPECT(merged != NULL && part.merged, "%s: %s%s", what, part.err.text, part.why);
        if (merged == NULL)
            break;
        kept += part.stats.postings_kept;
        verify(part.name, what);
        whole = make_version(&w, &full);
        must(full.rc, &full.err, "whole lake");
        verify(full.name, what);
        identical += compare_versions(merged, whole, what);
        dx_version_unpin(whole);
        dx_version_unpin(base);
        base = merged;
    }
    EXPECT(kept > 0, "world %llu: no posting was ever kept", (unsigned long long)seed);
    printf("world %llu: %zu files, %llu postings kept, %u times the same numbers of files\n",
           (unsigned long long)seed, w.count, (unsigned long long)kept, identical);
    dx_version_unpin(base);
}

/* Only what is new is read, and files with the highest paths give a full version's bytes. */
static void test_growth(void)
{
    static struct world w;
    struct making m = { .memory = 64 << 20, .threads = 1 };
    struct making full = { .memory = 64 << 20, .threads = 1 };
    struct dx_version *base;
    struct dx_version *next;
    struct dx_version *whole;
    uint64_t rows;

    memset(&w, 0, sizeof w);
    w.seed = 99;
    for (uint32_t d = 1; d <= 4; d++)
        add_file(&w, d, 0);
    base = make_version(&w, &m);
    must(m.rc, &m.err, "first version");
    rows = base->entry.rows;
    add_file(&w, 5, 0);
    m.base = base;
    next = make_version(&w, &m);
    must(m.rc, &m.err, "a new dataset");
    EXPECT(m.merged && m.files_scanned == 1 && m.rows_scanned == next->entry.rows - rows,
           "a new dataset: %llu files, %llu rows scanned", (unsigned long long)m.files_scanned,
           (unsigned long long)m.rows_scanned);
    whole = make_version(&w, &full);
    must(full.rc, &full.err, "whole lake");
    EXPECT(compare_versions(next, whole, "a new dataset"), "a new dataset: the same numbers");
    dx_version_unpin(whole);
    m.base = next;
    whole = make_version(&w, &m);
    must(m.rc, &m.err, "nothing new");
    EXPECT(m.merged && m.files_scanned == 0 && m.stats.postings_kept == next->entry.pairs &&
               compare_versions(whole, next, "nothing new"),
           "nothing new: %llu files scanned, %llu postings kept",
           (unsigned long long)m.files_scanned, (unsigned long long)m.stats.postings_kept);
    dx_version_unpin(whole);
    dx_version_unpin(next);
    dx_version_unpin(base);
}

/* Which suppression hits the rows that are scanned: the lowest, of those that are active. */
static void test_rules(void)
{
    static const char *const values[] = { "nowhere.com", NULL, NULL, "other.com" };
    static struct world w;
    struct dx_suppressions log = DX_SUPPRESSIONS_INIT;
    struct dx_rules *rules = NULL;
    struct dx_error err = DX_ERROR_INIT;
    struct making m = { .memory = 64 << 20, .threads = 1 };
    struct dx_version *base;
    struct dx_version *next;
    uint8_t domain[DX_SURT_MAX];
    size_t size;

    memset(&w, 0, sizeof w);
    w.seed = 5;
    add_file(&w, 1, 1);
    add_file(&w, 2, 1);
    base = make_version(&w, &m);
    must(m.rc, &m.err, "first version");
    EXPECT(m.suppressed_first == 0, "without rules");
    must(dx_dictionary_get(&dx_version_own(base)->dictionary, 3, domain, &size, &err), &err,
         "name");
    for (size_t i = 0; i < 4; i++) {
        struct dx_suppress_rule rule = { .kind = i == 2 ? DX_SUPPRESS_HOST : DX_SUPPRESS_DOMAIN,
                                         .policy = DX_SUPPRESS_ABSENT,
                                         .value = values[i] != NULL ? dx_span_str(values[i])
                                                                    : dx_span_of(domain, size) };
        uint64_t number;

        must(dx_suppressions_add(&log, &rule, &number, &err), &err, "rule");
    }
    must(dx_rules_new(&rules, &log, &err), &err, "rules");
    m.rules = rules;
    next = make_version(&w, &m);
    must(m.rc, &m.err, "with rules");
    EXPECT(m.suppressed_first == 2, "rule %llu", (unsigned long long)m.suppressed_first);
    dx_version_unpin(next);
    m.base = base;
    next = make_version(&w, &m);
    must(m.rc, &m.err, "with rules and a base");
    EXPECT(m.suppressed_first == 0, "rule %llu of rows that were not scanned",
           (unsigned long long)m.suppressed_first);
    dx_version_unpin(next);
    dx_version_unpin(base);
    dx_rules_free(&rules);
    dx_suppressions_release(&log);
}

/* Domains with one id: the merge gives up, and what the caller then makes is right. */
static void test_collisions(void)
{
    static struct world w;
    struct making m = { .memory = 64 << 20, .threads = 1 };
    struct dx_version *base;
    struct dx_version *next;

    memset(&w, 0, sizeof w);
    w.seed = 7;
    add_file(&w, 1, 1);
    base = make_version(&w, &m);
    must(m.rc, &m.err, "first version");
    add_file(&w, 2, 1);
    m.base = base;
    m.hash_bits = 9;
    next = make_version(&w, &m);
    must(m.rc, &m.err, "with collisions");
    EXPECT(!m.merged && m.stats.collisions > 0 && next->entry.base[0] == '\0', "collisions");
    m.base = next;
    m.hash_bits = 0;
    add_file(&w, 2, 5);
    dx_version_unpin(base);
    base = make_version(&w, &m);
    must(m.rc, &m.err, "over collisions");
    EXPECT(!m.merged && strstr(m.why, "share a hash") != NULL, "over collisions: '%s'", m.why);
    dx_version_unpin(base);
    dx_version_unpin(next);
}

static void spoil(const struct file *f, long at, bool longer)
{
    char path[PATH_MAX];
    FILE *out;
    int c;

    (void)snprintf(path, sizeof path, "%s/urls/%s", root, f->path);
    out = fopen(path, longer ? "ab" : "r+b");
    if (out == NULL)
        exit(1);
    if (longer) {
        (void)fputc(0, out);
    } else {
        (void)fseek(out, at, SEEK_SET);
        c = fgetc(out);
        (void)fseek(out, at, SEEK_SET);
        (void)fputc(c ^ 1, out);
    }
    (void)fclose(out);
}

/* A known file that is another one now is seen wherever it is looked at. */
static void test_replaced(void)
{
    static const struct {
        bool longer, redo, grow;
        const char *say;
    } rows[] = {
        { true, false, false, "replaced in place" },
        { false, true, false, "replaced in place" },
        { false, false, true, "checksum does not fit" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        static struct world w;
        struct making m = { .memory = 64 << 20, .threads = 1 };
        struct dx_version *base;
        struct dx_version *next;

        memset(&w, 0, sizeof w);
        w.seed = 11 + i;
        for (unsigned k = 0; k < 3; k++) {
            w.files[w.count] = (struct file){ .there = true, .dataset = 1, .last = 255, .part = k };
            (void)snprintf(w.files[k].path, sizeof w.files[k].path,
                           "dataset_id=1/domain_prefix=00-ff/part-%05zu.parquet", 10 * i + k);
            w.count++;
            write_file(&w, &w.files[k]);
        }
        w.registered[1] = true;
        base = make_version(&w, &m);
        must(m.rc, &m.err, "first version");
        if (rows[i].redo)
            w.files[2].there = false;
        if (rows[i].grow)
            add_file(&w, 1, 900);
        for (long at = 10; at < 2000; at += 50)
            spoil(&w.files[0], at, rows[i].longer);
        m.base = base;
        next = make_version(&w, &m);
        EXPECT(next == NULL && m.rc == DX_E_CORRUPT && strstr(m.err.text, rows[i].say) != NULL,
               "row %zu: rc %d, '%s'", i, m.rc, m.err.text);
        dx_version_unpin(next);
        dx_version_unpin(base);
    }
}

/* Too little memory for the files of one domain is an error; a little more is enough. */
static void test_memory(void)
{
    static struct world w;
    struct making full = { .memory = 64 << 20, .threads = 1 };
    struct making m = { .memory = 2 << 20, .threads = 1 };
    struct dx_version *base;
    struct dx_version *next;
    struct dx_version *whole;

    memset(&w, 0, sizeof w);
    w.seed = 21;
    for (unsigned i = 0; i < 24; i++)
        add_file(&w, 1, 100);
    base = make_version(&w, &full);
    must(full.rc, &full.err, "first version");
    add_file(&w, 1, 0);
    m.base = base;
    next = make_version(&w, &m);
    EXPECT(next == NULL && m.rc == DX_E_LIMIT && strstr(m.err.text, "--memory") != NULL,
           "rc %d, '%s'", m.rc, m.err.text);
    dx_version_unpin(next);
    m.memory = 48 << 20;
    next = make_version(&w, &m);
    must(m.rc, &m.err, "with more memory");
    whole = make_version(&w, &full);
    must(full.rc, &full.err, "whole lake");
    (void)compare_versions(next, whole, "many files");
    dx_version_unpin(whole);
    dx_version_unpin(next);
    dx_version_unpin(base);
}

int main(int argc, char **argv)
{
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_error err = DX_ERROR_INIT;
#ifdef __SANITIZE_THREAD__ /* the world of an odd seed is made by two threads */
    const unsigned usual = 1;
#else
    const unsigned usual = (unsigned)dx_sample(3, 2);
#endif
    unsigned worlds = argc > 1 ? (unsigned)atoi(argv[1]) : usual;

    must(dx_caches_new(&caches, &options, &err), &err, "caches");
    for (unsigned i = 0; i < worlds + DX_ROUNDS(5, 0); i++) { /* the others have one thread */
        char path[80];

        strcpy(root, access("/dev/shm", W_OK) == 0 ? "/dev/shm/dx-test-merge-XXXXXX"
                                                   : "/tmp/dx-test-merge-XXXXXX");
        if (mkdtemp(root) == NULL)
            return 1;
        (void)snprintf(path, sizeof path, "%s/index", root);
        must(dx_dir_make(path, &err), &err, "index");
        if (i < worlds)
            test_world(1 + i, (unsigned)dx_sample(11, 6));
        else if (i == worlds)
            test_growth();
        else if (i == worlds + 1)
            test_collisions();
        else if (i == worlds + 2)
            test_replaced();
        else if (i == worlds + 3)
            test_rules();
        else
            test_memory();
        must(dx_dir_remove(root, &err), &err, "remove");
    }
    EXPECT(places_of_tags > dx_sample(3000, 800) * usual, "%zu places of tags were compared",
           places_of_tags);
    dx_caches_free(&caches);
    return failures > 0;
}
