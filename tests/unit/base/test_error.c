/* SPDX-License-Identifier: Apache-2.0
 * Errors: their codes, and what stands behind a message, also where the message fills the room.
 */
#include "base/error.h"

#include <errno.h>

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
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    (void)dx_no_memory(&err, "%s", name);
    EXPECT(strlen(err.text) == sizeof err.text - 1, "cut at the room");
    return failures > 0;
}
