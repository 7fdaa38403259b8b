/* SPDX-License-Identifier: Apache-2.0
 * The local source: whole batches or an error, and no way out of the root.
 */
#include "base/file.h"
#include "fetch/source.h"
#include "tests/support/damage.h"

#include <unistd.h>

static unsigned failures;

static const struct {
    const char *name;
    bool ok;
} names[] = {
    { "a", true },         { "index/v/x.zst", true },
    { "a/..b/c..", true }, { "dataset_id=1/p", true },
    { "", false },         { "/etc/passwd", false },
    { "..", false },       { "a/../b", false },
    { "a/./b", false },    { "a//b", false },
    { "a/", false },       { ".", false },
    { "a\nb", false },     { "a b", false },
    { "a\\b", false },     { "\x7f", false },
};

static void check_names(void)
{
    char longest[DX_OBJECT_NAME_MAX + 2];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        EXPECT(dx_object_name_valid(names[i].name) == names[i].ok, "'%s'", names[i].name);
    memset(longest, 'a', sizeof longest);
    longest[DX_OBJECT_NAME_MAX + 1] = '\0';
    EXPECT(!dx_object_name_valid(longest), "a byte too many");
    longest[DX_OBJECT_NAME_MAX] = '\0';
    EXPECT(dx_object_name_valid(longest), "the longest");
}

static void check_reads(const char *root)
{
    struct dx_source *src = NULL;
    struct dx_error err = DX_ERROR_INIT;
    uint8_t a[4];
    uint8_t b[4];
    char path[256];
    const struct dx_read batch[] = { { "one", 0, 4, a }, { "one", 6, 4, b } };
    const struct dx_read mixed[] = { { "one", 0, 4, a }, { "two", 1, 3, b } };
    const struct dx_read late[] = { { "one", 8, 4, a } };
    const struct dx_read none[] = { { "three", 0, 1, a } };
    const struct dx_read out[] = { { "../one", 0, 1, a } };
    const struct dx_read link[] = { { "link", 0, 1, a } };

    (void)snprintf(path, sizeof path, "%s/one", root);
    EXPECT(dx_file_replace(path, dx_span_str("0123456789"), &err) == DX_OK, "%s", err.text);
    (void)snprintf(path, sizeof path, "%s/two", root);
    EXPECT(dx_file_replace(path, dx_span_str("abcd"), &err) == DX_OK, "%s", err.text);
    (void)snprintf(path, sizeof path, "%s/link", root);
    EXPECT(symlink("/etc/hostname", path) == 0, "symlink");
    EXPECT(dx_source_open_local(&src, root, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_source_read(src, batch, 2, &err) == DX_OK, "%s", err.text);
    EXPECT(memcmp(a, "0123", 4) == 0 && memcmp(b, "6789", 4) == 0, "bytes");
    EXPECT(dx_source_read(src, mixed, 2, &err) == DX_OK && memcmp(b, "bcd", 3) == 0, "%s",
           err.text);
    EXPECT(dx_source_read(src, late, 1, &err) == DX_E_TRUNCATED, "%s", err.text);
    EXPECT(strstr(err.text, "one") != NULL && strstr(err.text, "8") != NULL, "%s", err.text);
    EXPECT(dx_source_read(src, none, 1, &err) == DX_E_NOT_FOUND, "%s", err.text);
    EXPECT(dx_source_read(src, out, 1, &err) == DX_E_INVALID, "%s", err.text);
    EXPECT(dx_source_read(src, link, 1, &err) < 0, "a link is not followed");
    EXPECT(dx_source_read(src, NULL, 0, &err) == DX_OK, "nothing asked");
    dx_source_close(&src);
    EXPECT(dx_source_open_local(&src, "/nonexistent", &err) == DX_E_NOT_FOUND && src == NULL, "%s",
           err.text);
}

int main(void)
{
    char root[] = "/tmp/domaindex-source-XXXXXX";
    struct dx_error err = DX_ERROR_INIT;

    if (mkdtemp(root) == NULL)
        return 1;
    check_names();
    check_reads(root);
    EXPECT(dx_dir_remove(root, &err) == DX_OK, "%s", err.text);
    return failures > 0;
}
