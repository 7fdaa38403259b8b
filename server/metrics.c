/* SPDX-License-Identifier: Apache-2.0 */
#include "server/metrics.h"

#include "base/log.h"
#include "server/loop.h"
#include "server/process_metrics.h"
#include "server/request_log.h"

void dx_metric_head(struct dx_buf *out, const char *name, const char *type, const char *help)
{
    dx_buf_fmt(out, "# HELP %s %s.\n# TYPE %s %s\n", name, help, name, type);
}

void dx_metric(struct dx_buf *out, const char *name, const char *labels, uint64_t value)
{
    if (labels == NULL)
        dx_buf_fmt(out, "%s %llu\n", name, (unsigned long long)value);
    else
        dx_buf_fmt(out, "%s{%s} %llu\n", name, labels, (unsigned long long)value);
}

void dx_metric_seconds(struct dx_buf *out, const char *name, const char *labels, double value)
{
    if (labels == NULL)
        dx_buf_fmt(out, "%s %.6f\n", name, value);
    else
        dx_buf_fmt(out, "%s{%s} %.6f\n", name, labels, value);
}

static void one(struct dx_buf *out, const char *name, const char *type, const char *help,
                uint64_t value)
{
    dx_metric_head(out, name, type, help);
    dx_metric(out, name, NULL, value);
}

static void write_hot(struct dx_answer_cache *hot, struct dx_buf *out)
{
    struct dx_page_cache_stats s;

    dx_answer_cache_stats(hot, &s);
    one(out, "domaindex_answer_cache_hits_total", "counter", "Answers sent as they were kept",
        s.hits);
    one(out, "domaindex_answer_cache_misses_total", "counter",
        "Questions whose answers were not kept, of those that may be", s.misses);
    one(out, "domaindex_answer_cache_evictions_total", "counter",
        "Kept answers that gave way to others", s.evictions);
    one(out, "domaindex_answer_cache_size_bytes", "gauge", "Bytes of kept answers", s.bytes);
    one(out, "domaindex_answer_cache_blocks", "gauge", "Kept answers", s.blocks);
}

static void write_logs(struct dx_request_log *log, struct dx_buf *out)
{
    static const char dropped[] = "domaindex_log_dropped_total";
    struct dx_request_log_counts c = { .open = true };

    if (log != NULL)
        dx_request_log_counts_read(log, &c);
    dx_metric_head(out, dropped, "counter",
                   "Lines that a log did not take: its disk is full, or nobody reads it");
    dx_metric(out, dropped, "log=\"program\"", dx_log_dropped());
    dx_metric(out, dropped, "log=\"requests\"", c.dropped);
    one(out, "domaindex_log_written_total", "counter", "Lines of the log of requests", c.written);
    one(out, "domaindex_log_open", "gauge",
        "0: the file of the log of requests could not be opened anew", c.open);
}

static void write_build(struct dx_buf *out)
{
    dx_metric_head(out, "domaindex_build_info", "gauge", "The program that runs");
    dx_metric(out, "domaindex_build_info", "version=\"" DX_VERSION "\"", 1);
}

static void write_loops(const struct dx_serving *serving, struct dx_buf *out)
{
    const struct dx_request_counts *all[DX_SERVER_LOOPS_MAX];
    struct dx_histogram_sum lag = { .count = 0 };
    unsigned count = serving->loop_count;

    for (unsigned i = 0; i < count; i++) {
        all[i] = &serving->loops[i]->requests;
        dx_histogram_sum_add(&lag, &serving->loops[i]->lag);
    }
    dx_request_counts_write(all, count, out);
    dx_metric_head(out, "domaindex_event_loop_lag_seconds", "histogram",
                   "How much later than ten times a second an event loop turned");
    dx_histogram_write(&lag, "domaindex_event_loop_lag_seconds", NULL, out);
}

void dx_metrics_write(const struct dx_serving *serving, struct dx_buf *out)
{
    struct dx_server_counts c = dx_serving_counts(serving);
    struct dx_workers_counts w = dx_workers_counts_of(serving->workers);

    one(out, "domaindex_connections", "gauge", "Connections open now", c.open);
    one(out, "domaindex_connections_accepted_total", "counter", "Connections accepted", c.accepted);
    dx_metric_head(out, "domaindex_http_rejected_total", "counter",
                   "Requests turned away, and connections ended");
    dx_metric(out, "domaindex_http_rejected_total", "reason=\"framing\"", c.rejected);
    dx_metric(out, "domaindex_http_rejected_total", "reason=\"timeout\"", c.timeouts);
    dx_metric(out, "domaindex_http_rejected_total", "reason=\"overload\"", c.overloaded);
    dx_metric(out, "domaindex_http_rejected_total", "reason=\"queue\"", c.expired);
    dx_metric(out, "domaindex_http_rejected_total", "reason=\"shed\"", c.shed);
    dx_metric(out, "domaindex_http_rejected_total", "reason=\"address_cost\"",
              c.admission.refused_address);
    dx_metric(out, "domaindex_http_rejected_total", "reason=\"principal_cost\"",
              c.admission.refused_principal);
    dx_metric(out, "domaindex_http_rejected_total", "reason=\"address_connections\"",
              c.admission.refused_connections);
    one(out, "domaindex_addresses", "gauge", "Addresses whose buckets are remembered",
        c.admission.addresses);
    write_loops(serving, out);
    one(out, "domaindex_accept_pauses_total", "counter",
        "Times that the listener rested for want of descriptors", c.accept_pauses);
    one(out, "domaindex_hot_replies_total", "counter",
        "Replies of domains that were kept, and sent without being made anew", c.hot_hits);
    one(out, "domaindex_hot_replies_bytes", "gauge", "Replies that are kept", c.hot_bytes);
    dx_metric_head(out, "domaindex_jobs", "gauge", "Answers under way");
    dx_metric(out, "domaindex_jobs", "state=\"queued\"", w.waiting);
    dx_metric(out, "domaindex_jobs", "state=\"storage\"", w.away);
    one(out, "domaindex_jobs_held_bytes", "gauge", "Stored bytes that answers under way hold",
        w.held);
    if (serving->hot != NULL)
        write_hot(serving->hot, out);
    if (serving->options.access != NULL)
        dx_metrics_access(serving->options.access, out);
    if (serving->answers->numbers != NULL)
        dx_metrics_numbers(serving->answers->numbers, out);
    write_logs(serving->log, out);
    write_build(out);
    dx_process_metrics_write(out);
    if (serving->answers->metrics != NULL)
        serving->answers->metrics(serving->answers->from, out);
}
