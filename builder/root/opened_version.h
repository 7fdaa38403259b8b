/* SPDX-License-Identifier: Apache-2.0
 * opened_version.h - the version that a command answers from.
 *
 *   struct dx_opened_version o = { .version = NULL };
 *   struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;     mirror_dir from the command line
 *   rc = dx_opened_version_open(&o, root, name, &options, &err);        name NULL: the current one
 *   rc = dx_opened_version_dataset(&o, "news", &id, &err);              by its name or its number; id:7 and name:7 say which
 *   rc = dx_dataset_said(&registry, version, "news", &id, &err);        the same without an opened version
 *   dx_opened_version_close(&o);                                        safe at any time
 *
 * Suppressions hold; what they hide of a domain is read when an answer needs it. A remote root is
 * reached as root.h says. A number that is another dataset's name is refused, not guessed.
 * For the version itself: loader/version.h. One thread.
 */
#ifndef DX_BUILDER_ROOT_OPENED_VERSION_H
#define DX_BUILDER_ROOT_OPENED_VERSION_H

#include "loader/version.h"

struct dx_opened_version {
    struct dx_caches *caches;
    struct dx_version *version;
    struct dx_canon *canon; /* of its suffix list */
};

int dx_opened_version_open(struct dx_opened_version *o, const char *root, const char *name,
                           const struct dx_version_options *options, struct dx_error *err);
int dx_opened_version_dataset(const struct dx_opened_version *o, const char *said, uint32_t *id,
                              struct dx_error *err);
int dx_dataset_said(const struct dx_registry *registry, const char *version, const char *said,
                    uint32_t *id, struct dx_error *err);
void dx_opened_version_close(struct dx_opened_version *o);

#endif
