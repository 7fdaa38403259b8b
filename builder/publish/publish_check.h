/* SPDX-License-Identifier: Apache-2.0
 * publish_check.h - a version that was uploaded, read as a server will read it.
 *
 *   struct dx_publish_check c = { .remote_root = "s3://...", .local_root = dir, .mirror_dir = fresh,
 *                                 .cache = mirror, .entry = entry, .source = src, .options = &o, .threads = 8 };
 *   rc = dx_publish_check_run(&c, &err);
 *
 * Every file of entry comes back from the store into mirror_dir, a fresh folder, and has its size and
 * hash; the loader opens the version from the remote root with every block checked; some domains
 * over the whole range and one that is not there are answered as the version at local_root
 * (local_root/index/VERSION, as it was made) answers them, if it has no older parts, which are not
 * there; and the self-test of servers reads rows
 * of the lake through the store (query/answers/self_test.h).
 */
#ifndef DX_BUILDER_PUBLISH_PUBLISH_CHECK_H
#define DX_BUILDER_PUBLISH_PUBLISH_CHECK_H

#include "fetch/source.h"
#include "format/version/manifest.h"

#include <stdatomic.h>

struct dx_mirror;

struct dx_publish_check {
    const char *remote_root;
    const char *local_root;
    const char *mirror_dir;
    struct dx_mirror *cache;            /* gets what came back, and has the files of older parts */
    const struct dx_manifest *manifest; /* that the version will be in */
    const struct dx_manifest_version *entry;
    struct dx_source *source;
    const struct dx_source_options *options;
    unsigned threads;
    _Atomic uint64_t *bytes; /* may be NULL */
    _Atomic uint64_t *items;
};

int dx_publish_check_run(const struct dx_publish_check *c, struct dx_error *err);

#endif
