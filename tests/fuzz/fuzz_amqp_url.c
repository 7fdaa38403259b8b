/* SPDX-License-Identifier: Apache-2.0
 * The address of a queue: whatever the bytes, each part stays within its bounds and without control
 * characters, messages never hold the user or the password, and a valid address can be written
 * again.
 */
#include "builder/exchange/queue/amqp_url.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "broken: %s\n", what);
    abort();
}

static void check_part(const char part[DX_AMQP_PART_MAX])
{
    require(memchr(part, 0, DX_AMQP_PART_MAX) != NULL, "a part without an end");
    for (; *part != '\0'; part++)
        require((unsigned char)*part >= 0x20 && *part != 0x7f, "a control character");
}

static char *encode(char *to, const char *part)
{
    for (; *part != '\0'; part++)
        to += sprintf(to, "%%%02x", (unsigned char)*part);
    return to;
}

/* All of it percent-encoded means the same. */
static void check_again(const struct dx_amqp_url *u)
{
    static char text[5 * 3 * DX_AMQP_PART_MAX + 64];
    struct dx_amqp_url again = DX_AMQP_URL_INIT;
    char *at = text;

    at += sprintf(at, "amqp%s://", u->tls ? "s" : "");
    at = encode(at, u->user);
    *at++ = ':';
    at = encode(at, u->password);
    *at++ = '@';
    at = encode(at, u->host);
    at += sprintf(at, ":%d/", u->port);
    at = encode(at, u->vhost);
    at += sprintf(at, "?queue=");
    (void)encode(at, u->queue);
    require(dx_amqp_url_parse(&again, text, NULL) == DX_OK, "encoded again");
    require(again.tls == u->tls && again.port == u->port && strcmp(again.host, u->host) == 0 &&
                strcmp(again.user, u->user) == 0 && strcmp(again.password, u->password) == 0 &&
                strcmp(again.vhost, u->vhost) == 0 && strcmp(again.queue, u->queue) == 0 &&
                strcmp(again.shown, u->shown) == 0,
            "the same again");
    dx_amqp_url_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_amqp_url u = DX_AMQP_URL_INIT;
    struct dx_error err = DX_ERROR_INIT;
    char *text = malloc(size + 1);

    require(text != NULL, "memory");
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    (void)unsetenv("DOMAINDEX_AMQP_USER");
    (void)unsetenv("DOMAINDEX_AMQP_PASSWORD");
    if (dx_amqp_url_parse(&u, text, &err) == DX_OK) {
        check_part(u.user);
        check_part(u.password);
        check_part(u.host);
        check_part(u.vhost);
        check_part(u.queue);
        require(u.port >= 1 && u.port <= 65535 && u.host[0] != '\0' && u.queue[0] != '\0', "empty");
        require(strstr(u.shown, "queue '") == u.shown, "shown");
        check_again(&u);
        require(dx_amqp_url_set_queue(&u, "other", &err) == DX_OK && strcmp(u.queue, "other") == 0,
                "another queue");
    } else {
        /* Words are of ours alone. */
        require(strncmp(err.text, "amqp address: ", 14) == 0, err.text);
    }
    dx_amqp_url_release(&u);
    free(text);
    return 0;
}
