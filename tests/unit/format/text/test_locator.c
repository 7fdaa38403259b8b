/* SPDX-License-Identifier: Apache-2.0
 * test_locator.c - locators as text: one text for each, and nothing else is one.
 */
#include "format/text/locator.h"
#include "tests/support/damage.h"

static unsigned failures;

static const struct {
    const char *text;
    enum dx_locator_kind kind; /* DX_LOCATOR_NONE: refused */
    const char *name;
    uint64_t place[2];
} rows[] = {
    { "a.warc.gz#warc=0+1", DX_LOCATOR_WARC, "a.warc.gz", { 0, 1 } },
    { "crawl-data/x/a.warc.gz#warc=12+345",
      DX_LOCATOR_WARC,
      "crawl-data/x/a.warc.gz",
      { 12, 345 } },
    { "a#warc=12", DX_LOCATOR_WARC, "a", { 12, 0 } },
    { "s3://b/p.parquet#row=3:0", DX_LOCATOR_ROW, "s3://b/p.parquet", { 3, 0 } },
    { "a#row=1:2#text=7+8", DX_LOCATOR_TEXT, "a#row=1:2", { 7, 8 } },
    { "u.tsv.gz#line=1", DX_LOCATOR_LINE, "u.tsv.gz", { 1, 0 } },
    { "\xC3\xBC#line=9223372036854775807", DX_LOCATOR_LINE, "\xC3\xBC", { INT64_MAX, 0 } },
    { "a#warc=9223372036854775806+1", DX_LOCATOR_WARC, "a", { INT64_MAX - 1, 1 } },
    { "a#b.parquet#was=1-00000000000000ff,row=0:7", DX_LOCATOR_ROW, "a#b.parquet", { 0, 7 } },
    { "p#was=9223372036854775807-fedcba9876543210,row=1:2", DX_LOCATOR_ROW, "p", { 1, 2 } },
    { "a#was=0-0000000000000000,row=1:2", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#was=01-0000000000000000,row=1:2", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#was=1-000000000000000,row=1:2", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#was=1-00000000000000000,row=1:2", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#was=1-000000000000000F,row=1:2", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#was=1row=1:2", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#was=1-0000000000000000", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#was=1-0000000000000000,", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#was=1-0000000000000000,line=1", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#was=1-0000000000000000,warc=1+2", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#was=1-0000000000000000,was=1-0000000000000000,row=1:2", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#was=9223372036854775808-0000000000000000,row=1:2", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#warc=9223372036854775807+1", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#line=9223372036854775808", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#line=18446744073709551617", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#line=0", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#line=01", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#line=+1", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#line=1 ", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#line=1+1", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#line=", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#warc=1+0", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#warc=1+", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#text=1", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#row=1", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#row=1+2", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "#warc=1+2", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#WARC=1+2", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a#other=1", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a\n#line=1", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a\x7f#line=1", DX_LOCATOR_NONE, "", { 0, 0 } },
    { "a\xff#line=1", DX_LOCATOR_NONE, "", { 0, 0 } },
};

static void check_row(size_t i)
{
    struct dx_span text = dx_span_str(rows[i].text);
    struct dx_locator l;
    uint8_t again[DX_LOCATOR_MAX];
    bool ok = dx_locator_parse(text, &l);

    EXPECT(ok == (rows[i].kind != DX_LOCATOR_NONE), "'%s': parsed: %d", rows[i].text, ok);
    if (!ok)
        return;
    EXPECT(l.kind == rows[i].kind && l.place[0] == rows[i].place[0] &&
               l.place[1] == rows[i].place[1] && dx_span_equal(l.name, dx_span_str(rows[i].name)),
           "'%s': kind %d, %llu and %llu", rows[i].text, (int)l.kind,
           (unsigned long long)l.place[0], (unsigned long long)l.place[1]);
    EXPECT(dx_span_equal(dx_span_of(again, dx_locator_put(&l, again)), text), "'%s' again",
           rows[i].text);
}

int main(void)
{
    uint8_t text[DX_LOCATOR_MAX];
    char name[DX_LOCATOR_NAME_MAX + 2];
    struct dx_locator l;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_row(i);
    EXPECT(dx_locator_parse(dx_span_str("p#was=12-fedcba9876543210,row=1:2"), &l) &&
               l.was_size == 12 && l.was_hash == 0xfedcba9876543210,
           "what the file was: %llu, %llx", (unsigned long long)l.was_size,
           (unsigned long long)l.was_hash);
    EXPECT(dx_locator_parse(dx_span_str("p#row=1:2"), &l) && l.was_size == 0, "not known");
    l.kind = DX_LOCATOR_WARC;
    l.place[0] = l.place[1] = INT64_MAX / 2;
    memset(name, 'n', sizeof name);
    l.name = dx_span_of(name, DX_LOCATOR_NAME_MAX);
    EXPECT(dx_locator_put(&l, text) > DX_LOCATOR_NAME_MAX, "the longest name");
    l.name.size++;
    EXPECT(dx_locator_put(&l, text) == 0, "a longer one");
    l = (struct dx_locator){ .kind = DX_LOCATOR_ROW,
                             .name = dx_span_of(name, DX_LOCATOR_NAME_MAX),
                             .place = { INT64_MAX, INT64_MAX },
                             .was_size = INT64_MAX,
                             .was_hash = UINT64_MAX };
    EXPECT(dx_locator_put(&l, text) <= DX_LOCATOR_MAX, "the longest text");
    l.name.size = 1;
    l.kind = DX_LOCATOR_NONE;
    EXPECT(dx_locator_put(&l, text) == 0, "none has no text");
    return failures != 0;
}
