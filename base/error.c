/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int dx_fail(struct dx_error *err, enum dx_code code, const char *fmt, ...)
{
    if (err != NULL) {
        va_list ap;

        err->code = code;
        va_start(ap, fmt);
        (void)vsnprintf(err->text, sizeof err->text, fmt, ap);
        va_end(ap);
    }
    return (int)code;
}

int dx_fail_in(struct dx_error *err, const char *fmt, ...)
{
    char inner[sizeof err->text];
    va_list ap;
    int n;

    if (err == NULL)
        return DX_E_INVALID;
    memcpy(inner, err->text, sizeof inner);
    va_start(ap, fmt);
    n = vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof err->text)
        (void)snprintf(err->text + n, sizeof err->text - (size_t)n, ": %s", inner);
    return (int)err->code;
}

int dx_fail_errno(struct dx_error *err, int errno_value, const char *fmt, ...)
{
    enum dx_code code = errno_value == ENOENT   ? DX_E_NOT_FOUND
                        : errno_value == ENOMEM ? DX_E_NOMEM
                                                : DX_E_IO;

    if (err != NULL) {
        va_list ap;
        int n;

        err->code = code;
        va_start(ap, fmt);
        n = vsnprintf(err->text, sizeof err->text, fmt, ap);
        va_end(ap);
        if (n >= 0 && (size_t)n < sizeof err->text)
            (void)snprintf(err->text + n, sizeof err->text - (size_t)n, ": %s",
                           strerror(errno_value));
    }
    return (int)code;
}

const char *dx_code_name(enum dx_code code)
{
    switch (code) {
    case DX_OK:
        return "ok";
    case DX_E_IO:
        return "io";
    case DX_E_NOMEM:
        return "no-memory";
    case DX_E_TRUNCATED:
        return "truncated";
    case DX_E_CORRUPT:
        return "corrupt";
    case DX_E_UNSUPPORTED:
        return "unsupported";
    case DX_E_LIMIT:
        return "limit";
    case DX_E_INVALID:
        return "invalid";
    case DX_E_NOT_FOUND:
        return "not-found";
    case DX_E_BUSY:
        return "busy";
    case DX_E_TIMEOUT:
        return "timeout";
    case DX_E_CONFLICT:
        return "conflict";
    case DX_E_EXISTS:
        return "exists";
    case DX_E_UNKNOWN:
        return "unknown-outcome";
    case DX_E_DENIED:
        return "denied";
    }
    return "unknown";
}
