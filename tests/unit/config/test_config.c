/* SPDX-License-Identifier: Apache-2.0
 * The settings file: what is taken, and what is refused at which line. */
#include "config/config_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_ROOT, OPT_LISTEN, OPT_THREADS, OPT_HELP, OPT_COUNT };

static const struct dx_option table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL, "where", DX_OPT_TEXT },
    [OPT_LISTEN] = { "listen", "HOST:PORT", "127.0.0.1:8080", "address", DX_OPT_TEXT },
    [OPT_THREADS] = { "threads", "NUMBER", "0", "loops", DX_OPT_TEXT },
    [OPT_HELP] = { "help", NULL, NULL, "help", DX_OPT_FLAG },
};

#define T(text) text, sizeof text - 1
#define S60 "------------------------------------------------------------"
#define S600 S60 S60 S60 S60 S60 S60 S60 S60 S60 S60

static const struct {
    const char *text;
    size_t size;
    const char *want; /* "name@line=value " of each, or "!" and a part of the message */
} rows[] = {
    { T(""), "" },
    { T("\n\n  \n\t\n"), "" },
    { T("# only = this\n; and = this"), "" },
    { T("root = /srv/x\n"), "root@1=/srv/x " },
    { T("root=/srv/x"), "root@1=/srv/x " },
    { T("root = /srv/x\r\nlisten=[::1]:80\r\n"), "root@1=/srv/x listen@2=[::1]:80 " },
    { T("\n# c\nthreads = 2\n\nroot = s3://b/p q"), "threads@3=2 root@5=s3://b/p q " },
    { T("root = a = b"), "root@1=a = b " },
    { T("root = a;b"), "root@1=a;b " },
    { T("root = \xc3\xa9"), "root@1=\xc3\xa9 " },
    { T("\xef\xbb\xbfroot = a"), "root@1=a " },
    { T("root = a\nrot = b\n"), "!conf:2: unknown key 'rot'" },
    { T("Root = a\n"), "!conf:1: unknown key 'Root'" },
    { T("--root = a\n"), "!conf:1: unknown key '--root'" },
    { T("= a\n"), "!conf:1: unknown key ''" },
    { T("root = a\n\nroot = b\n"), "!conf:3: given twice: 'root'" },
    { T("help = yes"), "!conf:1: only for the command line: 'help'" },
    { T("root =\n"), "!conf:1: no value for 'root'" },
    { T("root\n"), "!conf:1: not 'key = value': 'root'" },
    { T("root: a\n"), "!conf:1: not 'key = value': 'root: a'" },
    { T("[server]\nroot = a"), "!conf:1: there are no sections: '[server]'" },
    { T("root = a\n  b = c\n"), "!conf:2: the line begins with white space" },
    { T("root = a\n  b\n"), "!conf:2: the line begins with white space" },
    { T("root = a ; comment\nthreads = 2\t# two"), "root@1=a threads@2=2 " },
    { T("root = /x # my root"), "root@1=/x " },
    { T("root = a#b;c"), "root@1=a#b;c " },
    { T("root = # none"), "!conf:1: no value for 'root'" },
    { T("root = \"/x\""), "root@1=/x " },
    { T("root = '/x'   # \"mine\""), "root@1=/x " },
    { T("root = \" a #b ;c \""), "root@1= a #b ;c  " },
    { T("root = \"it's\""), "root@1=it's " },
    { T("root = it's \"x\""), "root@1=it's \"x\" " },
    { T("root = \"/x"), "!conf:1: the quote is not closed: '\"/x'" },
    { T("root = \""), "!conf:1: the quote is not closed: '\"'" },
    { T("root = \"/x\"/y"),
      "!conf:1: only a comment may stand behind the quoted value: '\"/x\"/y'" },
    { T("root = \"/x\"#y"),
      "!conf:1: only a comment may stand behind the quoted value: '\"/x\"#y'" },
    { T("root = ''"), "!conf:1: no value for 'root'" },
    { T("root = a\0b\n"), "!conf:1: byte 9 of the line is a control byte" },
    { T("root = a\rb\n"), "!conf:1: byte 9 of the line is a control byte" },
    { T("root = a\x1b[0m\n"), "!conf:1: byte 9 of the line is a control byte" },
    { T("root = " S60 S60 S60), "root@1=" S60 S60 S60 " " },
    { T("# " S600 S600 S600 S600 S600 S600 S600), "!conf:1: the line is over 4200 bytes" },
};

static int failures;

static void describe(const struct dx_config_file *f, char *to, size_t size)
{
    size_t n = 0;

    to[0] = '\0';
    for (size_t i = 0; i < f->count; i++)
        n += (size_t)snprintf(to + n, size - n, "%s@%u=%s ", table[f->entries[i].index].name,
                              f->entries[i].line, f->entries[i].text);
}

static void check_row(size_t i)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_config_file f;
    char got[1024];
    uint8_t *exact = malloc(rows[i].size + 1); /* the end is known to ASan */
    int rc;

    exact = realloc(exact, rows[i].size > 0 ? rows[i].size : 1);
    memcpy(exact, rows[i].text, rows[i].size);
    rc = dx_config_file_parse(&f, "conf", (struct dx_span){ exact, rows[i].size }, table, OPT_COUNT,
                              &err);
    describe(&f, got, sizeof got);
    if (rc < 0)
        (void)snprintf(got, sizeof got, "!%s", err.text);
    if (rc < 0 ? rows[i].want[0] != '!' || strncmp(got, rows[i].want, strlen(rows[i].want)) != 0
               : strcmp(got, rows[i].want) != 0) {
        printf("row %zu '%s': got '%s', want '%s'\n", i, rows[i].text, got, rows[i].want);
        failures++;
    }
    if (rc < 0 && f.count != 0) {
        printf("row %zu: entries are left after a refusal\n", i);
        failures++;
    }
    dx_config_file_release(&f);
    free(exact);
}

static void check_files(void)
{
    char path[] = "/tmp/test_config_XXXXXX";
    struct dx_error err = DX_ERROR_INIT;
    struct dx_config_file f;
    int fd = mkstemp(path);
    static char big[DX_CONFIG_FILE_MAX + 1];

    if (fd < 0 || write(fd, "root = /x\n", 10) != 10)
        abort();
    if (dx_config_file_read(&f, path, table, OPT_COUNT, &err) < 0 || f.count != 1) {
        printf("a file is not read: %s\n", err.text);
        failures++;
    }
    dx_config_file_release(&f);
    memset(big, '\n', sizeof big);
    if (write(fd, big, sizeof big) != (ssize_t)sizeof big)
        abort();
    (void)close(fd);
    if (dx_config_file_read(&f, path, table, OPT_COUNT, &err) >= 0) {
        printf("a file over the cap is read\n");
        failures++;
    }
    dx_config_file_release(&f);
    (void)unlink(path);
    if (dx_config_file_read(&f, path, table, OPT_COUNT, &err) != DX_E_NOT_FOUND ||
        strstr(err.text, path) == NULL) {
        printf("a missing file: %s\n", err.text);
        failures++;
    }
    dx_config_file_release(&f);
}

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_row(i);
    check_files();
    printf("%zu rows, %d failures\n", sizeof rows / sizeof *rows, failures);
    return failures > 0;
}
