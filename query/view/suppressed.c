/* SPDX-License-Identifier: Apache-2.0 */
#include "query/view/suppressed.h"

#include "loader/followed/suppressions_live.h"
#include "loader/version.h"
#include "query/view/problem.h"

struct dx_suppressions_live *dx_suppressed_by(const struct dx_version *v)
{
    return v->caches == NULL ? NULL : v->caches->suppressions;
}

struct dx_rule_hit dx_suppressed_domain(const struct dx_version *v, struct dx_span domain)
{
    struct dx_suppressions_live *o = dx_suppressed_by(v);
    const struct dx_rules *rules = dx_suppressions_live_pin(o);
    struct dx_rule_hit hit = dx_rules_whole(rules, domain);

    dx_suppressions_live_unpin(o, rules);
    return hit;
}

enum dx_effect dx_suppressed_url(const struct dx_version *v, struct dx_span domain,
                                 struct dx_span scheme, struct dx_span host,
                                 struct dx_span path_query)
{
    struct dx_suppressions_live *o = dx_suppressed_by(v);
    const struct dx_rules *rules = dx_suppressions_live_pin(o);
    struct dx_rule_hit hit = { DX_EFFECT_NONE, 0 };
    struct dx_rules_of of;

    if (dx_rules_of(rules, domain, &of))
        hit = dx_rules_row(&of, scheme, host, path_query);
    dx_suppressions_live_unpin(o, rules);
    return hit.effect;
}

int dx_suppressed_problem(struct dx_span domain, struct dx_problem *problem)
{
    return dx_problem_set(problem, DX_PROBLEM_WITHHELD, "withheld", "This is withheld",
                          "The operator of this index withholds what the datasets may contain of "
                          "%.*s. This does not say whether they contain it.",
                          (int)domain.size, (const char *)domain.data);
}

uint64_t dx_suppressed_line(const struct dx_version *v)
{
    struct dx_suppressions_live *o = dx_suppressed_by(v);
    const struct dx_rules *rules = dx_suppressions_live_pin(o);
    uint64_t line = rules == NULL ? 0 : rules->number;

    dx_suppressions_live_unpin(o, rules);
    return line;
}

uint64_t dx_suppressed_count(const struct dx_version *v)
{
    struct dx_suppressions_live *o = dx_suppressed_by(v);
    const struct dx_rules *rules = dx_suppressions_live_pin(o);
    uint64_t count = rules == NULL ? 0 : rules->count;

    dx_suppressions_live_unpin(o, rules);
    return count;
}

uint64_t dx_suppressed_turn(const struct dx_version *v)
{
    return dx_suppressions_live_turn(dx_suppressed_by(v));
}
