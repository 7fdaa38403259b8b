/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/adopt_rows.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "builder/lake/adopt_files.h"
#include "builder/lake/adopt_list.h"
#include "builder/lake/lake_scan.h"
#include "builder/lake/rows_twice.h"
#include "builder/root/parallel.h"
#include "builder/root/root.h"
#include "builder/root/work_folder.h"
#include "fetch/download.h"

#define AT_ONCE 8 /* footers */
#define BLOCK 32  /* files of each of two blocks that are merged */
#define NONE SIZE_MAX

/* The domain ids of a file. */
struct range {
    size_t file;
    size_t dataset;
    uint64_t first, last;
    uint64_t footer; /* XXH3 of it */
};

/* The rows of a file whose domains another file may have. */
struct reader {
    size_t file;
    struct dx_lake_scan scan;
    struct dx_lake_row row;
    bool in_group;
};

struct check {
    const struct dx_adopt_rows *rows;
    struct range *range;  /* by file, then by dataset and first id */
    uint64_t first, last; /* the ids that are looked for */
    struct dx_work_folder work;
    struct reader reader[2 * BLOCK];
    size_t reader_count;
    struct dx_rows_twice twice;
    size_t file, other; /* that have rows of the URL at hand, or NONE */
};

static const struct dx_adopt_file *file_of(const struct check *c, size_t i)
{
    return &c->rows->files->list->file[i];
}

static bool is_object(const struct check *c, size_t i)
{
    return dx_adopt_files_object(c->rows->files, i) != NULL;
}

/* ---- footers ---- */

static int read_object(const struct check *c, size_t i, uint64_t offset, size_t size, uint8_t *to,
                       struct dx_error *err)
{
    const struct dx_adopt_files *f = c->rows->files;
    const struct dx_read read = { dx_adopt_files_object(f, i), offset, size, to };
    const struct dx_pin pin = { file_of(c, i)->size, f->etag[i][0] != '\0' ? f->etag[i] : NULL };
    const struct dx_source_batch batch = { .reads = &read, .pins = &pin, .count = 1 };

    return dx_source_read_batch(f->root->source, &batch, err);
}

struct file_at {
    const struct check *check;
    size_t i;
};

static int read_at(void *ctx, uint64_t offset, size_t size, uint8_t *to, struct dx_error *err)
{
    const struct file_at *at = ctx;
    const struct check *c = at->check;
    size_t i = at->i;
    const char *path = file_of(c, i)->path;
    struct stat st;
    int rc, fd;

    if (is_object(c, i))
        return read_object(c, i, offset, size, to, err);
    fd = dx_file_open(AT_FDCWD, path, O_RDONLY, &st, err);
    if (fd < 0)
        return fd;
    rc = dx_file_pread(fd, path, offset, size, to, err);
    (void)close(fd);
    return rc;
}

/* Of a column without bounds that order as ids do: all ids. */
static void bounds_of(const struct dx_pq_footer *footer, const struct dx_pq_group *group,
                      int64_t leaf, uint64_t *first, uint64_t *last)
{
    const struct dx_pq_statistics *s = leaf < 0 ? NULL : &group->chunk[leaf].statistics;
    struct dx_bytes min, max;

    *first = 0;
    *last = UINT64_MAX;
    if (s == NULL || !footer->node[footer->leaf[leaf]].is_unsigned || s->min.data == NULL ||
        s->max.data == NULL || s->min.size != 8 || s->max.size != 8)
        return;
    min = dx_bytes_of(s->min);
    max = dx_bytes_of(s->max);
    *first = dx_bytes_u64(&min);
    *last = dx_bytes_u64(&max);
}

static void range_of(const struct dx_pq_footer *footer, struct range *r)
{
    int64_t leaf = dx_pq_footer_leaf(footer, dx_span_str("domain_id"));

    r->first = UINT64_MAX;
    r->last = 0;
    for (uint32_t g = 0; g < footer->group_count; g++) {
        uint64_t first, last;

        bounds_of(footer, &footer->group[g], leaf, &first, &last);
        r->first = first < r->first ? first : r->first;
        r->last = last > r->last ? last : r->last;
    }
}

static int find_range(void *ctx, size_t i, struct dx_error *err)
{
    const struct check *c = ctx;
    struct dx_buf metadata = DX_BUF_INIT(DX_PQ_FOOTER_MAX);
    struct dx_pq_footer footer = { 0 };
    struct file_at at = { c, i };
    uint64_t size = file_of(c, i)->size;
    int rc = dx_pq_footer_fetch(read_at, &at, size, DX_PQ_FOOTER_MAX, &metadata, err);

    if (rc == DX_OK)
        rc = dx_pq_footer_parse(&footer, dx_span_of(metadata.data, metadata.size), size, err);
    c->range[i] = (struct range){ .file = i, .dataset = c->rows->dataset_of[i] };
    if (rc == DX_OK) {
        range_of(&footer, &c->range[i]);
        c->range[i].footer = dx_hash64(dx_span_of(metadata.data, metadata.size));
    } else {
        (void)dx_fail_in(err, "%s", file_of(c, i)->path);
    }
    dx_pq_footer_release(&footer);
    dx_buf_release(&metadata);
    return rc;
}

/* ---- rows of the ids that are looked for ---- */

static int open_reader(struct check *c, size_t file, struct dx_error *err)
{
    const struct dx_adopt_files *f = c->rows->files;
    const struct dx_adopt_file *is = file_of(c, file);
    struct dx_download d = { .source = f->root->source,
                             .object = dx_adopt_files_object(f, file),
                             .size = is->size,
                             .pin = { is->size, f->etag[file][0] != '\0' ? f->etag[file] : NULL } };
    struct reader *r = &c->reader[c->reader_count++];
    char path[PATH_MAX];
    int rc;

    assert(c->reader_count <= 2 * BLOCK);
    *r = (struct reader){ .file = file, .scan = DX_LAKE_SCAN_INIT };
    if (d.object == NULL)
        return dx_lake_scan_open(&r->scan, is->path, err);
    if (c->work.path[0] == '\0' && (rc = dx_work_folder_make(&c->work, NULL, "adopt", err)) < 0)
        return rc;
    rc = dx_path_format(path, sizeof path, err, "%s/%zu", c->work.path, file);
    if (rc == DX_OK)
        rc = dx_download_run(&d, path, err);
    if (rc == DX_OK)
        rc = dx_lake_scan_open(&r->scan, path, err);
    (void)unlink(path); /* it is mapped */
    return rc < 0 ? dx_fail_in(err, "%s", is->path) : DX_OK;
}

static void close_readers(struct check *c)
{
    while (c->reader_count > 0)
        dx_lake_scan_close(&c->reader[--c->reader_count].scan);
}

static bool is_wanted(const struct check *c, uint64_t id)
{
    return id >= c->first && id <= c->last;
}

/* 1: some row of the group has such an id; 0: none. */
static int find_ids(const struct check *c, const struct dx_lake_scan *s, int64_t leaf,
                    struct dx_error *err)
{
    const struct dx_pq_limits limits = DX_PQ_LIMITS_DEFAULT;
    struct dx_pq_reader reader = DX_PQ_READER_INIT;
    struct dx_pq_values values = DX_PQ_VALUES_INIT;
    bool found = false;
    int rc = dx_pq_reader_open(&reader, s->map.bytes, &s->footer, s->group.number, (uint32_t)leaf,
                               &limits, err);

    while (rc >= 0 && !found && (rc = dx_pq_reader_next(&reader, &values, err)) == 1)
        for (uint32_t i = 0; i < values.row_count && !found; i++)
            found = !dx_pq_is_null(&values, i) && is_wanted(c, (uint64_t)values.ints[i]);
    dx_pq_values_release(&values);
    dx_pq_reader_release(&reader);
    return rc < 0 ? rc : found;
}

static int group_has_ids(const struct check *c, const struct dx_lake_scan *s, struct dx_error *err)
{
    int64_t leaf = dx_pq_footer_leaf(&s->footer, dx_span_str("domain_id"));
    uint64_t first, last;

    if (c->rows->stopped != NULL && c->rows->stopped())
        return dx_fail(err, DX_E_BUSY, "interrupted; nothing was adopted");
    bounds_of(&s->footer, &s->footer.group[s->group.number], leaf, &first, &last);
    if (last < c->first || first > c->last)
        return 0;
    return first >= c->first && last <= c->last ? 1 : find_ids(c, s, leaf, err);
}

/* 1: r->row; 0: the end. */
static int next_row(const struct check *c, struct reader *r, struct dx_error *err)
{
    for (;;) {
        int rc;

        if (!r->in_group) {
            rc = dx_lake_scan_group(&r->scan, err);
            if (rc == 1)
                rc = group_has_ids(c, &r->scan, err);
            else if (rc == 0)
                return 0;
            if (rc < 0)
                return rc;
            r->in_group = rc == 1;
            continue;
        }
        rc = dx_lake_scan_row(&r->scan, &r->row, err);
        if (rc < 0 || (rc == 1 && is_wanted(c, r->row.domain_id)))
            return rc;
        r->in_group = rc == 1;
    }
}

/* ---- merging ---- */

static int refuse(const struct check *c, struct dx_error *err)
{
    return dx_fail(err, DX_E_EXISTS,
                   "%.120s and %.120s both have a row of %.120s; nothing was adopted: no two files "
                   "may have the same row, so no two tasks the same records",
                   file_of(c, c->file)->path,
                   file_of(c, c->other == NONE ? c->file : c->other)->path, c->twice.first);
}

static int take_row(struct check *c, const struct reader *r, struct dx_error *err)
{
    const struct dx_hash128 page = c->twice.page;
    int rc = dx_rows_twice_add(&c->twice, &r->scan, &r->row, err);

    if (rc < 0)
        return rc;
    if (c->twice.count > 0)
        return refuse(c, err);
    if (!dx_hash128_equal(&page, &c->twice.page)) {
        c->file = r->file;
        c->other = NONE;
    } else if (r->file != c->file) {
        c->other = r->file;
    }
    return DX_OK;
}

static int begin_rows(struct check *c, struct dx_error *err)
{
    for (size_t i = 0; i < c->reader_count; i++) {
        int rc = next_row(c, &c->reader[i], err);

        if (rc < 0)
            return dx_fail_in(err, "%s", file_of(c, c->reader[i].file)->path);
        if (rc == 0) {
            dx_lake_scan_close(&c->reader[i].scan);
            c->reader[i--] = c->reader[--c->reader_count];
        }
    }
    return DX_OK;
}

/* A reader that is alone has no row that another one has, but of the URL at hand. */
static bool is_alone(const struct check *c)
{
    return c->reader_count == 0 ||
           (c->reader_count == 1 && c->file == c->reader[0].file && c->other == NONE);
}

static int merge_readers(struct check *c, struct dx_error *err)
{
    int rc = begin_rows(c, err);

    while (rc == DX_OK && !is_alone(c)) {
        struct reader *least = &c->reader[0];

        for (size_t i = 1; i < c->reader_count; i++)
            if (dx_lake_row_compare(&c->reader[i].row, &least->row) < 0)
                least = &c->reader[i];
        rc = take_row(c, least, err);
        if (rc < 0)
            break;
        rc = next_row(c, least, err);
        if (rc < 0)
            return dx_fail_in(err, "%s", file_of(c, least->file)->path);
        if (rc == 0) {
            dx_lake_scan_close(&least->scan);
            *least = c->reader[--c->reader_count];
        }
        rc = DX_OK;
    }
    if (rc < 0)
        return rc;
    dx_rows_twice_end(&c->twice);
    return c->twice.count > 0 ? refuse(c, err) : DX_OK;
}

/* Two blocks of files, or one twice. */
static int compare_blocks(struct check *c, const size_t *file, size_t a, size_t b, size_t count,
                          struct dx_error *err)
{
    int rc = DX_OK;

    c->twice = (struct dx_rows_twice)DX_ROWS_TWICE_INIT;
    c->file = c->other = NONE;
    for (size_t i = a; rc == DX_OK && i < count && i < a + BLOCK; i++)
        rc = open_reader(c, file[i], err);
    for (size_t i = b; rc == DX_OK && a != b && i < count && i < b + BLOCK; i++)
        rc = open_reader(c, file[i], err);
    if (rc == DX_OK)
        rc = merge_readers(c, err);
    close_readers(c);
    dx_rows_twice_release(&c->twice);
    return rc;
}

/* Some blocks at a time, each with each, so that memory does not grow with the number of files. */
static int compare_files(struct check *c, const size_t *file, size_t count, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t a = 0; rc == DX_OK && a < count; a += BLOCK)
        for (size_t b = count <= BLOCK ? a : a + BLOCK; rc == DX_OK && b < count; b += BLOCK)
            rc = compare_blocks(c, file, a, b, count, err);
    return rc;
}

/* ---- which ids ---- */

static int by_range(const void *a, const void *b)
{
    const struct range *x = a, *y = b;

    if (x->dataset != y->dataset)
        return x->dataset < y->dataset ? -1 : 1;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    if (x->last != y->last)
        return x->last < y->last ? -1 : 1;
    return (x->footer > y->footer) - (x->footer < y->footer);
}

/* The files of a dataset that have some of the ids looked for. */
static int compare_shared(struct check *c, size_t begin, size_t end, struct dx_error *err)
{
    size_t *file = calloc(end - begin, sizeof *file);
    size_t count = 0;
    int rc;

    if (file == NULL)
        return dx_no_memory(err, "%zu files", end - begin);
    for (size_t i = begin; i < end && c->range[i].first <= c->last; i++)
        if (c->range[i].last >= c->first)
            file[count++] = c->range[i].file;
    rc = compare_files(c, file, count, err);
    free(file);
    return rc;
}

/* Of objects one id in common is taken for the border of two writers, if they are not the same. */
static bool is_compared(const struct check *c, const struct range *before, const struct range *r,
                        uint64_t last)
{
    return !is_object(c, r->file) || r->first < last ||
           (before->first == r->first && before->last == r->last && before->footer == r->footer);
}

/* Files of one dataset, by their first ids: where two have ids in common the rows are compared, once
 * for each stretch of such ids. */
static int check_dataset(struct check *c, size_t begin, size_t end, struct dx_error *err)
{
    uint64_t reached = c->range[begin].last;
    bool any = false;
    int rc = DX_OK;

    assert(begin < end);
    for (size_t i = begin + 1; rc == DX_OK && i < end; i++) {
        const struct range *r = &c->range[i];
        uint64_t last = r->last < reached ? r->last : reached;

        if (r->first <= reached && is_compared(c, r - 1, r, last)) {
            if (any && r->first > c->last) {
                rc = compare_shared(c, begin, end, err);
                any = false;
            }
            if (!any)
                c->first = c->last = r->first;
            c->last = last > c->last ? last : c->last;
            any = true;
        }
        reached = r->last > reached ? r->last : reached;
    }
    return rc == DX_OK && any ? compare_shared(c, begin, end, err) : rc;
}

static int check_all(struct check *c, size_t count, struct dx_error *err)
{
    int rc = dx_parallel(AT_ONCE, count, find_range, c, err);

    if (rc < 0)
        return rc;
    qsort(c->range, count, sizeof *c->range, by_range);
    for (size_t begin = 0, end; rc == DX_OK && begin < count; begin = end) {
        for (end = begin + 1; end < count && c->range[end].dataset == c->range[begin].dataset;)
            end++;
        rc = check_dataset(c, begin, end, err);
    }
    return rc;
}

int dx_adopt_rows_check(const struct dx_adopt_rows *rows, struct dx_error *err)
{
    size_t count = rows->files->list->count;
    struct check *c = calloc(1, sizeof *c); /* the readers are too large for a stack */
    int rc;

    if (c == NULL || (c->range = calloc(count, sizeof *c->range)) == NULL) {
        free(c);
        return dx_no_memory(err, "%zu files", count);
    }
    c->rows = rows;
    c->work = (struct dx_work_folder)DX_WORK_FOLDER_INIT;
    rc = check_all(c, count, err);
    dx_work_folder_remove(&c->work);
    free(c->range);
    free(c);
    return rc;
}
