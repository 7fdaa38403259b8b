/* SPDX-License-Identifier: Apache-2.0
 * Segments are kept on disk while memory runs out. */
#include "builder/exchange/queue/transfer.h"

#include <stdlib.h>

#include "base/file.h"
#include "tests/runner/fail_alloc.h"

static int keep_key(void *ctx, const char *key, struct dx_error *err)
{
    (void)err;
    *(bool *)ctx = key[0] != '\0';
    return DX_OK;
}

/* What a run that failed has left behind is where the next one goes on. */
static int keep(void *ctx, struct dx_error *err)
{
    static const struct dx_segment_journal_head head = { .count = 2, .dataset = "d" };
    struct dx_transfer t = DX_TRANSFER_INIT;
    bool any = false;
    int rc = dx_transfer_open(&t, ctx, "id-key", err);

    if (rc == 0)
        rc = dx_transfer_begin(&t, ctx, "id-key", &head, err);
    for (uint32_t i = t.join.expected; rc >= 0 && i < 2; i++) {
        const struct dx_segment s = { i, 2, dx_span_str(i == 0 ? "first" : "second") };

        rc = dx_transfer_add(&t, &s, err);
        if (rc >= 0)
            rc = dx_transfer_sync(&t, err);
        if (rc >= 0 && dx_transfer_same(&t, &s, err) != 1)
            rc = err->code;
    }
    if (rc >= 0 && t.state == DX_TRANSFER_OPEN)
        rc = dx_transfer_check(&t, err);
    if (rc >= 0 && t.state == DX_TRANSFER_OPEN)
        rc = dx_transfer_mark(&t, DX_TRANSFER_STORED, err);
    for (uint32_t i = 0; rc >= 0 && i < 2; i++) {
        const struct dx_segment s = { i, 2, dx_span_str(i == 0 ? "first" : "second") };

        rc = dx_transfer_again(&t, &s, err);
    }
    if (rc >= 0)
        rc = dx_transfer_sync(&t, err);
    if (rc >= 0)
        rc = dx_transfer_check(&t, err);
    if (rc >= 0)
        rc = dx_transfer_each(ctx, keep_key, &any, err);
    if (rc >= 0 && !any)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: no transfer", (const char *)ctx);
    if (rc >= 0)
        rc = dx_transfer_remove(&t, err);
    dx_transfer_close(&t);
    return rc;
}

int main(void)
{
    char spool[] = "/tmp/test_queue_no_memory.XXXXXX";
    struct dx_error err = DX_ERROR_INIT;
    size_t failures;

    if (mkdtemp(spool) == NULL)
        abort();
    failures = fail_alloc_each("transfer", 0, keep, spool);
    (void)dx_dir_remove(spool, &err);
    return failures > 0;
}
