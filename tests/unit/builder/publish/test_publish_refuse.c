/* SPDX-License-Identifier: Apache-2.0
 * A replacement of which one file is faulty waits as a whole, whichever of its files it is: taken without that file, it would be
 * published as all that the dataset has.
 */
#include "base/file.h"
#include "builder/publish/publish.h"
#include "builder/publish/publish_plan.h"
#include "tests/support/fail.h"
#include "tests/support/root_registry.h"
#include "tests/support/small_root.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define FIRST 10 /* part of the replacement */
#define PARTS 3

static int failures;

static void part_path(const struct dx_test_root *r, unsigned part, char path[160])
{
    (void)snprintf(path, 160, "%s/urls/dataset_id=1/domain_prefix=00-ff/part-%05u.parquet", r->path,
                   part);
}

/* Dataset 1 is replaced by files with its own rows. */
static void replace(const struct dx_test_root *r)
{
    struct dx_dataset_registry *registry = NULL;
    struct dx_error err = DX_ERROR_INIT;

    for (unsigned part = FIRST; part < FIRST + PARTS; part++)
        dx_test_root_again(r->path, part);
    if (root_registry(&registry, r->path, &err) < 0 ||
        dx_dataset_registry_replace(registry, 1, FIRST, &err) < 0 ||
        dx_dataset_registry_replaced(registry, 1, FIRST, FIRST + PARTS, &err) < 0 ||
        dx_dataset_registry_save(registry, r->path, &err) < 0)
        FAIL("%s", err.text);
    dx_dataset_registry_free(&registry);
}

/* Of the current version, after a publish: how many lake files it has and how many are left out. */
static void publish(const struct dx_test_root *r, uint64_t *files, size_t *left_out)
{
    struct dx_publish_options o = { .root = r->path,
                                    .memory = DX_PUBLISH_MEMORY_MIN,
                                    .threads = 1,
                                    .now_us = 1763719200000000,
                                    .parts_max = 8 };
    struct dx_publish_result result;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_publish(&o, &result, &err);

    *files = 0;
    *left_out = 0;
    CHECK(rc == DX_OK, "publish: %s", err.text);
    if (rc < 0)
        return;
    *files = dx_manifest_current(&result.manifest)->lake_files;
    *left_out = result.left_out.count;
    dx_publish_result_release(&result);
}

static void test_faulty_part(unsigned part)
{
    struct dx_buf sound = DX_BUF_INIT(64u << 20);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_test_root r;
    uint64_t files;
    size_t left_out;
    char path[160];

    dx_test_root_make(&r, 40, 2);
    replace(&r);
    part_path(&r, part, path);
    if (dx_file_read(path, 64u << 20, &sound, &err) < 0 ||
        dx_file_replace(path, dx_span_str("PAR1 no Parquet\n"), &err) < 0)
        FAIL("%s", err.text);
    publish(&r, &files, &left_out);
    CHECK(files == 2 && left_out == PARTS, "part %u is faulty: %llu files, %zu left out", part,
          (unsigned long long)files, left_out);
    if (dx_file_replace(path, dx_span_of(sound.data, sound.size), &err) < 0)
        FAIL("%s", err.text);
    publish(&r, &files, &left_out);
    CHECK(files == 1 + PARTS && left_out == 0, "part %u is back: %llu files, %zu left out", part,
          (unsigned long long)files, left_out);
    dx_buf_release(&sound);
    dx_test_root_remove(&r);
}

/* What is new of it, a dry run says before. */
static void test_plan(void)
{
    struct dx_publish_plan plan;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_test_root r;
    uint64_t bytes = 0;

    dx_test_root_make(&r, 40, 2);
    replace(&r);
    for (unsigned part = FIRST; part < FIRST + PARTS; part++) {
        struct stat st;
        char path[160];

        part_path(&r, part, path);
        if (stat(path, &st) != 0)
            FAIL("%s", path);
        bytes += (uint64_t)st.st_size;
    }
    CHECK(dx_publish_plan(&(struct dx_publish_options){ .root = r.path }, &plan, &err) == DX_OK &&
              plan.files == PARTS + 1 && plan.files_new == PARTS && plan.bytes_new == bytes &&
              plan.bytes > bytes && plan.files_out == 1,
          "%llu files, %llu new with %llu bytes, not %llu: %s", (unsigned long long)plan.files,
          (unsigned long long)plan.files_new, (unsigned long long)plan.bytes_new,
          (unsigned long long)bytes, err.text);
    dx_test_root_remove(&r);
}

int main(void)
{
    for (unsigned part = FIRST; part < FIRST + PARTS; part++)
        test_faulty_part(part);
    test_plan();
    return failures > 0;
}
