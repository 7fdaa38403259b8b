/* SPDX-License-Identifier: Apache-2.0
 * A line of the log of requests: whatever the target's bytes are, it is one line of valid JSON
 * within its bound; and a traceparent gives 32 hex digits or nothing.
 */
#include "server/observe/request_json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_request_record r = { .number = size, .status = 200, .summary.has_domain_id = true };
    struct dx_buf b = DX_BUF_INIT(DX_REQUEST_LINE_MAX);
    json_t *doc;

    if (dx_trace_id(dx_span_of(data, size), r.trace) != (strlen(r.trace) == DX_TRACE_TEXT - 1))
        abort();
    r.target = dx_span_of(data, size);
    memcpy(r.principal, data, size < sizeof r.principal ? size : sizeof r.principal - 1);
    dx_request_json(&r, &b);
    if (b.failed || memchr(b.data, '\n', b.size) != b.data + b.size - 1)
        abort();
    doc = json_loadb((const char *)b.data, b.size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    if (doc == NULL || !json_is_object(doc))
        abort();
    json_decref(doc);
    dx_buf_release(&b);
    return 0;
}
