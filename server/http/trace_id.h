/* SPDX-License-Identifier: Apache-2.0
 * trace_id.h - the trace that a client says its request belongs to (W3C Trace Context,
 * traceparent).
 *
 *   char trace[DX_TRACE_TEXT];
 *   dx_trace_id(value, trace);          32 lower-case hex digits, or ""
 *
 * Anything that is not a well-formed traceparent gives "": what reaches a log is 16 bytes as hex
 * digits, never text. Any thread.
 */
#ifndef DX_SERVER_HTTP_TRACE_ID_H
#define DX_SERVER_HTTP_TRACE_ID_H

#include "base/bytes.h"

#define DX_TRACE_TEXT 33

bool dx_trace_id(struct dx_span traceparent, char trace[DX_TRACE_TEXT]);

#endif
