/* SPDX-License-Identifier: Apache-2.0
 * fake_server.h - a server on a free port whose answers are fake_answers.h's, for tests of the server alone.
 *
 *   struct dx_fake_server h;
 *   dx_fake_server_start(&h, &options);        or the test ends
 *   ... h.port, h.server, h.fake ...           the test stops the server and frees the answers
 */
#ifndef DX_TESTS_FAKE_SERVER_H
#define DX_TESTS_FAKE_SERVER_H

#include "server/engine/server.h"
#include "tests/support/fake_answers.h"

struct dx_fake_server {
    struct dx_fake *fake;
    struct dx_answers answers;
    struct dx_server *server;
    int port;
};

/* Two loops and two workers on a free port. */
struct dx_server_options dx_fake_server_options(void);

void dx_fake_server_start(struct dx_fake_server *h, const struct dx_server_options *options);

#endif
