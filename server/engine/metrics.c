/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/metrics.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/release.h"
#include "loader/followed/access.h"
#include "loader/followed/domain64_live.h"
#include "server/engine/loop.h"
#include "server/observe/process_metrics.h"
#include "server/observe/request_log.h"
#include "server/tls/tls_context.h"

static void write_hot(struct dx_body_cache *hot, struct dx_buf *out)
{
    struct dx_page_cache_stats s;

    dx_body_cache_stats(hot, &s);
    dx_metric_one(out, DX_METRIC_ANSWER_CACHE_HITS_TOTAL, s.hits);
    dx_metric_one(out, DX_METRIC_ANSWER_CACHE_MISSES_TOTAL, s.misses);
    dx_metric_one(out, DX_METRIC_ANSWER_CACHE_EVICTIONS_TOTAL, s.evictions);
    dx_metric_one(out, DX_METRIC_ANSWER_CACHE_SIZE_BYTES, s.bytes);
    dx_metric_one(out, DX_METRIC_ANSWER_CACHE_BLOCKS, s.blocks);
}

static void write_access(struct dx_access *access, struct dx_buf *out)
{
    struct dx_access_health h;

    dx_access_health(access, dx_clock_ms(), &h);
    dx_metric_one(out, DX_METRIC_ACCESS_TABLE_PRESENT, h.present);
    dx_metric_one(out, DX_METRIC_ACCESS_KNOWN, h.known);
    dx_metric_one(out, DX_METRIC_ACCESS_LAST_LOOK_SUCCESSFUL, h.sound);
    dx_metric_one(out, DX_METRIC_ACCESS_GENERATION, h.generation);
    dx_metric_one(out, DX_METRIC_ACCESS_PRINCIPALS, h.principals);
    dx_metric_one_seconds(out, DX_METRIC_ACCESS_LAST_SUCCESS_TIMESTAMP_SECONDS,
                          (double)h.read_us / 1e6);
    dx_metric_ago(out, DX_METRIC_ACCESS_LAST_LOOK_TIMESTAMP_SECONDS, h.look_age_ms);
}

static void write_domain64(struct dx_domain64_live *numbers, struct dx_buf *out)
{
    struct dx_domain64_registry_health h;

    dx_domain64_live_health(numbers, &h);
    dx_metric_one(out, DX_METRIC_NUMBERS_PRESENT, h.present);
    dx_metric_one(out, DX_METRIC_NUMBERS_LAST_LOOK_SUCCESSFUL, h.sound);
    dx_metric_one(out, DX_METRIC_NUMBERS_FILLINGS, h.fillings);
    dx_metric_one(out, DX_METRIC_NUMBERS_NAMES, h.names);
    dx_metric_ago(out, DX_METRIC_NUMBERS_LAST_LOOK_TIMESTAMP_SECONDS, h.look_age_ms);
}

static void write_tls(struct dx_tls *tls, const struct dx_server_counts *c, struct dx_buf *out)
{
    static const char *const ends[DX_HANDSHAKES] = { "result=\"full\"", "result=\"resumed\"",
                                                     "result=\"failed\"" };
    struct dx_tls_health h;

    dx_tls_health(tls, &h);
    dx_metric_head(out, DX_METRIC_TLS_HANDSHAKES_TOTAL);
    for (unsigned e = 0; e < DX_HANDSHAKES; e++)
        dx_metric(out, DX_METRIC_TLS_HANDSHAKES_TOTAL, ends[e], c->handshakes[e]);
    dx_metric_one(out, DX_METRIC_TLS_CERTIFICATE_LAST_LOOK_SUCCESSFUL, h.sound);
    dx_metric_one_seconds(out, DX_METRIC_TLS_CERTIFICATE_EXPIRY_TIMESTAMP_SECONDS,
                          (double)h.not_after_s);
    dx_metric_one_seconds(out, DX_METRIC_TLS_CERTIFICATE_LOADED_TIMESTAMP_SECONDS,
                          (double)h.loaded_s);
}

static void write_logs(struct dx_request_log *log, struct dx_buf *out)
{
    struct dx_request_log_counts c = { .open = true };

    if (log != NULL)
        dx_request_log_counts_read(log, &c);
    dx_metric_head(out, DX_METRIC_LOG_DROPPED_TOTAL);
    dx_metric(out, DX_METRIC_LOG_DROPPED_TOTAL, "log=\"program\"", dx_log_dropped());
    dx_metric(out, DX_METRIC_LOG_DROPPED_TOTAL, "log=\"requests\"", c.dropped);
    dx_metric_one(out, DX_METRIC_LOG_WRITTEN_TOTAL, c.written);
    dx_metric_one(out, DX_METRIC_LOG_OPEN, c.open);
}

static void write_build(struct dx_buf *out)
{
    char label[64];

    (void)snprintf(label, sizeof label, "version=\"%s\"", dx_release());
    dx_metric_head(out, DX_METRIC_BUILD_INFO);
    dx_metric(out, DX_METRIC_BUILD_INFO, label, 1);
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
    dx_metric_head(out, DX_METRIC_EVENT_LOOP_LAG_SECONDS);
    dx_histogram_write(&lag, DX_METRIC_EVENT_LOOP_LAG_SECONDS, NULL, out);
}

void dx_metrics_write(const struct dx_serving *serving, struct dx_buf *out)
{
    struct dx_server_counts c = dx_serving_counts(serving);
    struct dx_workers_counts w = dx_workers_counts_of(serving->workers);

    dx_metric_one(out, DX_METRIC_CONNECTIONS, c.open);
    dx_metric_one(out, DX_METRIC_CONNECTIONS_ACCEPTED_TOTAL, c.accepted);
    dx_metric_head(out, DX_METRIC_HTTP_REJECTED_TOTAL);
    dx_metric(out, DX_METRIC_HTTP_REJECTED_TOTAL, "reason=\"framing\"", c.rejected);
    dx_metric(out, DX_METRIC_HTTP_REJECTED_TOTAL, "reason=\"timeout\"", c.timeouts);
    dx_metric(out, DX_METRIC_HTTP_REJECTED_TOTAL, "reason=\"overload\"", c.overloaded);
    dx_metric(out, DX_METRIC_HTTP_REJECTED_TOTAL, "reason=\"queue\"", c.expired);
    dx_metric(out, DX_METRIC_HTTP_REJECTED_TOTAL, "reason=\"shed\"", c.shed);
    dx_metric(out, DX_METRIC_HTTP_REJECTED_TOTAL, "reason=\"address_cost\"",
              c.admission.refused_address);
    dx_metric(out, DX_METRIC_HTTP_REJECTED_TOTAL, "reason=\"principal_cost\"",
              c.admission.refused_principal);
    dx_metric(out, DX_METRIC_HTTP_REJECTED_TOTAL, "reason=\"address_connections\"",
              c.admission.refused_connections);
    dx_metric(out, DX_METRIC_HTTP_REJECTED_TOTAL, "reason=\"address_streams\"",
              c.admission.refused_address_streams);
    dx_metric(out, DX_METRIC_HTTP_REJECTED_TOTAL, "reason=\"principal_streams\"",
              c.admission.refused_principal_streams);
    dx_metric_one(out, DX_METRIC_ADDRESSES, c.admission.addresses);
    write_loops(serving, out);
    if (serving->options.tls != NULL)
        write_tls(serving->options.tls, &c, out);
    dx_metric_one(out, DX_METRIC_ACCEPT_PAUSES_TOTAL, c.accept_pauses);
    dx_metric_one(out, DX_METRIC_HOT_REPLIES_TOTAL, c.hot_hits);
    dx_metric_one(out, DX_METRIC_HOT_REPLIES_BYTES, c.hot_bytes);
    dx_metric_head(out, DX_METRIC_JOBS);
    dx_metric(out, DX_METRIC_JOBS, "state=\"queued\"", w.waiting);
    dx_metric(out, DX_METRIC_JOBS, "state=\"storage\"", w.away);
    dx_metric_one(out, DX_METRIC_JOBS_HELD_BYTES, w.held);
    if (serving->bodies != NULL)
        write_hot(serving->bodies, out);
    if (serving->options.access != NULL)
        write_access(serving->options.access, out);
    if (serving->answers->numbers != NULL)
        write_domain64(serving->answers->numbers, out);
    write_logs(serving->log, out);
    write_build(out);
    dx_process_metrics_write(out);
    if (serving->answers->metrics != NULL)
        serving->answers->metrics(serving->answers->from, out);
}
