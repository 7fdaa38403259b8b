/* SPDX-License-Identifier: Apache-2.0
 * test_s3_request.c - what replies of a store mean, by their status.
 */
#include "fetch/store/s3_request.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "fetch/source.h"
#include "tests/support/damage.h"
#include "tests/support/listener.h"

static unsigned failures;

static const struct {
    unsigned status;
    const char *code; /* of the <Error>; NULL: no body */
    enum dx_s3_outcome outcome;
    int rc;
} rows[] = {
    { 200, NULL, DX_S3_DONE, DX_OK },
    { 200, "InternalError", DX_S3_UNSURE, DX_E_IO },
    { 301, "PermanentRedirect", DX_S3_REFUSED, DX_E_IO },
    { 400, "InvalidRequest", DX_S3_REFUSED, DX_E_IO },
    { 400, "RequestTimeout", DX_S3_NOT_NOW, DX_E_IO },
    { 401, NULL, DX_S3_REFUSED, DX_E_DENIED },
    { 403, "AccessDenied", DX_S3_REFUSED, DX_E_DENIED },
    { 404, "NoSuchKey", DX_S3_ABSENT, DX_E_NOT_FOUND },
    { 405, "MethodNotAllowed", DX_S3_REFUSED, DX_E_DENIED },
    { 408, NULL, DX_S3_UNSURE, DX_E_IO },
    { 409, "OperationAborted", DX_S3_RACE, DX_E_CONFLICT },
    { 409, "BucketNotEmpty", DX_S3_REFUSED, DX_E_IO },
    { 412, "PreconditionFailed", DX_S3_CONDITION, DX_E_CONFLICT },
    { 429, NULL, DX_S3_NOT_NOW, DX_E_BUSY },
    { 500, "InternalError", DX_S3_UNSURE, DX_E_IO },
    { 503, "SlowDown", DX_S3_NOT_NOW, DX_E_BUSY },
    { 503, NULL, DX_S3_UNSURE, DX_E_BUSY },
};

/* The reply of the row that the object's name is the number of. */
static bool answer(void *ctx, int fd, const char *head)
{
    const char *name = strstr(head, "/row");
    unsigned row = sizeof rows / sizeof *rows;
    char body[200] = "";
    char reply[400];

    (void)ctx;
    if (name == NULL || sscanf(name, "/row%u", &row) != 1 || row >= sizeof rows / sizeof *rows)
        return false;
    if (rows[row].code != NULL)
        (void)snprintf(body, sizeof body, "<Error><Code>%s</Code><Message>m</Message></Error>",
                       rows[row].code);
    (void)snprintf(reply, sizeof reply, "HTTP/1.1 %u X\r\nContent-Length: %zu\r\n\r\n%s",
                   rows[row].status, strlen(body), body);
    return dx_listener_send(fd, reply, strlen(reply));
}

static void check_rows(struct dx_s3_session *session)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char key[16];
        struct dx_s3_request r = {
            .method = "PUT", .key = key, .body = true, .fd = -1, .deadline_ms = dx_clock_ms() + 5000
        };
        struct dx_error err = DX_ERROR_INIT;
        int rc;

        (void)snprintf(key, sizeof key, "row%zu", i);
        rc = dx_s3_send(session, &r, &err);
        EXPECT(rc == rows[i].rc && r.outcome == rows[i].outcome, "status %u %s: %d, outcome %d: %s",
               rows[i].status, rows[i].code == NULL ? "" : rows[i].code, rc, (int)r.outcome,
               err.text);
        EXPECT(rc == DX_OK || rows[i].code == NULL || strstr(err.text, rows[i].code) != NULL, "%s",
               err.text);
        dx_s3_request_release(&r);
    }
}

int main(void)
{
    struct dx_source_options options = DX_SOURCE_OPTIONS_INIT;
    struct dx_listener l = { .head = answer };
    struct dx_s3_session session;
    struct dx_error err = DX_ERROR_INIT;
    char endpoint[64];

    dx_listener_begin(&l);
    (void)snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u", l.port);
    options.s3_endpoint = endpoint;
    options.s3_anonymous = true;
    if (dx_s3_session_open(&session, "s3://bucket/at", &options, &err) < 0) {
        EXPECT(false, "%s", err.text);
        return 1;
    }
    check_rows(&session);
    dx_s3_session_close(&session);
    dx_listener_end(&l);
    return failures > 0;
}
