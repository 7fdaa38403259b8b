/* SPDX-License-Identifier: Apache-2.0
 * admin_listener.h - the second listener, of those who run the server: the first loop accepts on
 * it.
 *
 *   rc = dx_admin_listener_begin(&l, loop, fd, &err);     fd: borrowed; listens
 *   dx_admin_listener_tick(&l);                           with the loop's ticks: a rest is over
 *   l.open--;                                             one of its connections ended
 *   dx_admin_listener_end(&l);                            accepts no more; again is fine
 *
 * Its connections do not count towards the limits on clients, so that metrics can be read when
 * clients take up all there is: DX_ADMIN_CONNECTIONS of them at most, from the descriptors that the
 * server reserves. It goes on while the server drains. Of the loop's thread, but begin and end,
 * which may come before and after it.
 */
#ifndef DX_SERVER_ENGINE_ADMIN_LISTENER_H
#define DX_SERVER_ENGINE_ADMIN_LISTENER_H

#include "server/engine/loop.h"

#define DX_ADMIN_CONNECTIONS 32

int dx_admin_listener_begin(struct dx_admin_listener *l, struct dx_loop *loop, int fd,
                            struct dx_error *err);
void dx_admin_listener_tick(struct dx_admin_listener *l);
void dx_admin_listener_end(struct dx_admin_listener *l);

#endif
