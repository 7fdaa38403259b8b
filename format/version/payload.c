/* SPDX-License-Identifier: Apache-2.0 */
#include "format/version/payload.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#define FEW_FILES 64 /* that are sorted without allocating */

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
    DX_UNINITIALIZED uint32_t few[FEW_FILES];
    uint32_t *ids = few;
    size_t count = 0;
    uint32_t id;
    int rc = 1;

    if (!w->descends)
        return 1;
    if (w->files > FEW_FILES)
        ids = malloc((size_t)w->files * sizeof *ids);
    if (ids == NULL)
        return dx_no_memory(err, "posting list of %" PRIu64 " files", w->files);
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

/* ---- one run: what it has in common with the one before is not repeated ---- */

/* Of the first run how far its file is behind the first one of the dataset, of each further one the difference with its sign in the
 * lowest bit. */
static uint64_t file_code(const struct dx_run *run, const struct dx_run *before,
                          uint32_t first_file)
{
    if (before == NULL)
        return run->file_id - first_file;
    return run->file_id >= before->file_id ? (uint64_t)(run->file_id - before->file_id) << 1
                                           : (uint64_t)(before->file_id - run->file_id) << 1 | 1;
}

static bool same_file(const struct dx_run *run, const struct dx_run *before)
{
    return before != NULL && run->file_id == before->file_id;
}

/* Row groups and rows go on from the run before within a file. */
static uint32_t group_base(const struct dx_run *run, const struct dx_run *before)
{
    return same_file(run, before) ? before->row_group : 0;
}

static uint64_t row_base(const struct dx_run *run, const struct dx_run *before)
{
    return same_file(run, before) && run->row_group == before->row_group
               ? before->first_row + before->row_count
               : 0;
}

static void append_run(struct dx_buf *out, const struct dx_run *run, const struct dx_run *before,
                       uint32_t first_file)
{
    uint32_t groups = run->row_group - group_base(run, before);

    assert(run->row_count > 0 && run->row_group >= group_base(run, before));
    dx_buf_varint(out, file_code(run, before, first_file) << 1 | (groups > 0));
    if (groups > 0)
        dx_buf_varint(out, groups - 1);
    dx_buf_varint(out, run->first_row - row_base(run, before));
    dx_buf_varint(out, run->row_count - 1);
}

static const char *read_file(uint64_t code, const struct dx_run *before, uint32_t first_file,
                             struct dx_run *run)
{
    uint64_t distance = code >> 1;

    if (before == NULL) {
        run->file_id = (uint32_t)(first_file + code);
        return code <= UINT32_MAX - first_file ? NULL : "has a file_id over 32 bits";
    }
    if ((code & 1) == 0) {
        run->file_id = (uint32_t)(before->file_id + distance);
        return distance <= UINT32_MAX - before->file_id ? NULL : "has a file_id over 32 bits";
    }
    run->file_id = (uint32_t)(before->file_id - distance);
    return distance > 0 && distance <= before->file_id ? NULL : "has a file_id below 0";
}

/* Whatever it says, the run lies behind the one before, is not empty and ends within 64 bits. */
static const char *read_run(struct dx_bytes *r, const struct dx_run *before, uint32_t first_file,
                            struct dx_run *run)
{
    uint64_t head = dx_bytes_varint(r);
    uint64_t groups = (head & 1) != 0 ? dx_bytes_varint(r) : 0;
    uint64_t rows = dx_bytes_varint(r);
    uint64_t more = dx_bytes_varint(r);
    const char *why = r->failed ? "is cut" : read_file(head >> 1, before, first_file, run);

    if (why != NULL)
        return why;
    run->row_group = group_base(run, before);
    if ((head & 1) != 0) {
        if (groups >= UINT32_MAX - run->row_group)
            return "has a row group over 32 bits";
        run->row_group += (uint32_t)groups + 1;
    }
    if (__builtin_add_overflow(row_base(run, before), rows, &run->first_row) ||
        more == UINT64_MAX || more + 1 > UINT64_MAX - run->first_row)
        return "ends beyond 64 bits";
    run->row_count = more + 1;
    return NULL;
}

int dx_payload_encode(const struct dx_run *runs, size_t count, uint32_t first_file,
                      struct dx_buf *out, struct dx_error *err)
{
    struct run_array array = { runs, count };
    struct file_walk walk = { 0, false };
    size_t front = out->size;
    uint64_t rows = 0;
    int once;

    if (count == 0)
        return dx_fail(err, DX_E_INVALID, "posting list without rows");
    if (runs[0].file_id < first_file)
        return dx_fail(err, DX_E_INVALID,
                       "posting list: file %" PRIu32 " is before the first one of its dataset, "
                       "%" PRIu32,
                       runs[0].file_id, first_file);
    for (size_t i = 0; i < count; i++) {
        const struct dx_run *before = i == 0 ? NULL : &runs[i - 1];
        const char *why = run_fault(&runs[i], before);

        if (why == NULL && runs[i].row_count > UINT64_MAX - rows)
            why = "fetches the rows over 64 bits";
        if (why != NULL)
            return dx_fail(err, DX_E_INVALID, "posting list: run %zu %s", i, why);
        rows += runs[i].row_count;
        walk_file(&walk, &runs[i], before);
        append_run(out, &runs[i], before, first_file);
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
    return DX_OK;
}

int dx_payload_rebase(struct dx_span payload, uint32_t from, uint32_t to, struct dx_buf *out,
                      struct dx_error *err)
{
    struct dx_bytes r = dx_bytes_of(payload);
    uint64_t head = dx_bytes_varint(&r);
    uint64_t file = from + (head >> 1);

    if (r.failed || file < to || file > UINT32_MAX)
        return dx_fail(err, DX_E_CORRUPT,
                       "posting list: file %" PRIu64 " is not between the first one of its "
                       "dataset, %" PRIu32 ", and the last that there can be",
                       file, to);
    dx_buf_varint(out, (file - to) << 1 | (head & 1));
    dx_buf_append(out, r.at, dx_bytes_left(&r));
    return out->failed ? dx_buf_fail(out, err, "posting list") : DX_OK;
}

static bool next_in_list(void *from, uint32_t *file_id)
{
    struct dx_run run;

    if (dx_payload_next(from, &run) != 1)
        return false;
    *file_id = run.file_id;
    return true;
}

int dx_payload_open(struct dx_payload *p, const struct dx_payload_owner *owner,
                    struct dx_span payload, const char *name, struct dx_error *err)
{
    struct dx_bytes r = dx_bytes_of(payload);
    struct file_walk walk = { 0, false };
    struct dx_payload again;
    struct dx_run run = { 0 };
    int once;

    *p = (struct dx_payload){ .at = r, .first_file = owner->first_file };
    if (dx_bytes_left(&r) == 0 || payload.size > DX_PAYLOAD_MAX)
        return dx_fail(err, DX_E_CORRUPT, "%s: posting list of %zu bytes", name, payload.size);
    while (dx_bytes_left(&r) > 0) {
        const struct dx_run *before = p->runs == 0 ? NULL : &p->before;
        size_t at = dx_bytes_at(&r);
        const char *why = read_run(&r, before, p->first_file, &run);

        if (why == NULL && run.row_count > UINT64_MAX - p->rows)
            why = "fetches the rows over 64 bits";
        if (why != NULL)
            return dx_fail(err, DX_E_CORRUPT,
                           "%s: posting list of domain %" PRIu64 ", dataset %" PRIu32
                           ": run %" PRIu64 " at offset %zu %s",
                           name, owner->ordinal, owner->dataset_id, p->runs, at, why);
        walk_file(&walk, &run, before);
        p->rows += run.row_count;
        p->runs++;
        p->before = run;
    }
    again = *p;
    once = files_once(&walk, next_in_list, &again, err);
    if (once == 0)
        once = dx_fail(err, DX_E_CORRUPT,
                       "%s: posting list of domain %" PRIu64 ", dataset %" PRIu32
                       ": a file comes back in it",
                       name, owner->ordinal, owner->dataset_id);
    return once < 0 ? once : DX_OK;
}

int dx_payload_next(struct dx_payload *p, struct dx_run *run)
{
    if (dx_bytes_left(&p->at) == 0 ||
        read_run(&p->at, p->any ? &p->before : NULL, p->first_file, run) != NULL)
        return 0;
    p->before = *run;
    p->any = true;
    return 1;
}
