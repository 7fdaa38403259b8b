/* SPDX-License-Identifier: Apache-2.0
 * A text that is followed: no change of a file is missed, however it is written; a FIFO is an
 * error; a look that hangs is seen.
 */
#include "loader/followed/followed.h"

#include "base/clock.h"
#include "base/file.h"
#include "tests/support/damage.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROUNDS 300

static unsigned failures;
static char root[] = "/tmp/domaindex-followed-XXXXXX";
static char path[64];

/* The text that a look finds, or "" if it says that nothing has changed. */
static int look(struct dx_followed *f, char out[64], struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(64);
    char etag[DX_SOURCE_ETAG];
    int rc = dx_followed_read(f, &text, etag, err);

    (void)snprintf(out, 64, "%.*s", (int)text.size, text.data == NULL ? "" : (char *)text.data);
    if (rc == 1)
        dx_followed_take(f, etag);
    dx_buf_release(&text);
    return rc;
}

static void put(const char *text, bool by_rename)
{
    int fd;

    if (by_rename) {
        (void)dx_file_replace(path, dx_span_str(text), NULL);
        return;
    }
    fd = open(path, O_WRONLY | O_CREAT, 0600);
    (void)!write(fd, text, strlen(text));
    (void)close(fd);
}

/* Written in place, with the same size, as soon as it was taken: within a tick of a coarse clock
 * all that stat says is the same. */
static void check_every_change(bool by_rename)
{
    struct dx_followed f = { .object = "text", .cap = 64 };
    struct dx_error err = DX_ERROR_INIT;
    unsigned missed = 0;
    char want[64];
    char got[64];

    EXPECT(dx_followed_open(&f, root, NULL, NULL, &err) == DX_OK, "%s", err.text);
    for (int i = 0; i < ROUNDS; i++) {
        (void)snprintf(want, sizeof want, "text %06d", i);
        put(want, by_rename);
        missed += look(&f, got, &err) != 1 || strcmp(got, want) != 0;
        EXPECT(look(&f, got, &err) == 0, "round %d: twice", i);
    }
    EXPECT(missed == 0, "%u of %d changes were missed, %s", missed, ROUNDS,
           by_rename ? "by rename" : "in place");
    put(want, true);
    EXPECT(look(&f, got, &err) == 0, "the same bytes in another file are no change");
    dx_followed_close(&f);
}

static void check_other_kinds(void)
{
    struct dx_followed f = { .object = "text", .cap = 64 };
    struct dx_error err = DX_ERROR_INIT;
    char got[64];

    EXPECT(dx_followed_open(&f, root, NULL, NULL, &err) == DX_OK, "%s", err.text);
    put("one", true);
    EXPECT(look(&f, got, &err) == 1 && strcmp(got, "one") == 0, "%s", got);
    (void)unlink(path);
    EXPECT(look(&f, got, &err) == DX_E_NOT_FOUND, "gone");
    EXPECT(mkfifo(path, 0600) == 0 && look(&f, got, &err) == DX_E_INVALID &&
               strstr(err.text, "FIFO") != NULL,
           "a FIFO: %s", err.text);
    (void)unlink(path);
    EXPECT(mkdir(path, 0700) == 0 && look(&f, got, &err) == DX_E_INVALID, "a directory");
    (void)rmdir(path);
    put("", true);
    EXPECT(look(&f, got, &err) == 1, "an empty file is another text");
    put("one", true);
    EXPECT(look(&f, got, &err) == 1 && strcmp(got, "one") == 0, "back");
    dx_followed_close(&f);
}

static void check_hang(void)
{
    struct dx_followed f = { .object = "text", .cap = 64 };
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_followed_open(&f, root, NULL, NULL, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_followed_hangs(&f, &err) == DX_OK, "none began");
    atomic_store(&f.began_ms, dx_clock_ms() + 1000);
    EXPECT(dx_followed_hangs(&f, &err) == DX_OK, "one that began after the clock was read");
    atomic_store(&f.began_ms, dx_clock_ms() - DX_FOLLOWED_LOOK_MS);
    EXPECT(dx_followed_hangs(&f, &err) == DX_E_TIMEOUT && strstr(err.text, path) != NULL, "%s",
           err.text);
    atomic_store(&f.ended_ms, dx_clock_ms() - 5000);
    EXPECT(dx_followed_age_ms(&f) >= 5000, "age");
    dx_followed_close(&f);
}

int main(void)
{
    if (mkdtemp(root) == NULL)
        return 1;
    (void)snprintf(path, sizeof path, "%s/text", root);
    check_every_change(true);
    check_every_change(false);
    check_other_kinds();
    check_hang();
    (void)dx_dir_remove(root, NULL);
    return failures != 0;
}
