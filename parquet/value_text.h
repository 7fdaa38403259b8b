/* SPDX-License-Identifier: Apache-2.0
 * value_text.h - a value of a column as text, by its logical type.
 *
 *   rc = dx_pq_text_check(&footer, leaf, &err);             refuses types without a text, by name
 *   if (dx_pq_text_is_plain(node))  ... v.spans[i] ...       strings: the bytes are the text
 *   else  dx_pq_value_text(node, &v, i, &buf);               appended
 *
 * Integers in decimal, booleans true and false, decimals with their point, floats with the fewest
 * digits that give them back, dates and times in ISO 8601 with microseconds at most (those without
 * a zone count as UTC; outside of years 0000 to 9999: the number itself), UUIDs with hyphens, FIXED
 * without a logical type in hexadecimal. The value must not be null. No I/O; any thread.
 */
#ifndef DX_PARQUET_VALUE_TEXT_H
#define DX_PARQUET_VALUE_TEXT_H

#include "base/buf.h"
#include "parquet/footer.h"
#include "parquet/page.h"

int dx_pq_text_check(const struct dx_pq_footer *f, uint32_t leaf, struct dx_error *err);
bool dx_pq_text_is_plain(const struct dx_pq_node *node);
void dx_pq_value_text(const struct dx_pq_node *node, const struct dx_pq_values *v, uint32_t i,
                      struct dx_buf *out);

#endif
