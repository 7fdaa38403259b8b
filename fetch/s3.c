/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/s3.h"

#include "base/file.h"
#include "fetch/object_url.h"
#include "fetch/source_http.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define REGION_MAX 64
#define FILE_MAX (1u << 20)

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

static struct dx_span trimmed(struct dx_span s)
{
    while (s.size > 0 && strchr(" \t\r", s.data[0]) != NULL && s.data[0] != '\0')
        s = (struct dx_span){ s.data + 1, s.size - 1 };
    while (s.size > 0 && strchr(" \t\r", s.data[s.size - 1]) != NULL && s.data[s.size - 1] != '\0')
        s.size--;
    return s;
}

/* Printable ASCII without spaces: it goes into headers. */
static bool keep_credential(char to[DX_S3_CREDENTIAL_MAX], struct dx_span value)
{
    if (value.size >= DX_S3_CREDENTIAL_MAX)
        return false;
    for (size_t i = 0; i < value.size; i++)
        if (value.data[i] <= 0x20 || value.data[i] >= 0x7f)
            return false;
    memcpy(to, value.data, value.size);
    to[value.size] = '\0';
    return true;
}

static bool credential_line(struct dx_s3_credentials *c, struct dx_span line)
{
    const uint8_t *equals = memchr(line.data, '=', line.size);
    struct dx_span name;
    struct dx_span value;

    if (equals == NULL)
        return true;
    name = trimmed(dx_span_of(line.data, (size_t)(equals - line.data)));
    value = trimmed(dx_span_of(equals + 1, line.size - (size_t)(equals - line.data) - 1));
    if (dx_span_equal(name, dx_span_str("aws_access_key_id")))
        return keep_credential(c->key_id, value);
    if (dx_span_equal(name, dx_span_str("aws_secret_access_key")))
        return keep_credential(c->secret, value);
    if (dx_span_equal(name, dx_span_str("aws_session_token")))
        return keep_credential(c->token, value);
    return true;
}

int dx_s3_credentials_parse(struct dx_s3_credentials *c, struct dx_span text, const char *profile,
                            struct dx_error *err)
{
    bool inside = false;
    size_t number = 0;

    memset(c, 0, sizeof *c);
    while (text.size > 0) {
        const uint8_t *end = memchr(text.data, '\n', text.size);
        size_t n = end == NULL ? text.size : (size_t)(end - text.data);
        struct dx_span line = trimmed(dx_span_of(text.data, n));

        number++;
        n += end != NULL;
        text = (struct dx_span){ text.data + n, text.size - n };
        if (line.size == 0 || line.data[0] == '#' || line.data[0] == ';')
            continue;
        if (line.data[0] == '[') {
            struct dx_span name = dx_span_of(line.data + 1, line.size - 1);

            if (name.size == 0 || name.data[name.size - 1] != ']')
                return dx_fail(err, DX_E_INVALID, "line %zu: a section without its ]", number);
            name.size--;
            inside = dx_span_equal(trimmed(name), dx_span_str(profile));
        } else if (inside && !credential_line(c, line)) {
            return dx_fail(err, DX_E_INVALID, "line %zu: a credential of odd bytes or length",
                           number);
        }
    }
    return c->key_id[0] != '\0' && c->secret[0] != '\0';
}

static const char *environment(const char *name)
{
    const char *value = getenv(name);

    return value == NULL || value[0] == '\0' ? NULL : value;
}

static int credentials_of_environment(struct dx_s3_credentials *c, struct dx_error *err)
{
    const char *key_id = environment("AWS_ACCESS_KEY_ID");
    const char *secret = environment("AWS_SECRET_ACCESS_KEY");
    const char *token = environment("AWS_SESSION_TOKEN");

    memset(c, 0, sizeof *c);
    if (key_id == NULL && secret == NULL)
        return 0;
    if (key_id == NULL || secret == NULL)
        return dx_fail(err, DX_E_INVALID,
                       "S3: set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
    if (!keep_credential(c->key_id, dx_span_str(key_id)) ||
        !keep_credential(c->secret, dx_span_str(secret)) ||
        (token != NULL && !keep_credential(c->token, dx_span_str(token))))
        return dx_fail(err, DX_E_INVALID, "S3: a credential of odd bytes or length");
    return 1;
}

static int credentials_of_file(struct dx_s3_credentials *c, const char *profile,
                               struct dx_error *err)
{
    const char *file = environment("AWS_SHARED_CREDENTIALS_FILE");
    const char *home = environment("HOME");
    struct dx_buf text = DX_BUF_INIT(FILE_MAX);
    char *path = NULL;
    int rc;

    if (file == NULL && home == NULL)
        return 0;
    if ((file != NULL ? asprintf(&path, "%s", file)
                      : asprintf(&path, "%s/.aws/credentials", home)) < 0)
        return dx_fail(err, DX_E_NOMEM, "S3: out of memory");
    rc = dx_file_read(path, FILE_MAX, &text, err);
    if (rc == DX_E_NOT_FOUND && file == NULL)
        rc = 0;
    else if (rc == DX_OK)
        rc = dx_s3_credentials_parse(c, dx_span_of(text.data, text.size), profile, err);
    if (rc == DX_E_INVALID)
        rc = dx_fail_in(err, "%s", path);
    if (text.size > 0)
        explicit_bzero(text.data, text.size);
    dx_buf_release(&text);
    free(path);
    return rc;
}

static int find_credentials(struct dx_s3_credentials *c, const char *profile, struct dx_error *err)
{
    int rc = credentials_of_environment(c, err);

    if (rc == 0)
        rc = credentials_of_file(c, profile, err);
    if (rc == 0)
        rc = dx_fail(
            err, DX_E_NOT_FOUND,
            "S3: no credentials. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write "
            "profile '%s' in ~/.aws/credentials",
            profile);
    return rc < 0 ? rc : DX_OK;
}

static const char *first_of(const char *a, const char *b, const char *c, const char *d)
{
    return a != NULL ? a : b != NULL ? b : c != NULL ? c : d;
}

static int open_signed(struct dx_source **src, const char *url, const struct dx_s3_place *place,
                       const struct dx_source_options *options, struct dx_error *err)
{
    struct dx_s3_credentials c;
    char sigv4[REGION_MAX + 16];
    struct dx_http_sign sign = { sigv4, c.key_id, c.secret, NULL };
    int rc = find_credentials(
        &c, first_of(options->s3_profile, environment("AWS_PROFILE"), NULL, "default"), err);

    if (rc == DX_OK) {
        (void)snprintf(sigv4, sizeof sigv4, "aws:amz:%s:s3", place->region);
        sign.token = c.token[0] != '\0' ? c.token : NULL;
        rc = dx_source_open_http(src, url, &sign, options, err);
    }
    explicit_bzero(&c, sizeof c);
    return rc;
}

int dx_source_open_s3(struct dx_source **src, const char *root,
                      const struct dx_source_options *options, struct dx_error *err)
{
    struct dx_s3_address address;
    const struct dx_s3_place place = {
        .endpoint = first_of(options->s3_endpoint, environment("AWS_ENDPOINT_URL_S3"),
                             environment("AWS_ENDPOINT_URL"), NULL),
        .region = first_of(options->s3_region, environment("AWS_REGION"),
                           environment("AWS_DEFAULT_REGION"), "us-east-1"),
        .virtual_host = options->s3_virtual_host,
    };
    char *url = NULL;
    int rc;

    *src = NULL;
    rc = dx_s3_address_parse(root, &address, err);
    if (rc == DX_OK)
        rc = dx_s3_root_url(&address, &place, &url, err);
    if (rc == DX_OK && options->s3_anonymous)
        rc = dx_source_open_http(src, url, NULL, options, err);
    else if (rc == DX_OK)
        rc = open_signed(src, url, &place, options, err);
    free(url);
    return rc;
}
