/* SPDX-License-Identifier: Apache-2.0 */
#include "format/text/record_cut.h"

#include <assert.h>

struct csv_end {
    const uint8_t *next; /* behind the line end */
    uint64_t lines;      /* line ends passed */
};

/* Where the record at p ends. 1 found, 0 more bytes are needed, -1 quoting broken. */
static int csv_end_of(const uint8_t *p, const uint8_t *end, bool eof, struct csv_end *found)
{
    bool field_start = true;

    found->lines = 0;
    while (p < end) {
        if (field_start && *p == '"') {
            p++;
            for (;;) {
                while (p < end && *p != '"')
                    found->lines += *p++ == '\n';
                if (p == end)
                    return eof ? -1 : 0;
                if (p + 1 == end && !eof)
                    return 0;
                if (p + 1 == end || p[1] != '"')
                    break;
                p += 2;
            }
            p++;
            if (p == end)
                break;
            if (*p == '\r') {
                if (p + 1 == end && !eof)
                    return 0;
                if (p + 1 < end && p[1] == '\n')
                    p++;
            }
            if (*p != ',' && *p != '\n')
                return -1;
        }
        field_start = *p == ',';
        if (*p++ == '\n') {
            found->lines++;
            found->next = p;
            return 1;
        }
    }
    found->next = end;
    return eof ? 1 : 0;
}

/* Bytes of [from, next) without the line end. */
static size_t content(const uint8_t *from, const uint8_t *next)
{
    size_t size = (size_t)(next - from);

    if (size > 0 && from[size - 1] == '\n') {
        size--;
        if (size > 0 && from[size - 1] == '\r')
            size--;
    }
    return size;
}

int dx_record_cut(struct dx_span bytes, bool csv, bool eof, size_t size_max,
                  struct dx_record_cut *cut)
{
    const uint8_t *from = bytes.data;
    const uint8_t *end = from + bytes.size;
    struct csv_end found = { NULL, 1 };
    bool full = bytes.size > size_max;
    int rc = 1;

    assert(bytes.size > 0);
    *cut = (struct dx_record_cut){ .flaw = DX_FLAW_NONE };
    if (csv) {
        /* Never looks further than the longest record, so that the answer is the same
         * however much of the text is there. */
        const uint8_t *far = full ? from + size_max + 1 : end;

        rc = csv_end_of(from, far, eof && far == end, &found);
        if (rc == 0 && !full)
            return 0;
    }
    if (!csv || rc <= 0) {
        found.next = dx_record_line_end(bytes, eof);
        found.lines = 1;
        cut->flaw = csv ? DX_FLAW_MALFORMED : DX_FLAW_NONE;
    }
    if (found.next == NULL && !full)
        return 0;
    cut->next = found.next;
    cut->lines = found.lines;
    if (found.next == NULL || (size_t)(found.next - from) > size_max) {
        cut->flaw = DX_FLAW_TOO_LONG;
        cut->size = size_max;
    } else {
        cut->size = content(from, found.next);
    }
    return 1;
}
