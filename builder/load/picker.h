/* SPDX-License-Identifier: Apache-2.0
 * picker.h - which of n things is next: by a law over their ranks, by weights, or in turn.
 *
 *   struct dx_law law;
 *   rc = dx_law_parse("zipf=0.99", &law, &err);       zipf=S, pareto=A, weights, uniform, order
 *   rc = dx_picker_init(&p, &law, n, weights, &err);
 *   size_t i = dx_picker_next(&p, &random_state);     O(1)
 *   dx_picker_release(&p);
 *
 * zipf=S: rank k (from 1) with a probability in proportion to k^-S. pareto=A: rank k to (k-1/2)^-A
 * - (k+1/2)^-A, what a Pareto law of exponent A and least value 1/2 gives to whole numbers, cut at
 * n: the heavy tail of how much is asked. weights: in proportion to weights[i], numbers that are
 * finite, not negative and not all 0. order: 0, 1, 2 … and again from 0; it takes no chance.
 *
 * The laws are exact up to 2^-32 a thing: an alias table of 8 bytes each. weights is read at init
 * only. One thread at a time.
 */
#ifndef DX_BUILDER_LOAD_PICKER_H
#define DX_BUILDER_LOAD_PICKER_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define DX_PICKER_MAX (UINT32_C(1) << 28)

struct dx_law {
    enum dx_law_kind {
        DX_LAW_ZIPF,
        DX_LAW_PARETO,
        DX_LAW_WEIGHTS,
        DX_LAW_UNIFORM,
        DX_LAW_ORDER
    } kind;
    double exponent; /* of zipf (0 to 10) and pareto (above 0, to 10) */
};

struct dx_picker {
    struct dx_law law;
    uint32_t count;
    uint32_t turn; /* of order: the next one */
    struct dx_alias {
        uint32_t keep; /* of 2^32: how often the thing that was hit is meant */
        uint32_t other;
    } * alias; /* NULL for uniform and order */
};

int dx_law_parse(const char *text, struct dx_law *law, struct dx_error *err);

/* The share of rank i (from 0) before the sum is made 1; weights as for init. */
double dx_law_weight(const struct dx_law *law, const double *weights, size_t i);

int dx_picker_init(struct dx_picker *p, const struct dx_law *law, size_t count,
                   const double *weights, struct dx_error *err);
void dx_picker_release(struct dx_picker *p);
uint32_t dx_picker_next(struct dx_picker *p, uint64_t *random);

#endif
