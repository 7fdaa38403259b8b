/* SPDX-License-Identifier: Apache-2.0
 * local_etag.h - what stands for an ETag where a file is the object.
 *
 * Files are replaced by rename, never written in place: the inode tells old from new, the times
 * tell when its number is used again. Pure.
 */
#ifndef DX_FETCH_LOCAL_ETAG_H
#define DX_FETCH_LOCAL_ETAG_H

#include "fetch/source.h"

#include <stdio.h>
#include <sys/stat.h>

static inline void dx_local_etag(const struct stat *st, char etag[DX_SOURCE_ETAG])
{
    (void)snprintf(etag, DX_SOURCE_ETAG, "\"%llx-%llx-%llx.%lx-%llx.%lx\"",
                   (unsigned long long)st->st_size, (unsigned long long)st->st_ino,
                   (unsigned long long)st->st_mtim.tv_sec, (unsigned long)st->st_mtim.tv_nsec,
                   (unsigned long long)st->st_ctim.tv_sec, (unsigned long)st->st_ctim.tv_nsec);
}

#endif
