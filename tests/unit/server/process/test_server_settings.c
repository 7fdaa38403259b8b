/* SPDX-License-Identifier: Apache-2.0
 * Settings of domaindexd: defaults, the file, the command line over it, bounds. */
#include "server/process/settings.h"

#include "server/process/settings_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define X64 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X256 X64 X64 X64 X64

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
    { "root = r\ncompletion = bash\n",
      { NULL },
      ":2: --completion is for the command line only",
      NULL,
      0 },
    { NULL, { "--root", "r", "--tls-key", "k" }, "--tls-key: without --tls-certificate", NULL, 0 },
    { "root = r\ntls-client-ca = c\n",
      { NULL },
      ":2: --tls-client-ca: without --tls-certificate",
      NULL,
      0 },
    { "root = r\nproxy-protocol = yes\n", { NULL }, ":2: --proxy-protocol: it is spoken", NULL, 0 },
    { "root = r\naddress-header = x\n", { NULL }, ":2: --address-header 'x'", NULL, 0 },
    /* A given value is not the file's: its line is not named. */
    { "root = r\nlease-ttl = 3600\n",
      { "--lease-ttl", "3" },
      "--lease-ttl: 3 s is less than three times",
      NULL,
      0 },
    { NULL, { "--root", "r", "--principal-header", "" }, "is not the name of a header", NULL, 0 },
    { NULL, { "--root", "r", "--admin", "" }, NULL, "127.0.0.1:8080", 5000 },
};

/* Values of one option: taken, or refused with these words. */
static const struct {
    const char *option, *value, *error;
} values[] = {
    { "--public-url", "https://example.org/index", NULL },
    { "--public-url", "http://example.org:8080", NULL },
    { "--public-url", "ftp://example.org", "is not an address" },
    { "--public-url", "example.org", "is not an address" },
    { "--public-url", "", "is not an address" },
    { "--public-url", "https://example.org/", "is not an address" },
    { "--public-url", "https://example.org/a b", "is not an address" },
    { "--public-url", "https://example.org/\x7f", "is not an address" },
    { "--public-url", "https://example.org/\"x", "is not an address" },
    { "--public-url", "https://example.org/" X256, "is not an address" },
    { "--cors-origin", "*", NULL },
    { "--cors-origin", "http://[::1]:8080", NULL },
    { "--cors-origin", "https://example.org", NULL },
    { "--cors-origin", "https://", "is not an origin" },
    { "--cors-origin", "example.org", "is not an origin" },
    { "--cors-origin", "https://Example.org", "is not an origin" },
    { "--cors-origin", "https://example.org/", "is not an origin" },
    { "--cors-origin", "https://" X256, "is not an origin" },
    { "--address-header", X64, "is believed from --trusted-proxy" }, /* a name, as such */
    { "--address-header", X64 "x", "is not the name of a header" },
    { "--socket-mode", "0600", NULL },
    { "--socket-mode", "777", NULL },
    { "--socket-mode", "1777", "is not a mode from 0600 to 0777" },
    { "--socket-mode", "0577", "is not a mode" },
    { "--socket-mode", "0808", "is not a mode" },
    { "--socket-mode", "60", "is not a mode" },
    { "--socket-mode", "00600", "is not a mode" },
    { "--log-requests", "", "empty" },
    { "--log-requests", "no", NULL },
};

static void check_values(void)
{
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char *argv[] = { (char *)(uintptr_t) "domaindexd", (char *)(uintptr_t) "--root=r",
                         (char *)(uintptr_t)values[i].option, (char *)(uintptr_t)values[i].value };
        struct dx_error err = DX_ERROR_INIT;
        struct dx_settings s;
        int rc = dx_settings_parse(&s, 4, argv, &err);

        if (values[i].error == NULL
                ? rc < 0
                : rc != DX_E_INVALID || strstr(err.text, values[i].error) == NULL ||
                      strstr(err.text, values[i].option) == NULL) {
            printf("%s '%s': %d '%s'\n", values[i].option, values[i].value, rc, err.text);
            failures++;
        }
        if (rc == DX_OK)
            dx_settings_release(&s);
    }
}

/* A list of more networks than are kept is refused, not cut. */
static void check_many_proxies(void)
{
    static char list[DX_PROXIES_MAX * 8 + 32] = "--trusted-proxy=";
    char *argv[] = { (char *)(uintptr_t) "domaindexd", (char *)(uintptr_t) "--root=r", list };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_settings s;

    for (int n = 0; n < DX_PROXIES_MAX; n++)
        (void)sprintf(list + strlen(list), "::%x,", (unsigned)n + 1);
    if (dx_settings_parse(&s, 3, argv, &err) < 0) {
        printf("%s\n", err.text);
        failures++;
        return;
    }
    dx_settings_release(&s);
    strcat(list, "::1:1");
    if (dx_settings_parse(&s, 3, argv, &err) != DX_E_INVALID ||
        strstr(err.text, "--trusted-proxy: over 64 networks") == NULL) {
        printf("one more: '%s'\n", err.text);
        failures++;
    }
}

/* What --print-config writes is a file that says the same; false: no line of a file can say it. */
static const struct {
    const char *root;
    bool can;
} roots[] = {
    { "r", true },        { "a b", true },    { " a", true },
    { "a ", true },       { "\ta", true },    { "a\t", true },
    { "#a", true },       { ";a", true },     { "'a", true },
    { "\"a", true },      { "a #b", true },   { "a ;b", true },
    { "a\t#b", true },    { "a\t;b", true },  { "a#b", true },
    { "a;b", true },      { "a\"b", true },   { "a'b", true },
    { "a\" #'b", false }, { "\"a'b", false }, { "a\nthreads = 1", false },
    { "a\r", false },
};

static void check_print(void)
{
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        char *argv[] = { (char *)(uintptr_t) "domaindexd", (char *)(uintptr_t) "--root",
                         (char *)(uintptr_t)roots[i].root,
                         (char *)(uintptr_t) "--trusted-proxy=::1,unix",
                         (char *)(uintptr_t) "--trusted-proxy=10.0.0.0/8" };
        char *from_file[] = { (char *)(uintptr_t) "domaindexd", (char *)(uintptr_t) "--config",
                              path, (char *)(uintptr_t) "--root=other" };
        struct dx_buf text = DX_BUF_INIT(1 << 20);
        struct dx_error err = DX_ERROR_INIT;
        struct dx_settings s, again;
        FILE *f = fopen(path, "w");

        if (f == NULL || dx_settings_parse(&s, 5, argv, &err) < 0)
            abort();
        dx_settings_print(&s, &text);
        if (fwrite(text.data, 1, text.size, f) != text.size || fclose(f) != 0)
            abort();
        dx_buf_u8(&text, '\0');
        /* without a root in it the file alone would be refused */
        if (dx_settings_parse(&again, roots[i].can ? 3 : 4, from_file, &err) < 0 ||
            (roots[i].can && strcmp(again.root, roots[i].root) != 0) ||
            again.server.identity.proxy_count != 3 || again.server.loops != s.server.loops ||
            (strstr((const char *)text.data, "# root: a value that a file cannot hold") == NULL) !=
                roots[i].can) {
            printf("root '%s': '%s' '%.80s'\n", roots[i].root, err.text, (const char *)text.data);
            failures++;
        } else {
            dx_settings_release(&again);
        }
        dx_settings_release(&s);
        dx_buf_release(&text);
    }
}

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
    check_values();
    check_many_proxies();
    check_print();
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
