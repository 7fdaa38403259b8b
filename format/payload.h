/* SPDX-License-Identifier: Apache-2.0
 * payload.h - the posting list of one (domain, dataset): where its rows are in the lake.
 *
 *   rc = dx_payload_encode(&build, domain_id, dataset_id, runs, n, &buf, &err);   appends
 *
 *   rc = dx_payload_open(&p, &build, domain_id, dataset_id, payload, flags, name, &err);
 *   while (dx_payload_next(&p, &run) == 1)  ...
 *   p.rows, p.runs                          totals, known after open
 *
 * Runs are in the order of the listing: offset 0 is the first row of the first run. That is the
 * order of the paths of the files, which the list does not know: here the runs of a file stand
 * together, (row_group, first_row) ascend in them, runs do not overlap, none is empty. open walks
 * the whole list, so next cannot fail; where file_ids do not ascend, it needs 4 bytes a file for a
 * moment (DX_E_NOMEM). `build` is the one that the shard was written under.
 * The payload is borrowed. flags: DX_OPEN_UNCHECKED skips the check word (tests).
 */
#ifndef DX_FORMAT_PAYLOAD_H
#define DX_FORMAT_PAYLOAD_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"

#define DX_PAYLOAD_KIND DX_KIND('P', 'A', 'Y', 'L')
#define DX_PAYLOAD_CHECK_SIZE 4    /* bytes of the check word in front */
#define DX_PAYLOAD_MAX (64u << 20) /* bytes; about ten million scattered runs of one pair */

struct dx_run {
    uint32_t file_id;
    uint32_t row_group;
    uint64_t first_row; /* within the row group */
    uint64_t row_count; /* at least 1 */
};

struct dx_payload {
    uint64_t rows;
    uint64_t runs;
    struct dx_bytes at;
};

int dx_payload_encode(const struct dx_build_id *build, uint64_t domain_id, uint32_t dataset_id,
                      const struct dx_run *runs, size_t count, struct dx_buf *out,
                      struct dx_error *err);
int dx_payload_open(struct dx_payload *p, const struct dx_build_id *build, uint64_t domain_id,
                    uint32_t dataset_id, struct dx_span payload, unsigned flags, const char *name,
                    struct dx_error *err);
int dx_payload_next(struct dx_payload *p, struct dx_run *run); /* 1 a run, 0 the end */

#endif
