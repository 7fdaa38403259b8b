/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/credentials.h"
#include "fetch/object_url.h"
#include "fetch/s3.h"
#include "fetch/source.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#define DEADLINE_MAX_MS 3600000

static bool flag(const char *name, bool *to)
{
    const char *value = dx_environment(name);

    if (value == NULL)
        return true;
    *to = value[0] == '1';
    return (value[0] == '0' || value[0] == '1') && value[1] == '\0';
}

static bool number(const char *name, unsigned max, unsigned *to)
{
    const char *value = dx_environment(name);
    unsigned long n;
    char *end;

    if (value == NULL)
        return true;
    if (value[0] < '1' || value[0] > '9')
        return false;
    errno = 0;
    n = strtoul(value, &end, 10);
    if (errno != 0 || *end != '\0' || n > max)
        return false;
    *to = (unsigned)n;
    return true;
}

const char *dx_source_options_env(struct dx_source_options *o)
{
    const char *ca_file = dx_environment("DOMAINDEX_CA_FILE");

    if (ca_file != NULL)
        o->ca_file = ca_file;
    if (!flag("DOMAINDEX_S3_ANONYMOUS", &o->s3_anonymous))
        return "DOMAINDEX_S3_ANONYMOUS is neither 0 nor 1";
    if (!flag("DOMAINDEX_S3_VIRTUAL_HOST", &o->s3_virtual_host))
        return "DOMAINDEX_S3_VIRTUAL_HOST is neither 0 nor 1";
    if (!number("DOMAINDEX_DEADLINE_MS", DEADLINE_MAX_MS, &o->deadline_ms))
        return "DOMAINDEX_DEADLINE_MS is not a number of milliseconds from 1 to 3600000";
    return NULL;
}

int dx_source_root_url(const char *root, const struct dx_source_options *options, char **url,
                       struct dx_error *err)
{
    struct dx_source_options unsigned_options = *options;
    struct dx_s3_root s3;
    int rc;

    *url = NULL;
    if (!dx_source_remote(root))
        return dx_fail(err, DX_E_INVALID, "%s: a directory has no URL", root);
    if (strncasecmp(root, "s3://", 5) != 0)
        return dx_root_url(root, url, err);
    unsigned_options.s3_anonymous = true; /* a name needs no credentials */
    rc = dx_s3_root_open(&s3, root, &unsigned_options, err);
    if (rc < 0)
        return rc;
    *url = s3.url;
    s3.url = NULL;
    dx_s3_root_close(&s3);
    return DX_OK;
}
