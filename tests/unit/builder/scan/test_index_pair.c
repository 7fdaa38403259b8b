/* SPDX-License-Identifier: Apache-2.0
 * Records of pairs between two sorts: there and back for dataset_ids of each byte, and keys in the order of the index.
 */
#include "builder/scan/index_pair.h"

#include <stdio.h>

#include "format/root/registry_json.h"
#include "tests/support/fail.h"

static int failures;

int main(void)
{
    static const struct {
        const char *domain;
        uint32_t dataset_id;
    } rows[] = { /* as the index orders them */
                 { "a.com", 1 },
                 { "a.com", 0xff },
                 { "a.com", 0x100 },
                 { "a.com", 0x12345 },
                 { "a.com", 0x1000000 },
                 { "a.com", 0x12345678 },
                 { "a.com", DX_DATASET_ID_MAX },
                 { "ab.com", 1 }
    };
    const struct dx_run runs[] = {
        { .file_id = 7, .row_group = 1, .first_row = 2, .row_count = 3 },
        { .file_id = 5, .row_group = 0, .first_row = 0, .row_count = 2 }
    };
    struct dx_buf before = DX_BUF_INIT(1 << 10);
    struct dx_buf key = DX_BUF_INIT(1 << 10);
    struct dx_buf value = DX_BUF_INIT(1 << 20);
    struct dx_buf again = DX_BUF_INIT(1 << 20);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct dx_index_pair pair = { .dataset_id = rows[i].dataset_id,
                                            .count = { .row_count = 5, .url_count = 4 },
                                            .domain = dx_span_str(rows[i].domain) };
        struct dx_index_pair back = { .dataset_id = 0 };
        struct dx_error err = DX_ERROR_INIT;
        uint8_t text[DX_SURT_MAX];

        CHECK(dx_index_pair_encode(&pair, runs, 2, &key, &value, &err) == DX_OK &&
                  dx_index_pair_decode(dx_span_of(key.data, key.size),
                                       dx_span_of(value.data, value.size), &back, &err) == DX_OK,
              "row %zu: %s", i, err.text);
        CHECK(back.dataset_id == rows[i].dataset_id && back.count.row_count == 5 &&
                  back.count.url_count == 4 &&
                  dx_span_equal(dx_index_pair_domain(&back, text), pair.domain),
              "row %zu: dataset %x", i, (unsigned)back.dataset_id);
        dx_buf_clear(&again);
        CHECK(dx_index_pair_runs(back.runs, &again, &err) == DX_OK && again.size == sizeof runs &&
                  memcmp(again.data, runs, sizeof runs) == 0,
              "row %zu: runs", i);
        CHECK(i == 0 || dx_span_compare(dx_span_of(before.data, before.size),
                                        dx_span_of(key.data, key.size)) < 0,
              "row %zu: order", i);
        dx_buf_clear(&before);
        dx_buf_append(&before, key.data, key.size);
    }
    dx_buf_release(&before);
    dx_buf_release(&key);
    dx_buf_release(&value);
    dx_buf_release(&again);
    return failures > 0;
}
