/* SPDX-License-Identifier: Apache-2.0
 * The settings file: an accepted value stands in the text, at the line that is said; one that an
 * option's row takes is within its bounds, and one that it refuses changes nothing.
 */
#include "config/config_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct values {
    unsigned number;
    uint64_t bytes, seconds, ppm;
    bool sure;
    unsigned which;
};
#define AT(member) DX_OPT_PLACE(struct values, member)
#define UNSET 9999 /* no row takes it */

static const struct dx_option table[] = {
    { "root", "ROOT", NULL, "where", DX_OPT_TEXT },
    { "a", "A", "1", "a", DX_OPT_TEXT },
    { "listen", "HOST:PORT", NULL, "address", DX_OPT_TEXT },
    { "number", "N", NULL, "a number", DX_OPT_NUMBER(5, 500), .or_zero = true, AT(number) },
    { "bytes", "SIZE", NULL, "a size", DX_OPT_SIZE(65536, UINT64_C(1) << 40), AT(bytes) },
    { "seconds", "TIME", NULL, "a time", DX_OPT_TIME(10000, 90000), AT(seconds) },
    { "share", "SHARE", NULL, "a share", DX_OPT_SHARE, AT(ppm) },
    { "sure", "YES|NO", NULL, "whether", DX_OPT_YES_NO, AT(sure) },
    { "which", "AUTO|YES|NO", NULL, "which", DX_OPT_CHOICE, AT(which) },
    { "help", NULL, NULL, "help", DX_OPT_FLAG },
};
#define ROWS (sizeof table / sizeof table[0])

static bool in_bounds(const struct values *v)
{
    return (v->number == UNSET || v->number == 0 || (v->number >= 5 && v->number <= 500)) &&
           (v->bytes == UNSET || (v->bytes >= 65536 && v->bytes <= UINT64_C(1) << 40)) &&
           (v->seconds == UNSET || (v->seconds >= 10000 && v->seconds <= 90000)) &&
           v->ppm <= 1000000 && (v->which == UNSET || v->which <= 2);
}

static void check_value(const struct dx_config_entry *e)
{
    struct dx_error err = DX_ERROR_INIT;
    struct values v = { UNSET, UNSET, UNSET, UNSET, false, UNSET };
    struct values before = v;
    int rc = dx_option_store(&table[e->index], e->text, &v, &err);

    if (rc == DX_OK
            ? !in_bounds(&v)
            : rc != DX_E_INVALID || err.text[0] == '\0' || memcmp(&v, &before, sizeof v) != 0)
        abort();
}

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
    if (e->index > ROWS - 2 || e->text[0] == '\0' ||
        memmem(line, (size_t)(end - line), e->text, strlen(e->text)) == NULL)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_config_file f;
    int rc = dx_config_file_parse(&f, "conf", (struct dx_span){ data, size }, table, ROWS, &err);

    if (rc < 0 && (err.text[0] == '\0' || f.count != 0))
        abort();
    for (size_t i = 0; i < f.count; i++) {
        check_entry(&f.entries[i], data, size);
        check_value(&f.entries[i]);
    }
    dx_config_file_release(&f);
    return 0;
}
