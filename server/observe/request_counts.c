/* SPDX-License-Identifier: Apache-2.0 */
#include "server/observe/request_counts.h"

#include "server/observe/metric_text.h"
#include "server/observe/record_names.h"

#include <stdio.h>
#include <string.h>

static const int statuses[DX_COUNTED_STATUS] = { 200, 404, 304, 0,   400, 401, 403, 405, 408,
                                                 409, 410, 411, 413, 414, 415, 417, 422, 429,
                                                 431, 451, 500, 501, 502, 503, 504, 505, -1 };

static void grow(_Atomic uint64_t *number, uint64_t by)
{
    atomic_store_explicit(number, atomic_load_explicit(number, memory_order_relaxed) + by,
                          memory_order_relaxed);
}

static uint64_t value(const _Atomic uint64_t *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

static size_t bounded(size_t i, size_t count)
{
    return i < count ? i : count - 1;
}

static size_t status_index(int status)
{
    size_t i = 0;

    while (i < DX_COUNTED_STATUS - 1 && statuses[i] != status)
        i++;
    return i;
}

static void count_problem(struct dx_request_counts *c, const char *slug)
{
    size_t i = 0;

    for (; i < DX_COUNTED_SLUGS - 1; i++) {
        const char *known = atomic_load_explicit(&c->problems[i].slug, memory_order_relaxed);

        if (known == NULL)
            atomic_store_explicit(&c->problems[i].slug, slug, memory_order_release);
        if (known == NULL || known == slug || strcmp(known, slug) == 0)
            break;
    }
    if (i == DX_COUNTED_SLUGS - 1)
        atomic_store_explicit(&c->problems[i].slug, "other", memory_order_release);
    grow(&c->problems[i].count, 1);
}

void dx_request_counts_begin(struct dx_request_counts *c)
{
    grow(&c->begun, 1);
}

/* The client's part of it, to send a head and to take a reply, is left out: else who sends slowly
 * would look like a slow server. */
static int64_t duration_us(const struct dx_request_record *r)
{
    return r->stage_us[DX_STAGE_QUEUE] + r->stage_us[DX_STAGE_ANSWER] +
           r->stage_us[DX_STAGE_STORAGE];
}

void dx_request_counts_end(struct dx_request_counts *c, const struct dx_request_record *r)
{
    size_t route = bounded((size_t)r->route, DX_COUNTED_ROUTES);
    size_t method = (size_t)r->method < DX_COUNTED_METHODS ? (size_t)r->method : DX_METHOD_NONE;

    grow(&c->ended, 1);
    grow(&c->by_status[route][method][status_index(r->status)], 1);
    grow(&c->sent_bytes[route], r->sent_bytes);
    if (r->body_bytes > 0)
        grow(&c->body_bytes, r->body_bytes);
    grow(&c->by_from[bounded((size_t)r->from, DX_COUNTED_FROM)], 1);
    if (r->fault != DX_IDENTITY_WELL && r->fault < DX_IDENTITY_FAULTS && r->status >= 400)
        grow(&c->by_fault[r->fault], 1);
    if (r->status != 0)
        dx_histogram_add(&c->duration[route], duration_us(r));
    if (r->from == DX_FROM_WORKER)
        dx_histogram_add(&c->queue, r->stage_us[DX_STAGE_QUEUE]);
    if (r->refusal != NULL)
        count_problem(c, r->refusal);
}

/* ---- out ---- */

static void write_requests(const struct dx_request_counts *const *all, unsigned count,
                           struct dx_buf *out)
{

    dx_metric_head(out, DX_METRIC_HTTP_REQUESTS_TOTAL);
    for (size_t route = 0; route < DX_COUNTED_ROUTES; route++)
        for (size_t method = 0; method < DX_COUNTED_METHODS; method++)
            for (size_t status = 0; status < DX_COUNTED_STATUS; status++) {
                char labels[128];
                uint64_t n = 0;

                for (unsigned i = 0; i < count; i++)
                    n += value(&all[i]->by_status[route][method][status]);
                if (n == 0)
                    continue;
                (void)snprintf(labels, sizeof labels, "route=\"%s\",method=\"%s\",code=\"%d\"",
                               dx_route_name((enum dx_route_id)route),
                               dx_method_name((enum dx_method)method), statuses[status]);
                dx_metric(out, DX_METRIC_HTTP_REQUESTS_TOTAL, labels, n);
            }
}

static void write_durations(const struct dx_request_counts *const *all, unsigned count,
                            struct dx_buf *out)
{

    dx_metric_head(out, DX_METRIC_HTTP_REQUEST_DURATION_SECONDS);
    for (size_t route = 0; route < DX_COUNTED_ROUTES; route++) {
        struct dx_histogram_sum sum = { .count = 0 };
        char label[64];

        for (unsigned i = 0; i < count; i++)
            dx_histogram_sum_add(&sum, &all[i]->duration[route]);
        if (sum.count == 0)
            continue;
        (void)snprintf(label, sizeof label, "route=\"%s\"", dx_route_name((enum dx_route_id)route));
        dx_histogram_write(&sum, DX_METRIC_HTTP_REQUEST_DURATION_SECONDS, label, out);
    }
}

static void write_sent(const struct dx_request_counts *const *all, unsigned count,
                       struct dx_buf *out)
{
    uint64_t received = 0;

    dx_metric_head(out, DX_METRIC_HTTP_RESPONSE_BYTES_TOTAL);
    for (size_t route = 0; route < DX_COUNTED_ROUTES; route++) {
        uint64_t n = 0;
        char label[64];

        for (unsigned i = 0; i < count; i++)
            n += value(&all[i]->sent_bytes[route]);
        (void)snprintf(label, sizeof label, "route=\"%s\"", dx_route_name((enum dx_route_id)route));
        if (n > 0)
            dx_metric(out, DX_METRIC_HTTP_RESPONSE_BYTES_TOTAL, label, n);
    }
    for (unsigned i = 0; i < count; i++)
        received += value(&all[i]->body_bytes);
    dx_metric_one(out, DX_METRIC_HTTP_REQUEST_BODY_BYTES_TOTAL, received);
}

static void write_sources(const struct dx_request_counts *const *all, unsigned count,
                          struct dx_buf *out)
{

    dx_metric_head(out, DX_METRIC_HTTP_ANSWERS_TOTAL);
    for (size_t from = 0; from < DX_COUNTED_FROM; from++) {
        uint64_t n = 0;
        char label[64];

        for (unsigned i = 0; i < count; i++)
            n += value(&all[i]->by_from[from]);
        (void)snprintf(label, sizeof label, "from=\"%s\"",
                       dx_answer_from_name((enum dx_answer_from)from));
        dx_metric(out, DX_METRIC_HTTP_ANSWERS_TOTAL, label, n);
    }
}

static void write_faults(const struct dx_request_counts *const *all, unsigned count,
                         struct dx_buf *out)
{

    dx_metric_head(out, DX_METRIC_AUTH_FAILURES_TOTAL);
    for (size_t fault = DX_IDENTITY_WELL + 1; fault < DX_IDENTITY_FAULTS; fault++) {
        uint64_t n = 0;
        char label[64];

        for (unsigned i = 0; i < count; i++)
            n += value(&all[i]->by_fault[fault]);
        (void)snprintf(label, sizeof label, "reason=\"%s\"",
                       dx_identity_fault_name((enum dx_identity_fault)fault));
        dx_metric(out, DX_METRIC_AUTH_FAILURES_TOTAL, label, n);
    }
}

/* What all loops counted of one slug. */
static uint64_t problem_sum(const struct dx_request_counts *const *all, unsigned count,
                            const char *slug)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < count; i++)
        for (size_t k = 0; k < DX_COUNTED_SLUGS; k++) {
            const char *known = atomic_load_explicit(&all[i]->problems[k].slug,
                                                     memory_order_acquire);

            if (known != NULL && strcmp(known, slug) == 0)
                n += value(&all[i]->problems[k].count);
        }
    return n;
}

/* Whether a loop before this one, or this one further up, has the slug. */
static bool is_written(const struct dx_request_counts *const *all, unsigned loop, size_t place,
                       const char *slug)
{
    for (unsigned i = 0; i <= loop; i++)
        for (size_t k = 0; k < (i == loop ? place : DX_COUNTED_SLUGS); k++) {
            const char *known = atomic_load_explicit(&all[i]->problems[k].slug,
                                                     memory_order_acquire);

            if (known != NULL && strcmp(known, slug) == 0)
                return true;
        }
    return false;
}

/* Of these a single one is too many (packaging/prometheus/alerts.yaml), and increase() knows
 * nothing of a series that begins with 1: they are there from the start. */
static const char *const always[] = { "data-damaged", "data-missing", "data-replaced" };

static bool is_always(const char *slug)
{
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        if (strcmp(always[i], slug) == 0)
            return true;
    return false;
}

static void write_problem(const struct dx_request_counts *const *all, unsigned count,
                          const char *slug, struct dx_buf *out)
{
    char label[96];

    (void)snprintf(label, sizeof label, "slug=\"%s\"", slug);
    dx_metric(out, DX_METRIC_HTTP_PROBLEMS_TOTAL, label, problem_sum(all, count, slug));
}

static void write_problems(const struct dx_request_counts *const *all, unsigned count,
                           struct dx_buf *out)
{
    dx_metric_head(out, DX_METRIC_HTTP_PROBLEMS_TOTAL);
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        write_problem(all, count, always[i], out);
    for (unsigned i = 0; i < count; i++)
        for (size_t k = 0; k < DX_COUNTED_SLUGS; k++) {
            const char *slug = atomic_load_explicit(&all[i]->problems[k].slug,
                                                    memory_order_acquire);

            if (slug != NULL && !is_always(slug) && !is_written(all, i, k, slug))
                write_problem(all, count, slug, out);
        }
}

void dx_request_counts_write(const struct dx_request_counts *const *all, unsigned count,
                             struct dx_buf *out)
{
    struct dx_histogram_sum queue = { .count = 0 };
    uint64_t begun = 0;
    uint64_t ended = 0;

    /* Ends first, so that their number is never the larger one. */
    for (unsigned i = 0; i < count; i++)
        ended += value(&all[i]->ended);
    for (unsigned i = 0; i < count; i++)
        begun += value(&all[i]->begun);
    write_requests(all, count, out);
    write_durations(all, count, out);
    write_sent(all, count, out);
    write_sources(all, count, out);
    write_problems(all, count, out);
    write_faults(all, count, out);
    dx_metric_one(out, DX_METRIC_HTTP_REQUESTS_IN_FLIGHT, begun > ended ? begun - ended : 0);
    for (unsigned i = 0; i < count; i++)
        dx_histogram_sum_add(&queue, &all[i]->queue);
    dx_metric_head(out, DX_METRIC_WORKER_QUEUE_WAIT_SECONDS);
    dx_histogram_write(&queue, DX_METRIC_WORKER_QUEUE_WAIT_SECONDS, NULL, out);
}
