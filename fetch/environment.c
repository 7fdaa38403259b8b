/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/environment.h"

struct row {
    const char *name;
    const char *meaning;
};

static const struct row stores[] = {
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

static const struct row queues[] = {
    { "DOMAINDEX_AMQP_USER", "the user, in place of the one in the address" },
    { "DOMAINDEX_AMQP_PASSWORD", "the password, likewise" },
    { "DOMAINDEX_AMQP_CA",
      "certificates that amqps:// is checked with, else /etc/ssl/certs/ca-certificates.crt" },
};

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])

static void mdoc_list(struct dx_buf *out, const struct row *rows, size_t n)
{
    dx_buf_str(out, ".Bl -tag -width Ds\n");
    for (size_t i = 0; i < n; i++)
        dx_buf_fmt(out, ".It Ev %s\n%s\n", rows[i].name, rows[i].meaning);
    dx_buf_str(out, ".El\n");
}

void dx_environment_mdoc(struct dx_buf *out)
{
    dx_buf_str(out, ".Sh ENVIRONMENT\nFor roots on http://, https:// and s3://:\n");
    mdoc_list(out, stores, COUNT(stores));
}

void dx_environment_queues_mdoc(struct dx_buf *out)
{
    dx_buf_str(out, "For queues on amqp:// and amqps://:\n");
    mdoc_list(out, queues, COUNT(queues));
}

void dx_environment_help(struct dx_buf *out)
{
    dx_buf_str(out, "\nEnvironment, for roots on http://, https:// and s3://:\n");
    for (size_t i = 0; i < COUNT(stores); i++)
        dx_buf_fmt(out, "  %-35s %s\n", stores[i].name, stores[i].meaning);
}
