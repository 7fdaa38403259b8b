/* SPDX-License-Identifier: Apache-2.0
 * test_ingest_upload.c - finished files get numbers behind those that are there, and replace none.
 */
#include "builder/ingest/ingest_upload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "builder/lake/dataset_registry.h"
#include "builder/root/progress.h"
#include "builder/root/root.h"
#include "builder/root/work_folder.h"
#include "tests/support/fail.h"

#define FILES 40

static int failures;
static char top[64];

static void put(const char *below, const char *text)
{
    struct dx_error err = DX_ERROR_INIT;
    char path[300];

    (void)snprintf(path, sizeof path, "%s/root/%s", top, below);
    *strrchr(path, '/') = '\0';
    if (dx_dir_make(path, &err) < 0)
        FAIL("%s", err.text);
    (void)snprintf(path, sizeof path, "%s/root/%s", top, below);
    if (dx_file_replace(path, dx_span_str(text), &err) < 0)
        FAIL("%s", err.text);
}

static void holds(const char *below, const char *want)
{
    struct dx_buf text = DX_BUF_INIT(1 << 16);
    struct dx_error err = DX_ERROR_INIT;
    char path[300];

    (void)snprintf(path, sizeof path, "%s/root/%s", top, below);
    if (dx_file_read(path, text.max, &text, &err) < 0)
        FAIL("%s", err.text);
    else if (!dx_span_equal(dx_span_of(text.data, text.size), dx_span_str(want)))
        FAIL("%s holds %.*s, not %s", below, (int)text.size, (const char *)text.data, want);
    dx_buf_release(&text);
}

/* Files 0..n-1 hold their numbers; three of dataset 2, then of dataset 3, range 10-1f. */
static size_t make(const char *dir, struct dx_ingest_made *made, size_t n)
{
    struct dx_error err = DX_ERROR_INIT;

    for (size_t i = 0; i < n; i++) {
        char path[PATH_MAX];
        char text[16];

        made[i] = (struct dx_ingest_made){
            .number = i,
            .size = 1,
            .path = i < 3 ? (struct dx_lake_path){ .dataset_id = 2, .first = 0, .last = 255 }
                          : (struct dx_lake_path){ .dataset_id = 3, .first = 16, .last = 31 }
        };
        (void)dx_ingest_made_name(dir, i, path, NULL);
        (void)snprintf(text, sizeof text, "%zu", i);
        if (dx_file_replace(path, dx_span_str(text), &err) < 0)
            FAIL("%s", err.text);
    }
    return n;
}

static bool stop(void)
{
    return true;
}

int main(void)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_root remote = DX_ROOT_INIT;
    struct dx_work_folder work = DX_WORK_FOLDER_INIT;
    struct dx_left_out left = DX_LEFT_OUT_INIT;
    struct dx_lake_list lake = { NULL, 0, 0 };
    struct dx_ingest_made made[FILES];
    struct dx_dataset_registry *registry = NULL;
    struct dx_progress progress;
    struct dx_ingest_upload u = { .remote = &remote, .lake = &lake, .made = made };
    char root[80];
    char path[PATH_MAX];

    (void)snprintf(top, sizeof top, "/tmp/dx-test-upload-XXXXXX");
    if (mkdtemp(top) == NULL)
        return 1;
    (void)snprintf(root, sizeof root, "%s/root", top);
    put("urls/dataset_id=2/domain_prefix=00-ff/part-00000.parquet", "old");
    put("urls/dataset_id=2/domain_prefix=00-ff/part-00004.parquet", "old");
    put("urls/dataset_id=2/domain_prefix=00/part-00009.parquet", "old");
    put("urls/dataset_id=2/domain_prefix=00-ff/of-others.parquet", "old");
    if (dx_root_open(&remote, root, DX_ROOT_WRITE, &err) < 0 ||
        dx_lake_list_store(&lake, &left, remote.store, &err) < 0 ||
        dx_work_folder_make(&work, top, "ingest", &err) < 0) {
        FAIL("%s", err.text);
        return 1;
    }
    /* Put there by another process behind our listing. */
    put("urls/dataset_id=2/domain_prefix=00-ff/part-00006.parquet", "new");
    /* Of dataset 3 the files up to part 6 were deleted. */
    if (dx_dataset_registry_parse(
            &registry,
            dx_span_str("{\"format\":\"domaindex-registry\",\"version\":1,"
                        "\"next_dataset_id\":4,\"datasets\":[{\"dataset_id\":2,"
                        "\"name\":\"a\",\"next_part\":2},{\"dataset_id\":3,"
                        "\"name\":\"b\",\"next_part\":7}]}"),
            "R", &err) < 0) {
        FAIL("%s", err.text);
        return 1;
    }
    dx_progress_init(&progress, -1);
    u.progress = &progress;
    u.registry = registry;
    u.dir = work.path;
    u.made_count = make(work.path, made, FILES);
    if (dx_ingest_upload_run(&u, &err) < 0 || u.done != FILES)
        FAIL("%zu done: %s", u.done, err.text);
    if (progress.total_bytes != FILES)
        FAIL("%llu bytes to upload", (unsigned long long)progress.total_bytes);
    holds("urls/dataset_id=2/domain_prefix=00-ff/part-00000.parquet", "old");
    holds("urls/dataset_id=2/domain_prefix=00-ff/part-00005.parquet", "0");
    holds("urls/dataset_id=2/domain_prefix=00-ff/part-00006.parquet", "new");
    holds("urls/dataset_id=2/domain_prefix=00-ff/part-00007.parquet", "2");
    holds("urls/dataset_id=2/domain_prefix=00-ff/part-00008.parquet", "1");
    holds("urls/dataset_id=3/domain_prefix=10-1f/part-00007.parquet", "3");
    holds("urls/dataset_id=3/domain_prefix=10-1f/part-00043.parquet", "39");
    (void)dx_ingest_made_name(work.path, 7, path, NULL);
    if (access(path, F_OK) == 0)
        FAIL("%s is left", path);

    /* A file that cannot be read: the first error, and how far it went. */
    u.made_count = make(work.path, made, 1);
    (void)unlink(path);
    made[0].number = 7;
    if (dx_ingest_upload_run(&u, &err) >= 0 || strncmp(err.text, "0 of 1 files", 12) != 0)
        FAIL("%s", err.text);
    u.made_count = make(work.path, made, FILES);
    u.stopped = stop;
    if (dx_ingest_upload_run(&u, &err) != DX_E_IO || strstr(err.text, "interrupted") == NULL)
        FAIL("stopped: %s", err.text);

    dx_dataset_registry_free(&registry);
    dx_lake_list_release(&lake);
    dx_root_close(&remote);
    dx_work_folder_remove(&work);
    (void)dx_dir_remove(top, &err);
    return failures == 0 ? 0 : 1;
}
