/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/index_scan.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "builder/index_base.h"
#include "builder/index_pair.h"
#include "builder/known_pair.h"
#include "builder/lake_scan.h"
#include "builder/spill_sort.h"
#include "cache/page_cache.h"
#include "canon/ids.h"
#include "format/pages.h"
#include "format/registry_json.h"
#include "format/rules.h"
#include "loader/version.h"

#define SCHEMES_MAX 8 /* of one (host, path_query); canonical URLs have three */
#define SCHEME_SIZE_MAX 32
#define CURSOR_COST_MAX (6u << 20) /* most that an open file of our own layout holds */
#define CURSOR_COST_MIN (256u << 10)
#define RUNS_BYTES_MAX (512u << 20)

/* A part of the lake that one worker reads: files of one dataset whose prefix ranges
 * overlap, so that no domain is in two parts. */
struct part {
    size_t first; /* in scan.order */
    size_t count;
    uint64_t bytes; /* of its files, if they are to be brought */
};

struct scan {
    struct dx_index_lake *lake;
    const struct dx_index_scan_options *options;
    size_t *order; /* file_ids of what is read: by dataset, then part, then path */
    size_t order_count;
    struct part *parts;
    size_t part_count;
    atomic_size_t next_part;
    atomic_bool stop;
    size_t part_memory;   /* what the open files of a worker may hold */
    pthread_mutex_t lock; /* of all below, the sorters, the registry and the lake's totals */
    struct dx_error err;
    size_t failed_part;
    pthread_cond_t room;            /* on_disk has become smaller, or stop is set */
    uint64_t on_disk;               /* bytes of files that were brought, or are being brought */
    struct dx_page_cache *postings; /* of the base; NULL without one */
};

/* The last row of a file, or of a merge: to see order and change. */
struct place {
    bool any;
    struct dx_buf text; /* domain, host, path_query */
    size_t domain_size;
    size_t host_size;
};

struct cursor {
    struct dx_lake_scan scan;
    struct dx_index_file *file;
    uint32_t file_id;
    bool in_group;
    uint64_t row_in_group;
    uint64_t row_in_file;
    struct dx_lake_row row;
    unsigned change; /* from the row before in this file: enum change */
    struct place place;
    struct dx_buf runs; /* struct dx_run, of the current domain */
};

enum change { SAME_URL, NEW_URL, NEW_DOMAIN };

struct merge {
    struct scan *scan;
    uint32_t dataset_id;
    char path[PATH_MAX];
    struct cursor *cursors;
    size_t count;
    size_t *heap; /* cursors, and behind them those of the known pair */
    size_t heap_size, heap_capacity;
    struct dx_known *known; /* what the base has of a dataset that grew; NULL of others */
    bool has_known;         /* the domain at hand is in it */
    struct place place;
    struct {
        uint8_t text[SCHEME_SIZE_MAX];
        size_t size;
    } schemes[SCHEMES_MAX]; /* of the current (host, path_query) */
    size_t scheme_count;
    struct dx_index_pair pair; /* in the making; domain: in `domain` */
    struct dx_buf domain;
    struct dx_buf runs;
    struct dx_buf key;
    struct dx_buf value;
    bool has_rules; /* some rule may hit rows of the domain at hand */
    struct dx_rules_of rules;
    uint64_t suppressed_first;
    struct dx_dataset totals; /* what this part adds to its dataset's */
    uint64_t rows;            /* read */
};

/* ---- order of rows ---- */

static struct dx_span place_domain(const struct place *p)
{
    return dx_span_of(p->text.data, p->domain_size);
}

static struct dx_span place_host(const struct place *p)
{
    return dx_span_of(p->text.data + p->domain_size, p->host_size);
}

static struct dx_span place_path(const struct place *p)
{
    size_t before = p->domain_size + p->host_size;

    return dx_span_of(p->text.data + before, p->text.size - before);
}

/* How `row` follows the place: enum change, or -1 if it should stand before it. */
static int place_change(const struct place *p, const struct dx_lake_row *row)
{
    int c;

    if (!p->any)
        return NEW_DOMAIN;
    c = dx_span_compare(row->domain, place_domain(p));
    if (c != 0)
        return c < 0 ? -1 : NEW_DOMAIN;
    c = dx_span_compare(row->host, place_host(p));
    if (c == 0)
        c = dx_span_compare(row->path_query, place_path(p));
    return c < 0 ? -1 : c == 0 ? SAME_URL : NEW_URL;
}

static int place_take(struct place *p, const struct dx_lake_row *row, struct dx_error *err)
{
    dx_buf_clear(&p->text);
    dx_buf_append(&p->text, row->domain.data, row->domain.size);
    dx_buf_append(&p->text, row->host.data, row->host.size);
    dx_buf_append(&p->text, row->path_query.data, row->path_query.size);
    p->domain_size = row->domain.size;
    p->host_size = row->host.size;
    p->any = true;
    return p->text.failed ? dx_buf_fail(&p->text, err, "row") : DX_OK;
}

static int row_compare(const struct dx_lake_row *a, const struct dx_lake_row *b)
{
    int c = dx_span_compare(a->domain, b->domain);

    if (c == 0)
        c = dx_span_compare(a->host, b->host);
    return c == 0 ? dx_span_compare(a->path_query, b->path_query) : c;
}

/* ---- rows of one file ---- */

static bool domain_ok(struct dx_span domain)
{
    if (domain.size == 0 || domain.size > DX_DOMAIN_MAX)
        return false;
    for (size_t i = 0; i < domain.size; i++)
        if (domain.data[i] <= ' ' || domain.data[i] > '~' ||
            (domain.data[i] >= 'A' && domain.data[i] <= 'Z'))
            return false;
    return true;
}

static int row_fail(const struct cursor *c, struct dx_error *err, const char *what)
{
    return dx_fail(err, DX_E_CORRUPT, "%s: row %llu: %s", c->file->path,
                   (unsigned long long)c->row_in_file, what);
}

static int new_domain_check(const struct cursor *c, struct dx_error *err)
{
    const struct dx_lake_row *row = &c->row;
    uint64_t id = dx_domain_id(row->domain);
    unsigned prefix = dx_domain_prefix(id);

    if (!domain_ok(row->domain))
        return row_fail(c, err, "column domain holds no registered domain in canonical form");
    if (row->domain_id != id)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: row %llu: domain_id is %016llx, but XXH3 of \"%.*s\" is %016llx",
                       c->file->path, (unsigned long long)c->row_in_file,
                       (unsigned long long)row->domain_id, (int)row->domain.size,
                       (const char *)row->domain.data, (unsigned long long)id);
    if (prefix < c->file->prefix_first || prefix > c->file->prefix_last)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: row %llu: domain \"%.*s\" has prefix %02x, which is outside of "
                       "domain_prefix=%s",
                       c->file->path, (unsigned long long)c->row_in_file, (int)row->domain.size,
                       (const char *)row->domain.data, prefix, c->file->prefix);
    return DX_OK;
}

static int row_check(struct cursor *c, struct dx_error *err)
{
    const struct dx_lake_row *row = &c->row;
    int change = place_change(&c->place, row);

    if (change < 0)
        return row_fail(c, err,
                        "not in order of (domain, host, path_query): the index needs "
                        "sorted files; ingest the rows again");
    if (row->dataset_id != c->file->dataset_id)
        return dx_fail(err, DX_E_CORRUPT, "%s: row %llu: dataset_id is %lu, the path says %lu",
                       c->file->path, (unsigned long long)c->row_in_file,
                       (unsigned long)row->dataset_id, (unsigned long)c->file->dataset_id);
    if (row->scheme.size == 0 || row->scheme.size > SCHEME_SIZE_MAX)
        return row_fail(c, err, "the scheme is empty or over 32 bytes");
    if (change != NEW_DOMAIN && row->domain_id != dx_domain_id(row->domain))
        return row_fail(c, err, "domain_id differs from that of the row before");
    c->change = (unsigned)change;
    return change == NEW_DOMAIN ? new_domain_check(c, err) : DX_OK;
}

/* 1 a row in c->row, 0 the end of the file, <0 error. */
static int cursor_next(struct cursor *c, struct dx_error *err)
{
    for (;;) {
        int rc;

        if (c->in_group) {
            rc = dx_lake_scan_row(&c->scan, &c->row, err);
            if (rc < 0)
                return rc;
            if (rc == 1)
                break;
            c->in_group = false;
        }
        rc = dx_lake_scan_group(&c->scan, err);
        if (rc <= 0)
            return rc;
        c->in_group = true;
        c->row_in_group = 0;
    }
    int rc = row_check(c, err);

    if (rc == DX_OK && c->change != SAME_URL)
        rc = place_take(&c->place, &c->row, err);
    c->row_in_file++;
    c->row_in_group++;
    return rc == DX_OK ? 1 : rc;
}

/* The row that cursor_next gave stands in the domain's runs. */
static int cursor_run(struct cursor *c, struct dx_error *err)
{
    uint64_t at = c->row_in_group - 1;
    struct dx_run run = { c->file_id, c->scan.group.number, at, 1 };

    if (c->runs.size > 0) {
        struct dx_run *last = (struct dx_run *)(void *)(c->runs.data + c->runs.size) - 1;

        if (last->row_group == run.row_group && last->first_row + last->row_count == at) {
            last->row_count++;
            return DX_OK;
        }
    }
    dx_buf_append(&c->runs, &run, sizeof run);
    return c->runs.failed ? dx_buf_fail(&c->runs, err, c->file->path) : DX_OK;
}

/* ---- pages and hash of one file ---- */

static uint8_t page_role(enum dx_lake_role role)
{
    switch (role) {
    case DX_LAKE_SCHEME:
        return DX_ROLE_SCHEME;
    case DX_LAKE_HOST:
        return DX_ROLE_HOST;
    case DX_LAKE_PATH_QUERY:
        return DX_ROLE_PATH_QUERY;
    case DX_LAKE_RAW_URL:
        return DX_ROLE_RAW_URL;
    case DX_LAKE_TS:
        return DX_ROLE_TS;
    case DX_LAKE_EXTRA:
        return DX_ROLE_EXTRA;
    case DX_LAKE_DATASET_ID:
    case DX_LAKE_DOMAIN:
    case DX_LAKE_DOMAIN_ID:
    case DX_LAKE_URL_ID:
        break; /* known without reading */
    }
    return 0;
}

static int page_of(const struct dx_lake_scan *s, const struct dx_index_file *file,
                   const struct dx_lake_page *from, bool dictionary, struct dx_page_location *to,
                   struct dx_error *err)
{
    struct dx_span bytes;

    if (!dx_span_slice(s->map.bytes, from->offset, from->size, &bytes))
        return dx_fail(err, DX_E_CORRUPT, "%s: a page at offset %llu is outside of the file",
                       file->path, (unsigned long long)from->offset);
    *to = (struct dx_page_location){ from->offset, from->size,
                                     dx_page_sum(&file->hash, from->offset, bytes),
                                     dictionary ? 0 : from->first_row,
                                     dictionary ? 0 : from->row_count };
    return DX_OK;
}

static void column_of(const struct dx_lake_scan *s, size_t i, uint8_t role,
                      struct dx_page_column *to)
{
    const struct dx_lake_chunk *chunk = &s->group.column[i];

    *to = (struct dx_page_column){ .role = role,
                                   .physical_type = chunk->column.type,
                                   .codec = chunk->column.codec,
                                   .max_def = chunk->column.max_def,
                                   .time_unit = chunk->column.time_unit,
                                   .type_length = chunk->column.type_length,
                                   .name = s->column[i].name,
                                   .page_count = chunk->page_count };
}

/* One GRPD record into `out`. */
static int group_pages(const struct dx_lake_scan *s, const struct dx_index_file *file,
                       struct dx_buf *out, struct dx_error *err)
{
    struct dx_page_column columns[DX_LAKE_COLUMN_MAX];
    struct dx_page_location *pages = NULL;
    size_t page_count = 0;
    size_t used = 0;
    size_t n = 0;
    int rc = DX_OK;

    for (size_t i = 0; i < s->column_count; i++)
        page_count += s->group.column[i].page_count;
    pages = calloc(page_count + 1, sizeof *pages);
    if (pages == NULL)
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory", file->path);
    for (size_t i = 0; rc == DX_OK && i < s->column_count; i++) {
        const struct dx_lake_chunk *chunk = &s->group.column[i];
        uint8_t role = page_role(s->column[i].role);

        if (role == 0)
            continue;
        column_of(s, i, role, &columns[n]);
        columns[n].pages = pages + used;
        if (chunk->has_dictionary)
            rc = page_of(s, file, &chunk->dictionary, true, &columns[n].dictionary, err);
        for (uint32_t k = 0; rc == DX_OK && k < chunk->page_count; k++)
            rc = page_of(s, file, &chunk->page[k], false, &pages[used++], err);
        n++;
    }
    if (rc == DX_OK)
        rc = dx_page_group_encode(out, file->size, s->group.row_count, columns, n, err);
    if (rc != DX_OK)
        dx_fail_in(err, "%s: row group %lu", file->path, (unsigned long)s->group.number);
    free(pages);
    return rc;
}

static void note_skipped(struct dx_index_lake *lake, const struct dx_lake_scan *s,
                         const struct dx_index_file *file)
{
    if (s->skipped_count == 0)
        return;
    if (lake->skipped_columns == 0)
        (void)snprintf(lake->skipped, sizeof lake->skipped, "%.*s in %s", (int)s->skipped.size,
                       (const char *)s->skipped.data, file->path);
    lake->skipped_columns += s->skipped_count;
}

static int add_group(struct scan *scan, uint32_t file_id, uint32_t group,
                     const struct dx_buf *record, struct dx_error *err)
{
    uint8_t key[8];
    int rc;

    for (size_t i = 0; i < 4; i++) {
        key[i] = (uint8_t)(file_id >> (24 - 8 * i));
        key[4 + i] = (uint8_t)(group >> (24 - 8 * i));
    }
    (void)pthread_mutex_lock(&scan->lock);
    rc = dx_spill_sort_add(scan->lake->groups, 0, dx_span_of(key, sizeof key),
                           dx_span_of(record->data, record->size), err);
    (void)pthread_mutex_unlock(&scan->lock);
    return rc;
}

static int file_path(const struct dx_index_lake *lake, const struct dx_index_file *file,
                     char path[PATH_MAX], struct dx_error *err)
{
    int n = snprintf(path, PATH_MAX, "%s/%s", lake->root, file->path);

    return n < 0 || n >= PATH_MAX ? dx_fail(err, DX_E_INVALID, "%s: path too long", file->path)
                                  : DX_OK;
}

/* Memory that the rows of this file need while it is open, from what its footer says. */
static size_t cursor_cost(const struct dx_lake_scan *s)
{
    uint64_t most = 0;

    for (uint32_t g = 0; g < s->footer.group_count; g++)
        if (s->footer.group[g].total_size > most)
            most = s->footer.group[g].total_size;
    return most > CURSOR_COST_MAX   ? CURSOR_COST_MAX
           : most < CURSOR_COST_MIN ? CURSOR_COST_MIN
                                    : (size_t)most;
}

static int file_pages(struct scan *scan, uint32_t file_id, size_t *cost, struct dx_error *err)
{
    struct dx_index_file *file = &scan->lake->files[file_id];
    struct dx_lake_scan s = DX_LAKE_SCAN_INIT;
    struct dx_buf record = DX_BUF_INIT(RUNS_BYTES_MAX);
    char path[PATH_MAX];
    uint64_t rows = 0;
    uint32_t groups = 0;
    struct dx_hash128 before = file->hash;
    int rc = file_path(scan->lake, file, path, err);

    if (rc == DX_OK)
        rc = dx_lake_scan_open(&s, path, err);
    if (rc == DX_OK)
        rc = dx_lake_scan_hash(&s, &file->hash, err);
    if (rc == DX_OK && file->known && !dx_hash128_equal(&file->hash, &before))
        rc = dx_fail(err, DX_E_CORRUPT,
                     "%s: was replaced in place since version %s, or damaged: its bytes have "
                     "another hash; lake files are never written again",
                     file->path, dx_version_name(scan->lake->base));
    if (rc == DX_OK) {
        file->size = s.map.bytes.size;
        *cost += cursor_cost(&s);
    }
    while (rc == DX_OK && (rc = dx_lake_scan_group(&s, err)) == 1) {
        dx_buf_clear(&record);
        rc = group_pages(&s, file, &record, err);
        if (rc == DX_OK)
            rc = add_group(scan, file_id, s.group.number, &record, err);
        rows += s.group.row_count;
        groups++;
    }
    file->rows = rows;
    file->row_groups = groups;
    if (rc == DX_OK) {
        (void)pthread_mutex_lock(&scan->lock);
        scan->lake->row_groups += groups;
        scan->lake->files_scanned++;
        note_skipped(scan->lake, &s, file);
        (void)pthread_mutex_unlock(&scan->lock);
    }
    dx_lake_scan_close(&s);
    dx_buf_release(&record);
    return rc;
}

/* ---- merging the files of a part ---- */

static const struct dx_lake_row *row_at(const struct merge *m, size_t cursor)
{
    return cursor < m->count ? &m->cursors[cursor].row : &m->known->cursors[cursor - m->count].row;
}

static bool cursor_after(const struct merge *m, size_t a, size_t b)
{
    int c = row_compare(row_at(m, a), row_at(m, b));

    return c != 0 ? c > 0 : a > b;
}

static void heap_sink(struct merge *m, size_t at)
{
    for (;;) {
        size_t least = at;

        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < m->heap_size; child++)
            if (cursor_after(m, m->heap[least], m->heap[child]))
                least = child;
        if (least == at)
            return;
        size_t swap = m->heap[at];
        m->heap[at] = m->heap[least];
        m->heap[least] = swap;
        at = least;
    }
}

static void heap_rise(struct merge *m, size_t at)
{
    while (at > 0 && cursor_after(m, m->heap[(at - 1) / 2], m->heap[at])) {
        size_t swap = m->heap[at];

        m->heap[at] = m->heap[(at - 1) / 2];
        m->heap[(at - 1) / 2] = swap;
        at = (at - 1) / 2;
    }
}

static void take_time(bool *any, int64_t *first, int64_t *last, int64_t ts)
{
    if (!*any || ts < *first)
        *first = ts;
    if (!*any || ts > *last)
        *last = ts;
    *any = true;
}

/* The runs of the files of this part, by path, and among them those of the base. */
static int gather_runs(struct merge *m, struct dx_error *err)
{
    const struct dx_run *known = NULL;
    size_t left = 0;

    dx_buf_clear(&m->runs);
    if (m->has_known) {
        known = (const struct dx_run *)(const void *)m->known->runs.data;
        left = m->known->runs.size / sizeof *known;
    }
    for (size_t i = 0; i <= m->count; i++) {
        struct cursor *c = i == m->count ? NULL : &m->cursors[i];

        if (c != NULL && c->runs.size == 0)
            continue;
        for (; left > 0; known++, left--) {
            const char *path = known->file_id < m->scan->lake->file_count
                                   ? m->scan->lake->files[known->file_id].path
                                   : NULL;

            if (path == NULL)
                return dx_fail(err, DX_E_CORRUPT,
                               "version %s: a posting names file %u, which is not there",
                               dx_version_name(m->scan->lake->base), (unsigned)known->file_id);
            if (c != NULL && strcmp(path, c->file->path) > 0)
                break;
            dx_buf_append(&m->runs, known, sizeof *known);
        }
        if (c == NULL)
            break;
        dx_buf_append(&m->runs, c->runs.data, c->runs.size);
        dx_buf_clear(&c->runs);
    }
    return m->runs.failed ? dx_buf_fail(&m->runs, err, "runs of a pair") : DX_OK;
}

/* What is new of the pair goes into the totals, then it becomes whole. */
static int count_pair(struct merge *m, struct dx_error *err)
{
    struct dx_pair_count *count = &m->pair.count;
    const struct dx_pair_count *known = m->has_known ? &m->known->count : NULL;

    m->totals.rows += count->row_count;
    m->totals.domains += known == NULL;
    m->totals.urls += count->url_count - (known == NULL ? 0 : known->url_count);
    m->rows += count->row_count + (known == NULL ? 0 : known->row_count);
    if (known == NULL)
        return DX_OK;
    if (count->url_count < known->url_count)
        return dx_fail(err, DX_E_CORRUPT,
                       "version %s: %.*s has %llu URLs in dataset %u by its counts, by its rows at "
                       "most %llu: `domaindex verify --deep` tells more",
                       dx_version_name(m->scan->lake->base), (int)m->domain.size,
                       (const char *)m->domain.data, (unsigned long long)known->url_count,
                       (unsigned)m->dataset_id, (unsigned long long)count->url_count);
    count->row_count += known->row_count;
    if (known->has_ts) {
        take_time(&count->has_ts, &count->first_us, &count->last_us, known->first_us);
        take_time(&count->has_ts, &count->first_us, &count->last_us, known->last_us);
    }
    return DX_OK;
}

/* The pair that is complete goes to the sorter. */
static int emit(struct merge *m, struct dx_error *err)
{
    struct dx_pair_count *count = &m->pair.count;
    int rc;

    if (count->row_count == 0)
        return DX_OK;
    rc = count_pair(m, err);
    if (rc == DX_OK)
        rc = gather_runs(m, err);
    if (rc != DX_OK)
        return rc;
    m->pair.dataset_id = m->dataset_id;
    m->pair.domain = dx_span_of(m->domain.data, m->domain.size);
    rc = dx_index_pair_encode(&m->pair, (const struct dx_run *)(const void *)m->runs.data,
                              m->runs.size / sizeof(struct dx_run), &m->key, &m->value, err);
    if (rc == DX_OK) {
        (void)pthread_mutex_lock(&m->scan->lock);
        rc = dx_spill_sort_add(m->scan->lake->pairs, 0, dx_span_of(m->key.data, m->key.size),
                               dx_span_of(m->value.data, m->value.size), err);
        (void)pthread_mutex_unlock(&m->scan->lock);
    }
    if (m->scan->options->rows_done != NULL)
        atomic_fetch_add_explicit(m->scan->options->rows_done, count->row_count,
                                  memory_order_relaxed);
    return rc;
}

/* c: NULL for a row of the base. */
static int count_scheme(struct merge *m, const struct cursor *c, const struct dx_lake_row *row,
                        struct dx_error *err)
{
    struct dx_span scheme = row->scheme;

    for (size_t i = 0; i < m->scheme_count; i++)
        if (dx_span_equal(scheme, dx_span_of(m->schemes[i].text, m->schemes[i].size)))
            return DX_OK;
    if (m->scheme_count == SCHEMES_MAX && c != NULL)
        return row_fail(c, err, "over 8 schemes for one host and path");
    if (m->scheme_count == SCHEMES_MAX || scheme.size > SCHEME_SIZE_MAX)
        return dx_fail(err, DX_E_CORRUPT,
                       "dataset_id=%lu: \"%.*s\": over 8 schemes for one host and path, or one of "
                       "over 32 bytes",
                       (unsigned long)m->dataset_id, (int)row->domain.size,
                       (const char *)row->domain.data);
    memcpy(m->schemes[m->scheme_count].text, scheme.data, scheme.size);
    m->schemes[m->scheme_count++].size = scheme.size;
    m->pair.count.url_count++;
    return DX_OK;
}

/* The rows that the base has of the domain come into the heap. */
static int begin_known(struct merge *m, struct dx_error *err)
{
    int rc = dx_known_find(m->known, dx_span_of(m->domain.data, m->domain.size), m->dataset_id,
                           err);
    size_t need = m->count + m->known->cursor_count;

    m->has_known = rc == 1;
    if (rc <= 0)
        return rc;
    if (need > m->heap_capacity) {
        size_t *more = realloc(m->heap, need * sizeof *more);

        if (more == NULL)
            return dx_fail(err, DX_E_NOMEM, "scan: out of memory");
        m->heap = more;
        m->heap_capacity = need;
    }
    for (size_t i = 0; i < m->known->cursor_count; i++) {
        rc = dx_known_next(m->known, i, err);
        if (rc < 0)
            return rc;
        if (rc == 1) {
            m->heap[m->heap_size++] = m->count + i;
            heap_rise(m, m->heap_size - 1);
        }
    }
    return DX_OK;
}

static bool begins_domain(const struct merge *m, const struct cursor *c)
{
    return c->change == NEW_DOMAIN &&
           !dx_span_equal(c->row.domain, dx_span_of(m->domain.data, m->domain.size));
}

static int begin_domain(struct merge *m, struct dx_span domain, struct dx_error *err)
{
    int rc = emit(m, err);

    m->pair.count = (struct dx_pair_count){ 0 };
    m->has_known = false;
    m->scheme_count = 0;
    dx_buf_clear(&m->domain);
    dx_buf_append(&m->domain, domain.data, domain.size);
    if (rc == DX_OK && m->domain.failed)
        rc = dx_buf_fail(&m->domain, err, "domain");
    m->has_rules = rc == DX_OK &&
                   dx_rules_of(m->scan->options->rules, dx_span_of(m->domain.data, m->domain.size),
                               &m->rules);
    return rc == DX_OK && m->known != NULL ? begin_known(m, err) : rc;
}

/* A single file knows the change already; several are compared with the merged row before.
 * c: NULL for a row of the base. */
static int take_url(struct merge *m, const struct cursor *c, const struct dx_lake_row *row,
                    struct dx_error *err)
{
    bool single = m->count == 1 && !m->has_known;
    int change = single ? (int)c->change : place_change(&m->place, row);
    int rc = DX_OK;

    if (!single && change != SAME_URL)
        rc = place_take(&m->place, row, err);
    if (change != SAME_URL)
        m->scheme_count = 0;
    return rc == DX_OK ? count_scheme(m, c, row, err) : rc;
}

static void note_rule(uint64_t *first, uint64_t number)
{
    if (number != 0 && (*first == 0 || number < *first))
        *first = number;
}

static int take_row(struct merge *m, struct cursor *c, struct dx_error *err)
{
    int rc = take_url(m, c, &c->row, err);

    if (rc != DX_OK)
        return rc;
    if (m->has_rules)
        note_rule(&m->suppressed_first,
                  dx_rules_row(&m->rules, c->row.scheme, c->row.host, c->row.path_query).number);
    m->pair.count.row_count++;
    if (c->row.has_ts) {
        take_time(&m->pair.count.has_ts, &m->pair.count.first_us, &m->pair.count.last_us,
                  c->row.ts_us);
        take_time(&m->totals.has_ts, &m->totals.first_us, &m->totals.last_us, c->row.ts_us);
    }
    return cursor_run(c, err);
}

static bool grew(const struct scan *scan, uint32_t dataset_id)
{
    return scan->lake->base != NULL && dx_index_change_of(scan->lake, dataset_id) == DX_INDEX_GROWN;
}

static int merge_open(struct merge *m, struct scan *scan, const struct part *part,
                      struct dx_error *err)
{
    int rc = DX_OK;

    *m = (struct merge){ .scan = scan };
    m->dataset_id = scan->lake->files[scan->order[part->first]].dataset_id;
    dx_buf_init(&m->domain, DX_SURT_MAX);
    dx_buf_init(&m->runs, RUNS_BYTES_MAX);
    dx_buf_init(&m->key, 2 * DX_SURT_MAX);
    dx_buf_init(&m->value, RUNS_BYTES_MAX);
    dx_buf_init(&m->place.text, DX_LAKE_ROW_BYTES_MAX);
    m->cursors = calloc(part->count, sizeof *m->cursors);
    m->heap = calloc(part->count, sizeof *m->heap);
    if (m->cursors == NULL || m->heap == NULL)
        return dx_fail(err, DX_E_NOMEM, "scan: out of memory");
    m->count = m->heap_capacity = part->count;
    for (size_t i = 0; i < m->count; i++) {
        struct cursor *c = &m->cursors[i];

        c->scan = (struct dx_lake_scan)DX_LAKE_SCAN_INIT;
        dx_buf_init(&c->place.text, DX_LAKE_ROW_BYTES_MAX);
        dx_buf_init(&c->runs, RUNS_BYTES_MAX);
    }
    for (size_t i = 0; rc == DX_OK && i < m->count; i++) {
        struct cursor *c = &m->cursors[i];

        c->file_id = (uint32_t)scan->order[part->first + i];
        c->file = &scan->lake->files[c->file_id];
        rc = file_path(scan->lake, c->file, m->path, err);
        if (rc == DX_OK)
            rc = dx_lake_scan_open(&c->scan, m->path, err);
        if (rc != DX_OK)
            break;
        rc = cursor_next(c, err);
        if (rc == 1)
            m->heap[m->heap_size++] = i;
        rc = rc < 0 ? rc : DX_OK;
    }
    for (size_t i = m->heap_size; rc == DX_OK && i-- > 0;)
        heap_sink(m, i);
    if (rc == DX_OK && grew(scan, m->dataset_id))
        rc = dx_known_new(&m->known, scan->lake->base, scan->postings, scan->part_memory / 2, err);
    return rc;
}

static void merge_close(struct merge *m)
{
    for (size_t i = 0; i < m->count; i++) {
        dx_lake_scan_close(&m->cursors[i].scan);
        dx_buf_release(&m->cursors[i].place.text);
        dx_buf_release(&m->cursors[i].runs);
    }
    dx_known_free(&m->known);
    free(m->cursors);
    free(m->heap);
    dx_buf_release(&m->place.text);
    dx_buf_release(&m->domain);
    dx_buf_release(&m->runs);
    dx_buf_release(&m->key);
    dx_buf_release(&m->value);
}

static int merge_run(struct merge *m, struct dx_error *err)
{
    int rc = DX_OK;

    while (rc == DX_OK && m->heap_size > 0 && !atomic_load(&m->scan->stop)) {
        size_t at = m->heap[0];
        struct cursor *c = at < m->count ? &m->cursors[at] : NULL;

        if (c != NULL && begins_domain(m, c)) {
            rc = begin_domain(m, c->row.domain, err);
            continue; /* the least row may be one of the base now */
        }
        rc = c != NULL ? take_row(m, c, err) : take_url(m, NULL, row_at(m, at), err);
        if (rc != DX_OK)
            break;
        rc = c != NULL ? cursor_next(c, err) : dx_known_next(m->known, at - m->count, err);
        if (rc == 0)
            m->heap[0] = m->heap[--m->heap_size];
        if (rc >= 0) {
            heap_sink(m, 0);
            rc = DX_OK;
        }
    }
    return rc == DX_OK ? emit(m, err) : rc;
}

static void add_totals(struct scan *scan, const struct part *part, const struct merge *m)
{
    struct dx_dataset *d;

    (void)pthread_mutex_lock(&scan->lock);
    d = dx_registry_by_id(scan->lake->registry, m->dataset_id);
    d->files += part->count;
    d->rows += m->totals.rows;
    d->urls += m->totals.urls;
    d->domains += m->totals.domains;
    if (m->totals.has_ts) {
        take_time(&d->has_ts, &d->first_us, &d->last_us, m->totals.first_us);
        take_time(&d->has_ts, &d->first_us, &d->last_us, m->totals.last_us);
    }
    scan->lake->rows += m->totals.rows;
    scan->lake->rows_scanned += m->rows;
    note_rule(&scan->lake->suppressed_first, m->suppressed_first);
    scan->lake->urls += m->totals.urls;
    (void)pthread_mutex_unlock(&scan->lock);
}

static int merge_part(struct scan *scan, const struct part *part, struct dx_error *err)
{
    struct merge m;
    int rc = merge_open(&m, scan, part, err);

    if (rc == DX_OK)
        rc = merge_run(&m, err);
    if (rc == DX_OK && !atomic_load(&scan->stop))
        add_totals(scan, part, &m);
    merge_close(&m);
    return rc;
}

static int scan_part(struct scan *scan, const struct part *part, struct dx_error *err)
{
    uint32_t dataset_id = scan->lake->files[scan->order[part->first]].dataset_id;
    size_t free_bytes;
    size_t cost = 0;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < part->count && !atomic_load(&scan->stop); i++)
        rc = file_pages(scan, (uint32_t)scan->order[part->first + i], &cost, err);
    if (rc != DX_OK || atomic_load(&scan->stop))
        return rc;
    free_bytes = grew(scan, dataset_id) ? scan->part_memory / 2 : scan->part_memory;
    if (part->count > 1 && cost > free_bytes)
        return dx_fail(err, DX_E_LIMIT,
                       "dataset_id=%lu: %zu files with overlapping prefixes must be merged, for "
                       "which about %zu MiB are needed and %zu MiB are free: raise --memory",
                       (unsigned long)dataset_id, part->count, cost >> 20, free_bytes >> 20);
    return merge_part(scan, part, err);
}

/* ---- files that are elsewhere ---- */

static void stop(struct scan *scan)
{
    (void)pthread_mutex_lock(&scan->lock);
    atomic_store(&scan->stop, true);
    (void)pthread_cond_broadcast(&scan->room);
    (void)pthread_mutex_unlock(&scan->lock);
}

/* No part is larger than the whole room, so somebody who waits is let in at the latest when the
 * others are done. */
static void take_room(struct scan *scan, const struct part *part)
{
    (void)pthread_mutex_lock(&scan->lock);
    while (!atomic_load(&scan->stop) &&
           part->bytes > scan->options->bring->disk_bytes - scan->on_disk)
        (void)pthread_cond_wait(&scan->room, &scan->lock);
    scan->on_disk += part->bytes;
    (void)pthread_mutex_unlock(&scan->lock);
}

static void give_room(struct scan *scan, const struct part *part)
{
    (void)pthread_mutex_lock(&scan->lock);
    scan->on_disk -= part->bytes;
    (void)pthread_cond_broadcast(&scan->room);
    (void)pthread_mutex_unlock(&scan->lock);
}

static int bring_part(struct scan *scan, const struct part *part, struct dx_error *err)
{
    const struct dx_index_bring *bring = scan->options->bring;
    size_t brought = 0;
    int rc = DX_OK;

    take_room(scan, part);
    while (rc == DX_OK && brought < part->count && !atomic_load(&scan->stop)) {
        uint32_t id = (uint32_t)scan->order[part->first + brought++];
        char path[PATH_MAX];

        rc = file_path(scan->lake, &scan->lake->files[id], path, err);
        if (rc == DX_OK)
            rc = bring->bring(bring->ctx, id, path, err);
    }
    if (rc == DX_OK && !atomic_load(&scan->stop))
        rc = scan_part(scan, part, err);
    while (brought-- > 0) {
        uint32_t id = (uint32_t)scan->order[part->first + brought];
        char path[PATH_MAX];

        if (file_path(scan->lake, &scan->lake->files[id], path, NULL) == DX_OK)
            bring->drop(bring->ctx, id, path);
    }
    give_room(scan, part);
    return rc;
}

static int check_room(const struct scan *scan, struct dx_error *err)
{
    const struct dx_index_bring *bring = scan->options->bring;

    for (size_t i = 0; bring != NULL && i < scan->part_count; i++)
        if (scan->parts[i].bytes > bring->disk_bytes)
            return dx_fail(
                err, DX_E_LIMIT,
                "dataset_id=%lu: %zu files with overlapping prefixes are read together; they have "
                "%llu MiB, and %llu MiB of the work folder are free for them: name a folder with "
                "more room (--work-dir)",
                (unsigned long)scan->lake->files[scan->order[scan->parts[i].first]].dataset_id,
                scan->parts[i].count, (unsigned long long)(scan->parts[i].bytes >> 20),
                (unsigned long long)(bring->disk_bytes >> 20));
    return DX_OK;
}

static void *worker(void *ctx)
{
    struct scan *scan = ctx;

    for (;;) {
        size_t i = atomic_fetch_add(&scan->next_part, 1);
        struct dx_error err = DX_ERROR_INIT;

        if (i >= scan->part_count || atomic_load(&scan->stop))
            return NULL;
        if ((scan->options->bring == NULL ? scan_part(scan, &scan->parts[i], &err)
                                          : bring_part(scan, &scan->parts[i], &err)) == DX_OK)
            continue;
        (void)pthread_mutex_lock(&scan->lock);
        if (scan->err.code == DX_OK || i < scan->failed_part) {
            scan->err = err;
            scan->failed_part = i;
        }
        (void)pthread_mutex_unlock(&scan->lock);
        stop(scan);
    }
}

/* ---- parts ---- */

static int compare_files(const void *a, const void *b, void *ctx)
{
    const struct dx_index_file *files = ctx;
    size_t x = *(const size_t *)a;
    size_t y = *(const size_t *)b;

    if (files[x].dataset_id != files[y].dataset_id)
        return files[x].dataset_id < files[y].dataset_id ? -1 : 1;
    if (files[x].prefix_first != files[y].prefix_first)
        return files[x].prefix_first < files[y].prefix_first ? -1 : 1;
    return x < y ? -1 : x > y;
}

static int compare_paths(const void *a, const void *b, void *ctx)
{
    const struct dx_index_file *files = ctx;

    return strcmp(files[*(const size_t *)a].path, files[*(const size_t *)b].path);
}

static int check_datasets(const struct dx_index_lake *lake, struct dx_error *err)
{
    for (size_t i = 0; i < lake->file_count; i++) {
        const struct dx_index_file *file = &lake->files[i];

        if (file->path != NULL && dx_registry_by_id(lake->registry, file->dataset_id) == NULL)
            return dx_fail(err, DX_E_CORRUPT, "%s: the registry has no dataset_id %lu", file->path,
                           (unsigned long)file->dataset_id);
    }
    return DX_OK;
}

static int make_parts(struct scan *scan, struct dx_error *err)
{
    struct dx_index_lake *lake = scan->lake;
    unsigned last = 0;

    scan->order = calloc(lake->file_count + 1, sizeof *scan->order);
    scan->parts = calloc(lake->file_count + 1, sizeof *scan->parts);
    if (scan->order == NULL || scan->parts == NULL)
        return dx_fail(err, DX_E_NOMEM, "scan: out of memory");
    for (size_t i = 0; i < lake->file_count; i++)
        if (lake->files[i].path != NULL && !dx_index_stays(lake, i))
            scan->order[scan->order_count++] = i;
    if (scan->order_count > 0)
        qsort_r(scan->order, scan->order_count, sizeof *scan->order, compare_files, lake->files);
    for (size_t i = 0; i < scan->order_count; i++) {
        const struct dx_index_file *file = &lake->files[scan->order[i]];
        const struct dx_index_file *before = i == 0 ? NULL : &lake->files[scan->order[i - 1]];

        if (before == NULL || before->dataset_id != file->dataset_id || file->prefix_first > last) {
            scan->parts[scan->part_count++] = (struct part){ i, 0, 0 };
            last = file->prefix_last;
        }
        if (file->prefix_last > last)
            last = file->prefix_last;
        scan->parts[scan->part_count - 1].count++;
        scan->parts[scan->part_count - 1].bytes += file->size;
    }
    /* Within a part by path: that is the order of runs. */
    for (size_t i = 0; i < scan->part_count; i++)
        qsort_r(scan->order + scan->parts[i].first, scan->parts[i].count, sizeof *scan->order,
                compare_paths, lake->files);
    return DX_OK;
}

static int run_workers(struct scan *scan, unsigned threads, struct dx_error *err)
{
    pthread_t others[64];
    unsigned count = 0;

    threads = threads > 64 ? 64 : threads;
    while (count + 1 < threads && count + 1 < scan->part_count &&
           pthread_create(&others[count], NULL, worker, scan) == 0)
        count++;
    (void)worker(scan);
    for (unsigned i = 0; i < count; i++)
        (void)pthread_join(others[i], NULL);
    if (scan->err.code != DX_OK && err != NULL)
        *err = scan->err;
    return scan->err.code;
}

static int new_sort(struct dx_spill_sort **sort, const char *dir, size_t memory,
                    struct dx_error *err)
{
    struct dx_spill_sort_options o = { .dir = dir, .memory_bytes = memory, .lanes = 1 };

    return dx_spill_sort_new(sort, &o, err);
}

/* The datasets whose pairs stay, with or without new ones, bring the base's totals. */
static void add_base(struct dx_index_lake *lake)
{
    const struct dx_registry *then = &lake->base->registry;

    for (size_t i = 0; i < lake->file_count; i++)
        if (lake->files[i].path != NULL && dx_index_stays(lake, i))
            lake->row_groups += lake->files[i].row_groups;
    for (size_t i = 0; i < lake->change_count; i++) {
        const struct dx_index_dataset *change = &lake->changes[i];
        const struct dx_dataset *from = dx_registry_by_id(then, change->dataset_id);
        struct dx_dataset *to = dx_registry_by_id(lake->registry, change->dataset_id);

        if (from == NULL || to == NULL ||
            (change->change != DX_INDEX_SAME && change->change != DX_INDEX_GROWN))
            continue;
        to->files += change->known;
        to->rows += from->rows;
        to->urls += from->urls;
        to->domains += from->domains;
        if (from->has_ts) {
            take_time(&to->has_ts, &to->first_us, &to->last_us, from->first_us);
            take_time(&to->has_ts, &to->first_us, &to->last_us, from->last_us);
        }
        lake->rows += from->rows;
        lake->urls += from->urls;
    }
}

int dx_index_scan(struct dx_index_lake *lake, const struct dx_index_scan_options *options,
                  struct dx_error *err)
{
    unsigned threads = options->threads == 0 ? 1 : options->threads;
    struct scan scan = { .lake = lake, .options = options };
    int rc;

    (void)pthread_mutex_init(&scan.lock, NULL);
    (void)pthread_cond_init(&scan.room, NULL);
    scan.part_memory = options->memory / 2 / threads;
    lake->rows = lake->urls = lake->row_groups = lake->skipped_columns = 0;
    lake->files_scanned = lake->rows_scanned = lake->suppressed_first = 0;
    lake->pairs = lake->groups = NULL;
    for (size_t i = 0; i < lake->registry->count; i++) {
        struct dx_dataset *d = &lake->registry->datasets[i];

        d->files = d->rows = d->urls = d->domains = 0;
        d->has_ts = false;
        d->first_us = d->last_us = 0;
    }
    rc = check_datasets(lake, err);
    if (rc == DX_OK)
        rc = make_parts(&scan, err);
    if (rc == DX_OK && lake->base != NULL)
        rc = dx_page_cache_new(&scan.postings, options->memory / 16, DX_EVICT_LRU, err);
    if (rc == DX_OK)
        rc = check_room(&scan, err);
    if (rc == DX_OK)
        rc = new_sort(&lake->pairs, options->tmp_dir, options->memory / 8 * 3, err);
    if (rc == DX_OK)
        rc = new_sort(&lake->groups, options->tmp_dir, options->memory / 16, err);
    if (rc == DX_OK)
        rc = run_workers(&scan, threads, err);
    if (rc == DX_OK)
        rc = dx_spill_sort_finish(lake->pairs, err);
    if (rc == DX_OK)
        rc = dx_spill_sort_finish(lake->groups, err);
    if (rc == DX_OK && lake->base != NULL)
        add_base(lake);
    if (rc != DX_OK)
        dx_index_lake_release(lake);
    dx_page_cache_free(&scan.postings);
    free(scan.order);
    free(scan.parts);
    (void)pthread_cond_destroy(&scan.room);
    (void)pthread_mutex_destroy(&scan.lock);
    return rc;
}

void dx_index_lake_release(struct dx_index_lake *lake)
{
    dx_spill_sort_free(&lake->pairs);
    dx_spill_sort_free(&lake->groups);
    free(lake->changes);
    lake->changes = NULL;
    lake->change_count = 0;
}
