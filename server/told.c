/* SPDX-License-Identifier: Apache-2.0 */
#include "server/told.h"

#include <string.h>

struct reader {
    const uint8_t *at;
    const uint8_t *end;
};

static bool take(struct reader *r, char c)
{
    if (r->at == r->end || *r->at != (uint8_t)c)
        return false;
    r->at++;
    return true;
}

/* Without its quotes; escapes stay. */
static bool take_string(struct reader *r, struct dx_span *s)
{
    if (!take(r, '"'))
        return false;
    s->data = r->at;
    r->at = memchr(s->data, '"', (size_t)(r->end - s->data));
    if (r->at == NULL) {
        r->at = r->end;
        return false;
    }
    /* What ends behind a backslash is rare: an escape, which is gone through from the beginning. */
    if (r->at > s->data && r->at[-1] == '\\')
        r->at = s->data;
    while (r->at < r->end && *r->at != '"')
        r->at += *r->at == '\\' && r->end - r->at > 1 ? 2 : 1;
    s->size = (size_t)(r->at - s->data);
    return take(r, '"');
}

/* Digits alone; one that is no u64 is as large as it can be. */
static uint64_t take_number(struct reader *r)
{
    uint64_t n = 0;

    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
        n = n > (UINT64_MAX - 9) / 10 ? UINT64_MAX : n * 10 + (uint64_t)(*r->at - '0');
    return n;
}

static void skip_word(struct reader *r)
{
    while (r->at < r->end && *r->at != ',' && *r->at != '}')
        r->at++;
}

/* "0x" and 16 digits, as ids are written. */
static bool parse_id(struct dx_span s, uint64_t *id)
{
    uint64_t n = 0;

    if (s.size != 18 || s.data[0] != '0' || s.data[1] != 'x')
        return false;
    for (size_t i = 2; i < s.size; i++) {
        uint8_t c = s.data[i];

        if (c >= '0' && c <= '9')
            n = n << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            n = n << 4 | (uint64_t)(c - 'a' + 10);
        else
            return false;
    }
    *id = n;
    return true;
}

static bool is_named(struct dx_span name, const char *text)
{
    return name.size == strlen(text) && name.data[0] == (uint8_t)text[0] &&
           memcmp(name.data, text, name.size) == 0;
}

static void tell(struct dx_told *told, struct dx_span name, uint64_t n)
{
    if (is_named(name, "dataset_id"))
        told->dataset_id = n > UINT32_MAX ? 0 : (uint32_t)n;
    else if (is_named(name, "dataset_count"))
        told->datasets = n;
}

/* It stands behind all else that is told. */
static bool is_last(struct dx_span name)
{
    return is_named(name, "row_count") || is_named(name, "total");
}

void dx_told_read(struct dx_span body, struct dx_told *told)
{
    struct reader r = { body.data, body.data };

    *told = (struct dx_told){ .has_domain_id = false };
    if (body.size == 0)
        return;
    r.end += body.size < DX_TOLD_BYTES ? body.size : DX_TOLD_BYTES;
    if (!take(&r, '{'))
        return;
    do {
        struct dx_span name;
        struct dx_span text;

        if (!take_string(&r, &name) || !take(&r, ':') || r.at == r.end)
            return;
        if (*r.at == '"') {
            if (!take_string(&r, &text))
                return;
            if (is_named(name, "domain_id") && parse_id(text, &told->domain_id))
                told->has_domain_id = true;
        } else if (*r.at >= '0' && *r.at <= '9') {
            uint64_t n = take_number(&r);

            if (is_last(name)) {
                told->rows = n;
                return;
            }
            tell(told, name, n);
            skip_word(&r); /* a fraction */
        } else if (*r.at == '{' || *r.at == '[') {
            return;
        } else {
            skip_word(&r);
        }
    } while (take(&r, ','));
}
