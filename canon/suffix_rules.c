/* SPDX-License-Identifier: Apache-2.0 */
#include "canon/suffix_rules.h"

#include "base/buf.h"
#include "base/few_bytes.h"
#include "base/limits.h"
#include "canon/idna.h"

#include <stdlib.h>

/* libpsl reads lines of 255 bytes and keeps rules below 128; the list of 2026 has 155 and 60. */
enum { LINE_MAX_BYTES = 250, RULE_MAX = 120, LABELS_MAX = 8, SLOTS_FIRST = 64 };
enum { PLAIN = 1, WILDCARD = 2, EXCEPTION = 4, ICANN = DX_SUFFIX_ICANN };

enum { NEAR = 6 }; /* bytes: most names meet a short rule, "com" or "co.uk" */

/* Open addressing; size 0: the slot is empty. */
struct rule {
    uint32_t hash;
    uint32_t at; /* in text */
    uint8_t size;
    uint8_t flags;
    uint8_t near[NEAR]; /* the rule itself, if it is so short: text is in another cache line */
};

enum { FILTERS = 1 << 10 };

/* By hash: most names end here, in the nearest cache. Two bits of a word are a hash's, of one alone every seventh name would
 * be looked for in the table, which lies farther away. */
struct filter {
    uint64_t rules;
    uint64_t within; /* of what longer rules, or names that one matches, end with */
};

struct dx_suffix_rules {
    struct filter filter[FILTERS];
    struct dx_buf text; /* the rules, one behind the other */
    struct rule *slot;
    uint32_t mask;
    uint32_t used;  /* slots, at most half of them */
    uint32_t count; /* and what was left out */
    unsigned labels_max;
};

/* Of the bytes of a name from its last one to its first: a suffix has the hash on the way. */
static uint32_t hash_step(uint32_t hash, uint8_t c)
{
    return (hash ^ c) * 0x01000193u;
}

static uint32_t slot_of(uint32_t hash)
{
    return hash ^ hash >> 15;
}

/* As libpsl: a vertical tab or a form feed is part of a rule. */
static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The rule that a line holds, '!' and '*' included; empty: none. */
static struct dx_span rule_of(struct dx_span line)
{
    size_t n = 0;

    while (line.size > 0 && is_space(line.data[0])) {
        line.data++;
        line.size--;
    }
    if (line.size > 1 && line.data[0] == '/' && line.data[1] == '/')
        return (struct dx_span){ NULL, 0 };
    while (n < line.size && !is_space(line.data[n]))
        n++;
    line.size = n;
    return line;
}

static bool next_line(struct dx_span *text, struct dx_span *line)
{
    const uint8_t *end;

    if (text->size == 0)
        return false;
    end = memchr(text->data, '\n', text->size);
    line->data = text->data;
    line->size = end == NULL ? text->size : (size_t)(end - text->data) + 1;
    text->data += line->size;
    text->size -= line->size;
    return true;
}

/* Takes '!' or "*." off. 0: libpsl has no use for it. */
static unsigned flags_of(struct dx_span *rule)
{
    unsigned flags = PLAIN;

    if (rule->data[0] == '!') {
        flags = EXCEPTION;
    } else if (rule->data[0] == '*') {
        if (rule->size < 2 || rule->data[1] != '.')
            return 0;
        flags = PLAIN | WILDCARD;
    } else {
        return PLAIN;
    }
    rule->data += flags == EXCEPTION ? 1 : 2;
    rule->size -= flags == EXCEPTION ? 1 : 2;
    return flags;
}

/* How many labels; 0: not lower-case letters, digits, '-' and bytes of UTF-8 with single dots between.
 * *high: there are such bytes. */
static unsigned count_labels(struct dx_span rule, bool *high)
{
    unsigned labels = 1;
    uint8_t before = '.';
    uint8_t all = 0;

    if (rule.size == 0 || rule.size > RULE_MAX || rule.data[rule.size - 1] == '.')
        return 0;
    for (size_t i = 0; i < rule.size; i++) {
        uint8_t c = rule.data[i];

        if (c == '.' ? before == '.'
                     : !((uint8_t)(c - 'a') < 26 || (uint8_t)(c - '0') < 10 || c == '-' ||
                         c == '_' || c >= 0x80))
            return 0;
        labels += c == '.';
        all |= c;
        before = c;
    }
    *high = all >= 0x80;
    return labels;
}

static bool has_a_label(struct dx_span s)
{
    for (size_t i = 0; i + 4 <= s.size; i++)
        if (memcmp(s.data + i, "xn--", 4) == 0 && (i == 0 || s.data[i - 1] == '.'))
            return true;
    return false;
}

/* What libpsl makes of a rule in UTF-8 beside the rule itself: its A-labels. false: what it makes is not sure. */
static bool to_a_labels(struct dx_span rule, uint8_t ascii[DX_DOMAIN_MAX], struct dx_span *out)
{
    /* What IDNA2003 and IDNA2008 write differently: U+00DF, U+03C2, U+200C, U+200D. */
    static const char *const deviations[] = { "\xC3\x9F", "\xCF\x82", "\xE2\x80\x8C",
                                              "\xE2\x80\x8D" };
    enum dx_reject why;
    size_t size;

    for (size_t k = 0; k < sizeof deviations / sizeof *deviations; k++)
        if (memmem(rule.data, rule.size, deviations[k], strlen(deviations[k])) != NULL)
            return false;
    if (!dx_idna_to_ascii(rule, ascii, DX_DOMAIN_MAX, &size, &why))
        return false;
    *out = (struct dx_span){ ascii, size };
    return has_a_label(*out);
}

static uint64_t filter_bits(uint32_t hash)
{
    uint32_t rest = slot_of(hash) / FILTERS;

    return (uint64_t)1 << rest % 64 | (uint64_t)1 << rest / 64 % 64;
}

static bool may_be_rule(const struct dx_suffix_rules *r, uint32_t hash)
{
    return (~r->filter[slot_of(hash) % FILTERS].rules & filter_bits(hash)) == 0;
}

static bool may_be_within(const struct dx_suffix_rules *r, uint32_t hash)
{
    return (~r->filter[slot_of(hash) % FILTERS].within & filter_bits(hash)) == 0;
}

static void note_within_at(struct dx_suffix_rules *r, uint32_t hash)
{
    r->filter[slot_of(hash) % FILTERS].within |= filter_bits(hash);
}

static const uint8_t *text_of(const struct dx_suffix_rules *r, const struct rule *rule)
{
    return rule->size <= NEAR ? rule->near : r->text.data + rule->at;
}

static struct rule *find_slot(const struct dx_suffix_rules *r, uint32_t hash, struct dx_span name)
{
    for (uint32_t i = slot_of(hash) & r->mask;; i = (i + 1) & r->mask) {
        struct rule *slot = &r->slot[i];

        if (slot->size == 0 ||
            (slot->hash == hash && dx_few_equal(dx_span_of(text_of(r, slot), slot->size), name)))
            return slot;
    }
}

static uint32_t hash_of(struct dx_span name)
{
    uint32_t hash = 0;

    for (size_t i = name.size; i-- > 0;)
        hash = hash_step(hash, name.data[i]);
    return hash;
}

/* What the rule ends with, label by label; a wildcard matches names that end with all of it. */
static void note_within(struct dx_suffix_rules *r, struct dx_span rule, unsigned flags)
{
    uint32_t hash = 0;

    for (size_t i = rule.size; i-- > 0;) {
        if (rule.data[i] == '.')
            note_within_at(r, hash);
        hash = hash_step(hash, rule.data[i]);
    }
    if ((flags & WILDCARD) != 0)
        note_within_at(r, hash);
}

/* Room for one rule more. */
static bool make_room(struct dx_suffix_rules *r)
{
    struct rule *old = r->slot;
    uint32_t slots = r->mask + 1;

    if (2 * (r->used + 1) <= slots)
        return true;
    r->slot = calloc((size_t)slots * 2, sizeof *r->slot);
    if (r->slot == NULL) {
        r->slot = old;
        return false;
    }
    r->mask = 2 * slots - 1;
    for (uint32_t i = 0; i < slots; i++)
        if (old[i].size > 0)
            *find_slot(r, old[i].hash, dx_span_of(text_of(r, &old[i]), old[i].size)) = old[i];
    free(old);
    return true;
}

/* false: the rule is there with other flags. Which of the two libpsl finds is chance. */
static bool add_rule(struct dx_suffix_rules *r, struct dx_span rule, unsigned flags)
{
    uint32_t hash = hash_of(rule);
    struct rule *slot = find_slot(r, hash, rule);

    if (slot->size > 0) {
        bool same = (slot->flags & ~ICANN) == (int)(flags & ~(unsigned)ICANN);

        slot->flags |= (uint8_t)(flags & ICANN); /* it may stand in both sections */
        return same;
    }
    if (!make_room(r))
        r->text.failed = true;
    slot = find_slot(r, hash, rule);
    slot->at = (uint32_t)r->text.size;
    dx_buf_append(&r->text, rule.data, rule.size);
    if (r->text.failed)
        return true; /* new says so */
    r->filter[slot_of(hash) % FILTERS].rules |= filter_bits(hash);
    note_within(r, rule, flags);
    slot->hash = hash;
    slot->size = (uint8_t)rule.size;
    memcpy(slot->near, rule.data, rule.size < NEAR ? rule.size : NEAR);
    slot->flags = (uint8_t)flags;
    r->used++;
    r->count++;
    return true;
}

/* The rule, and its A-labels if it is in UTF-8. false: libpsl may read it otherwise. */
static bool add_forms(struct dx_suffix_rules *r, struct dx_span rule, unsigned flags)
{
    bool high = false;
    unsigned labels = count_labels(rule, &high);
    uint8_t ascii[DX_DOMAIN_MAX];
    struct dx_span form;

    if (labels == 0 || labels > LABELS_MAX)
        return false;
    if (labels > r->labels_max)
        r->labels_max = labels;
    if (high && (!to_a_labels(rule, ascii, &form) || count_labels(form, &high) != labels || high ||
                 !add_rule(r, form, flags)))
        return false;
    return add_rule(r, rule, flags);
}

static bool is_plain(uint8_t c)
{
    return (uint8_t)(c - 'a') < 26 || (uint8_t)(c - '0') < 10 || c == '-' || c == '_';
}

/* Begins a letter that no form of IDNA makes ASCII or nothing: U+0400 to U+0FFF, U+4000 to U+9FFF, U+B000 to U+CFFF. */
static bool is_foreign(uint8_t c)
{
    return (c >= 0xd0 && c <= 0xe0) || (c >= 0xe4 && c <= 0xe9) || c == 0xeb || c == 0xec;
}

static struct dx_span cut_last_label(struct dx_span *name)
{
    struct dx_span last = { name->data + name->size, 0 };

    while (last.size < name->size && last.data[-1] != '.') {
        last.data--;
        last.size++;
    }
    name->size -= last.size + (last.size < name->size);
    return last;
}

/* Whether a rule's label is surely not read as this one: only what is lower-case ASCII is read as itself alone. Dots of other
 * scripts, which would make two labels of it, begin with 0xe3 or 0xef. */
static bool is_other(struct dx_span label, struct dx_span of_tail)
{
    bool plain = label.size > 0;
    bool foreign = false;
    bool dots = false;

    for (size_t i = 0; i < label.size; i++) {
        uint8_t c = label.data[i];

        plain = plain && is_plain(c);
        foreign = foreign || is_foreign(c);
        dots = dots || c == 0xe3 || c == 0xef;
    }
    if (plain)
        return !dx_span_equal(label, of_tail);
    return foreign && !dots && (of_tail.size < 4 || memcmp(of_tail.data, "xn--", 4) != 0);
}

/* Whether no name that is the tail, or below it, meets the rule: some label of both, counted from the end, is another one. */
static bool is_left_out(struct dx_span rule, struct dx_span tail)
{
    while (rule.size > 0 && tail.size > 0) {
        struct dx_span label = cut_last_label(&rule);
        struct dx_span of_tail = cut_last_label(&tail);

        if (is_other(label, of_tail))
            return true;
        if (!dx_span_equal(label, of_tail)) /* which may be two labels */
            return false;
    }
    return false;
}

/* How many bytes of [p, end) are above a space. */
static size_t word_size(const uint8_t *p, const uint8_t *end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint8_t *at = p;

    for (; end - at >= 8; at += 8) {
        uint64_t w = dx_load_u64(at);
        uint64_t low = (w - ones * 0x21) & ~w & ones * 0x80; /* exact up to the first one */

        if (low != 0)
            return (size_t)(at - p) + (unsigned)__builtin_ctzll(low) / 8;
    }
    while (at != end && at[0] > ' ')
        at++;
    return (size_t)(at - p);
}

/* Passes over lines of one word each that ends otherwise than the tail, as most of a list do, and over empty ones. */
static void pass_others(struct dx_suffix_rules *r, struct dx_span *text, struct dx_span tail)
{
    const uint8_t *p = text->data;
    const uint8_t *end = p + text->size;

    while (tail.size > 0 && p < end) {
        size_t n = *p == '/' || *p == '*' || *p == '!' ? 0 : word_size(p, end);

        if (n == 0 && *p == '\n') {
            p++;
            continue;
        }
        if (n == 0 || n > RULE_MAX || p + n == end || p[n] != '\n' || !is_plain(p[n - 1]) ||
            p[n - 1] == tail.data[tail.size - 1])
            break;
        r->count++;
        p += n + 1;
    }
    *text = dx_span_of(p, (size_t)(end - p));
}

static bool has_text(struct dx_span line, const char *text)
{
    return memmem(line.data, line.size, text, strlen(text)) != NULL;
}

/* What rules behind a line without one are of. */
static unsigned section_behind(struct dx_span line, unsigned section)
{
    return section == 0 ? (has_text(line, "===BEGIN ICANN DOMAINS===") ? ICANN : 0)
                        : (has_text(line, "===END ICANN DOMAINS===") ? 0 : ICANN);
}

/* false: a line that libpsl may read otherwise. */
static bool add_lines(struct dx_suffix_rules *r, struct dx_span text, struct dx_span tail)
{
    struct dx_span line;
    unsigned section = 0;

    for (pass_others(r, &text, tail); next_line(&text, &line); pass_others(r, &text, tail)) {
        struct dx_span rule = rule_of(line);
        bool none = rule.size == 0;
        unsigned flags = none ? 0 : flags_of(&rule);

        if (line.size > LINE_MAX_BYTES)
            return false;
        if (flags != 0 && is_left_out(rule, tail))
            r->count++;
        else if (flags != 0 && !add_forms(r, rule, flags | section))
            return false;
        if (none && memchr(line.data, '=', line.size) != NULL)
            section = section_behind(line, section);
    }
    return true;
}

int dx_suffix_rules_new_below(struct dx_suffix_rules **out, struct dx_span text,
                              struct dx_span tail, struct dx_error *err)
{
    struct dx_suffix_rules *r;

    *out = NULL;
    if (text.size > UINT32_MAX || memchr(text.data, '\0', text.size) != NULL)
        return DX_OK;
    r = calloc(1, sizeof *r);
    if (r == NULL)
        return dx_no_memory(err, "public suffix list");
    r->mask = SLOTS_FIRST - 1;
    r->text = (struct dx_buf)DX_BUF_INIT((size_t)UINT32_MAX);
    r->slot = calloc(SLOTS_FIRST, sizeof *r->slot);
    if (r->slot == NULL) {
        dx_suffix_rules_free(&r);
        return dx_no_memory(err, "public suffix list");
    }
    if (!add_lines(r, text, tail))
        dx_suffix_rules_free(&r);
    else if (r->text.failed) {
        dx_suffix_rules_free(&r);
        return dx_no_memory(err, "public suffix list");
    }
    *out = r;
    return DX_OK;
}

size_t dx_suffix_rules_count(const struct dx_suffix_rules *r)
{
    return r->count;
}

void dx_suffix_rules_free(struct dx_suffix_rules **rules)
{
    if (*rules == NULL)
        return;
    dx_buf_release(&(*rules)->text);
    free((*rules)->slot);
    free(*rules);
    *rules = NULL;
}

/* 0: no rule of the section. */
static unsigned flags_at(const struct dx_suffix_rules *r, uint32_t hash, struct dx_span name,
                         enum dx_suffix_section of)
{
    unsigned flags = may_be_rule(r, hash) ? find_slot(r, hash, name)->flags : 0;

    return (flags & of) == (unsigned)of ? flags : 0;
}

/* As libpsl looks at one: without one dot that stands in front. */
static bool is_suffix(const struct dx_suffix_rules *r, struct dx_span name,
                      enum dx_suffix_section of)
{
    const uint8_t *dot;
    struct dx_span above;
    unsigned flags;

    if (name.data[0] == '.')
        name = (struct dx_span){ name.data + 1, name.size - 1 };
    dot = memchr(name.data, '.', name.size);
    if (dot == NULL)
        return true;
    flags = flags_at(r, hash_of(name), name, of);
    if (flags != 0)
        return (flags & EXCEPTION) == 0;
    above = (struct dx_span){ dot + 1, name.size - (size_t)(dot + 1 - name.data) };
    return (flags_at(r, hash_of(above), above, of) & WILDCARD) != 0;
}

/* A name with an empty label, which URLs may have: label by label from the front, as libpsl goes. */
static int find_from_front(const struct dx_suffix_rules *r, struct dx_span name,
                           enum dx_suffix_section of, struct dx_span *domain)
{
    bool found = false;

    while (!is_suffix(r, name, of)) {
        const uint8_t *dot = memchr(name.data, '.', name.size);

        *domain = name;
        found = true;
        name.size -= (size_t)(dot + 1 - name.data);
        name.data = dot + 1;
    }
    return found;
}

int dx_suffix_rules_find(const struct dx_suffix_rules *r, struct dx_span name,
                         enum dx_suffix_section of, struct dx_span *domain)
{
    DX_UNINITIALIZED size_t begin[LABELS_MAX + 3]; /* of the suffix with so many labels */
    unsigned labels = 0;
    unsigned suffix = 1; /* labels of the longest public suffix: any last label is one, by "*" */
    unsigned flags = 0;
    uint32_t hash = 0;

    /* A name of one label more than the longest rule may meet a wildcard; the one behind it is the
     * domain. */
    for (size_t i = name.size; labels < r->labels_max + 2; i--) {
        struct dx_span tail;
        unsigned before = flags;

        for (; i > 0 && name.data[i - 1] != '.'; i--)
            hash = hash_step(hash, name.data[i - 1]);
        tail = dx_span_from(name, i);
        if (tail.data[0] == '.')
            return find_from_front(r, name, of, domain);
        begin[++labels] = i;
        flags = flags_at(r, hash, tail, of);
        if (labels > 1 && (flags != 0 ? (flags & EXCEPTION) == 0 : (before & WILDCARD) != 0))
            suffix = labels;
        /* The label in front of the suffix is there, and no rule is of more. An empty one farther in
         * front, which find_from_front is for, changes nothing then. */
        if (i == 0 || (suffix < labels && !may_be_within(r, hash)))
            break;
        hash = hash_step(hash, '.');
    }
    if (suffix >= labels)
        return 0;
    *domain = (struct dx_span){ name.data + begin[suffix + 1], name.size - begin[suffix + 1] };
    return 1;
}
