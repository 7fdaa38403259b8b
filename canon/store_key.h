/* SPDX-License-Identifier: Apache-2.0
 * store_key.h - the 63-bit key of a URL that fits any database's BIGINT.
 *
 *   struct dx_store_key k = DX_STORE_KEY_INIT;
 *   rc = dx_store_key_of(&k, given, clean, &err);      1: k.key; 0: refused, k.why says why
 *   k.text, k.host                                     what was hashed; until the next call
 *   dx_store_key_release(&k);
 *
 *   key = dx_store_key(text, host);                    of a text that needs no reading
 *
 *   bit  63      0
 *   bits 56..62  sum of the bytes of the host, modulo 128
 *   bits 0..55   FNV-1a 64 of the text, its upper 8 bits folded onto the lower ones by XOR
 *
 * Bit for bit that of the program that the key comes from, which reads a URL and hashes it as it
 * writes it again: the scheme in lower case; nothing else is changed, but a path (or fragment,
 * user, password) with bytes that must not stand there is decoded and encoded again, an empty
 * fragment is left off, and a host's bytes outside of ASCII are percent-encoded. The host of the
 * sum is decoded, without user, port and brackets, in the case it was given; a URL without one has
 * sum 0.
 *
 * clean: first without fragment, without utm_source, utm_medium, utm_campaign, utm_term,
 * utm_content and utm_brand, and with the query sorted by key (stable), decoded and encoded again:
 * letters, digits and -_.~ stay, a space is '+', "a" is "a=". Pairs with a ';' or a broken escape
 * are dropped.
 *
 * Refused, with a word: empty, too_long (DX_URL_MAX bytes), control, scheme, user, host_invalid,
 * port_invalid, escape. No key can be turned back. One k belongs to one thread.
 */
#ifndef DX_CANON_STORE_KEY_H
#define DX_CANON_STORE_KEY_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"

struct dx_store_key {
    uint64_t key;
    const char *why; /* NULL: not refused */
    struct dx_buf text;
    struct dx_buf host;

    /* private */
    struct dx_buf plain;
    struct dx_buf pairs;
};

#define DX_STORE_KEY_ROOM ((size_t)1 << 17) /* bytes: three for one, and what a query grows by */

#define DX_STORE_KEY_INIT                                                               \
    {                                                                                   \
        .text = DX_BUF_INIT(DX_STORE_KEY_ROOM), .host = DX_BUF_INIT(DX_STORE_KEY_ROOM), \
        .plain = DX_BUF_INIT(DX_STORE_KEY_ROOM),                                        \
        .pairs = DX_BUF_INIT((size_t)1 << 20) /* 40 bytes for each & */                 \
    }

uint64_t dx_store_key(struct dx_span text, struct dx_span host);

int dx_store_key_of(struct dx_store_key *k, struct dx_span given, bool clean, struct dx_error *err);
void dx_store_key_release(struct dx_store_key *k);

#endif
