/* SPDX-License-Identifier: Apache-2.0
 * A publisher whose clock is behind: the clock of the file system says when a version stopped being
 * current, by which a collector reckons --keep-for.
 */
#include "builder/publish/publish.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "builder/maintain/gc.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

#define BEHIND_S (7 * 86400)

static unsigned failures;
static time_t behind;

/* In place of the library's: what the programs take for the time. */
time_t time(time_t *t)
{
    struct timespec now;
    time_t s;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    s = now.tv_sec - behind;
    if (t != NULL)
        *t = s;
    return s;
}

static void publish(struct dx_test_root *r, char version[DX_VERSION_NAME])
{
    struct dx_publish_options o = { .root = r->path,
                                    .memory = DX_PUBLISH_MEMORY_MIN,
                                    .threads = 1,
                                    .force = true,
                                    .now_us = (int64_t)time(NULL) * 1000000 };
    struct dx_publish_result result;
    struct dx_error err = DX_ERROR_INIT;

    if (dx_publish(&o, &result, &err) != DX_OK) {
        (void)fprintf(stderr, "publish: %s\n", err.text);
        abort();
    }
    memcpy(version, result.version, DX_VERSION_NAME);
    dx_publish_result_release(&result);
}

static void collect(const struct dx_test_root *r, struct dx_gc_result *result)
{
    struct dx_gc_options o = DX_GC_OPTIONS_INIT;
    struct dx_error err = DX_ERROR_INIT;

    o.root = r->path;
    o.keep = 1;
    o.remove = true;
    o.max_share = 100;
    EXPECT(dx_gc(&o, result, &err) == DX_OK, "gc: %s", err.text);
}

int main(void)
{
    struct dx_gc_result result;
    struct dx_test_root r;
    char version[DX_VERSION_NAME];

    behind = BEHIND_S;
    dx_test_root_make(&r, 10, 1);
    publish(&r, version);
    behind = 0;
    collect(&r, &result);
    EXPECT(result.condemned == 0, "--keep-for 24h: %u versions are to go, a moment after",
           result.condemned);
    dx_test_root_remove(&r);
    return failures == 0 ? 0 : 1;
}
