/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/bounded_child.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS_MAX 60

static const char *judge(int status, bool is_whole, long grown_kb, long growth_max_kb)
{
    static char trouble[100];

    if (WIFSIGNALED(status))
        (void)snprintf(trouble, sizeof trouble, "killed by signal %d%s", WTERMSIG(status),
                       WTERMSIG(status) == SIGALRM ? " (too slow)" : "");
    else if (WEXITSTATUS(status) != 0 || !is_whole)
        (void)snprintf(trouble, sizeof trouble, "exit status %d", WEXITSTATUS(status));
    else if (grown_kb > growth_max_kb)
        (void)snprintf(trouble, sizeof trouble, "grew by %ld KB", grown_kb);
    else
        return NULL;
    return trouble;
}

const char *dx_bounded_child(bool (*read_it)(const char *path, void *outcome), const char *path,
                             void *outcome, size_t size, long growth_max_kb)
{
    struct rusage before, usage;
    int pipes[2], status = 0;
    ssize_t got;
    pid_t pid;

    (void)getrusage(RUSAGE_SELF, &before);
    if (pipe(pipes) < 0)
        return "no pipe";
    (void)fflush(stdout);
    memset(outcome, 0, size);
    pid = fork();
    if (pid == 0) {
        bool ok;

        (void)alarm(SECONDS_MAX);
        ok = read_it(path, outcome) && write(pipes[1], outcome, size) == (ssize_t)size;
        (void)fflush(stdout);
        _exit(ok ? 0 : 1);
    }
    (void)close(pipes[1]);
    got = read(pipes[0], outcome, size);
    (void)close(pipes[0]);
    if (wait4(pid, &status, 0, &usage) < 0)
        return "no child";
    return judge(status, got == (ssize_t)size, usage.ru_maxrss - before.ru_maxrss, growth_max_kb);
}
