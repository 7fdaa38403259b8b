/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/library_error.h"

#include "base/release.h"
#include "lib/domaindex.h"

#include <stdio.h>

_Static_assert((int)DOMAINDEX_E_DENIED == (int)DX_E_DENIED &&
                   (int)DOMAINDEX_E_CONFLICT == (int)DX_E_CONFLICT &&
                   (int)DOMAINDEX_E_NOT_FOUND == (int)DX_E_NOT_FOUND,
               "the codes of the library are those of base/error.h");

int dx_library_failed(struct domaindex_error *out, const struct dx_error *err)
{
    if (out != NULL) {
        out->code = err->code;
        (void)snprintf(out->text, sizeof out->text, "%s", err->text);
    }
    return err->code;
}

const char *domaindex_version(void)
{
    return dx_release();
}

int domaindex_abi(void)
{
    return DOMAINDEX_ABI;
}
