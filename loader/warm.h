/* SPDX-License-Identifier: Apache-2.0
 * warm.h - a version made ready before requests come to it.
 *
 *   rc = dx_warm_maps(v, beside, &err);    all that is mapped is in memory; <0: it cannot be read. beside: loader/warm_map.h
 *   rc = dx_warm_keys(v, hot, &err);       the domains that were asked lately, looked up
 *
 * Parts that another open version has, and those that were verified when they were opened, are in memory already. Mapped files are
 * read by loader/warm_map.h. A file that was cut, or that the disk does not give, is an error here and no signal. Looking up
 * checks the blocks that are touched. Blocking; any thread that has v pinned.
 */
#ifndef DX_LOADER_WARM_H
#define DX_LOADER_WARM_H

#include <stdbool.h>

#include "base/error.h"

struct dx_hot_keys;
struct dx_version;

int dx_warm_maps(struct dx_version *v, bool beside, struct dx_error *err);
int dx_warm_keys(struct dx_version *v, const struct dx_hot_keys *hot, struct dx_error *err);

#endif
