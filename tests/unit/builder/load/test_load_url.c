/* SPDX-License-Identifier: Apache-2.0
 * test_load_url.c - addresses of servers that `domaindex bench` asks.
 */
#include "builder/load/load_url.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/fail.h"

static int failures;

static const struct {
    const char *text;
    const char *want; /* host, name, prefix and address; NULL: refused */
    const char *says;
    bool tls;
} rows[] = {
    { "http://127.0.0.1:8080", "127.0.0.1:8080 127.0.0.1  127.0.0.1:8080", NULL, false },
    { "HTTP://127.0.0.1", "127.0.0.1 127.0.0.1  127.0.0.1:80", NULL, false },
    { "https://127.0.0.1", "127.0.0.1 127.0.0.1  127.0.0.1:443", NULL, true },
    { "https://127.0.0.1:8443/a/b//", "127.0.0.1:8443 127.0.0.1 /a/b 127.0.0.1:8443", NULL, true },
    { "http://127.0.0.1///", "127.0.0.1 127.0.0.1  127.0.0.1:80", NULL, false },
    { "http://[::1]:8080/x", "[::1]:8080 ::1 /x [::1]:8080", NULL, false },
    { "http://[::1]", "[::1] ::1  [::1]:80", NULL, false },
    { "https://[::1]/", "[::1] ::1  [::1]:443", NULL, true },
    { "http://[::1]8080", NULL, "[::1]8080: not HOST or HOST:PORT", false },
    { "http://[::1]:", NULL, "[::1]:: not HOST or HOST:PORT", false },
    { "http://[]:80", NULL, "[]:80: not HOST or HOST:PORT", false },
    { "http://[::1", NULL, "[::1: ", false },
    { "http://::1]:80", NULL, "::1]:80: ", false },
    { "http://", NULL, "not HOST or HOST:PORT", false },
    { "http://:80", NULL, ":80: not HOST or HOST:PORT", false },
    { "http://127.0.0.1:", NULL, "127.0.0.1:: not HOST or HOST:PORT", false },
    { "http://127.0.0.1:http", NULL, "127.0.0.1:http: ", false },
    { "127.0.0.1:80", NULL, "127.0.0.1:80: neither http://HOST[:PORT]", false },
    { "ftp://127.0.0.1", NULL, "neither http://HOST[:PORT]", false },
    { "http://me@127.0.0.1", NULL, "no user, query or fragment", false },
    { "http://127.0.0.1/?a", NULL, "no user, query or fragment", false },
    { "http://127.0.0.1#a", NULL, "no user, query or fragment", false },
    { "http://127.0.0.1/a b", NULL, "no user, query or fragment", false },
};

int main(void)
{
    char text[DX_LOAD_URL_MAX + 32];
    struct dx_load_url url;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_error err = DX_ERROR_INIT;
        int rc = dx_load_url_parse(&url, rows[i].text, &err);
        char got[400] = "";

        CHECK((rc == DX_OK) == (rows[i].want != NULL), "%s: %d %s", rows[i].text, rc, err.text);
        if (rc < 0) {
            CHECK(rows[i].says == NULL || strstr(err.text, rows[i].says) != NULL, "%s: %s",
                  rows[i].text, err.text);
            continue;
        }
        (void)snprintf(got, sizeof got, "%s %s %s %s", url.host, url.name, url.prefix, url.shown);
        CHECK(rows[i].want != NULL && strcmp(got, rows[i].want) == 0 && url.tls == rows[i].tls,
              "%s: %s", rows[i].text, got);
    }
    for (size_t n = DX_LOAD_URL_MAX - 1; n <= DX_LOAD_URL_MAX; n++) { /* behind http:// */
        struct dx_error err = DX_ERROR_INIT;
        int rc;

        memset(text, 'x', sizeof text);
        memcpy(text, "http://127.0.0.1/", 17);
        text[7 + n] = '\0';
        rc = dx_load_url_parse(&url, text, &err);
        CHECK((rc == DX_OK) == (n < DX_LOAD_URL_MAX), "%zu bytes: %d %s", n, rc, err.text);
    }
    return failures > 0;
}
