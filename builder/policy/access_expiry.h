/* SPDX-License-Identifier: Apache-2.0
 * access_expiry.h - when a token ends, as people say it.
 *
 *   rc = dx_access_expiry("90d", now_s, &expires_s, &err);     s, m, h, d; or a date, or a date and time
 *
 * Whole seconds, after now, before the year 10000. Pure.
 */
#ifndef DX_BUILDER_POLICY_ACCESS_EXPIRY_H
#define DX_BUILDER_POLICY_ACCESS_EXPIRY_H

#include "base/error.h"

#include <stdint.h>

int dx_access_expiry(const char *text, int64_t now_s, int64_t *expires_s, struct dx_error *err);

#endif
