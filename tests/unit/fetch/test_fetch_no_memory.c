/* SPDX-License-Identifier: Apache-2.0
 * Replies of a store are read, and a folder's files, while memory runs out. */
#include "fetch/store/s3_xml.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "fetch/credentials_service.h"
#include "fetch/source_open.h"
#include "tests/runner/fail_alloc.h"

static int keep(void *ctx, const struct dx_s3_listed *listed, struct dx_error *err)
{
    struct dx_buf *names = ctx;

    dx_buf_str(names, listed->key);
    return names->failed ? dx_buf_fail(names, err, "names") : DX_OK;
}

static int listing(void *ctx, struct dx_error *err)
{
    struct dx_buf names = DX_BUF_INIT(1 << 16);
    struct dx_s3_page page;
    int rc = dx_s3_xml_list(
        dx_span_str(
            "<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>true</IsTruncated>"
            "<NextContinuationToken>abc</NextContinuationToken>"
            "<Contents><Key>a/b.parquet</Key><ETag>&quot;1&quot;</ETag><Size>3</Size></Contents>"
            "<Contents><Key>a/c.parquet</Key><ETag>&quot;2&quot;</ETag><Size>4</Size></Contents>"
            "</ListBucketResult>"),
        &page, keep, &names, err);

    (void)ctx;
    dx_buf_release(&names);
    return rc;
}

static int credentials(void *ctx, struct dx_error *err)
{
    struct dx_credentials c;

    (void)ctx;
    return dx_credentials_parse_json(
        &c,
        dx_span_str("{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\",\"Token\":\"c\","
                    "\"Expiration\":\"2030-01-01T00:00:00Z\"}"),
        err);
}

static int folder(void *ctx, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(1 << 16);
    struct dx_source *s = NULL;
    char etag[DX_SOURCE_ETAG];
    uint8_t bytes[4];
    const struct dx_read read = { "file", 1, sizeof bytes, bytes };
    const struct dx_get get = { .object = "file", .cap = 1 << 16 };
    int rc = dx_source_open(&s, ctx, NULL, err);

    if (rc == DX_OK)
        rc = dx_source_read(s, &read, 1, err);
    if (rc == DX_OK)
        rc = dx_source_get(s, &get, &text, etag, err);
    dx_source_close(&s);
    dx_buf_release(&text);
    return rc;
}

int main(void)
{
    char dir[] = "/tmp/test_fetch_no_memory.XXXXXX";
    struct dx_error err = DX_ERROR_INIT;
    char path[64];
    size_t failures;
    FILE *f;

    if (mkdtemp(dir) == NULL)
        abort();
    (void)snprintf(path, sizeof path, "%s/file", dir);
    f = fopen(path, "w");
    if (f == NULL || fputs("some bytes", f) < 0 || fclose(f) != 0)
        abort();
    failures = fail_alloc_each("listing", 0, listing, NULL);
    failures += fail_alloc_each("credentials", 0, credentials, NULL);
    failures += fail_alloc_each("folder", 0, folder, dir);
    (void)dx_dir_remove(dir, &err);
    return failures > 0;
}
