/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/load/picker.h"

#include "builder/load/chance.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int parse_exponent(const char *text, const char *number, double least, struct dx_law *law,
                          struct dx_error *err)
{
    char *end;

    law->exponent = strtod(number, &end);
    if (end == number || *end != '\0' || !(law->exponent >= least && law->exponent <= 10))
        return dx_fail(err, DX_E_INVALID, "%s: the exponent is a number from %g to 10", text,
                       least);
    return DX_OK;
}

int dx_law_parse(const char *text, struct dx_law *law, struct dx_error *err)
{
    *law = (struct dx_law){ DX_LAW_UNIFORM, 0 };
    if (strncmp(text, "zipf=", 5) == 0) {
        law->kind = DX_LAW_ZIPF;
        return parse_exponent(text, text + 5, 0, law, err);
    }
    if (strncmp(text, "pareto=", 7) == 0) {
        law->kind = DX_LAW_PARETO;
        return parse_exponent(text, text + 7, 0.01, law, err);
    }
    if (strcmp(text, "weights") == 0)
        law->kind = DX_LAW_WEIGHTS;
    else if (strcmp(text, "order") == 0)
        law->kind = DX_LAW_ORDER;
    else if (strcmp(text, "uniform") != 0)
        return dx_fail(err, DX_E_INVALID,
                       "%s: not one of zipf=S, pareto=A, weights, uniform, order", text);
    return DX_OK;
}

double dx_law_weight(const struct dx_law *law, const double *weights, size_t i)
{
    assert(law->kind != DX_LAW_WEIGHTS || weights != NULL);
    switch (law->kind) {
    case DX_LAW_ZIPF:
        return pow((double)i + 1, -law->exponent);
    case DX_LAW_PARETO:
        return pow((double)i + 0.5, -law->exponent) - pow((double)i + 1.5, -law->exponent);
    case DX_LAW_WEIGHTS:
        return weights[i];
    case DX_LAW_UNIFORM:
    case DX_LAW_ORDER:
        break;
    }
    return 1;
}

/* Shares with a mean of 1 into `share`. */
static int fill_shares(const struct dx_picker *p, const double *weights, double *share,
                       struct dx_error *err)
{
    double sum = 0;

    for (uint32_t i = 0; i < p->count; i++) {
        share[i] = dx_law_weight(&p->law, weights, i);
        if (!(share[i] >= 0) || !isfinite(share[i]))
            return dx_fail(err, DX_E_INVALID, "weight %u is not a number from 0 on", i + 1);
        sum += share[i];
    }
    if (!(sum > 0) || !isfinite(sum))
        return dx_fail(err, DX_E_INVALID, "the sum of %u weights is %g", p->count, sum);
    for (uint32_t i = 0; i < p->count; i++)
        share[i] *= p->count / sum;
    return DX_OK;
}

/*
 * Vose's method: each poor thing (a share below 1) is filled up by a rich one, which is what is
 * meant otherwise. One array is a stack of poor ones from its begin and of rich ones from its end.
 */
static void fill_alias(struct dx_alias *alias, uint32_t count, double *share, uint32_t *stack)
{
    uint32_t poor = 0, rich = count;

    for (uint32_t i = 0; i < count; i++) {
        alias[i] = (struct dx_alias){ UINT32_MAX, i };
        if (share[i] < 1)
            stack[poor++] = i;
        else
            stack[--rich] = i;
    }
    while (poor > 0 && rich < count) {
        uint32_t p = stack[--poor], r = stack[rich];

        alias[p] = (struct dx_alias){ (uint32_t)(share[p] * 0x1p32), r };
        share[r] -= 1 - share[p];
        if (share[r] < 1) {
            rich++;
            stack[poor++] = r;
        }
    }
}

int dx_picker_init(struct dx_picker *p, const struct dx_law *law, size_t count,
                   const double *weights, struct dx_error *err)
{
    double *share = NULL;
    uint32_t *stack = NULL;
    int rc = DX_OK;

    *p = (struct dx_picker){ .law = *law };
    if (count < 1 || count > DX_PICKER_MAX)
        return dx_fail(err, DX_E_LIMIT, "%zu things to pick from: 1 to %u", count, DX_PICKER_MAX);
    p->count = (uint32_t)count;
    if (law->kind == DX_LAW_UNIFORM || law->kind == DX_LAW_ORDER)
        return DX_OK;
    p->alias = malloc(count * sizeof(*p->alias));
    share = malloc(count * sizeof(*share));
    stack = malloc(count * sizeof(*stack));
    if (p->alias == NULL || share == NULL || stack == NULL) {
        rc = dx_no_memory(err, "table of %zu targets", count);
        goto out;
    }
    rc = fill_shares(p, weights, share, err);
    if (rc == DX_OK)
        fill_alias(p->alias, p->count, share, stack);
out:
    if (rc < 0)
        dx_picker_release(p);
    free(share);
    free(stack);
    return rc;
}

void dx_picker_release(struct dx_picker *p)
{
    free(p->alias);
    *p = (struct dx_picker){ .count = 0 };
}

uint32_t dx_picker_next(struct dx_picker *p, uint64_t *random)
{
    uint64_t bits;
    uint32_t i;

    assert(p->count > 0);
    if (p->law.kind == DX_LAW_ORDER) {
        i = p->turn++;
        p->turn = p->turn == p->count ? 0 : p->turn;
        return i;
    }
    bits = dx_chance_bits(random);
    i = (uint32_t)((bits >> 32) * p->count >> 32);
    if (p->alias == NULL || (uint32_t)bits < p->alias[i].keep)
        return i;
    return p->alias[i].other;
}
