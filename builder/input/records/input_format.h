/* SPDX-License-Identifier: Apache-2.0
 * input_format.h - what the records of an input are: TSV, CSV, JSON lines, CDX or a plain list.
 *
 *   struct dx_input_head head = { name, bytes, whole };        dx_records_head
 *   rc = dx_input_format_find(&head, DX_RECORD_AUTO, wants_columns, &format, &err);
 *
 * AUTO looks at the name, then at the first lines (100 at most). What is not certain is refused
 * with DX_E_INVALID and the --format that says it: a table taken for a list stores whole lines as
 * URLs, and nothing else would notice. Formats that ingest does not read are DX_E_UNSUPPORTED with
 * a way out (foreign_format.h). A format that the caller names is believed; only binary formats,
 * lines that end in CR alone, and a table with another delimiter throughout are refused then too.
 * No I/O; any thread.
 */
#ifndef DX_BUILDER_INPUT_RECORDS_INPUT_FORMAT_H
#define DX_BUILDER_INPUT_RECORDS_INPUT_FORMAT_H

#include "base/bytes.h"
#include "base/error.h"
#include "builder/input/records/input_records.h"

struct dx_input_head {
    const char *name;
    struct dx_span bytes;
    bool whole; /* bytes are all of the input */
};

/* wants_columns: the caller names columns, so that delimiters are meant as such. */
int dx_input_format_find(const struct dx_input_head *head, enum dx_record_format asked,
                         bool wants_columns, enum dx_record_format *format, struct dx_error *err);

/* The name, without a .gz and the like, ends so, in any case. */
bool dx_input_named(const char *name, const char *suffix);

/* The input is one JSON array, whose elements are the records. */
bool dx_record_is_wrapped(enum dx_record_format format, struct dx_span head);

#endif
