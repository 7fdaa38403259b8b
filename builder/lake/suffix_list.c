/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/suffix_list.h"

#include "base/file.h"
#include "builder/lake/lake_layout.h"
#include "builder/root/root.h"

int dx_suffix_list_of_lake(const struct dx_root *root, struct dx_buf *text, struct dx_error *err)
{
    char etag[DX_SOURCE_ETAG];
    int rc = dx_root_get(root, DX_LAKE_PSL, DX_PSL_TEXT_MAX, text, etag, err);

    return rc != 0 ? rc
                   : dx_lake_check_names(root->name, root->in_place ? NULL : root->source, err);
}

int dx_suffix_list_read(const char *path, struct dx_buf *text, struct dx_error *err)
{
    int rc = dx_file_read(path != NULL ? path : DX_PSL_DEFAULT_PATH, DX_PSL_TEXT_MAX, text, err);

    return rc < 0 && path == NULL ? dx_fail_in(err, "no public suffix list; install the package "
                                                    "publicsuffix or give --psl FILE")
                                  : rc;
}
