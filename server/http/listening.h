/* SPDX-License-Identifier: Apache-2.0
 * listening.h - a socket that clients connect to: by address, or a file.
 *
 *   struct dx_listening l = DX_LISTENING_INIT;
 *   rc = dx_listening_open(&l, "127.0.0.1:8080", 0, &err);  HOST:PORT, [V6]:PORT; port 0: any free one
 *   rc = dx_listening_open(&l, "unix:/run/x/admin", 0660, &err);  the file's mode; one that a dead
 *                                 server left is replaced, one that is served is DX_E_BUSY
 *   rc = dx_listening_check("127.0.0.1:8080", &err);        how it is written; opens and looks up nothing
 *   rc = dx_listening_look("127.0.0.1:8080", &err);         and that this machine has the address, or the file can be made;
 *                                 takes no port and makes no file, so a server may be there
 *   dx_listening_take(&l, fd);                              one that listens already, of a supervisor
 *   l.fd, l.name                                            "127.0.0.1:40123", the real port; "unix:PATH"
 *   dx_listening_close(&l);                                 the file is removed, if it is still ours
 *
 * fd is not blocking. A caller that takes it sets it to -1 and closes it; close still removes the
 * file. One thread at a time.
 */
#ifndef DX_SERVER_HTTP_LISTENING_H
#define DX_SERVER_HTTP_LISTENING_H

#include "base/error.h"

#include <netdb.h>
#include <sys/types.h>
#include <sys/un.h>
#include <time.h>

#define DX_LISTENING_UNIX "unix:"

struct dx_listening {
    int fd;
    char name[NI_MAXHOST + NI_MAXSERV + 4];
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* "": none */
    dev_t device; /* of the file that we made, and when: a number may be given again */
    ino_t inode;
    struct timespec made;
};

#define DX_LISTENING_INIT \
    {                     \
        .fd = -1          \
    }

int dx_listening_check(const char *at, struct dx_error *err);
int dx_listening_look(const char *at, struct dx_error *err);
int dx_listening_open(struct dx_listening *l, const char *at, unsigned mode, struct dx_error *err);
void dx_listening_take(struct dx_listening *l, int fd);
void dx_listening_close(struct dx_listening *l);

#endif
