/* SPDX-License-Identifier: Apache-2.0
 * test_publish_merge_missing.c - parts are merged of a version that lacks lake files by permission: another publisher may have made it
 * between a publish and its merge. The new version lacks them too, so that they are taken again when they are back.
 */
#include "base/file.h"
#include "builder/publish/publish.h"
#include "format/version/manifest.h"
#include "tests/support/fail.h"
#include "tests/support/small_root.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void publish(const struct dx_test_root *r, bool merge, bool allowed,
                    struct dx_manifest_version *found)
{
    static const char *const names[] = { "dataset \"2\"" };
    struct dx_publish_options o = { .root = r->path,
                                    .memory = DX_PUBLISH_MEMORY_MIN,
                                    .threads = 1,
                                    .now_us = 1763719200000000,
                                    .parts_max = merge ? 2 : 8,
                                    .merge_max = 1,
                                    .merge = merge };
    struct dx_publish_result result;
    struct dx_error err = DX_ERROR_INIT;
    int rc;

    if (allowed)
        o.allow = (struct dx_publish_allow){ .dataset = names, .count = 1 };
    rc = dx_publish(&o, &result, &err);
    CHECK(rc >= 0, "publish: %s", err.text);
    *found = (struct dx_manifest_version){ .part_count = 99 };
    if (rc < 0)
        return;
    *found = *dx_manifest_current(&result.manifest); /* its numbers alone */
    dx_publish_result_release(&result);
}

int main(void)
{
    struct dx_manifest_version v;
    struct dx_test_root r;
    char pattern[160];
    char away[160];
    glob_t found;

    dx_test_root_make(&r, 40, 2);
    for (int i = 0; i < 3; i++)
        dx_test_root_grow(&r, 2);
    (void)snprintf(pattern, sizeof pattern, "%s/urls/dataset_id=2/*/*.parquet", r.path);
    (void)snprintf(away, sizeof away, "%s/away", r.path);
    if (glob(pattern, 0, NULL, &found) != 0 || found.gl_pathc != 1)
        abort();
    CHECK(rename(found.gl_pathv[0], away) == 0, "%s", away);
    publish(&r, false, true, &v);
    CHECK(v.missing_files == 1 && v.part_count > 0, "%u missing, %zu parts",
          (unsigned)v.missing_files, v.part_count);
    publish(&r, true, false, &v);
    CHECK(v.missing_files == 1 && v.part_count < 2, "merged: %u missing, %zu parts",
          (unsigned)v.missing_files, v.part_count);
    CHECK(rename(away, found.gl_pathv[0]) == 0, "%s", away);
    publish(&r, false, false, &v);
    CHECK(v.missing_files == 0 && v.lake_files == 5, "back: %u missing, %u files",
          (unsigned)v.missing_files, (unsigned)v.lake_files);
    globfree(&found);
    dx_test_root_remove(&r);
    return failures > 0;
}
