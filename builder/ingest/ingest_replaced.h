/* SPDX-License-Identifier: Apache-2.0
 * ingest_replaced.h - inputs of a run in place of which the lake has rows of an older state.
 *
 *   rc = dx_ingest_replaced_init(&r, options, &err);
 *   rc = dx_ingest_replaced_check(&r, locator, &err);      of each row of the lake; data == NULL: none
 *   dx_ingest_replaced_release(&r);                        also of one that is zero
 *
 * A file that was replaced since it was indexed gives new rows beside those that lead nowhere any more: the check is
 * DX_E_INVALID then. Looks at a file where the locator is of another one than the last. May block. One thread at a
 * time.
 */
#ifndef DX_BUILDER_INGEST_INGEST_REPLACED_H
#define DX_BUILDER_INGEST_INGEST_REPLACED_H

#include "base/buf.h"
#include "builder/ingest/ingest_options.h"

struct dx_ingest_replaced {
    struct dx_replaced_input *input; /* sorted by name */
    size_t count;
    struct dx_buf name; /* of the file that was the same when looked at last */
    uint64_t was_size, was_hash;
};

int dx_ingest_replaced_init(struct dx_ingest_replaced *r, const struct dx_ingest_options *options,
                            struct dx_error *err);
int dx_ingest_replaced_check(struct dx_ingest_replaced *r, struct dx_span locator,
                             struct dx_error *err);
void dx_ingest_replaced_release(struct dx_ingest_replaced *r);

#endif
