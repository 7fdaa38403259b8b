/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/load/report.h"

#include "base/json_out.h"

#include <stdio.h>

static const struct {
    const char *name;
    double percentile;
} shown_percentiles[] = { { "p50", 50 }, { "p90", 90 },     { "p95", 95 },
                          { "p99", 99 }, { "p99.9", 99.9 }, { "p99.99", 99.99 } };

#define SHOWN (sizeof(shown_percentiles) / sizeof(shown_percentiles[0]))

static double us(uint64_t ns)
{
    return (double)ns / 1000;
}

static double rate_of(uint64_t count, double seconds)
{
    return seconds > 0 ? (double)count / seconds : 0;
}

bool dx_report_is_good(const struct dx_load_result *r)
{
    return r->connect_errors + r->broken + r->timeouts + r->unsent + r->wrong == 0 &&
           r->requests_total > 0;
}

const char *dx_report_method(const struct dx_load_plan *plan)
{
    if (plan->rate > 0)
        return "Open loop: requests are due at times that do not depend on the server. A latency "
               "begins when its request was due, not when it was sent, so a stall counts for every "
               "request that it kept waiting: coordinated omission is not corrected afterwards, it "
               "does not occur. A timeout counts with the time it took. Requests that were never "
               "sent, or had no reply at the end, are in no percentile; they are counted by "
               "themselves. A percentile is at most 0.4 % above the exact one.";
    return "Closed loop: each connection asks again when it has its reply. That says how much a "
           "server gives; its latencies omit the wait of requests that a stall kept from being "
           "sent (coordinated omission). For latencies, give a rate.";
}

uint64_t dx_report_failed_statuses(const struct dx_mix_part *part)
{
    uint64_t n = 0;

    for (unsigned i = 300; i < DX_PART_STATUS_END; i++)
        if (i != 304 && i != 404 && i != 410 && i != 451)
            n += part->status[i];
    return n;
}

static uint64_t count_statuses(const struct dx_mix_part *part, unsigned first, unsigned end)
{
    uint64_t n = 0;

    for (unsigned i = first; i < end && i < DX_PART_STATUS_END; i++)
        n += part->status[i];
    return n;
}

uint64_t dx_report_answers(const struct dx_mix_part *part)
{
    return count_statuses(part, 200, 300) + count_statuses(part, 304, 305);
}

void dx_report_statuses(struct dx_buf *out, const struct dx_mix_part *part)
{
    const char *between = "";

    for (unsigned i = 0; i < DX_PART_STATUS_END; i += 100) {
        uint64_t n = count_statuses(part, i, i + 100);

        if (n > 0)
            dx_buf_fmt(out, "%s%uxx %llu", between, i / 100, (unsigned long long)n);
        between = n > 0 ? ", " : between;
    }
    if (between[0] == '\0')
        dx_buf_str(out, "none");
}

/* ---- text ---- */

static void text_latency(struct dx_buf *out, const char *name, uint64_t count, double seconds,
                         const struct dx_hdr *h)
{
    dx_buf_fmt(out, "%-16s %11.0f/s", name, rate_of(count, seconds));
    for (size_t i = 0; i < SHOWN; i++)
        dx_buf_fmt(out, " %9.1f", us(dx_hdr_percentile(h, shown_percentiles[i].percentile)));
    dx_buf_fmt(out, " %9.1f\n", us(h->count == 0 ? 0 : h->max));
}

void dx_report_text(struct dx_buf *out, const struct dx_load_plan *plan,
                    const struct dx_load_result *r, const struct dx_mix_part *parts, size_t count)
{
    uint64_t verified = 0;

    if (plan->rate > 0)
        dx_buf_fmt(out, "open loop, %.0f/s due (%s), ", plan->rate,
                   plan->arrivals == DX_ARRIVALS_POISSON ? "Poisson" : "constant");
    else
        dx_buf_str(out, "closed loop, ");
    dx_buf_fmt(out, "%u connections, %.2f s: %llu replies, %.1f MB/s\n", plan->connections,
               r->seconds, (unsigned long long)r->requests,
               rate_of(r->received, r->seconds + plan->warm_s) / 1e6);
    dx_buf_fmt(out, "%-16s %13s", "latency, us", "");
    for (size_t i = 0; i < SHOWN; i++)
        dx_buf_fmt(out, " %9s", shown_percentiles[i].name);
    dx_buf_fmt(out, " %9s\n", "max");
    text_latency(out, "all", r->requests, r->seconds, &r->latency);
    for (size_t i = 0; i < count; i++) {
        if (count > 1)
            text_latency(out, parts[i].name, parts[i].latency.count, r->seconds, &parts[i].latency);
        verified += parts[i].verified;
    }
    if (plan->rate > 0)
        text_latency(out, "from sending", r->service.count, r->seconds, &r->service);
    if (plan->rate > 0)
        text_latency(out, "sent late by", r->late.count, r->seconds + plan->warm_s, &r->late);
    dx_buf_fmt(out, "%llu wrong; %llu bodies compared; the load took %.0f %% of its core\n",
               (unsigned long long)r->wrong, (unsigned long long)verified, 100 * r->cpu_share);
    if (!dx_report_is_good(r))
        dx_buf_fmt(
            out, "connects failed %llu, broken %llu, timeouts %llu, never sent or too late %llu\n",
            (unsigned long long)r->connect_errors, (unsigned long long)r->broken,
            (unsigned long long)r->timeouts, (unsigned long long)r->unsent);
    if (r->ended_early)
        dx_buf_fmt(out, "ended early: %llu failures, %llu replies 429 or 503\n",
                   (unsigned long long)(r->connect_errors + r->broken + r->timeouts),
                   (unsigned long long)r->refused);
    if (r->first_error.code != DX_OK)
        dx_buf_fmt(out, "first failure: %s\n", r->first_error.text);
    if (r->first_wrong.code != DX_OK)
        dx_buf_fmt(out, "first wrong: %s\n", r->first_wrong.text);
}

/* ---- JSON ---- */

static void real(struct dx_json *j, const char *key, double value)
{
    dx_json_key(j, key);
    dx_json_double(j, value);
}

static void curve(struct dx_json *j, const struct dx_hdr *h)
{
    struct dx_hdr_point points[DX_HDR_CURVE_MAX];
    size_t n = dx_hdr_curve(h, points);

    dx_json_key(j, "curve");
    dx_json_array(j);
    for (size_t i = 0; i < n; i++) {
        dx_json_array(j);
        dx_json_double(j, points[i].percentile);
        dx_json_double(j, us(points[i].value));
        dx_json_end(j);
    }
    dx_json_end(j);
}

static void json_latency(struct dx_json *j, const char *key, const struct dx_hdr *h)
{
    dx_json_key(j, key);
    dx_json_object(j);
    dx_json_key_u64(j, "count", h->count);
    real(j, "min", us(h->count == 0 ? 0 : h->min));
    real(j, "mean", dx_hdr_mean(h) / 1000);
    for (size_t i = 0; i < SHOWN; i++)
        real(j, shown_percentiles[i].name,
             us(dx_hdr_percentile(h, shown_percentiles[i].percentile)));
    real(j, "max", us(h->max));
    curve(j, h);
    dx_json_end(j);
}

static void json_part(struct dx_json *j, const struct dx_mix_part *p, double seconds)
{
    dx_json_object(j);
    dx_json_key(j, "name");
    dx_json_str(j, p->name);
    real(j, "share", p->share);
    dx_json_key_u64(j, "targets", p->targets.count);
    dx_json_key_u64(j, "requests", p->latency.count);
    real(j, "rate", rate_of(p->latency.count, seconds));
    dx_json_key(j, "status");
    dx_json_object(j);
    for (unsigned i = 0; i < DX_PART_STATUS_END; i++) {
        char key[8];

        if (p->status[i] == 0)
            continue;
        (void)snprintf(key, sizeof(key), "%u", i);
        dx_json_key_u64(j, key, p->status[i]);
    }
    dx_json_end(j);
    dx_json_key_u64(j, "verified", p->verified);
    dx_json_key_u64(j, "wrong_status", p->wrong_status);
    dx_json_key_u64(j, "wrong_size", p->wrong_size);
    dx_json_key_u64(j, "wrong_body", p->wrong_body);
    json_latency(j, "latency_us", &p->latency);
    dx_json_end(j);
}

static void json_failures(struct dx_json *j, const struct dx_load_result *r)
{
    dx_json_key(j, "errors");
    dx_json_object(j);
    dx_json_key_u64(j, "connect", r->connect_errors);
    dx_json_key_u64(j, "broken", r->broken);
    dx_json_key_u64(j, "timeout", r->timeouts);
    dx_json_key_u64(j, "unsent", r->unsent);
    dx_json_end(j);
    dx_json_key_u64(j, "wrong", r->wrong);
    dx_json_key_u64(j, "refused", r->refused);
    dx_json_key(j, "ended_early");
    dx_json_bool(j, r->ended_early);
    dx_json_key(j, "words");
    dx_json_array(j);
    if (r->first_error.code != DX_OK)
        dx_json_str(j, r->first_error.text);
    if (r->first_wrong.code != DX_OK)
        dx_json_str(j, r->first_wrong.text);
    dx_json_end(j);
}

void dx_report_json(struct dx_buf *out, const struct dx_load_plan *plan,
                    const struct dx_load_result *r, const struct dx_mix_part *parts, size_t count)
{
    struct dx_json j;

    dx_json_open(&j, out);
    dx_json_object(&j);
    dx_json_key(&j, "loop");
    dx_json_str(&j, plan->rate > 0 ? "open" : "closed");
    dx_json_key_u64(&j, "connections", plan->connections);
    real(&j, "due_rate", plan->rate);
    dx_json_key_u64(&j, "seed", plan->seed);
    real(&j, "seconds", r->seconds);
    dx_json_key_u64(&j, "requests", r->requests);
    dx_json_key_u64(&j, "requests_total", r->requests_total);
    real(&j, "rate", rate_of(r->requests, r->seconds));
    dx_json_key_u64(&j, "received_bytes", r->received);
    real(&j, "cpu_share", r->cpu_share);
    json_failures(&j, r);
    json_latency(&j, "latency_us", &r->latency);
    json_latency(&j, "service_us", &r->service);
    json_latency(&j, "late_us", &r->late);
    dx_json_key(&j, "parts");
    dx_json_array(&j);
    for (size_t i = 0; i < count; i++)
        json_part(&j, &parts[i], r->seconds);
    dx_json_end(&j);
    dx_json_end(&j);
    dx_buf_str(out, "\n");
}
