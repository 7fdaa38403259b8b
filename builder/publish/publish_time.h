/* SPDX-License-Identifier: Apache-2.0
 * publish_time.h - the time that goes into names and manifests.
 *
 *   rc = dx_publish_time(&us, &fixed, &err);      whole seconds, in microseconds
 *
 * Now, or what SOURCE_DATE_EPOCH in the environment says, for builds that must be repeatable; then
 * *fixed is set. DX_E_INVALID: the variable is not such a number.
 */
#ifndef DX_BUILDER_PUBLISH_PUBLISH_TIME_H
#define DX_BUILDER_PUBLISH_PUBLISH_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

int dx_publish_time(int64_t *us, bool *fixed, struct dx_error *err);

#endif
