/* SPDX-License-Identifier: Apache-2.0 */
#include "format/root/suppressions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/civil_time.h"
#include "base/decimal.h"
#include "base/hash.h"
#include "format/root/registry_json.h"

#define HEADER "domaindex suppressions 1\n"
#define CHECKSUM "checksum\t"
#define TAIL (sizeof CHECKSUM - 1 + DX_HASH128_TEXT - 1 + 1)
#define FIELDS 7

static const char *const kind_names[] = { [DX_SUPPRESS_DOMAIN] = "domain",
                                          [DX_SUPPRESS_HOST] = "host",
                                          [DX_SUPPRESS_PREFIX] = "prefix",
                                          [DX_SUPPRESS_URL] = "url" };
static const char *const policy_names[] = {
    [DX_SUPPRESS_WITHHELD] = "withheld", [DX_SUPPRESS_ABSENT] = "absent"
};

static bool name_index(struct dx_span name, const char *const *names, size_t count, unsigned *at)
{
    for (*at = 0; *at < count; ++*at)
        if (dx_span_equal(name, dx_span_str(names[*at])))
            return true;
    return false;
}

const char *dx_suppress_kind_name(enum dx_suppress_kind kind)
{
    return kind_names[kind];
}

const char *dx_suppress_policy_name(enum dx_suppress_policy policy)
{
    return policy_names[policy];
}

bool dx_suppress_kind_parse(struct dx_span name, enum dx_suppress_kind *kind)
{
    unsigned at;
    bool found = name_index(name, kind_names, sizeof kind_names / sizeof *kind_names, &at);

    if (found)
        *kind = (enum dx_suppress_kind)at;
    return found;
}

static bool parse_policy(struct dx_span name, enum dx_suppress_policy *policy)
{
    unsigned at;
    bool found = name_index(name, policy_names, sizeof policy_names / sizeof *policy_names, &at);

    if (found)
        *policy = (enum dx_suppress_policy)at;
    return found;
}

/* ---- values ---- */

static size_t find_byte(struct dx_span s, uint8_t byte)
{
    const uint8_t *at = s.size == 0 ? NULL : memchr(s.data, byte, s.size);

    return at == NULL ? s.size : (size_t)(at - s.data);
}

/* A trailing dot is part of a host (docs/CANON.md), but of no registered domain. */
static bool host_ok(enum dx_suppress_kind kind, struct dx_span host)
{
    if (kind != DX_SUPPRESS_DOMAIN && host.size > 0 && host.data[host.size - 1] == '.')
        host.size--;
    for (size_t i = 0; i < host.size; i++)
        if ((host.data[i] >= 'A' && host.data[i] <= 'Z') || strchr("/?#@", host.data[i]) != NULL)
            return false;
    return host.size > 0 && host.data[0] != '.' && host.data[0] != ':' &&
           host.data[host.size - 1] != '.';
}

bool dx_suppress_parts_of(enum dx_suppress_kind kind, struct dx_span value,
                          struct dx_suppress_parts *parts)
{
    struct dx_span rest = value;

    *parts = (struct dx_suppress_parts){ { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };
    if (value.size == 0 || value.size > DX_SUPPRESSIONS_VALUE_MAX)
        return false;
    for (size_t i = 0; i < value.size; i++)
        if (value.data[i] <= 0x20 || value.data[i] >= 0x7f)
            return false;
    if (kind == DX_SUPPRESS_URL) {
        size_t colon = find_byte(value, ':');

        if (colon == 0 || value.size - colon < 3 || memcmp(value.data + colon, "://", 3) != 0)
            return false;
        parts->scheme = dx_span_of(value.data, colon);
        rest = dx_span_from(value, colon + 3);
    }
    parts->host = dx_span_of(rest.data, find_byte(rest, '/'));
    parts->path_query = dx_span_from(rest, parts->host.size);
    return host_ok(kind, parts->host) &&
           (kind == DX_SUPPRESS_PREFIX || kind == DX_SUPPRESS_URL) == (parts->path_query.size > 0);
}

struct dx_span dx_suppression_value(const struct dx_suppressions *log,
                                    const struct dx_suppression *line)
{
    return dx_span_of(log->text.data + line->value_at, line->value_size);
}

struct dx_span dx_suppression_reason(const struct dx_suppressions *log,
                                     const struct dx_suppression *line)
{
    return dx_span_of(log->text.data + line->reason_at, line->reason_size);
}

/* ---- adding ---- */

static bool room(struct dx_suppressions *log)
{
    struct dx_suppression *to = dx_array_room(log->lines, log->count, &log->capacity,
                                              sizeof *log->lines);

    if (to != NULL)
        log->lines = to;
    return to != NULL;
}

/* Spans of a line that was read, or that is to be written. */
struct fields {
    uint64_t number;
    int64_t time_us;
    bool lift;
    enum dx_suppress_kind kind;
    enum dx_suppress_policy policy;
    struct dx_span value;
    struct dx_span reason;
    uint64_t rule; /* lift: the one that `value` names */
};

/* What is wrong with the line that would be the next; NULL: nothing. */
static const char *find_fault(const struct dx_suppressions *log, const struct fields *f)
{
    struct dx_suppress_parts parts;
    char time[DX_CIVIL_TEXT];
    int64_t again;

    if (f->reason.size > 0 && !dx_dataset_text_ok(f->reason, DX_SUPPRESSIONS_REASON_MAX))
        return "the reason is over 1000 bytes, or not UTF-8 without control characters";
    if (!dx_civil_parse(dx_span_of(time, dx_civil_text_us(f->time_us, time)), &again) ||
        again != f->time_us || f->time_us % 1000000 != 0)
        return "the time is not one of whole seconds of the years 0 to 9999";
    if (f->lift)
        return f->rule == 0 || f->rule > log->count || log->lines[f->rule - 1].lift ||
                       log->lines[f->rule - 1].other != 0
                   ? "what it lifts is not an active rule"
                   : NULL;
    return dx_suppress_parts_of(f->kind, f->value, &parts) ? NULL
                                                           : "the value has not the form of its "
                                                             "kind";
}

/* The fields are right, their spans lie in the text. */
static void take(struct dx_suppressions *log, const struct fields *f)
{
    struct dx_suppression *line = &log->lines[log->count++];

    *line = (struct dx_suppression){ .number = f->number,
                                     .time_us = f->time_us,
                                     .lift = f->lift,
                                     .other = f->rule,
                                     .kind = f->kind,
                                     .policy = f->policy,
                                     .value_at = (size_t)(f->value.data - log->text.data),
                                     .value_size = f->value.size,
                                     .reason_at = (size_t)(f->reason.data - log->text.data),
                                     .reason_size = f->reason.size };
    if (f->lift)
        log->lines[f->rule - 1].other = f->number;
}

static void append_line(struct dx_buf *text, const struct fields *f)
{
    char time[DX_CIVIL_TEXT];
    size_t n = dx_civil_text_us(f->time_us, time);

    dx_buf_fmt(text, "%" PRIu64 "\t%.*s\t%s\t%s\t%s\t", f->number, (int)n, time,
               f->lift ? "lift" : "add", f->lift ? "rule" : kind_names[f->kind],
               f->lift ? "-" : policy_names[f->policy]);
    dx_buf_append(text, f->value.data, f->value.size);
    dx_buf_u8(text, '\t');
    dx_buf_append(text, f->reason.data, f->reason.size);
    dx_buf_u8(text, '\n');
}

static int add_line(struct dx_suppressions *log, struct fields *f, uint64_t *number,
                    struct dx_error *err)
{
    const char *why = find_fault(log, f);
    size_t before = log->text.size;

    if (why != NULL)
        return dx_fail(err, f->lift ? DX_E_NOT_FOUND : DX_E_INVALID, "suppression '%.*s': %s",
                       (int)(f->value.size < 200 ? f->value.size : 200),
                       (const char *)f->value.data, why);
    if (log->count >= DX_SUPPRESSIONS_LINES_MAX)
        return dx_fail(err, DX_E_LIMIT, "suppressions: the log has %u lines, which is the most",
                       DX_SUPPRESSIONS_LINES_MAX);
    if (!room(log))
        return dx_no_memory(err, "suppressions");
    f->number = log->count + 1;
    if (before == 0)
        dx_buf_str(&log->text, HEADER);
    append_line(&log->text, f);
    if (log->text.failed || log->text.size > DX_SUPPRESSIONS_MAX - TAIL) {
        bool full = log->text.size > DX_SUPPRESSIONS_MAX / 2;

        log->text.size = before;
        log->text.failed = false;
        if (!full)
            return dx_no_memory(err, "suppressions");
        return dx_fail(err, DX_E_LIMIT, "suppressions: the log would be over %u bytes",
                       DX_SUPPRESSIONS_MAX);
    }
    /* The reason ends before the newline, the value before the tab before the reason. */
    f->reason.data = log->text.data + log->text.size - 1 - f->reason.size;
    f->value.data = f->reason.data - 1 - f->value.size;
    take(log, f);
    *number = f->number;
    return DX_OK;
}

int dx_suppressions_add(struct dx_suppressions *log, const struct dx_suppress_rule *rule,
                        uint64_t *number, struct dx_error *err)
{
    struct fields f = { .time_us = rule->time_us,
                        .kind = rule->kind,
                        .policy = rule->policy,
                        .value = rule->value,
                        .reason = rule->reason };

    return add_line(log, &f, number, err);
}

int dx_suppressions_lift(struct dx_suppressions *log, int64_t time_us, uint64_t rule,
                         struct dx_span reason, uint64_t *number, struct dx_error *err)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%" PRIu64, rule);
    struct fields f = { .time_us = time_us,
                        .lift = true,
                        .value = dx_span_of(text, (size_t)n),
                        .reason = reason,
                        .rule = rule };

    return add_line(log, &f, number, err);
}

int dx_suppressions_write(const struct dx_suppressions *log, struct dx_buf *out,
                          struct dx_error *err)
{
    struct dx_span text = log->text.size == 0 ? dx_span_str(HEADER)
                                              : dx_span_of(log->text.data, log->text.size);
    struct dx_hash128 sum = dx_hash128_of(text);
    char hex[DX_HASH128_TEXT];

    dx_hash128_text(&sum, hex);
    dx_buf_append(out, text.data, text.size);
    dx_buf_fmt(out, CHECKSUM "%s\n", hex);
    return out->failed ? dx_buf_fail(out, err, "suppressions") : DX_OK;
}

void dx_suppressions_release(struct dx_suppressions *log)
{
    dx_buf_release(&log->text);
    free(log->lines);
    *log = (struct dx_suppressions)DX_SUPPRESSIONS_INIT;
}

bool dx_suppressions_continues(const struct dx_suppressions *newer,
                               const struct dx_suppressions *older)
{
    return older->text.size <= newer->text.size &&
           (older->text.size == 0 ||
            memcmp(older->text.data, newer->text.data, older->text.size) == 0);
}

/* ---- parsing ---- */

/* Of at most nine digits; 0 is not one. */
static bool decimal(struct dx_span s, uint64_t *out)
{
    return dx_decimal_plain(s, 999999999, out) && *out > 0;
}

static bool time_parse(struct dx_span text, int64_t *us)
{
    char again[DX_CIVIL_TEXT];

    return dx_civil_parse(text, us) &&
           dx_span_equal(text, dx_span_of(again, dx_civil_text_us(*us, again)));
}

/* What is wrong with the line; NULL: nothing, and it was taken. */
static const char *read_line(struct dx_suppressions *log, struct dx_span line)
{
    struct dx_span at[FIELDS];
    struct fields f = { .number = 0 };
    const char *why;

    for (size_t i = 0; i < FIELDS; i++) {
        size_t n = find_byte(line, '\t');

        if ((i + 1 == FIELDS) != (n == line.size))
            return "not 7 fields";
        at[i] = dx_span_of(line.data, n);
        line = i + 1 == FIELDS ? line : dx_span_from(line, n + 1);
    }
    f.value = at[5];
    f.reason = at[6];
    f.lift = dx_span_equal(at[2], dx_span_str("lift"));
    if (!decimal(at[0], &f.number) || f.number != log->count + 1)
        return "lines are not numbered 1, 2, 3...";
    if (!time_parse(at[1], &f.time_us))
        return "not a time like 2026-11-21T10:30:00Z";
    if (f.lift ? !dx_span_equal(at[3], dx_span_str("rule")) ||
                     !dx_span_equal(at[4], dx_span_str("-")) || !decimal(at[5], &f.rule)
               : !dx_span_equal(at[2], dx_span_str("add")) ||
                     !dx_suppress_kind_parse(at[3], &f.kind) || !parse_policy(at[4], &f.policy))
        return "neither a rule that is added nor one that is lifted";
    why = find_fault(log, &f);
    if (why == NULL)
        take(log, &f);
    return why;
}

static int check_sum(struct dx_span text, struct dx_error *err)
{
    char want[TAIL + 1];
    char hex[DX_HASH128_TEXT];
    struct dx_hash128 sum;
    size_t front;

    if (text.size > DX_SUPPRESSIONS_MAX)
        return dx_fail(err, DX_E_LIMIT, "%zu bytes, at most %u are read", text.size,
                       DX_SUPPRESSIONS_MAX);
    if (text.size < sizeof HEADER - 1 + TAIL)
        return dx_fail(err, DX_E_TRUNCATED, "%zu bytes are not a log of suppressions", text.size);
    if (memcmp(text.data, HEADER, sizeof HEADER - 1) != 0)
        return dx_fail(err, DX_E_UNSUPPORTED, "does not begin with 'domaindex suppressions 1'");
    front = text.size - TAIL;
    sum = dx_hash128_of(dx_span_of(text.data, front));
    dx_hash128_text(&sum, hex);
    (void)snprintf(want, sizeof want, CHECKSUM "%s\n", hex);
    if (memcmp(text.data + front, want, TAIL) != 0)
        return dx_fail(err, DX_E_CORRUPT,
                       "does not end in its checksum: cut, damaged, or edited by hand");
    return DX_OK;
}

static int read_lines(struct dx_suppressions *log, struct dx_error *err)
{
    struct dx_span rest = dx_buf_from(&log->text, sizeof HEADER - 1);

    while (rest.size > 0) {
        size_t n = find_byte(rest, '\n');
        const char *why = n == rest.size ? "does not end" : NULL;

        if (why == NULL && log->count >= DX_SUPPRESSIONS_LINES_MAX)
            return dx_fail(err, DX_E_LIMIT, "over %u lines", DX_SUPPRESSIONS_LINES_MAX);
        if (why == NULL && !room(log))
            return dx_no_memory(err, "suppressions");
        if (why == NULL)
            why = read_line(log, dx_span_of(rest.data, n));
        if (why != NULL)
            return dx_fail(err, DX_E_CORRUPT, "rule %zu, offset %zu: %s", log->count + 1,
                           (size_t)(rest.data - log->text.data), why);
        rest = dx_span_from(rest, n + 1);
    }
    return DX_OK;
}

int dx_suppressions_parse(struct dx_span text, const char *name, struct dx_suppressions *log,
                          struct dx_error *err)
{
    struct dx_error local = DX_ERROR_INIT; /* so that there is a text to put the name before */
    int rc;

    *log = (struct dx_suppressions)DX_SUPPRESSIONS_INIT;
    rc = check_sum(text, &local);
    if (rc == DX_OK) {
        dx_buf_append(&log->text, text.data, text.size - TAIL);
        rc = log->text.failed ? dx_no_memory(&local, "suppressions") : read_lines(log, &local);
    }
    if (rc == DX_OK)
        return rc;
    dx_suppressions_release(log);
    (void)dx_fail_in(&local, "%s", name);
    if (err != NULL)
        *err = local;
    return rc;
}
