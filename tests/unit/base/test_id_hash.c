/* SPDX-License-Identifier: Apache-2.0 */
#include "base/id_hash.h"

#include "base/hash.h"

#include <stdio.h>
#include <string.h>

/* Ids stand in files and in answers: they are these for ever. From xxhsum -H3 (seed 0). */
static const struct {
    const char *text;
    uint64_t id;
} rows[] = {
    { "", 0x2d06800538d394c2u },
    { "example.com", 0x8b66107e8045bb73u },
};

int main(void)
{
    uint64_t mask = UINT64_MAX << (64 - dx_id_bits());
    int failed = 0;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_span text = dx_span_str(rows[i].text);

        if (dx_id64(text) != (rows[i].id & mask) || dx_id64_seeded(text, 0) != dx_id64(text) ||
            dx_id64_seeded(text, 7) != (dx_hash64_seeded(text, 7) & mask))
            failed += printf("'%s': %016llx\n", rows[i].text, (unsigned long long)dx_id64(text)) >
                      0;
    }
    if ((dx_id_bits() == 64) != (strcmp(dx_id_warning(), "") == 0))
        failed += printf("%u bits, but --version says '%s'\n", dx_id_bits(), dx_id_warning()) > 0;
    return failed > 0;
}
