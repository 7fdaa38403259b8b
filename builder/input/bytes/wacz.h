/* SPDX-License-Identifier: Apache-2.0
 * wacz.h - the WARC files in a WACZ, the zip archive of a web archive, as ranges of it.
 *
 *   rc = dx_wacz_find(path, &range, &count, &err);      count 0: no WACZ; range to be freed
 *
 * A WACZ stores its members archive/NAME.warc.gz (or .warc) without compressing them again, so each is a
 * range of the file, and a record in it is found by its place in the WACZ. Ranges ascend and have no byte in
 * common. DX_E_UNSUPPORTED: members that zip has compressed or encrypted. DX_E_CORRUPT: a directory that
 * contradicts itself or the file. At most DX_WACZ_DIRECTORY_MAX bytes of directory. Reads the end of the
 * file and the local header of each such member (input_ranges.h): of objects too. One thread.
 */
#ifndef DX_BUILDER_INPUT_BYTES_WACZ_H
#define DX_BUILDER_INPUT_BYTES_WACZ_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define DX_WACZ_DIRECTORY_MAX (64u << 20)

struct dx_byte_range {
    uint64_t offset;
    uint64_t size;
};

int dx_wacz_find(const char *path, struct dx_byte_range **range, size_t *count,
                 struct dx_error *err);

#endif
