/* SPDX-License-Identifier: Apache-2.0
 * warc_rows.h - the captures in a WARC, WAT, WET or ARC file as records of an input.
 *
 *   rc = dx_warc_rows_is(in, asked, &err);               DX_RECORD_WARC, DX_RECORD_ARC, or 0: another format
 *   rc = dx_warc_rows_open(&w, in, format, &want, &err); `in` at its front, borrowed
 *   do
 *       rc = dx_warc_rows_fill(w, &batch, &err);         as dx_records_fill
 *   while (rc > 0);
 *   dx_warc_rows_close(&w);
 *
 *   cols = dx_warc_rows_columns(w);                      for dx_columns_pick, labels and names
 *
 * Captures are the records of the types response, resource, revisit and conversion (WET) whose
 * target is an http, https or ftp URL, and those of a WAT: metadata records whose JSON describes
 * such a record. Requests, warcinfo, other metadata, and targets like dns: or urn: are passed over.
 *
 * A column is one of url, timestamp, status, mime, digest (without sha1:), type, redirect, ip,
 * filename, offset, length (the names of CDX fields too); any field of the record's head by its own
 * name (WARC-...); http.NAME of the HTTP reply; and of a WAT a dotted path into its JSON. Of a WAT all
 * of them are those of the record that it describes, where it says them. The URL is
 * WARC-Target-URI, the time WARC-Date.
 *
 * A record of an ARC file is read as the WARC record that it would be (arc_head.h). Nothing but its first line
 * tells where one begins, so --format arc reads a file that begins with any record, and without it
 * one whose first record, filedesc://, is sound, or damaged in a file named .arc.gz.
 *
 * The place of a record (dx_record.place) is its member, where members and records are one to one,
 * or its bytes in a plain file. Its line number is the number of the record in the file, all types
 * counted, from 1.
 *
 * A damaged record is DX_FLAW_MALFORMED, its text the offset and the reason; reading goes on at the
 * next member, or line, that begins with "WARC/", or as a record of an ARC file does. Only damage in a file whose members hold many
 * records each is an error. Contents are passed over, not held,
 * but for the JSON of a WAT: over DX_LINE_MAX it is DX_FLAW_TOO_LONG. Digests of contents are not
 * checked; checksums of members are. One thread at a time.
 */
#ifndef DX_BUILDER_INPUT_ARCHIVE_WARC_ROWS_H
#define DX_BUILDER_INPUT_ARCHIVE_WARC_ROWS_H

#include "builder/input/records/input_columns.h"

struct dx_input;
struct dx_warc_rows;

/* Reads nothing away. asked: DX_RECORD_AUTO, _WARC or _ARC; others are 0. */
int dx_warc_rows_is(struct dx_input *in, enum dx_record_format asked, struct dx_error *err);
int dx_warc_rows_open(struct dx_warc_rows **w, struct dx_input *in, enum dx_record_format format,
                      struct dx_columns_want *want, struct dx_error *err);
void dx_warc_rows_close(struct dx_warc_rows **w);
int dx_warc_rows_fill(struct dx_warc_rows *w, struct dx_batch *batch, struct dx_error *err);
const struct dx_columns *dx_warc_rows_columns(const struct dx_warc_rows *w);

#endif
