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
enum { SEED_BELOW = 1, SEED_DOMAIN = 2, SEED_TARGET = 3 };

#define NONE UINT32_MAX

/* A domain may have a million rules, and as many rows: of a group a row asks for those that it equals, and for the prefix before it. */
struct dx_rule_key {
    uint64_t group;
    uint64_t target; /* of the kind and of what a row must equal: of a prefix its host */
    uint32_t rule;
    uint32_t wider; /* key of a prefix of this one, the longest; NONE */
};

struct dx_rule_group {
    uint64_t hash;
    size_t first,
        end; /* keys, by target; those of one in order of their texts, then of their numbers */
    uint64_t last, sign;
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

/* The DNS name of a host: without its port and without one trailing dot. */
static struct dx_span name_of_host(struct dx_span host)
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

    return dx_span_from(name, n);
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

static uint64_t target_of(enum dx_suppress_kind kind, struct dx_span scheme, struct dx_span host,
                          struct dx_span path_query)
{
    uint64_t hash = dx_hash64_seeded(host, SEED_TARGET + (uint64_t)kind);

    if (kind != DX_SUPPRESS_URL)
        return hash;
    return dx_hash64_seeded(path_query, dx_hash64_seeded(scheme, hash));
}

/* ---- making ---- */

static struct dx_span next_name(struct dx_span name, size_t labels)
{
    return labels > LABELS_MIN ? parent(name) : dx_span_of(NULL, 0);
}

/* The keys of a rule; keys NULL: only how many. */
static size_t keys_of(const struct dx_rule *rule, uint32_t index, struct dx_rule_key *keys)
{
    const struct dx_suppress_parts *p = &rule->parts;
    struct dx_span name = name_of_host(p->host);
    size_t labels = is_ip(name) ? 1 : labels_of(name);
    uint64_t target = target_of(rule->kind, p->scheme, p->host, p->path_query);
    size_t n = 0;

    if (rule->kind == DX_SUPPRESS_DOMAIN) {
        if (keys != NULL)
            keys[n] = (struct dx_rule_key){ hash_of(name, SEED_DOMAIN), target, index, NONE };
        n++;
    }
    for (; labels > LABELS; labels--)
        name = parent(name);
    for (; name.size > 0; name = next_name(name, labels--)) {
        if (keys != NULL)
            keys[n] = (struct dx_rule_key){ hash_of(name, SEED_BELOW), target, index, NONE };
        n++;
    }
    return n;
}

static int compare_texts(const struct dx_rule *a, const struct dx_rule *b)
{
    int order = (a->kind > b->kind) - (a->kind < b->kind);

    if (order == 0)
        order = dx_span_compare(a->parts.host, b->parts.host);
    return order != 0 ? order : dx_span_compare(a->parts.path_query, b->parts.path_query);
}

static int by_place(const void *left, const void *right, void *of)
{
    const struct dx_rule_key *a = left;
    const struct dx_rule_key *b = right;
    const struct dx_rules *r = of;
    int order;

    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->target != b->target)
        return a->target < b->target ? -1 : 1;
    order = compare_texts(&r->rules[a->rule], &r->rules[b->rule]);
    return order != 0 ? order : (a->rule > b->rule) - (a->rule < b->rule);
}

static bool is_active(const struct dx_suppression *line)
{
    return !line->lift && line->other == 0;
}

/* Memory for the active rules and their texts alone: most lines of an old log are of rules that were lifted. */
static bool make_room(struct dx_rules *r, const struct dx_suppressions *log)
{
    size_t rules = 0;
    size_t bytes = 0;

    for (size_t i = 0; i < log->count; i++)
        if (is_active(&log->lines[i])) {
            rules++;
            bytes += log->lines[i].value_size;
        }
    r->text = malloc(bytes + 1);
    r->rules = malloc((rules + 1) * sizeof *r->rules);
    return r->text != NULL && r->rules != NULL;
}

static void fill_rules(struct dx_rules *r, const struct dx_suppressions *log)
{
    uint8_t *text = r->text;

    for (size_t i = 0; i < log->count; i++) {
        const struct dx_suppression *line = &log->lines[i];
        struct dx_rule *rule = &r->rules[r->count];

        if (!is_active(line))
            continue;
        *rule = (struct dx_rule){ .number = line->number,
                                  .kind = line->kind,
                                  .policy = line->policy };
        memcpy(text, log->text.data + line->value_at, line->value_size);
        (void)dx_suppress_parts_of(line->kind, dx_span_of(text, line->value_size), &rule->parts);
        text += line->value_size;
        r->count++;
    }
}

/* Whether the URLs of b are some of those of a. */
static bool is_wider(const struct dx_rule *a, const struct dx_rule *b)
{
    struct dx_span path = b->parts.path_query;

    if (a->kind != DX_SUPPRESS_PREFIX || b->kind != DX_SUPPRESS_PREFIX ||
        path.size < a->parts.path_query.size || !dx_span_equal(a->parts.host, b->parts.host))
        return false;
    path.size = a->parts.path_query.size;
    return dx_span_equal(path, a->parts.path_query);
}

static void link_key(const struct dx_rules *r, const struct dx_rule_group *g, size_t i)
{
    struct dx_rule_key *key = &r->keys[i];
    uint32_t before = i > g->first && r->keys[i - 1].target == key->target ? (uint32_t)(i - 1)
                                                                           : NONE;

    while (before != NONE && !is_wider(&r->rules[r->keys[before].rule], &r->rules[key->rule]))
        before = r->keys[before].wider;
    key->wider = before;
}

/* Of keys in order. */
static void fill_groups(struct dx_rules *r)
{
    struct dx_rule_group *g = NULL;

    for (size_t i = 0; i < r->key_count; i++) {
        uint64_t number = r->rules[r->keys[i].rule].number;
        uint8_t bytes[8];

        if (g == NULL || g->hash != r->keys[i].group) {
            g = &r->groups[r->group_count++];
            *g = (struct dx_rule_group){ .hash = r->keys[i].group, .first = i };
        }
        g->end = i + 1;
        g->last = number > g->last ? number : g->last;
        dx_store_u64(bytes, number);
        g->sign += dx_hash64(dx_span_of(bytes, sizeof bytes)); /* in whatever order they come */
        link_key(r, g, i);
    }
}

static bool fill_keys(struct dx_rules *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->count; i++)
        n += keys_of(&r->rules[i], (uint32_t)i, NULL);
    if (n >= NONE)
        return false;
    r->keys = malloc((n + 1) * sizeof *r->keys);
    r->groups = malloc((n + 1) * sizeof *r->groups);
    if (r->keys == NULL || r->groups == NULL)
        return false;
    for (size_t i = 0; i < r->count; i++)
        r->key_count += keys_of(&r->rules[i], (uint32_t)i, r->keys + r->key_count);
    qsort_r(r->keys, r->key_count, sizeof *r->keys, by_place, r);
    fill_groups(r);
    return true;
}

int dx_rules_new(struct dx_rules **out, const struct dx_suppressions *log, struct dx_error *err)
{
    struct dx_rules *r = calloc(1, sizeof *r);
    bool ok = r != NULL;

    *out = NULL;
    if (ok) {
        r->number = log->count;
        ok = make_room(r, log);
    }
    if (ok) {
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
        free((*r)->groups);
        free(*r);
    }
    *r = NULL;
}

/* ---- asking ---- */

/* NULL: no rule has a key with it. */
static const struct dx_rule_group *find_group(const struct dx_rules *r, uint64_t hash)
{
    size_t low = 0;
    size_t high = r->group_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (r->groups[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->group_count && r->groups[low].hash == hash ? &r->groups[low] : NULL;
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
        const struct dx_rule_group *g = find_group(r, hash_of(name, SEED_DOMAIN));

        for (size_t i = g == NULL ? 0 : g->first; g != NULL && i < g->end; i++) {
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
    const struct dx_rule_group *g;
    struct dx_span name = domain;
    size_t labels;

    *of = (struct dx_rules_of){ .rules = r };
    if (r == NULL || r->count == 0)
        return false;
    labels = is_ip(name) ? 1 : labels_of(name);
    of->whole = dx_rules_whole(r, domain);
    for (; labels > LABELS; labels--)
        name = parent(name);
    g = find_group(r, hash_of(name, SEED_BELOW));
    if (g != NULL) {
        of->first = g->first;
        of->end = g->end;
        of->last = g->last;
        of->sign = g->sign;
    }
    return of->whole.number != 0 || of->last != 0;
}

static bool hits_url(const struct dx_rule *rule, struct dx_span scheme, struct dx_span host,
                     struct dx_span path_query)
{
    const struct dx_suppress_parts *p = &rule->parts;

    switch (rule->kind) {
    case DX_SUPPRESS_DOMAIN:
        return at_or_below(name_of_host(host), p->host);
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

/* The first key of the target or behind it, of those of the domain. */
static size_t first_of(const struct dx_rules_of *of, uint64_t target)
{
    size_t low = of->first;
    size_t high = of->end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (of->rules->keys[middle].target < target)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Rules of which a row that they hit has the text. */
static void hit_equal(const struct dx_rules_of *of, const struct dx_rule *row,
                      struct dx_rule_hit *hit)
{
    const struct dx_suppress_parts *p = &row->parts;
    uint64_t target = target_of(row->kind, p->scheme, p->host, p->path_query);

    for (size_t i = first_of(of, target); i < of->end && of->rules->keys[i].target == target; i++) {
        const struct dx_rule *rule = &of->rules->rules[of->rules->keys[i].rule];

        if (rule->kind == row->kind && hits_url(rule, p->scheme, p->host, p->path_query))
            hit_by(hit, rule);
    }
}

/* Prefixes of the row are the last one that is not behind it in their order, or prefixes of that one. */
static void hit_prefixes(const struct dx_rules_of *of, const struct dx_rule *row,
                         struct dx_rule_hit *hit)
{
    const struct dx_rules *r = of->rules;
    uint64_t target = target_of(row->kind, row->parts.scheme, row->parts.host,
                                row->parts.path_query);
    size_t first = first_of(of, target);
    size_t low = first;
    size_t high = of->end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (r->keys[middle].target == target &&
            compare_texts(&r->rules[r->keys[middle].rule], row) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (uint32_t at = low > first ? (uint32_t)(low - 1) : NONE; at != NONE; at = r->keys[at].wider)
        if (is_wider(&r->rules[r->keys[at].rule], row))
            hit_by(hit, &r->rules[r->keys[at].rule]);
}

struct dx_rule_hit dx_rules_row(const struct dx_rules_of *of, struct dx_span scheme,
                                struct dx_span host, struct dx_span path_query)
{
    struct dx_rule row = { .parts = { scheme, host, path_query } };
    struct dx_rule_hit hit = of->whole;
    struct dx_span name = name_of_host(host);
    bool ip = is_ip(name);

    if (of->first == of->end)
        return hit;
    row.kind = DX_SUPPRESS_URL;
    hit_equal(of, &row, &hit);
    row.kind = DX_SUPPRESS_PREFIX;
    hit_prefixes(of, &row, &hit);
    row.kind = DX_SUPPRESS_HOST;
    hit_equal(of, &row, &hit);
    row.kind = DX_SUPPRESS_DOMAIN;
    for (; name.size > 0; name = ip ? dx_span_of(NULL, 0) : parent(name)) {
        row.parts.host = name;
        hit_equal(of, &row, &hit);
    }
    return hit;
}

uint64_t dx_rules_match(const struct dx_rules *r, struct dx_span domain, struct dx_span scheme,
                        struct dx_span host, struct dx_span path_query)
{
    struct dx_rules_of of;

    return dx_rules_of(r, domain, &of) ? dx_rules_row(&of, scheme, host, path_query).number : 0;
}
