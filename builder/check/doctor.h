/* SPDX-License-Identifier: Apache-2.0
 * doctor.h - whether this machine and a root are fit for work: limits, kernel, memory, disk, certificate, clock,
 *            manifest, lake files, store.
 *
 *   struct dx_doctor_ask ask = { .root = "/srv/domaindex", .cache_dir = NULL, .write = false, .now_us = now };
 *   faults = dx_doctor_examine(&ask, take, ctx);
 *
 * Calls take for each finding, in the order of examination. A fault is what stops a command or a server; a warning is
 * what will, or may. Reads little: the manifest, the registry, lists and sizes of files, and what a server reads at its
 * start. `verify` reads the rest. Writes nothing unless ask.write, which tries the conditions of the store (fetch/store/store.h) on objects below probe/.
 * One thread.
 */
#ifndef DX_BUILDER_CHECK_DOCTOR_H
#define DX_BUILDER_CHECK_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dx_finding_level { DX_FINDING_SOUND, DX_FINDING_WARNING, DX_FINDING_FAULT };

#define DX_FINDING_TEXT 1400

struct dx_finding {
    enum dx_finding_level level;
    const char *check;  /* "descriptors": one of a fixed set */
    const char *text;   /* what was found */
    const char *advice; /* what to do; NULL: nothing */
};

typedef void dx_finding_take(void *ctx, const struct dx_finding *f);

struct dx_doctor_ask {
    const char *root;            /* NULL: the machine alone */
    const char *cache_dir;       /* of a server with a remote root; NULL: not examined */
    const char *tls_certificate; /* of a server; NULL: not examined */
    const char *tls_key;         /* NULL: in the same file */
    bool write;
    int64_t now_us;
};

size_t dx_doctor_examine(const struct dx_doctor_ask *ask, dx_finding_take *take, void *ctx);

/* "ok", "warning", "fault" */
const char *dx_finding_level_name(enum dx_finding_level level);

#endif
