/* SPDX-License-Identifier: Apache-2.0
 * zip_directory.h - where the members of a zip archive lie, from the directory at its end.
 *
 *   why = dx_zip_end(tail, size, &dir);            from the last DX_ZIP_TAIL bytes of the file, or all of them
 *   bytes = ... [dir.offset, dir.offset + dir.size) of the file ...
 *   while ((rc = dx_zip_next(&bytes, &member)) > 0)
 *       why = dx_zip_data(head, &member, &offset)  from the DX_ZIP_LOCAL bytes at member.local
 *
 * `why` is NULL, or what is wrong. zip64 is read, of archives in several files none. Of a member its directory
 * entry counts, not what its local header says, but for where its data begin. Sizes and offsets are the
 * archive's own: callers check them against the file. No I/O; any thread.
 *
 * libzip does not say where the data of a member lie, and minizip asks for a byte at a time.
 */
#ifndef DX_BUILDER_INPUT_BYTES_ZIP_DIRECTORY_H
#define DX_BUILDER_INPUT_BYTES_ZIP_DIRECTORY_H

#include "base/bytes.h"

#define DX_ZIP_TAIL ((64u << 10) + 22 + 20 + 56) /* a comment, and the three records of the end */
#define DX_ZIP_LOCAL 30

struct dx_zip_directory {
    uint64_t offset;
    uint64_t size;
};

struct dx_zip_member {
    struct dx_span name;
    bool is_stored; /* neither compressed nor encrypted */
    uint64_t size;  /* of its data in the archive */
    uint64_t local; /* offset of its local header */
};

bool dx_zip_begins(struct dx_span bytes);
const char *dx_zip_end(struct dx_span tail, uint64_t file_size, struct dx_zip_directory *dir);
int dx_zip_next(struct dx_bytes *directory,
                struct dx_zip_member *member); /* 0: the end; -1: damaged */
const char *dx_zip_data(struct dx_span head, const struct dx_zip_member *member, uint64_t *offset);

#endif
