/* SPDX-License-Identifier: Apache-2.0
 * record_cut.h - where a record of a text ends, when only a part of the text is there.
 *
 *   rc = dx_record_cut(bytes, csv, eof, size_max, &cut);       bytes: not empty
 *     1   a record: cut.size bytes without its line end, the next one at cut.next
 *     0   its end is not in `bytes`: call again with more
 *   next = dx_record_line_end(bytes, eof);                     behind the line end, or NULL
 *
 * A record is a line that ends with LF or CRLF; in CSV (RFC 4180: comma, quotes, "" for a quote) a
 * quoted field may hold line ends. `eof`: nothing comes behind `bytes`. The answer is the same
 * however the text is cut into calls.
 *
 * A record over size_max bytes, line end included, is DX_FLAW_TOO_LONG: size is size_max, and next
 * is NULL if its line does not end in `bytes`; it goes on behind the next line end. CSV that breaks
 * the quoting rules (text behind a closing quote, or a quote not closed within size_max) is
 * DX_FLAW_MALFORMED, and the record is then its first line only, so that one stray quote does not
 * swallow what follows. No I/O; any thread.
 */
#ifndef DX_FORMAT_TEXT_RECORD_CUT_H
#define DX_FORMAT_TEXT_RECORD_CUT_H

#include "base/bytes.h"

enum dx_record_flaw { DX_FLAW_NONE, DX_FLAW_TOO_LONG, DX_FLAW_MALFORMED };

struct dx_record_cut {
    const uint8_t *next;
    size_t size;
    uint64_t lines; /* line ends passed */
    enum dx_record_flaw flaw;
};

int dx_record_cut(struct dx_span bytes, bool csv, bool eof, size_t size_max,
                  struct dx_record_cut *cut);

/* Behind the end of the line that `bytes` begins in; of the last one that is the end of all. */
static inline const uint8_t *dx_record_line_end(struct dx_span bytes, bool eof)
{
    const uint8_t *newline = bytes.size == 0 ? NULL : memchr(bytes.data, '\n', bytes.size);

    return newline != NULL ? newline + 1 : eof ? bytes.data + bytes.size : NULL;
}

#endif
