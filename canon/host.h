/* SPDX-License-Identifier: Apache-2.0
 * host.h - the host of a special URL, as the URL Standard writes it.
 *
 *   ok = dx_host_parse(raw, out, room, &host, &why);    1 parsed, 0 rejected
 *
 * raw: what stands between the user part and the port, brackets of IPv6 included. The
 * text of `host` is in `out`: a name in lower-case ASCII, a dotted IPv4 address, or an
 * IPv6 address in brackets. room: at least raw.size, and DX_HOST_ROOM covers every raw of
 * DX_URL_MAX bytes. A host that does not fit is rejected as too long. No state.
 *
 * A plain name has lower-case letters, digits, '-' and '.' alone, and means no IPv4 address: it is what parse
 * makes of it. Nearly every host is one.
 *
 *   n = dx_host_plain_size(text);                       so many bytes of it are of a plain name
 *   dx_host_is_plain(host)                              all of them
 *
 * No state; any thread.
 */
#ifndef DX_CANON_HOST_H
#define DX_CANON_HOST_H

#include "base/bytes.h"
#include "canon/reject.h"

#define DX_HOST_ROOM 16384

enum dx_host_kind { DX_HOST_NAME, DX_HOST_IPV4, DX_HOST_IPV6 };

struct dx_host {
    struct dx_span text;
    enum dx_host_kind kind;
};

int dx_host_parse(struct dx_span raw, uint8_t *out, size_t room, struct dx_host *host,
                  enum dx_reject *why);

size_t dx_host_plain_size(struct dx_span text);
bool dx_host_is_plain(struct dx_span host);

#endif
