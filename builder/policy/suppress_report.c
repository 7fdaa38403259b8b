/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/policy/suppress_report.h"

#include <assert.h>

#include "base/civil_time.h"
#include "base/json_out.h"
#include "format/version/manifest.h"

static void json_line(struct dx_json *j, const struct dx_suppressions *log,
                      const struct dx_suppression *line)
{
    dx_json_key(j, "number");
    dx_json_u64(j, line->number);
    dx_json_key(j, "time");
    dx_json_time_us(j, line->time_us);
    dx_json_key(j, "action");
    dx_json_str(j, line->lift ? "lift" : "add");
    if (line->lift) {
        dx_json_key(j, "lifts");
        dx_json_u64(j, line->other);
    } else {
        dx_json_key(j, "kind");
        dx_json_str(j, dx_suppress_kind_name(line->kind));
        dx_json_key(j, "policy");
        dx_json_str(j, dx_suppress_policy_name(line->policy));
        dx_json_key(j, "value");
        dx_json_text(j, dx_suppression_value(log, line));
        dx_json_key(j, "lifted_by");
        line->other != 0 ? dx_json_u64(j, line->other) : dx_json_null(j);
    }
    dx_json_key(j, "reason");
    dx_json_text(j, dx_suppression_reason(log, line));
}

static void text_line(struct dx_buf *out, const struct dx_suppressions *log,
                      const struct dx_suppression *line)
{
    struct dx_span value = dx_suppression_value(log, line);
    struct dx_span reason = dx_suppression_reason(log, line);
    char time[DX_CIVIL_TEXT];
    size_t n = dx_civil_text_us(line->time_us, time);

    dx_buf_fmt(out, "%6llu  %.*s  ", (unsigned long long)line->number, (int)n, time);
    if (line->lift)
        dx_buf_fmt(out, "lift   %-8s ", "rule");
    else
        dx_buf_fmt(out, "%-6s %-8s ", dx_suppress_kind_name(line->kind),
                   dx_suppress_policy_name(line->policy));
    dx_buf_printable(out, (const char *)value.data, value.size);
    if (!line->lift && line->other != 0)
        dx_buf_fmt(out, "  (lifted by %llu)", (unsigned long long)line->other);
    if (reason.size > 0) {
        dx_buf_str(out, "  # ");
        dx_buf_printable(out, (const char *)reason.data, reason.size);
    }
}

void dx_suppress_list(const struct dx_suppressions *log, bool json, struct dx_buf *out)
{
    struct dx_json j;

    if (!json) {
        for (size_t i = 0; i < log->count; i++) {
            text_line(out, log, &log->lines[i]);
            dx_buf_u8(out, '\n');
        }
        return;
    }
    dx_json_open(&j, out);
    dx_json_object(&j);
    dx_json_key(&j, "suppressions");
    dx_json_array(&j);
    for (size_t i = 0; i < log->count; i++) {
        dx_json_object(&j);
        json_line(&j, log, &log->lines[i]);
        dx_json_end(&j);
    }
    dx_json_end(&j);
    dx_json_end(&j);
    dx_buf_u8(out, '\n');
}

/* ---- status ---- */

static bool gone(const struct dx_manifest_version *v, const struct dx_suppression *line)
{
    assert(!line->lift); /* it hides no row */
    return v->cleansed >= line->number;
}

/* "gone" or "hidden", of the current version. */
static const char *state(const struct dx_manifest *m, const struct dx_suppression *line)
{
    const struct dx_manifest_version *v = m->version_count == 0 ? NULL : dx_manifest_current(m);

    return v != NULL && gone(v, line) ? "gone" : "hidden";
}

static void json_versions(struct dx_json *j, const struct dx_manifest *m, const char *key,
                          const struct dx_suppression *line, bool which)
{
    dx_json_key(j, key);
    dx_json_array(j);
    for (size_t i = m->version_count; i-- > 0;)
        if (gone(&m->versions[i], line) == which)
            dx_json_str(j, m->versions[i].version);
    dx_json_end(j);
}

static void json_status(const struct dx_suppressions *log, const struct dx_manifest *m,
                        struct dx_buf *out)
{
    struct dx_json j;

    dx_json_open(&j, out);
    dx_json_object(&j);
    dx_json_key(&j, "current");
    m->version_count > 0 ? dx_json_str(&j, m->current) : dx_json_null(&j);
    dx_json_key(&j, "number");
    dx_json_u64(&j, log->count);
    dx_json_key(&j, "rules");
    dx_json_array(&j);
    for (size_t i = 0; i < log->count; i++) {
        const struct dx_suppression *line = &log->lines[i];

        if (line->lift || line->other != 0)
            continue;
        dx_json_object(&j);
        json_line(&j, log, line);
        dx_json_key(&j, "state");
        dx_json_str(&j, state(m, line));
        json_versions(&j, m, "gone_from", line, true);
        json_versions(&j, m, "hidden_in", line, false);
        dx_json_end(&j);
    }
    dx_json_end(&j);
    dx_json_end(&j);
    dx_buf_u8(out, '\n');
}

void dx_suppress_status(const struct dx_suppressions *log, const struct dx_manifest *m, bool json,
                        struct dx_buf *out)
{
    if (json) {
        json_status(log, m, out);
        return;
    }
    for (size_t i = 0; i < log->count; i++) {
        const struct dx_suppression *line = &log->lines[i];
        size_t left = 0;

        if (line->lift || line->other != 0)
            continue;
        for (size_t k = 0; k < m->version_count; k++)
            left += !gone(&m->versions[k], line);
        dx_buf_fmt(out, "%-6s  ", state(m, line));
        text_line(out, log, line);
        dx_buf_fmt(out, "  [in the files of %zu of %zu versions]\n", left, m->version_count);
    }
}
