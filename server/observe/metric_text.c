/* SPDX-License-Identifier: Apache-2.0 */
#include "server/observe/metric_text.h"

#include <inttypes.h>
#include <time.h>

static const struct {
    const char *name, *type, *help;
} metrics[DX_METRIC_COUNT] = {
#define DX_METRIC(id, name, type, labels, help) { name, #type, help },
#include "server/observe/metrics.def"
#undef DX_METRIC
};

const char *dx_metric_name(enum dx_metric_id id)
{
    return metrics[id].name;
}

void dx_metric_head(struct dx_buf *out, enum dx_metric_id id)
{
    dx_buf_fmt(out, "# HELP %s %s.\n# TYPE %s %s\n", metrics[id].name, metrics[id].help,
               metrics[id].name, metrics[id].type);
}

static void put_name(struct dx_buf *out, enum dx_metric_id id, const char *labels)
{
    if (labels == NULL)
        dx_buf_str(out, metrics[id].name);
    else
        dx_buf_fmt(out, "%s{%s}", metrics[id].name, labels);
}

void dx_metric(struct dx_buf *out, enum dx_metric_id id, const char *labels, uint64_t value)
{
    put_name(out, id, labels);
    dx_buf_fmt(out, " %" PRIu64 "\n", value);
}

void dx_metric_seconds(struct dx_buf *out, enum dx_metric_id id, const char *labels, double value)
{
    put_name(out, id, labels);
    dx_buf_fmt(out, " %.6f\n", value);
}

void dx_metric_one(struct dx_buf *out, enum dx_metric_id id, uint64_t value)
{
    dx_metric_head(out, id);
    dx_metric(out, id, NULL, value);
}

void dx_metric_one_seconds(struct dx_buf *out, enum dx_metric_id id, double value)
{
    dx_metric_head(out, id);
    dx_metric_seconds(out, id, NULL, value);
}

void dx_metric_ago(struct dx_buf *out, enum dx_metric_id id, uint64_t age_ms)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    dx_metric_one_seconds(out, id,
                          (double)now.tv_sec + (double)now.tv_nsec / 1e9 - (double)age_ms / 1e3);
}

void dx_metric_members(struct dx_buf *out, const struct dx_metric_member *rows, size_t count,
                       const void *from)
{
    for (size_t i = 0; i < count; i++)
        dx_metric_one(out, rows[i].id,
                      *(const uint64_t *)(const void *)((const char *)from + rows[i].offset));
}
