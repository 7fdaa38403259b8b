/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish_rewrite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builder/lake_layout.h"

int dx_rewrite_out_add(struct dx_rewrite_out *out, const char *path, struct dx_error *err)
{
    char whole[DX_LAKE_PATH_MAX];
    struct dx_lake_path parsed;
    char *copy;
    int n = snprintf(whole, sizeof whole, DX_LAKE_DIR "/%s", path);

    if (n < 0 || (size_t)n >= sizeof whole || !dx_lake_path_parse(dx_span_str(whole), &parsed))
        return dx_fail(err, DX_E_INVALID, "%.200s: no path of a lake file", path);
    if (out->path_count == out->path_capacity) {
        size_t capacity = out->path_capacity == 0 ? 64 : out->path_capacity * 2;
        char **grown = realloc(out->paths, capacity * sizeof *grown);

        if (grown == NULL)
            return dx_fail(err, DX_E_NOMEM, "rewrite: out of memory for %zu names", capacity);
        out->paths = grown;
        out->path_capacity = capacity;
    }
    copy = strdup(path);
    if (copy == NULL)
        return dx_fail(err, DX_E_NOMEM, "rewrite: out of memory");
    out->paths[out->path_count++] = copy;
    return DX_OK;
}
