/* SPDX-License-Identifier: Apache-2.0
 * request_json.h - one request as one line of JSON. docs/OPERATIONS.md lists the members.
 *
 *   dx_request_json(&record, &buf);         appends the line and its newline
 *
 * Of what a client sent only record->target is written, if it has one: escaped, so that the line
 * stays one line of valid JSON whatever its bytes are, and cut so that the line has
 * DX_REQUEST_LINE_MAX bytes at most. All else is numbers and words of ours. No I/O; any thread.
 */
#ifndef DX_SERVER_OBSERVE_REQUEST_JSON_H
#define DX_SERVER_OBSERVE_REQUEST_JSON_H

#include "base/buf.h"
#include "server/observe/request_record.h"

/* What a pipe takes in one piece (PIPE_BUF), so that lines of several writers do not mix. */
#define DX_REQUEST_LINE_MAX 4096

/* So many bytes of it escaped, which leaves a thousand for all else: twice what that takes. Of a
 * longer target no more than these need to be there. */
#define DX_REQUEST_TARGET_MAX 3000

void dx_request_json(const struct dx_request_record *r, struct dx_buf *out);

#endif
