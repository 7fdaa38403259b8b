/* SPDX-License-Identifier: Apache-2.0
 * json_array.h - the elements of one JSON array, or of the array in {"domains": [...]}, when only a
 * part of the text is there.
 *
 *   struct dx_json_array a = { .size_max = 8192 };
 *   step = dx_json_array_next(&a, bytes, eof, &cut);      bytes: all that was not used before
 *     DX_JSON_ARRAY_ELEMENT   cut.element, within `bytes`; to be read by a JSON reader
 *     DX_JSON_ARRAY_TOO_LONG  one over size_max bytes: it is passed over
 *     DX_JSON_ARRAY_MORE      its end is not in `bytes`: call again with what follows cut.used too
 *     DX_JSON_ARRAY_END       the text is over, and was an array
 *     DX_JSON_ARRAY_BROKEN    it is not, or something stands behind it: nothing more comes
 *   cut.used bytes of `bytes` are done with
 *
 * An element is cut, not checked: strings, and brackets outside of them, are counted. `eof`: nothing
 * comes behind `bytes`. The answer is the same however the text is cut into calls. No I/O; any
 * thread.
 */
#ifndef DX_FORMAT_TEXT_JSON_ARRAY_H
#define DX_FORMAT_TEXT_JSON_ARRAY_H

#include "base/bytes.h"

enum dx_json_array_step {
    DX_JSON_ARRAY_ELEMENT,
    DX_JSON_ARRAY_TOO_LONG,
    DX_JSON_ARRAY_MORE,
    DX_JSON_ARRAY_END,
    DX_JSON_ARRAY_BROKEN
};

struct dx_json_array {
    size_t size_max; /* of an element, given */

    /* private */
    unsigned place; /* what is expected next */
    bool in_object;
    bool skipping; /* inside an element that was reported as too long */
    unsigned depth;
    bool in_string, escaped;
    size_t seen; /* bytes of the element that were looked at */
};

struct dx_json_array_cut {
    struct dx_span element;
    size_t used;
};

enum dx_json_array_step dx_json_array_next(struct dx_json_array *a, struct dx_span bytes, bool eof,
                                           struct dx_json_array_cut *cut);

#endif
