/* SPDX-License-Identifier: Apache-2.0 */
#include "query/scan/domains_ahead.h"

#include "loader/version.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void dx_domains_ahead_init(struct dx_domains_ahead *a, struct dx_version *v, uint64_t deadline_ms)
{
    *a = (struct dx_domains_ahead){ .version = v, .deadline_ms = deadline_ms };
    dx_read_batch_begin(&a->reading, v, NULL, deadline_ms);
}

/* ---- domains ---- */

bool dx_domains_ahead_has_room(const struct dx_domains_ahead *a)
{
    uint64_t rows = 0;
    size_t pairs = 0;

    for (size_t i = 0; i < a->count; i++) {
        rows += dx_domain_rows_total(&a->domains[i]->rows);
        pairs += a->domains[i]->rows.pair_count;
    }
    return a->count == 0 ||
           (a->count < DX_AHEAD_DOMAINS && pairs < DX_AHEAD_PAIRS && rows < DX_AHEAD_ROWS);
}

struct dx_ahead_domain *dx_domains_ahead_add(struct dx_domains_ahead *a,
                                             const struct dx_found *found, unsigned fields,
                                             struct dx_error *err)
{
    struct dx_ahead_domain *s = calloc(1, sizeof *s);

    assert(a->count < DX_AHEAD_DOMAINS);
    if (s == NULL) {
        (void)dx_no_memory(err, "listing");
        return NULL;
    }
    s->found = *found;
    dx_domain_rows_init(&s->rows, a->version, found->part, found->ordinal, fields, a->deadline_ms);
    s->rows.plan_only = true;
    a->domains[a->count++] = s;
    return s;
}

void dx_ahead_domain_filter(struct dx_ahead_domain *s, const struct dx_filtered_domain_ask *ask,
                            const struct dx_domain_rows_taker *taker)
{
    assert(!s->is_filtered);
    dx_filtered_domain_init(&s->filtered, &s->rows, ask, taker);
    s->filtered.hold = true;
    s->is_filtered = true;
}

void dx_ahead_domain_again(struct dx_ahead_domain *s)
{
    if (s->is_filtered)
        dx_filtered_domain_release(&s->filtered);
    else
        dx_domain_rows_rewind(&s->rows);
    s->rows.plan_only = true;
    s->is_filtered = s->ready = s->planned = s->waits = false;
}

void dx_ahead_domain_give(struct dx_ahead_domain *s)
{
    assert(s->is_filtered && s->filtered.hold && s->ready);
    s->filtered.hold = s->ready = false;
}

static void free_domain(struct dx_ahead_domain *s)
{
    if (s->is_filtered)
        dx_filtered_domain_release(&s->filtered);
    dx_domain_rows_release(&s->rows);
    dx_suppression_view_release(&s->withheld);
    dx_row_number_end(&s->numbers);
    free(s);
}

void dx_domains_ahead_drop(struct dx_domains_ahead *a)
{
    assert(a->count > 0);
    free_domain(a->domains[--a->count]);
}

struct dx_ahead_domain *dx_domains_ahead_first(struct dx_domains_ahead *a)
{
    return a->count > 0 ? a->domains[0] : NULL;
}

void dx_domains_ahead_pop(struct dx_domains_ahead *a)
{
    assert(a->count > 0);
    free_domain(a->domains[0]);
    a->count--;
    memmove(a->domains, a->domains + 1, a->count * sizeof a->domains[0]);
}

void dx_domains_ahead_release(struct dx_domains_ahead *a)
{
    while (a->count > 0)
        dx_domains_ahead_drop(a);
    dx_read_batch_release(&a->reading);
}

/* ---- reading ---- */

static struct dx_read_batch *reading_of(struct dx_ahead_domain *s)
{
    return s->is_filtered ? dx_filtered_domain_reading(&s->filtered)
                          : dx_domain_rows_reading(&s->rows);
}

/* Pages of those before it that are read in the same batches. */
static bool is_too_much(const struct dx_domains_ahead *a, size_t i)
{
    uint64_t bytes = 0;
    unsigned pages = 0;

    for (size_t k = 0; k <= i; k++) {
        bytes += a->domains[k]->planned ? a->domains[k]->rows.listing.read_bytes : 0;
        pages += a->domains[k]->planned ? a->domains[k]->rows.listing.reads : 0;
    }
    return i > 0 && (bytes > DX_AHEAD_BYTES || pages > DX_AHEAD_PAGES);
}

/* DX_LISTING_WAITS: it waits for something; DX_LISTING_DONE: it is ready, or has to wait for its turn. */
static int step_domain(struct dx_domains_ahead *a, size_t i, struct dx_error *err)
{
    struct dx_ahead_domain *s = a->domains[i];
    int rc = DX_LISTING_DONE;

    if (s->is_filtered) {
        rc = dx_filtered_domain_step(&s->filtered, err);
        s->ready = rc == DX_LISTING_DONE;
        return rc;
    }
    if (!s->planned)
        rc = dx_domain_rows_step(&s->rows, err);
    if (rc != DX_LISTING_DONE)
        return rc;
    s->planned = true;
    if (is_too_much(a, i))
        return DX_LISTING_DONE;
    s->rows.plan_only = false;
    rc = dx_domain_rows_step(&s->rows, err);
    s->ready = rc == DX_LISTING_DONE;
    return rc;
}

/* All reads of one source that something waits for; there are others' blocks to wait for only where nothing is to be read. */
static int join_reads(struct dx_domains_ahead *a, struct dx_error *err)
{
    struct dx_source *source = NULL;
    struct dx_flight *flight = NULL;
    int rc = DX_OK;

    for (size_t i = 0; i < a->count && source == NULL; i++) {
        struct dx_read_batch *its = reading_of(a->domains[i]);

        if (a->domains[i]->waits && dx_read_batch_state(its) == DX_READ_BATCH_READ)
            source = its->source;
        else if (a->domains[i]->waits && flight == NULL)
            flight = its->flight;
    }
    dx_read_batch_begin(&a->reading, a->version, source, a->deadline_ms);
    for (size_t i = 0; rc == DX_OK && i < a->count && source != NULL; i++) {
        struct dx_read_batch *its = reading_of(a->domains[i]);

        if (a->domains[i]->waits && its->source == source)
            rc = dx_read_batch_move(&a->reading, its, err);
    }
    if (source == NULL && flight != NULL)
        dx_read_batch_wait(&a->reading, flight);
    return rc;
}

/* One whose reads were not moved waits on. */
static void wake(struct dx_domains_ahead *a)
{
    for (size_t i = 0; i < a->count; i++)
        if (dx_read_batch_state(reading_of(a->domains[i])) != DX_READ_BATCH_READ)
            a->domains[i]->waits = false;
}

int dx_domains_ahead_step(struct dx_domains_ahead *a, struct dx_error *err)
{
    int rc;

    assert(a->count > 0);
    for (size_t i = 0; i < a->count; i++) {
        struct dx_ahead_domain *s = a->domains[i];

        if (s->ready || s->waits)
            continue;
        rc = step_domain(a, i, &s->err);
        s->ready = s->ready || rc < 0;
        s->waits = rc == DX_LISTING_WAITS;
    }
    if (a->domains[0]->err.code != DX_OK)
        *err = a->domains[0]->err;
    if (a->domains[0]->ready)
        return a->domains[0]->err.code != DX_OK ? (int)err->code : DX_LISTING_DONE;
    rc = join_reads(a, err);
    if (dx_read_batch_state(&a->reading) == DX_READ_BATCH_DONE)
        wake(a);
    return rc < 0 ? rc : DX_LISTING_WAITS;
}

void dx_domains_ahead_wait_for_nothing(struct dx_domains_ahead *a)
{
    dx_read_batch_begin(&a->reading, a->version, NULL, a->deadline_ms);
}

struct dx_read_batch *dx_domains_ahead_reading(struct dx_domains_ahead *a)
{
    return &a->reading;
}

int dx_domains_ahead_fetched(struct dx_domains_ahead *a, int rc, struct dx_error *err)
{
    rc = dx_read_batch_fetched(&a->reading, rc, err);
    if (rc < 0)
        dx_block_request_failed(&a->reading, err);
    else
        wake(a);
    return rc;
}
