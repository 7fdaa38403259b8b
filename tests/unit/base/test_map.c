/* SPDX-License-Identifier: Apache-2.0
 * Ranges of files, mapped: each begins and ends where it should, and a file of another size is
 * refused.
 */
#include "base/map.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/support/damage.h"

#define SIZE 20000

static unsigned failures;

int main(void)
{
    static const struct {
        struct dx_map_range range;
        int rc;
    } rows[] = {
        { { 0, SIZE, SIZE }, DX_OK },
        { { 0, 0, SIZE }, DX_OK },
        { { SIZE, 0, SIZE }, DX_OK },
        { { 64, 100, SIZE }, DX_OK },
        { { 4096, 4096, SIZE }, DX_OK },
        { { 8191, 2, SIZE }, DX_OK },
        { { SIZE - 1, 1, SIZE }, DX_OK },
        { { SIZE - 1, 2, SIZE }, DX_E_TRUNCATED },
        { { SIZE + 1, 0, SIZE }, DX_E_TRUNCATED },
        { { UINT64_MAX, 1, SIZE }, DX_E_TRUNCATED },
        { { 1, UINT64_MAX, SIZE }, DX_E_TRUNCATED },
        { { 0, 1, SIZE + 1 }, DX_E_TRUNCATED },
        { { 0, 1, SIZE - 1 }, DX_E_CORRUPT },
    };
    static uint8_t bytes[SIZE];
    struct dx_error err = DX_ERROR_INIT;
    char path[] = "/tmp/domaindex-test-map-XXXXXX";
    int fd = mkstemp(path);

    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(i * 31 + i / 256);
    EXPECT(fd >= 0 && dx_file_replace(path, dx_span_of(bytes, SIZE), &err) == DX_OK, "%s",
           err.text);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct dx_map_range *r = &rows[i].range;
        struct dx_map m;
        struct dx_span pages;

        EXPECT(dx_map_open_range(&m, path, r, DX_MAP_RANDOM, &err) == rows[i].rc, "row %zu: %s", i,
               err.text);
        if (rows[i].rc == DX_OK && r->size > 0) {
            pages = dx_map_pages(m.bytes);
            EXPECT(dx_span_equal(m.bytes, dx_span_of(bytes + r->at, (size_t)r->size)), "row %zu",
                   i);
            EXPECT(pages.data == m.base && pages.size == m.length, "row %zu: its pages", i);
        } else {
            EXPECT(m.base == NULL && m.bytes.size == 0, "row %zu: nothing is mapped", i);
        }
        dx_map_close(&m);
    }
    (void)close(fd);
    (void)unlink(path);
    return failures > 0;
}
