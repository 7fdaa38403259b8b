/* SPDX-License-Identifier: Apache-2.0
 * suppressions.h - index/suppressions.log: what is to be shown no more, in the order it was said.
 *
 *   struct dx_suppressions log = DX_SUPPRESSIONS_INIT;                 no lines
 *   rc = dx_suppressions_parse(text, name, &log, &err);
 *   rc = dx_suppressions_add(&log, &rule, &number, &err);              a line more
 *   rc = dx_suppressions_lift(&log, time_us, 3, reason, &number, &err);
 *   rc = dx_suppressions_write(&log, &buf, &err);
 *   if (!dx_suppressions_continues(&newer, &log)) ...                  refuse it
 *   dx_suppressions_release(&log);
 *
 * A line of text each, numbered from 1; nothing is ever taken out, a later line may lift a rule.
 * The text ends in the XXH3-128 of what is before its last line; a log that was damaged or cut is
 * refused whole. A log is a continuation of another if it has all of its lines, byte for byte, and
 * perhaps more. What the rules hit is format/root/rules.h's.
 *
 * What add is given is copied. Values are canonical text (docs/CANON.md), which is the caller's to
 * make: only their form is checked. Spans from the functions below are valid until the next add,
 * lift or release. One thread at a time; read-only use may be shared.
 */
#ifndef DX_FORMAT_ROOT_SUPPRESSIONS_H
#define DX_FORMAT_ROOT_SUPPRESSIONS_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "format/version/names.h"

#define DX_SUPPRESSIONS_MAX (64u << 20)      /* bytes: about a million lines */
#define DX_SUPPRESSIONS_VALUE_MAX 8192       /* as long as a URL may be */
#define DX_SUPPRESSIONS_REASON_MAX 1000      /* bytes */
#define DX_SUPPRESSIONS_LINES_MAX (1u << 20) /* a line is about 60 bytes */

enum dx_suppress_kind {
    DX_SUPPRESS_DOMAIN, /* "example.com": that name and all hosts below it */
    DX_SUPPRESS_HOST,   /* "www.example.com", "example.com:8080": exactly that host */
    DX_SUPPRESS_PREFIX, /* "example.com/private/": host, and how path and query begin */
    DX_SUPPRESS_URL     /* "https://example.com/a?b=c" */
};

enum dx_suppress_policy {
    DX_SUPPRESS_WITHHELD, /* said to be withheld: 451 */
    DX_SUPPRESS_ABSENT    /* as if it were not there */
};

/* A line. */
struct dx_suppression {
    uint64_t number;
    int64_t time_us; /* whole seconds */
    bool lift;
    uint64_t other; /* lift: the rule that it lifts. add: the line that lifts it; 0: it is active */
    enum dx_suppress_kind kind;
    enum dx_suppress_policy policy;
    size_t value_at, value_size; /* in the text */
    size_t reason_at, reason_size;
};

struct dx_suppressions {
    struct dx_buf text; /* header and lines, without the checksum */
    struct dx_suppression *lines;
    size_t count; /* the number of the last line */
    size_t capacity;
};

#define DX_SUPPRESSIONS_INIT                         \
    {                                                \
        DX_BUF_INIT(DX_SUPPRESSIONS_MAX), NULL, 0, 0 \
    }

/* What add takes. */
struct dx_suppress_rule {
    int64_t time_us;
    enum dx_suppress_kind kind;
    enum dx_suppress_policy policy;
    struct dx_span value;
    struct dx_span reason; /* UTF-8 without control characters; may be empty */
};

int dx_suppressions_parse(struct dx_span text, const char *name, struct dx_suppressions *log,
                          struct dx_error *err);
int dx_suppressions_write(const struct dx_suppressions *log, struct dx_buf *out,
                          struct dx_error *err);
void dx_suppressions_release(struct dx_suppressions *log);

/* After an error the log is as it was. */
int dx_suppressions_add(struct dx_suppressions *log, const struct dx_suppress_rule *rule,
                        uint64_t *number, struct dx_error *err);

/* DX_E_NOT_FOUND: no rule has that number, or it is lifted already. */
int dx_suppressions_lift(struct dx_suppressions *log, int64_t time_us, uint64_t rule,
                         struct dx_span reason, uint64_t *number, struct dx_error *err);

bool dx_suppressions_continues(const struct dx_suppressions *newer,
                               const struct dx_suppressions *older);

struct dx_span dx_suppression_value(const struct dx_suppressions *log,
                                    const struct dx_suppression *line);
struct dx_span dx_suppression_reason(const struct dx_suppressions *log,
                                     const struct dx_suppression *line);

/* The parts of a value; those that a kind has not are empty. false: the value has not the form. */
struct dx_suppress_parts {
    struct dx_span scheme, host, path_query; /* host: of a domain, the domain */
};
bool dx_suppress_parts_of(enum dx_suppress_kind kind, struct dx_span value,
                          struct dx_suppress_parts *parts);

/* "domain"..., "withheld"... */
const char *dx_suppress_kind_name(enum dx_suppress_kind kind);
const char *dx_suppress_policy_name(enum dx_suppress_policy policy);
bool dx_suppress_kind_parse(struct dx_span name, enum dx_suppress_kind *kind);

#endif
