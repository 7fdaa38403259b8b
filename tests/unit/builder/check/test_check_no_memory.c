/* SPDX-License-Identifier: Apache-2.0
 * A sound root is verified and inspected while memory runs out: that is an error, and never damage. */
#include "builder/check/verify.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>

#include "base/buf.h"
#include "builder/check/inspect.h"
#include "builder/publish/publish.h"
#include "tests/runner/fail_alloc.h"
#include "tests/support/small_root.h"

struct words {
    char text[300];
};

static void keep_words(void *ctx, const char *text)
{
    struct words *w = ctx;

    (void)snprintf(w->text, sizeof w->text, "%s", text);
}

static int verify(void *ctx, struct dx_error *err)
{
    struct words w = { "" };
    const struct dx_verify_options o = { .root = ctx,
                                         .deep = true,
                                         .tmp_dir = "/tmp",
                                         .memory = DX_PUBLISH_MEMORY_MIN,
                                         .threads = 1,
                                         .found = keep_words,
                                         .ctx = &w };
    struct dx_verify_result result;
    int rc = dx_verify(&o, &result, err);

    return rc < 0 || result.damages == 0 ? rc : dx_fail(err, DX_E_CORRUPT, "damage: %s", w.text);
}

static int inspect(void *ctx, struct dx_error *err)
{
    struct dx_buf json = DX_BUF_INIT(1 << 20);
    int rc = dx_inspect_root(ctx, &json, err);

    dx_buf_release(&json);
    return rc;
}

/* Each file of the version, whole, as JSON and as text. */
static int inspect_files(void *ctx, struct dx_error *err)
{
    const struct dx_test_root *r = ctx;
    struct dx_buf json = DX_BUF_INIT(4 << 20), text = DX_BUF_INIT(4 << 20);
    char folder[160];
    struct dirent *e;
    DIR *d;
    int rc = DX_OK;

    (void)snprintf(folder, sizeof folder, "%s/index/%s", r->path, r->version);
    d = opendir(folder);
    if (d == NULL)
        return dx_no_memory(err, "test");
    while (rc == DX_OK && (e = readdir(d)) != NULL) {
        char path[PATH_MAX];

        if (e->d_name[0] == '.')
            continue;
        dx_buf_clear(&json);
        dx_buf_clear(&text);
        (void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        rc = dx_inspect_file(path, true, &json, err);
        if (rc == DX_OK)
            rc = dx_inspect_text(dx_span_of(json.data, json.size), &text, err);
        if (rc == DX_OK && (json.failed || text.failed || text.size == 0))
            rc = dx_no_memory(err, "test");
    }
    (void)closedir(d);
    dx_buf_release(&json);
    dx_buf_release(&text);
    return rc;
}

static const char *tags_of(unsigned i, unsigned dataset, unsigned row)
{
    static const char *const kinds[] = { NULL, "[\"news\"]", "[\"a b\",\"news\"]", "no list" };

    return kinds[(i * 31 + dataset * 17 + row * 5) % 4];
}

int main(void)
{
    struct dx_test_shape shape;
    struct dx_test_root r;
    size_t failures;

    dx_test_root_usual(&shape);
    shape.tags = tags_of;
    dx_test_root_make_of(&r, 12, 3, &shape);
    dx_test_root_grow(&r, 4);
    failures = fail_alloc_each("verify", FAIL_ALLOC_GOES_ON | 300, verify, r.path);
    failures += fail_alloc_each("inspect", 250, inspect, r.path);
    failures += fail_alloc_each("inspect files", FAIL_ALLOC_GOES_ON | 200, inspect_files, &r);
    dx_test_root_remove(&r);
    return failures > 0;
}
