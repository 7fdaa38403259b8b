/* SPDX-License-Identifier: Apache-2.0
 * warc_head.h - the head of a WARC record, and that of the HTTP reply in it.
 *
 *   n = dx_warc_head_size(bytes);                the head with its empty line, or what stands before the line at
 *                                                which it was cut; 0: it does not end in `bytes`
 *   why = dx_warc_head_parse(head, &record);     NULL, or what is wrong with it
 *   value = dx_head_field(head, "WARC-Date");    the first of that name, in any case; data == NULL: none
 *   n = dx_http_head_size(block);                with its empty line, whatever its lines are; 0 likewise
 *   status = dx_http_status(block);              "200"; data == NULL: no HTTP reply
 *   mime = dx_head_mime(value);                  "text/html" of "text/html; charset=utf-8"
 *
 * A crawler that died and began again leaves a record that ends anywhere with the next one behind it. So each
 * line of a sound head is a field or continues one, and no line begins or ends with a version: only a
 * URL may end so, if what is behind it is not a head by itself.
 *
 * WARC 0.17 to 1.1 (ISO 28500). Lines end with CRLF or LF. A folded value (lines that begin with a
 * blank) comes as it stands, with its line ends. Spans point into the bytes given. No I/O; any
 * thread.
 */
#ifndef DX_BUILDER_INPUT_ARCHIVE_WARC_HEAD_H
#define DX_BUILDER_INPUT_ARCHIVE_WARC_HEAD_H

#include "base/bytes.h"

enum dx_warc_type {
    DX_WARC_OTHER, /* request, warcinfo, continuation, unknown ones */
    DX_WARC_RESPONSE,
    DX_WARC_RESOURCE,
    DX_WARC_CONVERSION,
    DX_WARC_REVISIT,
    DX_WARC_METADATA
};

struct dx_warc_head {
    enum dx_warc_type type;
    uint64_t content_length;
    struct dx_span url;          /* without the <> that some writers put around it */
    struct dx_span content_type; /* of the block */
};

bool dx_warc_begins(struct dx_span bytes); /* "WARC/1", "WARC/0" */
size_t dx_warc_head_size(struct dx_span bytes);
size_t dx_http_head_size(struct dx_span block);
const char *dx_warc_head_parse(struct dx_span head, struct dx_warc_head *record);
enum dx_warc_type dx_warc_type(struct dx_span name);

struct dx_span dx_head_field(struct dx_span head, const char *name);
struct dx_span dx_head_mime(struct dx_span value);
struct dx_span dx_http_status(struct dx_span block);

#endif
