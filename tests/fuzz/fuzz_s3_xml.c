/* SPDX-License-Identifier: Apache-2.0
 * Replies of an S3 store: each reader on the same bytes. What they hand on keeps its bounds, is
 * text, and a listing that is refused as a whole has handed nothing on.
 */
#include "fetch/range_reply.h"
#include "fetch/store/s3_xml.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int ok, const char *what)
{
    if (!ok) {
        (void)fprintf(stderr, "%s\n", what);
        abort();
    }
}

static int count_key(void *ctx, const struct dx_s3_listed *listed, struct dx_error *err)
{
    (void)err;
    (*(size_t *)ctx)++;
    need(strlen(listed->key) <= DX_S3_KEY_MAX, "a long key");
    need(listed->etag[0] == '\0' || dx_etag_strong(listed->etag), "a weak ETag");
    return DX_OK;
}

static void check_list(struct dx_span text)
{
    static struct dx_s3_page page;
    struct dx_error err = DX_ERROR_INIT;
    size_t count = 0;
    int rc = dx_s3_xml_list(text, &page, count_key, &count, &err);

    need(count == page.count, "another count");
    need(strlen(page.token) <= DX_S3_TOKEN_MAX, "a long token");
    need(rc < 0 || !page.truncated || page.token[0] != '\0', "nowhere to go on");
    need(rc == DX_OK || err.text[0] != '\0', "an error without words");
    need(rc < 0 || memmem(text.data, text.size, "IsTruncated", 11) != NULL, "half a listing");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A copy that ends where the text does, so that a sanitizer sees one byte more. */
    uint8_t *copy = malloc(size > 0 ? size : 1);
    struct dx_span text = dx_span_of(copy, size);
    char id[DX_S3_UPLOAD_ID_MAX + 1];
    char etag[DX_SOURCE_ETAG];
    struct dx_s3_error e;

    if (copy == NULL)
        return 0;
    if (size > 0)
        memcpy(copy, data, size);
    check_list(text);
    need(dx_s3_xml_upload_id(text, id, NULL) < 0 || (id[0] != '\0' && strlen(id) < sizeof id),
         "no upload id");
    need(dx_s3_xml_complete(text, etag, NULL) < 0 || dx_etag_strong(etag), "no ETag");
    need(dx_s3_xml_copy(text, etag, NULL) < 0 || dx_etag_strong(etag), "no ETag of a copy");
    if (dx_s3_xml_error(text, &e))
        for (const char *p = e.message; *p != '\0'; p++)
            need(*p >= 0x20 && *p < 0x7f, "odd bytes for a log");
    free(copy);
    return 0;
}
