/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/source.h"

int dx_source_read(struct dx_source *src, const struct dx_read *reads, size_t count,
                   struct dx_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (!dx_object_name_valid(reads[i].object))
            return dx_fail(err, DX_E_INVALID, "object name '%s' is not a plain relative path",
                           reads[i].object);
    return count == 0 ? DX_OK : src->ops->read(src, reads, count, err);
}

void dx_source_close(struct dx_source **src)
{
    if (*src != NULL)
        (*src)->ops->close(*src);
    *src = NULL;
}

bool dx_object_name_valid(const char *name)
{
    size_t in_component = 0;
    bool only_dots = true;
    size_t n = 0;

    for (; name[n] != '\0'; n++) {
        unsigned char c = (unsigned char)name[n];

        if (n >= DX_OBJECT_NAME_MAX || c <= 0x20 || c == 0x7f || c == '\\')
            return false;
        if (c == '/') {
            if (in_component == 0 || (only_dots && in_component <= 2))
                return false;
            in_component = 0;
            only_dots = true;
            continue;
        }
        only_dots = only_dots && c == '.';
        in_component++;
    }
    return in_component > 0 && !(only_dots && in_component <= 2);
}
