/* SPDX-License-Identifier: Apache-2.0
 * A batch of reads for several domains: where the store fails it, that is the error, and where it does not, the rows of
 * each are there.
 */
#include "query/scan/domains_ahead.h"

#include "loader/domain_pairs.h"
#include "query/view/lookup.h"
#include "query/view/view.h"
#include "tests/support/asker.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

#define DOMAINS 12
#define DATASETS 2
#define AHEAD 5

static unsigned failures;

static void add(const struct asker *a, struct dx_domains_ahead *ahead, unsigned i)
{
    const struct dx_view view = { a->v, NULL, false };
    struct dx_domain_pairs pairs = DX_DOMAIN_PAIRS_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_ahead_domain *s;
    struct dx_problem problem;
    struct dx_found found;
    char name[64];

    dx_test_root_domain(i, name);
    if (dx_lookup_domain(&view, a->canon, dx_span_str(name), &found, &problem) != 1 ||
        dx_view_pairs(&pairs, &view, found.part, found.ordinal, &err) < 0)
        abort();
    s = dx_domains_ahead_add(ahead, &found, DX_FIELD_URL, &err);
    if (s == NULL)
        abort();
    for (size_t k = 0; k < pairs.count; k++)
        if (dx_domain_rows_add(&s->rows, pairs.ids[k], &pairs.counts[k], NULL, &err) < 0)
            abort();
    if (dx_domain_rows_begin(&s->rows, 0, 1000, &err) < 0)
        abort();
    dx_domain_pairs_release(&pairs);
}

static int count_row(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    (void)row;
    (void)err;
    ++*(unsigned *)ctx;
    return DX_OK;
}

static void begin_dataset(void *ctx, uint32_t dataset_id)
{
    (void)ctx;
    (void)dataset_id;
}

/* All rows; the batch number `fails` does not come. Batches that there were. */
static unsigned read_all(const struct asker *a, unsigned fails)
{
    struct dx_domains_ahead ahead;
    struct dx_error err = DX_ERROR_INIT;
    unsigned batches = 0;
    unsigned i = 0;
    int rc = DX_LISTING_DONE;

    dx_domains_ahead_init(&ahead, a->v, 0);
    for (; i < AHEAD; i++)
        add(a, &ahead, i);
    for (i = 0; rc == DX_LISTING_DONE && i < AHEAD; i++) {
        struct dx_ahead_domain *s = dx_domains_ahead_first(&ahead);
        unsigned rows = 0;
        const struct dx_domain_rows_taker taker = { &rows, begin_dataset, count_row, NULL };

        while ((rc = dx_domains_ahead_step(&ahead, &err)) == DX_LISTING_WAITS) {
            int came = batches == fails
                           ? dx_fail(&err, DX_E_IO, "planted")
                           : dx_read_batch_perform(dx_domains_ahead_reading(&ahead), &err);

            rc = dx_domains_ahead_fetched(&ahead, came, &err);
            EXPECT(rc == (batches == fails ? (int)DX_E_IO : (int)DX_OK), "batch %u: %d %s", batches,
                   rc, err.text);
            if (batches++ == fails)
                break;
        }
        if (rc != DX_LISTING_DONE)
            break;
        EXPECT(dx_domain_rows_each(&s->rows, &taker, &err) == DX_OK &&
                   rows == dx_domain_rows_total(&s->rows),
               "domain %u: %u rows: %s", i, rows, err.text);
        dx_domains_ahead_pop(&ahead);
    }
    EXPECT(fails < batches ? rc == DX_E_IO : i == AHEAD, "%d after %u domains", rc, i);
    dx_domains_ahead_release(&ahead);
    return batches;
}

int main(void)
{
    struct dx_test_root r;
    struct asker a;
    unsigned fails = 0;
    unsigned batches;

    dx_test_root_make(&r, DOMAINS, DATASETS);
    do {
        open_asker(&a, r.path); /* nothing is in its caches */
        batches = read_all(&a, fails);
        close_asker(&a);
    } while (fails++ < batches); /* until all came before it */
    EXPECT(fails > 1, "nothing was read");
    dx_test_root_remove(&r);
    return failures > 0;
}
