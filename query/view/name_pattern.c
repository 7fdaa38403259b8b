/* SPDX-License-Identifier: Apache-2.0 */
#include "query/view/name_pattern.h"

#include "base/limits.h"

static bool is_name_byte(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

static bool is_wild(uint8_t c)
{
    return c == '*' || c == '?';
}

bool dx_name_pattern_check(struct dx_span match)
{
    for (size_t i = 0; i < match.size; i++)
        if (!is_name_byte(match.data[i]) && !is_wild(match.data[i]))
            return false;
    return match.size > 0 && match.size <= DX_DOMAIN_MAX;
}

bool dx_name_pattern_any(const struct dx_name_pattern *p)
{
    return p->prefix.size > 0 || p->match.data != NULL || p->regex.data != NULL;
}

/* Where a byte does not match, the last star takes one more; those before it need not change. */
static bool takes_wild(struct dx_span wild, struct dx_span name)
{
    size_t star = SIZE_MAX; /* place behind the last one */
    size_t taken = 0;       /* bytes of the name that are before what follows it */
    size_t w = 0;
    size_t n = 0;

    while (n < name.size) {
        if (w < wild.size && wild.data[w] == '*') {
            star = ++w;
            taken = n;
        } else if (w < wild.size && (wild.data[w] == '?' || wild.data[w] == name.data[n])) {
            w++;
            n++;
        } else if (star != SIZE_MAX) {
            w = star;
            n = ++taken;
        } else {
            return false;
        }
    }
    while (w < wild.size && wild.data[w] == '*')
        w++;
    return w == wild.size;
}

bool dx_name_pattern_takes(const struct dx_name_pattern *p, struct dx_span name)
{
    if (p->prefix.size > 0 &&
        (p->prefix.size > name.size || memcmp(name.data, p->prefix.data, p->prefix.size) != 0))
        return false;
    return p->match.data == NULL || takes_wild(p->match, name);
}

/* The longest stretch without wildcards and dots: labels are in a key as they are in the name. */
static struct dx_span longest_piece(struct dx_span text)
{
    struct dx_span best = { NULL, 0 };
    size_t begin = 0;

    for (size_t i = 0; i <= text.size; i++) {
        if (i < text.size && !is_wild(text.data[i]) && text.data[i] != '.')
            continue;
        if (i - begin > best.size)
            best = dx_span_of(text.data + begin, i - begin);
        begin = i + 1;
    }
    return best;
}

struct dx_span dx_name_pattern_needle(const struct dx_name_pattern *p)
{
    struct dx_span a = longest_piece(p->prefix);
    struct dx_span b = longest_piece(p->match);

    return a.size > b.size ? a : b;
}

/* "*bank.co.uk": co.uk. Not of what addresses end in too, whose keys are not turned. */
struct dx_span dx_name_pattern_suffix(const struct dx_name_pattern *p)
{
    size_t begin = p->match.size;
    size_t dot;

    while (begin > 0 && !is_wild(p->match.data[begin - 1]))
        begin--;
    dot = begin;
    while (dot < p->match.size && p->match.data[dot] != '.')
        dot++;
    if (dot + 1 >= p->match.size || p->match.data[p->match.size - 1] < 'a')
        return dx_span_of(NULL, 0);
    return dx_span_of(p->match.data + dot + 1, p->match.size - dot - 1);
}
