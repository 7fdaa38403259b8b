/* SPDX-License-Identifier: Apache-2.0
 * source_http.h - a root that is read by HTTP range requests.
 *
 *   rc = dx_source_open_http(&src, "https://host/root", NULL, &options, &err);   then source.h
 *
 * A batch is one parallel round of GETs with Range, with If-Match where an ETag is known, and never
 * a HEAD. Each calling thread works on a lane of its own, a libcurl multi with its connections,
 * taken from a list and put back: no lock is held while the network is waited for, and threads
 * that come and go leave nothing behind (what thread-local handles would). The limits are shared.
 */
#ifndef DX_FETCH_SOURCE_HTTP_H
#define DX_FETCH_SOURCE_HTTP_H

#include "fetch/http_multi.h"
#include "fetch/source.h"

/* signing is taken over, also after an error; NULL: requests are not signed. */
int dx_source_open_http(struct dx_source **src, const char *root, struct dx_signing *signing,
                        const struct dx_source_options *options, struct dx_error *err);

#endif
