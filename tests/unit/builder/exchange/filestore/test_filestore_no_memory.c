/* SPDX-License-Identifier: Apache-2.0
 * A file store is written, read and taken into a lake while memory runs out. */
#include "builder/exchange/filestore/ingest_file_store.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "tests/runner/fail_alloc.h"

struct place {
    char base[64];
    char store[80], tmp[80], root[80], to[80];
};

static int write_store(void *ctx, struct dx_error *err)
{
    const struct place *p = ctx;
    struct dx_file_store_counts counts = { 0 };
    struct dx_file_store *w = NULL;
    int rc;

    (void)dx_dir_remove(p->store, NULL);
    rc = dx_file_store_new(
        &w, &(struct dx_file_store_to){ .dir = p->store, .tmp = p->tmp, .memory_bytes = 1 << 20 },
        err);
    for (unsigned i = 0; rc >= 0 && i < 40; i++) {
        char url[64];
        struct dx_file_store_page page = { .type = dx_span_str("text/html"),
                                           .title = dx_span_str("a title"),
                                           .tags = dx_span_str("[\"a\",\"b\"]"),
                                           .domain = dx_span_str("a.org"),
                                           .has_ts = true,
                                           .ts_us = i,
                                           .dataset_id = 1 };

        (void)snprintf(url, sizeof url, "http://a.org/%u", i);
        page.url = dx_span_str(url);
        page.path = dx_span_str(url + 12);
        rc = dx_file_store_add(w, &page, err);
    }
    if (rc >= 0)
        rc = dx_file_store_write(w, &counts, err);
    dx_file_store_free(&w);
    return rc;
}

static int read_store(void *ctx, struct dx_error *err)
{
    const struct place *p = ctx;
    const struct dx_file_store_options o = {
        .dir = p->store, .tmp = p->tmp, .to = p->to, .memory_bytes = 1 << 20
    };
    struct dx_file_store_counts counts = { 0 };
    int rc;

    (void)remove(p->to);
    rc = dx_file_store_read(&o, &counts, err);
    if (rc >= 0 && counts.pages != 40)
        rc = dx_fail(err, DX_E_CORRUPT, "%llu pages", (unsigned long long)counts.pages);
    return rc;
}

int main(void)
{
    struct place p = { .base = "/tmp/test_filestore_no_memory.XXXXXX" };
    struct dx_error err = DX_ERROR_INIT;
    size_t failures;

    if (mkdtemp(p.base) == NULL)
        abort();
    (void)snprintf(p.store, sizeof p.store, "%s/store", p.base);
    (void)snprintf(p.tmp, sizeof p.tmp, "%s", p.base);
    (void)snprintf(p.to, sizeof p.to, "%s/pages", p.base);
    failures = fail_alloc_each("write", 150, write_store, &p);
    if (write_store(&p, &err) < 0) {
        printf("write: %s\n", err.text);
        failures++;
    }
    failures += fail_alloc_each("read", 200, read_store, &p);
    (void)dx_dir_remove(p.base, &err);
    return failures > 0;
}
