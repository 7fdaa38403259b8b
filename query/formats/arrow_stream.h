/* SPDX-License-Identifier: Apache-2.0
 * arrow_stream.h - rows as an Arrow IPC stream (format version 1.5: metadata V5).
 *
 *   dx_arrow_schema(&batch, &out);        once
 *   dx_arrow_batch(&batch, &out);         its rows as a record batch; also of none
 *   dx_arrow_end(&out);
 *
 * TEXT and JSON are utf8, HEX64 and U64 are uint64, F64 is double, TIME is timestamp[us, tz=UTC]; all
 * are nullable. Metadata is a flatbuffer that is written here: the three tables that a stream of flat
 * columns needs are not worth a library that Debian 12 does not have. Errors are those of the
 * buffer. Any thread.
 */
#ifndef DX_QUERY_FORMATS_ARROW_STREAM_H
#define DX_QUERY_FORMATS_ARROW_STREAM_H

#include "query/formats/column_batch.h"

void dx_arrow_schema(const struct dx_column_batch *b, struct dx_buf *out);
void dx_arrow_batch(const struct dx_column_batch *b, struct dx_buf *out);
void dx_arrow_end(struct dx_buf *out);

#endif
