/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/s3.h"

#include "fetch/credentials.h"
#include "fetch/object_url.h"
#include "fetch/source_http.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define REGION_MAX 64

static bool lower_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* The rules of Amazon for names that can be a host: others cannot be made any more. */
static bool bucket_ok(const char *name, size_t n)
{
    if (n < 3 || n > DX_S3_BUCKET_MAX || !lower_or_digit(name[0]) || !lower_or_digit(name[n - 1]))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!lower_or_digit(name[i]) && name[i] != '-' && name[i] != '.')
            return false;
        if (name[i] == '.' && name[i + 1] == '.')
            return false;
    }
    return true;
}

int dx_s3_address_parse(const char *text, struct dx_s3_address *address, struct dx_error *err)
{
    char prefix[DX_OBJECT_NAME_MAX + 1];
    const char *bucket = text + 5;
    size_t n;
    size_t end;

    if (strncasecmp(text, "s3://", 5) != 0)
        return dx_fail(err, DX_E_INVALID, "%s: does not begin with s3://", text);
    n = strcspn(bucket, "/");
    if (!bucket_ok(bucket, n))
        return dx_fail(err, DX_E_INVALID,
                       "%s: the bucket's name must have 3 to 63 characters a-z 0-9 - .", text);
    memcpy(address->bucket, bucket, n);
    address->bucket[n] = '\0';
    address->prefix = bucket[n] == '/' ? bucket + n + 1 : bucket + n;
    for (end = strlen(address->prefix); end > 0 && address->prefix[end - 1] == '/'; end--)
        ;
    if (end == 0) {
        address->prefix = "";
        return DX_OK;
    }
    if (end > DX_OBJECT_NAME_MAX)
        return dx_fail(err, DX_E_INVALID, "s3://%s: the prefix has more than %d bytes",
                       address->bucket, DX_OBJECT_NAME_MAX);
    memcpy(prefix, address->prefix, end);
    prefix[end] = '\0';
    if (!dx_object_name_valid(prefix))
        return dx_fail(err, DX_E_INVALID, "%s: the prefix is not a plain relative path", text);
    return DX_OK;
}

static bool region_ok(const char *region)
{
    size_t n = strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-");

    return n > 0 && n < REGION_MAX && region[n] == '\0';
}

static void amazon_url(struct dx_buf *out, const struct dx_s3_address *address, const char *region)
{
    const char *domain = strncmp(region, "cn-", 3) == 0 ? "amazonaws.com.cn" : "amazonaws.com";

    /* Amazon's certificate is for *.s3..., and a star does not match a dot. */
    if (strchr(address->bucket, '.') != NULL)
        dx_buf_fmt(out, "https://s3.%s.%s/%s", region, domain, address->bucket);
    else
        dx_buf_fmt(out, "https://%s.s3.%s.%s", address->bucket, region, domain);
}

static int endpoint_url(struct dx_buf *out, const struct dx_s3_address *address,
                        const struct dx_s3_place *place, struct dx_error *err)
{
    char *endpoint = NULL;
    const char *host;
    int rc;

    if (strncasecmp(place->endpoint, "http://", 7) != 0 &&
        strncasecmp(place->endpoint, "https://", 8) != 0)
        return dx_fail(err, DX_E_INVALID, "S3 endpoint %s: begin it with https:// or http://",
                       place->endpoint);
    rc = dx_root_url(place->endpoint, &endpoint, err);
    if (rc < 0)
        return dx_fail_in(err, "S3 endpoint");
    host = strstr(endpoint, "://") + 3;
    if (place->virtual_host)
        dx_buf_fmt(out, "%.*s%s.%s", (int)(host - endpoint), endpoint, address->bucket, host);
    else
        dx_buf_fmt(out, "%s/%s", endpoint, address->bucket);
    free(endpoint);
    return DX_OK;
}

int dx_s3_root_url(const struct dx_s3_address *address, const struct dx_s3_place *place, char **url,
                   struct dx_error *err)
{
    struct dx_buf out = DX_BUF_INIT(DX_URL_MAX);
    int rc = DX_OK;

    *url = NULL;
    if (!region_ok(place->region))
        return dx_fail(err, DX_E_INVALID, "'%s' is not the name of an S3 region", place->region);
    if (place->endpoint == NULL)
        amazon_url(&out, address, place->region);
    else
        rc = endpoint_url(&out, address, place, err);
    if (rc == DX_OK && address->prefix[0] != '\0') {
        dx_buf_u8(&out, '/');
        dx_url_encode(&out, address->prefix);
    }
    while (out.size > 0 && out.data[out.size - 1] == '/')
        out.size--;
    dx_buf_u8(&out, '\0');
    if (rc == DX_OK && out.failed)
        rc = dx_buf_fail(&out, err, "S3 URL");
    if (rc == DX_OK) {
        *url = (char *)out.data;
        return DX_OK;
    }
    dx_buf_release(&out);
    return rc;
}

static const char *first_of(const char *a, const char *b, const char *c, const char *d)
{
    return a != NULL ? a : b != NULL ? b : c != NULL ? c : d;
}

int dx_s3_root_open(struct dx_s3_root *r, const char *root, const struct dx_source_options *options,
                    struct dx_error *err)
{
    struct dx_s3_address address;
    const struct dx_s3_place place = {
        .endpoint = first_of(options->s3_endpoint, dx_environment("AWS_ENDPOINT_URL_S3"),
                             dx_environment("AWS_ENDPOINT_URL"), NULL),
        .region = first_of(options->s3_region, dx_environment("AWS_REGION"),
                           dx_environment("AWS_DEFAULT_REGION"), "us-east-1"),
        .virtual_host = options->s3_virtual_host,
    };
    int rc;

    memset(r, 0, sizeof *r);
    rc = dx_s3_address_parse(root, &address, err);
    if (rc == DX_OK)
        rc = dx_s3_root_url(&address, &place, &r->url, err);
    if (rc == DX_OK && !options->s3_anonymous)
        rc = dx_signing_open(&r->signing, place.region, options->s3_profile, err);
    if (rc == DX_OK) {
        size_t n = strlen(address.prefix);

        while (n > 0 && address.prefix[n - 1] == '/')
            n--;
        (void)snprintf(r->prefix, sizeof r->prefix, "%.*s%s", (int)n, address.prefix,
                       n > 0 ? "/" : "");
        (void)snprintf(r->bucket, sizeof r->bucket, "%s", address.bucket);
        address.prefix = "";
        rc = dx_s3_root_url(&address, &place, &r->bucket_url, err);
    }
    if (rc < 0)
        dx_s3_root_close(r);
    return rc;
}

void dx_s3_root_close(struct dx_s3_root *r)
{
    dx_signing_close(&r->signing);
    free(r->url);
    free(r->bucket_url);
    r->url = r->bucket_url = NULL;
}

int dx_source_open_s3(struct dx_source **src, const char *root,
                      const struct dx_source_options *options, struct dx_error *err)
{
    struct dx_s3_root r;
    struct dx_signing *signing;
    int rc = dx_s3_root_open(&r, root, options, err);

    *src = NULL;
    if (rc < 0)
        return rc;
    signing = r.signing;
    r.signing = NULL; /* the source's from here on */
    rc = dx_source_open_http(src, r.url, signing, options, err);
    dx_s3_root_close(&r);
    return rc;
}
