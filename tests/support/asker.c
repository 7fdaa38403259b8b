/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/asker.h"

#include <stdio.h>
#include <stdlib.h>

static void must(int rc, const struct dx_error *err)
{
    if (rc < 0) {
        fprintf(stderr, "%s\n", err->text);
        abort();
    }
}

static void open_caches(struct asker *a, const struct dx_version_options *options)
{
    struct dx_error err = DX_ERROR_INIT;

    must(dx_caches_new(&a->caches, options, &err), &err);
}

static void open_version(struct asker *a, const char *root,
                         const struct dx_version_options *options)
{
    struct dx_error err = DX_ERROR_INIT;

    must(dx_version_open_named(&a->v, root, NULL, a->caches, options, &err), &err);
    must(dx_version_canon_new(a->v, &a->canon, &err), &err);
}

void open_asker(struct asker *a, const char *root)
{
    const struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;

    open_caches(a, &options);
    open_version(a, root, &options);
}

void open_asker_with_rules(struct asker *a, const char *root, enum dx_suppressions_live_use use)
{
    const struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_error err = DX_ERROR_INIT;

    open_caches(a, &options);
    must(dx_suppressions_live_open(&a->caches->suppressions, root, NULL, use, &err), &err);
    open_version(a, root, &options);
}

void close_asker(struct asker *a)
{
    dx_canon_free(&a->canon);
    dx_version_unpin(a->v);
    dx_caches_free(&a->caches);
}
