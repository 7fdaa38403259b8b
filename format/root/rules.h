/* SPDX-License-Identifier: Apache-2.0
 * rules.h - the active rules of a log of suppressions, made quick to ask.
 *
 *   rc = dx_rules_new(&rules, &log, &err);                       copies what it needs
 *   number = dx_rules_match(rules, domain, scheme, host, path_query);     0: the row may be shown
 *   hit = dx_rules_whole(rules, domain);                         the whole domain
 *
 *   struct dx_rules_of of;                                       many rows of one domain
 *   if (dx_rules_of(rules, domain, &of))                         false: no rule concerns it
 *       hit = dx_rules_row(&of, scheme, host, path_query);
 *   dx_rules_free(&rules);
 *
 * A row is (registered domain, scheme, host with a port that is not the default, path and query),
 * all in canonical form. A rule for a domain hits all rows of that registered domain and all whose
 * host is that name or below it: so it holds also when another suffix list makes another registered
 * domain of the same host. A rule for a host hits that text exactly, port included.
 *
 * Where rules of both policies hit, absent wins: a "withheld" would reveal what must stay hidden.
 * What a domain or a row costs grows with the logarithm of the number of rules, also of rules for one domain.
 * Read-only after new: threads may share it. rules NULL: there are no rules.
 */
#ifndef DX_FORMAT_ROOT_RULES_H
#define DX_FORMAT_ROOT_RULES_H

#include "format/root/suppressions.h"

enum dx_effect { DX_EFFECT_NONE, DX_EFFECT_WITHHELD, DX_EFFECT_ABSENT };

struct dx_rule_hit {
    enum dx_effect effect; /* the strongest */
    uint64_t number;       /* the lowest of the rules that hit; 0: none */
};

struct dx_rule {
    uint64_t number;
    enum dx_suppress_kind kind;
    enum dx_suppress_policy policy;
    struct dx_suppress_parts parts;
};

struct dx_rule_key;
struct dx_rule_group;

struct dx_rules {
    uint64_t number;       /* of the last line of the log */
    size_t count;          /* active rules; 0: nothing is ever hit */
    struct dx_rule *rules; /* by number */

    /* private */
    struct dx_rule_key *keys;
    size_t key_count;
    struct dx_rule_group *groups;
    size_t group_count;
    uint8_t *text;
};

int dx_rules_new(struct dx_rules **rules, const struct dx_suppressions *log, struct dx_error *err);
void dx_rules_free(struct dx_rules **rules);

uint64_t dx_rules_match(const struct dx_rules *rules, struct dx_span domain, struct dx_span scheme,
                        struct dx_span host, struct dx_span path_query);

/* Of rules that hit every row that the domain could have. */
struct dx_rule_hit dx_rules_whole(const struct dx_rules *rules, struct dx_span domain);

/* What concerns one domain. Borrowed from the rules, and `domain` from the caller. */
struct dx_rules_of {
    struct dx_rule_hit whole;
    uint64_t last; /* the highest number of the rules that may hit some of its rows; 0: none */
    uint64_t sign; /* of these rules: the same ones in another log have the same sign */

    /* private */
    const struct dx_rules *rules;
    size_t first, end; /* keys */
};

bool dx_rules_of(const struct dx_rules *rules, struct dx_span domain, struct dx_rules_of *of);
struct dx_rule_hit dx_rules_row(const struct dx_rules_of *of, struct dx_span scheme,
                                struct dx_span host, struct dx_span path_query);

#endif
