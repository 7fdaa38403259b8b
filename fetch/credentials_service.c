/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/credentials_service.h"

#include "base/civil_time.h"
#include "base/file.h"
#include "base/json_in.h"
#include "fetch/http_call.h"
#include "fetch/object_url.h"
#include "fetch/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#define TOKEN_FILE_MAX 16384
#define ATTEMPTS 3
#define PAUSE_US 100000
#define ROLE_MAX 256
#define TOKEN_TTL_S "21600" /* the longest there is; it is used once */
#define CONTAINER_HOST "http://169.254.170.2"
#define INSTANCE_HOST "http://169.254.169.254"
#define ROLES "/latest/meta-data/iam/security-credentials/"

/* "" where there is none. */
static struct dx_span member(struct dx_json_in *in, const struct dx_json_node *o, const char *name)
{
    bool there = dx_json_in_has(o, name) && !dx_json_in_null(o, name);

    return dx_span_str(there ? dx_json_in_str(in, o, name, SIZE_MAX) : "");
}

int dx_credentials_parse_json(struct dx_credentials *c, struct dx_span text, struct dx_error *err)
{
    struct dx_json_in in;
    const struct dx_json_node *o = dx_json_in_open(&in, text, SIZE_MAX, "the service's reply");
    struct dx_span code = member(&in, o, "Code");
    struct dx_span expires = member(&in, o, "Expiration");
    int64_t us = 0;

    memset(c, 0, sizeof *c);
    if (code.size > 0 && !dx_span_equal(code, dx_span_str("Success")))
        dx_json_in_fail(&in, DX_E_IO, "it has no credentials: its code is not Success");
    if (!dx_credentials_keep(c->key_id, member(&in, o, "AccessKeyId")) ||
        !dx_credentials_keep(c->secret, member(&in, o, "SecretAccessKey")) ||
        !dx_credentials_keep(c->token, member(&in, o, "Token")))
        dx_json_in_fail(&in, DX_E_CORRUPT, "a credential of odd bytes or length");
    if (c->key_id[0] == '\0' || c->secret[0] == '\0')
        dx_json_in_fail(&in, DX_E_CORRUPT, "no AccessKeyId and SecretAccessKey");
    if (expires.size > 0 && !dx_civil_parse(expires, &us))
        dx_json_in_fail(&in, DX_E_CORRUPT, "'Expiration' is not a time");
    c->expires_s = us / 1000000;
    if (in.rc < 0)
        dx_credentials_forget(c);
    return dx_json_in_close(&in, err);
}

/* The host of a URL, without port, in lower case; "" if it is too long for one that matters. */
static void host_of(const char *url, char host[64])
{
    const char *at = strstr(url, "://");
    size_t n = 0;
    size_t end;

    host[0] = '\0';
    if (at == NULL)
        return;
    at += 3;
    end = at[0] == '[' ? strcspn(at, "]") + 1 : strcspn(at, ":/?#");
    if (end >= 64 || strcspn(at, "@") < strcspn(at, "/?#"))
        return;
    for (; n < end; n++)
        host[n] = (char)(at[n] >= 'A' && at[n] <= 'Z' ? at[n] + 32 : at[n]);
    host[n] = '\0';
}

/* 127.x.x.x in digits: "127.example.org" is another host. */
static bool loopback_v4(const char *host)
{
    return strncmp(host, "127.", 4) == 0 && host[strspn(host, "0123456789.")] == '\0';
}

bool dx_credentials_url_allowed(const char *url)
{
    char host[64];

    if (strncasecmp(url, "https://", 8) == 0)
        return true;
    if (strncasecmp(url, "http://", 7) != 0)
        return false;
    host_of(url, host);
    return strcmp(host, "169.254.170.2") == 0 || strcmp(host, "169.254.170.23") == 0 ||
           strcmp(host, "[fd00:ec2::23]") == 0 || strcmp(host, "[::1]") == 0 ||
           strcmp(host, "localhost") == 0 || loopback_v4(host);
}

struct service {
    struct dx_http_client *client;
    uint64_t deadline_ms;
    const char *header; /* with each request; NULL: none */
    const char *value;
};

/* A reply with status 200, after a few attempts if the service is down or busy. */
static int ask_service(const struct service *s, const char *method, const char *url,
                       struct dx_buf *out, struct dx_error *err)
{
    int rc = DX_OK;

    for (unsigned made = 1; made <= ATTEMPTS; made++) {
        struct dx_http_call call = DX_HTTP_CALL_INIT(method, url, s->deadline_ms);
        unsigned status;

        call.has_body = strcmp(method, "PUT") == 0;
        if (s->header != NULL && !dx_http_header_add(&call.headers, s->header, s->value)) {
            dx_http_call_release(&call);
            return dx_fail(err, DX_E_INVALID, "%s: a token of odd bytes", url);
        }
        rc = dx_http_call_run(s->client, &call, err);
        status = call.status;
        if (rc == DX_OK && status != 200)
            rc = dx_fail(err, status == 404 ? DX_E_NOT_FOUND : DX_E_IO,
                         "%s: HTTP %u where credentials were to come", url, status);
        if (rc == DX_OK) {
            dx_buf_append(out, call.body.data, call.body.size);
            rc = out->failed ? dx_buf_fail(out, err, url) : DX_OK;
        }
        if (call.body.size > 0)
            explicit_bzero(call.body.data, call.body.size);
        dx_http_call_release(&call);
        if (rc == DX_OK || rc == DX_E_LIMIT || (status >= 400 && status < 500 && status != 429))
            break;
        if (made < ATTEMPTS)
            (void)usleep(PAUSE_US * made);
    }
    return rc;
}

static int service_begin(struct service *s, struct dx_error *err)
{
    const struct dx_http_client_settings settings = {
        .connect_ms = 1000, .stall_ms = 1000, .reply_ms = 1000, .direct = true
    };

    memset(s, 0, sizeof *s);
    s->deadline_ms = dx_clock_ms() + DX_CREDENTIALS_SERVICE_MS;
    return dx_http_client_new(&s->client, &settings, err);
}

/* What the service says is wiped: it is secrets. */
static void forget(struct dx_buf *b)
{
    if (b->size > 0)
        explicit_bzero(b->data, b->size);
    dx_buf_release(b);
}

static int ask_credentials(const struct service *s, const char *url, struct dx_credentials *c,
                           struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_HTTP_CALL_CAP);
    int rc = ask_service(s, "GET", url, &text, err);

    if (rc == DX_OK) {
        rc = dx_credentials_parse_json(c, dx_span_of(text.data, text.size), err);
        if (rc < 0)
            rc = dx_fail_in(err, "%s", url);
    }
    forget(&text);
    return rc;
}

/* The token of the container's agent, read again each time: it is rotated. Line ends are cut. */
static int container_token(struct dx_buf *token, struct dx_error *err)
{
    const char *file = dx_environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    const char *text = dx_environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    int rc = DX_OK;

    if (file != NULL)
        rc = dx_file_read(file, TOKEN_FILE_MAX, token, err);
    else if (text != NULL)
        dx_buf_str(token, text);
    while (token->size > 0 && strchr("\r\n", token->data[token->size - 1]) != NULL)
        token->size--;
    dx_buf_u8(token, '\0');
    if (rc == DX_OK && token->failed)
        rc = dx_buf_fail(token, err, "the container's authorization token");
    if (rc == DX_OK && strlen((const char *)token->data) + 1 != token->size)
        rc = dx_fail(err, DX_E_INVALID, "the container's authorization token has odd bytes");
    return rc;
}

static int container_url(char **url, struct dx_error *err)
{
    const char *relative = dx_environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = dx_environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");

    *url = NULL;
    if (relative == NULL && full == NULL)
        return 0;
    if (relative != NULL && relative[0] != '/')
        return dx_fail(err, DX_E_INVALID,
                       "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with a slash");
    if (relative == NULL && !dx_credentials_url_allowed(full))
        return dx_fail(err, DX_E_INVALID,
                       "AWS_CONTAINER_CREDENTIALS_FULL_URI: neither https:// nor an address of "
                       "this machine, so secrets are not asked for there");
    if ((relative != NULL ? asprintf(url, CONTAINER_HOST "%s", relative)
                          : asprintf(url, "%s", full)) < 0) {
        *url = NULL;
        return dx_no_memory(err, "S3 credentials");
    }
    return 1;
}

int dx_credentials_of_container(struct dx_credentials *c, struct dx_error *err)
{
    struct dx_buf token = DX_BUF_INIT(TOKEN_FILE_MAX + 1);
    struct service service = { NULL, 0, NULL, NULL };
    char *url;
    int rc = container_url(&url, err);

    if (rc <= 0)
        return rc;
    rc = container_token(&token, err);
    if (rc == DX_OK)
        rc = service_begin(&service, err);
    if (rc == DX_OK) {
        if (token.size > 1) {
            service.header = "Authorization";
            service.value = (const char *)token.data;
        }
        rc = ask_credentials(&service, url, c, err);
    }
    dx_http_client_free(&service.client);
    forget(&token);
    free(url);
    if (rc < 0)
        return dx_fail_in(err, "S3 credentials of the container");
    return 1;
}

/* The first line, which names the role; of plain characters, since it goes into a URL. */
static bool role_line(struct dx_buf *text)
{
    size_t n = 0;

    while (n < text->size && text->data[n] != '\n' && text->data[n] != '\r') {
        uint8_t c = text->data[n];

        if (c <= 0x20 || c >= 0x7f || strchr("/?#%\\", c) != NULL)
            return false;
        n++;
    }
    text->size = n;
    dx_buf_u8(text, '\0');
    return n > 0 && !text->failed;
}

/* With the session's token in service: role, then its credentials. */
static int ask_role(const struct service *service, const char *host, struct dx_credentials *c,
                    struct dx_error *err)
{
    struct dx_buf role = DX_BUF_INIT(ROLE_MAX);
    struct dx_buf url = DX_BUF_INIT(DX_URL_MAX);
    int rc;

    dx_buf_fmt(&url, "%s%s", host, ROLES);
    dx_buf_u8(&url, '\0');
    rc = url.failed ? dx_buf_fail(&url, err, host)
                    : ask_service(service, "GET", (const char *)url.data, &role, err);
    if (rc == DX_E_NOT_FOUND)
        rc = dx_fail(err, DX_E_NOT_FOUND, "%s: the machine has no role: give it one", host);
    if (rc == DX_OK && !role_line(&role))
        rc = dx_fail(err, DX_E_CORRUPT, "%s: the name of the role is odd", host);
    if (rc == DX_OK) {
        url.size--;
        dx_url_encode(&url, (const char *)role.data);
        dx_buf_u8(&url, '\0');
        rc = url.failed ? dx_buf_fail(&url, err, host)
                        : ask_credentials(service, (const char *)url.data, c, err);
    }
    dx_buf_release(&url);
    dx_buf_release(&role);
    return rc;
}

static int ask_instance(struct service *service, const char *host, struct dx_credentials *c,
                        struct dx_error *err)
{
    struct dx_buf token = DX_BUF_INIT(TOKEN_FILE_MAX);
    char *url = NULL;
    int rc = asprintf(&url, "%s/latest/api/token", host) < 0 ? dx_no_memory(err, "S3 credentials")
                                                             : DX_OK;

    service->header = "X-aws-ec2-metadata-token-ttl-seconds";
    service->value = TOKEN_TTL_S;
    if (rc == DX_OK)
        rc = ask_service(service, "PUT", url, &token, err);
    dx_buf_u8(&token, '\0');
    if (rc == DX_OK && token.no_memory)
        rc = dx_no_memory(err, "S3 credentials");
    if (rc == DX_OK && (token.failed || strlen((const char *)token.data) + 1 != token.size))
        rc = dx_fail(err, DX_E_CORRUPT, "%s: a token of odd bytes", url);
    if (rc == DX_OK) {
        service->header = "X-aws-ec2-metadata-token";
        service->value = (const char *)token.data;
        rc = ask_role(service, host, c, err);
    }
    forget(&token);
    free(url);
    return rc;
}

int dx_credentials_of_instance(struct dx_credentials *c, struct dx_error *err)
{
    const char *disabled = dx_environment("AWS_EC2_METADATA_DISABLED");
    const char *endpoint = dx_environment("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    struct service service;
    char *host = NULL;
    int rc;

    if (disabled != NULL && strcasecmp(disabled, "true") == 0)
        return 0;
    rc = dx_root_url(endpoint != NULL ? endpoint : INSTANCE_HOST, &host, err);
    if (rc < 0)
        return dx_fail_in(err, "AWS_EC2_METADATA_SERVICE_ENDPOINT");
    rc = service_begin(&service, err);
    if (rc == DX_OK)
        rc = ask_instance(&service, host, c, err);
    dx_http_client_free(&service.client);
    free(host);
    if (rc < 0)
        return dx_fail_in(err, "S3 credentials of the instance");
    return 1;
}
