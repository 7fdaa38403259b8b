/* SPDX-License-Identifier: Apache-2.0
 * arc_head.h - the line that heads a record of an ARC file, the Internet Archive's format before WARC.
 *
 *   n = dx_arc_head_size(bytes);                 the line with its end; 0: it does not end in `bytes`
 *   if (dx_arc_head_parse(line, &record)) ...    false: no record begins there
 *   at = dx_arc_find(line, is_line_start);       where in the line a record begins; line.size: nowhere
 *   dx_arc_head_as_warc(&record, &buf);          the head of the WARC record that it would be
 *
 * Version 1 is "URL IP-address date MIME-type length", version 2 has result code, checksum, location,
 * offset and file name in front of the length. The version follows from the line, not from the first record
 * of the file, which may be damaged. A record that was cut behind the URL of its line, with the next record behind it, is
 * distinguished by an address between two URLs; one that was cut inside of its URL is not: that may have another one
 * inside. Elsewhere than at the start of a line a record is found by the schemes http, https, ftp, dns and filedesc.
 * A URL or MIME type may hold spaces: what divides the line is the
 * last date of 12 to 18 digits behind an address. The first record of a file is filedesc://NAME.
 *
 * As WARC it has WARC-Type (response; warcinfo of filedesc:), WARC-Target-URI, WARC-Date,
 * WARC-IP-Address, Content-Type, Content-Length and of version 2 WARC-Payload-Digest (the checksum) and
 * Result-Code. Spans point into the line. No I/O; any thread.
 */
#ifndef DX_BUILDER_INPUT_ARCHIVE_ARC_HEAD_H
#define DX_BUILDER_INPUT_ARCHIVE_ARC_HEAD_H

#include "base/buf.h"
#include "base/bytes.h"

struct dx_arc_head {
    struct dx_span url;
    struct dx_span ip;
    struct dx_span date;
    struct dx_span mime;
    struct dx_span status;   /* of version 2, or data == NULL */
    struct dx_span checksum; /* likewise */
    struct dx_span length;   /* as it stands: not always a number */
};

bool dx_arc_begins(struct dx_span bytes); /* a file: "filedesc://" */
bool dx_arc_may_begin(
    struct dx_span bytes); /* a record, by its first 17 bytes: a scheme and ':', no blank */
size_t dx_arc_head_size(struct dx_span bytes);
bool dx_arc_head_parse(struct dx_span line, struct dx_arc_head *record);
size_t dx_arc_find(struct dx_span line, bool is_line_start);
void dx_arc_head_as_warc(const struct dx_arc_head *record, struct dx_buf *out);

#endif
