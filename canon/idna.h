/* SPDX-License-Identifier: Apache-2.0
 * idna.h - a host name that is not ASCII, as A-labels.
 *
 *   ok = dx_idna_to_ascii(utf8, out, sizeof out, &size, &why);    1 done, 0 rejected
 *
 *   ok = dx_idna_to_unicode(name, out, sizeof out, &size);        1 it has A-labels; 0 it has none, or not valid ones
 *
 * UTS #46 ToASCII as the URL Standard calls it: non-transitional, CheckHyphens,
 * UseSTD3ASCIIRules and VerifyDnsLength false, CheckBidi and CheckJoiners true. Forbidden
 * ASCII characters and IPv4 spellings are the caller's part. A name that is ASCII already
 * is not for this function: the URL Standard only lowers its letters.
 *
 * The Unicode version is fixed by canon/idna_table.h, not by a library of the system: two
 * machines must get the same domain from the same name. A name over DX_IDNA_MAX code
 * points is rejected as too long, since Punycode needs quadratic time. No state; any thread.
 *
 * to_unicode is for showing a name: each A-label as the characters that it stands for, in UTF-8. Only
 * where to_ascii of that is the same name again.
 */
#ifndef DX_CANON_IDNA_H
#define DX_CANON_IDNA_H

#include "base/bytes.h"
#include "canon/reject.h"

#define DX_IDNA_MAX 512 /* code points of a mapped name; DNS ends at 253 bytes */

#define DX_IDNA_UTF8_MAX (4 * DX_IDNA_MAX)

int dx_idna_to_unicode(struct dx_span name, uint8_t *out, size_t room, size_t *size);
int dx_idna_to_ascii(struct dx_span utf8, uint8_t *out, size_t room, size_t *size,
                     enum dx_reject *why);

#endif
