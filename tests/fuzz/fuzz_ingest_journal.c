/* SPDX-License-Identifier: Apache-2.0
 * Journals of ingest: what is whole is read, and the keys that are read are found again.
 */
#include "builder/ingest/ingest_journal.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_ingest_journal j = DX_INGEST_JOURNAL_INIT;
    size_t whole = 0;

    if (dx_ingest_journal_parse(dx_span_of(data, size), dx_span_str("a run"), &j, &whole, NULL) ==
        DX_OK) {
        if (whole > size || (whole > 0 && data[whole - 1] != '\n'))
            abort();
        for (size_t i = 0; i < j.count; i++)
            if (!dx_ingest_journal_has(&j, &j.key[i]))
                abort();
    }
    dx_ingest_journal_close(&j);
    return 0;
}
