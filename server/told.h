/* SPDX-License-Identifier: Apache-2.0
 * told.h - what an answer says in numbers, read back from its first members, for the record of a request.
 *
 *   dx_told_read(body, &told);
 *
 * The text is our own: answers begin with ids and counts (docs/API.md). Members are looked at up to the first list
 * or object, and never more than DX_TOLD_BYTES of them; strings are passed over. Text that is no such object tells
 * nothing. Pure; any thread.
 */
#ifndef DX_SERVER_TOLD_H
#define DX_SERVER_TOLD_H

#include "base/bytes.h"

#include <stdbool.h>

#define DX_TOLD_BYTES 32768 /* an asked URL of 8 KiB in escapes, and what stands around it */

struct dx_told {
    uint64_t domain_id; /* if has_domain_id */
    bool has_domain_id;
    uint32_t dataset_id; /* 0: none */
    uint64_t datasets;   /* dataset_count */
    uint64_t rows;       /* row_count, or total of a listing */
};

void dx_told_read(struct dx_span body, struct dx_told *told);

#endif
