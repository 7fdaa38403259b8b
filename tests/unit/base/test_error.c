/* SPDX-License-Identifier: Apache-2.0
 * Errors: their codes, and what stands behind a message, also where the message fills the room.
 */
#include "base/error.h"

#include <errno.h>

#include "base/utf8.h"
#include "tests/support/damage.h"

static unsigned failures;

int main(void)
{
    struct dx_error err = DX_ERROR_INIT;
    char name[sizeof err.text + 100];

    EXPECT(dx_no_memory(&err, "%s: %u rows", "a.parquet", 7U) == DX_E_NOMEM, "the code");
    EXPECT(err.code == DX_E_NOMEM && strcmp(err.text, "a.parquet: 7 rows: out of memory") == 0,
           "'%s'", err.text);
    EXPECT(dx_fail_errno(&err, EACCES, "%s", "/a") == DX_E_IO &&
               strcmp(err.text, "/a: Permission denied") == 0,
           "'%s'", err.text);
    EXPECT(dx_fail_errno(&err, ENOMEM, "x") == DX_E_NOMEM, "the code of ENOMEM");
    EXPECT(dx_fail_errno(&err, ENOENT, "x") == DX_E_NOT_FOUND, "the code of ENOENT");
    EXPECT(dx_no_memory(NULL, "x") == DX_E_NOMEM && dx_fail(NULL, DX_E_IO, "x") == DX_E_IO,
           "without an error");
    EXPECT(dx_fail(&err, DX_E_LIMIT, "100%%") == DX_E_LIMIT &&
               dx_fail_in(&err, "a") == DX_E_LIMIT && strcmp(err.text, "a: 100%") == 0,
           "'%s'", err.text);
    (void)dx_fail(&err, DX_E_IO, "a\033]0;t\007\n%s: no",
                  "\xc2\x9b"
                  "1m\x7f\xff\xc3\xa9\\");
    EXPECT(strcmp(err.text, "a\\x1b]0;t\\x07\\x0a\\xc2\\x9b1m\\x7f\\xff\xc3\xa9\\: no") == 0,
           "not printable: '%s'", err.text);
    (void)dx_fail_in(&err, "\033");
    EXPECT(strcmp(err.text, "\\x1b: a\\x1b]0;t\\x07\\x0a\\xc2\\x9b1m\\x7f\\xff\xc3\xa9\\: no") == 0,
           "escaped twice: '%s'", err.text);
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    memcpy(name + sizeof err.text - 3, "\xc3\xa9\xc3\xa9\xc3\xa9", 6);
    (void)dx_fail(&err, DX_E_IO, "%s", name);
    EXPECT(strlen(err.text) == sizeof err.text - 1 && dx_utf8_is_valid(dx_span_str(err.text)),
           "cut within a character: '%s'", err.text);
    memset(name, 'x', sizeof name - 1);
    (void)dx_no_memory(&err, "%s", name);
    EXPECT(strlen(err.text) == sizeof err.text - 1, "cut at the room");
    return failures > 0;
}
