/* SPDX-License-Identifier: Apache-2.0
 * error.h - how functions say that the world failed.
 *
 *   rc = dx_map_open(&map, path, &err);
 *   if (rc < 0)
 *       return rc;                        err.text says file, offset, reason
 *
 *   return dx_fail(err, DX_E_TRUNCATED, "%s: %zu bytes, header needs %d", ...);
 *
 * Absent is an answer, not an error: lookups return 1 found, 0 absent, <0 code.
 * `struct dx_error` is plain storage owned by the caller; err may be NULL where
 * the caller only needs the code. A text is printable: bytes from outside are escaped
 * (utf8.h). Thread-safe: no shared state.
 */
#ifndef DX_BASE_ERROR_H
#define DX_BASE_ERROR_H

enum dx_code {
    DX_OK = 0,
    DX_E_IO = -1,          /* the system refused: errno text is in the message */
    DX_E_NOMEM = -2,       /* allocation failed or a stated memory cap was reached */
    DX_E_TRUNCATED = -3,   /* fewer bytes than the layout needs */
    DX_E_CORRUPT = -4,     /* bytes contradict the layout or their checksum */
    DX_E_UNSUPPORTED = -5, /* well-formed, but of a kind that is refused by name */
    DX_E_LIMIT = -6,       /* larger than a limit in limits.h */
    DX_E_INVALID = -7,     /* an argument or request that cannot be served */
    DX_E_NOT_FOUND = -8,   /* a file or object that must exist does not */
    DX_E_BUSY = -9,        /* another process holds the lock, or the budget is used up */
    DX_E_TIMEOUT = -10,
    DX_E_CONFLICT = -11, /* another publisher was first, or the object is another one now */
    DX_E_EXISTS = -12,   /* it was to be new and is there */
    DX_E_UNKNOWN = -13,  /* a write whose reply was lost: it may have happened */
    DX_E_DENIED = -14    /* the store does not let us: nothing was done */
};

struct dx_error {
    enum dx_code code;
    char text[512];
};

#define DX_ERROR_INIT \
    {                 \
        DX_OK, ""     \
    }

/* The same for one that is DX_UNINITIALIZED: to clear 512 bytes takes as long as some calls that hardly ever fail. */
static inline void dx_error_begin(struct dx_error *err)
{
    err->code = DX_OK;
    err->text[0] = '\0';
}

/* Fills err (if not NULL) and returns code. Call it where the cause is first known. */
int dx_fail(struct dx_error *err, enum dx_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "context: " before the text already in err; returns the code in err. */
int dx_fail_in(struct dx_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* As dx_fail, with ": " and the text of errno_value behind the message. */
int dx_fail_errno(struct dx_error *err, int errno_value, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* DX_E_NOMEM with ": out of memory" behind what could not be had: dx_no_memory(err, "%s", path). */
int dx_no_memory(struct dx_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "truncated", "corrupt"...: what the programs of tests print for their scripts. */
const char *dx_code_name(enum dx_code code);

#endif
