/* SPDX-License-Identifier: Apache-2.0 */
#include "server/metrics.h"

#include "cache/flight.h"
#include "fetch/fetch_counts.h"
#include "loader/current.h"
#include "loader/guard.h"
#include "loader/version.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct cache_row {
    const char *label;
    struct dx_page_cache_stats stats;
    struct dx_flights_counts flights;
};

enum { CACHES = 3 };

static void read_caches(const struct dx_caches *caches, struct cache_row rows[CACHES])
{
    const struct {
        const char *label;
        struct dx_page_cache *cache;
    } all[CACHES] = { { "cache=\"idx\"", caches->idx },
                      { "cache=\"payload\"", caches->payload },
                      { "cache=\"pages\"", caches->pages } };

    for (size_t i = 0; i < CACHES; i++) {
        rows[i].label = all[i].label;
        dx_page_cache_stats(all[i].cache, &rows[i].stats);
        dx_flights_counts(all[i].cache, &rows[i].flights);
    }
}

static void cache_metric(struct dx_buf *out, const char *name, const char *type, const char *help,
                         const struct cache_row rows[CACHES], size_t offset)
{
    dx_metric_head(out, name, type, help);
    for (size_t i = 0; i < CACHES; i++)
        dx_metric(out, name, rows[i].label,
                  *(const uint64_t *)(const void *)((const char *)&rows[i] + offset));
}

static void write_caches(const struct dx_caches *caches, struct dx_buf *out)
{
    static const struct {
        const char *name, *type, *help;
        size_t offset;
    } metrics[] = {
        { "domaindex_cache_hits_total", "counter", "Blocks found",
          offsetof(struct cache_row, stats.hits) },
        { "domaindex_cache_misses_total", "counter", "Looks that found nothing",
          offsetof(struct cache_row, stats.misses) },
        { "domaindex_cache_evictions_total", "counter", "Blocks that gave way to others",
          offsetof(struct cache_row, stats.evictions) },
        { "domaindex_cache_size_bytes", "gauge", "Bytes of blocks and their bookkeeping",
          offsetof(struct cache_row, stats.bytes) },
        { "domaindex_cache_blocks", "gauge", "Blocks that are kept",
          offsetof(struct cache_row, stats.blocks) },
        { "domaindex_singleflight_led_total", "counter", "Blocks fetched",
          offsetof(struct cache_row, flights.led) },
        { "domaindex_singleflight_joined_total", "counter",
          "Requests that waited for a block that another one fetched",
          offsetof(struct cache_row, flights.joined) },
        { "domaindex_singleflight_failed_total", "counter", "Fetches of blocks that failed",
          offsetof(struct cache_row, flights.failed) },
        { "domaindex_singleflight_abandoned_total", "counter",
          "Fetches of blocks that were given up", offsetof(struct cache_row, flights.abandoned) },
        { "domaindex_singleflight_flying", "gauge", "Blocks on their way",
          offsetof(struct cache_row, flights.now) },
    };
    struct cache_row rows[CACHES];

    read_caches(caches, rows);
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        cache_metric(out, metrics[i].name, metrics[i].type, metrics[i].help, rows,
                     metrics[i].offset);
}

static void write_storage(struct dx_buf *out)
{
    static const struct {
        const char *name, *type, *help;
        size_t offset;
    } metrics[] = {
#define COUNTER(member, help)                               \
    { "domaindex_fetch_" #member "_total", "counter", help, \
      offsetof(struct dx_fetch_counts, member) }
        COUNTER(waves, "Rounds of parallel reads, and gets of whole objects"),
        COUNTER(reads, "Ranges asked for, before joining"),
        COUNTER(joined_reads, "Ranges that came with another one's request"),
        COUNTER(joined_bytes, "Bytes of gaps between joined ranges"),
        COUNTER(requests, "GETs sent"),
        COUNTER(received_bytes, "Bytes of bodies"),
        COUNTER(accepted, "Replies accepted"),
        COUNTER(retries, "Attempts after the first"),
        COUNTER(hedges, "Second GETs because the first was late"),
        COUNTER(hedges_won, "Second GETs that came first"),
        COUNTER(signed_again, "Attempts with other credentials or another clock"),
        COUNTER(broken, "Attempts that ended without a reply"),
        COUNTER(too_slow, "Attempts given up for their slowness"),
        COUNTER(deadlines_missed, "Waves that missed their deadline"),
        COUNTER(conflicts, "Waves that met another object than the indexed one"),
        COUNTER(ranges_impossible, "Waves that met an object that is too short"),
        COUNTER(retries_denied, "Retries that the budget did not allow"),
#undef COUNTER
        { "domaindex_fetch_in_flight", "gauge", "Requests under way",
          offsetof(struct dx_fetch_counts, in_flight) },
        { "domaindex_fetch_in_flight_high", "gauge", "The most requests there were at once",
          offsetof(struct dx_fetch_counts, in_flight_high) },
        { "domaindex_fetch_retry_tokens", "gauge", "What is left of the retry budget",
          offsetof(struct dx_fetch_counts, retry_tokens) },
    };
    struct dx_fetch_counts c;

    dx_fetch_counts_read(&c);
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++) {
        dx_metric_head(out, metrics[i].name, metrics[i].type, metrics[i].help);
        dx_metric(out, metrics[i].name, NULL,
                  *(const uint64_t *)(const void *)((const char *)&c + metrics[i].offset));
    }
    dx_metric_head(out, "domaindex_fetch_refused_total", "counter", "Replies refused, by reason");
    for (unsigned i = DX_REPLY_NO_STATUS; i < DX_REFUSAL_COUNT; i++) {
        char label[64];

        (void)snprintf(label, sizeof label, "reason=\"%s\"", dx_refusal_name((enum dx_refusal)i));
        dx_metric(out, "domaindex_fetch_refused_total", label, c.refused[i]);
    }
}

static void write_guard(struct dx_buf *out)
{
    static const char poisoned[] = "domaindex_versions_poisoned_total";
    struct dx_guard_counts c;

    dx_guard_counts_read(&c);
    dx_metric_head(out, "domaindex_sigbus_total", "counter",
                   "Signals for pages of mapped files that could not be read");
    dx_metric(out, "domaindex_sigbus_total", NULL, c.bus_signals);
    dx_metric_head(out, poisoned, "counter",
                   "Versions of which a mapped file was changed, by how it was noticed first");
    dx_metric(out, poisoned, "by=\"sigbus\"", c.poisoned_by_bus);
    dx_metric(out, poisoned, "by=\"lease\"", c.poisoned_by_writer);
    dx_metric(out, poisoned, "by=\"times\"", c.poisoned_by_times);
    dx_metric_head(out, "domaindex_mapped_files", "gauge",
                   "Mapped files, by how changes of them are noticed");
    dx_metric(out, "domaindex_mapped_files", "by=\"lease\"", c.leased);
    dx_metric(out, "domaindex_mapped_files", "by=\"times\"", c.timed);
}

static void write_reloads(const struct dx_current_stats *s, struct dx_buf *out)
{
    char label[64];

    dx_metric_head(out, "domaindex_index_flips_total", "counter",
                   "Versions that came to be current (ok), and those refused, by the step that "
                   "refused");
    for (unsigned i = 0; i < DX_RELOAD_STEPS; i++) {
        (void)snprintf(label, sizeof label, "result=\"%s\"",
                       dx_reload_step_name((enum dx_reload_step)i));
        dx_metric(out, "domaindex_index_flips_total", label, s->reloads[i]);
    }
    dx_metric_head(out, "domaindex_index_brought_total", "counter",
                   "Versions opened because a request named them");
    dx_metric(out, "domaindex_index_brought_total", "result=\"ok\"", s->brought);
    dx_metric(out, "domaindex_index_brought_total", "result=\"failed\"", s->bring_failures);
    dx_metric_head(out, "domaindex_index_load_duration_seconds", "gauge",
                   "What the last load took that came through the phase");
    dx_metric_seconds(out, "domaindex_index_load_duration_seconds", "phase=\"load\"", s->load_s);
    dx_metric_seconds(out, "domaindex_index_load_duration_seconds", "phase=\"warm\"", s->warm_s);
    for (size_t i = 0; i < s->prepare_count; i++) {
        (void)snprintf(label, sizeof label, "phase=\"%s\"", s->prepare_name[i]);
        dx_metric_seconds(out, "domaindex_index_load_duration_seconds", label, s->prepare_s[i]);
    }
}

static double now_s(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void write_versions(const struct dx_current_stats *s, struct dx_buf *out)
{
    const struct {
        const char *name, *help;
        uint64_t value;
    } gauges[] = {
        { "domaindex_index_seq", "Sequence of the manifest that was seen last", s->sequence },
        { "domaindex_index_served_seq", "Sequence of the version that is served",
          strtoull(s->resident[0], NULL, 10) },
        { "domaindex_index_resident", "Versions that stay open without a request",
          s->resident_count },
        { "domaindex_index_open", "Versions that are open, those that only requests hold too",
          s->mapped_versions },
        { "domaindex_index_mapped_bytes", "Mapped files of all open versions", s->mapped_bytes },
        { "domaindex_objects_broken",
          "Reads of the served version that met another object than the indexed one, or none",
          s->objects_broken },
    };
    char label[64];

    (void)snprintf(label, sizeof label, "version=\"%s\"", s->resident[0]);
    dx_metric_head(out, "domaindex_index_info", "gauge", "The version that is served");
    dx_metric(out, "domaindex_index_info", label, 1);
    for (size_t i = 0; i < sizeof gauges / sizeof gauges[0]; i++) {
        dx_metric_head(out, gauges[i].name, "gauge", gauges[i].help);
        dx_metric(out, gauges[i].name, NULL, gauges[i].value);
    }
    if (s->leased) {
        dx_metric_head(out, "domaindex_lease_held", "gauge",
                       "0: the lease has run out, and nobody is answered");
        dx_metric(out, "domaindex_lease_held", NULL, s->lease_ms > 0);
        dx_metric_head(
            out, "domaindex_lease_expiry_timestamp_seconds", "gauge",
            "When the lease on the served version ends, unless it is renewed; 0: it has");
        dx_metric_seconds(out, "domaindex_lease_expiry_timestamp_seconds", NULL,
                          s->lease_ms == 0 ? 0 : now_s() + (double)s->lease_ms / 1e3);
    }
    dx_metric_head(out, "domaindex_index_published_timestamp_seconds", "gauge",
                   "When the served version was published");
    dx_metric_seconds(out, "domaindex_index_published_timestamp_seconds", NULL,
                      (double)s->published_us / 1e6);
    dx_metric_head(out, "domaindex_index_loaded_timestamp_seconds", "gauge",
                   "When it began to be served here");
    dx_metric_seconds(out, "domaindex_index_loaded_timestamp_seconds", NULL,
                      (double)s->loaded_us / 1e6);
}

void dx_metrics_live(void *from, struct dx_buf *out)
{
    struct dx_current_stats stats;
    struct dx_current_health health;

    dx_current_stats(from, &stats);
    dx_current_health(from, &health);
    dx_metric_head(out, "domaindex_sound", "gauge",
                   "0: the state of /readyz is degraded, and its detail says why");
    dx_metric(out, "domaindex_sound", NULL, health.sound);
    write_versions(&stats, out);
    write_reloads(&stats, out);
    write_caches(dx_current_caches(from), out);
    write_storage(out);
    write_guard(out);
}
