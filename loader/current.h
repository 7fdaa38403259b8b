/* SPDX-License-Identifier: Apache-2.0
 * current.h - the version that new requests are answered from.
 *
 *   dx_current_open(&cur, root, &options, &err);     loads what the manifest names
 *   struct dx_version *v = dx_current_pin(cur);      never NULL after open
 *   ... answer from v ...
 *   dx_version_unpin(v);                             from any thread
 *   v = dx_current_pin_again(cur, held);             no lock while `held` is the current one
 *   dx_current_reload(cur, &err);                    1 swapped, 0 nothing newer, <0 kept the old
 *   dx_current_health(cur, &health);                 what /readyz says
 *   dx_current_close(&cur);
 *
 * A reload reads the manifest only if it is another one than the last: by a conditional GET over a
 * source that is kept open, or by stat. Options are copied, texts and all.
 *
 * A version is unmapped when it is no longer current and its last pin is gone. Pin takes one
 * short lock, unpin none; both are safe from every thread. Reload is for one thread at a time.
 *
 * A version of which objects were found replaced, cut or gone is still the current one: what can
 * be read of it is right, and what cannot is an error of that request. Its health is degraded, as
 * it is while reloads fail.
 */
#ifndef DX_LOADER_CURRENT_H
#define DX_LOADER_CURRENT_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct dx_current;
struct dx_version;
struct dx_version_options;

int dx_current_open(struct dx_current **cur, const char *root,
                    const struct dx_version_options *options, struct dx_error *err);
void dx_current_close(struct dx_current **cur);
struct dx_version *dx_current_pin(struct dx_current *cur);

/* held: NULL, or a version that the caller has pinned, of which it keeps its pin. A loop that
 * holds one answers request after request without a lock that other loops take. */
struct dx_version *dx_current_pin_again(struct dx_current *cur, struct dx_version *held);
void dx_version_unpin(struct dx_version *v);
int dx_current_reload(struct dx_current *cur, struct dx_error *err);

struct dx_current_health {
    bool sound;
    uint64_t objects_broken; /* reads of the current version that found another object, or none */
    char text[640];          /* "sound", or what is wrong */
};

/* Any thread. */
void dx_current_health(struct dx_current *cur, struct dx_current_health *health);

#endif
