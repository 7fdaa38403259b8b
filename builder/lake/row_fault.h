/* SPDX-License-Identifier: Apache-2.0
 * row_fault.h - why a row of a foreign lake file must not be shown.
 *
 *   why = dx_lake_row_fault(form, &row);                  NULL: nothing is wrong with it
 *   why = dx_lake_given_fault(form, &row, requested);     of a row without such a fault: raw_url
 *   dx_lake_row_fault_text(why, &row, text);              "column host ...: http://WWW.a.com/, domain a.com"
 *
 * What a row says alone: scheme, host, path_query and domain are those of a canonical URL
 * (canon/row_form.h), domain_id and url_id (if the file has it) are theirs; raw_url, if there is one, is
 * a text whose canonical form is the row's URL or its requested_url. Where ingest put U+FFFD for bytes that are
 * not UTF-8, scheme and host are compared alone. Publish refuses a file
 * with such a row, or leaves the row out (`--foreign-rows skip`); then readers of lake files of
 * that version leave it out too: dx_lake_scan.skip_by in lake_scan.h. `form` is one thread's.
 */
#ifndef DX_BUILDER_LAKE_ROW_FAULT_H
#define DX_BUILDER_LAKE_ROW_FAULT_H

#include "builder/lake/lake_row.h"

struct dx_row_form;

#define DX_ROW_FAULT_TEXT 420

const char *dx_lake_row_fault(struct dx_row_form *form, const struct dx_lake_row *row);
/* requested: size 0: the file or the row has none. */
const char *dx_lake_given_fault(struct dx_row_form *form, const struct dx_lake_row *row,
                                struct dx_span requested);
/* Printable ASCII: a terminal or a log must not act on bytes of a row. */
void dx_lake_row_fault_text(const char *why, const struct dx_lake_row *row,
                            char out[DX_ROW_FAULT_TEXT]);

#endif
