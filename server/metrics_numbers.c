/* SPDX-License-Identifier: Apache-2.0 */
#include "server/metrics.h"

#include "loader/numbers_now.h"

static void gauge(struct dx_buf *out, const char *name, const char *help, uint64_t value)
{
    dx_metric_head(out, name, "gauge", help);
    dx_metric(out, name, NULL, value);
}

void dx_metrics_numbers(struct dx_numbers_now *numbers, struct dx_buf *out)
{
    struct dx_numbers_health h;

    dx_numbers_now_health(numbers, &h);
    gauge(out, "domaindex_numbers_present", "1: there is a registry of numbers", h.present);
    gauge(out, "domaindex_numbers_last_look_successful",
          "0: the registry of numbers is damaged or cannot be read; the one before holds on",
          h.sound);
    gauge(out, "domaindex_numbers_fillings", "Fillings of the registry that is in use", h.fillings);
    gauge(out, "domaindex_numbers_names", "Names that have a number", h.names);
}
