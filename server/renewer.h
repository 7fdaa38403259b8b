/* SPDX-License-Identifier: Apache-2.0
 * renewer.h - the thread that renews the lease, whatever else loads or waits.
 *
 *   rc = dx_renewer_start(&r, current, ttl_ms, &err);
 *   clean = dx_renewer_stop(&r);        false: a renewal is under way and does not end soon
 *
 * Each third of the TTL; after a failure each thirtieth, and not less often than each 5 s. A failure is logged when
 * it is another one than the last, and so is the first success after it. One thread, the owner.
 */
#ifndef DX_SERVER_RENEWER_H
#define DX_SERVER_RENEWER_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct dx_current;
struct dx_renewer;

int dx_renewer_start(struct dx_renewer **r, struct dx_current *current, uint64_t ttl_ms,
                     struct dx_error *err);
bool dx_renewer_stop(struct dx_renewer **r); /* NULL is fine */

#endif
