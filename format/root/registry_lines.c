/* SPDX-License-Identifier: Apache-2.0 */
#include "format/root/registry_lines.h"

#include "base/civil_time.h"
#include "base/plain_text.h"

#define DIGITS_MAX 18 /* of a number that surely fits */

struct cursor {
    const uint8_t *at;
    const uint8_t *end;
};

#define TAKE(c, literal) take((c), (literal), sizeof(literal) - 1)

/* The sizes are known where it is called: a few words are compared in place. */
static inline __attribute__((always_inline)) bool take(struct cursor *c, const char *literal,
                                                       size_t size)
{
    if ((size_t)(c->end - c->at) < size || memcmp(c->at, literal, size) != 0)
        return false;
    c->at += size;
    return true;
}

/* As it is written: without a zero in front. */
static inline bool take_number(struct cursor *c, uint64_t *v)
{
    const uint8_t *from = c->at;

    *v = 0;
    for (; c->at < c->end && (uint8_t)(*c->at - '0') < 10; c->at++) {
        if (c->at - from == DIGITS_MAX)
            return false;
        *v = *v * 10 + (uint8_t)(*c->at - '0');
    }
    return c->at > from && (*from != '0' || c->at - from == 1);
}

/* Behind the quote in front, and the one at its end. */
static bool take_text(struct cursor *c, struct dx_span *text, bool *plain)
{
    const uint8_t *from = c->at;

    *plain = true;
    for (;;) {
        c->at += dx_plain_prefix(c->at, (size_t)(c->end - c->at));
        if (c->at == c->end || (*c->at != '"' && *c->at < 0x80))
            return false;
        if (*c->at++ == '"')
            break;
        *plain = false;
    }
    *text = dx_span_of(from, (size_t)(c->at - 1 - from));
    return true;
}

/* "2026-11-21T10:30:00Z", behind the quote in front. */
static bool take_time(struct cursor *c, int64_t *us)
{
    enum { SIZE = 20 };
    const uint8_t *p = c->at;

    if (c->end - p <= SIZE || p[10] != 'T' || p[16] != ':' || p[19] != 'Z' || p[SIZE] != '"' ||
        !dx_civil_parse(dx_span_of(p, SIZE), us))
        return false;
    c->at = p + SIZE + 1;
    return true;
}

static bool take_times(struct cursor *c, struct dx_registry_line *line)
{
    line->has_ts = !TAKE(c, ",\"first_ts\":null,\"last_ts\":null}");
    return !line->has_ts ||
           (TAKE(c, ",\"first_ts\":\"") && take_time(c, &line->first_us) &&
            TAKE(c, ",\"last_ts\":\"") && take_time(c, &line->last_us) && TAKE(c, "}"));
}

/* At the brace in front. Its texts are taken once more by dx_registry_line_meta. */
static bool take_metadata(struct cursor *c, struct dx_span *metadata)
{
    const uint8_t *from = c->at + 1;
    struct dx_span text;
    bool plain;

    if (!TAKE(c, "{"))
        return false;
    while (!TAKE(c, "}"))
        if (!(c->at == from || TAKE(c, ",")) || !TAKE(c, "\"") || !take_text(c, &text, &plain) ||
            !TAKE(c, ":\"") || !take_text(c, &text, &plain))
            return false;
    *metadata = dx_span_of(from, (size_t)(c->at - 1 - from));
    return true;
}

static bool take_line(struct cursor *c, struct dx_registry_line *line)
{
    uint64_t id;

    if (!TAKE(c, "{\"dataset_id\":") || !take_number(c, &id) || id == 0 || id > UINT32_MAX ||
        !TAKE(c, ",\"name\":\"") || !take_text(c, &line->name, &line->plain_name))
        return false;
    line->dataset_id = (uint32_t)id;
    line->of_counts = TAKE(c, ",\"kind\":\"counts\"");
    return TAKE(c, ",\"metadata\":") && take_metadata(c, &line->metadata) &&
           TAKE(c, ",\"files\":") && take_number(c, &line->files) && TAKE(c, ",\"rows\":") &&
           take_number(c, &line->rows) && TAKE(c, ",\"urls\":") && take_number(c, &line->urls) &&
           TAKE(c, ",\"domains\":") && take_number(c, &line->domains) && take_times(c, line);
}

void dx_registry_lines_open(struct dx_registry_lines *l, struct dx_span text)
{
    struct cursor c = { text.data, text.data + text.size };

    l->failed = text.size == 0 || !TAKE(&c, "{\"datasets\":[");
    l->first = true;
    l->at = c.at;
    l->end = c.end;
}

bool dx_registry_lines_next(struct dx_registry_lines *l, struct dx_registry_line *line)
{
    struct cursor c = { l->at, l->end };

    if (l->failed || TAKE(&c, "\n]}\n")) {
        l->at = c.at;
        return false;
    }
    *line = (struct dx_registry_line){ .dataset_id = 0 };
    l->failed = !(l->first || TAKE(&c, ",")) || !TAKE(&c, "\n") || !take_line(&c, line);
    l->first = false;
    l->at = c.at;
    return !l->failed;
}

bool dx_registry_line_meta(struct dx_registry_line *line, struct dx_span *key,
                           struct dx_span *value)
{
    struct cursor c = { line->metadata.data, line->metadata.data + line->metadata.size };
    bool plain;

    if (c.at == c.end)
        return false;
    (void)TAKE(&c, ",");
    if (!TAKE(&c, "\"") || !take_text(&c, key, &plain) || !TAKE(&c, ":\"") ||
        !take_text(&c, value, &plain))
        return false;
    line->metadata = dx_span_of(c.at, (size_t)(c.end - c.at));
    return true;
}

bool dx_registry_lines_whole(const struct dx_registry_lines *l)
{
    return !l->failed && l->at == l->end;
}
