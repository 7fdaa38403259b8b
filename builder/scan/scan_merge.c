/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/scan/scan_merge.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/few_bytes.h"
#include "builder/lake/lake_files.h"
#include "builder/scan/version_pair.h"
#include "builder/sort/blob_spill.h"
#include "format/text/host_pages.h"
#include "format/version/facts.h"
#include "format/version/pages.h"
#include "format/version/pair_tally.h"
#include "loader/version.h"

static const struct dx_lake_row *row_at(const struct dx_scan_merge *m, size_t cursor)
{
    return cursor < m->count ? &m->cursors[cursor].row : &m->known->cursors[cursor - m->count].row;
}

static bool cursor_after(const struct dx_scan_merge *m, size_t a, size_t b)
{
    int c = dx_lake_row_compare(row_at(m, a), row_at(m, b));

    return c != 0 ? c > 0 : a > b;
}

static void heap_sink(struct dx_scan_merge *m, size_t at)
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

static void heap_rise(struct dx_scan_merge *m, size_t at)
{
    assert(at < m->heap_size);
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

/* Those of one file are whole, and go as they are. */
static void take_runs(struct dx_scan_merge *m)
{
    struct dx_buf empty = m->runs;

    assert(m->count == 1 && !m->has_known);
    m->runs = m->cursors[0].runs;
    m->cursors[0].runs = empty;
    dx_buf_clear(&m->cursors[0].runs);
}

/* The runs of the files of this part, by path, and among them those of the base. */
static int gather_runs(struct dx_scan_merge *m, struct dx_error *err)
{
    const struct dx_run *known = NULL;
    size_t left = 0;

    if (m->count == 1 && !m->has_known) {
        take_runs(m);
        return DX_OK;
    }
    dx_buf_clear(&m->runs);
    if (m->has_known) {
        known = (const struct dx_run *)(const void *)m->known->runs.data;
        left = m->known->runs.size / sizeof *known;
    }
    for (size_t i = 0; i <= m->count; i++) {
        struct dx_scan_cursor *c = i == m->count ? NULL : &m->cursors[i];

        if (c != NULL && c->runs.size == 0)
            continue;
        for (; left > 0; known++, left--) {
            const char *path = known->file_id < m->lake->file_count
                                   ? m->lake->files[known->file_id].path
                                   : NULL;

            if (path == NULL)
                return dx_fail(err, DX_E_CORRUPT,
                               "version %s: a posting names file %u, which is not there",
                               dx_version_name(m->lake->base), (unsigned)known->file_id);
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
static int count_pair(struct dx_scan_merge *m, struct dx_error *err)
{
    struct dx_pair_count *count = &m->pair.count;
    const struct dx_pair_count *known = m->has_known ? &m->known->count : NULL;

    m->totals.rows += count->row_count;
    m->totals.domains += known == NULL;
    m->totals.urls += count->url_count - (known == NULL ? 0 : known->url_count);
    m->rows += m->pair_rows;
    if (known == NULL)
        return DX_OK;
    if (count->url_count < known->url_count)
        return dx_fail(err, DX_E_CORRUPT,
                       "version %s: %.*s has %llu URLs in dataset %u by its counts, by its rows at "
                       "most %llu: `domaindex verify --deep` tells more",
                       dx_version_name(m->lake->base), (int)m->domain.size,
                       (const char *)m->domain.data, (unsigned long long)known->url_count,
                       (unsigned)m->dataset_id, (unsigned long long)count->url_count);
    count->row_count += known->row_count;
    if (known->has_ts) {
        take_time(&count->has_ts, &count->first_us, &count->last_us, known->first_us);
        take_time(&count->has_ts, &count->first_us, &count->last_us, known->last_us);
    }
    return DX_OK;
}

/* What the rows say of hosts, paths and distinct URLs; long facts go beside the sorter. */
static int end_tally(struct dx_scan_merge *m, struct dx_error *err)
{
    struct dx_index_pair *pair = &m->pair;
    int rc = dx_pair_tally_end(m->tally, &m->facts, &m->sketch, err);

    if (rc != DX_OK)
        return rc;
    pair->facts = dx_span_of(m->facts.data, m->facts.size);
    pair->sketch = dx_span_of(m->sketch.data, m->sketch.size);
    if (pair->facts.size <= DX_INDEX_PAIR_FACTS)
        return DX_OK;
    rc = dx_blob_spill_put(m->lake->facts, pair->facts, &pair->aside, err);
    pair->facts = dx_span_of(NULL, 0);
    return rc;
}

/* The pair that is complete goes to the sorter. */
static int emit_pair(struct dx_scan_merge *m, struct dx_error *err)
{
    struct dx_pair_count *count = &m->pair.count;
    int rc;

    if (count->row_count == 0)
        return DX_OK;
    rc = count_pair(m, err);
    if (rc == DX_OK)
        rc = gather_runs(m, err);
    if (rc == DX_OK)
        rc = end_tally(m, err);
    if (rc != DX_OK)
        return rc;
    m->pair.dataset_id = m->dataset_id;
    m->pair.domain = dx_span_of(m->domain.data, m->domain.size);
    rc = dx_index_pair_encode(&m->pair, (const struct dx_run *)(const void *)m->runs.data,
                              m->runs.size / sizeof(struct dx_run), &m->key, &m->value, err);
    if (rc == DX_OK)
        rc = m->pair_found(m->ctx, dx_span_of(m->key.data, m->key.size),
                           dx_span_of(m->value.data, m->value.size), err);
    if (m->options->rows_done != NULL)
        atomic_fetch_add_explicit(m->options->rows_done, m->pair_rows, memory_order_relaxed);
    return rc;
}

/* c: NULL for a row of the base. Counts the URL if it is the first of this scheme, host and
 * path. */
static int count_scheme(struct dx_scan_merge *m, const struct dx_scan_cursor *c,
                        const struct dx_lake_row *row, struct dx_error *err)
{
    struct dx_span scheme = row->scheme;

    for (size_t i = 0; i < m->scheme_count; i++)
        if (dx_few_equal(scheme, dx_span_of(m->schemes[i].text, m->schemes[i].size)))
            return DX_OK;
    if (m->scheme_count == DX_SCAN_SCHEMES_MAX && c != NULL)
        return dx_scan_row_fail(c, err, "over 8 schemes for one host and path");
    if (m->scheme_count == DX_SCAN_SCHEMES_MAX || scheme.size > DX_SCAN_SCHEME_MAX)
        return dx_fail(err, DX_E_CORRUPT,
                       "dataset_id=%lu: \"%.*s\": over 8 schemes for one host and path, or one of "
                       "over 32 bytes",
                       (unsigned long)m->dataset_id, (int)row->domain.size,
                       (const char *)row->domain.data);
    dx_few_copy(m->schemes[m->scheme_count].text, scheme.data, scheme.size);
    m->schemes[m->scheme_count++].size = scheme.size;
    m->pair.count.url_count++;
    return DX_OK;
}

/* The rows that the base has of the domain come into the heap. */
static int begin_known(struct dx_scan_merge *m, struct dx_error *err)
{
    int rc = dx_version_pair_find(m->known, dx_span_of(m->domain.data, m->domain.size),
                                  m->dataset_id, err);
    size_t need = m->count + m->known->cursor_count;

    m->has_known = rc == 1;
    if (rc <= 0)
        return rc;
    if (need > m->heap_capacity) {
        size_t *more = realloc(m->heap, need * sizeof *more);

        if (more == NULL)
            return dx_no_memory(err, "scan");
        m->heap = more;
        m->heap_capacity = need;
    }
    for (size_t i = 0; i < m->known->cursor_count; i++) {
        rc = dx_version_pair_next(m->known, i, err);
        if (rc < 0)
            return rc;
        if (rc == 1) {
            m->heap[m->heap_size++] = m->count + i;
            heap_rise(m, m->heap_size - 1);
        }
    }
    return DX_OK;
}

static bool begins_domain(const struct dx_scan_merge *m, const struct dx_scan_cursor *c)
{
    return c->change == DX_SCAN_NEW_DOMAIN &&
           !dx_few_equal(c->row.domain, dx_span_of(m->domain.data, m->domain.size));
}

static int begin_domain(struct dx_scan_merge *m, struct dx_span domain, struct dx_error *err)
{
    int rc = emit_pair(m, err);

    m->pair.count = (struct dx_pair_count){ 0 };
    m->pair_rows = 0;
    m->has_known = false;
    m->scheme_count = 0;
    dx_buf_clear(&m->domain);
    dx_few_append(&m->domain, domain);
    if (rc == DX_OK && m->domain.failed)
        rc = dx_buf_fail(&m->domain, err, "domain");
    if (rc == DX_OK)
        dx_pair_tally_begin(m->tally, dx_span_of(m->domain.data, m->domain.size));
    m->has_rules = rc == DX_OK &&
                   dx_rules_of(m->options->rules, dx_span_of(m->domain.data, m->domain.size),
                               &m->rules);
    return rc == DX_OK && m->known != NULL ? begin_known(m, err) : rc;
}

/* Of a dataset of counts: URLs and rows of the pair are pages. c: NULL for a row of the base. */
static int take_host(struct dx_scan_merge *m, const struct dx_scan_cursor *c,
                     const struct dx_lake_row *row, struct dx_error *err)
{
    struct dx_pair_count *count = &m->pair.count;
    uint64_t pages;

    if (!dx_host_pages_parse(row->path_query, &pages))
        return dx_fail(
            err, DX_E_CORRUPT, "dataset_id=%lu: \"%.*s\": a row that has no number of pages",
            (unsigned long)m->dataset_id, (int)row->domain.size, (const char *)row->domain.data);
    if (__builtin_add_overflow(count->url_count, pages, &count->url_count) ||
        count->url_count > INT64_MAX)
        return dx_fail(err, DX_E_LIMIT, "dataset_id=%lu: \"%.*s\": pages over 63 bits",
                       (unsigned long)m->dataset_id, (int)row->domain.size,
                       (const char *)row->domain.data);
    count->row_count += c == NULL ? 0 : pages;
    return dx_pair_tally_pages(m->tally, row->host, pages, err);
}

/* A single file knows the change already; several are compared with the merged row before.
 * c: NULL for a row of the base. */
static int take_url(struct dx_scan_merge *m, const struct dx_scan_cursor *c,
                    const struct dx_lake_row *row, struct dx_error *err)
{
    bool single = m->count == 1 && !m->has_known;
    int change = single ? (int)c->change : dx_scan_place_change(&m->place, row);
    uint64_t urls = m->pair.count.url_count;
    int rc = DX_OK;

    m->pair_rows++;
    if (m->of_counts)
        return take_host(m, c, row, err);
    if (!single && change != DX_SCAN_SAME_URL) {
        dx_scan_place_set(&m->place, row);
        rc = dx_scan_place_keep(&m->place, err);
    }
    if (change != DX_SCAN_SAME_URL)
        m->scheme_count = 0;
    if (rc == DX_OK)
        rc = count_scheme(m, c, row, err);
    return rc == DX_OK ? dx_pair_tally_row(m->tally, row->scheme, row->host, row->path_query,
                                           m->pair.count.url_count != urls, err)
                       : rc;
}

static int note_rules(struct dx_scan_merge *m, const struct dx_scan_cursor *c, struct dx_error *err)
{
    struct dx_rule_redirects_hits hits;
    uint64_t hit =
        m->has_rules ? dx_rules_row(&m->rules, c->row.scheme, c->row.host, c->row.path_query).number
                     : 0;
    int rc;

    if (m->options->rules == NULL)
        return DX_OK;
    m->led.requested = c->requested;
    rc = dx_rule_redirects_row(&m->led, &c->row, &hits, err);
    hit = dx_rule_redirects_first(hit, dx_rule_redirects_first(hits.requested, hits.raw));
    m->suppressed_first = dx_rule_redirects_first(m->suppressed_first, hit);
    return rc;
}

static struct dx_span requested_of(const struct dx_scan_cursor *c)
{
    return c->requested == 0 ? (struct dx_span){ NULL, 0 } : c->row.extra[c->requested - 1];
}

/* The base has places of its URLs and its tags. */
static bool is_known(const struct dx_scan_merge *m, const struct dx_scan_cursor *c)
{
    return m->lake->files[c->file_id].known;
}

static int place_row(struct dx_scan_merge *m, struct dx_scan_cursor *c, struct dx_error *err)
{
    const struct dx_url_row at = { .file_id = c->file_id,
                                   .row_group = c->scan.group.number,
                                   .row_in_group = c->row_in_group,
                                   .row_in_file = c->row_in_file,
                                   .requested = requested_of(c),
                                   .url_id = c->form != NULL ? c->row.url_id : 0,
                                   .same_page = c->change == DX_SCAN_SAME_URL && !c->after_gap };

    return m->urls == NULL || m->of_counts || is_known(m, c)
               ? DX_OK
               : dx_index_urls_row(m->urls, &c->urls, &c->row, &at, err);
}

static int tag_row(struct dx_scan_merge *m, struct dx_scan_cursor *c, struct dx_error *err)
{
    if (c->tags == 0 || m->lake->tags == NULL || is_known(m, c))
        return DX_OK;
    c->tagged.file = &m->lake->files[c->file_id];
    c->tagged.file_id = c->file_id;
    return dx_index_tags_row(m->lake->tags, &c->tagged, c->row.domain, c->row_in_file,
                             c->row.extra[c->tags - 1], err);
}

/* The rows of a URL stray together. Of a file with too many the first ones are kept, and that there are more. */
static int stray_row(struct dx_scan_merge *m, struct dx_scan_cursor *c, struct dx_error *err)
{
    struct dx_page_stray stray = { c->file_id, c->scan.group.number, c->row_in_group };
    int rc = c->stray;

    if (m->stray_found == NULL || m->of_counts || is_known(m, c))
        return DX_OK;
    if (c->change != DX_SCAN_SAME_URL)
        rc = dx_urlkey_strays(&m->urlkey, c->row.path_query);
    if (rc < 0)
        return dx_no_memory(err, "%s", c->file->path);
    c->stray = rc == 1;
    if (!c->stray || c->strays > DX_PAGES_STRAYS_MAX)
        return DX_OK;
    if (c->strays++ == DX_PAGES_STRAYS_MAX)
        stray = dx_page_strays_unknown(c->file_id);
    return m->stray_found(m->ctx, &stray, err);
}

/* Behind the last row of a file. */
static int end_file(struct dx_scan_merge *m, struct dx_scan_cursor *c, struct dx_error *err)
{
    int rc = m->urls != NULL ? dx_index_urls_end(m->urls, &c->urls, err) : DX_OK;

    m->times_left_out += c->scan.times_left_out;
    if (c->scan.rows_left_out > 0 && m->rows_left_out == 0)
        (void)snprintf(m->first_left_out, sizeof m->first_left_out, "%.200s: %s", c->file->path,
                       c->scan.first_left_out);
    m->rows_left_out += c->scan.rows_left_out;
    return rc == DX_OK && m->lake->tags != NULL ? dx_index_tags_end(m->lake->tags, &c->tagged, err)
                                                : rc;
}

static int take_row(struct dx_scan_merge *m, struct dx_scan_cursor *c, struct dx_error *err)
{
    int rc = take_url(m, c, &c->row, err);

    if (rc == DX_OK)
        rc = place_row(m, c, err);
    if (rc == DX_OK)
        rc = tag_row(m, c, err);
    if (rc == DX_OK)
        rc = stray_row(m, c, err);
    if (rc == DX_OK)
        rc = note_rules(m, c, err);
    if (rc == DX_OK && m->options->find_twice)
        rc = dx_rows_twice_add(&m->twice, &c->scan, &c->row, err);
    if (rc != DX_OK)
        return rc;
    m->pair.count.row_count += !m->of_counts;
    if (c->row.has_ts) {
        take_time(&m->pair.count.has_ts, &m->pair.count.first_us, &m->pair.count.last_us,
                  c->row.ts_us);
        take_time(&m->totals.has_ts, &m->totals.first_us, &m->totals.last_us, c->row.ts_us);
    }
    return dx_scan_cursor_run(c, err);
}

static int begin_rows(struct dx_scan_merge *m, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < m->count; i++) {
        struct dx_scan_cursor *c = &m->cursors[i];

        rc = dx_index_file_path(m->lake, c->file, m->path, err);
        if (rc == DX_OK)
            rc = dx_scan_cursor_open(c, m->path, err);
        if (rc != DX_OK)
            break;
        rc = dx_scan_cursor_next(c, err);
        if (rc == 1)
            m->heap[m->heap_size++] = i;
        if (rc == 0)
            rc = end_file(m, c, err);
        rc = rc < 0 ? rc : DX_OK;
    }
    for (size_t i = m->heap_size; rc == DX_OK && i-- > 0;)
        heap_sink(m, i);
    return rc;
}

static int merge_open(struct dx_scan_merge *m, struct dx_error *err)
{
    int rc;

    assert(m->count > 0 && (m->postings == NULL || m->lake->base != NULL));
    m->dataset_id = m->lake->files[m->file_ids[0]].dataset_id;
    m->of_counts = dx_registry_of_counts(m->lake->registry, m->dataset_id);
    m->led = (struct dx_rule_redirects){ .rules = m->options->rules,
                                         .psl_text = m->options->psl_text };
    dx_buf_init(&m->domain, DX_SURT_MAX);
    dx_buf_init(&m->runs, DX_SCAN_RUNS_MAX);
    dx_buf_init(&m->facts, DX_FACTS_BYTES_MAX);
    dx_buf_init(&m->sketch, DX_SCAN_RUNS_MAX);
    dx_buf_init(&m->key, 2 * DX_SURT_MAX);
    dx_buf_init(&m->value, DX_SCAN_RUNS_MAX);
    dx_buf_init(&m->place.text, DX_LAKE_ROW_BYTES_MAX);
    dx_urlkey_init(&m->urlkey);
    m->cursors = calloc(m->count, sizeof *m->cursors);
    m->heap = calloc(m->count, sizeof *m->heap);
    if (m->cursors == NULL || m->heap == NULL)
        return dx_no_memory(err, "scan");
    m->heap_capacity = m->count;
    for (size_t i = 0; i < m->count; i++) {
        assert(m->lake->files[m->file_ids[i]].dataset_id == m->dataset_id);
        dx_scan_cursor_init(&m->cursors[i], &m->lake->files[m->file_ids[i]],
                            (uint32_t)m->file_ids[i]);
        m->cursors[i].form = m->form;
        m->cursors[i].skips = m->options->skip_rows && !m->of_counts;
        m->cursors[i].of_counts = m->of_counts;
    }
    rc = begin_rows(m, err);
    if (rc == DX_OK && m->postings != NULL)
        rc = dx_version_pair_new(&m->known, m->lake->base, m->postings, m->known_bytes, err);
    return rc;
}

static void merge_close(struct dx_scan_merge *m)
{
    for (size_t i = 0; m->cursors != NULL && i < m->count; i++)
        dx_scan_cursor_close(&m->cursors[i]);
    dx_version_pair_free(&m->known);
    dx_rows_twice_release(&m->twice);
    dx_rule_redirects_release(&m->led);
    free(m->cursors);
    free(m->heap);
    dx_buf_release(&m->place.text);
    dx_urlkey_release(&m->urlkey);
    dx_buf_release(&m->domain);
    dx_buf_release(&m->runs);
    dx_buf_release(&m->facts);
    dx_buf_release(&m->sketch);
    dx_buf_release(&m->key);
    dx_buf_release(&m->value);
}

static int merge_run(struct dx_scan_merge *m, struct dx_error *err)
{
    int rc = DX_OK;

    while (rc == DX_OK && m->heap_size > 0 && !atomic_load(m->stop)) {
        size_t at = m->heap[0];
        struct dx_scan_cursor *c = at < m->count ? &m->cursors[at] : NULL;

        if (c != NULL && begins_domain(m, c)) {
            rc = begin_domain(m, c->row.domain, err);
            continue; /* the least row may be one of the base now */
        }
        rc = c != NULL ? take_row(m, c, err) : take_url(m, NULL, row_at(m, at), err);
        if (rc != DX_OK)
            break;
        rc = c != NULL ? dx_scan_cursor_next(c, err)
                       : dx_version_pair_next(m->known, at - m->count, err);
        if (rc == 0) {
            m->heap[0] = m->heap[--m->heap_size];
            rc = c != NULL ? end_file(m, c, err) : DX_OK;
        }
        if (rc >= 0) {
            heap_sink(m, 0);
            rc = DX_OK;
        }
    }
    dx_rows_twice_end(&m->twice);
    return rc == DX_OK ? emit_pair(m, err) : rc;
}

int dx_scan_merge(struct dx_scan_merge *m, struct dx_error *err)
{
    int rc = merge_open(m, err);

    if (rc == DX_OK)
        rc = merge_run(m, err);
    merge_close(m);
    return rc;
}
