/* SPDX-License-Identifier: Apache-2.0 */
#include "format/payload.h"

#include "format/envelope.h"

#include <inttypes.h>
#include <stdlib.h>

#define FEW_FILES 64 /* that are sorted without allocating */
#define KEY_STEP UINT64_C(0x9E3779B97F4A7C15)

static uint32_t check_word(const struct dx_build_id *build, uint64_t domain_id, uint32_t dataset_id,
                           struct dx_span runs)
{
    struct dx_identity id = { *build, DX_PAYLOAD_KIND, domain_id + dataset_id * KEY_STEP };

    return (uint32_t)dx_checksum(&id, runs);
}

/* Why the run cannot follow `before` (NULL: nothing before it), or NULL. */
static const char *run_fault(const struct dx_run *run, const struct dx_run *before)
{
    if (run->row_count == 0)
        return "is empty";
    if (run->first_row > UINT64_MAX - run->row_count)
        return "ends beyond 64 bits";
    if (before == NULL || run->file_id != before->file_id)
        return NULL;
    if (run->row_group < before->row_group ||
        (run->row_group == before->row_group &&
         run->first_row < before->first_row + before->row_count))
        return "does not lie behind the run before it";
    return NULL;
}

/* What is known of the files of a list while it is walked. */
struct file_walk {
    uint64_t files; /* changes of the file, and the first one */
    bool descends;  /* a file_id came behind a larger one */
};

static void walk_file(struct file_walk *w, const struct dx_run *run, const struct dx_run *before)
{
    if (before != NULL && run->file_id == before->file_id)
        return;
    w->files++;
    w->descends = w->descends || (before != NULL && run->file_id < before->file_id);
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* The id of each file of the list, in its order, from whatever holds it. */
typedef bool next_id(void *from, uint32_t *file_id);

/* 1 each file has its runs in one place, 0 one has not, <0 no memory. */
static int files_once(const struct file_walk *w, next_id *next, void *from, struct dx_error *err)
{
    uint32_t few[FEW_FILES];
    uint32_t *ids = few;
    size_t count = 0;
    uint32_t id;
    int rc = 1;

    if (!w->descends)
        return 1;
    if (w->files > FEW_FILES)
        ids = malloc((size_t)w->files * sizeof *ids);
    if (ids == NULL)
        return dx_fail(err, DX_E_NOMEM, "posting list of %" PRIu64 " files: out of memory",
                       w->files);
    while (count < w->files && next(from, &id))
        if (count == 0 || ids[count - 1] != id)
            ids[count++] = id;
    qsort(ids, count, sizeof *ids, compare_ids);
    for (size_t i = 1; i < count; i++)
        if (ids[i] == ids[i - 1])
            rc = 0;
    if (ids != few)
        free(ids);
    return rc;
}

struct run_array {
    const struct dx_run *at;
    size_t left;
};

static bool next_in_array(void *from, uint32_t *file_id)
{
    struct run_array *a = from;

    if (a->left == 0)
        return false;
    *file_id = a->at->file_id;
    a->at++;
    a->left--;
    return true;
}

int dx_payload_encode(const struct dx_build_id *build, uint64_t domain_id, uint32_t dataset_id,
                      const struct dx_run *runs, size_t count, struct dx_buf *out,
                      struct dx_error *err)
{
    struct run_array array = { runs, count };
    struct file_walk walk = { 0, false };
    size_t front = out->size;
    uint64_t rows = 0;
    int once;

    if (count == 0)
        return dx_fail(err, DX_E_INVALID, "posting list without rows");
    dx_buf_u32(out, 0);
    for (size_t i = 0; i < count; i++) {
        const char *why = run_fault(&runs[i], i == 0 ? NULL : &runs[i - 1]);

        if (why == NULL && runs[i].row_count > UINT64_MAX - rows)
            why = "brings the rows over 64 bits";
        if (why != NULL)
            return dx_fail(err, DX_E_INVALID, "posting list: run %zu %s", i, why);
        rows += runs[i].row_count;
        walk_file(&walk, &runs[i], i == 0 ? NULL : &runs[i - 1]);
        dx_buf_varint(out, runs[i].file_id);
        dx_buf_varint(out, runs[i].row_group);
        dx_buf_varint(out, runs[i].first_row);
        dx_buf_varint(out, runs[i].row_count);
    }
    once = files_once(&walk, next_in_array, &array, err);
    if (once <= 0)
        return once < 0 ? once
                        : dx_fail(err, DX_E_INVALID, "posting list: a file comes back in it");
    if (out->failed)
        return dx_buf_fail(out, err, "posting list");
    if (out->size - front > DX_PAYLOAD_MAX)
        return dx_fail(err, DX_E_LIMIT, "posting list of %zu runs is over %u bytes", count,
                       DX_PAYLOAD_MAX);
    dx_store_u32(out->data + front,
                 check_word(build, domain_id, dataset_id,
                            dx_span_of(out->data + front + DX_PAYLOAD_CHECK_SIZE,
                                       out->size - front - DX_PAYLOAD_CHECK_SIZE)));
    return DX_OK;
}

static bool read_run(struct dx_bytes *r, struct dx_run *run)
{
    uint64_t file_id = dx_bytes_varint(r);
    uint64_t row_group = dx_bytes_varint(r);

    run->first_row = dx_bytes_varint(r);
    run->row_count = dx_bytes_varint(r);
    run->file_id = (uint32_t)file_id;
    run->row_group = (uint32_t)row_group;
    return !r->failed && file_id <= UINT32_MAX && row_group <= UINT32_MAX;
}

static bool next_in_list(void *from, uint32_t *file_id)
{
    struct dx_run run;

    if (dx_bytes_left(from) == 0 || !read_run(from, &run))
        return false;
    *file_id = run.file_id;
    return true;
}

int dx_payload_open(struct dx_payload *p, const struct dx_build_id *build, uint64_t domain_id,
                    uint32_t dataset_id, struct dx_span payload, unsigned flags, const char *name,
                    struct dx_error *err)
{
    struct dx_bytes r = dx_bytes_of(payload);
    uint32_t word = dx_bytes_u32(&r);
    struct file_walk walk = { 0, false };
    struct dx_run before = { 0 };
    struct dx_run run;
    int once;

    *p = (struct dx_payload){ .at = r };
    if (r.failed || dx_bytes_left(&r) == 0 || payload.size > DX_PAYLOAD_MAX)
        return dx_fail(err, DX_E_CORRUPT, "%s: posting list of %zu bytes", name, payload.size);
    if ((flags & DX_OPEN_UNCHECKED) == 0 &&
        word != check_word(build, domain_id, dataset_id, dx_span_of(r.at, dx_bytes_left(&r))))
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: posting list of domain %016" PRIx64 ", dataset %" PRIu32
                       ": check word does not fit",
                       name, domain_id, dataset_id);
    while (dx_bytes_left(&r) > 0) {
        size_t at = dx_bytes_at(&r);
        const char *why;

        why = read_run(&r, &run) ? run_fault(&run, p->runs == 0 ? NULL : &before)
                                 : "is cut or has a number over its range";
        if (why == NULL && run.row_count > UINT64_MAX - p->rows)
            why = "brings the rows over 64 bits";
        if (why != NULL)
            return dx_fail(err, DX_E_CORRUPT,
                           "%s: posting list of domain %016" PRIx64 ", dataset %" PRIu32
                           ": run %" PRIu64 " at offset %zu %s",
                           name, domain_id, dataset_id, p->runs, at, why);
        walk_file(&walk, &run, p->runs == 0 ? NULL : &before);
        p->rows += run.row_count;
        p->runs++;
        before = run;
    }
    r = p->at;
    once = files_once(&walk, next_in_list, &r, err);
    if (once == 0)
        once = dx_fail(err, DX_E_CORRUPT,
                       "%s: posting list of domain %016" PRIx64 ", dataset %" PRIu32
                       ": a file comes back in it",
                       name, domain_id, dataset_id);
    return once < 0 ? once : DX_OK;
}

int dx_payload_next(struct dx_payload *p, struct dx_run *run)
{
    return dx_bytes_left(&p->at) > 0 && read_run(&p->at, run) ? 1 : 0;
}
