/* SPDX-License-Identifier: Apache-2.0
 * object_url.h - URLs of objects below a root.
 *
 *   rc = dx_root_url("HTTP://Host:80/root/", &url, &err);     "http://host/root", to be freed
 *   dx_object_url(&buf, url, "urls/dataset_id=7/x.parquet");  ".../urls/dataset_id%3D7/x.parquet"
 *
 * All but the unreserved characters is percent-encoded, in upper case, so the URL is at the same
 * time the canonical path that Signature Version 4 signs, and no byte of a name can end a header
 * or start a query. A root has no user, password, query or fragment: secrets in a root would be
 * printed with each error. Pure. Any thread.
 */
#ifndef DX_FETCH_OBJECT_URL_H
#define DX_FETCH_OBJECT_URL_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"

#define DX_URL_MAX 8192

int dx_root_url(const char *root, char **url, struct dx_error *err);

/* A slash, the encoded name and a NUL, behind root. */
void dx_object_url(struct dx_buf *out, const char *root, const char *object);

/* Percent-encodes; slashes stay. */
void dx_url_encode(struct dx_buf *out, const char *text);

/* The same of any bytes. */
void dx_url_encode_span(struct dx_buf *out, struct dx_span text, bool slash_stays);

/* The same for a value in a query, where a slash is encoded too. */
void dx_url_encode_value(struct dx_buf *out, const char *text);

#endif
