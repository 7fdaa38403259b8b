/* SPDX-License-Identifier: Apache-2.0 */
#include "server/metrics.h"

#include "base/clock.h"
#include "loader/access.h"

static void gauge(struct dx_buf *out, const char *name, const char *help, uint64_t value)
{
    dx_metric_head(out, name, "gauge", help);
    dx_metric(out, name, NULL, value);
}

void dx_metrics_access(struct dx_access *access, struct dx_buf *out)
{
    struct dx_access_health h;

    dx_access_health(access, dx_clock_ms(), &h);
    gauge(out, "domaindex_access_table_present", "1: a table says who may see what", h.present);
    gauge(out, "domaindex_access_known",
          "0: nobody is answered, since there has been no good table for too long", h.known);
    gauge(out, "domaindex_access_last_look_successful",
          "0: the table is damaged, older, gone or cannot be read; the last good one holds",
          h.sound);
    gauge(out, "domaindex_access_generation", "Number of the last good table", h.generation);
    gauge(out, "domaindex_access_principals", "Principals of the table", h.principals);
    dx_metric_head(out, "domaindex_access_last_success_timestamp_seconds", "gauge",
                   "When the last look at the table was well, since 1970");
    dx_metric_seconds(out, "domaindex_access_last_success_timestamp_seconds", NULL,
                      (double)h.read_us / 1e6);
}
