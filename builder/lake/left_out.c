/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/left_out.h"

#include <string.h>

static void add_printable(struct dx_buf *b, const char *text)
{
    for (; *text != '\0'; text++)
        dx_buf_u8(b, *text < ' ' || *text > '~' ? '?' : (uint8_t)*text);
}

/* The reason may name the file, with or without the folders above it: once is enough. */
static const char *without_path(const char *path, const char *why)
{
    const char *name = strchr(path, '/') == NULL ? path : strchr(path, '/') + 1;
    const char *at = strstr(why, name);
    const char *end = at == NULL ? NULL : at + strlen(name);

    return end != NULL && strncmp(end, ": ", 2) == 0 ? end + 2 : why;
}

void dx_left_out_note(struct dx_left_out *l, const char *path, const char *why)
{
    size_t before = l->text.size;

    l->count++;
    add_printable(&l->text, path);
    dx_buf_str(&l->text, ": ");
    add_printable(&l->text, without_path(path, why));
    dx_buf_u8(&l->text, '\n');
    if (l->text.failed) { /* no half line, and none after it */
        l->text.size = before;
        l->text.max = before;
    }
}

void dx_left_out_take(struct dx_left_out *to, struct dx_left_out *from)
{
    to->count += from->count;
    if (from->text.size > 0 && to->text.size + from->text.size <= to->text.max)
        dx_buf_append(&to->text, from->text.data, from->text.size);
    dx_left_out_release(from);
}

void dx_left_out_release(struct dx_left_out *l)
{
    dx_buf_release(&l->text);
    *l = (struct dx_left_out)DX_LEFT_OUT_INIT;
}
