/* SPDX-License-Identifier: Apache-2.0 */
#include "format/version/names.h"

#include <assert.h>
#include <string.h>

/* Not snprintf: a listing of a thousand datasets names two files for each. */
static char *append(char *to, const char *end, const char *text)
{
    size_t size = strlen(text);

    assert(size < (size_t)(end - to));
    (void)end;
    memcpy(to, text, size + 1);
    return to + size;
}

void dx_name_of_version(char object[DX_MANIFEST_FILE_PATH], const char *version, const char *name)
{
    const char *end = object + DX_MANIFEST_FILE_PATH;
    char *to = append(object, end, DX_INDEX_DIR "/");

    to = append(to, end, version);
    to = append(to, end, "/");
    (void)append(to, end, name);
}
