/* SPDX-License-Identifier: Apache-2.0
 * Names that a pattern takes, of a whole dictionary and of some of it, against names that are compared one by one; expressions that
 * cannot be one.
 */
#include "query/scan/name_scan.h"

#include <roaring/roaring.h>

#include "format/core/dictionary.h"
#include "loader/version_parts.h"
#include "query/view/problem.h"
#include "query/view/regex.h"
#include "tests/support/asker.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

#define DOMAINS 5000 /* more than a block */

static unsigned failures;

static bool is_taken(const struct dx_name_pattern *p, struct dx_regex *r, struct dx_span name)
{
    struct dx_error err = DX_ERROR_INIT;

    return dx_name_pattern_takes(p, name) && (r == NULL || dx_regex_matches(r, name, &err) == 1);
}

/* The same by names one after the other; of those in the set, unless it is NULL. */
static void take_slowly(const struct dx_dictionary *d, const struct dx_name_pattern *p,
                        uint64_t first, uint64_t end, const roaring_bitmap_t *among,
                        roaring_bitmap_t *found)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_problem problem;
    struct dx_regex_work work = { .most = UINT64_MAX };
    struct dx_regex *r = NULL;

    if (p->regex.data != NULL)
        EXPECT(dx_regex_new(&r, p->regex, 0, &work, &problem) == 1, "%s", problem.detail);
    for (uint64_t i = first; i < end; i++) {
        uint8_t name[DX_SURT_MAX];
        size_t size = 0;

        EXPECT(dx_dictionary_get(d, i, name, &size, &err) == 1, "%s", err.text);
        if (is_taken(p, r, dx_span_of(name, size)) &&
            (among == NULL || roaring_bitmap_contains(among, (uint32_t)(100 + i))))
            roaring_bitmap_add(found, (uint32_t)(100 + i));
    }
    dx_regex_free(&r);
}

/* step 0: all of them, else each step-th. */
static void check(const struct dx_dictionary *d, const struct dx_name_pattern *p, uint64_t first,
                  uint64_t end, unsigned step)
{
    roaring_bitmap_t *want = roaring_bitmap_create();
    roaring_bitmap_t *got = roaring_bitmap_create();
    roaring_bitmap_t *among = roaring_bitmap_create();
    struct dx_error err = DX_ERROR_INIT;
    struct dx_problem problem;
    struct dx_name_scan *s;
    int rc;

    for (uint64_t i = first; step > 0 && i < end; i += step)
        roaring_bitmap_add(among, (uint32_t)(100 + i));
    EXPECT(dx_name_scan_new(&s, p, &problem) == 1, "%s", problem.detail);
    rc = step == 0 ? dx_name_scan_range(s, d, first, end, 100, got, &err)
                   : dx_name_scan_numbers(s, d, first, end, 100, among, got, &err);
    if (step > 0)
        roaring_bitmap_and_inplace(got, among);
    take_slowly(d, p, first, end, step == 0 ? NULL : among, want);
    EXPECT(rc == DX_OK && roaring_bitmap_equals(want, got),
           "%.*s, each %u: %llu names, not %llu: %s", (int)p->match.size,
           (const char *)p->match.data, step,
           (unsigned long long)roaring_bitmap_get_cardinality(got),
           (unsigned long long)roaring_bitmap_get_cardinality(want), err.text);
    dx_name_scan_free(&s);
    roaring_bitmap_free(want);
    roaring_bitmap_free(got);
    roaring_bitmap_free(among);
}

static void check_refused(const char *regex)
{
    const struct dx_name_pattern p = { .regex = dx_span_str(regex) };
    struct dx_problem problem = { .slug = "" };
    struct dx_name_scan *s = NULL;

    EXPECT(dx_name_scan_new(&s, &p, &problem) == 0 && s == NULL &&
               problem.kind == DX_PROBLEM_BAD_REQUEST,
           "%s", regex);
}

int main(void)
{
    static const char *const match[] = { "*",   "*1*",  "*99*",  "*123*", "*12?4*", "*4321*",
                                         "?*?", "*0.*", "*.com", "zz*",   "*-*",    "*3.com" };
    struct dx_test_root root;
    const struct dx_dictionary *d;
    struct asker a;

    dx_test_root_make(&root, DOMAINS, 1);
    open_asker(&a, root.path);
    d = &a.v->parts[0].part->dictionary;
    EXPECT(d->info.n == DOMAINS, "%llu domains", (unsigned long long)d->info.n);
    for (size_t m = 0; m < sizeof match / sizeof *match; m++)
        for (unsigned step = 0; step < 40; step += 1 + step) {
            struct dx_name_pattern p = { .match = dx_span_str(match[m]) };

            check(d, &p, 0, d->info.n, step);
            check(d, &p, 17, d->info.n - 3, step);
            check(d, &p, 4000, 4001, step);
            p.regex = dx_span_str("[13579]");
            check(d, &p, 0, d->info.n, step);
        }
    check_refused("(");
    check_refused("(a)\\1");
    close_asker(&a);
    dx_test_root_remove(&root);
    return failures > 0;
}
