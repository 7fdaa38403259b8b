/* SPDX-License-Identifier: Apache-2.0
 * cdx_revisits.h - the first record of each digest, for records that say "as before" (resolveRevisits).
 *
 *   dx_cdx_revisits_init(&r, ask);
 *   rc = dx_cdx_revisits_row(&r, columns, &err);       in order; columns: DX_CDX_COLUMNS of them
 *   dx_cdx_revisits_release(&r);
 *
 * A row that is not a revisit (mimetype warc/revisit) is remembered by its digest, the first of each. A revisit gets mimetype and statuscode
 * of that one, and its length, offset and filename as orig.length, orig.offset and orig.filename; of others these are "-". Values are borrowed
 * until the next row. Over DX_CDX_REVISITS_BYTES: DX_E_LIMIT. One thread at a time.
 */
#ifndef DX_QUERY_CDX_CDX_REVISITS_H
#define DX_QUERY_CDX_CDX_REVISITS_H

#include "base/buf.h"
#include "query/cdx/cdx_ask.h"

#define DX_CDX_REVISITS_BYTES ((size_t)32 << 20)

struct dx_cdx_revisits {
    bool blanks;        /* pywb's: what that one does not have is an empty text */
    struct dx_buf text; /* of each: sizes of six values, then these */
    uint64_t *slots;    /* 1 + place in text; 0: free */
    size_t slot_count;  /* a power of two */
    size_t count;
};

void dx_cdx_revisits_init(struct dx_cdx_revisits *r, const struct dx_cdx_ask *ask);
int dx_cdx_revisits_row(struct dx_cdx_revisits *r, struct dx_span *columns, struct dx_error *err);
void dx_cdx_revisits_release(struct dx_cdx_revisits *r);

#endif
