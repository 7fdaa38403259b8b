/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static void write_text(struct dx_error *err, enum dx_code code, const char *end, const char *fmt,
                       va_list ap) __attribute__((format(printf, 4, 0)));

/* end: behind ": ", or NULL. A message that does not fit is cut: some of it is better than none. */
static void write_text(struct dx_error *err, enum dx_code code, const char *end, const char *fmt,
                       va_list ap)
{
    char whole[2 * sizeof err->text + 2];
    size_t n;

    if (err == NULL)
        return;
    err->code = code;
    (void)vsnprintf(whole, sizeof err->text, fmt, ap);
    n = strlen(whole);
    if (end != NULL)
        n += (size_t)snprintf(whole + n, sizeof whole - n, ": %.*s", (int)sizeof err->text, end);
    dx_utf8_copy_printable(err->text, sizeof err->text, whole, n);
}

int dx_fail(struct dx_error *err, enum dx_code code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    write_text(err, code, NULL, fmt, ap);
    va_end(ap);
    return (int)code;
}

int dx_no_memory(struct dx_error *err, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    write_text(err, DX_E_NOMEM, "out of memory", fmt, ap);
    va_end(ap);
    return DX_E_NOMEM;
}

int dx_fail_in(struct dx_error *err, const char *fmt, ...)
{
    struct dx_error inner;
    va_list ap;

    if (err == NULL)
        return DX_E_INVALID;
    inner = *err;
    va_start(ap, fmt);
    write_text(err, inner.code, inner.text, fmt, ap);
    va_end(ap);
    return (int)err->code;
}

int dx_fail_errno(struct dx_error *err, int errno_value, const char *fmt, ...)
{
    enum dx_code code = errno_value == ENOENT   ? DX_E_NOT_FOUND
                        : errno_value == ENOMEM ? DX_E_NOMEM
                                                : DX_E_IO;
    va_list ap;

    va_start(ap, fmt);
    write_text(err, code, strerror(errno_value), fmt, ap);
    va_end(ap);
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
