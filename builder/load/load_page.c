/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/load/load_page.h"

#include "base/release.h"
#include "base/xml_out.h"
#include "builder/load/report.h"

#include <assert.h>
#include <math.h>

/* The picture: the plot's place in it, and decades of 1/(1-p) and of microseconds. */
#define LEFT 80.0
#define TOP 20.0
#define WIDTH 660.0
#define HEIGHT 320.0

struct axes {
    int right;     /* decades to the right: 2 is 99 % */
    int low, high; /* decades of microseconds */
};

static const char head[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n<title>Latencies</title>\n"
    "<style>\n"
    ":root{color-scheme:light dark;--due:#1a6b54;--sent:#c08a3e;--late:#6b7fb3}\n"
    "@media(prefers-color-scheme:dark){:root{--due:#5fc7a4;--sent:#e0b070;--late:#9fb0e0}}\n"
    "body{font:15px system-ui,sans-serif;margin:2em auto;max-width:60em;padding:0 1em}\n"
    "table{border-collapse:collapse}td,th{padding:.2em .8em;text-align:right}\n"
    "td:first-child,th:first-child{text-align:left}svg{max-width:100%;height:auto}\n"
    "svg text{fill:currentColor;font-size:13px}.grid{stroke:currentColor;opacity:.15}\n"
    ".due{stroke:var(--due)}.sent{stroke:var(--sent)}.late{stroke:var(--late)}\n"
    "polyline{fill:none;stroke-width:2.2}\n</style></head><body>\n";

static const struct {
    const char *name;
    double percentile;
} columns[] = { { "p50", 50 }, { "p90", 90 },     { "p95", 95 },
                { "p99", 99 }, { "p99.9", 99.9 }, { "p99.99", 99.99 } };

static void add_text(struct dx_buf *out, const char *text)
{
    dx_xml_text(out, dx_span_str(text));
}

/* ---- picture ---- */

static void extend(struct axes *a, const struct dx_hdr *h)
{
    if (h->count == 0)
        return;
    a->low = (int)fmin(a->low, floor(log10(fmax((double)h->min, 1) / 1000)));
    a->high = (int)fmax(a->high, ceil(log10(fmax((double)h->max, 2) / 1000)));
}

static double x_of(const struct axes *a, double percentile)
{
    assert(percentile < 100);
    return LEFT + WIDTH * log10(100 / (100 - percentile)) / a->right;
}

static double y_of(const struct axes *a, double us)
{
    double decade = fmin(fmax(log10(fmax(us, 1e-3)), a->low), a->high);

    assert(a->low < a->high);
    return TOP + HEIGHT * (a->high - decade) / (a->high - a->low);
}

static void add_grid(struct dx_buf *out, const struct axes *a)
{
    static const char *const parts[] = { "0 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %" };

    assert(a->right > 0 && (size_t)a->right < sizeof parts / sizeof *parts);
    for (int i = 0; i <= a->right; i++) {
        double x = LEFT + WIDTH * i / a->right;

        dx_buf_fmt(out, "<line class=\"grid\" x1=\"%.0f\" y1=\"%.0f\" x2=\"%.0f\" y2=\"%.0f\"/>", x,
                   TOP, x, TOP + HEIGHT);
        dx_buf_fmt(out, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">%s</text>\n", x,
                   TOP + HEIGHT + 20, parts[i]);
    }
    for (int i = a->low; i <= a->high; i++) {
        double y = y_of(a, pow(10, i));

        dx_buf_fmt(out, "<line class=\"grid\" x1=\"%.0f\" y1=\"%.0f\" x2=\"%.0f\" y2=\"%.0f\"/>",
                   LEFT, y, LEFT + WIDTH, y);
        dx_buf_fmt(out, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%g %s</text>\n", LEFT - 8,
                   y + 4,
                   pow(10, i < 3   ? i
                           : i < 6 ? i - 3
                                   : i - 6),
                   i < 3   ? "µs"
                   : i < 6 ? "ms"
                           : "s");
    }
}

/* All but the greatest value, which has no place on this axis. */
static void add_curve(struct dx_buf *out, const struct axes *a, const char *class,
                      const struct dx_hdr *h)
{
    struct dx_hdr_point points[DX_HDR_CURVE_MAX];
    size_t n = dx_hdr_curve(h, points);

    dx_buf_fmt(out, "<polyline class=\"%s\" points=\"", class);
    for (size_t i = 0; i + 1 < n; i++)
        dx_buf_fmt(out, "%.1f,%.1f ", x_of(a, points[i].percentile),
                   y_of(a, (double)points[i].value / 1000));
    dx_buf_str(out, "\"/>\n");
}

static void add_legend(struct dx_buf *out, int row, const char *class, const char *words)
{
    dx_buf_fmt(out,
               "<line class=\"%s\" x1=\"%.0f\" y1=\"%d\" x2=\"%.0f\" y2=\"%d\" stroke-width=\"3\"/>"
               "<text x=\"%.0f\" y=\"%d\">%s</text>\n",
               class, LEFT + 14, 38 + 20 * row, LEFT + 40, 38 + 20 * row, LEFT + 48, 42 + 20 * row,
               words);
}

static void add_picture(struct dx_buf *out, const struct dx_load_plan *plan,
                        const struct dx_load_result *r)
{
    struct axes a = { 2, 9, -3 };
    double last = 0;
    struct dx_hdr_point points[DX_HDR_CURVE_MAX];
    size_t n = dx_hdr_curve(&r->latency, points);
    bool open = plan->rate > 0;

    if (n > 1)
        last = points[n - 2].percentile;
    a.right = (int)fmax(a.right, ceil(log10(100 / (100 - last))));
    extend(&a, &r->latency);
    extend(&a, &r->service);
    if (a.high <= a.low)
        a.high = a.low + 1;
    dx_buf_fmt(out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
               "aria-label=\"Latency by percentile\">\n",
               LEFT + WIDTH + 40, TOP + HEIGHT + 50);
    add_grid(out, &a);
    if (open)
        add_curve(out, &a, "sent", &r->service);
    add_curve(out, &a, "due", &r->latency);
    add_legend(out, 0, "due", open ? "from the time a request was due" : "from sending");
    if (open)
        add_legend(out, 1, "sent", "from sending");
    dx_buf_fmt(out,
               "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">percentile</text>\n</svg>\n",
               LEFT + WIDTH / 2, TOP + HEIGHT + 42);
}

/* ---- tables ---- */

static void add_row(struct dx_buf *out, const char *name, const struct dx_hdr *h)
{
    dx_buf_fmt(out, "<tr><td>%s</td><td>%llu</td>", name, (unsigned long long)h->count);
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        dx_buf_fmt(out, "<td>%.0f</td>",
                   (double)dx_hdr_percentile(h, columns[i].percentile) / 1000);
    dx_buf_fmt(out, "<td>%.0f</td></tr>\n", h->count == 0 ? 0 : (double)h->max / 1000);
}

static void add_latencies(struct dx_buf *out, const struct dx_load_plan *plan,
                          const struct dx_load_result *r)
{
    dx_buf_str(out, "<table><tr><th>microseconds</th><th>requests</th>");
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        dx_buf_fmt(out, "<th>%s</th>", columns[i].name);
    dx_buf_str(out, "<th>max</th></tr>\n");
    if (plan->rate > 0)
        add_row(out, "from the time a request was due", &r->latency);
    add_row(out, "from sending", &r->service);
    if (plan->rate > 0)
        add_row(out, "sent late by", &r->late);
    dx_buf_str(out, "</table>\n");
}

static void add_counts(struct dx_buf *out, const struct dx_load_result *r,
                       const struct dx_mix_part *part)
{
    const struct {
        const char *name;
        uint64_t count;
    } rows[] = { { "connections that failed", r->connect_errors },
                 { "replies cut or malformed", r->broken },
                 { "timeouts", r->timeouts },
                 { "due, but never sent or too late", r->unsent } };

    dx_buf_str(out, "<p>Statuses: ");
    dx_report_statuses(out, part);
    dx_buf_str(out, "</p>\n<table><tr><th>replies</th><th>count</th></tr>\n");
    for (unsigned i = 0; i < DX_PART_STATUS_END; i++)
        if (part->status[i] > 0)
            dx_buf_fmt(out, "<tr><td>status %u</td><td>%llu</td></tr>\n", i,
                       (unsigned long long)part->status[i]);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        dx_buf_fmt(out, "<tr><td>%s</td><td>%llu</td></tr>\n", rows[i].name,
                   (unsigned long long)rows[i].count);
    dx_buf_str(out, "</table>\n");
}

void dx_load_page(struct dx_buf *out, const struct dx_load_about *about,
                  const struct dx_load_plan *plan, const struct dx_load_result *r,
                  const struct dx_mix_part *part)
{
    dx_buf_str(out, head);
    dx_buf_str(out, "<h1>Latencies of ");
    add_text(out, about->url);
    dx_buf_str(out, "</h1>\n<p>");
    add_text(out, about->names);
    if (plan->rate > 0)
        dx_buf_fmt(out, "; open loop, %g requests a second due, %s", plan->rate,
                   plan->arrivals == DX_ARRIVALS_POISSON ? "Poisson arrivals" : "evenly spaced");
    else
        dx_buf_str(out, "; closed loop");
    dx_buf_fmt(out, "; %u connections, %.2f s after %g s of warm-up; %.0f replies a second. ",
               plan->connections, r->seconds, plan->warm_s,
               r->seconds > 0 ? (double)r->requests / r->seconds : 0);
    add_text(out, about->when);
    dx_buf_fmt(out, ", domaindex %s.</p>\n", dx_release());
    if (r->ended_early)
        dx_buf_str(
            out, "<p><strong>The load ended early: too many failures or refusals.</strong></p>\n");
    if (r->requests_total > 0 && dx_report_answers(part) == 0)
        dx_buf_str(out, "<p><strong>No reply had status 2xx or 304: these latencies are of "
                        "refusals.</strong></p>\n");
    add_picture(out, plan, r);
    add_latencies(out, plan, r);
    add_counts(out, r, part);
    dx_buf_fmt(out, "<p>%s</p>\n</body></html>\n", dx_report_method(plan));
}
