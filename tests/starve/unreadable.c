/* SPDX-License-Identifier: Apache-2.0
 * unreadable.c - a disk with a bad sector: a page of a mapped file raises SIGBUS.
 *
 *   DX_UNREADABLE=alpha/1.parquet LD_PRELOAD=build/release/tests/libunreadable.so domaindex ...
 *
 * Of each file whose path has that text in it, the page in the middle of what is mapped is an empty file's. Reads
 * (pread) are left alone.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static const size_t PAGE = 4096;

static int is_meant(int fd)
{
    const char *text = getenv("DX_UNREADABLE");
    char link[64], path[PATH_MAX];
    ssize_t n;

    if (fd < 0 || text == NULL || *text == '\0')
        return 0;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof path - 1);
    if (n < 0)
        return 0;
    path[n] = '\0';
    return strstr(path, text) != NULL;
}

void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset)
{
    long got = syscall(SYS_mmap, at, length, protection, flags, fd, offset);
    int empty;

    if (got == -1 || !is_meant(fd))
        return (void *)got;
    empty = memfd_create("unreadable", MFD_CLOEXEC);
    if (empty < 0 || syscall(SYS_mmap, got + (long)(length / 2 / PAGE * PAGE), PAGE, protection,
                             MAP_SHARED | MAP_FIXED, empty, 0) == -1)
        abort(); /* the test would show nothing */
    (void)close(empty);
    return (void *)got;
}

void *mmap64(void *at, size_t length, int protection, int flags, int fd, off_t offset)
    __attribute__((alias("mmap")));
