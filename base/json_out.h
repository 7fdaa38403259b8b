/* SPDX-License-Identifier: Apache-2.0
 * json_out.h - JSON text into a dx_buf.
 *
 *   dx_json_open(&j, &buf);
 *   dx_json_object(&j);
 *   dx_json_key(&j, "domain");     dx_json_text(&j, span);
 *   dx_json_key(&j, "datasets");   dx_json_array(&j);  ...  dx_json_end(&j);
 *   dx_json_end(&j);
 *
 * Commas are placed by the writer. Strings are escaped so that the output is valid
 * JSON and valid UTF-8 for every input: control characters, U+2028 and U+2029 as
 * \u escapes, each byte of ill-formed UTF-8 as U+FFFD. Numbers above 2^53 must go
 * out as text (dx_json_hex64). Depth is at most 32. Errors are those of the buffer.
 * A writer and its buffer are for one thread at a time.
 */
#ifndef DX_BASE_JSON_OUT_H
#define DX_BASE_JSON_OUT_H

#include "base/buf.h"
#include "base/bytes.h"

#define DX_JSON_DEPTH_MAX 32

struct dx_json {
    struct dx_buf *buf;
    unsigned depth;
    bool after_key;
    bool not_first[DX_JSON_DEPTH_MAX];
    char closer[DX_JSON_DEPTH_MAX];
};

void dx_json_open(struct dx_json *j, struct dx_buf *buf);
void dx_json_object(struct dx_json *j);
void dx_json_array(struct dx_json *j);
void dx_json_end(struct dx_json *j);                  /* the innermost object or array */
void dx_json_key(struct dx_json *j, const char *key); /* key: plain ASCII, no escapes needed */
void dx_json_key_span(struct dx_json *j, struct dx_span key); /* any bytes */
void dx_json_text(struct dx_json *j, struct dx_span s);
void dx_json_str(struct dx_json *j, const char *s);
void dx_json_u64(struct dx_json *j, uint64_t v);
void dx_json_key_u64(struct dx_json *j, const char *key, uint64_t v); /* both at once */
void dx_json_i64(struct dx_json *j, int64_t v);
void dx_json_bool(struct dx_json *j, bool v);
void dx_json_null(struct dx_json *j);
void dx_json_hex64(struct dx_json *j, uint64_t v); /* "0x" and 16 digits, quoted */
void dx_json_double(struct dx_json *j, double v);  /* finite; 6 significant digits */
void dx_json_number(struct dx_json *j,
                    struct dx_span text); /* the caller wrote it as JSON has it */

/* Microseconds since 1970 as "2024-06-14T08:15:30Z", with .sss or .ssssss when not whole. */
void dx_json_time_us(struct dx_json *j, int64_t us);

/* The caller wrote that many bytes into what dx_buf_reserve returned of j's buffer: members or
 * values of the innermost object or array, with commas between them, and one before them if it is
 * due because there are others already. */
void dx_json_wrote(struct dx_json *j, size_t bytes);
bool dx_json_comma_due(const struct dx_json *j);

/* The escaped text of s without quotes, appended to buf. */
void dx_json_escape(struct dx_buf *buf, struct dx_span s);

#endif
