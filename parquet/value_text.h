/* SPDX-License-Identifier: Apache-2.0
 * value_text.h - a value of a column as text, by its logical type.
 *
 *   rc = dx_pq_text_check(&footer, leaf, &err);             refuses decimals without a text, by name
 *   if (dx_pq_text_is_null(node, &v, i)) ...                 those of the type NULL too, whatever is stored
 *   if (dx_pq_text_is_plain(node))  ... v.spans[i] ...       strings: the bytes are the text
 *   else  dx_pq_value_text(node, &v, i, &buf);               appended
 *   if (dx_pq_text_is_number(node, text)) ...                JSON holds it without quotes, as it does true and false
 *   if (dx_pq_text_is_hex(node, bytes)) dx_pq_text_hex(bytes, &buf);   bytes that are not UTF-8, as of FIXED
 *
 * Integers in decimal, of 8 and 16 bits cut to these, booleans true and false, decimals with their point, floats with the fewest
 * digits that give them back, dates and times in ISO 8601 with microseconds at most (those without
 * a zone count as UTC; outside of years 0000 to 9999: the number itself), intervals as ISO 8601
 * durations (P1M2DT3.004S), UUIDs with hyphens, FIXED without a logical type in hexadecimal, BSON as its bytes. Of BYTE_ARRAY without a
 * logical type a value is text if it is UTF-8, and hexadecimal if the caller asks dx_pq_text_is_hex. The value must not be null. No I/O; any thread.
 */
#ifndef DX_PARQUET_VALUE_TEXT_H
#define DX_PARQUET_VALUE_TEXT_H

#include "base/buf.h"
#include "parquet/footer.h"
#include "parquet/page.h"

int dx_pq_text_check(const struct dx_pq_footer *f, uint32_t leaf, struct dx_error *err);
bool dx_pq_text_is_null(const struct dx_pq_node *node, const struct dx_pq_values *v, uint32_t i);
bool dx_pq_text_is_plain(const struct dx_pq_node *node);
bool dx_pq_text_is_number(const struct dx_pq_node *node, struct dx_span text);
bool dx_pq_text_is_hex(const struct dx_pq_node *node, struct dx_span bytes);
void dx_pq_text_hex(struct dx_span bytes, struct dx_buf *out);
void dx_pq_value_text(const struct dx_pq_node *node, const struct dx_pq_values *v, uint32_t i,
                      struct dx_buf *out);

#endif
