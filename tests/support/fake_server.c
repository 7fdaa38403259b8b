/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/fake_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dx_server_options dx_fake_server_options(void)
{
    struct dx_server_options o = dx_server_options_default();

    o.listen = "127.0.0.1:0";
    o.loops = 2;
    o.workers = 2;
    return o;
}

void dx_fake_server_start(struct dx_fake_server *h, const struct dx_server_options *options)
{
    struct dx_error err = DX_ERROR_INIT;

    h->fake = dx_fake_new();
    h->answers = dx_fake_answers(h->fake);
    if (dx_server_start(&h->server, options, &h->answers, &err) < 0) {
        printf("cannot start: %s\n", err.text);
        exit(1);
    }
    h->port = atoi(strrchr(dx_server_address(h->server), ':') + 1);
}
