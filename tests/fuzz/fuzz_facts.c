/* SPDX-License-Identifier: Apache-2.0
 * Facts of a pair (counts, then its bytes) and, with the first byte 's', a sketch ('o': of a part of DX_COLD_VERSION_OLD): what is
 * taken is in order, within the counts, and a sketch that is taken is written in the same bytes.
 */
#include "format/version/cold.h"
#include "format/version/facts.h"
#include "format/version/url_sketch.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_sketch(struct dx_span bytes, uint32_t version)
{
    struct dx_buf again = DX_BUF_INIT(1 << 16);
    struct dx_url_sketch s;

    dx_url_sketch_init(&s);
    if (dx_url_sketch_decode_of(&s, version, bytes, NULL) >= 0) {
        uint64_t n = dx_url_sketch_count(&s);

        if (!s.dense && (n == 0 || n > DX_SKETCH_PAIR_MAX))
            abort();
        /* A number may be written with more bytes than it needs; all else is as we write it. */
        if (dx_url_sketch_encode(&s, &again, NULL) < 0 ||
            (version == DX_COLD_VERSION && again.size > bytes.size))
            abort();
    }
    dx_url_sketch_release(&s);
    dx_buf_release(&again);
}

static void use_hosts(struct dx_facts *f)
{
    struct dx_buf last = DX_BUF_INIT(DX_FACTS_HOST_MAX);
    struct dx_fact host;
    uint64_t urls = 0;
    uint64_t rows = 0;
    uint64_t n = 0;
    int rc;

    for (; (rc = dx_facts_host(f, &host, NULL)) == 1; n++) {
        if (host.url_count == 0 || host.row_count < host.url_count ||
            (n > 0 && dx_span_compare(dx_span_of(last.data, last.size), host.host) >= 0))
            abort();
        urls += host.url_count;
        rows += host.row_count;
        dx_buf_clear(&last);
        dx_buf_append(&last, host.host.data, host.host.size);
    }
    if (rc == 0 && (n != f->host_count || urls != f->url_count || rows != f->row_count))
        abort();
    dx_buf_release(&last);
}

static void use_paths(struct dx_facts *f, enum dx_paths kind)
{
    struct dx_fact path;
    uint64_t before = UINT64_MAX;
    uint64_t urls = 0;
    uint32_t n = 0;

    for (; dx_facts_path(f, kind, &path, NULL) == 1; n++) {
        if (path.url_count > before || path.url_count == 0)
            abort();
        before = path.url_count;
        urls += path.url_count;
    }
    if (n > DX_FACTS_PATHS_MAX || urls > f->url_count)
        abort();
}

static void fuzz_facts(struct dx_bytes r)
{
    struct dx_pair_count counts = { .url_count = dx_bytes_varint(&r) };
    struct dx_facts f = { 0 };

    counts.row_count = counts.url_count + dx_bytes_u8(&r);
    if (r.failed || counts.url_count == 0 || counts.row_count < counts.url_count)
        return;
    if (dx_facts_open(&f, dx_bytes_take(&r, dx_bytes_left(&r)), dx_span_str("www.example.com"),
                      &counts, NULL) >= 0) {
        if (f.has_hosts)
            use_hosts(&f);
        use_paths(&f, DX_PATHS_EXACT);
        use_paths(&f, DX_PATHS_SECTION);
    }
    dx_facts_close(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_bytes r = dx_bytes_of(dx_span_of(data, size));

    if (size > 0 && (data[0] == 's' || data[0] == 'o'))
        fuzz_sketch(dx_span_of(data + 1, size - 1),
                    data[0] == 's' ? DX_COLD_VERSION : DX_COLD_VERSION_OLD);
    else
        fuzz_facts(r);
    return 0;
}
