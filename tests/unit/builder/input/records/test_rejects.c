/* SPDX-License-Identifier: Apache-2.0
 * test_rejects.c - files of rejected records: their text, their names, their size, and folders in which they cannot be.
 */
#include "builder/input/records/rejects.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/support/fail.h"

static int failures;

static void put_lines(struct dx_buf *lines, unsigned count)
{
    dx_buf_clear(lines);
    for (unsigned i = 1; i <= count; i++)
        dx_rejects_line(lines, "in.tsv", i, DX_ROW_TS_INVALID,
                        dx_span_str("a\tb\\\n\x01\xff\xc3\xa4"));
}

static void check_file(const char *path, const char *want)
{
    struct dx_buf text = DX_BUF_INIT(1 << 20);
    struct dx_error err = DX_ERROR_INIT;

    if (dx_file_read(path, 1 << 20, &text, &err) < 0)
        FAIL("%s", err.text);
    dx_buf_u8(&text, 0);
    CHECK(strcmp((const char *)text.data, want) == 0, "%s: %s", path, (const char *)text.data);
    dx_buf_release(&text);
}

#define RAW "a\\tb\\\\\\n\\x01\\xff\xc3\xa4\n"

/* The next free number; the first lines that fit, and how many more there were. */
static void test_numbered(void)
{
    struct dx_buf lines = DX_BUF_INIT(1 << 16);

    for (unsigned run = 1; run <= 2; run++) {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_rejects r;
        char want[32];

        dx_rejects_init(&r, "deep/rejects", NULL);
        r.max_bytes = 100;
        put_lines(&lines, 3);
        CHECK(dx_rejects_write(&r, dx_span_of(NULL, 0), &err) == DX_OK && r.path == NULL,
              "no line makes no file");
        CHECK(dx_rejects_write(&r, dx_span_of(lines.data, lines.size), &err) == DX_OK, "%s",
              err.text);
        (void)snprintf(want, sizeof want, "deep/rejects/0000%u.tsv", run);
        CHECK(r.path != NULL && strcmp(r.path, want) == 0, "%s, not %s", r.path, want);
        put_lines(&lines, 1);
        CHECK(dx_rejects_write(&r, dx_span_of(lines.data, lines.size), &err) == DX_OK &&
                  r.unlisted == 2,
              "a line that would fit behind some that do not: %llu",
              (unsigned long long)r.unlisted);
        CHECK(dx_rejects_close(&r, &err) == DX_OK, "%s", err.text);
        check_file(want, "in.tsv\t1\tts_invalid\t" RAW "\t2\tts_invalid\t" RAW
                         "\t0\tnot_listed\t2 more rejected records are not listed\n");
        if (run == 2)
            dx_rejects_discard(&r);
        CHECK((access(want, F_OK) == 0) == (run == 1), "%s after run %u", want, run);
        dx_rejects_release(&r);
    }
    dx_buf_release(&lines);
}

/* A file that is named is replaced, or goes on; a run that failed leaves it. */
static void test_given(void)
{
    static const char *const wants[] = { "in.tsv\t1\tts_invalid\t" RAW,
                                         "in.tsv\t1\tts_invalid\t" RAW,
                                         "in.tsv\t1\tts_invalid\t" RAW
                                         "in.tsv\t1\tts_invalid\t" RAW };
    struct dx_buf lines = DX_BUF_INIT(1 << 16);

    put_lines(&lines, 1);
    for (unsigned run = 0; run < 3; run++) {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_rejects r;

        dx_rejects_init(&r, "unused", "given.tsv");
        r.append = run == 2;
        CHECK(dx_rejects_write(&r, dx_span_of(lines.data, lines.size), &err) == DX_OK &&
                  dx_rejects_close(&r, &err) == DX_OK,
              "%s", err.text);
        dx_rejects_discard(&r);
        check_file("given.tsv", wants[run]);
        dx_rejects_release(&r);
    }
    dx_buf_release(&lines);
}

static int write_some(struct dx_rejects *r, unsigned count, struct dx_error *err)
{
    struct dx_buf lines = DX_BUF_INIT(1 << 20);
    int rc;

    put_lines(&lines, count);
    rc = dx_rejects_write(r, dx_span_of(lines.data, lines.size), err);
    if (rc == DX_OK)
        rc = dx_rejects_close(r, err);
    dx_buf_release(&lines);
    return rc;
}

static void test_refusals(void)
{
    static const struct {
        const char *folder, *given;
        bool is_private;
        unsigned lines;
        uint64_t max_bytes;
        const char *says;
    } rows[] = {
        { "link", NULL, true, 1, 0, "link: cannot open the folder for rejects" },
        { "file", NULL, true, 1, 0, "file: cannot open the folder for rejects" },
        { "no/such/folder", NULL, true, 1, 0, "no/such/folder: cannot make directory" },
        { "file/below", NULL, false, 1, 0, "file" },
        { "x", "no/such/file", false, 1, 0, "no/such/file: cannot create the rejects file" },
        { "x", "folder", false, 1, 0, "folder: cannot create the rejects file" },
        { "x", "/dev/full", false, 1, 0, "/dev/full: cannot write" },
        { "x", "/dev/full", false, 1000, 0, "/dev/full: cannot write" },
        { "x", "/dev/full", false, 1000, 4000, "/dev/full: cannot write" },
    };

    if (mkdir("folder", 0700) != 0 || symlink("folder", "link") != 0 ||
        dx_file_replace("file", dx_span_str("x"), NULL) < 0)
        abort();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_rejects r;
        int rc;

        dx_rejects_init(&r, rows[i].folder, rows[i].given);
        r.is_private = rows[i].is_private;
        if (rows[i].max_bytes > 0)
            r.max_bytes = rows[i].max_bytes;
        rc = write_some(&r, rows[i].lines, &err);
        CHECK(rc < 0 && strstr(err.text, rows[i].says) != NULL, "row %zu: %d %s", i, rc, err.text);
        dx_rejects_release(&r);
    }
}

/* In a private folder only this user reads. */
static void test_private(void)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_rejects r;
    struct stat st;

    for (int run = 0; run < 2; run++) { /* the folder is there at the second one */
        dx_rejects_init(&r, "private", NULL);
        r.is_private = true;
        CHECK(write_some(&r, 1, &err) == DX_OK, "%s", err.text);
        CHECK(stat("private", &st) == 0 && (st.st_mode & 0777) == 0700, "mode of the folder");
        CHECK(stat(r.path, &st) == 0 && (st.st_mode & 0777) == 0600, "mode of the file");
        dx_rejects_release(&r);
    }
    if (geteuid() != 0 || chown("private", 12345, 12345) != 0)
        return;
    dx_rejects_init(&r, "private", NULL);
    r.is_private = true;
    CHECK(write_some(&r, 1, &err) < 0 &&
              strstr(err.text, "private: is the folder of another user") != NULL,
          "%s", err.text);
    dx_rejects_release(&r);
}

int main(void)
{
    char dir[] = "/tmp/test_rejects.XXXXXX";

    if (mkdtemp(dir) == NULL || chdir(dir) != 0)
        abort();
    test_numbered();
    test_given();
    test_refusals();
    test_private();
    if (chdir("/") != 0 || dx_dir_remove(dir, NULL) < 0)
        FAIL("%s is left", dir);
    return failures > 0;
}
