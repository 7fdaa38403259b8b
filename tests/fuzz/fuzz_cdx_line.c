/* SPDX-License-Identifier: Apache-2.0
 * Lines of CDX and CDXJ, rows of CDX servers: the first one tells the fields, all are picked apart by them.
 */
#include "builder/input/bytes/cdx_line.h"

#include <stdlib.h>

#include "builder/input/records/input_columns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned sink; /* keeps the reads of values */

static void touch(struct dx_span s)
{
    for (size_t i = 0; i < s.size; i++)
        sink += s.data[i];
}

static void pick_lines(enum dx_record_format format, struct dx_span head)
{
    static struct dx_columns cols;
    struct dx_columns_want want = { .extra = { "statuscode" }, .extra_count = 1 };
    struct dx_columns_sample sample = { .record = &head, .count = 1 };
    struct dx_fields fields;

    if (format == DX_RECORD_CDX)
        sample.header = head;
    if (dx_fields_init(&fields, NULL) < 0)
        abort();
    if (dx_columns_resolve(&cols, &want, format, &sample, "in", NULL) == DX_OK)
        while (head.size > 0) {
            const uint8_t *end = memchr(head.data, '\n', head.size);
            size_t n = end == NULL ? head.size : (size_t)(end - head.data);
            struct dx_span line = dx_span_of(head.data, n);

            (void)dx_cdx_kind(line);
            if (!dx_cdx_passed_over(line) && dx_columns_pick(&cols, line, &fields) == 0) {
                touch(fields.url);
                touch(fields.ts);
                touch(fields.extra[0]);
            }
            n += end != NULL;
            head = dx_span_of(head.data + n, head.size - n);
        }
    dx_fields_release(&fields);
    dx_columns_want_release(&want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pick_lines(DX_RECORD_CDX, dx_span_of(data, size));
    pick_lines(DX_RECORD_CDXJ, dx_span_of(data, size));
    pick_lines(DX_RECORD_CDX_JSON, dx_span_of(data, size));
    return 0;
}
