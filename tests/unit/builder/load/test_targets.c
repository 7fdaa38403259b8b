/* SPDX-License-Identifier: Apache-2.0
 * Files of targets for the load generator: read, written, read again; and what is refused.
 */
#include "builder/load/targets.h"

#include "base/file.h"
#include "tests/support/damage.h"
#include "tests/support/fail.h"

#include <unistd.h>

static unsigned failures;
static char path[] = "/tmp/dx-test-targets-XXXXXX";

static int read_text(const char *text, struct dx_targets *t, struct dx_error *err)
{
    if (dx_file_replace(path, dx_span_str(text), err) < 0)
        abort();
    return dx_targets_read(t, path, "h:1", err);
}

static const char *const refused[] = {
    "",
    "\n",
    "a\n",
    "/a b\n",
    "/a\x7f\n",
    "/a\t-1\n",
    "/a\tx\n",
    "/a\t1\t99\n",
    "/a\t1\t600\n",
    "/a\t1\t200\t-5\n",
    "/a\t1\t200\t5\tzz\n",
    "/a\t1\t200\t5\t00112233445566778899AABBCCDDEEFF\n",
    "/a\t1\t200\t5\t-\tmore\n",
    "/a\tnan\n",
    "\t1\n",
};

static void check_refused(void)
{
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct dx_targets t;
        struct dx_error err = DX_ERROR_INIT;

        if (read_text(refused[i], &t, &err) != DX_E_INVALID) {
            FAIL("taken: '%s'", refused[i]);
            dx_targets_release(&t);
        } else if (strstr(err.text, path) == NULL) {
            FAIL("'%s' does not name the file", err.text);
        }
    }
}

/* Nothing is there to be asked, or released, then. */
static void check_unreadable(void)
{
    struct dx_targets t;
    struct dx_error err = DX_ERROR_INIT;

    memset(&t, 0x55, sizeof t);
    CHECK(dx_targets_read(&t, "/nowhere/at/all", "h:1", &err) == DX_E_NOT_FOUND &&
              strstr(err.text, "/nowhere/at/all") != NULL,
          "%s", err.text);
    CHECK(t.count == 0 && t.target == NULL && t.weight == NULL, "%zu targets", t.count);
    dx_targets_release(&t);
}

static void check_one(const struct dx_targets *t, size_t i, const char *request, double weight,
                      unsigned status, uint64_t size, bool known)
{
    if (!dx_span_equal(dx_targets_request(t, i), dx_span_str(request)) || t->weight[i] != weight ||
        t->target[i].status != status || t->target[i].body_size != size ||
        t->target[i].hash_known != known)
        FAIL("line %zu: %.*s, weight %g, %u, %llu bytes, hash %d", i,
             (int)dx_targets_request(t, i).size, dx_targets_request(t, i).data, t->weight[i],
             t->target[i].status, (unsigned long long)t->target[i].body_size,
             t->target[i].hash_known);
}

static void check_columns(void)
{
    struct dx_targets t;
    struct dx_error err = DX_ERROR_INIT;

    if (read_text("/a\n/b?c=d\t2.5\n\n/c\t-\t404\t-\t-\n"
                  "/d\t0\t200\t17\t00112233445566778899aabbccddeeff",
                  &t, &err) < 0) {
        FAIL("%s", err.text);
        return;
    }
    for (int again = 0; again < 2; again++) {
        if (t.count != 4)
            FAIL("%zu targets", t.count);
        check_one(&t, 0, "GET /a HTTP/1.1\r\nHost: h:1\r\n\r\n", 1, 0, DX_TARGET_SIZE_UNKNOWN,
                  false);
        check_one(&t, 1, "GET /b?c=d HTTP/1.1\r\nHost: h:1\r\n\r\n", 2.5, 0, DX_TARGET_SIZE_UNKNOWN,
                  false);
        check_one(&t, 2, "GET /c HTTP/1.1\r\nHost: h:1\r\n\r\n", 1, 404, DX_TARGET_SIZE_UNKNOWN,
                  false);
        check_one(&t, 3, "GET /d HTTP/1.1\r\nHost: h:1\r\n\r\n", 0, 200, 17, true);
        if (again == 0 && dx_targets_write(&t, path, &err) < 0)
            FAIL("%s", err.text);
        dx_targets_release(&t);
        if (again == 0 && dx_targets_read(&t, path, "h:1", &err) < 0) {
            FAIL("what was written: %s", err.text);
            return;
        }
    }
}

/* The arrays grow; a target of the greatest length is taken, a longer one is not. */
static void check_many(void)
{
    enum { COUNT = 1000 };
    struct dx_buf text = DX_BUF_INIT(1 << 20);
    struct dx_targets t;
    char last[64];

    for (int i = 0; i < COUNT; i++)
        dx_buf_fmt(&text, "/%d\t%d\n", i, i);
    if (dx_file_replace(path, dx_span_of(text.data, text.size), NULL) < 0 ||
        dx_targets_read(&t, path, "h:1", NULL) < 0)
        abort();
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(last, sizeof(last), "GET /%d HTTP/1.1\r\nHost: h:1\r\n\r\n", i);
        check_one(&t, (size_t)i, last, i, 0, DX_TARGET_SIZE_UNKNOWN, false);
    }
    dx_targets_release(&t);
    for (size_t over = 0; over < 2; over++) {
        dx_buf_clear(&text);
        for (size_t i = 0; i < DX_TARGET_MAX + over; i++)
            dx_buf_u8(&text, '/');
        if (dx_file_replace(path, dx_span_of(text.data, text.size), NULL) < 0)
            abort();
        if ((dx_targets_read(&t, path, "h:1", NULL) == DX_OK) != (over == 0))
            FAIL("a target of %zu bytes", DX_TARGET_MAX + over);
        if (over == 0)
            dx_targets_release(&t);
    }
    dx_buf_release(&text);
}

int main(void)
{
    int fd = mkstemp(path);

    if (fd < 0)
        abort();
    (void)close(fd);
    check_refused();
    check_unreadable();
    check_columns();
    check_many();
    (void)unlink(path);
    return failures != 0;
}
