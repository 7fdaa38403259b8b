/* SPDX-License-Identifier: Apache-2.0
 * Command-line options: what is taken, what is refused with words, help from the same table.
 */
#include "base/options.h"
#include "tests/support/damage.h"

static unsigned failures;

enum { ROOT, MEMORY, DEEP, COUNT };

static const struct dx_option table[COUNT] = {
    [ROOT] = { "root", "ROOT", NULL, "where things are" },
    [MEMORY] = { "memory", "SIZE", "1G", "budget" },
    [DEEP] = { "deep", NULL, NULL, "everything" },
};

static const struct {
    const char *argv[8];
    bool ok;
    const char *root;
    const char *memory;
    bool deep;
    size_t operands;
} rows[] = {
    { { "x", "--root", "a", "b", NULL }, true, "a", "1G", false, 1 },
    { { "x", "--root=a=b", "--deep", NULL }, true, "a=b", "1G", true, 0 },
    { { "x", "--root=", "-", "--", "--deep", NULL }, true, "", "1G", false, 2 },
    { { "x", "--memory", "1", "--memory", "2", NULL }, true, NULL, "2", false, 0 },
    { { "x", "--root", NULL }, false, NULL, NULL, false, 0 },
    { { "x", "--deep=yes", NULL }, false, NULL, NULL, false, 0 },
    { { "x", "--roo", "a", NULL }, false, NULL, NULL, false, 0 },
    { { "x", "-r", NULL }, false, NULL, NULL, false, 0 },
};

static void check_rows(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_options o;
        int argc = 0;
        int rc;

        while (rows[i].argv[argc] != NULL)
            argc++;
        rc = dx_options_parse(&o, table, COUNT, argc, (char **)(uintptr_t)rows[i].argv, &err);
        EXPECT((rc == DX_OK) == rows[i].ok, "row %zu: %s", i, err.text);
        EXPECT(rows[i].ok || err.text[0] != '\0', "row %zu has words", i);
        if (rc < 0)
            continue;
        const char *root = dx_options_text(&o, ROOT);
        EXPECT((root == NULL) == (rows[i].root == NULL) &&
                   (root == NULL || strcmp(root, rows[i].root) == 0),
               "row %zu", i);
        EXPECT(strcmp(dx_options_text(&o, MEMORY), rows[i].memory) == 0, "row %zu", i);
        EXPECT(dx_options_has(&o, DEEP) == rows[i].deep, "row %zu", i);
        EXPECT(o.operand_count == rows[i].operands, "row %zu", i);
        dx_options_release(&o);
    }
}

static void check_sizes(void)
{
    static const struct {
        const char *text;
        bool ok;
        uint64_t bytes;
    } sizes[] = { { "0", true, 0 },
                  { "64K", true, 65536 },
                  { "1g", true, 1ull << 30 },
                  { "2MiB", true, 2 << 20 },
                  { "3TB", true, 3ull << 40 },
                  { "", false, 0 },
                  { "K", false, 0 },
                  { "-1", false, 0 },
                  { "1.5G", false, 0 },
                  { "1X", false, 0 },
                  { "99999999999999999999", false, 0 },
                  { "99999999999T", false, 0 } };

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint64_t bytes = 0;
        bool ok = dx_size_parse(sizes[i].text, &bytes);

        EXPECT(ok == sizes[i].ok && (!ok || bytes == sizes[i].bytes), "'%s'", sizes[i].text);
    }
}

static void check_help(void)
{
    struct dx_buf help = DX_BUF_INIT(10000);
    struct dx_buf mdoc = DX_BUF_INIT(10000);

    dx_options_help(table, COUNT, &help);
    dx_options_mdoc(table, COUNT, &mdoc);
    for (size_t i = 0; i < COUNT; i++) {
        EXPECT(memmem(help.data, help.size, table[i].name, strlen(table[i].name)) != NULL, "%s",
               table[i].name);
        EXPECT(memmem(mdoc.data, mdoc.size, table[i].name, strlen(table[i].name)) != NULL, "%s",
               table[i].name);
    }
    dx_buf_release(&help);
    dx_buf_release(&mdoc);
}

int main(void)
{
    check_rows();
    check_sizes();
    check_help();
    return failures > 0;
}
