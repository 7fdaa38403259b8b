/* SPDX-License-Identifier: Apache-2.0
 * urlkey.h - the key of a URL in CDX files: its SURT as Python's surt 0.3.1 (and so pywb) makes it.
 *
 *   struct dx_urlkey k;
 *   dx_urlkey_init(&k);
 *   if (dx_urlkey_make(&k, host, path_query))                  of a canonical URL (canon/url.h)
 *       ... k.key ...                                          "com,example)/a?b=1", until the next one
 *   dx_urlkey_release(&k);
 *
 * Host reversed with commas, without "www." and "www2."; a port that is not the default; path and query in lower case,
 * unescaped as often as it goes and escaped once, session ids and a slash at the end left out, parameters in byte order.
 * So http and https, www and not, upper and lower case share a key. False: out of memory, or a text longer than
 * DX_URLKEY_MAX. Time is linear in the text but for the order of parameters. One thread at a time.
 */
#ifndef DX_CANON_URLKEY_H
#define DX_CANON_URLKEY_H

#include "base/buf.h"
#include "base/bytes.h"

#define DX_URLKEY_MAX (128u << 10) /* bytes of a key: each byte of a URL may become three */

struct dx_urlkey {
    struct dx_buf key;

    /* private */
    struct dx_buf part;  /* path or query at work */
    struct dx_buf pairs; /* spans of parameters */
};

void dx_urlkey_init(struct dx_urlkey *k);
bool dx_urlkey_make(struct dx_urlkey *k, struct dx_span host, struct dx_span path_query);
/* Whether escapes of its path hide a segment "..", so that the key does not begin with what the path begins with:
 * "/a/..%2Fb" has the key of "/b". 1, 0, DX_E_NOMEM. The key at hand stays. */
int dx_urlkey_strays(struct dx_urlkey *k, struct dx_span path_query);
/* Why it was false: no memory, and not the length of the key. */
bool dx_urlkey_no_memory(const struct dx_urlkey *k);
void dx_urlkey_release(struct dx_urlkey *k);

#endif
