/* SPDX-License-Identifier: Apache-2.0
 * stored_record.h - one record of a WARC or ARC file as the file stores it: plain, or as a gzip member or a
 * zstd frame of its own.
 *
 *   rc = dx_stored_record_open(&s, bytes, max, &err);       1 whole, 0 more bytes are needed
 *   s.size                                                  of `bytes` that are the record as it is stored
 *   s.record                                                the record, decompressed: borrowed until close
 *   s.target                                                WARC-Target-URI, of ARC the URL; data == NULL: it has none
 *   dx_stored_record_close(&s);                             safe at any time
 *
 * The record must begin with "WARC/", its header must end within 64 KiB and have one Content-Length, or it must
 * begin with the line that heads a record of ARC (arc_head.h); and what is stored must be that long: the
 * block and the line ends behind it, which may be left out. At most
 * `max` bytes decompressed (DX_E_LIMIT). Anything else is DX_E_CORRUPT with the reason. Any thread.
 */
#ifndef DX_BUILDER_INPUT_LOCATED_STORED_RECORD_H
#define DX_BUILDER_INPUT_LOCATED_STORED_RECORD_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"

struct dx_stored_record {
    size_t size;
    struct dx_span record;
    struct dx_span target;
    struct dx_buf text; /* private */
};

int dx_stored_record_open(struct dx_stored_record *s, struct dx_span bytes, size_t max,
                          struct dx_error *err);
void dx_stored_record_close(struct dx_stored_record *s);

#endif
