/* SPDX-License-Identifier: Apache-2.0
 * A manifest without room for another version is reported before the work of a publish, and while
 * collectors have room in it; and what cannot be merged within the memory is read whole. */
#include "builder/publish/publish.h"
#include "builder/publish/publish_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/version.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

static unsigned failures;

/* Versions like the first one, until there are `count`. */
static void fill(struct dx_manifest *m, size_t count)
{
    struct dx_error err = DX_ERROR_INIT;

    while (m->version_count < count) {
        uint32_t sequence = (uint32_t)m->version_count + 1;
        struct dx_manifest_version *v = NULL;
        char name[DX_VERSION_NAME];

        if (!dx_version_name_make(sequence, m->versions[0].published_us, name) ||
            dx_manifest_add(m, name, &v, &err) < 0 ||
            dx_manifest_version_copy(&m->versions[0], v, &err) < 0)
            abort();
        memcpy(v->version, name, sizeof name);
        v->sequence = sequence;
        m->sequence = sequence;
    }
}

static size_t text_size(const struct dx_manifest *m)
{
    struct dx_buf text = DX_BUF_INIT((size_t)2 * DX_MANIFEST_MAX);
    struct dx_error err = DX_ERROR_INIT;
    size_t size;

    EXPECT(dx_manifest_write(m, &text, &err) == DX_OK, "%s", err.text);
    size = text.size;
    dx_buf_release(&text);
    return size;
}

/* A domain in more known files than a merge can have open with so little memory: not an end, as
 * compact publishes what is new first. */
static void test_many_files(void)
{
    struct dx_publish_options options = { .memory = DX_PUBLISH_MEMORY_MIN,
                                          .threads = 4,
                                          .now_us = INT64_C(1763719200000000) };
    struct dx_publish_result result;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_test_root r;

    dx_test_root_make(&r, 40, 1);
    for (unsigned part = 10; part <= 22; part++)
        dx_test_root_again(r.path, part);
    options.root = r.path;
    options.full = true;
    EXPECT(dx_publish(&options, &result, &err) == DX_OK, "%s", err.text);
    dx_publish_result_release(&result);
    dx_test_root_again(r.path, 30);
    options.full = false;
    EXPECT(dx_publish(&options, &result, &err) == DX_OK, "%s", err.text);
    EXPECT(!result.incremental && strstr(result.why, "--memory") != NULL &&
               result.files_scanned == 15,
           "%llu files were scanned: %s", (unsigned long long)result.files_scanned, result.why);
    dx_publish_result_release(&result);
    dx_test_root_remove(&r);
}

int main(void)
{
    struct dx_publish_options options = { .root = "R" };
    struct dx_publish_result result = { .manifest = DX_MANIFEST_INIT };
    struct dx_manifest *m = &result.manifest;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_publish_job job;
    struct dx_test_root r;
    size_t one;

    dx_publish_job_init(&job, &options, &result);
    EXPECT(dx_publish_job_room(&job, &err) == DX_OK, "no manifest: %s", err.text);
    dx_test_root_make(&r, 40, 2);
    if (dx_version_manifest(r.path, m, &err) < 0)
        abort();
    fill(m, 2);
    one = text_size(m);
    fill(m, 3);
    one = text_size(m) - one;
    fill(m, (size_t)(DX_MANIFEST_MAX - (2u << 20)) / one);
    EXPECT(dx_publish_job_room(&job, &err) == DX_OK, "%zu versions: %s", m->version_count,
           err.text);
    fill(m, (size_t)(DX_MANIFEST_MAX - (256u << 10)) / one);
    EXPECT(text_size(m) < DX_MANIFEST_MAX, "it can be written still");
    EXPECT(dx_publish_job_room(&job, &err) == DX_E_LIMIT &&
               strstr(err.text, "domaindex gc") != NULL,
           "%zu versions: %s", m->version_count, err.text);
    dx_publish_job_release(&job);
    dx_publish_result_release(&result);
    dx_test_root_remove(&r);
    test_many_files();
    return failures == 0 ? 0 : 1;
}
