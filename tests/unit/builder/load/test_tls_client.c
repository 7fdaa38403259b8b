/* SPDX-License-Identifier: Apache-2.0
 * What calls of a TLS connection come to: it waits, the server ended it as TLS wants it, or broke it off; and a name that is not the
 * certificate's.
 */
#include "builder/load/tls_client.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/fail.h"
#include "tests/support/tls_peer.h"

static int failures;
static char certificate[] = "/tmp/dx-test-tls-XXXXXX";

struct both {
    struct dx_tls_client *client;
    SSL_CTX *context; /* of the server */
    SSL *ours, *theirs;
    int fds[2];
};

static void open_both(struct both *b, const struct tls_pair *pair, const char *name)
{
    struct dx_error err = DX_ERROR_INIT;

    *b = (struct both){ .context = SSL_CTX_new(TLS_server_method()) };
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, b->fds) != 0 ||
        b->context == NULL || SSL_CTX_use_certificate(b->context, pair->certificate) != 1 ||
        SSL_CTX_use_PrivateKey(b->context, pair->key) != 1 ||
        (b->theirs = SSL_new(b->context)) == NULL || SSL_set_fd(b->theirs, b->fds[1]) != 1)
        abort();
    SSL_set_accept_state(b->theirs);
    if (dx_tls_client_new(&b->client, name, certificate, false, &err) < 0 ||
        (b->ours = dx_tls_client_ssl(b->client, b->fds[0], &err)) == NULL) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
}

/* What the client's handshake comes to: 1 done, or as dx_tls_client_code. */
static int shake(struct both *b, struct dx_error *err)
{
    uint32_t events = 0;
    int rc = 0;

    for (int turn = 0; turn < 20 && rc == 0; turn++) {
        int n;

        errno = 0;
        n = SSL_do_handshake(b->ours);
        rc = n == 1 ? 1 : dx_tls_client_code(b->ours, n, "handshake", &events, err);
        CHECK(rc != 0 || events == EPOLLIN, "it waits for %x", (unsigned)events);
        (void)SSL_do_handshake(b->theirs);
    }
    return rc;
}

static int receive(struct both *b, uint32_t *events, struct dx_error *err)
{
    char byte;
    int n;

    errno = 0;
    n = SSL_read(b->ours, &byte, 1);
    return n > 0 ? 2 : dx_tls_client_code(b->ours, n, "recv", events, err);
}

static void close_both(struct both *b)
{
    SSL_free(b->ours);
    SSL_free(b->theirs);
    SSL_CTX_free(b->context);
    dx_tls_client_free(&b->client);
    (void)close(b->fds[0]);
    (void)close(b->fds[1]);
}

static void test_end(const struct tls_pair *pair, bool breaks_off)
{
    struct dx_error err = DX_ERROR_INIT;
    uint32_t events = 0;
    struct both b;
    int rc;

    open_both(&b, pair, "localhost");
    CHECK(shake(&b, &err) == 1, "%s", err.text);
    CHECK(receive(&b, &events, &err) == 0 && events == EPOLLIN, "nothing came: %s", err.text);
    CHECK(SSL_write(b.theirs, "x", 1) == 1 && receive(&b, &events, &err) == 2, "a byte");
    if (breaks_off)
        (void)shutdown(b.fds[1], SHUT_RDWR);
    else
        (void)SSL_shutdown(b.theirs);
    rc = receive(&b, &events, &err);
    CHECK(breaks_off ? rc < 0 : rc == 1, "%s: %d", breaks_off ? "broken off" : "ended", rc);
    close_both(&b);
}

static void test_other_name(const struct tls_pair *pair)
{
    struct dx_error err = DX_ERROR_INIT;
    struct both b;

    open_both(&b, pair, "example.org");
    CHECK(shake(&b, &err) < 0 && strstr(err.text, "hostname mismatch") != NULL, "%s", err.text);
    close_both(&b);
}

int main(void)
{
    struct tls_pair pair = tls_pair_new(1, (int64_t)time(NULL) + 86400);
    int fd = mkstemp(certificate);

    if (fd < 0)
        return 1;
    (void)close(fd);
    (void)signal(SIGPIPE, SIG_IGN); /* as the command has it */
    tls_pair_write(&pair, certificate, "/dev/null");
    test_end(&pair, false);
    test_end(&pair, true);
    test_other_name(&pair);
    (void)unlink(certificate);
    tls_pair_free(&pair);
    return failures > 0;
}
