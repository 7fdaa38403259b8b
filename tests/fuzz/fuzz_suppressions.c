/* SPDX-License-Identifier: Apache-2.0
 * index/suppressions.log: the input as the file, and as its lines with a right checksum. What is
 * accepted is written again byte for byte, and its rules can be asked anything.
 */
#include "format/root/rules.h"

#include <stdlib.h>

#include "base/hash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct dx_rules *rules, struct dx_span value)
{
    struct dx_suppress_parts parts;

    for (unsigned kind = DX_SUPPRESS_DOMAIN; kind <= DX_SUPPRESS_URL; kind++)
        if (dx_suppress_parts_of((enum dx_suppress_kind)kind, value, &parts))
            (void)dx_rules_match(rules, parts.host, parts.scheme, parts.host, parts.path_query);
}

static void read_log(struct dx_span text)
{
    struct dx_buf again = DX_BUF_INIT(SIZE_MAX / 2);
    struct dx_suppressions log;
    struct dx_rules *rules = NULL;

    if (dx_suppressions_parse(text, "fuzz", &log, NULL) == DX_OK) {
        if (dx_suppressions_write(&log, &again, NULL) < 0 || again.size != text.size ||
            memcmp(again.data, text.data, text.size) != 0)
            abort();
        if (dx_rules_new(&rules, &log, NULL) < 0)
            abort();
        for (size_t i = 0; i < log.count; i++)
            ask(rules, dx_suppression_value(&log, &log.lines[i]));
        dx_rules_free(&rules);
    }
    dx_suppressions_release(&log);
    dx_buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_buf file = DX_BUF_INIT(SIZE_MAX / 2);
    struct dx_hash128 sum;
    char hex[DX_HASH128_TEXT];

    read_log(dx_span_of(data, size));
    dx_buf_str(&file, "domaindex suppressions 1\n");
    dx_buf_append(&file, data, size);
    sum = dx_hash128_of(dx_span_of(file.data, file.size));
    dx_hash128_text(&sum, hex);
    dx_buf_fmt(&file, "checksum\t%s\n", hex);
    read_log(dx_span_of(file.data, file.size));
    dx_buf_release(&file);
    return 0;
}
