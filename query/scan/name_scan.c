/* SPDX-License-Identifier: Apache-2.0 */
#include "query/scan/name_scan.h"

#include "base/few_bytes.h"
#include "format/core/dictionary.h"
#include "query/view/problem.h"
#include "query/view/regex.h"

#include <assert.h>
#include <roaring/roaring.h>
#include <stdlib.h>

#define BLOCK_KEYS 4096
#define BLOCK_BYTES (BLOCK_KEYS * 24u) /* of usual keys, and their ends */
#define KEY_END '\n'                   /* no key has it */
#define REGEX_STRETCH 512 /* names: of those that take 8000 steps each, DX_REGEX_STEPS_PAGE */
#define SPARSE 16         /* of so many keys one is wanted: a seek costs as much as decoding them */

struct dx_name_scan {
    struct dx_name_pattern pattern;
    struct dx_span needle;
    struct dx_regex *regex; /* NULL: none */
    struct dx_regex_work work;
    uint32_t keys;
    uint32_t starts[BLOCK_KEYS + 1]; /* of keys, in text */
    uint8_t text[BLOCK_BYTES];
};

int dx_name_scan_new(struct dx_name_scan **s, const struct dx_name_pattern *pattern,
                     struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = 1;

    *s = malloc(sizeof **s);
    if (*s == NULL) {
        (void)dx_no_memory(&err, "scan of names");
        return dx_problem_of_error(problem, &err);
    }
    (*s)->pattern = *pattern;
    (*s)->needle = dx_name_pattern_needle(pattern);
    (*s)->regex = NULL;
    (*s)->work = (struct dx_regex_work){ .most = DX_REGEX_STEPS_ANSWER };
    if (pattern->regex.data != NULL)
        rc = dx_regex_new(&(*s)->regex, pattern->regex, DX_REGEX_CASELESS, &(*s)->work, problem);
    if (rc != 1)
        dx_name_scan_free(s);
    return rc;
}

void dx_name_scan_free(struct dx_name_scan **s)
{
    if (*s != NULL)
        dx_regex_free(&(*s)->regex);
    free(*s);
    *s = NULL;
}

bool dx_name_scan_is_enough(const struct dx_name_scan *s)
{
    return dx_regex_work_is_enough(&s->work);
}

uint64_t dx_name_scan_stretch(const struct dx_name_scan *s)
{
    return s->regex == NULL ? UINT64_MAX : REGEX_STRETCH;
}

/* 1 or 0. */
static int takes_name(const struct dx_name_scan *s, struct dx_span name, struct dx_error *err)
{
    if (!dx_name_pattern_takes(&s->pattern, name))
        return 0;
    return s->regex == NULL ? 1 : dx_regex_matches(s->regex, name, err);
}

/* ---- all keys of a range ---- */

/* The next keys, up to the end, one behind the other. */
static int fill_block(struct dx_name_scan *s, struct dx_dictionary_cursor *c, uint64_t end,
                      struct dx_error *err)
{
    struct dx_span key;
    size_t size = 0;
    int rc = 1;

    s->keys = 0;
    while (c->ordinal < end && s->keys < BLOCK_KEYS && size + DX_SURT_MAX < BLOCK_BYTES &&
           (rc = dx_dictionary_next(c, &key, err)) == 1) {
        s->starts[s->keys++] = (uint32_t)size;
        dx_few_copy(s->text + size, key.data, key.size);
        size += key.size;
        s->text[size++] = KEY_END;
    }
    s->starts[s->keys] = (uint32_t)size;
    if (rc == 0)
        return dx_fail(err, DX_E_CORRUPT, "%s: ends at domain %llu, before domain %llu",
                       c->dictionary->envelope.name, (unsigned long long)c->ordinal,
                       (unsigned long long)end);
    return rc < 0 ? rc : DX_OK;
}

static int take_key(const struct dx_name_scan *s, uint32_t i, uint64_t number,
                    roaring_bitmap_t *found, struct dx_error *err)
{
    struct dx_span key = dx_span_of(s->text + s->starts[i], s->starts[i + 1] - 1 - s->starts[i]);
    uint8_t name[DX_SURT_MAX];
    size_t size = dx_surt_domain(key, name);
    int rc = size == 0 ? 0 : takes_name(s, dx_span_of(name, size), err);

    if (rc == 1)
        roaring_bitmap_add(found, (uint32_t)number);
    return rc < 0 ? rc : DX_OK;
}

#define WINDOW 64 /* bytes that are looked at together */

/* Where the needle may begin: from there on its first and its last byte are where they should be. Plain C that compilers
 * make vectors of; memmem takes four times as long for the few bytes of a needle. */
static size_t pass_others(const struct dx_name_scan *s, size_t at, size_t size)
{
    size_t last = s->needle.size - 1;
    uint8_t a = s->needle.data[0], b = s->needle.data[last];

    while (at + WINDOW + last <= size) {
        const uint8_t *t = s->text + at;
        uint8_t any = 0;

        for (size_t i = 0; i < WINDOW; i++)
            any |= (uint8_t)((t[i] == a) & (t[i + last] == b));
        if (any != 0)
            break;
        at += WINDOW;
    }
    return at;
}

static const uint8_t *find_needle(const struct dx_name_scan *s, size_t at, size_t size)
{
    size_t last = s->needle.size - 1;

    assert(s->needle.size > 0);
    while ((at = pass_others(s, at, size)) + WINDOW + last <= size) {
        const uint8_t *hit = memmem(s->text + at, WINDOW + last, s->needle.data, s->needle.size);

        if (hit != NULL)
            return hit;
        at += WINDOW;
    }
    return at >= size ? NULL : memmem(s->text + at, size - at, s->needle.data, s->needle.size);
}

static int search_block(const struct dx_name_scan *s, uint64_t number, roaring_bitmap_t *found,
                        struct dx_error *err)
{
    size_t size = s->starts[s->keys];
    size_t at = 0;
    uint32_t i = 0;
    int rc = DX_OK;

    while (rc == DX_OK && at < size) {
        const uint8_t *hit = find_needle(s, at, size);

        if (hit == NULL)
            break;
        while (s->starts[i + 1] <= (size_t)(hit - s->text))
            i++;
        rc = take_key(s, i, number + i, found, err);
        at = s->starts[++i];
    }
    return rc;
}

int dx_name_scan_range(struct dx_name_scan *s, const struct dx_dictionary *d, uint64_t first,
                       uint64_t end, uint64_t base, roaring_bitmap_t *found, struct dx_error *err)
{
    struct dx_dictionary_cursor c;
    int rc = DX_OK;

    if (first >= end)
        return DX_OK;
    dx_dictionary_seek(&c, d, first);
    while (rc == DX_OK && first < end) {
        rc = fill_block(s, &c, end, err);
        if (rc == DX_OK && s->needle.size > 0)
            rc = search_block(s, base + first, found, err);
        for (uint32_t i = 0; rc == DX_OK && s->needle.size == 0 && i < s->keys; i++)
            rc = take_key(s, i, base + first + i, found, err);
        first += s->keys;
    }
    return rc;
}

/* ---- some of them ---- */

static int try_number(const struct dx_name_scan *s, const struct dx_dictionary *d, uint64_t ordinal,
                      uint64_t number, roaring_bitmap_t *found, struct dx_error *err)
{
    uint8_t name[DX_SURT_MAX];
    size_t size;
    int rc = dx_dictionary_get(d, ordinal, name, &size, err);

    if (rc == 1)
        rc = takes_name(s, dx_span_of(name, size), err);
    if (rc == 1)
        roaring_bitmap_add(found, (uint32_t)number);
    return rc < 0 ? rc : DX_OK;
}

int dx_name_scan_numbers(struct dx_name_scan *s, const struct dx_dictionary *d, uint64_t first,
                         uint64_t end, uint64_t base, const roaring_bitmap_t *among,
                         roaring_bitmap_t *found, struct dx_error *err)
{
    uint64_t count = roaring_bitmap_range_cardinality(among, base + first, base + end);
    roaring_uint32_iterator_t it;
    int rc = DX_OK;

    assert(first <= end);
    if (count > (end - first) / SPARSE)
        return dx_name_scan_range(s, d, first, end, base, found, err);
    roaring_init_iterator(among, &it);
    if (count > 0)
        (void)roaring_move_uint32_iterator_equalorlarger(&it, (uint32_t)(base + first));
    for (uint64_t i = 0; rc == DX_OK && i < count; i++) {
        rc = try_number(s, d, it.current_value - base, it.current_value, found, err);
        (void)roaring_advance_uint32_iterator(&it);
    }
    return rc;
}
