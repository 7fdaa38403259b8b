/* SPDX-License-Identifier: Apache-2.0 */
#include "query/scan/tag_sets.h"

#include <assert.h>
#include <roaring/roaring.h>
#include <stdlib.h>

#include "base/array.h"
#include "loader/version_parts.h"
#include "query/suppression/suppression_tags.h"

void dx_tag_sets_release(struct dx_tag_sets *s)
{
    for (size_t i = 0; i < s->dataset_count; i++)
        if (s->datasets[i].domains != NULL)
            roaring_bitmap_free(s->datasets[i].domains);
    if (s->domains != NULL)
        roaring_bitmap_free(s->domains);
    free(s->datasets);
    free(s->files);
    *s = (struct dx_tag_sets){ .view = s->view };
}

/* ---- which files ---- */

static int add_file(struct dx_tag_sets *s, size_t part, const struct dx_tag_file *at,
                    const struct dx_pages_file *file, struct dx_error *err)
{
    struct dx_tag_set_file *to = dx_array_room(s->files, s->file_count, &s->file_capacity,
                                               sizeof *to);

    if (to == NULL)
        return dx_no_memory(err, "rows of a tag");
    s->files = to;
    s->files[s->file_count++] = (struct dx_tag_set_file){ .part = part,
                                                          .at = *at,
                                                          .dataset_id = file->dataset_id,
                                                          .path = file->path,
                                                          .file_rows = file->rows,
                                                          .row_count = at->row_count };
    s->row_count += at->row_count;
    s->set_bytes += at->sets_end - at->sets_at;
    return DX_OK;
}

/* Of one part. */
static int read_files(struct dx_tag_sets *s, size_t part, const uint32_t *dataset,
                      struct dx_error *err)
{
    const struct dx_part *p = s->view.version->parts[part].part;
    struct dx_tag_cursor c;
    struct dx_tag_file at;
    uint64_t number;
    int rc = p->tags == NULL ? 0 : dx_tags_find(p->tags, s->tag, &number, err);

    if (rc != 1)
        return rc;
    rc = dx_tags_files(p->tags, number, &c, err);
    while (rc >= 0 && (rc = dx_tag_cursor_next(&c, &at, err)) == 1) {
        struct dx_pages_file file;

        s->looked++;
        rc = dx_pages_file(&p->pages, at.file_id, &file, err);
        if (rc == 0)
            rc = dx_fail(err, DX_E_CORRUPT, "%s: a tag has rows in file %lu, which %s has not",
                         p->directory, (unsigned long)at.file_id, DX_FILE_PAGES);
        if (rc == 1 && !dx_version_is_gone(s->view.version, at.file_id) &&
            dx_view_shows(&s->view, file.dataset_id) &&
            (dataset == NULL || *dataset == file.dataset_id))
            rc = add_file(s, part, &at, &file, err);
    }
    return rc < 0 ? rc : DX_OK;
}

static int by_path(const void *a, const void *b)
{
    const struct dx_tag_set_file *x = a;
    const struct dx_tag_set_file *y = b;

    if (x->dataset_id != y->dataset_id)
        return x->dataset_id < y->dataset_id ? -1 : 1;
    return dx_span_compare(x->path, y->path);
}

static int group_datasets(struct dx_tag_sets *s, struct dx_error *err)
{
    size_t n = 0;

    if (s->file_count > 1)
        qsort(s->files, s->file_count, sizeof *s->files, by_path);
    for (size_t i = 0; i < s->file_count; i++)
        n += i == 0 || s->files[i].dataset_id != s->files[i - 1].dataset_id;
    s->datasets = calloc(n + 1, sizeof *s->datasets);
    if (s->datasets == NULL)
        return dx_no_memory(err, "rows of a tag");
    for (size_t i = 0; i < s->file_count; i++) {
        struct dx_tag_set_dataset *d;

        if (i == 0 || s->files[i].dataset_id != s->files[i - 1].dataset_id) {
            s->datasets[s->dataset_count].dataset_id = s->files[i].dataset_id;
            s->datasets[s->dataset_count++].first = i;
        }
        d = &s->datasets[s->dataset_count - 1];
        d->end = i + 1;
        d->row_count += s->files[i].row_count;
        d->domain_count = s->files[i].at.domain_count;
    }
    s->domain_count = s->dataset_count == 1 ? s->datasets[0].domain_count : 0;
    return DX_OK;
}

int dx_tag_sets_open(struct dx_tag_sets *s, const struct dx_view *view, struct dx_span tag,
                     const uint32_t *dataset, struct dx_error *err)
{
    int rc = DX_OK;

    *s = (struct dx_tag_sets){ .view = *view, .tag = tag };
    for (size_t i = 0; rc >= 0 && i < view->version->part_count; i++)
        rc = read_files(s, i, dataset, err);
    if (rc >= 0)
        rc = group_datasets(s, err);
    return rc < 0 ? rc : s->file_count > 0;
}

/* ---- sets ---- */

static int bitmap_of(const struct dx_dataset_set *set, roaring_bitmap_t **out, struct dx_error *err)
{
    *out = dx_dataset_set_bitmap(set);
    return *out == NULL ? dx_no_memory(err, "rows of a tag") : DX_OK;
}

static int sets_of(const struct dx_tag_sets *s, const struct dx_tag_set_file *file,
                   struct dx_dataset_set *rows, struct dx_dataset_set *domains,
                   struct dx_error *err)
{
    int rc = dx_tag_file_sets(s->view.version->parts[file->part].part->tags, &file->at, rows,
                              domains, err);

    return rc < 0 ? rc : DX_OK;
}

int dx_tag_sets_rows(const struct dx_tag_sets *s, const struct dx_tag_set_file *file,
                     const struct dx_suppression_tags *hidden, struct roaring_bitmap_s **rows,
                     struct dx_error *err)
{
    struct dx_dataset_set set;
    struct dx_dataset_set domains;
    int rc = sets_of(s, file, &set, &domains, err);

    *rows = NULL;
    if (rc == DX_OK)
        rc = bitmap_of(&set, rows, err);
    if (rc < 0)
        return rc;
    if (roaring_bitmap_maximum(*rows) >= file->file_rows) {
        rc = dx_fail(err, DX_E_CORRUPT, "a tag has row %lu of %.*s, which has %llu",
                     (unsigned long)roaring_bitmap_maximum(*rows), (int)file->path.size,
                     (const char *)file->path.data, (unsigned long long)file->file_rows);
        roaring_bitmap_free(*rows);
        *rows = NULL;
        return rc;
    }
    if (hidden != NULL)
        dx_suppression_tags_remove(hidden, file->at.file_id, *rows);
    return DX_OK;
}

/* A domain that a newer part has taken over counts under its number there. */
static int add_dead(const struct dx_tag_sets *s, size_t part, const roaring_bitmap_t *dead,
                    roaring_bitmap_t *to, struct dx_error *err)
{
    const struct dx_version *v = s->view.version;
    roaring_uint32_iterator_t it;
    int rc = 1;

    roaring_init_iterator(dead, &it);
    for (; rc == 1 && it.has_value; (void)roaring_advance_uint32_iterator(&it)) {
        uint64_t number = v->parts[part].first + it.current_value;
        uint8_t domain[DX_SURT_MAX];
        const struct dx_part *in;
        uint64_t ordinal;
        uint64_t id;
        size_t size;

        rc = dx_version_domain(v, number, domain, &size, err);
        if (rc == 1)
            rc = dx_version_find(v, dx_span_of(domain, size), &in, &ordinal, &id, err);
        if (rc == 1)
            roaring_bitmap_add(to, (uint32_t)dx_version_number(v, in, ordinal));
        if (rc == 0)
            rc = dx_fail(err, DX_E_CORRUPT, "%s: a tag has domain %lu, which no part has",
                         v->parts[part].part->directory, (unsigned long)it.current_value);
    }
    return rc < 0 ? rc : DX_OK;
}

/* ordinals of a part, as numbers of the version. Takes them. */
static int add_numbers(const struct dx_tag_sets *s, size_t part, roaring_bitmap_t *ordinals,
                       roaring_bitmap_t *to, struct dx_error *err)
{
    const struct dx_version *v = s->view.version;
    const roaring_bitmap_t *all_dead = v->parts[part].dead;
    roaring_bitmap_t *dead = all_dead == NULL ? NULL : roaring_bitmap_and(ordinals, all_dead);
    int rc = all_dead != NULL && dead == NULL ? dx_no_memory(err, "rows of a tag") : DX_OK;

    if (rc == DX_OK && dead != NULL) {
        rc = add_dead(s, part, dead, to, err);
        roaring_bitmap_andnot_inplace(ordinals, dead);
    }
    if (rc == DX_OK)
        dx_version_add_numbers(v, part, ordinals, to);
    if (dead != NULL)
        roaring_bitmap_free(dead);
    roaring_bitmap_free(ordinals);
    return rc;
}

static int add_domains(const struct dx_tag_sets *s, const struct dx_tag_set_file *file,
                       roaring_bitmap_t *to, struct dx_error *err)
{
    struct dx_dataset_set rows;
    struct dx_dataset_set domains;
    roaring_bitmap_t *b;
    int rc = sets_of(s, file, &rows, &domains, err);

    if (rc == DX_OK)
        rc = bitmap_of(&domains, &b, err);
    return rc < 0 ? rc : add_numbers(s, file->part, b, to, err);
}

static int join_datasets(struct dx_tag_sets *s, struct dx_error *err)
{
    if (s->domains != NULL)
        roaring_bitmap_free(s->domains);
    s->domains = roaring_bitmap_create();
    if (s->domains == NULL)
        return dx_no_memory(err, "rows of a tag");
    for (size_t k = 0; k < s->dataset_count; k++)
        roaring_bitmap_or_inplace(s->domains, s->datasets[k].domains);
    return DX_OK;
}

int dx_tag_sets_domains(struct dx_tag_sets *s, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t k = 0; rc == DX_OK && k < s->dataset_count; k++) {
        struct dx_tag_set_dataset *d = &s->datasets[k];

        d->domains = roaring_bitmap_create();
        if (d->domains == NULL)
            return dx_no_memory(err, "rows of a tag");
        for (size_t i = d->first; rc == DX_OK && i < d->end; i++)
            rc = add_domains(s, &s->files[i], d->domains, err);
    }
    return rc == DX_OK ? join_datasets(s, err) : rc;
}

void dx_tag_sets_count(struct dx_tag_sets *s)
{
    assert(s->domains != NULL); /* dx_tag_sets_domains has read them */
    for (size_t k = 0; k < s->dataset_count; k++)
        s->datasets[k].domain_count = roaring_bitmap_get_cardinality(s->datasets[k].domains);
    s->domain_count = roaring_bitmap_get_cardinality(s->domains);
}

/* ---- what is hidden ---- */

int dx_tag_sets_want(const struct dx_tag_sets *s, struct dx_suppression_tags *hidden,
                     struct dx_error *err)
{
    int rc = 1;

    assert(s->domains != NULL);
    for (size_t k = 0; rc == 1 && k < s->dataset_count; k++)
        rc = dx_suppression_tags_want(hidden, s->datasets[k].domains, s->datasets[k].dataset_id,
                                      err);
    return rc;
}

/* Rows of a file that are left, and of which hidden pairs: left[pair]. */
static int hide_rows(struct dx_tag_sets *s, struct dx_tag_set_file *file,
                     const struct dx_suppression_tags *hidden, uint64_t *left, struct dx_error *err)
{
    const struct dx_pair_runs *runs = &hidden->runs;
    roaring_bitmap_t *rows;
    size_t end;
    size_t i = dx_pair_runs_of_file(runs, file->at.file_id, &end);
    int rc;

    if (i == end)
        return DX_OK;
    rc = dx_tag_sets_rows(s, file, hidden, &rows, err);
    if (rc < 0)
        return rc;
    file->row_count = roaring_bitmap_get_cardinality(rows);
    for (; (i = dx_pair_runs_with(runs, i, end, rows)) < end; i++)
        left[runs->runs[i].pair] += roaring_bitmap_range_cardinality(
            rows, runs->runs[i].row, runs->runs[i].row + runs->runs[i].rows);
    roaring_bitmap_free(rows);
    return DX_OK;
}

static int by_dataset(const void *key, const void *element)
{
    uint32_t dataset_id = *(const uint32_t *)key;
    const struct dx_tag_set_dataset *d = element;

    return (dataset_id > d->dataset_id) - (dataset_id < d->dataset_id);
}

/* Pairs of which nothing is left. They may be those of many tags, of which this one has few
 * domains. */
static void drop_domains(struct dx_tag_sets *s, const struct dx_pair_runs *runs,
                         const uint64_t *left)
{
    roaring_uint32_iterator_t it;
    size_t i = 0;

    roaring_init_iterator(s->domains, &it);
    while (it.has_value && (i = dx_pair_runs_from(runs, i, it.current_value)) < runs->pair_count) {
        const struct dx_pair_runs_pair *pair = &runs->pairs[i];
        struct dx_tag_set_dataset *d;

        if (pair->number > it.current_value) {
            (void)roaring_move_uint32_iterator_equalorlarger(&it, (uint32_t)pair->number);
            continue;
        }
        d = left[i++] > 0 ? NULL
                          : bsearch(&pair->dataset_id, s->datasets, s->dataset_count,
                                    sizeof *s->datasets, by_dataset);
        if (d != NULL)
            roaring_bitmap_remove(d->domains, (uint32_t)pair->number);
    }
}

int dx_tag_sets_hide(struct dx_tag_sets *s, const struct dx_suppression_tags *hidden,
                     struct dx_error *err)
{
    uint64_t *left = calloc(hidden->runs.pair_count + 1, sizeof *left);
    int rc = left == NULL ? dx_no_memory(err, "rows of a tag") : DX_OK;

    assert(s->domains != NULL);
    s->row_count = 0;
    for (size_t k = 0; rc == DX_OK && k < s->dataset_count; k++) {
        s->datasets[k].row_count = 0;
        for (size_t i = s->datasets[k].first; rc == DX_OK && i < s->datasets[k].end; i++) {
            rc = hide_rows(s, &s->files[i], hidden, left, err);
            s->datasets[k].row_count += s->files[i].row_count;
        }
        s->row_count += s->datasets[k].row_count;
    }
    if (rc == DX_OK)
        drop_domains(s, &hidden->runs, left);
    free(left);
    return rc == DX_OK ? join_datasets(s, err) : rc;
}
