/* SPDX-License-Identifier: Apache-2.0
 * host_record.h - a record of a host and its pages: how both are written in host indexes.
 *
 *   url = dx_host_record_url(host, &buf);          a URL of the host, for dx_canon_url: in buf, or host itself. buf.failed: no memory
 *   why = dx_host_record_count(text, &count);      0 and 1 to DX_HOST_PAGES_MAX, DX_ROW_NO_PAGES, DX_ROW_COUNT_INVALID
 *
 * A host is a name, with or without a port; the same in SURT, which has a comma (com,example,www:8080), with a comma or ")" and
 * a path behind it or not; or a URL, of which only the host counts. A count is a whole number in decimal, as a double may have
 * it ("2.0") too; nothing, null and 0 mean that there are none. Any thread.
 */
#ifndef DX_BUILDER_INPUT_RECORDS_HOST_RECORD_H
#define DX_BUILDER_INPUT_RECORDS_HOST_RECORD_H

#include "base/buf.h"
#include "base/bytes.h"

struct dx_span dx_host_record_url(struct dx_span host, struct dx_buf *buf);
int dx_host_record_count(struct dx_span text, uint64_t *count);

#endif
