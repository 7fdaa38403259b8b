/* SPDX-License-Identifier: Apache-2.0
 * row_record.h - a row of a table that has columns of its own, as a record in a batch.
 *
 *   size = dx_row_record_size(field, n);
 *   dx_row_record_put(field, n, to);                     size bytes
 *   ok = dx_row_record_get(record, field, n);            spans into the record
 *   dx_row_record_text(record, &text);                   fields with tabs between, as a rejects file shows them
 *
 * Fields stand in the order URL, time, dataset, extras; data == NULL is null. Four bytes of length
 * before each. No state; any thread.
 */
#ifndef DX_BUILDER_INPUT_RECORDS_ROW_RECORD_H
#define DX_BUILDER_INPUT_RECORDS_ROW_RECORD_H

#include "base/buf.h"
#include "base/bytes.h"

enum { DX_ROW_URL, DX_ROW_TS, DX_ROW_DATASET, DX_ROW_EXTRA };

size_t dx_row_record_size(const struct dx_span *field, size_t n);
void dx_row_record_put(const struct dx_span *field, size_t n, uint8_t *to);
bool dx_row_record_get(struct dx_span record, struct dx_span *field, size_t n);
void dx_row_record_text(struct dx_span record, struct dx_buf *out);

#endif
