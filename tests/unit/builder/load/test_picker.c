/* SPDX-License-Identifier: Apache-2.0
 * What the load generator picks, compared with its law: Pearson's chi-square over ranks.
 */
#include "builder/load/picker.h"

#include "tests/support/damage.h"
#include "tests/support/fail.h"

#include <math.h>

static unsigned failures;

enum { PICKS = 2000000 };

static const struct {
    const char *text;
    size_t count;
} laws[] = {
    { "zipf=0.99", 1 }, { "zipf=0.99", 2 }, { "zipf=0.99", 50000 }, { "zipf=1.2", 1000 },
    { "zipf=0", 100 },  { "zipf=10", 50 },  { "pareto=1", 1000 },   { "pareto=0.5", 5000 },
    { "pareto=10", 3 }, { "uniform", 777 }, { "weights", 300 },     { "weights", 1 },
};

static const char *const refused[] = { "",        "zipf",     "zipf=",    "zipf=-1",    "zipf=11",
                                       "zipf=1x", "pareto",   "pareto=0", "pareto=nan", "Uniform",
                                       "order ",  "zipf=inf", "weights=1" };

/*
 * Ranks are put together until 50 picks are expected of each group. Chi-square with k degrees has
 * mean k and variance 2k: beyond k + 6 sqrt(2k) + 20 a right sampler does not come in these few
 * fixed seeds.
 */
static void compare(const char *what, const double *share, const uint32_t *seen, size_t count)
{
    double sum = 0, square = 0, want = 0, got = 0, degrees = 0;

    for (size_t i = 0; i < count; i++)
        sum += share[i];
    for (size_t i = 0; i < count; i++) {
        want += share[i] / sum * PICKS;
        got += seen[i];
        if (want < 50 && i + 1 < count)
            continue;
        if (want > 0)
            square += (got - want) * (got - want) / want;
        else if (got > 0)
            FAIL("%s of %zu: picked what has no share", what, count);
        want = got = 0;
        degrees++;
    }
    if (square > degrees + 6 * sqrt(2 * degrees) + 20)
        FAIL("%s of %zu: chi-square %.0f of %.0f degrees", what, count, square, degrees);
}

static void check_law(const char *text, size_t count)
{
    double *weights = calloc(count, sizeof(*weights)), *share = calloc(count, sizeof(*share));
    uint32_t *seen = calloc(count, sizeof(*seen));
    uint64_t random = 42;
    struct dx_picker p;
    struct dx_law law;

    if (weights == NULL || share == NULL || seen == NULL || dx_law_parse(text, &law, NULL) < 0)
        abort();
    for (size_t i = 0; i < count; i++) /* every seventh of none, unless it is all there is */
        weights[i] = i % 7 == 3 ? 0 : (double)random_below(&random, 1000) + 0.5;
    if (dx_picker_init(&p, &law, count, weights, NULL) < 0)
        abort();
    for (int i = 0; i < PICKS; i++) {
        uint32_t pick = dx_picker_next(&p, &random);

        if (pick >= count)
            abort();
        seen[pick]++;
    }
    for (size_t i = 0; i < count; i++) {
        share[i] = dx_law_weight(&law, weights, i);
        if (share[i] == 0 && seen[i] != 0)
            FAIL("%s of %zu: rank %zu has no share and was picked %u times", text, count, i,
                 seen[i]);
    }
    compare(text, share, seen, count);
    dx_picker_release(&p);
    free(weights);
    free(share);
    free(seen);
}

/* The laws themselves, by other formulas: they could be wrong and the sampler true to them. */
static void check_weights(void)
{
    const struct dx_law zipf = { DX_LAW_ZIPF, 2 }, pareto = { DX_LAW_PARETO, 1 };
    double sum = 0;

    for (size_t i = 0; i < 100; i++) {
        double k = (double)i + 1;

        sum += dx_law_weight(&pareto, NULL, i);
        if (fabs(dx_law_weight(&zipf, NULL, i) * k * k - 1) > 1e-12)
            FAIL("zipf=2, rank %zu: %g", i, dx_law_weight(&zipf, NULL, i));
        if (fabs(sum - (2 - 1 / (k + 0.5))) > 1e-12)
            FAIL("pareto=1, ranks up to %zu: %g", i, sum);
    }
}

static void check_order(void)
{
    struct dx_law law;
    struct dx_picker p;
    uint64_t random = 1;

    if (dx_law_parse("order", &law, NULL) < 0 || dx_picker_init(&p, &law, 3, NULL, NULL) < 0)
        abort();
    for (uint32_t i = 0; i < 10; i++)
        if (dx_picker_next(&p, &random) != i % 3)
            FAIL("order: not %u at pick %u", i % 3, i);
    if (random != 1)
        FAIL("order takes chance");
    dx_picker_release(&p);
}

static void check_refused(void)
{
    static const double bad[][2] = { { 0, 0 }, { 1, -1 }, { 1, NAN }, { INFINITY, 1 } };
    struct dx_law law = { DX_LAW_WEIGHTS, 0 };
    struct dx_picker p;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (dx_picker_init(&p, &law, 2, bad[i], NULL) != DX_E_INVALID)
            FAIL("weights %g and %g were taken", bad[i][0], bad[i][1]);
    if (dx_picker_init(&p, &law, 0, NULL, NULL) != DX_E_LIMIT)
        FAIL("nothing to pick from was taken");
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        if (dx_law_parse(refused[i], &law, NULL) != DX_E_INVALID)
            FAIL("'%s' was taken for a law", refused[i]);
}

static void check_seed(void)
{
    struct dx_law law;
    struct dx_picker p;
    uint64_t a = 5, b = 5;

    if (dx_law_parse("zipf=1", &law, NULL) < 0 || dx_picker_init(&p, &law, 1000, NULL, NULL) < 0)
        abort();
    for (int i = 0; i < 1000; i++)
        if (dx_picker_next(&p, &a) != dx_picker_next(&p, &b))
            FAIL("one seed, two requests at %d", i);
    dx_picker_release(&p);
}

int main(void)
{
    for (size_t i = 0; i < sizeof(laws) / sizeof(laws[0]); i++)
        check_law(laws[i].text, laws[i].count);
    check_weights();
    check_order();
    check_refused();
    check_seed();
    return failures != 0;
}
