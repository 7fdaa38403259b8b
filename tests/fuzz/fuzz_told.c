/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as an answer that is read back (server/told.h). */
#include "server/told.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_told told;

    dx_told_read(dx_span_of(data, size), &told);
    if (!told.has_domain_id && told.domain_id != 0)
        abort();
    return 0;
}
