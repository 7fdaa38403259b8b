/* SPDX-License-Identifier: Apache-2.0
 * Objects in memory: whole batches, pins that hold, conditional gets.
 */
#include "fetch/source_memory.h"
#include "tests/support/damage.h"

static unsigned failures;

static const struct {
    const char *object;
    uint64_t offset;
    size_t size;
    struct dx_pin pin;
    const char *bytes; /* NULL: rc */
    int rc;
} rows[] = {
    { "one", 0, 4, { 0, NULL }, "0123", 0 },
    { "one", 6, 4, { 10, "\"a\"" }, "6789", 0 },
    { "one", 10, 0, { 0, NULL }, "", 0 },
    { "two", 1, 2, { 4, NULL }, "bc", 0 },
    { "one", 7, 4, { 0, NULL }, NULL, DX_E_TRUNCATED },
    { "one", UINT64_MAX, 2, { 0, NULL }, NULL, DX_E_TRUNCATED },
    { "one", 0, SIZE_MAX, { 0, NULL }, NULL, DX_E_TRUNCATED },
    { "one", 0, 1, { 11, NULL }, NULL, DX_E_CONFLICT },
    { "one", 0, 1, { 0, "\"b\"" }, NULL, DX_E_CONFLICT },
    { "two", 0, 1, { 0, "\"b\"" }, NULL, DX_E_CONFLICT },
    { "three", 0, 1, { 0, NULL }, NULL, DX_E_NOT_FOUND },
    { "../one", 0, 1, { 0, NULL }, NULL, DX_E_INVALID },
};

static void check_reads(struct dx_source *src)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t first[2];
        uint8_t to[16] = { 0 };
        const struct dx_read reads[] = { { "two", 0, 2, first },
                                         { rows[i].object, rows[i].offset, rows[i].size, to } };
        const struct dx_pin pins[] = { { 0, NULL }, rows[i].pin };
        struct dx_seen seen[2] = { 0 };
        struct dx_source_batch_report report = { .seen = seen, .failed = 2 };
        const struct dx_source_batch batch = {
            .reads = reads, .pins = pins, .count = 2, .report = &report
        };
        struct dx_error err = DX_ERROR_INIT;
        int rc = dx_source_read_batch(src, &batch, &err);

        EXPECT(rc == (rows[i].bytes != NULL ? DX_OK : rows[i].rc), "row %zu: %d %s", i, rc,
               err.text);
        EXPECT(rc != DX_OK || (report.requests == 2 && report.bytes == 2 + rows[i].size),
               "row %zu: %u requests", i, report.requests);
        if (rows[i].bytes != NULL)
            EXPECT(memcmp(to, rows[i].bytes, rows[i].size) == 0 && memcmp(first, "ab", 2) == 0 &&
                       strcmp(seen[1].etag, rows[i].object[0] == 'o' ? "\"a\"" : "") == 0,
                   "row %zu", i);
        else if (rc != DX_E_INVALID)
            EXPECT(report.failed == 1 && strstr(err.text, rows[i].object) != NULL, "row %zu: %s", i,
                   err.text);
    }
}

static void check_gets(struct dx_source *src)
{
    struct dx_buf out = DX_BUF_INIT(100);
    struct dx_error err = DX_ERROR_INIT;
    char etag[DX_SOURCE_ETAG];
    struct dx_get get = { .object = "one", .cap = 10 };

    EXPECT(dx_source_get(src, &get, &out, etag, &err) == 1 && out.size == 10 &&
               strcmp(etag, "\"a\"") == 0,
           "%s", err.text);
    get.if_none_match = "\"a\"";
    EXPECT(dx_source_get(src, &get, &out, etag, &err) == 0 && out.size == 10, "not modified");
    get.if_none_match = "\"b\"";
    get.cap = 9;
    EXPECT(dx_source_get(src, &get, &out, etag, &err) == DX_E_LIMIT, "%s", err.text);
    dx_buf_release(&out);
}

int main(void)
{
    const struct dx_memory_object objects[] = { { "one", dx_span_str("0123456789"), "\"a\"" },
                                                { "two", dx_span_str("abcd"), NULL } };
    struct dx_source *src = NULL;
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_source_open_memory(&src, objects, 2, &err) == DX_OK, "%s", err.text);
    check_reads(src);
    check_gets(src);
    dx_source_close(&src);
    return failures > 0;
}
