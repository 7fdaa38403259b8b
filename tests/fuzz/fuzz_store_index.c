/* SPDX-License-Identifier: Apache-2.0
 * fuzz_store_index.c - any bytes as each kind of line of a file store: what is read can be written
 * and reads the same again.
 */
#include "format/version/store_index.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool good)
{
    if (!good)
        abort();
}

static void entry(struct dx_span line)
{
    struct dx_buf out = DX_BUF_INIT(1u << 20);
    struct dx_store_entry e;
    struct dx_store_entry again;

    if (dx_store_entry_parse(line, &e) == DX_STORE_SOUND && dx_store_entry_put(&out, &e)) {
        must(out.size > 0 && out.data[out.size - 1] == '\n');
        must(dx_store_entry_parse(dx_span_of(out.data, out.size - 1), &again) == DX_STORE_SOUND);
        must(dx_span_equal(e.key, again.key) && dx_span_equal(e.hash, again.hash));
        must(dx_span_equal(e.type, again.type) && dx_span_equal(e.title, again.title));
    }
    dx_buf_release(&out);
}

static void tag(struct dx_span line)
{
    struct dx_buf key = DX_BUF_INIT(1u << 20);
    struct dx_bytes keys;
    struct dx_span name;
    size_t count = 0;

    if (dx_store_tag_parse(line, &name, &keys) == DX_STORE_SOUND) {
        must(dx_store_tag_fits(name));
        while (dx_store_tag_next(&keys, &key) == 1)
            must(++count <= line.size);
    }
    dx_buf_release(&key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_store_header h;
    struct dx_span key;
    struct dx_span text;

    if (size == 0)
        return 0;
    text = dx_span_of(data + 1, size - 1);
    if (data[0] % 4 == 3) {
        if (dx_store_header_parse(text, &h) == DX_STORE_SOUND)
            must(h.size >= 2 && h.size <= text.size && text.data[h.size - 1] == '\n');
        return 0;
    }
    if (text.size > 0 && memchr(text.data, '\n', text.size) != NULL)
        return 0; /* lines have none */
    if (data[0] % 4 == 0)
        entry(text);
    else if (data[0] % 4 == 1)
        tag(text);
    else if (dx_store_tombstone_parse(text, &key) == DX_STORE_SOUND)
        must(key.size > 0 && key.size <= text.size);
    return 0;
}
