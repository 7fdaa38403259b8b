/* SPDX-License-Identifier: Apache-2.0
 * datasets.json line by line: what a writer wrote is whole, and a text with one byte changed means the same to both readers.
 */
#include "format/root/registry_json.h"
#include "format/root/registry_lines.h"
#include "tests/support/damage.h"

static int failures;

static void add(struct dx_registry *r, const char *name, struct dx_dataset **d)
{
    EXPECT(dx_registry_add(r, dx_span_str(name), d, NULL) == 1, "%s", name);
    (*d)->files = 7;
    (*d)->rows = 120 + r->count;
    (*d)->urls = 0;
    (*d)->domains = UINT64_C(999999999999999999);
}

/* Names in order and not, of counts, with metadata, without times; escape: with what is written with an escape. */
static void write(struct dx_buf *out, bool escape)
{
    struct dx_registry r = DX_REGISTRY_INIT;
    struct dx_dataset *d = NULL;

    add(&r, "b", &d);
    add(&r, "a", &d);
    EXPECT(dx_registry_meta(d, dx_span_str("k"), dx_span_str("v"), NULL) == DX_OK, "k");
    EXPECT(dx_registry_meta(d, dx_span_str("l"), dx_span_str(""), NULL) == DX_OK, "l");
    d->has_ts = true;
    d->first_us = -1000000;
    d->last_us = INT64_C(1718352930000000);
    add(&r, escape ? "quote\"" : "\xc3\xa4 \xe2\x82\xac", &d);
    dx_registry_set_kind(&r, d, DX_DATASET_COUNTS);
    EXPECT(dx_registry_write(&r, out, NULL) == DX_OK, "written");
    dx_registry_release(&r);
}

static bool is_whole(struct dx_span text, size_t *lines)
{
    struct dx_registry_lines l;
    struct dx_registry_line line;

    *lines = 0;
    dx_registry_lines_open(&l, text);
    while (dx_registry_lines_next(&l, &line))
        ++*lines;
    return dx_registry_lines_whole(&l);
}

static void test_whole(void)
{
    struct dx_buf text = DX_BUF_INIT(1 << 16);
    struct dx_buf other = DX_BUF_INIT(1 << 16);
    struct dx_registry none = DX_REGISTRY_INIT;
    size_t lines;

    write(&text, false);
    write(&other, true);
    EXPECT(is_whole(dx_span_of(text.data, text.size), &lines) && lines == 3, "%zu lines", lines);
    EXPECT(!is_whole(dx_span_of(other.data, other.size), &lines), "an escape");
    for (size_t n = 0; n < text.size; n++) {
        struct damaged d = damaged_copy(dx_span_of(text.data, n));

        EXPECT(!is_whole(dx_span_of(d.bytes, d.size), &lines), "cut to %zu", n);
        damaged_free(&d);
    }
    dx_buf_clear(&text);
    EXPECT(dx_registry_write(&none, &text, NULL) == DX_OK, "written");
    EXPECT(is_whole(dx_span_of(text.data, text.size), &lines) && lines == 0, "of no dataset");
    dx_buf_release(&text);
    dx_buf_release(&other);
}

struct outcome {
    int rc;
    struct dx_error err;
    struct dx_buf again;
};

static void read(struct dx_span text, struct outcome *o)
{
    struct damaged d = damaged_copy(text);
    struct dx_registry r = DX_REGISTRY_INIT;

    *o = (struct outcome){ .err = DX_ERROR_INIT, .again = DX_BUF_INIT(1 << 16) };
    o->rc = dx_registry_parse(&r, dx_span_of(d.bytes, d.size), "t", &o->err);
    if (o->rc == DX_OK)
        EXPECT(dx_registry_write(&r, &o->again, NULL) == DX_OK, "written again");
    dx_registry_release(&r);
    damaged_free(&d);
}

/* But for the column, which the blank at the end moves. */
static bool same_words(const char *a, const char *b)
{
    const char *column = strstr(a, ", column");
    size_t n = column == NULL ? strlen(a) + 1 : (size_t)(column - a);
    const char *rest = column == NULL ? NULL : strchr(column, ':');

    return strncmp(a, b, n) == 0 && (rest == NULL || strstr(b, rest) != NULL);
}

/* A blank behind the text is for the reader of JSON alone. */
static void compare(struct dx_buf *text, size_t at, uint8_t was)
{
    struct outcome lines;
    struct outcome json;

    read(dx_span_of(text->data, text->size - 1), &lines);
    read(dx_span_of(text->data, text->size), &json);
    EXPECT(lines.rc == json.rc && same_words(lines.err.text, json.err.text) &&
               dx_span_equal(dx_span_of(lines.again.data, lines.again.size),
                             dx_span_of(json.again.data, json.again.size)),
           "byte %zu, %02x for %02x: %d '%s', as JSON %d '%s'", at, text->data[at], was, lines.rc,
           lines.err.text, json.rc, json.err.text);
    dx_buf_release(&lines.again);
    dx_buf_release(&json.again);
}

static void test_one_byte(void)
{
    static const char others[] = "\"\\,:{}[]0129az -.TZ\n\x7f\x80\xc2\xff";
    struct dx_buf text = DX_BUF_INIT(1 << 16);

    write(&text, false);
    dx_buf_u8(&text, ' ');
    for (size_t at = 0; at + 1 < text.size; at++)
        for (size_t i = 0; i < sizeof others; i++) {
            uint8_t was = text.data[at];

            text.data[at] = (uint8_t)others[i];
            compare(&text, at, was);
            text.data[at] = was;
        }
    dx_buf_release(&text);
}

/* Each is as the writer writes it but for what it means. */
static void test_meanings(void)
{
#define LINE(id, name, meta, first, last)                                                 \
    "\n{\"dataset_id\":" id ",\"name\":\"" name "\",\"metadata\":{" meta "},\"files\":1," \
    "\"rows\":1,\"urls\":1,\"domains\":1,\"first_ts\":\"" first "\",\"last_ts\":\"" last "\"}"
#define DAY "2024-02-29T00:00:00Z"
    static const char *const texts[] = {
        LINE("1", "a", "", DAY, DAY) "," LINE("2", "a", "", DAY, DAY),
        LINE("2", "a", "", DAY, DAY) "," LINE("2", "b", "", DAY, DAY),
        LINE("0", "a", "", DAY, DAY),
        LINE("4294967296", "a", "", DAY, DAY),
        LINE("01", "a", "", DAY, DAY),
        LINE("1", "", "", DAY, DAY),
        LINE("1", "\xc2\x80", "", DAY, DAY),
        LINE("1", "a", "\"k\":\"1\",\"k\":\"2\"", DAY, DAY),
        LINE("1", "a", "\"l\":\"1\",\"k\":\"2\"", DAY, DAY),
        LINE("1", "a", ",\"k\":\"1\"", DAY, DAY),
        LINE("1", "a", "\"k\":\"1\",", DAY, DAY),
        LINE("1", "a", "\"\":\"1\"", DAY, DAY),
        LINE("1", "a", "", DAY, "2024-02-28T00:00:00Z"),
        LINE("1", "a", "", "2023-02-29T00:00:00Z", DAY),
        LINE("1", "a", "", "2024-02-29t00:00:00Z", DAY),
        LINE("1", "a", "", "2024-02-29T00:00.00Z", DAY),
        LINE("1", "a", "", DAY, DAY) ",",
        "," LINE("1", "a", "", DAY, DAY),
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct dx_buf text = DX_BUF_INIT(1 << 16);

        dx_buf_fmt(&text, "{\"datasets\":[%s\n]}\n ", texts[i]);
        compare(&text, i, 0);
        dx_buf_release(&text);
    }
}

int main(void)
{
    test_whole();
    test_one_byte();
    test_meanings();
    return failures > 0;
}
