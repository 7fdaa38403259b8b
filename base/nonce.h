/* SPDX-License-Identifier: Apache-2.0
 * nonce.h - 128 random bits in hex: names that no other process draws.
 */
#ifndef DX_BASE_NONCE_H
#define DX_BASE_NONCE_H

#define DX_NONCE 33 /* 32 digits and NUL */

void dx_nonce(char nonce[DX_NONCE]);

#endif
