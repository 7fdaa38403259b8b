/* SPDX-License-Identifier: Apache-2.0
 * cdx_between.h - which keys (canon/urlkey.h) the URLs of a host between two others may have, without looking at them.
 *
 *   struct dx_cdx_keys keys = { low, high };           keys with a space behind them in [low, high); high.size 0: no end
 *   dx_cdx_keys_has(&keys, urlkey)
 *   dx_cdx_between_init(&b);
 *   switch (dx_cdx_between(&b, &keys, host, first, last)) ...            path_query of both, in byte order
 *     DX_CDX_NOTHING      no URL of the host in [first, last] has one of the keys
 *     DX_CDX_SOMETHING    some may have
 *     DX_CDX_ALL          all have
 *   dx_cdx_between_release(&b);
 *
 * By what the two begin with alike, and the byte behind: a key has that in lower case. Not what stands behind a '?', an escape of ASCII, or at the
 * beginning of a segment '.' or '(': that may be anything. URLs are canonical. What is said holds of all but those whose keys stray (canon/urlkey.h):
 * "/a/..%2Fb", whose key is that of "/b", is taken for one below "/a/..", and is for the caller to look at. SOMETHING too: no memory.
 * One thread at a time.
 */
#ifndef DX_QUERY_CDX_CDX_BETWEEN_H
#define DX_QUERY_CDX_CDX_BETWEEN_H

#include "canon/urlkey.h"

struct dx_cdx_keys {
    struct dx_span low, high;
};

enum dx_cdx_answer { DX_CDX_NOTHING, DX_CDX_SOMETHING, DX_CDX_ALL };

struct dx_cdx_between {
    /* private */
    struct dx_urlkey key;
    size_t host_size; /* "com,example)" of it */
};

void dx_cdx_between_init(struct dx_cdx_between *b);
void dx_cdx_between_release(struct dx_cdx_between *b);

bool dx_cdx_keys_has(const struct dx_cdx_keys *keys, struct dx_span urlkey);
enum dx_cdx_answer dx_cdx_between(struct dx_cdx_between *b, const struct dx_cdx_keys *keys,
                                  struct dx_span host, struct dx_span first, struct dx_span last);

#endif
