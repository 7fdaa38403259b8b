/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/exchange/queue/gaps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANGES_MAX 8 /* that are said */

void dx_gaps_clear(struct dx_gaps *g)
{
    g->key[0] = '\0';
    g->n = 0;
    g->too_many = false;
}

void dx_gaps_add(struct dx_gaps *g, const char *key, uint32_t expected, uint32_t count,
                 const struct dx_segment *s)
{
    if (g->key[0] == '\0')
        (void)snprintf(g->key, sizeof g->key, "%s", key);
    else if (strcmp(g->key, key) != 0)
        return;
    g->expected = expected;
    g->count = count;
    g->last = (struct dx_segment){ s->sequence, s->count, { NULL, 0 } };
    if (s->count != count || s->sequence < expected)
        return;
    if (g->n < DX_GAPS_MAX)
        g->seen[g->n++] = s->sequence;
    else
        g->too_many = true;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a;
    const uint32_t y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

struct words {
    char *text;
    size_t size;
    size_t used;
};

static void add_range(struct words *w, unsigned ranges, uint32_t from, uint32_t to)
{
    const char *before = ranges == 0 ? "" : ", ";
    int n = 0;

    if (w->used < w->size && ranges < RANGES_MAX)
        n = from == to
                ? snprintf(w->text + w->used, w->size - w->used, "%s%u", before, from)
                : snprintf(w->text + w->used, w->size - w->used, "%s%u-%u", before, from, to);
    else if (w->used < w->size && ranges == RANGES_MAX)
        n = snprintf(w->text + w->used, w->size - w->used, " and others");
    w->used += n > 0 ? (size_t)n : 0;
}

void dx_gaps_words(struct dx_gaps *g, bool all, char *text, size_t size)
{
    struct words w = { text, size, 0 };
    uint32_t next = g->expected;
    unsigned ranges = 0;

    if (!all || g->too_many || g->n == 0 || g->last.count != g->count) {
        (void)snprintf(text, size, "segment %u of %u was expected, segment %u of %u is there%s",
                       g->expected, g->count, g->last.sequence, g->last.count,
                       g->last.count == g->count && g->last.sequence < g->expected
                           ? ", which has come before with other bytes"
                           : "");
        return;
    }
    qsort(g->seen, g->n, sizeof *g->seen, by_number);
    w.used = (size_t)snprintf(text, size, "of %u segments are missing: ", g->count);
    for (size_t i = 0; i < g->n; i++) {
        if (g->seen[i] > next)
            add_range(&w, ranges++, next, g->seen[i] - 1);
        if (g->seen[i] >= next)
            next = g->seen[i] + 1;
    }
    if (next < g->count)
        add_range(&w, ranges, next, g->count - 1);
}
