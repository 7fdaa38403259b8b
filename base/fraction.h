/* SPDX-License-Identifier: Apache-2.0
 * fraction.h - a part of a whole as a JSON number of at most nine decimals.
 *
 *   p = dx_put_fraction(p, part, whole);         as base/put.h: DX_FRACTION_MAX bytes of room
 *   dx_json_fraction(&j, part, whole);           as base/json_out.h
 *
 * 0, 1, 0.5, 0.333333333: computed in integers, rounded half up, zeros at the end are cut. So the
 * same two numbers give the same text everywhere, and what is below half a billionth is 0. part is
 * at most whole; of a whole of 0 it is 0. Any thread.
 */
#ifndef DX_BASE_FRACTION_H
#define DX_BASE_FRACTION_H

#include <stdint.h>

struct dx_json;

#define DX_FRACTION_MAX 11 /* 0. and nine digits */

uint8_t *dx_put_fraction(uint8_t *p, uint64_t part, uint64_t whole);
void dx_json_fraction(struct dx_json *j, uint64_t part, uint64_t whole);

#endif
