/* SPDX-License-Identifier: Apache-2.0
 * Listening by address and by file: what is not an address, a socket that was left behind, one that
 * is served, a file that is not a socket, the mode under every umask, and what is removed at the
 * end.
 */
#include "server/http/listening.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/fail.h"

static unsigned failures;
static char folder[] = "/tmp/domaindex-test-XXXXXX";

static void test_refused(void)
{
    static const char *const rows[] = { "",
                                        "8080",
                                        "localhost",
                                        "127.0.0.1:",
                                        "127.0.0.1:65536",
                                        "1.2.3.4:x",
                                        "::1:80",
                                        "[::1",
                                        "[::1]",
                                        ":80",
                                        "[::1:80",
                                        "[:80",
                                        "[]:80",
                                        "unix:",
                                        "unix:x/admin",
                                        "127.0.0.1:-1",
                                        "unix:/nowhere/at/all" };
    char longer[300] = "unix:/";

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_listening l = DX_LISTENING_INIT;
        struct dx_error err = DX_ERROR_INIT;

        CHECK(dx_listening_open(&l, rows[i], 0660, &err) < 0 && l.fd == -1 && err.text[0] != '\0',
              "'%s'", rows[i]);
    }
    memset(longer + 6, 'a', 200);
    {
        struct dx_listening l = DX_LISTENING_INIT;

        CHECK(dx_listening_open(&l, longer, 0660, NULL) == DX_E_INVALID, "a long path");
        CHECK(dx_listening_check("[::1]:80", NULL) == DX_OK &&
                  dx_listening_check("host.example:0", NULL) == DX_OK,
              "addresses");
    }
    {
        static char host[1100];
        struct dx_error err = DX_ERROR_INIT;

        memset(host, 'a', sizeof host - 1);
        memcpy(host + sizeof host - 4, ":80", 4);
        CHECK(dx_listening_check(host, &err) == DX_E_INVALID, "a host of %zu bytes",
              sizeof host - 4);
    }
}

static void test_address(void)
{
    struct dx_listening l = DX_LISTENING_INIT;
    struct dx_listening second = DX_LISTENING_INIT;
    struct dx_error err = DX_ERROR_INIT;

    CHECK(dx_listening_open(&l, "127.0.0.1:0", 0660, &err) == DX_OK, "%s", err.text);
    CHECK(strncmp(l.name, "127.0.0.1:", 10) == 0 && atoi(l.name + 10) > 0, "%s", l.name);
    CHECK(dx_listening_open(&second, l.name, 0660, &err) == DX_E_IO, "twice");
    dx_listening_close(&l);
    CHECK(l.fd == -1, "closed");
    dx_listening_close(&l);
}

static bool is_there(const char *at)
{
    struct stat st;

    return lstat(at + strlen(DX_LISTENING_UNIX), &st) == 0;
}

static void test_file(void)
{
    static const mode_t masks[] = { 0, 022, 077, 0777 };
    struct dx_listening l = DX_LISTENING_INIT;
    struct dx_listening second = DX_LISTENING_INIT;
    struct dx_error err = DX_ERROR_INIT;
    char at[300];
    const char *path = at + strlen(DX_LISTENING_UNIX);
    struct stat st;
    FILE *f;

    (void)snprintf(at, sizeof at, "unix:%s/admin", folder);
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
        mode_t old = umask(masks[i]);

        CHECK(dx_listening_open(&l, at, 0660, &err) == DX_OK, "%s", err.text);
        (void)umask(old);
        CHECK(lstat(path, &st) == 0 && (st.st_mode & 07777) == 0660, "umask %o: mode %o", masks[i],
              st.st_mode & 07777);
        CHECK(strcmp(l.name, at) == 0, "%s", l.name);
        CHECK(dx_listening_open(&second, at, 0660, &err) == DX_E_BUSY && second.fd == -1, "twice");
        CHECK(is_there(at), "the refused one removed it");
        dx_listening_close(&l);
        CHECK(!is_there(at), "it stays");
    }
    /* As a killed process leaves it. */
    CHECK(dx_listening_open(&l, at, 0660, &err) == DX_OK, "%s", err.text);
    (void)close(l.fd);
    l.fd = -1;
    CHECK(dx_listening_open(&second, at, 0660, &err) == DX_OK, "a stale one: %s", err.text);
    dx_listening_close(&l); /* it is the second one's now */
    CHECK(is_there(at), "another one's file was removed");
    dx_listening_close(&second);
    f = fopen(path, "w");
    if (f != NULL)
        (void)fclose(f);
    CHECK(dx_listening_open(&l, at, 0660, &err) == DX_E_EXISTS, "a file that is no socket");
    CHECK(is_there(at), "it was removed");
    (void)unlink(path);
}

int main(void)
{
    if (mkdtemp(folder) == NULL)
        return 1;
    test_refused();
    test_address();
    test_file();
    (void)rmdir(folder);
    printf("%u failures\n", failures);
    return failures > 0;
}
