/* SPDX-License-Identifier: Apache-2.0 */
#include "base/command/lost_page.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"

#define LINE_MAX_BYTES (PATH_MAX + 128) /* "begin-end perms offset dev inode path" */

/* /proc/self/maps by lines; a longer one is cut. Static: the stack of the thread may be small. */
static struct {
    int fd;
    char bytes[4096];
    size_t at, size;
    char line[LINE_MAX_BYTES];
} maps;

static bool next_line(void)
{
    size_t length = 0;

    for (;;) {
        if (maps.at == maps.size) {
            ssize_t n = read(maps.fd, maps.bytes, sizeof maps.bytes);

            if (n <= 0)
                return false;
            maps.at = 0;
            maps.size = (size_t)n;
        }
        if (maps.bytes[maps.at] == '\n')
            break;
        if (length < sizeof maps.line - 1)
            maps.line[length++] = maps.bytes[maps.at];
        maps.at++;
    }
    maps.at++;
    maps.line[length] = '\0';
    return true;
}

static uintptr_t read_hex(const char **p)
{
    static const char digits[] = "0123456789abcdef";
    const char *digit;
    uintptr_t value = 0;

    while (**p != '\0' && (digit = strchr(digits, **p)) != NULL) {
        value = value * 16 + (uintptr_t)(digit - digits);
        (*p)++;
    }
    return value;
}

/* A name may hold what a terminal would act on. */
static const char *printable(char *path)
{
    for (char *p = path; p != NULL && *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    return path;
}

static const char *path_of(uintptr_t address)
{
    maps.fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (maps.fd < 0)
        return NULL;
    while (next_line()) {
        const char *p = maps.line;
        uintptr_t begin = read_hex(&p);

        if (*p++ == '-' && begin <= address && address < read_hex(&p))
            return printable(strchr(maps.line, '/'));
    }
    return NULL;
}

static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return; /* nothing else can be done in a handler */
}

static void on_bus(int number, siginfo_t *info, void *context)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    const char *path;

    (void)context;
    if (info->si_code > 0) {
        while (atomic_flag_test_and_set(&said))
            (void)pause(); /* another thread writes it, and ends the process */
        path = path_of((uintptr_t)info->si_addr);
        say(program_invocation_short_name);
        say(": ");
        say(path == NULL ? "a mapped file" : path);
        say(": " DX_MAP_LOST_PAGE "\n");
    }
    (void)signal(number, SIG_DFL);
    if (info->si_code <= 0)
        (void)raise(number); /* was sent: it would not come again by itself */
}

void dx_lost_page_catch(void)
{
    struct sigaction action = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO };

    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGBUS, &action, NULL); /* without it the process ends all the same */
}
