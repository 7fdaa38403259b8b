/* SPDX-License-Identifier: Apache-2.0 */
#include "format/root/rules.h"

#include <stdlib.h>

#include "base/hash.h"

/* A rule is found from each registered domain that its rows may have: from the names of 2 to
 * LABELS labels that end its host. No list of suffixes makes longer domains; those that are longer
 * are looked for by their end. */
#define LABELS 6
#define LABELS_MIN 2

/* Names that rules are about or below, and names of rules for a whole domain, in one table. */
enum { SEED_BELOW = 1, SEED_DOMAIN = 2 };

struct dx_rule_key {
    uint64_t hash;
    uint32_t rule;
};

/* An IPv6 address in brackets, or four numbers: no name's last label is a number. */
static bool is_ip(struct dx_span host)
{
    size_t digits = 0;

    while (digits < host.size && host.data[host.size - 1 - digits] >= '0' &&
           host.data[host.size - 1 - digits] <= '9')
        digits++;
    return host.size > 0 &&
           (host.data[0] == '[' ||
            (digits > 0 && (digits == host.size || host.data[host.size - 1 - digits] == '.')));
}

struct dx_span dx_rule_name(struct dx_span host)
{
    struct dx_span name = host;

    for (size_t i = host.size; i > 0 && host.data[i - 1] != ']'; i--)
        if (host.data[i - 1] == ':') {
            name.size = i - 1;
            break;
        }
    name.size -= name.size > 0 && name.data[name.size - 1] == '.';
    return name;
}

/* What is left when the first label is gone; empty: it was the last. */
static struct dx_span parent(struct dx_span name)
{
    const uint8_t *dot = name.size == 0 ? NULL : memchr(name.data, '.', name.size);
    size_t n = dot == NULL ? name.size : (size_t)(dot - name.data) + 1;

    return dx_span_of(name.data + n, name.size - n);
}

static size_t labels_of(struct dx_span name)
{
    size_t n = 1;

    for (size_t i = 0; i < name.size; i++)
        n += name.data[i] == '.';
    return n;
}

static bool at_or_below(struct dx_span name, struct dx_span top)
{
    if (name.size < top.size || memcmp(name.data + name.size - top.size, top.data, top.size) != 0)
        return false;
    return name.size == top.size || (name.data[name.size - top.size - 1] == '.' && !is_ip(top));
}

static uint64_t hash_of(struct dx_span name, unsigned seed)
{
    return dx_hash64_seeded(name, seed);
}

/* ---- making ---- */

static struct dx_span next_name(struct dx_span name, size_t labels)
{
    return labels > LABELS_MIN ? parent(name) : dx_span_of(NULL, 0);
}

/* The keys of a rule; keys NULL: only how many. */
static size_t keys_of(const struct dx_rule *rule, uint32_t index, struct dx_rule_key *keys)
{
    struct dx_span name = dx_rule_name(rule->parts.host);
    size_t labels = is_ip(name) ? 1 : labels_of(name);
    size_t n = 0;

    if (rule->kind == DX_SUPPRESS_DOMAIN) {
        if (keys != NULL)
            keys[n] = (struct dx_rule_key){ hash_of(name, SEED_DOMAIN), index };
        n++;
    }
    for (; labels > LABELS; labels--)
        name = parent(name);
    for (; name.size > 0; name = next_name(name, labels--)) {
        if (keys != NULL)
            keys[n] = (struct dx_rule_key){ hash_of(name, SEED_BELOW), index };
        n++;
    }
    return n;
}

static int by_hash(const void *a, const void *b)
{
    const struct dx_rule_key *x = a;
    const struct dx_rule_key *y = b;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->rule > y->rule) - (x->rule < y->rule);
}

static void fill_rules(struct dx_rules *r, const struct dx_suppressions *log)
{
    struct dx_span text = dx_span_of(r->text, log->text.size);

    for (size_t i = 0; i < log->count; i++) {
        const struct dx_suppression *line = &log->lines[i];
        struct dx_rule *rule = &r->rules[r->count];

        if (line->lift || line->other != 0)
            continue;
        *rule = (struct dx_rule){ .number = line->number,
                                  .kind = line->kind,
                                  .policy = line->policy };
        (void)dx_suppress_parts_of(
            line->kind, dx_span_of(text.data + line->value_at, line->value_size), &rule->parts);
        r->count++;
    }
}

static bool fill_keys(struct dx_rules *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->count; i++)
        n += keys_of(&r->rules[i], (uint32_t)i, NULL);
    r->keys = malloc((n + 1) * sizeof *r->keys);
    if (r->keys == NULL)
        return false;
    for (size_t i = 0; i < r->count; i++)
        r->key_count += keys_of(&r->rules[i], (uint32_t)i, r->keys + r->key_count);
    qsort(r->keys, r->key_count, sizeof *r->keys, by_hash);
    return true;
}

int dx_rules_new(struct dx_rules **out, const struct dx_suppressions *log, struct dx_error *err)
{
    struct dx_rules *r = calloc(1, sizeof *r);
    bool ok = r != NULL;

    *out = NULL;
    if (ok) {
        r->number = log->count;
        r->text = malloc(log->text.size + 1);
        r->rules = malloc((log->count + 1) * sizeof *r->rules);
        ok = r->text != NULL && r->rules != NULL;
    }
    if (ok) {
        if (log->text.size > 0)
            memcpy(r->text, log->text.data, log->text.size);
        fill_rules(r, log);
        ok = fill_keys(r);
    }
    if (!ok) {
        dx_rules_free(&r);
        return dx_no_memory(err, "suppressions");
    }
    *out = r;
    return DX_OK;
}

void dx_rules_free(struct dx_rules **r)
{
    if (*r != NULL) {
        free((*r)->text);
        free((*r)->rules);
        free((*r)->keys);
        free(*r);
    }
    *r = NULL;
}

/* ---- asking ---- */

static size_t first_key(const struct dx_rules *r, uint64_t hash)
{
    size_t low = 0;
    size_t high = r->key_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (r->keys[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void hit_by(struct dx_rule_hit *hit, const struct dx_rule *rule)
{
    enum dx_effect effect = rule->policy == DX_SUPPRESS_ABSENT ? DX_EFFECT_ABSENT
                                                               : DX_EFFECT_WITHHELD;

    if (hit->number == 0 || rule->number < hit->number)
        hit->number = rule->number;
    if (effect > hit->effect)
        hit->effect = effect;
}

struct dx_rule_hit dx_rules_whole(const struct dx_rules *r, struct dx_span domain)
{
    struct dx_rule_hit hit = { DX_EFFECT_NONE, 0 };
    struct dx_span name = domain;

    if (r == NULL || r->count == 0)
        return hit;
    do {
        uint64_t hash = hash_of(name, SEED_DOMAIN);

        for (size_t i = first_key(r, hash); i < r->key_count && r->keys[i].hash == hash; i++) {
            const struct dx_rule *rule = &r->rules[r->keys[i].rule];

            if (rule->kind == DX_SUPPRESS_DOMAIN && dx_span_equal(rule->parts.host, name))
                hit_by(&hit, rule);
        }
        name = is_ip(domain) ? dx_span_of(NULL, 0) : parent(name);
    } while (name.size > 0);
    return hit;
}

bool dx_rules_of(const struct dx_rules *r, struct dx_span domain, struct dx_rules_of *of)
{
    struct dx_span name = domain;
    size_t labels;

    *of = (struct dx_rules_of){ .rules = r };
    if (r == NULL || r->count == 0)
        return false;
    labels = is_ip(name) ? 1 : labels_of(name);
    of->whole = dx_rules_whole(r, domain);
    for (; labels > LABELS; labels--)
        name = parent(name);
    of->key = hash_of(name, SEED_BELOW);
    of->first = first_key(r, of->key);
    for (of->end = of->first; of->end < r->key_count && r->keys[of->end].hash == of->key;
         of->end++) {
        const struct dx_rule *rule = &r->rules[r->keys[of->end].rule];
        uint8_t number[8];

        /* Rules are in order of their numbers, so the last one has the highest. */
        of->last = rule->number;
        dx_store_u64(number, rule->number);
        of->sign = dx_hash64_seeded(dx_span_of(number, sizeof number), of->sign);
    }
    return of->whole.number != 0 || of->last != 0;
}

static bool hits(const struct dx_rule *rule, struct dx_span scheme, struct dx_span host,
                 struct dx_span path_query)
{
    const struct dx_suppress_parts *p = &rule->parts;

    switch (rule->kind) {
    case DX_SUPPRESS_DOMAIN:
        return at_or_below(dx_rule_name(host), p->host);
    case DX_SUPPRESS_HOST:
        return dx_span_equal(p->host, host);
    case DX_SUPPRESS_PREFIX:
        return dx_span_equal(p->host, host) && path_query.size >= p->path_query.size &&
               memcmp(path_query.data, p->path_query.data, p->path_query.size) == 0;
    case DX_SUPPRESS_URL:
        return dx_span_equal(p->host, host) && dx_span_equal(p->path_query, path_query) &&
               dx_span_equal(p->scheme, scheme);
    }
    return false;
}

struct dx_rule_hit dx_rules_row(const struct dx_rules_of *of, struct dx_span scheme,
                                struct dx_span host, struct dx_span path_query)
{
    struct dx_rule_hit hit = of->whole;

    for (size_t i = of->first; i < of->end; i++) {
        const struct dx_rule *rule = &of->rules->rules[of->rules->keys[i].rule];

        if (hits(rule, scheme, host, path_query))
            hit_by(&hit, rule);
    }
    return hit;
}

uint64_t dx_rules_match(const struct dx_rules *r, struct dx_span domain, struct dx_span scheme,
                        struct dx_span host, struct dx_span path_query)
{
    struct dx_rules_of of;

    return dx_rules_of(r, domain, &of) ? dx_rules_row(&of, scheme, host, path_query).number : 0;
}
