/* SPDX-License-Identifier: Apache-2.0
 * The settings file: an accepted value stands in the text, at the line that is said. */
#include "config/config_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct dx_option table[] = {
    { "root", "ROOT", NULL, "where" },
    { "a", "A", "1", "a" },
    { "listen", "HOST:PORT", NULL, "address" },
    { "help", NULL, NULL, "help" },
};

static void check_entry(const struct dx_config_entry *e, const uint8_t *data, size_t size)
{
    const uint8_t *line = data;
    const uint8_t *end;

    for (unsigned n = 1; n < e->line; n++) {
        line = memchr(line, '\n', size - (size_t)(line - data));
        if (line == NULL)
            abort();
        line++;
    }
    end = memchr(line, '\n', size - (size_t)(line - data));
    if (end == NULL)
        end = data + size;
    if (e->index > 2 || e->text[0] == '\0' ||
        memmem(line, (size_t)(end - line), e->text, strlen(e->text)) == NULL)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_config_file f;
    int rc = dx_config_file_parse(&f, "conf", (struct dx_span){ data, size }, table, 4, &err);

    if (rc < 0 && (err.text[0] == '\0' || f.count != 0))
        abort();
    for (size_t i = 0; i < f.count; i++)
        check_entry(&f.entries[i], data, size);
    dx_config_file_release(&f);
    return 0;
}
