/* SPDX-License-Identifier: Apache-2.0
 * hot_keys.h - a sample of the domains that were asked for lately, for the warming of a version.
 *
 *   rc = dx_hot_keys_new(&h, &err);
 *   dx_hot_keys_note(h, domain);                each found domain; one in DX_HOT_KEYS_EACH is kept
 *   for (i = 0; i < DX_HOT_KEYS; i++)
 *       if (dx_hot_keys_get(h, i, domain, &size)) ...
 *   dx_hot_keys_free(&h);
 *
 * A ring: the newest takes the place of the oldest. No locks: two who write to one slot at once,
 * or a reader who meets a writer, and the sample is lost, which is fine for a sample. note and get
 * are safe from every thread; a NULL h is fine for note.
 */
#ifndef DX_LOADER_HOT_KEYS_H
#define DX_LOADER_HOT_KEYS_H

#include "base/bytes.h"
#include "base/error.h"

#define DX_HOT_KEYS 4096    /* a megabyte; more lookups than a swap should wait for */
#define DX_HOT_KEYS_EACH 16 /* so that a hot domain does not fill it in a moment */
#define DX_HOT_KEY_MAX 256  /* a longer one is not a domain */

struct dx_hot_keys;

int dx_hot_keys_new(struct dx_hot_keys **h, struct dx_error *err);
void dx_hot_keys_free(struct dx_hot_keys **h);
void dx_hot_keys_note(struct dx_hot_keys *h, struct dx_span domain);
bool dx_hot_keys_get(const struct dx_hot_keys *h, size_t i, uint8_t domain[DX_HOT_KEY_MAX],
                     size_t *size);

#endif
