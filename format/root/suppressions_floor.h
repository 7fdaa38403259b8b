/* SPDX-License-Identifier: Apache-2.0
 * suppressions_floor.h - index/suppressions.floor: what the log of suppressions had at least.
 *
 *   dx_suppressions_floor_of(&log, &floor);
 *   rc = dx_suppressions_floor_write(&floor, &buf, &err);
 *   rc = dx_suppressions_floor_parse(text, name, &floor, &err);
 *   rc = dx_suppressions_floor_check(&log, &floor, root, &err);    DX_E_CORRUPT: the log was lost, or is older
 *
 *   dx_suppressions_floor_bind(&floor, &manifest);     upwards only; true: the manifest says more now
 *   rc = dx_suppressions_floor_check_bound(&log, &manifest, root, &err);    as check, by what the manifest says
 *
 * The log alone cannot say that it is an older copy, or that it was there. The floor is written
 * after the log, so a log is never behind it unless lines were removed. Read it before the log. No
 * lines: any log will do. The manifest says the same of an earlier moment, so that nothing is shown again
 * where log and floor are both gone. No state; any thread.
 */
#ifndef DX_FORMAT_ROOT_SUPPRESSIONS_FLOOR_H
#define DX_FORMAT_ROOT_SUPPRESSIONS_FLOOR_H

#include "base/hash.h"
#include "format/root/suppressions.h"
#include "format/version/manifest.h"

#define DX_SUPPRESSIONS_FLOOR_MAX 256 /* bytes */

struct dx_suppressions_floor {
    uint64_t lines;
    struct dx_hash128 hash; /* of the header and these lines; zero if there are none */
};

void dx_suppressions_floor_of(const struct dx_suppressions *log,
                              struct dx_suppressions_floor *floor);
int dx_suppressions_floor_write(const struct dx_suppressions_floor *floor, struct dx_buf *out,
                                struct dx_error *err);
int dx_suppressions_floor_parse(struct dx_span text, const char *name,
                                struct dx_suppressions_floor *floor, struct dx_error *err);

/* Whether the log begins with these lines. */
bool dx_suppressions_floor_holds(const struct dx_suppressions_floor *floor,
                                 const struct dx_suppressions *log);
int dx_suppressions_floor_check(const struct dx_suppressions *log,
                                const struct dx_suppressions_floor *floor, const char *root,
                                struct dx_error *err);

bool dx_suppressions_floor_bind(const struct dx_suppressions_floor *floor, struct dx_manifest *m);
int dx_suppressions_floor_check_bound(const struct dx_suppressions *log,
                                      const struct dx_manifest *m, const char *root,
                                      struct dx_error *err);

#endif
