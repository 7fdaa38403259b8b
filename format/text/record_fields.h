/* SPDX-License-Identifier: Apache-2.0
 * record_fields.h - the fields of one TSV or CSV record.
 *
 *   n = dx_fields_tsv(record, field, max);
 *   n = dx_fields_csv(record, field, max, &scratch, &ok);
 *
 * At most max fields are returned; the rest of the record is not looked at. TSV: tabs split,
 * every other byte is literal. CSV: RFC 4180; a quote inside an unquoted field is literal;
 * ok is false where text follows a closing quote or a quote is not closed. Fields point
 * into the record, or into scratch (cleared first) where "" had to become ".
 * No state; any thread, each with a scratch of its own.
 */
#ifndef DX_FORMAT_TEXT_RECORD_FIELDS_H
#define DX_FORMAT_TEXT_RECORD_FIELDS_H

#include "base/buf.h"
#include "base/bytes.h"

size_t dx_fields_tsv(struct dx_span record, struct dx_span *field, size_t max);
size_t dx_fields_csv(struct dx_span record, struct dx_span *field, size_t max,
                     struct dx_buf *scratch, bool *ok);

#endif
