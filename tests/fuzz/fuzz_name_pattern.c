/* SPDX-License-Identifier: Apache-2.0
 * Patterns of names: first byte the size of the pattern, then it, then a name. What is taken is what a matcher that tries
 * everything takes; the needle is in the key of each name that is taken, and its suffix ends the name. Names with A-labels shown
 * in Unicode lead back to them.
 */
#include <stddef.h>
#include <stdlib.h>

#include "canon/idna.h"
#include "format/core/surt.h"
#include "query/view/name_pattern.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Rows of a table: whether the pattern up to w takes the name up to n. */
static bool takes_slowly(struct dx_span wild, struct dx_span name)
{
    static bool row[2][DX_SURT_MAX + 1];

    for (size_t n = 0; n <= name.size; n++)
        row[0][n] = n == 0;
    for (size_t w = 0; w < wild.size; w++) {
        bool *is = row[(w + 1) % 2];
        const bool *was = row[w % 2];

        is[0] = wild.data[w] == '*' && was[0];
        for (size_t n = 1; n <= name.size; n++)
            is[n] = wild.data[w] == '*'
                        ? was[n] || is[n - 1]
                        : was[n - 1] && (wild.data[w] == '?' || wild.data[w] == name.data[n - 1]);
    }
    return row[wild.size % 2][name.size];
}

static void check_key(const struct dx_name_pattern *p, struct dx_span name)
{
    struct dx_span needle = dx_name_pattern_needle(p);
    struct dx_span suffix = dx_name_pattern_suffix(p);
    uint8_t key[DX_SURT_MAX];
    size_t size = dx_surt_key(name, key);

    if (size == 0)
        return;
    if (needle.size > 0 && memmem(key, size, needle.data, needle.size) == NULL)
        abort();
    if (suffix.data != NULL &&
        (suffix.size >= name.size ||
         memcmp(name.data + name.size - suffix.size, suffix.data, suffix.size) != 0 ||
         name.data[name.size - suffix.size - 1] != '.'))
        abort();
}

static void show(struct dx_span name)
{
    uint8_t text[DX_IDNA_UTF8_MAX];
    uint8_t again[DX_SURT_MAX];
    enum dx_reject why;
    size_t size;
    size_t again_size;

    if (dx_idna_to_unicode(name, text, sizeof text, &size) == 0)
        return;
    if (dx_idna_to_ascii(dx_span_of(text, size), again, sizeof again, &again_size, &why) == 0 ||
        !dx_span_equal(dx_span_of(again, again_size), name))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_name_pattern p = { .prefix = { NULL, 0 } };
    struct dx_span name;
    size_t n;

    if (size < 2 || size - 1 < data[0])
        return 0;
    n = data[0];
    p.match = dx_span_of(data + 1, n);
    name = dx_span_of(data + 1 + n, size - 1 - n);
    if (!dx_name_pattern_check(p.match) || name.size == 0 || name.size >= DX_SURT_MAX)
        return 0;
    if (dx_name_pattern_takes(&p, name) != takes_slowly(p.match, name))
        abort();
    if (dx_name_pattern_takes(&p, name) && memchr(name.data, ' ', name.size) == NULL)
        check_key(&p, name);
    show(name);
    return 0;
}
