/* SPDX-License-Identifier: Apache-2.0
 * limits.h - bounds that folders which do not know each other must agree on.
 */
#ifndef DX_BASE_LIMITS_H
#define DX_BASE_LIMITS_H

#define DX_DOMAIN_MAX 253 /* bytes of a registered domain: a name in text form, RFC 1035 */

/* Bytes of lake pages that one window of a listing may need, as they are stored: 32 row groups of
 * 64 k rows of our own files at 25 B a row (the cap of the specification), and room for foreign
 * ones. A publish refuses a file of which one row alone needs more. */
#define DX_LISTING_READ_MAX (64u << 20)

#endif
