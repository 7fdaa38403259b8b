/* SPDX-License-Identifier: Apache-2.0
 * The lake as a writer finds it, while a collector takes the list of a version away that the
 * manifest had a moment ago. */
#include "builder/lake/lake_snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "builder/lake/dataset_registry.h"
#include "builder/root/root.h"
#include "format/version/manifest.h"
#include "loader/version.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

static unsigned failures;

/* Before the first list is read, the oldest version goes: its list, and its entry if `whole`. */
struct beside {
    struct dx_source source;
    struct dx_source *below;
    const char *root;
    bool whole, done;
};

static void remove_entry(const char *root, const char *version)
{
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_error err = DX_ERROR_INIT;
    char path[200];

    (void)snprintf(path, sizeof path, "%s/index/manifest.json", root);
    if (dx_version_manifest(root, &m, &err) < 0 || dx_manifest_remove(&m, version, &err) < 0 ||
        dx_manifest_write(&m, &text, &err) < 0 ||
        dx_file_replace(path, dx_span_of(text.data, text.size), &err) < 0)
        abort();
    dx_buf_release(&text);
    dx_manifest_release(&m);
}

static void collect(struct beside *b)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_error err = DX_ERROR_INIT;
    char path[200];

    if (dx_version_manifest(b->root, &m, &err) < 0)
        abort();
    (void)snprintf(path, sizeof path, "%s/index/%s/" DX_FILE_FILES_TSV, b->root,
                   m.versions[0].version);
    if (unlink(path) < 0)
        abort();
    if (b->whole)
        remove_entry(b->root, m.versions[0].version);
    dx_manifest_release(&m);
}

static int read_beside(struct dx_source *source, const struct dx_source_batch *batch,
                       struct dx_error *err)
{
    struct beside *b = (struct beside *)source;

    if (!b->done && strstr(batch->reads[0].object, DX_FILE_FILES_TSV) != NULL) {
        b->done = true;
        collect(b);
    }
    return dx_source_read_batch(b->below, batch, err);
}

static int get_beside(struct dx_source *source, const struct dx_get *get, struct dx_buf *out,
                      char etag[DX_SOURCE_ETAG], struct dx_error *err)
{
    return dx_source_get(((struct beside *)source)->below, get, out, etag, err);
}

static void test_collected(bool whole)
{
    static const struct dx_source_ops ops = { .read = read_beside, .get = get_beside };
    struct dx_root below = DX_ROOT_INIT;
    struct dx_lake_snapshot now = DX_LAKE_SNAPSHOT_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_test_root r;
    int rc;

    dx_test_root_make(&r, 40, 2);
    dx_test_root_again(r.path, 1);
    dx_test_root_publish(&r);
    if (dx_root_open(&below, r.path, DX_ROOT_WRITE, &err) < 0)
        abort();
    struct beside b = { { .ops = &ops }, below.source, r.path, whole, false };
    struct dx_root remote = { .name = r.path, .source = &b.source, .store = below.store };

    rc = dx_lake_snapshot_open(&now, &remote, &err);
    if (whole)
        EXPECT(rc == DX_OK && now.named.current_count == 3, "%d, %zu files: %s", rc,
               now.named.current_count, err.text);
    else
        EXPECT(rc == DX_E_NOT_FOUND, "a list that is missing: %d: %s", rc, err.text);
    dx_lake_snapshot_close(&now);
    dx_root_close(&below);
    dx_test_root_remove(&r);
}

int main(void)
{
    test_collected(true);
    test_collected(false);
    return failures == 0 ? 0 : 1;
}
