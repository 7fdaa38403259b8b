/* SPDX-License-Identifier: Apache-2.0
 * test_store_index.c - entries, tags and headers of the index of a file store, by tables of what is read and refused.
 */
#include "format/version/store_index.h"

#include <stdio.h>
#include <stdlib.h>

#define HASH "73518e88ec4fabb0f24c62f79a45e29479e5d278061fd824064f0af951ea1255"
#define PROJECTS "https://projects.bentasker.co.uk/"

static int failures;

static void expect(int good, const char *what, const char *row)
{
    if (!good) {
        (void)fprintf(stderr, "%s: %s\n", what, row);
        failures++;
    }
}

static int is(struct dx_span s, const char *text)
{
    return text == NULL ? s.data == NULL : dx_span_equal(s, dx_span_str(text));
}

static const struct {
    const char *line;
    enum dx_store_flaw flaw;
    const char *key, *type, *title;
} entries[] = {
    { PROJECTS ",!," HASH ",!,text/html,!,BTasker Projects", DX_STORE_SOUND, PROJECTS, "text/html",
      "BTasker Projects" },
    { "a,!," HASH ",!,t,!,x,!,y", DX_STORE_SOUND, "a", "t", "x,!,y" },
    { "a,!," HASH ",!,,!,", DX_STORE_SOUND, "a", "", "" },
    { "a,!," HASH ",!,,!,x\r", DX_STORE_SOUND, "a", "", "x" },
    { "a,!," HASH ",!,t", DX_STORE_FIELDS, NULL, NULL, NULL },
    { "", DX_STORE_FIELDS, NULL, NULL, NULL },
    { ",!," HASH ",!,t,!,x", DX_STORE_KEY, NULL, NULL, NULL },
    { "a\x01,!," HASH ",!,t,!,x", DX_STORE_KEY, NULL, NULL, NULL },
    { "a\xff,!," HASH ",!,t,!,x", DX_STORE_KEY, NULL, NULL, NULL },
    { "a,!,b,!," HASH ",!,x", DX_STORE_HASH, NULL, NULL, NULL },
    { "a,!,7351,!,t,!,x", DX_STORE_HASH, NULL, NULL, NULL },
};

static void test_entries(void)
{
    struct dx_buf out = DX_BUF_INIT(4096);

    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        struct dx_store_entry e;
        enum dx_store_flaw flaw = dx_store_entry_parse(dx_span_str(entries[i].line), &e);

        expect(flaw == entries[i].flaw, dx_store_flaw_name(flaw), entries[i].line);
        if (flaw != DX_STORE_SOUND)
            continue;
        expect(is(e.key, entries[i].key) && is(e.type, entries[i].type) &&
                   is(e.title, entries[i].title) && is(e.hash, HASH),
               "fields", entries[i].line);
        dx_buf_clear(&out);
        expect(dx_store_entry_put(&out, &e), "not written", entries[i].line);
        expect(strncmp((const char *)out.data, entries[i].line, out.size - 1) == 0, "written",
               entries[i].line);
    }
    dx_buf_release(&out);
}

static void test_unwritable(void)
{
    static const struct {
        const char *key, *type, *title;
    } rows[] = { { "a,!,b", "t", "x" }, { "a\nb", "t", "x" }, { "a", "t,!,", "x" },
                 { "a", "t\n", "x" },   { "a", "t", "x\ny" }, { "a", "t", "x\r" },
                 { "", "t", "x" } };
    struct dx_buf out = DX_BUF_INIT(4096);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct dx_store_entry e = { .key = dx_span_str(rows[i].key),
                                          .hash = dx_span_str(HASH),
                                          .type = dx_span_str(rows[i].type),
                                          .title = dx_span_str(rows[i].title) };

        expect(!dx_store_entry_put(&out, &e) && out.size == 0, "written", rows[i].key);
    }
    dx_buf_release(&out);
}

static const struct {
    const char *line;
    enum dx_store_flaw flaw;
    const char *keys; /* each with a bar behind it; NULL: no array of strings */
} tags[] = {
    { "t!#![\"a\", \"b\"]", DX_STORE_SOUND, "a|b|" },
    { "t!#![ ]", DX_STORE_SOUND, "" },
    { "t!#! [\"a\"\t,\"b\" ] ", DX_STORE_SOUND, "a|b|" },
    { "t!#![\"\\u00e9\\ud83d\\ude00\\/\\\"\\\\\"]", DX_STORE_SOUND,
      "\xc3\xa9\xf0\x9f\x98\x80/\"\\|" },
    { "t!#![\"\\ud83d\"]", DX_STORE_SOUND, "\xef\xbf\xbd|" },
    { "t!#![\"a\"[\"b\"]", DX_STORE_SOUND, NULL },
    { "t!#![\"a\",]", DX_STORE_SOUND, NULL },
    { "t!#![\"a\"", DX_STORE_SOUND, NULL },
    { "t!#![\"a]", DX_STORE_SOUND, NULL },
    { "t!#![\"a\x01]", DX_STORE_SOUND, NULL },
    { "t!#![\"a\\q]", DX_STORE_SOUND, NULL },
    { "t!#![\"\\u12g4\"]", DX_STORE_SOUND, NULL },
    { "t!#![1]", DX_STORE_SOUND, NULL },
    { "t!#![\"a\"] x", DX_STORE_SOUND, NULL },
    { "t!#!{}", DX_STORE_ARRAY, NULL },
    { "!#![\"a\"]", DX_STORE_TAG, NULL },
    { "t[\"a\"]", DX_STORE_FIELDS, NULL },
};

static void test_tags(void)
{
    struct dx_buf key = DX_BUF_INIT(4096);
    struct dx_buf all = DX_BUF_INIT(4096);

    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        struct dx_bytes keys;
        struct dx_span tag;
        enum dx_store_flaw flaw = dx_store_tag_parse(dx_span_str(tags[i].line), &tag, &keys);
        int rc = -1;

        expect(flaw == tags[i].flaw, dx_store_flaw_name(flaw), tags[i].line);
        dx_buf_clear(&all);
        while (flaw == DX_STORE_SOUND && (rc = dx_store_tag_next(&keys, &key)) == 1) {
            dx_buf_append(&all, key.data, key.size);
            dx_buf_u8(&all, '|');
        }
        expect((rc == 0) == (tags[i].keys != NULL), "end", tags[i].line);
        if (rc == 0)
            expect(dx_span_equal(dx_span_of(all.data, all.size), dx_span_str(tags[i].keys)), "keys",
                   tags[i].line);
    }
    dx_buf_release(&key);
    dx_buf_release(&all);
}

static const struct {
    const char *text;
    enum dx_store_flaw flaw;
    const char *title;
    size_t size;
} headers[] = {
    { "KEY:a\nHASH:h\nTITLE:x:y\n\n{}", DX_STORE_SOUND, "x:y", 24 },
    { "TITLE:two\nlines\nKEY:a\r\nHASH:h\r\n\r\n", DX_STORE_SOUND, "two", 33 },
    { "KEY:a\nHASH:h\n\nTITLE:not a header", DX_STORE_SOUND, NULL, 14 },
    { "KEY:a\nHASH:h\n", DX_STORE_HEADER, NULL, 0 },
    { "KEY:a\nHASH:h\nTITLE:", DX_STORE_HEADER, NULL, 0 },
    { "KEY:a\n\n", DX_STORE_HEADER, NULL, 0 },
    { "KEY:a\nKEY:b\nHASH:h\n\n", DX_STORE_HEADER, NULL, 0 },
    { "", DX_STORE_HEADER, NULL, 0 },
};

static void test_headers(void)
{
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        struct dx_store_header h;
        enum dx_store_flaw flaw = dx_store_header_parse(dx_span_str(headers[i].text), &h);

        expect(flaw == headers[i].flaw, dx_store_flaw_name(flaw), headers[i].text);
        if (flaw == DX_STORE_SOUND)
            expect(is(h.title, headers[i].title) && h.size == headers[i].size, "header",
                   headers[i].text);
    }
}

int main(void)
{
    struct dx_span key;

    test_entries();
    test_unwritable();
    test_tags();
    test_headers();
    expect(dx_store_tombstone_parse(dx_span_str("a\r"), &key) == DX_STORE_SOUND && is(key, "a"),
           "tombstone", "a");
    return failures > 0;
}
