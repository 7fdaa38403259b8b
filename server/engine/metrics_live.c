/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/metrics.h"

#include "cache/flight.h"
#include "fetch/fetch_counts.h"
#include "loader/current.h"
#include "loader/followed/suppressions_live.h"
#include "loader/guard/guard.h"
#include "loader/version.h"
#include "query/suppression/suppression_cache.h"

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

static void write_caches(const struct dx_caches *caches, struct dx_buf *out)
{
    static const struct dx_metric_member metrics[] = {
        { DX_METRIC_CACHE_HITS_TOTAL, offsetof(struct cache_row, stats.hits) },
        { DX_METRIC_CACHE_MISSES_TOTAL, offsetof(struct cache_row, stats.misses) },
        { DX_METRIC_CACHE_EVICTIONS_TOTAL, offsetof(struct cache_row, stats.evictions) },
        { DX_METRIC_CACHE_SIZE_BYTES, offsetof(struct cache_row, stats.bytes) },
        { DX_METRIC_CACHE_BLOCKS, offsetof(struct cache_row, stats.blocks) },
        { DX_METRIC_SINGLEFLIGHT_LED_TOTAL, offsetof(struct cache_row, flights.led) },
        { DX_METRIC_SINGLEFLIGHT_JOINED_TOTAL, offsetof(struct cache_row, flights.joined) },
        { DX_METRIC_SINGLEFLIGHT_FAILED_TOTAL, offsetof(struct cache_row, flights.failed) },
        { DX_METRIC_SINGLEFLIGHT_ABANDONED_TOTAL, offsetof(struct cache_row, flights.abandoned) },
        { DX_METRIC_SINGLEFLIGHT_FLYING, offsetof(struct cache_row, flights.now) },
    };
    struct cache_row rows[CACHES];

    read_caches(caches, rows);
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++) {
        dx_metric_head(out, metrics[i].id);
        for (size_t k = 0; k < CACHES; k++)
            dx_metric(
                out, metrics[i].id, rows[k].label,
                *(const uint64_t *)(const void *)((const char *)&rows[k] + metrics[i].offset));
    }
}

static void write_storage(struct dx_buf *out)
{
    static const struct dx_metric_member metrics[] = {
        { DX_METRIC_FETCH_BATCHES_TOTAL, offsetof(struct dx_fetch_counts, batches) },
        { DX_METRIC_FETCH_READS_TOTAL, offsetof(struct dx_fetch_counts, reads) },
        { DX_METRIC_FETCH_JOINED_READS_TOTAL, offsetof(struct dx_fetch_counts, joined_reads) },
        { DX_METRIC_FETCH_JOINED_BYTES_TOTAL, offsetof(struct dx_fetch_counts, joined_bytes) },
        { DX_METRIC_FETCH_REQUESTS_TOTAL, offsetof(struct dx_fetch_counts, requests) },
        { DX_METRIC_FETCH_RECEIVED_BYTES_TOTAL, offsetof(struct dx_fetch_counts, received_bytes) },
        { DX_METRIC_FETCH_ACCEPTED_TOTAL, offsetof(struct dx_fetch_counts, accepted) },
        { DX_METRIC_FETCH_RETRIES_TOTAL, offsetof(struct dx_fetch_counts, retries) },
        { DX_METRIC_FETCH_HEDGES_TOTAL, offsetof(struct dx_fetch_counts, hedges) },
        { DX_METRIC_FETCH_HEDGES_WON_TOTAL, offsetof(struct dx_fetch_counts, hedges_won) },
        { DX_METRIC_FETCH_SIGNED_AGAIN_TOTAL, offsetof(struct dx_fetch_counts, signed_again) },
        { DX_METRIC_FETCH_BROKEN_TOTAL, offsetof(struct dx_fetch_counts, broken) },
        { DX_METRIC_FETCH_TOO_SLOW_TOTAL, offsetof(struct dx_fetch_counts, too_slow) },
        { DX_METRIC_FETCH_DEADLINES_MISSED_TOTAL,
          offsetof(struct dx_fetch_counts, deadlines_missed) },
        { DX_METRIC_FETCH_CONFLICTS_TOTAL, offsetof(struct dx_fetch_counts, conflicts) },
        { DX_METRIC_FETCH_RANGES_IMPOSSIBLE_TOTAL,
          offsetof(struct dx_fetch_counts, ranges_impossible) },
        { DX_METRIC_FETCH_RETRIES_DENIED_TOTAL, offsetof(struct dx_fetch_counts, retries_denied) },
        { DX_METRIC_FETCH_IN_FLIGHT, offsetof(struct dx_fetch_counts, in_flight) },
        { DX_METRIC_FETCH_IN_FLIGHT_HIGH, offsetof(struct dx_fetch_counts, in_flight_high) },
        { DX_METRIC_FETCH_RETRY_TOKENS, offsetof(struct dx_fetch_counts, retry_tokens) },
    };
    struct dx_fetch_counts c;

    dx_fetch_counts_read(&c);
    dx_metric_members(out, metrics, sizeof metrics / sizeof metrics[0], &c);
    dx_metric_head(out, DX_METRIC_FETCH_REFUSED_TOTAL);
    for (unsigned i = DX_REPLY_NO_STATUS; i < DX_REFUSAL_COUNT; i++) {
        char label[64];

        (void)snprintf(label, sizeof label, "reason=\"%s\"", dx_refusal_name((enum dx_refusal)i));
        dx_metric(out, DX_METRIC_FETCH_REFUSED_TOTAL, label, c.refused[i]);
    }
}

static void write_guard(struct dx_buf *out)
{
    struct dx_guard_counts c;

    dx_guard_counts_read(&c);
    dx_metric_one(out, DX_METRIC_SIGBUS_TOTAL, c.bus_signals);
    dx_metric_head(out, DX_METRIC_VERSIONS_POISONED_TOTAL);
    dx_metric(out, DX_METRIC_VERSIONS_POISONED_TOTAL, "by=\"sigbus\"", c.poisoned_by_bus);
    dx_metric(out, DX_METRIC_VERSIONS_POISONED_TOTAL, "by=\"lease\"", c.poisoned_by_writer);
    dx_metric(out, DX_METRIC_VERSIONS_POISONED_TOTAL, "by=\"times\"", c.poisoned_by_times);
    dx_metric_head(out, DX_METRIC_MAPPED_FILES);
    dx_metric(out, DX_METRIC_MAPPED_FILES, "by=\"lease\"", c.leased);
    dx_metric(out, DX_METRIC_MAPPED_FILES, "by=\"times\"", c.timed);
}

static void write_reloads(const struct dx_current_stats *s, struct dx_buf *out)
{
    char label[64];

    dx_metric_head(out, DX_METRIC_INDEX_FLIPS_TOTAL);
    for (unsigned i = 0; i < DX_RELOAD_STEPS; i++) {
        (void)snprintf(label, sizeof label, "result=\"%s\"",
                       dx_reload_step_name((enum dx_reload_step)i));
        dx_metric(out, DX_METRIC_INDEX_FLIPS_TOTAL, label, s->reloads[i]);
    }
    dx_metric_head(out, DX_METRIC_INDEX_FETCHED_TOTAL);
    dx_metric(out, DX_METRIC_INDEX_FETCHED_TOTAL, "result=\"ok\"", s->fetched);
    dx_metric(out, DX_METRIC_INDEX_FETCHED_TOTAL, "result=\"failed\"", s->fetch_failures);
    dx_metric_head(out, DX_METRIC_INDEX_LOAD_DURATION_SECONDS);
    dx_metric_seconds(out, DX_METRIC_INDEX_LOAD_DURATION_SECONDS, "phase=\"load\"", s->load_s);
    dx_metric_seconds(out, DX_METRIC_INDEX_LOAD_DURATION_SECONDS, "phase=\"warm\"", s->warm_s);
    for (size_t i = 0; i < s->prepare_count; i++) {
        (void)snprintf(label, sizeof label, "phase=\"%s\"", s->prepare_name[i]);
        dx_metric_seconds(out, DX_METRIC_INDEX_LOAD_DURATION_SECONDS, label, s->prepare_s[i]);
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
    char label[64];

    (void)snprintf(label, sizeof label, "version=\"%s\"", s->resident[0]);
    dx_metric_head(out, DX_METRIC_INDEX_INFO);
    dx_metric(out, DX_METRIC_INDEX_INFO, label, 1);
    dx_metric_one(out, DX_METRIC_INDEX_SEQ, s->sequence);
    dx_metric_one(out, DX_METRIC_INDEX_SERVED_SEQ, s->served_sequence);
    dx_metric_one(out, DX_METRIC_INDEX_RESIDENT, s->resident_count);
    dx_metric_one(out, DX_METRIC_INDEX_OPEN, s->mapped_versions);
    dx_metric_one(out, DX_METRIC_INDEX_MAPPED_BYTES, s->mapped_bytes);
    dx_metric_one(out, DX_METRIC_INDEX_MISSING_LAKE_FILES, s->missing_files);
    dx_metric_one(out, DX_METRIC_INDEX_ROWS_LEFT_OUT, s->rows_left_out);
    dx_metric_one(out, DX_METRIC_OBJECTS_BROKEN, s->objects_broken);
    if (s->leased) {
        dx_metric_one(out, DX_METRIC_LEASE_HELD, s->lease_ms > 0);
        dx_metric_one_seconds(out, DX_METRIC_LEASE_EXPIRY_TIMESTAMP_SECONDS,
                              s->lease_ms == 0 ? 0 : now_s() + (double)s->lease_ms / 1e3);
    }
    dx_metric_one_seconds(out, DX_METRIC_INDEX_PUBLISHED_TIMESTAMP_SECONDS,
                          (double)s->published_us / 1e6);
    dx_metric_one_seconds(out, DX_METRIC_INDEX_LOADED_TIMESTAMP_SECONDS,
                          (double)s->loaded_us / 1e6);
}

static void write_suppressions(struct dx_suppressions_live *suppressions, struct dx_buf *out)
{
    struct dx_suppressions_live_health h;

    dx_suppressions_live_health(suppressions, &h);
    dx_metric_one(out, DX_METRIC_SUPPRESSIONS_RULES, h.rules);
    dx_metric_one(out, DX_METRIC_SUPPRESSIONS_ROWS_BYTES, dx_suppression_cache_bytes(suppressions));
    dx_metric_one(out, DX_METRIC_SUPPRESSIONS_LINES, h.number);
    dx_metric_one(out, DX_METRIC_SUPPRESSIONS_LAST_LOOK_SUCCESSFUL, h.sound);
    dx_metric_ago(out, DX_METRIC_SUPPRESSIONS_LAST_LOOK_TIMESTAMP_SECONDS, h.look_age_ms);
}

void dx_metrics_live(void *from, struct dx_buf *out)
{
    struct dx_current_stats stats;
    struct dx_current_health health;

    dx_current_stats(from, &stats);
    dx_current_health(from, &health);
    dx_metric_one(out, DX_METRIC_SOUND, health.sound);
    dx_metric_ago(out, DX_METRIC_MANIFEST_LAST_LOOK_TIMESTAMP_SECONDS, stats.look_age_ms);
    write_suppressions(dx_current_caches(from)->suppressions, out);
    write_versions(&stats, out);
    write_reloads(&stats, out);
    write_caches(dx_current_caches(from), out);
    write_storage(out);
    write_guard(out);
}
