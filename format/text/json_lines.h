/* SPDX-License-Identifier: Apache-2.0
 * json_lines.h - one JSON array as lines, an element a line, while it streams by.
 *
 *   struct dx_json_lines f = DX_JSON_LINES_INIT;
 *   rc = dx_json_lines_push(&f, bytes, &size, &err);    in place: what is left is size bytes
 *   rc = dx_json_lines_end(&f, &err);                   the array is closed
 *
 * Takes the outer brackets and the commas between elements away, and line ends within an element,
 * which can only stand between its parts. The elements themselves are not checked, which is for the
 * reader of the lines; brackets, strings and commas are, as far as it takes to cut. Any way the
 * bytes are cut into calls gives the same lines. After an error all further calls fail. Nothing is
 * allocated. One thread at a time.
 */
#ifndef DX_FORMAT_TEXT_JSON_LINES_H
#define DX_FORMAT_TEXT_JSON_LINES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dx_json_lines {
    uint64_t at; /* bytes seen */
    uint64_t depth;
    enum {
        DX_JSON_LINES_BEFORE,
        DX_JSON_LINES_FIRST,
        DX_JSON_LINES_ELEMENT,
        DX_JSON_LINES_WITHIN,
        DX_JSON_LINES_BEHIND,
        DX_JSON_LINES_BROKEN
    } state;
    bool in_string;
    bool escaped;
};

#define DX_JSON_LINES_INIT                       \
    {                                            \
        0, 0, DX_JSON_LINES_BEFORE, false, false \
    }

int dx_json_lines_push(struct dx_json_lines *f, uint8_t *bytes, size_t *size, struct dx_error *err);
int dx_json_lines_end(const struct dx_json_lines *f, struct dx_error *err);

#endif
