/* SPDX-License-Identifier: Apache-2.0
 * Elements of a JSON array that comes in parts: the same ones wherever it is cut, and what is not an array.
 */
#include "base/buf.h"
#include "format/text/json_array.h"
#include "tests/support/damage.h"

#define SIZE_MAX_OF 8

static unsigned failures;

/* Elements in brackets, "!" for one that is too long, then "." for the end or "?" for broken. */
static const struct {
    const char *text, *want;
} rows[] = {
    { "[]", "." },
    { " [ ] ", "." },
    { "[1]", "<1>." },
    { "[1,2]", "<1><2>." },
    { "[ 1 , \"a\" ,null ]\n", "<1><\"a\"><null>." },
    { "[\"a,b]\"]", "<\"a,b]\">." },
    { "[\"\\\"\\\\\"]", "<\"\\\"\\\\\">." },
    { "[[1,2],{}]", "<[1,2]><{}>." },
    { "[{\"a\":1}]", "<{\"a\":1}>." },
    { "[[[[]]]]", "<[[[]]]>." },
    { "[\"1234567\"]", "!." },
    { "[\"12345678901234567890\",1]", "!<1>." },
    { "[12345678901234567890,\"1\"]", "!<\"1\">." },
    { "[[1,2,3,4,5,6,7,8,9],2]", "!<2>." },
    { "[12345678]", "<12345678>." },
    { "[123456789]", "!." },
    { "{\"domains\":[1]}", "<1>." },
    { " { \"domains\" : [ ] } ", "." },
    { "", "?" },
    { "[", "?" },
    { "[1", "<1>?" },
    { "[1,", "<1>?" },
    { "[1,]", "<1>?" },
    { "[,1]", "?" },
    { "[:1]", "?" },
    { "[}", "?" },
    { "[1 2]", "<1>?" },
    { "[1]x", "<1>?" },
    { "[1]]", "<1>?" },
    { "[1]}", "<1>?" },
    { "[1:2]", "<1>?" },
    { "[1}", "<1>?" },
    { "[1,}", "<1>?" },
    { "[1,:2]", "<1>?" },
    { "[1,,2]", "<1>?" },
    { "{}", "?" },
    { "{\"domain\":[1]}", "?" },
    { "{\"domains\"}", "?" },
    { "{\"domains\":1}", "?" },
    { "{\"domains\":[1]", "<1>?" },
    { "{\"domains\":[1]]", "<1>?" },
    { "{\"domains\":[1],\"x\":2}", "<1>?" },
    { "{\"doma", "?" },
    { "1", "?" },
    { "\"[1]\"", "?" },
};

/* The text in parts that end at `cut` and then byte by byte if `step`; else all that is left. */
static void read_all(const char *text, size_t cut, bool step, struct dx_buf *out)
{
    struct dx_json_array a = { .size_max = SIZE_MAX_OF };
    size_t size = strlen(text), begin = 0, end = cut;
    enum dx_json_array_step got;

    do {
        struct damaged part = damaged_copy(dx_span_of(text + begin, end - begin));
        struct dx_json_array_cut one;

        got = dx_json_array_next(&a, dx_span_of(part.bytes, part.size), end == size, &one);
        if (got == DX_JSON_ARRAY_ELEMENT) {
            dx_buf_u8(out, '<');
            dx_buf_append(out, one.element.data, one.element.size);
            dx_buf_u8(out, '>');
        } else if (got == DX_JSON_ARRAY_TOO_LONG) {
            dx_buf_u8(out, '!');
        } else if (got == DX_JSON_ARRAY_MORE) {
            EXPECT(end < size, "'%s': more than all of it is wanted", text);
            end = step && end < size ? end + 1 : size;
        }
        begin += one.used;
        damaged_free(&part);
    } while (got < DX_JSON_ARRAY_END && out->size < 1000);
    dx_buf_u8(out, got == DX_JSON_ARRAY_END ? '.' : '?');
}

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t size = strlen(rows[i].text);

        for (size_t cut = 0; cut <= size; cut++)
            for (int step = 0; step < 2; step++) {
                struct dx_buf out = DX_BUF_INIT(2000);

                read_all(rows[i].text, cut, step > 0, &out);
                EXPECT(dx_span_equal(dx_span_of(out.data, out.size), dx_span_str(rows[i].want)),
                       "'%s', cut at %zu: '%.*s' instead of '%s'", rows[i].text, cut, (int)out.size,
                       (const char *)out.data, rows[i].want);
                dx_buf_release(&out);
            }
    }
    return failures != 0;
}
