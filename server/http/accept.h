/* SPDX-License-Identifier: Apache-2.0
 * accept.h - how much a client wants a media type: the field Accept (RFC 9110 12.5.1).
 *
 *   weight = dx_accept_weight(field, "text/csv");     0 not at all, to DX_ACCEPT_MOST; field: bytes from outside
 *   weight = dx_accept_quality(text);                 of "0.5"; anything else weighs nothing
 *
 * The most exact range decides: "text/csv" before "text/" and a star before the two stars; of equals the one
 * with the highest weight. Parameters other than q are not looked at. An empty field, or one that
 * names nothing, wants everything. Any thread.
 */
#ifndef DX_SERVER_HTTP_ACCEPT_H
#define DX_SERVER_HTTP_ACCEPT_H

#include "base/bytes.h"

#define DX_ACCEPT_MOST 1000

int dx_accept_quality(struct dx_span text);

/* type: "text/csv"; what stands behind a ';' in it does not count. */
int dx_accept_weight(struct dx_span field, const char *type);

#endif
