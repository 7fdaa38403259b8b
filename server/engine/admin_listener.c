/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/admin_listener.h"

#include "server/engine/connection.h"

#include <errno.h>
#include <sys/socket.h>

#define ACCEPTS_MAX 8 /* a wake */

/* Until the next tick, so that what cannot be accepted now does not wake the loop all the time. */
static void rest(struct dx_admin_listener *l)
{
    (void)event_del(&l->event);
    l->rests = true;
}

static void on_accept(evutil_socket_t listen_fd, short what, void *argument)
{
    struct dx_admin_listener *l = argument;

    (void)what;
    dx_loop_clock(l->loop);
    for (unsigned i = 0; i < ACCEPTS_MAX; i++) {
        struct dx_guest guest = { .admin = true };

        if (l->open >= DX_ADMIN_CONNECTIONS) {
            rest(l);
            return;
        }
        guest.fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (guest.fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                rest(l);
            return;
        }
        l->open++;
        atomic_fetch_add(&l->loop->serving->connections, 1);
        dx_connection_open(l->loop, &guest);
    }
}

int dx_admin_listener_begin(struct dx_admin_listener *l, struct dx_loop *loop, int fd,
                            struct dx_error *err)
{
    (void)event_assign(&l->event, loop->base, fd, EV_READ | EV_PERSIST, on_accept, l);
    if (event_add(&l->event, NULL) != 0)
        return dx_no_memory(err, "event loop");
    l->loop = loop;
    return DX_OK;
}

void dx_admin_listener_tick(struct dx_admin_listener *l)
{
    if (l->rests && l->open < DX_ADMIN_CONNECTIONS)
        l->rests = event_add(&l->event, NULL) != 0;
}

void dx_admin_listener_end(struct dx_admin_listener *l)
{
    if (l->loop != NULL)
        (void)event_del(&l->event);
    l->loop = NULL;
    l->rests = false;
}
