/* SPDX-License-Identifier: Apache-2.0
 * left_out.h - lake files that are left out, and why: counted, and the first of them as text.
 *
 *   struct dx_left_out left = DX_LEFT_OUT_INIT;
 *   dx_left_out_note(&left, path, "is a symbolic link");      text is "PATH: why\n", printable
 *   dx_left_out_take(&left, &other);                           appended; other is empty then
 *   dx_left_out_release(&left);
 *
 * Names and reasons may hold bytes of a stranger: what is not printable ASCII becomes '?', so a
 * terminal or a log does not act on it. Bounded: the count goes on where the text ends. One thread.
 */
#ifndef DX_BUILDER_LAKE_LEFT_OUT_H
#define DX_BUILDER_LAKE_LEFT_OUT_H

#include "base/buf.h"

#define DX_LEFT_OUT_TEXT_MAX (32u << 10)

struct dx_left_out {
    uint64_t count;
    struct dx_buf text; /* of the first ones */
};

#define DX_LEFT_OUT_INIT                     \
    {                                        \
        0, DX_BUF_INIT(DX_LEFT_OUT_TEXT_MAX) \
    }

void dx_left_out_note(struct dx_left_out *l, const char *path, const char *why);
void dx_left_out_take(struct dx_left_out *to, struct dx_left_out *from);
void dx_left_out_release(struct dx_left_out *l);

#endif
