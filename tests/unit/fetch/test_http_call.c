/* SPDX-License-Identifier: Apache-2.0
 * test_http_call.c - fields of a reply that a call keeps, and a file that cannot be read while it is sent.
 */
#include "fetch/http_call.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/damage.h"
#include "tests/support/listener.h"

static unsigned failures;
static struct dx_http_client *client;
static char url[64];

static bool answer(void *ctx, int fd, const char *head)
{
    static const char reply[] = "HTTP/1.1 200 OK\r\n"
                                "Date: Thu, 21 Nov 2024 10:20:00 GMT \t \r\n"
                                "Last-Modified:  Wed, 20 Nov 2024 10:20:00 GMT\r\n"
                                "x-amz-meta-dx-nonce: 0123456789abcdef \r\n"
                                "Content-Length: 2\r\n\r\nok";

    (void)ctx;
    if (strncmp(head, "PUT ", 4) == 0)
        return true; /* the reply would come behind the body */
    return dx_listener_send(fd, reply, sizeof reply - 1);
}

static void check_fields(void)
{
    struct dx_http_call call = DX_HTTP_CALL_INIT("GET", url, dx_clock_ms() + 5000);
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_http_call_run(client, &call, &err) == DX_OK && call.status == 200 &&
               call.body.size == 2,
           "%u: %s", call.status, err.text);
    EXPECT(strcmp(call.date, "Thu, 21 Nov 2024 10:20:00 GMT") == 0, "date '%s'", call.date);
    EXPECT(strcmp(call.modified, "Wed, 20 Nov 2024 10:20:00 GMT") == 0, "modified '%s'",
           call.modified);
    EXPECT(strcmp(call.nonce, "0123456789abcdef") == 0, "nonce '%s'", call.nonce);
    dx_http_call_release(&call);
}

/* A descriptor for writing alone cannot be read. */
static void check_unreadable(void)
{
    struct dx_http_call call = DX_HTTP_CALL_INIT("PUT", url, dx_clock_ms() + 5000);
    struct dx_error err = DX_ERROR_INIT;
    char path[] = "/tmp/dx-test-call-XXXXXX";
    int made = mkstemp(path);

    call.fd = open(path, O_WRONLY | O_CLOEXEC);
    EXPECT(made >= 0 && call.fd >= 0 && dx_http_header_add(&call.headers, "Expect", ""), "%s",
           path);
    call.has_body = true;
    call.offset = 3;
    call.size = 100;
    EXPECT(dx_http_call_run(client, &call, &err) < 0 &&
               strstr(err.text, "the file cannot be read at 3") != NULL,
           "%u: %s", call.status, err.text);
    (void)close(call.fd);
    (void)close(made);
    (void)unlink(path);
    dx_http_call_release(&call);
}

int main(void)
{
    const struct dx_http_client_settings settings = {
        .connect_ms = 5000, .stall_ms = 5000, .reply_ms = 5000, .direct = true
    };
    struct dx_listener l = { .head = answer };
    struct dx_error err = DX_ERROR_INIT;

    dx_listener_begin(&l);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u/object", l.port);
    if (dx_http_client_new(&client, &settings, &err) < 0)
        return 1;
    check_fields();
    check_unreadable();
    dx_http_client_free(&client);
    dx_listener_end(&l);
    return failures > 0;
}
