/* SPDX-License-Identifier: Apache-2.0
 * Windows of rows over several datasets: one ends at a long hidden stretch, and rows of later datasets do not come before those behind it.
 */
#include "query/scan/domain_rows.h"

#include "query/suppression/suppression_view.h"
#include "tests/support/asker.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

static unsigned failures;

int main(void)
{
    static const struct {
        uint64_t offset, limit;
        size_t segments;
        struct {
            size_t pair;
            uint64_t first, end; /* of its rows; end 0: as many as a page may have */
        } want[2];
    } rows[] = {
        { 0, 10, 1, { { 0, 0, 10 } } },
        { 5, 10, 1, { { 0, 5, 0 } } }, /* five rows, then those that are hidden */
        { 10, 10, 1, { { 0, 1000010, 1000020 } } },
        { 15, 10, 2, { { 0, 1000015, 1000020 }, { 1, 0, 5 } } },
        { 20, 10, 1, { { 1, 0, 7 } } },
        { 27, 10, 0, { { 0, 0, 0 } } },
    };
    const struct dx_pair_count counts[2] = { { .row_count = 1000020 }, { .row_count = 7 } };
    struct dx_suppression_range range = { 10, 1000010, 0 };
    const struct dx_suppression_pair hidden = { .dataset_id = 1,
                                                .row_count = 1000020,
                                                .visible = { .row_count = 20 },
                                                .ranges = &range,
                                                .range_count = 1 };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_domain_rows r;
    struct dx_test_root root;
    struct asker a;

    dx_test_root_make(&root, 3, 1);
    open_asker(&a, root.path);
    dx_domain_rows_init(&r, a.v, dx_version_own(a.v), 0, DX_FIELD_URL, 0);
    EXPECT(dx_domain_rows_add(&r, 1, &counts[0], &hidden, &err) == DX_OK &&
               dx_domain_rows_add(&r, 2, &counts[1], NULL, &err) == DX_OK,
           "%s", err.text);
    EXPECT(dx_domain_rows_total(&r) == 27, "%llu visible rows",
           (unsigned long long)dx_domain_rows_total(&r));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        EXPECT(dx_domain_rows_begin(&r, rows[i].offset, rows[i].limit, &err) == DX_OK, "%s",
               err.text);
        EXPECT(r.segment_count == rows[i].segments, "row %zu: %zu datasets", i, r.segment_count);
        for (size_t k = 0; k < r.segment_count && k < rows[i].segments; k++) {
            const struct dx_domain_rows_segment *s = &r.segments[k];
            uint64_t end = rows[i].want[k].end == 0 ? rows[i].want[k].first + DX_LIMIT_MAX
                                                    : rows[i].want[k].end;

            EXPECT(s->pair == rows[i].want[k].pair && s->window.offset == rows[i].want[k].first &&
                       s->window.offset + s->window.limit == end,
                   "row %zu: rows %llu and %llu more of dataset %zu", i,
                   (unsigned long long)s->window.offset, (unsigned long long)s->window.limit,
                   s->pair + 1);
        }
        dx_domain_rows_rewind(&r);
    }
    dx_domain_rows_release(&r);
    close_asker(&a);
    dx_test_root_remove(&root);
    return failures > 0;
}
