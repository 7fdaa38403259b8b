/* SPDX-License-Identifier: Apache-2.0
 * A page of a mapped file that is lost: the file is named on standard error, and the signal ends the process; one that was
 * sent, or is of no file, names none.
 */
#include "base/command/lost_page.h"

#include "base/map.h"
#include "tests/support/damage.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE 8192

static unsigned failures;
static char path[] = "/tmp/dx-lost\033page-XXXXXX";

static void touch_cut_file(void)
{
    struct dx_map map = DX_MAP_INIT;
    struct dx_error err;

    if (dx_map_open(&map, path, DX_MAP_RANDOM, &err) == DX_OK && truncate(path, 1) == 0)
        _exit(((const volatile uint8_t *)map.bytes.data)[SIZE - 1]);
}

static void touch_memory(void)
{
    int fd = memfd_create("none", MFD_CLOEXEC);
    const volatile uint8_t *bytes = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);

    _exit(bytes[0]);
}

static void send_signal(void)
{
    (void)raise(SIGBUS);
}

/* What is said, but for the program's name. */
static void check(const char *what, void (*act)(void), const char *want)
{
    char said[512];
    int ends[2];
    int status;
    ssize_t n;
    pid_t child;

    EXPECT(pipe2(ends, O_CLOEXEC) == 0, "%s", what);
    child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        dx_lost_page_catch();
        act();
        _exit(99);
    }
    (void)close(ends[1]);
    EXPECT(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS,
           "%s: status %d", what, status);
    n = read(ends[0], said, sizeof said - 1);
    (void)close(ends[0]);
    said[n < 0 ? 0 : n] = '\0';
    EXPECT((strstr(said, want != NULL ? want : "cannot be read") != NULL) == (want != NULL),
           "%s: %s", what, said); /* an emulator says something, too */
}

int main(void)
{
    char want[sizeof path + 64];
    int fd = mkstemp(path);

    EXPECT(fd >= 0 && ftruncate(fd, SIZE) == 0 && close(fd) == 0, "%s", path);
    (void)snprintf(want, sizeof want, ": /tmp/dx-lost?page-%s: a page of this file cannot be read",
                   strrchr(path, '-') + 1);
    check("cut short", touch_cut_file, want);
    check("memory", touch_memory, ": /memfd:none (deleted): a page of this file cannot be read");
    check("sent", send_signal, NULL);
    (void)unlink(path);
    return failures > 0;
}
