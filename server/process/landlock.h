/* SPDX-License-Identifier: Apache-2.0
 * landlock.h - files and ports that this process may use from now on; the kernel holds it to that.
 *
 *   struct dx_landlock l;
 *   rc = dx_landlock_open(&l, DX_LANDLOCK_NO_CONNECT, &err);     1, or 0: this kernel has none
 *   rc = dx_landlock_path(&l, "/srv/index", DX_LANDLOCK_READ, &err);    1, or 0: nothing is there
 *   rc = dx_landlock_bind(&l, 8080, &err);           a TCP port that may be bound; 0: any free one
 *   rc = dx_landlock_enter(&l, &err);                for this thread and those that it starts
 *   dx_landlock_close(&l);
 *
 * Rules are of what is there when they are made (inodes): what is put in the place of a file later
 * is not covered, what comes into a directory is. So name the directory of a file that is replaced.
 * Nothing that is not named can be opened, made, renamed, removed or executed; what is open stays.
 *
 * What a kernel cannot hold is left out, and l.abi says what it can: 1 files; 2 links and renames
 * between directories (before: refused to all); 3 cutting of files; 4 TCP ports; 5 devices'
 * controls; 6 abstract sockets and signals of others. One thread.
 */
#ifndef DX_SERVER_PROCESS_LANDLOCK_H
#define DX_SERVER_PROCESS_LANDLOCK_H

#include "base/error.h"

#include <stdint.h>

enum {
    DX_LANDLOCK_READ = 1,    /* files and directories */
    DX_LANDLOCK_WRITE = 2,   /* and make, replace and remove files */
    DX_LANDLOCK_TREE = 4,    /* and directories, and links between them */
    DX_LANDLOCK_SOCKET = 8,  /* make and remove a socket */
    DX_LANDLOCK_APPEND = 16, /* make and write files, but remove none */
};

enum { DX_LANDLOCK_NO_CONNECT = 1 }; /* no TCP connection to anywhere */

struct dx_landlock {
    int fd;
    int abi;
    uint64_t files; /* what is ruled */
    uint64_t ports;
    uint64_t scopes;
};

int dx_landlock_open(struct dx_landlock *l, unsigned flags, struct dx_error *err);
int dx_landlock_path(struct dx_landlock *l, const char *path, unsigned rights,
                     struct dx_error *err);
int dx_landlock_bind(struct dx_landlock *l, unsigned port, struct dx_error *err);
int dx_landlock_enter(struct dx_landlock *l, struct dx_error *err);
void dx_landlock_close(struct dx_landlock *l);

#endif
