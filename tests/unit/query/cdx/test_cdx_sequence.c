/* SPDX-License-Identifier: Apache-2.0
 * test_cdx_sequence.c - digests for revisits that are more than an answer may keep.
 */
#include "query/cdx/cdx_sequence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/cdx/cdx_query.h"
#include "query/view/problem.h"
#include "tests/support/damage.h"

#define DIGEST_BYTES ((size_t)1 << 20)

static unsigned failures;

/* An answer without them would say of revisits that there is no record before. */
static void check_too_many_digests(void)
{
    static const char query[] = "url=x&resolveRevisits=true";
    struct dx_buf text = DX_BUF_INIT(sizeof query);
    char *digest = calloc(DIGEST_BYTES, 1);
    struct dx_span columns[DX_CDX_COLUMNS];
    struct dx_error err = DX_ERROR_INIT;
    struct dx_problem problem;
    struct dx_cdx_sequence q;
    struct dx_cdx_ask ask;
    size_t rows = 0;
    int rc;

    if (digest == NULL)
        abort();
    EXPECT(dx_cdx_query_parse(dx_span_str(query), DX_CDX_WAYBACK, &text, &ask, &problem) == 1 &&
               dx_cdx_sequence_init(&q, &ask, &problem) == 1,
           "%s", problem.detail);
    do {
        for (size_t i = 0; i < DX_CDX_COLUMNS; i++)
            columns[i] = dx_span_str("-");
        (void)snprintf(digest, DIGEST_BYTES, "%zu", rows);
        columns[DX_CDX_DIGEST] = dx_span_of(digest, DIGEST_BYTES);
        rc = dx_cdx_sequence_row(&q, columns, 20200101000000, &err);
        rows++;
    } while (rc == 1 && rows < 2 * DX_CDX_REVISITS_BYTES / DIGEST_BYTES);
    EXPECT(rc == DX_E_LIMIT && rows == DX_CDX_REVISITS_BYTES / DIGEST_BYTES, "row %zu: %d, %s",
           rows, rc, err.text);
    dx_cdx_sequence_release(&q);
    dx_buf_release(&text);
    free(digest);
}

int main(void)
{
    check_too_many_digests();
    return failures > 0;
}
