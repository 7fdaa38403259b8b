/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/records/hive_folder.h"

#include <stdlib.h>
#include <string.h>

#include "base/hex.h"

#define HIVE_NULL "__HIVE_DEFAULT_PARTITION__"

int dx_hive_folder_value(const char *path, const char *name, char **value, struct dx_error *err)
{
    size_t n = strlen(name);
    const char *end;

    *value = NULL;
    for (const char *at = path; (end = strchr(at, '/')) != NULL; at = end + 1) {
        if ((size_t)(end - at) <= n || strncmp(at, name, n) != 0 || at[n] != '=')
            continue;
        *value = strndup(at + n + 1, (size_t)(end - at) - n - 1);
        if (*value == NULL)
            return dx_no_memory(err, "%s", path);
        (void)dx_hex_unescape(*value); /* %00 and a lone % stay as they are written */
        if (strcmp(*value, HIVE_NULL) == 0) {
            free(*value);
            *value = NULL;
        }
        return 1;
    }
    return 0;
}
