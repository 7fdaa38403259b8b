/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/web_file.h"

const char dx_web_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const struct dx_web_file *dx_web_file_find(struct dx_span target)
{
    const struct dx_web_file *file = dx_web_files;

    while (file->target != NULL && !dx_span_equal(target, dx_span_str(file->target)))
        file++;
    return file->target != NULL ? file : NULL;
}
