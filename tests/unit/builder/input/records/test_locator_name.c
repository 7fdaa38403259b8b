/* SPDX-License-Identifier: Apache-2.0
 * test_locator_name.c - what locators call an input, and inputs that they cannot name.
 */
#include "builder/input/records/locator_name.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "format/text/locator.h"
#include "tests/support/fail.h"

static int failures;

static void test_rows(void)
{
    static const struct {
        const char *input;
        const char *want; /* "": it has no name */
    } rows[] = {
        { "a.gz", "a.gz" },
        { "./a.gz", "a.gz" },
        { "a//b/./c.gz", "a/b/c.gz" },
        { "/a/b/", "/a/b" },
        { "//a", "/a" },
        { "/", "/" },
        { "a..b/...", "a..b/..." },
        { "-", "" },
        { ".", "" },
        { "nowhere/../a", "" },
        { "a\tb", "" },
        { "a#b", "a#b" },
        { "https://me:word@a.com/x?signature=1#part", "https://a.com/x" },
        { "s3://bucket/a/../b", "s3://bucket/a/../b" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[DX_LOCATOR_NAME_MAX + 1] = "";
        size_t n = dx_locator_name(rows[i].input, name);

        CHECK(n == strlen(rows[i].want) && (n == 0 || strcmp(name, rows[i].want) == 0),
              "%s: %zu %s", rows[i].input, n, name);
    }
}

/* With a ".." it is the absolute path of the file that is there. */
static void test_parent(void)
{
    char dir[] = "/tmp/test_locator_name.XXXXXX";
    char name[DX_LOCATOR_NAME_MAX + 1] = "", want[64];
    size_t n;

    if (mkdtemp(dir) == NULL || chdir(dir) != 0 ||
        dx_file_replace("a.gz", dx_span_str("x"), NULL) < 0 || dx_dir_make("below", NULL) < 0)
        abort();
    (void)snprintf(want, sizeof want, "%s/a.gz", dir);
    n = dx_locator_name("below/../a.gz", name);
    CHECK(n == strlen(want) && strcmp(name, want) == 0, "%zu %s", n, name);
    if (chdir("/") != 0 || dx_dir_remove(dir, NULL) < 0)
        FAIL("%s is left", dir);
}

static void test_long(void)
{
    char input[DX_LOCATOR_NAME_MAX + 2], name[DX_LOCATOR_NAME_MAX + 1];

    memset(input, 'x', sizeof input);
    input[DX_LOCATOR_NAME_MAX + 1] = '\0';
    CHECK(dx_locator_name(input, name) == 0, "a name that is too long");
    input[DX_LOCATOR_NAME_MAX] = '\0';
    CHECK(dx_locator_name(input, name) == DX_LOCATOR_NAME_MAX, "the longest name");
    memcpy(input, "s3://b/", 7);
    CHECK(dx_locator_name(input, name) == DX_LOCATOR_NAME_MAX, "the longest address");
}

int main(void)
{
    test_rows();
    test_parent();
    test_long();
    return failures > 0;
}
