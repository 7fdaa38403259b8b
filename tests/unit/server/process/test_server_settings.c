/* SPDX-License-Identifier: Apache-2.0
 * Settings of domaindexd: defaults, the file, the command line over it, bounds. */
#include "server/process/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures;
static char path[] = "/tmp/test_settings_XXXXXX";

static const struct {
    const char *file;    /* NULL: no --config */
    const char *args[6]; /* behind the program's name */
    const char *error;   /* a part of it; NULL: taken */
    const char *listen;
    unsigned head_ms;
} rows[] = {
    { NULL, { "--root", "r" }, NULL, "127.0.0.1:8080", 5000 },
    { NULL, { "--root=r", "--listen=h:1", "--head-timeout-ms=100" }, NULL, "h:1", 100 },
    { NULL, { "--root", "r", "--listen", "a:1", "--listen", "b:2" }, NULL, "b:2", 5000 },
    { "root = r\nlisten = c:3\n", { NULL }, NULL, "c:3", 5000 },
    { "root = r\nlisten = c:3\nhead-timeout-ms = 700\n", { "--listen", "d:4" }, NULL, "d:4", 700 },
    { "# nothing\n", { "--root", "r" }, NULL, "127.0.0.1:8080", 5000 },
    { NULL, { "--help" }, NULL, "127.0.0.1:8080", 5000 },
    { NULL, { "--version", "--threads", "x" }, NULL, "127.0.0.1:8080", 5000 },
    { NULL, { NULL }, "--root is needed", NULL, 0 },
    { "listen = c:3\n", { NULL }, "--root is needed", NULL, 0 },
    { NULL, { "--root", "" }, "--root: the value is empty", NULL, 0 },
    { NULL, { "--root" }, "'--root' needs a value", NULL, 0 },
    { NULL, { "--rot", "r" }, "did you mean '--root'?", NULL, 0 },
    { NULL, { "--root", "r", "x" }, "'x': there are only options", NULL, 0 },
    { NULL,
      { "--root", "r", "--threads", "257" },
      "--threads: 257 is too large; give 0 to 256",
      NULL,
      0 },
    { NULL,
      { "--root", "r", "--threads", "-1" },
      "--threads: '-1' is not a whole number",
      NULL,
      0 },
    { NULL,
      { "--root", "r", "--head-timeout-ms", "99" },
      "99 is too small; give 100 to 60000",
      NULL,
      0 },
    { NULL, { "--root", "r", "--queue", "0" }, "--queue: 0 is too small", NULL, 0 },
    { NULL, { "--root", "r", "--cache-idx", "1023K" }, "--cache-idx: 1023K is too small", NULL, 0 },
    { NULL,
      { "--root", "r", "--cache-pages", "1X" },
      "--cache-pages: '1X' is not a size",
      NULL,
      0 },
    { NULL,
      { "--root", "r", "--cursor-life", "86401" },
      "86401 is too large; give 0 to 86400",
      NULL,
      0 },
    { NULL, { "--root", "r", "--verify", "maybe" }, "neither yes nor no", NULL, 0 },
    { NULL, { "--config", "/no/such/file" }, "/no/such/file: cannot open", NULL, 0 },
    { NULL,
      { "--root", "r", "--listen", "8080" },
      "--listen: '8080' is not HOST:PORT: write 127.0.0.1:8080",
      NULL,
      0 },
    { NULL, { "--root", "r", "--listen", ":80" }, "write 127.0.0.1:80 for", NULL, 0 },
    { NULL, { "--root", "r", "--listen", "::1:80" }, "or [::1]:8080 for IPv6", NULL, 0 },
    { NULL, { "--root", "r", "--listen", "a:70000" }, "port 70000 is over 65535", NULL, 0 },
    { NULL, { "--root", "r", "--admin", "unix:x" }, "--admin: 'unix:x' is not unix:PATH", NULL, 0 },
    { "root = r\nlisten = 8080 # here\n", { NULL }, ":2: --listen: '8080' is not", NULL, 0 },
    { "root = \"r\"\nlisten = 'c:3' # here\n", { NULL }, NULL, "c:3", 5000 },
    { NULL,
      { "--root", "r", "--cache-answers", "1K" },
      "1K is too small; give 0, or 64K to 1T",
      NULL,
      0 },
    { NULL, { "--root", "r", "--cache-domains", "1K" }, "too small", NULL, 0 },
    { "root = r\nprincipal-header = x\n",
      { NULL },
      ":2: --principal-header 'x': a header",
      NULL,
      0 },
    { "root = r\nlease-ttl = 3\n", { NULL }, ":2: --lease-ttl: 3 s is less", NULL, 0 },
    { "root = r\n\nthreads = many\n",
      { NULL },
      ":3: --threads: 'many' is not a whole number",
      NULL,
      0 },
    { "root = r\nidle-timeout-ms = 1\n",
      { NULL },
      ":2: --idle-timeout-ms: 1 is too small",
      NULL,
      0 },
    { "root = r\nconfig = other\n",
      { NULL },
      ":2: --config is for the command line only",
      NULL,
      0 },
    { "root = r\nman = yes\n", { NULL }, ":2: only for the command line", NULL, 0 },
    { NULL, { "--root", "r", "--access", "no" }, "--access: 'no' is neither auto nor", NULL, 0 },
    { NULL,
      { "--root", "r", "--principal-header", "X User" },
      "is not the name of a header",
      NULL,
      0 },
    { NULL, { "--root", "r", "--address-header", "Host" }, "means something else", NULL, 0 },
    { NULL, { "--root", "r", "--principal-header", "x" }, "none is given", NULL, 0 },
    { NULL,
      { "--root", "r", "--trusted-proxy", "10.0.0.1/8" },
      "'10.0.0.1/8' is neither",
      NULL,
      0 },
    { NULL, { "--root", "r", "--trusted-proxy", " ," }, "names no network", NULL, 0 },
    { "root = r\naddress-header = a\nprincipal-header = A\ntrusted-proxy = ::1\n",
      { NULL },
      "are both 'A'",
      NULL,
      0 },
    { "root = r\naddress-header = a\nprincipal-header = b\ntrusted-proxy = ::1, 10.0.0.0/8\n",
      { "--trusted-proxy", "unix", "--trusted-proxy", "::/0" },
      NULL,
      "127.0.0.1:8080",
      5000 },
    { "root = r\nlimits = 1\n", { NULL }, ":2: unknown key 'limits'", NULL, 0 },
};

static void check_row(size_t i)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_settings s;
    char *argv[10] = { (char *)(uintptr_t) "domaindexd" };
    int argc = 1;
    int rc;

    if (rows[i].file != NULL) {
        FILE *f = fopen(path, "w");

        if (f == NULL || fputs(rows[i].file, f) < 0 || fclose(f) != 0)
            abort();
        argv[argc++] = (char *)(uintptr_t) "--config";
        argv[argc++] = path;
    }
    for (size_t k = 0; k < 6 && rows[i].args[k] != NULL; k++)
        argv[argc++] = (char *)(uintptr_t)rows[i].args[k];
    rc = dx_settings_parse(&s, argc, argv, &err);
    if (rows[i].error != NULL
            ? rc >= 0 || strstr(err.text, rows[i].error) == NULL
            : rc < 0 || strcmp(s.server.listen, rows[i].listen) != 0 ||
                  s.server.head_timeout_ms != rows[i].head_ms || s.cache_bytes_idx != 64u << 20 ||
                  s.server.loops < 1 || s.server.workers < 2 || s.grace_ms != 10000) {
        printf("row %zu: %d '%s'\n", i, rc, err.text);
        failures++;
    }
    if (rc == DX_OK)
        dx_settings_release(&s);
}

/* The list of the command line stands instead of the file's; its own add up. */
static void check_proxies(void)
{
    char *argv[] = { (char *)(uintptr_t) "domaindexd", (char *)(uintptr_t) "--config", path,
                     (char *)(uintptr_t) "--trusted-proxy=unix,10.0.0.0/8",
                     (char *)(uintptr_t) "--trusted-proxy=::1" };
    FILE *f = fopen(path, "w");

    if (f == NULL || fputs("root = r\ntrusted-proxy = 192.0.2.1, 192.0.2.2\n", f) < 0 ||
        fclose(f) != 0)
        abort();
    for (int argc = 3; argc <= 5; argc++) {
        struct dx_settings s;
        size_t want = argc == 5 ? 3 : 2;

        if (dx_settings_parse(&s, argc, argv, NULL) < 0)
            abort();
        if (s.server.identity.proxy_count != want) {
            printf("%d arguments: %zu networks\n", argc, s.server.identity.proxy_count);
            failures++;
        }
        dx_settings_release(&s);
    }
}

int main(void)
{
    struct dx_buf text = DX_BUF_INIT(1 << 20);
    int fd = mkstemp(path);

    if (fd < 0)
        abort();
    (void)close(fd);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_row(i);
    check_proxies();
    (void)unlink(path);
    dx_options_help(dx_settings_table, dx_settings_table_size, &text);
    dx_buf_u8(&text, '\0');
    for (size_t i = 0; i < dx_settings_table_size; i++)
        if (strstr((const char *)text.data, dx_settings_table[i].name) == NULL) {
            printf("--help does not name %s\n", dx_settings_table[i].name);
            failures++;
        }
    dx_buf_release(&text);
    printf("%zu rows, %d failures\n", sizeof rows / sizeof *rows, failures);
    return failures > 0;
}
