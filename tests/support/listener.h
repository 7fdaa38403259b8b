/* SPDX-License-Identifier: Apache-2.0
 * listener.h - what the small HTTP servers of tests share: a port of 127.0.0.1, a thread for each
 * connection, heads cut out of what comes.
 *
 *   struct dx_listener l = { .head = answer, .ctx = ctx };
 *   dx_listener_begin(&l);                    l.port; trouble ends the program
 *   static bool answer(void *ctx, int fd, const char *head)
 *       ... dx_listener_send(fd, bytes, n) ...            false: close the connection
 *   dx_listener_end(&l);                      no more connections; l must outlive those there are
 *
 * head: from the request line to the end of the last field's line, without the empty one. `opened`,
 * if there is one, is asked for each connection first: false closes it at once. Both run in threads
 * of their own.
 */
#ifndef DX_TESTS_LISTENER_H
#define DX_TESTS_LISTENER_H

#include <stdbool.h>
#include <stddef.h>

#define DX_LISTENER_HEAD_MAX 8192

struct dx_listener {
    bool (*head)(void *ctx, int fd, const char *head);
    bool (*opened)(void *ctx);
    void *ctx;
    int fd;
    unsigned port;
};

void dx_listener_begin(struct dx_listener *l);
void dx_listener_end(struct dx_listener *l);
bool dx_listener_send(int fd, const void *data, size_t n); /* false: the client has gone */

#endif
