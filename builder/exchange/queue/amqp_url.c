/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/exchange/queue/amqp_url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crypto/secret.h"

bool dx_amqp_url_is(const char *text)
{
    return strncmp(text, "amqp://", 7) == 0 || strncmp(text, "amqps://", 8) == 0;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Percent-decoded; control characters, which no part has a use for, are refused. */
static int decode_part(char out[DX_AMQP_PART_MAX], const char *from, size_t size, const char *what,
                       struct dx_error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)from[i];

        if (c == '%') {
            int high = i + 2 < size ? digit(from[i + 1]) : -1;
            int low = i + 2 < size ? digit(from[i + 2]) : -1;

            if (high < 0 || low < 0)
                return dx_fail(err, DX_E_INVALID, "amqp address: %s has a %% without two digits",
                               what);
            c = (unsigned char)(high << 4 | low);
            i += 2;
        }
        if (c < 0x20 || c == 0x7f || n + 1 == DX_AMQP_PART_MAX)
            return dx_fail(err, DX_E_INVALID,
                           "amqp address: %s is 1..%d bytes without control characters", what,
                           DX_AMQP_PART_MAX - 1);
        out[n++] = (char)c;
    }
    out[n] = '\0';
    return DX_OK;
}

static int credentials(struct dx_amqp_url *u, const char *from, size_t size, struct dx_error *err)
{
    const char *colon = memchr(from, ':', size);
    size_t user = colon == NULL ? size : (size_t)(colon - from);
    int rc = decode_part(u->user, from, user, "the user", err);

    if (rc == DX_OK && colon != NULL)
        rc = decode_part(u->password, colon + 1, size - user - 1, "the password", err);
    return rc;
}

static int read_place(struct dx_amqp_url *u, const char *from, size_t size, struct dx_error *err)
{
    const char *colon = NULL;
    size_t host = size;
    char *end;
    long port = u->tls ? 5671 : 5672;

    if (size > 0 && from[0] == '[') { /* an IPv6 address */
        const char *close = memchr(from, ']', size);

        if (close == NULL)
            return dx_fail(err, DX_E_INVALID, "amqp address: a [ is not closed");
        if (close + 1 < from + size)
            colon = close + 1;
        from++;
        host = (size_t)(close - from);
        size--;
    } else {
        colon = size == 0 ? NULL : memchr(from, ':', size);
        if (colon != NULL)
            host = (size_t)(colon - from);
    }
    if (colon != NULL) {
        port = strtol(colon + 1, &end, 10);
        if (*colon != ':' || end != from + size || end == colon + 1 || port < 1 || port > 65535)
            return dx_fail(err, DX_E_INVALID, "amqp address: the port is a number of 1..65535");
    }
    u->port = (int)port;
    if (host == 0)
        return dx_fail(err, DX_E_INVALID, "amqp address: the host is missing");
    return decode_part(u->host, from, host, "the host", err);
}

static int queue(struct dx_amqp_url *u, const char *query, struct dx_error *err)
{
    if (query == NULL || strncmp(query, "?queue=", 7) != 0 || query[7] == '\0' ||
        strpbrk(query + 7, "&#") != NULL)
        return dx_fail(err, DX_E_INVALID,
                       "amqp address: ?queue=NAME is expected behind the vhost, and nothing else");
    return decode_part(u->queue, query + 7, strlen(query + 7), "the queue", err);
}

static int environment(struct dx_amqp_url *u, struct dx_error *err)
{
    static const char *const names[] = { "DOMAINDEX_AMQP_USER", "DOMAINDEX_AMQP_PASSWORD" };
    char *const parts[] = { u->user, u->password };

    for (size_t i = 0; i < 2; i++) {
        const char *value = getenv(names[i]);

        if (value == NULL)
            continue;
        if (strlen(value) >= DX_AMQP_PART_MAX)
            return dx_fail(err, DX_E_INVALID, "%s: longer than %d bytes", names[i],
                           DX_AMQP_PART_MAX - 1);
        memcpy(parts[i], value, strlen(value) + 1);
    }
    return DX_OK;
}

static void show(struct dx_amqp_url *u)
{
    (void)snprintf(u->shown, sizeof u->shown, "queue '%.200s' at %.200s:%d", u->queue, u->host,
                   u->port);
}

int dx_amqp_url_set_queue(struct dx_amqp_url *u, const char *name, struct dx_error *err)
{
    size_t n = strlen(name);

    if (n == 0 || n >= DX_AMQP_PART_MAX)
        return dx_fail(err, DX_E_INVALID, "the name of a queue has 1..%d bytes",
                       DX_AMQP_PART_MAX - 1);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
            return dx_fail(err, DX_E_INVALID, "the name of a queue has no control characters");
    memcpy(u->queue, name, n + 1);
    show(u);
    return DX_OK;
}

int dx_amqp_url_parse(struct dx_amqp_url *u, const char *text, struct dx_error *err)
{
    const char *at;
    const char *end;
    const char *slash;
    const char *query;
    const char *sign;
    int rc;

    *u = (struct dx_amqp_url)DX_AMQP_URL_INIT;
    if (!dx_amqp_url_is(text))
        return dx_fail(err, DX_E_INVALID, "amqp address: amqp:// or amqps:// is expected");
    dx_secret_held();
    u->tls = strncmp(text, "amqps:", 6) == 0;
    at = text + (u->tls ? 8 : 7);
    query = strchr(at, '?');
    end = query != NULL ? query : at + strlen(at);
    slash = memchr(at, '/', (size_t)(end - at));
    if (slash == NULL)
        slash = end;
    (void)snprintf(u->user, sizeof u->user, "guest");
    (void)snprintf(u->password, sizeof u->password, "guest");
    (void)snprintf(u->vhost, sizeof u->vhost, "/");
    sign = slash;
    while (sign > at && sign[-1] != '@')
        sign--;
    rc = sign > at ? credentials(u, at, (size_t)(sign - at) - 1, err) : DX_OK;
    if (rc == DX_OK)
        rc = read_place(u, sign, (size_t)(slash - sign), err);
    if (rc == DX_OK && end > slash + 1)
        rc = decode_part(u->vhost, slash + 1, (size_t)(end - slash) - 1, "the vhost", err);
    if (rc == DX_OK)
        rc = queue(u, query, err);
    if (rc == DX_OK)
        rc = environment(u, err);
    if (rc == DX_OK)
        show(u);
    return rc;
}

void dx_amqp_url_release(struct dx_amqp_url *u)
{
    explicit_bzero(u->password, sizeof u->password);
    explicit_bzero(u->user, sizeof u->user);
}
