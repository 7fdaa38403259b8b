/* SPDX-License-Identifier: Apache-2.0
 * root_registry.h - the registry of a root in a folder.
 *
 *   rc = root_registry(&registry, root, &err);    DX_OK, empty where there is none; dx_dataset_registry_free
 */
#ifndef DX_TESTS_ROOT_REGISTRY_H
#define DX_TESTS_ROOT_REGISTRY_H

#include "base/error.h"
#include "builder/lake/dataset_registry.h"

int root_registry(struct dx_dataset_registry **registry, const char *root, struct dx_error *err);

#endif
