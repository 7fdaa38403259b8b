/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nonce.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/types.h>

void dx_nonce(char nonce[DX_NONCE])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[16];
    ssize_t n;

    do
        n = getrandom(bytes, sizeof bytes, 0);
    while (n < 0 && errno == EINTR);
    /* 16 bytes come whole or, on a kernel without the call, never: a failure is better than a name
     * that another process may have. */
    if (n != (ssize_t)sizeof bytes)
        abort();
    for (unsigned i = 0; i < sizeof bytes; i++) {
        nonce[2 * i] = digits[bytes[i] >> 4];
        nonce[2 * i + 1] = digits[bytes[i] & 15];
    }
    nonce[32] = '\0';
}
