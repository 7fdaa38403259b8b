/* SPDX-License-Identifier: Apache-2.0
 * download.h - a whole object into a local file, by ranges, some at a time.
 *
 *   struct dx_download d = { .source = src, .object = name, .size = n, .pin = { n, etag } };
 *   rc = dx_download_run(&d, "/tmp/x.part", &err);
 *
 * The file grows from its beginning, so what is there after a crash is what came: a run that finds
 * a shorter file goes on at its end (in whole chunks), one that finds a longer one starts again. If
 * the ETag is not known, the first reply's is demanded of the others. The caller checks the hash of
 * the whole. A window that failed for what may pass (BUSY, TIMEOUT, IO, which is also a body that
 * was cut; CORRUPT once) is asked for again. Room is asked of the file system before the first
 * byte. Memory: DX_DOWNLOAD_WINDOW. Several may run at once; one run a file.
 */
#ifndef DX_FETCH_DOWNLOAD_H
#define DX_FETCH_DOWNLOAD_H

#include "fetch/source.h"

#include <stdatomic.h>

#define DX_DOWNLOAD_CHUNK (4u << 20)
#define DX_DOWNLOAD_WINDOW (16u << 20)

struct dx_download {
    struct dx_source *source;
    const char *object;
    uint64_t size;
    struct dx_pin pin;
    bool fresh;              /* new connections: the bytes of the last run were wrong */
    uint64_t resumed;        /* result: bytes that were there already */
    _Atomic uint64_t *bytes; /* += what came, for progress; may be NULL */
};

int dx_download_run(struct dx_download *d, const char *path, struct dx_error *err);

#endif
