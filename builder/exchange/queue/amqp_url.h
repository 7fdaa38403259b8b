/* SPDX-License-Identifier: Apache-2.0
 * amqp_url.h - where a queue is: amqp://user:password@host:port/vhost?queue=NAME
 *
 *   struct dx_amqp_url u = DX_AMQP_URL_INIT;
 *   rc = dx_amqp_url_parse(&u, text, &err);
 *   u.shown                           for words: without user and password
 *   dx_amqp_url_release(&u);          wipes the password
 *
 * amqps:// is TLS. The port is 5672 or 5671 if it is not said, the vhost "/", user and password
 * guest. Each part is percent-decoded; "%2F" is a vhost called "/". DOMAINDEX_AMQP_USER and
 * DOMAINDEX_AMQP_PASSWORD take the place of those in the text, which every user of the machine
 * may see in a list of processes. Words of an error do not repeat the text.
 * Any thread, while none changes the environment.
 */
#ifndef DX_BUILDER_EXCHANGE_QUEUE_AMQP_URL_H
#define DX_BUILDER_EXCHANGE_QUEUE_AMQP_URL_H

#include "base/error.h"

#include <stdbool.h>

#define DX_AMQP_PART_MAX 256 /* bytes of a part with its NUL: AMQP's short strings */

struct dx_amqp_url {
    bool tls;
    int port;
    char host[DX_AMQP_PART_MAX];
    char user[DX_AMQP_PART_MAX];
    char password[DX_AMQP_PART_MAX];
    char vhost[DX_AMQP_PART_MAX];
    char queue[DX_AMQP_PART_MAX];
    char shown[DX_AMQP_PART_MAX * 2];
};

#define DX_AMQP_URL_INIT                 \
    {                                    \
        false, 0, "", "", "", "", "", "" \
    }

bool dx_amqp_url_is(const char *text); /* begins with amqp:// or amqps:// */
int dx_amqp_url_parse(struct dx_amqp_url *u, const char *text, struct dx_error *err);
/* Another queue of the same vhost; name as it is, not percent-encoded. */
int dx_amqp_url_set_queue(struct dx_amqp_url *u, const char *name, struct dx_error *err);
void dx_amqp_url_release(struct dx_amqp_url *u);

#endif
