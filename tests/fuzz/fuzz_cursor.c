/* SPDX-License-Identifier: Apache-2.0
 * Cursors and query strings: what is taken is well-formed, and a cursor that is taken is written
 * back as the same text. The bytes are a cursor, what is in a cursor that opens, and a target.
 */
#include "base/crypto/seal.h"
#include "query/answers/answer.h"
#include "query/rows/cursor.h"
#include "server/routes/answers.h"
#include "server/routes/target.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct dx_cursor_key shared = { DX_CURSOR_KEY_SHARED, { 7 } };

static void must(bool ok, const char *what)
{
    if (!ok) {
        (void)fprintf(stderr, "%s\n", what);
        abort();
    }
}

static void check_cursor(struct dx_span text)
{
    static const struct dx_cursor_key own = DX_CURSOR_KEY_INIT;
    const struct dx_cursor_key *keys[] = { &own, &shared, &shared };
    const char *names[] = { NULL, NULL, "team-a" };

    for (size_t i = 0; i < 3; i++) {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_problem problem;
        char back[DX_CURSOR_TEXT];
        struct dx_cursor c;

        if (dx_cursor_read(text, keys[i], names[i], &c, &problem) != 1)
            continue;
        must(c.limit >= 1 && c.limit <= DX_LIMIT_MAX, "limit");
        must(c.kind != DX_CURSOR_LISTING || c.next_row <= c.end_row, "rows");
        must(dx_cursor_write(&c, keys[i], names[i], back, &err) == DX_OK, "cannot be written");
        must(dx_span_equal(text, dx_span_str(back)), "two texts of one cursor");
    }
}

/* Any bytes that were sealed: what the values are checked for. */
static void check_sealed(struct dx_span bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const uint8_t format = DX_CURSOR_FORMAT;
    uint8_t whole[1 + DX_SEAL_EXTRA + 256];
    char text[sizeof whole * 4 / 3 + 4];
    size_t n = 0;
    uint32_t bits = 0;
    unsigned have = 0;

    if (bytes.size == 0 || bytes.size > 256)
        return;
    whole[0] = format;
    must(dx_seal(shared.bytes, dx_span_of(&format, 1), bytes, whole + 1), "not sealed");
    for (size_t i = 0; i < 1 + DX_SEAL_EXTRA + bytes.size; i++) {
        bits = bits << 8 | whole[i];
        for (have += 8; have >= 6; have -= 6)
            text[n++] = digits[bits >> (have - 6) & 63];
    }
    if (have > 0)
        text[n++] = digits[bits << (6 - have) & 63];
    check_cursor(dx_span_of(text, n));
}

static void check_target(struct dx_span target)
{
    static const struct dx_answers answers = { .cursor_key = { DX_CURSOR_KEY_SHARED, { 7 } },
                                               .cursor_life_s = 900 };
    static struct dx_ask ask;
    struct dx_problem problem;
    unsigned all;

    if (target.size > DX_TARGET_MAX || dx_target_parse(target, false, &ask, &problem) != 1)
        return;
    must(ask.text_size <= sizeof ask.text, "text");
    must(ask.plan <= DX_PLAN_MAX && ask.page.limit <= DX_DATASETS_LIMIT_MAX, "numbers");
    if (dx_ask_resolve(&answers, &ask, 1795000000, &problem) != 1) {
        must(strlen(problem.restart) < sizeof problem.restart, "restart");
        return;
    }
    must(ask.filter.tag.size + ask.filter.mime.size + ask.filter.prefix.size + 6 <=
             DX_ROW_FILTER_MAX,
         "filter");
    must(strlen(ask.wanted) < sizeof ask.wanted, "name of a version");
    all = ask.route == DX_ROUTE_DOMAIN ? DX_DOMAIN_FIELDS_ALL : DX_FIELDS_ALL;
    must(ask.field_bits != 0 && (ask.field_bits & ~all) == 0, "fields");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_span bytes = dx_span_of(data, size);

    check_cursor(bytes);
    check_sealed(bytes);
    check_target(bytes);
    return 0;
}
