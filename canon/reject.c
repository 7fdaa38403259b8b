/* SPDX-License-Identifier: Apache-2.0 */
#include "canon/reject.h"

#include <stddef.h>

const char *dx_reject_name(enum dx_reject why)
{
    static const char *const names[DX_REJECT_COUNT] = {
        [DX_REJECT_NONE] = "none",
        [DX_REJECT_EMPTY] = "empty",
        [DX_REJECT_TOO_LONG] = "too_long",
        [DX_REJECT_SCHEME] = "scheme",
        [DX_REJECT_HOST_MISSING] = "host_missing",
        [DX_REJECT_HOST_INVALID] = "host_invalid",
        [DX_REJECT_PORT_INVALID] = "port_invalid",
        [DX_REJECT_UTF8_INVALID] = "utf8_invalid",
        [DX_REJECT_PUBLIC_SUFFIX] = "public_suffix",
    };

    return (size_t)why < DX_REJECT_COUNT ? names[why] : "unknown";
}
