/* SPDX-License-Identifier: Apache-2.0
 * openapi.h - the description of the API, made of the route table.
 *
 *   dx_openapi_write(&out);         an OpenAPI 3.1 document, JSON without white space
 *   dx_openapi_page(&out);          the same for people: one HTML page that loads nothing
 *
 * Paths, parameters, bounds and statuses are those of dx_routes; what no route says, above all the
 * schemas of answers, is server/routes/openapi_base.json. The server sends both texts, and
 * docs/openapi.json is the first one, indented (tests/e2e/http_openapi.py --write). Errors are those
 * of the buffer. Any thread.
 */
#ifndef DX_SERVER_ROUTES_OPENAPI_H
#define DX_SERVER_ROUTES_OPENAPI_H

struct dx_buf;

void dx_openapi_write(struct dx_buf *out);
void dx_openapi_page(struct dx_buf *out);

/* The policy that lets a browser show the page: its style and nothing else. */
extern const char dx_openapi_page_policy[];

#endif
