/* SPDX-License-Identifier: Apache-2.0
 * The server when descriptors run out: it does not spin, it serves those it has, and it
 * accepts again afterwards. The server is a child process with a small limit. */
#include "base/clock.h"
#include "server/engine/server.h"
#include "tests/support/fail.h"
#include "tests/support/fake_answers.h"
#include "tests/support/raw_client.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define GET(target) "GET " target " HTTP/1.1\r\nHost: h\r\n\r\n"
#define CLIENTS 120

static int failures;

static const struct {
    const char *name;
    rlim_t limit_at_start; /* the server reckons its connections from it */
    rlim_t limit_after;    /* lowered behind its back, so that accept itself fails */
    unsigned served_at_least;
} rows[] = {
    { "cap of connections", 100, 100, 5 },
    { "accept fails", 4096, 40, 10 },
};

static long cpu_ms(pid_t pid)
{
    char path[64];
    unsigned long user = 0, system = 0;
    FILE *f;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    f = fopen(path, "r");
    if (f == NULL || fscanf(f, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                            &system) != 2)
        user = 1000000;
    if (f != NULL)
        (void)fclose(f);
    return (long)((user + system) * 1000 / (unsigned long)sysconf(_SC_CLK_TCK));
}

_Noreturn static void serve(size_t row, int to_parent)
{
    struct dx_server_options o = dx_server_options_default();
    struct rlimit limit = { rows[row].limit_at_start, rows[row].limit_at_start };
    struct dx_fake *fake = dx_fake_new();
    struct dx_answers answers = dx_fake_answers(fake);
    struct dx_server *server;
    struct dx_error err = DX_ERROR_INIT;
    int port = -1;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    o.listen = "127.0.0.1:0";
    o.loops = 2;
    o.workers = 1;
    o.head_timeout_ms = 60000;
    if (dx_server_start(&server, &o, &answers, &err) == DX_OK)
        port = atoi(strrchr(dx_server_address(server), ':') + 1);
    else
        printf("cannot start: %s\n", err.text);
    limit.rlim_cur = rows[row].limit_after;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    if (write(to_parent, &port, sizeof port) != (ssize_t)sizeof port)
        _exit(1);
    for (;;)
        (void)pause();
}

/* Looks at each until so many are served, a minute at most; then once more at all. */
static unsigned count_served(struct dx_raw *clients, unsigned at_least)
{
    static bool has[CLIENTS];
    unsigned served = 0;
    bool last = false;

    memset(has, 0, sizeof has);
    for (uint64_t end = dx_clock_ms() + 60000; !last;) {
        last = served >= at_least || dx_clock_ms() > end;
        for (size_t i = 0; i < CLIENTS; i++) {
            struct dx_raw_reply reply;

            if (!has[i] && clients[i].fd >= 0 && dx_raw_reply(&clients[i], false, &reply, 5) &&
                reply.status == 200) {
                has[i] = true;
                served++;
            }
        }
    }
    return served;
}

static void check_row(size_t row)
{
    static struct dx_raw clients[CLIENTS];
    struct dx_raw_reply reply;
    struct dx_raw c;
    unsigned served;
    long used;
    int pipes[2];
    int port = -1;
    pid_t child;

    if (pipe(pipes) != 0)
        exit(1);
    (void)fflush(stdout);
    child = fork();
    if (child == 0)
        serve(row, pipes[1]);
    if (read(pipes[0], &port, sizeof port) != (ssize_t)sizeof port || port < 0)
        exit(1);
    for (size_t i = 0; i < CLIENTS; i++)
        if (dx_raw_open(&clients[i], port))
            (void)dx_raw_say(&clients[i], GET("/v1/domain/a"));
    served = count_served(clients, rows[row].served_at_least);
    CHECK(served >= rows[row].served_at_least && served < CLIENTS, "%s: %u of %d served",
          rows[row].name, served, CLIENTS);

    /* The rest still waits: the listener must rest, too. */
    used = cpu_ms(child);
    (void)usleep(1500000);
    used = cpu_ms(child) - used;
    CHECK(used < 300, "%s: %ld ms of CPU in 1500 ms of waiting", rows[row].name, used);

    for (size_t i = 0; i < CLIENTS; i++)
        dx_raw_close(&clients[i]);
    (void)usleep(300000);
    CHECK(dx_raw_open(&c, port) && dx_raw_say(&c, GET("/v1/domain/a")) &&
              dx_raw_reply(&c, false, &reply, 60000) && reply.status == 200,
          "%s: not served after the others left", rows[row].name);
    dx_raw_close(&c);
    printf("%s: %u of %d served, %ld ms of CPU in 1500 ms\n", rows[row].name, served, CLIENTS,
           used);
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    (void)close(pipes[0]);
    (void)close(pipes[1]);
}

int main(void)
{
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
        check_row(row);
    return failures > 0;
}
