/* SPDX-License-Identifier: Apache-2.0
 * cdx_line.h - lines of the indexes of web archives: CDX and CDXJ.
 *
 *   kind = dx_cdx_kind(line);                    DX_CDX_NONE, _LINE, _JSON, _CLUSTER (of a ZipNum index)
 *   dx_cdx_passed_over(line)                     " CDX N b a ...", "!meta", "@alias": no records
 *   ok = dx_cdx_layout(head, &layout);           from the header of an input or the fields of its first line
 *   i = dx_cdx_column(&layout, "statuscode");    by name or letter; -1: the lines have no such field
 *   n = dx_cdx_split(line, field, max);          "-" is null
 *   ok = dx_cdx_json(line, &time, &json);        the parts of a CDXJ line; "-" in the JSON is for the caller
 *
 * A CDX line has fields between single spaces; its header gives each a letter. Without a header 9,
 * 10, 11 and 14 fields are those that OpenWayback and pywb write, and 7 those that the Wayback Machine's
 * CDX server answers with. A CDXJ line is "key time {json}".
 * No I/O; any thread.
 */
#ifndef DX_BUILDER_INPUT_BYTES_CDX_LINE_H
#define DX_BUILDER_INPUT_BYTES_CDX_LINE_H

#include "base/bytes.h"

#define DX_CDX_FIELDS_MAX 40

enum dx_cdx_kind { DX_CDX_NONE, DX_CDX_LINE, DX_CDX_JSON, DX_CDX_CLUSTER };

struct dx_cdx_layout {
    const char *name[DX_CDX_FIELDS_MAX]; /* of each field; "" for letters without a name */
    char letter[DX_CDX_FIELDS_MAX];      /* 0: none, as the lines have no header */
    size_t count;
};

enum dx_cdx_kind dx_cdx_kind(struct dx_span line);
bool dx_cdx_is_header(struct dx_span line);
bool dx_cdx_passed_over(struct dx_span line);
bool dx_cdx_layout(struct dx_span head, struct dx_cdx_layout *layout);
int dx_cdx_column(const struct dx_cdx_layout *layout, const char *name);
/* What a field is called that is given by its letter; else the name as given. */
const char *dx_cdx_name(const char *given);
size_t dx_cdx_split(struct dx_span line, struct dx_span *field, size_t max);
bool dx_cdx_json(struct dx_span line, struct dx_span *time, struct dx_span *json);

#endif
