/* SPDX-License-Identifier: Apache-2.0 */
#include "format/payload.h"

#include "format/envelope.h"

#include <inttypes.h>

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
    if (before == NULL || run->file_id > before->file_id)
        return NULL;
    if (run->file_id < before->file_id || run->row_group < before->row_group ||
        (run->row_group == before->row_group &&
         run->first_row < before->first_row + before->row_count))
        return "does not lie behind the run before it";
    return NULL;
}

int dx_payload_encode(const struct dx_build_id *build, uint64_t domain_id, uint32_t dataset_id,
                      const struct dx_run *runs, size_t count, struct dx_buf *out,
                      struct dx_error *err)
{
    size_t front = out->size;
    uint64_t rows = 0;

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
        dx_buf_varint(out, runs[i].file_id);
        dx_buf_varint(out, runs[i].row_group);
        dx_buf_varint(out, runs[i].first_row);
        dx_buf_varint(out, runs[i].row_count);
    }
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

int dx_payload_open(struct dx_payload *p, const struct dx_build_id *build, uint64_t domain_id,
                    uint32_t dataset_id, struct dx_span payload, unsigned flags, const char *name,
                    struct dx_error *err)
{
    struct dx_bytes r = dx_bytes_of(payload);
    uint32_t word = dx_bytes_u32(&r);
    struct dx_run before = { 0 };
    struct dx_run run;

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
        p->rows += run.row_count;
        p->runs++;
        before = run;
    }
    return DX_OK;
}

int dx_payload_next(struct dx_payload *p, struct dx_run *run)
{
    return dx_bytes_left(&p->at) > 0 && read_run(&p->at, run) ? 1 : 0;
}
