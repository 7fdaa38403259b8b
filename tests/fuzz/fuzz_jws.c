/* SPDX-License-Identifier: Apache-2.0
 * Tokens that a stranger hands to `domaindex receipt verify`. What is signed here verifies, and does not
 * with one byte changed.
 */
#include "base/crypto/jws.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char pem[] = "-----BEGIN PRIVATE KEY-----\n"
                          "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n"
                          "-----END PRIVATE KEY-----\n";

static struct dx_jws_key *key_of(void)
{
    static struct dx_jws_key *key;
    char path[] = "/tmp/fuzz_jws.XXXXXX";
    int fd;

    if (key != NULL)
        return key;
    fd = mkstemp(path);
    if (fd < 0 || write(fd, pem, sizeof pem - 1) != (ssize_t)(sizeof pem - 1) ||
        dx_jws_key_read(&key, path, NULL) < 0)
        abort();
    (void)close(fd);
    (void)unlink(path);
    return key;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_buf payload = DX_BUF_INIT(DX_JWS_MAX);
    struct dx_buf token = DX_BUF_INIT(DX_JWS_MAX);
    struct dx_span input = { data, size };

    (void)dx_jws_verify(key_of(), input, &payload, NULL);
    if (size > 0 && size < 4096) {
        if (!dx_jws_sign(key_of(), input, &token) ||
            dx_jws_verify(key_of(), dx_span_of(token.data, token.size), &payload, NULL) != 1 ||
            !dx_span_equal(dx_span_of(payload.data, payload.size), input))
            abort();
        token.data[data[0] * 7u % token.size] ^= 1;
        if (dx_jws_verify(key_of(), dx_span_of(token.data, token.size), &payload, NULL) == 1)
            abort();
    }
    dx_buf_release(&payload);
    dx_buf_release(&token);
    return 0;
}
