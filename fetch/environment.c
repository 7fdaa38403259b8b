/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/environment.h"

static const struct {
    const char *name;
    const char *meaning;
} rows[] = {
    { "AWS_ENDPOINT_URL_S3",
      "where an s3:// store is, if it is not Amazon's; also AWS_ENDPOINT_URL" },
    { "AWS_REGION", "its region, else us-east-1; also AWS_DEFAULT_REGION" },
    { "AWS_ACCESS_KEY_ID",
      "with AWS_SECRET_ACCESS_KEY and, if there is one, AWS_SESSION_TOKEN: the credentials" },
    { "AWS_PROFILE", "which profile of the credentials file, else default" },
    { "AWS_SHARED_CREDENTIALS_FILE", "the credentials file, else ~/.aws/credentials" },
    { "AWS_CONTAINER_CREDENTIALS_FULL_URI",
      "and the like: credentials of a container; then those of an instance are asked for, unless "
      "AWS_EC2_METADATA_DISABLED is true" },
    { "DOMAINDEX_S3_ANONYMOUS", "1: requests are not signed" },
    { "DOMAINDEX_S3_VIRTUAL_HOST", "1: the bucket stands in the host name of an endpoint too" },
    { "DOMAINDEX_CA_FILE", "certificates that https:// stores are checked with" },
    { "DOMAINDEX_DEADLINE_MS",
      "milliseconds that one round of reads of a command may take (domaindexd: --job-timeout-ms)" },
    { "CACHE_DIRECTORY",
      "else $XDG_CACHE_HOME/domaindex, else ~/.cache/domaindex: local copies of the mapped files" },
};

void dx_environment_mdoc(struct dx_buf *out)
{
    dx_buf_str(out, ".Sh ENVIRONMENT\nFor roots on http://, https:// and s3://:\n"
                    ".Bl -tag -width Ds\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        dx_buf_fmt(out, ".It Ev %s\n%s\n", rows[i].name, rows[i].meaning);
    dx_buf_str(out, ".El\n");
}

void dx_environment_help(struct dx_buf *out)
{
    dx_buf_str(out, "\nEnvironment, for roots on http://, https:// and s3://:\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        dx_buf_fmt(out, "  %-35s %s\n", rows[i].name, rows[i].meaning);
}
