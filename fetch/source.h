/* SPDX-License-Identifier: Apache-2.0
 * source.h - where the bytes of objects come from.
 *
 *   rc = dx_source_open_local(&src, "/data/root", &err);
 *   struct dx_read reads[2] = { { "index/v/postings/000/postings.idx.zst", 0, 812, to }, ... };
 *   rc = dx_source_read(src, reads, 2, &err);        one wave: all of them, or an error
 *   dx_source_close(&src);
 *
 * An object name is a relative path with plain components: no "..", no empty component,
 * not absolute. A wave is complete or failed: nothing short is ever success. The caller
 * owns `to` and checks checksums; a source promises only that the bytes are those the
 * store returned for that range. May block; safe from several threads at once.
 */
#ifndef DX_FETCH_SOURCE_H
#define DX_FETCH_SOURCE_H

#include "base/bytes.h"
#include "base/error.h"

struct dx_source;

struct dx_read {
    const char *object;
    uint64_t offset;
    size_t size;
    uint8_t *to;
};

struct dx_source_ops {
    int (*read)(struct dx_source *src, const struct dx_read *reads, size_t count,
                struct dx_error *err);
    void (*close)(struct dx_source *src);
};

/* The first member of each kind of source. */
struct dx_source {
    const struct dx_source_ops *ops;
};

int dx_source_open_local(struct dx_source **src, const char *root, struct dx_error *err);
int dx_source_read(struct dx_source *src, const struct dx_read *reads, size_t count,
                   struct dx_error *err);
void dx_source_close(struct dx_source **src);

/* A lake file is named by parquet_root and its path, each of at most 512 bytes (docs/FORMAT.md). */
#define DX_OBJECT_NAME_MAX 1024

/* Whether name is a relative path of plain components, at most DX_OBJECT_NAME_MAX bytes. */
bool dx_object_name_valid(const char *name);

#endif
