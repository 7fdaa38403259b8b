/* SPDX-License-Identifier: Apache-2.0
 * limits.h - bounds that folders which do not know each other must agree on.
 */
#ifndef DX_BASE_LIMITS_H
#define DX_BASE_LIMITS_H

#define DX_DOMAIN_MAX 253 /* bytes of a registered domain: a name in text form, RFC 1035 */

#endif
