/* SPDX-License-Identifier: Apache-2.0
 * list_line.h - whether a line of a list of URLs is one URL, or has columns behind or in front of it.
 *
 *   by = dx_list_line_split(line);     the byte that separates; DX_LIST_LINE_WHOLE: the line is one URL
 *   dx_list_line_has_blank(line)       a blank inside, not at the ends
 *   dx_span_has_control(text)          a control character inside, not at the ends
 *
 * The URL Standard removes tabs and line ends, and writes a blank as %20: columns would become part of the URL,
 * those behind a host part of its name. A line is not one URL if it has
 *   - a control character inside,
 *   - blanks with one of these behind: another URL with http or https, a # alone (a note), a date, a number of 8
 *     digits or more,
 *   - a date (2024-01-31) between commas, semicolons or bars, or from one to the end,
 *   - a comma or a semicolon in the host.
 * All other blanks and commas belong to the URL: real lists have "notes.html#Swiss Goats". No I/O; any thread.
 */
#ifndef DX_BUILDER_INPUT_RECORDS_LIST_LINE_H
#define DX_BUILDER_INPUT_RECORDS_LIST_LINE_H

#include <stdbool.h>

#include "base/bytes.h"

#define DX_LIST_LINE_WHOLE (-1)

int dx_list_line_split(struct dx_span line);
bool dx_list_line_has_blank(struct dx_span line);
bool dx_span_has_control(struct dx_span text);

#endif
