/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/suffix_list.h"

#include "base/file.h"
#include "builder/lake/lake_layout.h"
#include "builder/root/root.h"
#include "fetch/store/store.h"

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

static int compare(const struct dx_root *root, struct dx_span text, struct dx_error *err)
{
    struct dx_buf there = DX_SUFFIX_LIST_INIT;
    int rc = dx_suffix_list_of_lake(root, &there, err);

    if (rc > 0 && !dx_span_equal(text, dx_span_of(there.data, there.size)))
        rc = dx_fail(err, DX_E_CONFLICT,
                     "%s: another run has begun this lake with another suffix list in " DX_LAKE_PSL
                     "; nothing was added, run it again",
                     root->name);
    dx_buf_release(&there);
    return rc;
}

int dx_suffix_list_begin(const struct dx_root *root, struct dx_span text, struct dx_error *err)
{
    const struct dx_put put = { .object = DX_LAKE_PSL, .bytes = text, .if_absent = true };
    char etag[DX_SOURCE_ETAG];
    int rc = compare(root, text, err);

    if (rc != 0)
        return rc < 0 ? rc : DX_OK;
    rc = dx_store_put(root->store, &put, etag, err);
    if (rc != DX_E_EXISTS && rc != DX_E_UNKNOWN)
        return rc;
    rc = compare(root, text, err);
    if (rc == 0)
        return dx_fail(err, DX_E_UNKNOWN,
                       "%s/" DX_LAKE_PSL ": it is not known whether it was "
                       "written; nothing was added, run it again",
                       root->name);
    return rc < 0 ? rc : DX_OK;
}
