/* SPDX-License-Identifier: Apache-2.0
 * payload.h - the posting list of one (domain, dataset): where its rows are in the lake.
 *
 *   rc = dx_payload_encode(runs, n, first_file, &buf, &err);              appends
 *   rc = dx_payload_rebase(payload, from, to, &buf, &err);                the same list with another first_file
 *
 *   struct dx_payload_owner owner = { ordinal, dataset_id, first_file };  ids for messages
 *   rc = dx_payload_open(&p, &owner, payload, name, &err);
 *   while (dx_payload_next(&p, &run) == 1)  ...
 *   p.rows, p.runs                          totals, known after open
 *
 * Runs are in the order of the listing: offset 0 is the first row of the first run. That is the
 * order of the paths of the files, which the list does not know: here the runs of a file stand
 * together, (row_group, first_row) ascend in them, runs do not overlap, none is empty. open walks
 * the whole list, so next cannot fail; where file_ids do not ascend, it needs 4 bytes a file for a
 * moment (DX_E_NOMEM). The payload is borrowed. Nothing in it says whose it is: that is bound by
 * the sums of the page that it comes from, which postings.h checks before it gives a payload away.
 * first_file: the least file_id that lists of the dataset name in this part; a list counts from there (postings.h has it).
 * One thread at a time.
 */
#ifndef DX_FORMAT_VERSION_PAYLOAD_H
#define DX_FORMAT_VERSION_PAYLOAD_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"

#define DX_PAYLOAD_MIN 3           /* bytes: one run */
#define DX_PAYLOAD_MAX (64u << 20) /* bytes; over ten million scattered runs of one pair */

struct dx_run {
    uint32_t file_id;
    uint32_t row_group;
    uint64_t first_row; /* within the row group */
    uint64_t row_count; /* at least 1 */
};

struct dx_payload_owner {
    uint64_t ordinal;
    uint32_t dataset_id;
    uint32_t first_file;
};

struct dx_payload {
    uint64_t rows;
    uint64_t runs;
    struct dx_bytes at;
    struct dx_run before; /* of the next run */
    bool any;             /* there is one before it */
    uint32_t first_file;
};

int dx_payload_encode(const struct dx_run *runs, size_t count, uint32_t first_file,
                      struct dx_buf *out, struct dx_error *err);
int dx_payload_rebase(struct dx_span payload, uint32_t from, uint32_t to, struct dx_buf *out,
                      struct dx_error *err);
int dx_payload_open(struct dx_payload *p, const struct dx_payload_owner *owner,
                    struct dx_span payload, const char *name, struct dx_error *err);
int dx_payload_next(struct dx_payload *p, struct dx_run *run); /* 1 a run, 0 the end */

#endif
