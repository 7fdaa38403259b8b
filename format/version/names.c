/* SPDX-License-Identifier: Apache-2.0 */
#include "format/version/names.h"

#include <assert.h>
#include <stdio.h>

void dx_name_of_version(char object[DX_MANIFEST_FILE_PATH], const char *version, const char *name)
{
    int n = snprintf(object, DX_MANIFEST_FILE_PATH, DX_INDEX_DIR "/%s/%s", version, name);

    assert(n > 0 && (size_t)n < DX_MANIFEST_FILE_PATH);
    (void)n;
}
