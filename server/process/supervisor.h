/* SPDX-License-Identifier: Apache-2.0
 * supervisor.h - the protocols of systemd: sockets and watchdog from it, notifications to it.
 *
 *   rc = dx_supervisor_open(&s, &err);               takes it out of the environment
 *   fd = dx_supervisor_listener(&s, "http");         a listening socket, the caller's now; -1: none
 *   dx_supervisor_begin(&s);                         loading: more time is asked for while it goes on
 *   dx_supervisor_loaded(&s);                        that is over
 *   dx_supervisor_tell(&s, "READY=1");               lines NAME=VALUE
 *   if (s.watchdog_ms > 0) ... dx_supervisor_tell(&s, "WATCHDOG=1") at least each half of it
 *   dx_supervisor_close(&s);                         sends nothing; unused sockets are closed
 *
 * NOTIFY_SOCKET is a datagram socket, by path or (after '@') abstract; WATCHDOG_USEC counts unless
 * WATCHDOG_PID is another process; sockets from descriptor 3 on count if LISTEN_PID is this
 * process: LISTEN_FDS of them, LISTEN_FDNAMES says what each is for, "http" or "admin". Without
 * names the first is http and the second admin. All seven variables are gone afterwards.
 *
 * The socket is connected at open, so before a sandbox that keeps the process from new ones. A
 * telling that the supervisor does not take within a second is dropped.
 *
 * While it loads, each PULSE (supervisor.c) in which the process computed asks for
 * EXTEND_TIMEOUT_USEC: a store that is slow is waited for, a load that hangs is not.
 *
 * tell is safe from every thread between open and close; the others are for one thread, the owner.
 */
#ifndef DX_SERVER_PROCESS_SUPERVISOR_H
#define DX_SERVER_PROCESS_SUPERVISOR_H

#include "base/error.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <pthread.h>
#include <stdbool.h>

enum { DX_LISTENER_HTTP, DX_LISTENER_ADMIN, DX_LISTENER_COUNT };

struct dx_supervisor {
    int notify_fd; /* -1: none */
    struct sockaddr_un notify;
    socklen_t notify_size;
    unsigned watchdog_ms; /* 0: off */
    int listeners[DX_LISTENER_COUNT];

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    pthread_t thread;
    bool loading; /* the thread runs */
};

int dx_supervisor_open(struct dx_supervisor *s, struct dx_error *err);
int dx_supervisor_listener(struct dx_supervisor *s, const char *name);
void dx_supervisor_begin(struct dx_supervisor *s);
void dx_supervisor_loaded(struct dx_supervisor *s); /* ends what begin began; again is fine */
void dx_supervisor_tell(struct dx_supervisor *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void dx_supervisor_close(struct dx_supervisor *s);

#endif
