/* SPDX-License-Identifier: Apache-2.0
 * Small files are merged, versions are copied, and what could go is planned, while memory runs out: the root stays as it was. */
#include "builder/maintain/compact.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "builder/maintain/backup.h"
#include "builder/maintain/dataset_remove.h"
#include "builder/maintain/gc.h"
#include "tests/runner/fail_alloc.h"
#include "tests/support/small_root.h"

static int compact(void *ctx, struct dx_error *err)
{
    const struct dx_compact_options o = { .publish = { .root = ctx,
                                                       .memory = DX_PUBLISH_MEMORY_MIN,
                                                       .threads = 1,
                                                       .force = true,
                                                       .now_us = INT64_C(1763719200000000),
                                                       .fixed_time = true },
                                          .test_scale = 100000 };
    struct dx_compact_result result;
    int rc = dx_compact(&o, &result, err);

    if (rc < 0)
        return rc;
    if (result.publish.damaged.count > 0) /* the machine's fault, not the file's */
        rc = dx_fail(err, DX_E_CORRUPT, "damaged: %llu files",
                     (unsigned long long)result.publish.damaged.count);
    dx_compact_result_release(&result);
    return rc;
}

/* Each copy is a fresh one; what runs before it left is of copies that failed. */
static int back_up(void *ctx, struct dx_error *err)
{
    static unsigned copies;
    struct dx_backup_options o = DX_BACKUP_OPTIONS_INIT;
    struct dx_backup_result result;
    char to[128];
    int rc;

    (void)snprintf(to, sizeof to, "%s.copy%u", (const char *)ctx, copies++);
    o.root = ctx;
    o.to = to;
    o.all = true;
    o.threads = 1;
    rc = dx_backup(&o, &result, err);
    if (rc == DX_OK && result.objects_copied != result.objects)
        rc = dx_fail(err, DX_E_CORRUPT, "%llu objects of %llu",
                     (unsigned long long)result.objects_copied, (unsigned long long)result.objects);
    (void)dx_dir_remove(to, NULL);
    return rc;
}

static int collect(void *ctx, struct dx_error *err)
{
    struct dx_gc_options o = DX_GC_OPTIONS_INIT;
    struct dx_gc_result result;
    int rc;

    o.root = ctx;
    o.keep = 1;
    o.keep_for_s = 0;
    o.max_share = 100;
    o.threads = 1;
    rc = dx_gc(&o, &result, err);
    if (rc == DX_OK && result.condemned + result.waiting == 0)
        rc = dx_fail(err, DX_E_CORRUPT, "no version would go");
    return rc;
}

static int remove_dataset(void *ctx, struct dx_error *err)
{
    static const char *const names[] = { "dataset \"2\"" };
    struct dx_dataset_remove r = { .root = ctx, .names = names, .count = 1, .dry_run = true };
    int rc = dx_dataset_remove_run(&r, err);

    if (rc == DX_OK && (r.result[0].dataset_id != 2 || r.result[0].files != 1))
        rc = dx_fail(err, DX_E_CORRUPT, "%llu files", (unsigned long long)r.result[0].files);
    free(r.result);
    return rc;
}

static const char *tags_of(unsigned i, unsigned dataset, unsigned row)
{
    return (i + dataset + row) % 2 == 0 ? "[\"a\",\"b\"]" : NULL;
}

int main(void)
{
    struct dx_test_shape shape;
    struct dx_test_root r;
    size_t failures;

    dx_test_root_usual(&shape);
    shape.tags = tags_of;
    dx_test_root_make_of(&r, 12, 2, &shape);
    dx_test_root_grow(&r, 3);
    failures = fail_alloc_each("compact", FAIL_ALLOC_GOES_ON | 60, compact, r.path);
    dx_test_root_publish(&r);
    failures += fail_alloc_each("back up", FAIL_ALLOC_GOES_ON | 60, back_up, r.path);
    failures += fail_alloc_each("collect", FAIL_ALLOC_GOES_ON | 60, collect, r.path);
    failures += fail_alloc_each("remove", FAIL_ALLOC_GOES_ON | 60, remove_dataset, r.path);
    dx_test_root_remove(&r);
    return failures > 0;
}
