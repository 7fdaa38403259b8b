/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/credentials_find.h"

#include "base/buf.h"
#include "base/file.h"
#include "fetch/credentials_service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX (1u << 20)

static int of_environment(struct dx_credentials *c, struct dx_error *err)
{
    const char *key_id = dx_environment("AWS_ACCESS_KEY_ID");
    const char *secret = dx_environment("AWS_SECRET_ACCESS_KEY");
    const char *token = dx_environment("AWS_SESSION_TOKEN");

    memset(c, 0, sizeof *c);
    if (key_id == NULL && secret == NULL)
        return 0;
    if (key_id == NULL || secret == NULL)
        return dx_fail(err, DX_E_INVALID,
                       "S3: set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
    if (!dx_credentials_keep(c->key_id, dx_span_str(key_id)) ||
        !dx_credentials_keep(c->secret, dx_span_str(secret)) ||
        (token != NULL && !dx_credentials_keep(c->token, dx_span_str(token))))
        return dx_fail(err, DX_E_INVALID, "S3: a credential of odd bytes or length");
    return 1;
}

/* The profile asked for, in *named whether the caller or the environment named one. */
static const char *profile_of(const char *profile, bool *named)
{
    if (profile == NULL)
        profile = dx_environment("AWS_PROFILE");
    *named = profile != NULL;
    return *named ? profile : "default";
}

static int of_file(struct dx_credentials *c, const char *profile, struct dx_error *err)
{
    const char *file = dx_environment("AWS_SHARED_CREDENTIALS_FILE");
    const char *home = dx_environment("HOME");
    struct dx_buf text = DX_BUF_INIT(FILE_MAX);
    char *path = NULL;
    int rc;

    if (file == NULL && home == NULL)
        return 0;
    if ((file != NULL ? asprintf(&path, "%s", file)
                      : asprintf(&path, "%s/.aws/credentials", home)) < 0)
        return dx_no_memory(err, "S3");
    rc = dx_file_read(path, FILE_MAX, &text, err);
    if (rc == DX_E_NOT_FOUND && file == NULL)
        rc = 0;
    else if (rc == DX_OK)
        rc = dx_credentials_parse_file(c, dx_span_of(text.data, text.size), profile, err);
    if (rc == DX_E_INVALID)
        rc = dx_fail_in(err, "%s", path);
    if (text.size > 0)
        explicit_bzero(text.data, text.size);
    dx_buf_release(&text);
    free(path);
    return rc;
}

static int none_found(const char *profile, const struct dx_error *service, struct dx_error *err)
{
    char why[256] = "";

    if (service->text[0] != '\0')
        (void)snprintf(why, sizeof why, " (%.250s)", service->text);
    return dx_fail(err, DX_E_NOT_FOUND,
                   "S3: no credentials. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write "
                   "profile '%s' in ~/.aws/credentials, or give the machine a role%s",
                   profile, why);
}

int dx_credentials_find(struct dx_credentials *c, enum dx_credentials_from *from,
                        const char *profile, struct dx_error *err)
{
    struct dx_error service = DX_ERROR_INIT;
    bool named;
    int rc;

    profile = profile_of(profile, &named);
    *from = DX_CREDENTIALS_ENVIRONMENT;
    rc = of_environment(c, err);
    if (rc == 0) {
        *from = DX_CREDENTIALS_FILE;
        rc = of_file(c, profile, err);
    }
    if (rc == 0 && !named) {
        *from = DX_CREDENTIALS_CONTAINER;
        rc = dx_credentials_of_container(c, err);
    }
    if (rc == 0 && !named) {
        *from = DX_CREDENTIALS_INSTANCE;
        rc = dx_credentials_of_instance(c, &service);
        /* On most machines there is no such service: that alone is not an error. */
        rc = rc < 0 ? 0 : rc;
    }
    if (rc == 0)
        rc = none_found(profile, &service, err);
    return rc < 0 ? rc : DX_OK;
}

int dx_credentials_renew(struct dx_credentials *c, enum dx_credentials_from from,
                         const char *profile, struct dx_error *err)
{
    bool named;
    int rc = 0;

    switch (from) {
    case DX_CREDENTIALS_ENVIRONMENT:
        rc = of_environment(c, err);
        break;
    case DX_CREDENTIALS_FILE:
        rc = of_file(c, profile_of(profile, &named), err);
        break;
    case DX_CREDENTIALS_CONTAINER:
        rc = dx_credentials_of_container(c, err);
        break;
    case DX_CREDENTIALS_INSTANCE:
        rc = dx_credentials_of_instance(c, err);
        break;
    }
    if (rc == 0)
        rc = dx_fail(err, DX_E_NOT_FOUND, "S3: the credentials are not there any more");
    return rc < 0 ? rc : DX_OK;
}
