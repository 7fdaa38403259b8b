/* SPDX-License-Identifier: Apache-2.0
 * Credentials of files and services: what is kept may stand in a header, what is refused is gone.
 */
#include "fetch/credentials_service.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text)
{
    for (; *text != '\0'; text++)
        if (*text <= 0x20 || *text >= 0x7f) {
            (void)fprintf(stderr, "odd bytes for a header\n");
            abort();
        }
}

static void check(const struct dx_credentials *c)
{
    check_text(c->key_id);
    check_text(c->secret);
    check_text(c->token);
    if (c->key_id[0] == '\0' || c->secret[0] == '\0') {
        (void)fprintf(stderr, "found, but empty\n");
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct dx_credentials c;
    char url[256];
    size_t n = size < sizeof url - 1 ? size : sizeof url - 1;

    if (dx_credentials_parse_json(&c, dx_span_of(data, size), NULL) == DX_OK)
        check(&c);
    else if (c.secret[0] != '\0')
        abort();
    if (dx_credentials_parse_file(&c, dx_span_of(data, size), "default", NULL) == 1)
        check(&c);
    if (n > 0)
        memcpy(url, data, n);
    url[n] = '\0';
    (void)dx_credentials_url_allowed(url);
    return 0;
}
