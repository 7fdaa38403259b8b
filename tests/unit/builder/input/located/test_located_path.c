/* SPDX-License-Identifier: Apache-2.0
 * Names in locators, below folders and addresses: what they lead to, and that none leads out.
 */
#include "builder/input/located/located_path.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/support/fail.h"

static int failures;

#define HTTP "http://example.com/data"
#define S3 "s3://bucket/data"

static const struct {
    const char *base, *name;
    const char *want; /* NULL: refused */
} addresses[] = {
    { HTTP, "a.warc.gz", HTTP "/a.warc.gz" },
    { HTTP "/", "a.warc.gz", HTTP "/a.warc.gz" },
    { HTTP "//", "a", HTTP "//a" },
    { HTTP, "2024/a-b_c~1.warc", HTTP "/2024/a-b_c~1.warc" },
    { HTTP, "a b+c", HTTP "/a%20b%2Bc" },
    { HTTP, "100%", HTTP "/100%25" },
    { HTTP, "a%2", HTTP "/a%252" },
    { HTTP, "a%20b", HTTP "/a%2520b" },
    { HTTP, "a%3fb", HTTP "/a%253fb" },
    { HTTP, "caf\xc3\xa9", HTTP "/caf%C3%A9" },
    { "HTTPS://example.com", "a b", "HTTPS://example.com/a%20b" },
    /* keys of objects are not encoded */
    { S3, "a b+c", S3 "/a b+c" },
    { "S3://bucket", "a b", "S3://bucket/a b" },
    /* as a whole: it begins with the base, and is taken as it stands */
    { HTTP, HTTP "/a%20b", HTTP "/a%20b" },
    { HTTP "/", HTTP "/a", HTTP "/a" },
    { HTTP "///", HTTP "/a", HTTP "///a" },
    { S3, S3 "/x/y", S3 "/x/y" },
    { HTTP, HTTP, NULL },
    { HTTP, HTTP "/", NULL },
    { HTTP, HTTP "base/a", NULL },
    { HTTP, HTTP "-2/a", NULL },
    { HTTP, "http://example.com/other/a", NULL },
    { HTTP, "https://example.com/data/a", NULL },
    { HTTP, "http://elsewhere.com/data/a", NULL },
    { HTTP, "http://169.254.169.254/data/a", NULL },
    { HTTP, S3 "/a", NULL },
    { S3, "s3://bucket2/data/a", NULL },
    { HTTP, "/etc/passwd", NULL },
    { HTTP, "/data/a", NULL },
    { S3, "/data/a", NULL },
    /* parts */
    { HTTP, ".", NULL },
    { HTTP, "..", NULL },
    { HTTP, "a/..", NULL },
    { HTTP, "../a", NULL },
    { HTTP, "a/../b", NULL },
    { HTTP, "a/./b", NULL },
    { HTTP, "a//b", NULL },
    { HTTP, "a/", NULL },
    { HTTP, "...", HTTP "/..." },
    { HTTP, "..a/.b/c..", HTTP "/..a/.b/c.." },
    { S3, "a/../b", NULL },
    { HTTP, HTTP "/../a", NULL },
    { HTTP, HTTP "//a", NULL },
    /* escapes that might be a dot, a slash or a backslash; what ends a path */
    { HTTP, "%2e%2e/a", NULL },
    { HTTP, "a%2E", NULL },
    { HTTP, "a%2fb", NULL },
    { HTTP, "a%2Fb", NULL },
    { HTTP, "a%5cb", NULL },
    { HTTP, "a%5C", NULL },
    { HTTP, HTTP "/a%2e%2e/b", NULL },
    { HTTP, "a\\b", NULL },
    { HTTP, "a?b", NULL },
    { HTTP, "a#b", NULL },
    { HTTP, HTTP "/a?b", NULL },
    { S3, "a%2fb", NULL },
    /* not a name */
    { HTTP, "", NULL },
    { HTTP, "a\nb", NULL },
    { HTTP, "a\xff", NULL },
};

/* In a folder T that has in/a, in/sub/b, in/link -> ../out, in/inner -> sub and out/c. */
static const struct {
    const char *base, *name;
    const char *want; /* NULL: refused */
    enum dx_code code;
} files[] = {
    { "T/in", "a", "T/in/a", DX_OK },
    { "T/in/", "a", "T/in/a", DX_OK },
    { "T/in", "sub/b", "T/in/sub/b", DX_OK },
    { "T/in", "inner/b", "T/in/inner/b", DX_OK },
    { "T/in/sub", "b", "T/in/sub/b", DX_OK },
    { "T/in/inner", "b", "T/in/inner/b", DX_OK },
    { "T/in", "T/in/a", "T/in/a", DX_OK }, /* from the root of the file system */
    { "T/in/inner", "T/in/sub/b", "T/in/sub/b", DX_OK },
    { "T/in", "link/c", NULL, DX_E_INVALID },
    { "T/in", "T/out/c", NULL, DX_E_INVALID },
    { "T/in", "T/in/link/c", NULL, DX_E_INVALID },
    { "T/i", "T/in/a", NULL, DX_E_NOT_FOUND }, /* no such base */
    { "T/in/sub", "T/in/a", NULL, DX_E_INVALID },
    { "T/in", "../out/c", NULL, DX_E_INVALID },
    { "T/in", "sub/../a", NULL, DX_E_INVALID },
    { "T/in", "./a", NULL, DX_E_INVALID },
    { "T/in", "//etc/passwd", NULL, DX_E_INVALID },
    { "T/in", "http://example.com/a", NULL, DX_E_INVALID },
    { "T/in", "s3://bucket/a", NULL, DX_E_INVALID },
    { "T/in", "sub", NULL, DX_E_UNSUPPORTED },
    { "T/in", "none", NULL, DX_E_NOT_FOUND },
    { "T/in", "a?b#c%2f", "T/in/a?b#c%2f", DX_OK }, /* a file may be named so */
};

/* "T/x" and "T" stand for a path below the folder. */
static void put_folder(char *out, size_t size, const char *text, const char *folder)
{
    if (text[0] == 'T')
        (void)snprintf(out, size, "%s%s", folder, text + 1);
    else
        (void)snprintf(out, size, "%s", text);
}

static void check(size_t row, const char *base, const char *name, const char *want,
                  enum dx_code code)
{
    struct dx_error err = DX_ERROR_INIT;
    char *path = NULL;
    int rc = dx_located_path(base, dx_span_str(name), &path, &err);

    CHECK(rc == code, "row %zu: '%s' below '%s': %d, want %d (%s)", row, name, base, rc, code,
          err.text);
    CHECK((path == NULL) == (want == NULL) && (want == NULL || strcmp(path, want) == 0),
          "row %zu: '%s' below '%s': '%s', want '%s'", row, name, base,
          path != NULL ? path : "(none)", want != NULL ? want : "(none)");
    free(path);
}

static void make_file(const char *folder, const char *name)
{
    char path[256];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    if (file == NULL || fclose(file) != 0)
        exit(1);
}

static void make_folders(const char *folder)
{
    static const char *const folders[] = { "in", "in/sub", "out" };
    char path[256];

    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, folders[i]);
        if (mkdir(path, 0700) != 0)
            exit(1);
    }
    make_file(folder, "in/a");
    make_file(folder, "in/a?b#c%2f");
    make_file(folder, "in/sub/b");
    make_file(folder, "out/c");
    (void)snprintf(path, sizeof path, "%s/in/link", folder);
    if (symlink("../out", path) != 0)
        exit(1);
    (void)snprintf(path, sizeof path, "%s/in/inner", folder);
    if (symlink("sub", path) != 0)
        exit(1);
}

int main(void)
{
    char folder[] = "/tmp/dx-located-XXXXXX";
    struct dx_error err = DX_ERROR_INIT;

    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++)
        check(i, addresses[i].base, addresses[i].name, addresses[i].want,
              addresses[i].want != NULL ? DX_OK : DX_E_INVALID);
    if (mkdtemp(folder) == NULL)
        return 1;
    make_folders(folder);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char base[256], name[256], want[256];

        put_folder(base, sizeof base, files[i].base, folder);
        put_folder(name, sizeof name, files[i].name, folder);
        put_folder(want, sizeof want, files[i].want != NULL ? files[i].want : "", folder);
        check(100 + i, base, name, files[i].want != NULL ? want : NULL, files[i].code);
    }
    CHECK(dx_dir_remove(folder, &err) == DX_OK, "%s", err.text);
    return failures > 0;
}
