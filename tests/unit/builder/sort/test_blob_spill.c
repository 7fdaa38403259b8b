/* SPDX-License-Identifier: Apache-2.0
 * Bytes that were put aside come back; a place that does not fit the file, or its bytes, is
 * refused.
 */
#include "builder/sort/blob_spill.h"
#include "tests/support/damage.h"

#define STRINGS 40

static int failures;

int main(void)
{
    static uint8_t bytes[70000];
    struct dx_blob_spill_place places[STRINGS];
    struct dx_blob_spill_place wrong;
    struct dx_buf got = DX_BUF_INIT(1 << 20);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_blob_spill *a;
    uint64_t seed = 7;
    size_t total = 0;

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)random_next(&seed);
    EXPECT(dx_blob_spill_new(&a, "/tmp", &err) == DX_OK, "%s", err.text);
    for (size_t i = 0; i < STRINGS; i++) {
        size_t size = i == 0 ? sizeof bytes : 1 + random_below(&seed, 5000);

        EXPECT(dx_blob_spill_put(a, dx_span_of(bytes + i, size), &places[i], &err) == DX_OK, "%s",
               err.text);
        total += size;
    }
    EXPECT(dx_blob_spill_size(a) == total, "%zu bytes", total);
    for (size_t i = STRINGS; i-- > 0;) {
        EXPECT(dx_blob_spill_get(a, &places[i], &got, &err) == DX_OK, "%s", err.text);
        EXPECT(got.size == places[i].size && memcmp(got.data, bytes + i, got.size) == 0,
               "string %zu: other bytes", i);
    }
    wrong = places[3];
    wrong.hash ^= 1;
    EXPECT(dx_blob_spill_get(a, &wrong, &got, &err) == DX_E_CORRUPT, "another hash");
    wrong = places[3];
    wrong.offset++;
    EXPECT(dx_blob_spill_get(a, &wrong, &got, &err) == DX_E_CORRUPT, "another place");
    wrong = places[STRINGS - 1];
    wrong.size++;
    EXPECT(dx_blob_spill_get(a, &wrong, &got, &err) == DX_E_CORRUPT, "behind the end");
    wrong.offset = UINT64_MAX;
    EXPECT(dx_blob_spill_get(a, &wrong, &got, &err) == DX_E_CORRUPT, "far behind the end");
    dx_blob_spill_free(&a);
    EXPECT(dx_blob_spill_new(&a, "/nonexistent/folder", &err) < 0 && a == NULL, "no such folder");
    dx_buf_release(&got);
    return failures > 0;
}
