/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/scan/index_tags.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "builder/lake/lake_file.h"
#include "builder/lake/lake_files.h"
#include "builder/scan/index_tags_record.h"
#include "builder/sort/spill_sort.h"
#include "format/version/tag_list.h"
#include "loader/version.h"

#define RUN_TEXT (64u << 10) /* a run with so many bytes of tags goes to the sorter */
#define RUN_ENTRIES 4096
#define SORT_MIN ((size_t)256 << 10) /* records have a few KiB */

/* A tag of a row; the text is in the run's. */
struct entry {
    uint32_t at;
    uint32_t size;
    uint64_t row;
};

int dx_index_tags_new(struct dx_index_tags **out, const char *tmp_dir, size_t memory_bytes,
                      struct dx_error *err)
{
    struct dx_index_tags *t = calloc(1, sizeof *t);

    *out = t;
    if (t != NULL) {
        (void)pthread_mutex_init(&t->lock, NULL);
        t->tmp_dir = strdup(tmp_dir);
        t->memory_bytes = memory_bytes < SORT_MIN ? SORT_MIN : memory_bytes;
    }
    if (t != NULL && t->tmp_dir != NULL)
        return DX_OK;
    dx_index_tags_free(out);
    return dx_no_memory(err, "tags");
}

void dx_index_tags_free(struct dx_index_tags **t)
{
    if (*t != NULL) {
        dx_spill_sort_free(&(*t)->sort);
        for (size_t i = 0; i < DX_PARTS_MAX; i++)
            if ((*t)->ordinals[i] != NULL)
                (void)munmap((*t)->ordinals[i], (*t)->ordinals_size[i]);
        (void)pthread_mutex_destroy(&(*t)->lock);
        free((*t)->tmp_dir);
    }
    free(*t);
    *t = NULL;
}

bool dx_index_tagged(const struct dx_index_lake *lake)
{
    for (size_t i = lake->first_file; i < lake->file_count; i++)
        if (lake->files[i].path != NULL && lake->files[i].tagged)
            return true;
    return false;
}

/* ---- runs ---- */

void dx_tag_run_release(struct dx_tag_run *run)
{
    dx_buf_release(&run->text);
    dx_buf_release(&run->entries);
    dx_buf_release(&run->tag);
    dx_buf_release(&run->value);
}

static int compare_entries(const void *a, const void *b, void *text)
{
    const struct entry *x = a;
    const struct entry *y = b;
    const uint8_t *bytes = text;
    int c = dx_span_compare(dx_span_of(bytes + x->at, x->size), dx_span_of(bytes + y->at, y->size));

    return c != 0 ? c : (x->row > y->row) - (x->row < y->row);
}

/* The entries [first, end) are of one tag. */
static int add_record(struct dx_index_tags *t, struct dx_tag_run *run, const struct entry *first,
                      const struct entry *end, struct dx_error *err)
{
    uint8_t key[DX_TAGS_KEY_MAX];
    size_t size = dx_tags_key(dx_span_of(run->text.data + first->at, first->size), run->file_id,
                              first->row, key);
    uint64_t last = first->row;

    assert(first < end && first->size <= DX_TAG_MAX);
    dx_buf_clear(&run->value);
    dx_buf_varint(&run->value, run->domain_size);
    dx_buf_append(&run->value, run->domain, run->domain_size);
    for (const struct entry *e = first + 1; e < end; e++) {
        if (e->row != last) /* a row may have it twice */
            dx_buf_varint(&run->value, e->row - last - 1);
        last = e->row;
    }
    return run->value.failed ? dx_buf_fail(&run->value, err, "rows of a tag")
                             : dx_spill_sort_add(t->sort, 0, dx_span_of(key, size),
                                                 dx_span_of(run->value.data, run->value.size), err);
}

static int new_sort(struct dx_index_tags *t, struct dx_error *err)
{
    const struct dx_spill_sort_options options = { .dir = t->tmp_dir,
                                                   .memory_bytes = t->memory_bytes,
                                                   .lanes = 1 };

    return t->sort != NULL ? DX_OK : dx_spill_sort_new(&t->sort, &options, err);
}

int dx_index_tags_end(struct dx_index_tags *t, struct dx_tag_run *run, struct dx_error *err)
{
    struct entry *e = (struct entry *)(void *)run->entries.data;
    size_t count = run->entries.size / sizeof *e;
    size_t end;
    int rc = DX_OK;

    if (count == 0)
        return DX_OK;
    qsort_r(e, count, sizeof *e, compare_entries, run->text.data);
    (void)pthread_mutex_lock(&t->lock);
    rc = new_sort(t, err);
    for (size_t first = 0; rc == DX_OK && first < count; first = end) {
        struct dx_span tag = dx_span_of(run->text.data + e[first].at, e[first].size);

        for (end = first + 1; end < count; end++)
            if (!dx_span_equal(tag, dx_span_of(run->text.data + e[end].at, e[end].size)))
                break;
        rc = add_record(t, run, e + first, e + end, err);
    }
    (void)pthread_mutex_unlock(&t->lock);
    dx_buf_clear(&run->text);
    dx_buf_clear(&run->entries);
    return rc;
}

static int add_tag(struct dx_index_tags *t, struct dx_tag_run *run, struct dx_span tag,
                   uint64_t row, struct dx_error *err)
{
    struct entry e = { .size = (uint32_t)tag.size, .row = row };
    int rc = DX_OK;

    if (run->text.size + tag.size > RUN_TEXT || run->entries.size >= RUN_ENTRIES * sizeof e)
        rc = dx_index_tags_end(t, run, err);
    e.at = (uint32_t)run->text.size;
    dx_buf_append(&run->text, tag.data, tag.size);
    dx_buf_append(&run->entries, &e, sizeof e);
    if (rc == DX_OK && (run->text.failed || run->entries.failed))
        rc = dx_buf_fail(run->text.failed ? &run->text : &run->entries, err, "tags of a domain");
    return rc;
}

static int begin_domain(struct dx_index_tags *t, struct dx_tag_run *run, struct dx_span domain,
                        struct dx_error *err)
{
    int rc;

    if (dx_span_equal(domain, dx_span_of(run->domain, run->domain_size)))
        return DX_OK;
    rc = dx_index_tags_end(t, run, err);
    if (rc != DX_OK)
        return rc;
    if (domain.size > sizeof run->domain)
        return dx_fail(err, DX_E_CORRUPT, "tags: a domain of %zu bytes", domain.size);
    if (run->domain_size == 0) { /* the first one */
        dx_buf_init(&run->text, RUN_TEXT);
        dx_buf_init(&run->entries, RUN_ENTRIES * sizeof(struct entry));
        dx_buf_init(&run->value, RUN_TEXT);
        dx_buf_init(&run->tag, DX_LAKE_ROW_BYTES_MAX);
    }
    run->domain_size = domain.size;
    memcpy(run->domain, domain.data, domain.size);
    return DX_OK;
}

/* Whether it is a list at all; it may be too long to be remembered until its end. */
static bool is_list(struct dx_span value, struct dx_buf *tag)
{
    struct dx_tag_list list;
    int rc;

    dx_tag_list_begin(&list, value);
    while ((rc = dx_tag_list_next(&list, tag)) == 1)
        continue;
    return rc == 0;
}

int dx_index_tags_row(struct dx_index_tags *t, struct dx_tag_run *run, struct dx_span domain,
                      uint64_t row, struct dx_span value, struct dx_error *err)
{
    struct dx_tag_list list;
    int rc = value.size == 0 ? DX_OK : begin_domain(t, run, domain, err);

    if (rc != DX_OK || value.size == 0)
        return rc;
    if (row >= UINT32_MAX || !is_list(value, &run->tag)) {
        if (run->tag.no_memory)
            return dx_no_memory(err, "tags of a row");
        run->file->tags_unread++;
        return DX_OK;
    }
    dx_tag_list_begin(&list, value);
    while (rc == DX_OK && dx_tag_list_next(&list, &run->tag) == 1) {
        struct dx_span tag = dx_span_of(run->tag.data, run->tag.size);

        if (dx_tag_fits(tag))
            rc = add_tag(t, run, tag, row, err);
        else
            run->file->tags_unfit++;
    }
    if (rc == DX_OK && run->tag.no_memory)
        rc = dx_no_memory(err, "tags of a row");
    return rc;
}

/* ---- domains of the base ---- */

static int map_ordinals(struct dx_index_tags *t, size_t i, uint64_t domains, struct dx_error *err)
{
    t->ordinals_size[i] = (size_t)domains * sizeof **t->ordinals + sizeof **t->ordinals;
    t->ordinals[i] = mmap(NULL, t->ordinals_size[i], PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (t->ordinals[i] != MAP_FAILED)
        return DX_OK;
    t->ordinals[i] = NULL;
    return dx_fail(err, DX_E_NOMEM, "tags: no address space for %llu domains",
                   (unsigned long long)domains);
}

int dx_index_tags_base(struct dx_index_tags *t, const struct dx_version *base, size_t first_part,
                       struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = first_part; rc == DX_OK && i < base->part_count; i++)
        if (base->parts[i].part->tags != NULL && t->ordinals[i] == NULL)
            rc = map_ordinals(t, i, base->parts[i].part->entry.part.domains, err);
    return rc;
}

/* One more than the ordinal: 0 is a domain that a newer part has, or none. */
void dx_index_tags_domain(struct dx_index_tags *t, size_t part, uint64_t then, uint64_t now)
{
    if (t->ordinals[part] != NULL && then < t->ordinals_size[part] / sizeof **t->ordinals)
        t->ordinals[part][then] = (uint32_t)now + 1;
}
