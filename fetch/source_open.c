/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/source_open.h"

#include "fetch/s3.h"
#include "fetch/source_http.h"

#include <strings.h>

int dx_source_open(struct dx_source **src, const char *root,
                   const struct dx_source_options *options, struct dx_error *err)
{
    *src = NULL;
    if (strncasecmp(root, "s3://", 5) == 0)
        return dx_source_open_s3(src, root, options, err);
    if (dx_source_remote(root))
        return dx_source_open_http(src, root, NULL, options, err);
    /* A scheme with a slip in it is not the name of a directory. */
    if (strstr(root, "://") != NULL)
        return dx_fail(err, DX_E_INVALID,
                       "%s: not a directory, http://, https:// or s3://bucket/prefix", root);
    return dx_source_open_local(src, root, err);
}
