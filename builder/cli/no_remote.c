/* SPDX-License-Identifier: Apache-2.0
 * What domaindex_front.c is linked with in place of HTTP and S3 (fetch/): it opens directories alone, so these are
 * not called.
 */
#include "fetch/object_url.h"
#include "fetch/s3.h"
#include "fetch/source_http.h"
#include "fetch/store.h"

static int refuse(const char *root, struct dx_error *err)
{
    return dx_fail(err, DX_E_UNSUPPORTED, "%s: this program reads directories alone", root);
}

int dx_source_open_http(struct dx_source **src, const char *root, struct dx_signing *signing,
                        const struct dx_source_options *options, struct dx_error *err)
{
    (void)signing;
    (void)options;
    *src = NULL;
    return refuse(root, err);
}

int dx_source_open_s3(struct dx_source **src, const char *root,
                      const struct dx_source_options *options, struct dx_error *err)
{
    (void)options;
    *src = NULL;
    return refuse(root, err);
}

int dx_store_open_s3(struct dx_store **store, const char *root,
                     const struct dx_source_options *options, struct dx_error *err)
{
    (void)options;
    *store = NULL;
    return refuse(root, err);
}

int dx_s3_root_open(struct dx_s3_root *r, const char *root, const struct dx_source_options *options,
                    struct dx_error *err)
{
    (void)r;
    (void)options;
    return refuse(root, err);
}

void dx_s3_root_close(struct dx_s3_root *r)
{
    (void)r;
}

int dx_root_url(const char *root, char **url, struct dx_error *err)
{
    *url = NULL;
    return refuse(root, err);
}
