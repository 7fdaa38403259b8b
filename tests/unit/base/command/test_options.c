/* SPDX-License-Identifier: Apache-2.0
 * Command-line options: what is taken, what is refused, help from the same table.
 */
#include "base/command/options.h"
#include "tests/support/damage.h"

static unsigned failures;

enum { ROOT, MEMORY, DEEP, COUNT };

static const struct dx_option table[COUNT] = {
    [ROOT] = { "root", "ROOT", NULL, "where things are", DX_OPT_ONE_TEXT },
    [MEMORY] = { "memory", "SIZE", "1G", "budget", DX_OPT_TEXT },
    [DEEP] = { "deep", NULL, NULL, "everything", DX_OPT_FLAG },
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
    { { "x", "--root=a", "-", "--", "--deep", NULL }, true, "a", "1G", false, 2 },
    { { "x", "--root=", NULL }, false, NULL, NULL, false, 0 },
    { { "x", "--root", "", NULL }, false, NULL, NULL, false, 0 },
    { { "x", "--memory", "1", "--memory", "2", NULL }, true, NULL, "2", false, 0 },
    { { "x", "--root", "a", "--root", "b", NULL }, false, NULL, NULL, false, 0 },
    { { "x", "--root", "a", "--root=a", NULL }, true, "a", "1G", false, 0 },
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

enum { NUMBER, BYTES, TIME, SHARE, SURE, WHICH, WAIT, NAME, FLAG, REAL, KINDS };

struct values {
    unsigned number;
    uint64_t bytes;
    uint64_t seconds;
    unsigned ppm;
    bool sure;
    enum { AUTO, YES, NO } which;
    uint64_t wait_ms;
    const char *name;
    bool flag;
    double real;
};
#define AT(member) DX_OPT_PLACE(struct values, member)

static const struct dx_option kinds[KINDS] = {
    [NUMBER] = { "number", "N", "8", "a number", DX_OPT_NUMBER(1, 64), AT(number) },
    [BYTES] = { "bytes", "SIZE", NULL, "a size", DX_OPT_SIZE(65536, UINT64_C(1) << 40),
                .or_zero = true, AT(bytes) },
    [TIME] = { "time", "TIME", "24h", "a time", DX_OPT_TIME(60, 7 * 86400), AT(seconds) },
    [SHARE] = { "share", "SHARE", "10%", "a share", DX_OPT_SHARE, AT(ppm) },
    [SURE] = { "sure", "YES|NO", "no", "whether", DX_OPT_YES_NO, AT(sure) },
    [WHICH] = { "which", "AUTO|YES|NO", "auto", "which", DX_OPT_CHOICE, AT(which) },
    [WAIT] = { "wait", "SECONDS", "0", "a wait", DX_OPT_NUMBER(0, DX_OPTION_OPEN), .scale = 1000,
               AT(wait_ms) },
    [NAME] = { "name", "NAME", NULL, "a text", DX_OPT_TEXT, AT(name) },
    [FLAG] = { "flag", NULL, NULL, "a flag", DX_OPT_FLAG, AT(flag) },
    [REAL] = { "real", "N", NULL, "as a real one", DX_OPT_NUMBER(2, DX_OPTION_OPEN), AT(real) },
};

static int store(const char *argument, struct values *v, struct dx_error *err)
{
    char *argv[] = { (char *)(uintptr_t) "x", (char *)(uintptr_t)argument, NULL };
    struct dx_options o;
    int rc = dx_options_parse(&o, kinds, KINDS, 2, argv, err);

    if (rc == DX_OK)
        rc = dx_options_store(&o, v, err);
    dx_options_release(&o);
    return rc;
}

static const struct {
    const char *argument;
    const char *want; /* the error; NULL: it is taken */
} bounds[] = {
    { "--number=1", NULL },
    { "--number=64", NULL },
    { "--number=0", "--number: 0 is too small; give 1 to 64" },
    { "--number=65", "--number: 65 is too large; give 1 to 64" },
    { "--number=-1", "--number: '-1' is not a whole number" },
    { "--number=", "--number: '' is not a whole number" },
    { "--number=18446744073709551616", "'18446744073709551616' is not a whole number" },
    { "--bytes=0", NULL },
    { "--bytes=64K", NULL },
    { "--bytes=1T", NULL },
    { "--bytes=65535", "--bytes: 65535 is too small; give 0, or 64K to 1T" },
    { "--bytes=2T", "--bytes: 2T is too large; give 0, or 64K to 1T" },
    { "--bytes=1X", "--bytes: '1X' is not a size; give bytes, or a number with K" },
    { "--time=60", NULL },
    { "--time=7d", NULL },
    { "--time=59s", "--time: 59s is too small; give 1m to 7d" },
    { "--time=8d", "--time: 8d is too large; give 1m to 7d" },
    { "--time=9999999999999999999d", "is not a time; give a number with s, m, h or d" },
    { "--time=1w", "--time: '1w' is not a time" },
    { "--time=1hh", "--time: '1hh' is not a time" },
    { "--share=0.5", NULL },
    { "--share=100%", NULL },
    { "--share=1.1", "--share: '1.1' is not a share; give a number from 0 to 1" },
    { "--share=-1", "--share: '-1' is not a share" },
    { "--sure=yes", NULL },
    { "--sure=ja", "--sure: 'ja' is neither yes nor no" },
    { "--which=no", NULL },
    { "--which=n", "--which: 'n' is neither auto, yes nor no" },
    { "--which=nod", "--which: 'nod' is neither auto, yes nor no" },
    { "--which=", "--which: '' is neither auto, yes nor no" },
    { "--real=1", "--real: 1 is too small; give at least 2" },
    { "--real=5000000000000000000", "--real: 5000000000000000000 is too large" },
    { "--flag", NULL },
    { "--name=", NULL },
};

static void check_values(void)
{
    struct dx_error err = DX_ERROR_INIT;
    struct values v = { .name = "kept", .bytes = 7, .real = 0.5 };
    uint64_t value = 3;

    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        struct values any = { 0 };
        int rc = store(bounds[i].argument, &any, &err);

        EXPECT(bounds[i].want == NULL
                   ? rc == DX_OK
                   : rc == DX_E_INVALID && strstr(err.text, bounds[i].want) != NULL,
               "%s: '%s'", bounds[i].argument, err.text);
    }
    EXPECT(store("--wait=2", &v, &err) == DX_OK && v.number == 8 && v.bytes == 7 &&
               v.seconds == 86400 && v.ppm == 100000 && !v.sure && v.which == AUTO &&
               v.wait_ms == 2000 && strcmp(v.name, "kept") == 0 && !v.flag && v.real == 0.5,
           "defaults, and what has none is left alone");
    EXPECT(store("--which=no", &v, &err) == DX_OK && v.which == NO &&
               store("--flag", &v, &err) == DX_OK && v.flag &&
               store("--real=3", &v, &err) == DX_OK && v.real == 3 &&
               store("--sure=yes", &v, &err) == DX_OK && v.sure,
           "stored");
    EXPECT(dx_option_value(&kinds[BYTES], "1M", &value, &err) == DX_OK && value == 1 << 20 &&
               dx_option_value(&kinds[BYTES], "1K", &value, &err) == DX_E_INVALID &&
               value == 1 << 20,
           "a refused value is not stored");
}

static void check_bounds_in_help(void)
{
    static const char *const lines[] = {
        "a number (1 to 64; default: 8)\n",  "a size (0, or 64K to 1T)\n",
        "a time (1m to 7d; default: 24h)\n", "a wait (default: 0)\n",
        "as a real one (at least 2)\n",      "a flag\n",
    };
    struct dx_buf help = DX_BUF_INIT(10000);
    struct dx_buf mdoc = DX_BUF_INIT(10000);

    dx_options_help(kinds, KINDS, &help);
    dx_options_mdoc(kinds, KINDS, &mdoc);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        size_t n = strlen(lines[i]);

        EXPECT(memmem(help.data, help.size, lines[i], n) != NULL, "%s", lines[i]);
        EXPECT(memmem(mdoc.data, mdoc.size, lines[i], n - 1) != NULL, "%s", lines[i]);
    }
    dx_buf_release(&help);
    dx_buf_release(&mdoc);
}

int main(void)
{
    check_values();
    check_bounds_in_help();
    check_rows();
    check_sizes();
    check_help();
    return failures > 0;
}
