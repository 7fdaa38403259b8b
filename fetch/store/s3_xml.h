/* SPDX-License-Identifier: Apache-2.0
 * s3_xml.h - the few XML replies of the S3 protocol, read with bounds.
 *
 *   rc = dx_s3_xml_list(text, &page, each, ctx, &err);       a page of ListObjectsV2
 *   rc = dx_s3_xml_upload_id(text, id, &err);                InitiateMultipartUpload
 *   rc = dx_s3_xml_complete(text, etag, &err);               CompleteMultipartUpload
 *   rc = dx_s3_xml_copy(text, etag, &err);                   CopyObject
 *   if (dx_s3_xml_error(text, &e))  ... e.code ...           an <Error>, also of a reply 200
 *
 * Over expat, as UTF-8. A document type is refused, so there are no entities but the five named and
 * the numeric ones; so is a reply that ends early, text after the root element, or a listing that
 * does not say once whether there is more of it. Depth, names and texts have maxima. Attributes and
 * comments are skipped, and names are read without their prefix. No I/O; any thread.
 */
#ifndef DX_FETCH_STORE_S3_XML_H
#define DX_FETCH_STORE_S3_XML_H

#include "base/bytes.h"
#include "base/error.h"
#include "fetch/source.h"

#define DX_S3_KEY_MAX 2048 /* a prefix and a name, each of at most DX_OBJECT_NAME_MAX */
#define DX_S3_TOKEN_MAX 4096
#define DX_S3_UPLOAD_ID_MAX 1024
#define DX_S3_CODE_MAX 64
#define DX_S3_MESSAGE_MAX 256

struct dx_s3_listed {
    char key[DX_S3_KEY_MAX + 1]; /* decoded; no byte of it is 0 */
    uint64_t size;
    char etag[DX_SOURCE_ETAG]; /* with quotes; "" if there is none that can be used */
};

struct dx_s3_page {
    bool truncated;                  /* there are more, behind the token */
    char token[DX_S3_TOKEN_MAX + 1]; /* "" if none */
    size_t count;
};

struct dx_s3_error {
    char code[DX_S3_CODE_MAX];       /* letters and digits */
    char message[DX_S3_MESSAGE_MAX]; /* printable ASCII; cut if it is longer */
};

typedef int dx_s3_each(void *ctx, const struct dx_s3_listed *listed, struct dx_error *err);

int dx_s3_xml_list(struct dx_span text, struct dx_s3_page *page, dx_s3_each *each, void *ctx,
                   struct dx_error *err);
int dx_s3_xml_upload_id(struct dx_span text, char id[DX_S3_UPLOAD_ID_MAX + 1],
                        struct dx_error *err);
int dx_s3_xml_complete(struct dx_span text, char etag[DX_SOURCE_ETAG], struct dx_error *err);
int dx_s3_xml_copy(struct dx_span text, char etag[DX_SOURCE_ETAG], struct dx_error *err);
bool dx_s3_xml_error(struct dx_span text, struct dx_s3_error *e);

#endif
