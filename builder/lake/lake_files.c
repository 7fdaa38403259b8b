/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/lake_files.h"

#include <stdio.h>

#include "base/path.h"

int dx_index_file_path(const struct dx_index_lake *lake, const struct dx_index_file *file,
                       char path[PATH_MAX], struct dx_error *err)
{
    return dx_path_format(path, PATH_MAX, err, "%s/%s", lake->root, file->path);
}
