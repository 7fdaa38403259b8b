/* SPDX-License-Identifier: Apache-2.0
 * xml_out.h - text inside XML: content of an element, or of an attribute in double quotes.
 *
 *   dx_xml_text(&buf, span);        & < > " escaped; what XML 1.0 cannot hold is U+FFFD
 *
 * Control characters but for tab and line feed, and bytes that are not UTF-8, cannot stand in an XML document in any
 * form. Errors are those of the buffer. No state.
 */
#ifndef DX_BASE_XML_OUT_H
#define DX_BASE_XML_OUT_H

#include "base/bytes.h"

struct dx_buf;

void dx_xml_text(struct dx_buf *buf, struct dx_span s);

#endif
