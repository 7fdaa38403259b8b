/* SPDX-License-Identifier: Apache-2.0
 * test_input_columns.c - which columns are found in inputs of several records, what is said of those that are not, and the rows that come of it.
 */
#include "builder/input/records/input_columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builder/input/bytes/cdx_line.h"
#include "tests/runner/fail_alloc.h"
#include "tests/support/fail.h"

#define RECORDS_MAX 8
#define EXTRAS_MAX 4

static int failures;

static const char *const profile_names[] = { "target", "link", NULL };

struct row {
    enum dx_record_format format;
    const char *text; /* records, each ends at a line end */
    struct {
        const char *url, *ts, *dataset, *prefix;
        const char *extra[EXTRAS_MAX];
        enum dx_header header;
        bool no_ts, may_lack, names, url_may_lack;
        size_t optional, canonical;
    } want;
    const char *found; /* as dx_columns_describe says it; NULL: refused */
    const char *rows;  /* url@ts#dataset+extra...; each, ~ for null; or what the message has */
};

/* Where url, ts and dataset are not given, they are looked for. */
static const struct row rows[] = {
    /* numbers and names of columns */
    { DX_RECORD_TSV, "a\tb\n", { .url = "0" }, NULL, "column 0: numbers go from 1 to 4096" },
    { DX_RECORD_TSV, "a\tb\n", { .url = "4097" }, NULL, "column 4097: numbers go from 1 to 4096" },
    { DX_RECORD_TSV, "a\tb\n", { .url = "" }, NULL, "a column needs a name or a number from 1" },
    { DX_RECORD_TSV,
      "a\tb\n",
      { .url = "1", .ts = "99999999999999999999" },
      NULL,
      "numbers go from 1 to 4096" },
    { DX_RECORD_CSV,
      "a,b\n",
      { .url = "link", .header = DX_HEADER_NO },
      NULL,
      "column 'link' is a name, but there is no header; give its number" },
    { DX_RECORD_CSV,
      "a,b\n",
      { .url = "1", .extra = { "note" }, .header = DX_HEADER_NO },
      NULL,
      "column 'note' is a name, but there is no header" },
    { DX_RECORD_CSV,
      "http://a.com/,b\n",
      { .url = "1", .extra = { "note" }, .header = DX_HEADER_NO, .optional = 1 },
      "csv; url column: 1; time column: none; no column: note (null)",
      "http://a.com/@~#~+~; " },
    /* headers */
    { DX_RECORD_CSV,
      "http://a.com/,1\n",
      { .url = "1", .header = DX_HEADER_YES },
      "csv with a header; url column: http://a.com/; time column: none",
      "" },
    { DX_RECORD_CSV,
      "\"a,b\n",
      { .url = "1", .header = DX_HEADER_YES },
      NULL,
      "in: the header line has broken quotes" },
    { DX_RECORD_CSV,
      "a,,c\n1,http://a.com/,2,http://b.com/\n",
      { .url = "2", .header = DX_HEADER_YES },
      "csv with a header; url column: 2; time column: none",
      "http://a.com/@~#~; " },
    { DX_RECORD_CSV,
      "a,b\n1,2,3,http://b.com/\n",
      { .url = "4", .header = DX_HEADER_YES },
      "csv with a header; url column: 4; time column: none",
      "http://b.com/@~#~; " },
    { DX_RECORD_CSV,
      "a,b\n1,2,http://b.com/,x\n",
      { .url = "3", .extra = { "4" }, .header = DX_HEADER_YES },
      "csv with a header; url column: 3; time column: none",
      "http://b.com/@~#~+x; " },
    { DX_RECORD_CSV,
      " url , \"the date\",date\nhttp://a.com/,1,2\n",
      { .ts = "the date" },
      "csv with a header; url column: url; time column: the date",
      "http://a.com/@1#~; " },
    { DX_RECORD_CSV,
      "link,url,link\n1,2,3\n",
      { .url = "link" },
      NULL,
      "in: columns 1 and 3 of the header are both called 'link': give one by its number, as in "
      "--url-column 1" },
    { DX_RECORD_CSV,
      "URL,url\n1,2\n",
      { 0 },
      NULL,
      "columns 1 and 2 of the header are both called 'URL'" },
    { DX_RECORD_CSV,
      "url,date,Date\n1,2,3\n",
      { 0 },
      NULL,
      "columns 2 and 3 of the header are both called 'date'" },
    { DX_RECORD_CSV,
      "url,date,Date\n1,2,3\n",
      { .no_ts = true },
      "csv with a header; url column: url; time column: none",
      "1@~#~; " },
    { DX_RECORD_CSV,
      "http://a.com/,b\n",
      { .url = "3" },
      NULL,
      "in: there is no column 3; the first line has 2: http://a.com/, b" },
    { DX_RECORD_CSV,
      "http://a.com/,b\n",
      { 0 },
      NULL,
      "in: cannot tell which of 2 columns is the URL; give --url-column" },
    { DX_RECORD_CSV,
      "a,b\n1,2\n",
      { .url = "url" },
      NULL,
      "in: the header has no column 'url'; it has: a, b" },
    { DX_RECORD_CSV,
      "a,b\n1,2\n",
      { .ts = "1" },
      NULL,
      "cannot tell which of 2 columns is the URL" },
    { DX_RECORD_CSV,
      "http://a.com/\nhttp://b.com/\n",
      { 0 },
      "csv; url column: 1; time column: none",
      "http://a.com/@~#~; http://b.com/@~#~; " },
    { DX_RECORD_CSV,
      "\"http://a.com/\nhttp://b.com/\n",
      { 0 },
      "csv; url column: 1; time column: none",
      "!record_malformed; http://b.com/@~#~; " },
    { DX_RECORD_CSV,
      "a,b\n",
      { .names = true, .url_may_lack = true },
      "csv; without URLs, passed over: no columns target, link",
      NULL },
    { DX_RECORD_CSV,
      "a,link,target\n1,2,3\n",
      { .names = true, .url_may_lack = true },
      "csv with a header; url column: target; time column: none",
      "3@~#~; " },
    { DX_RECORD_TSV,
      "http://a.com/\tx\nhttp://b.\001com/\ty\n",
      { .url = "1", .dataset = "2" },
      "tsv; url column: 1; time column: none; dataset column: 2",
      "http://a.com/@~#x; !not_one_url; " },
    { DX_RECORD_LIST,
      "http://a.com/\nhttp://b.com/\n",
      { 0 },
      "list; each line is a URL; time column: none",
      "http://a.com/@~#~; http://b.com/@~#~; " },
    { DX_RECORD_LIST, "http://a.com/\n", { .url = "2" }, NULL, "in: there is no column 2" },
    { DX_RECORD_LIST,
      "http://a.com/\n",
      { .extra = { "title" }, .optional = 1 },
      "list; each line is a URL; time column: none; no column: title (null)",
      "http://a.com/@~#~+~; " },
    /* datasets */
    { DX_RECORD_CSV,
      "url,set\nhttp://a.com/,x\nhttp://b.com/,\n",
      { .dataset = "set", .prefix = "crawl-" },
      "csv with a header; url column: url; time column: none; dataset: crawl-{set}",
      "http://a.com/@~#crawl-x; http://b.com/@~#~; " },
    { DX_RECORD_CSV,
      "url,set\nhttp://a.com/,x\n",
      { .prefix = "crawl" },
      "csv with a header; url column: url; time column: none; dataset: crawl",
      "http://a.com/@~#crawl; " },
    { DX_RECORD_CSV, "url,set\nhttp://a.com/,x\n", { .prefix = "{crawl}" }, NULL, "in" },
    /* extras */
    { DX_RECORD_CSV,
      "url,note,host\nhttp://a.com/,n,h\n",
      { .extra = { "host", "note" } },
      "csv with a header; url column: url; time column: none; column 'host' is stored as "
      "'extra_host', as the lake has a column 'host' itself",
      "http://a.com/@~#~+h+n; " },
    { DX_RECORD_CSV,
      "url,note,extra_host\nhttp://a.com/,n,h\n",
      { .extra = { "extra_host" } },
      "csv with a header; url column: url; time column: none",
      "http://a.com/@~#~+h; " },
    { DX_RECORD_CSV,
      "url,host\nhttp://a.com/,h\n",
      { .extra = { "place=host" } },
      "csv with a header; url column: url; time column: none",
      "http://a.com/@~#~+h; " },
    { DX_RECORD_CSV,
      "url,note\nhttp://a.com/,n\n",
      { .extra = { "host=note" } },
      "csv with a header; url column: url; time column: none; column 'note' is stored as "
      "'extra_host', as the lake has a column 'host' itself",
      "http://a.com/@~#~+n; " },
    { DX_RECORD_CSV,
      "url,note,x\nhttp://a.com/,n,y\n",
      { .extra = { "note", "note=x" } },
      NULL,
      "in: two extra columns are called 'note'" },
    { DX_RECORD_CSV,
      "url,\nhttp://a.com/,n\n",
      { .extra = { "2" } },
      NULL,
      "in: column 2 has no usable name" },
    { DX_RECORD_CSV,
      "url,\nhttp://a.com/,n\n",
      { .extra = { "note=2" } },
      "csv with a header; url column: url; time column: none",
      "http://a.com/@~#~+n; " },
    { DX_RECORD_CSV,
      "url,note\nhttp://a.com/,n\n",
      { .extra = { "title" } },
      NULL,
      "in: the header has no column 'title'; it has: url, note" },
    { DX_RECORD_CSV,
      "url,note\nhttp://a.com/,n\n",
      { .extra = { "title" }, .may_lack = true },
      "csv with a header; url column: url; time column: none; no column: title (null)",
      "http://a.com/@~#~+~; " },
    /* the first line may be data: what says that it is a header is the name of an extra alone */
    { DX_RECORD_CSV,
      "http://a.com/,n\n",
      { .url = "1", .extra = { "title" }, .may_lack = true },
      NULL,
      "in: the header has no column 'title'" },
    { DX_RECORD_CSV,
      "link to,n\nhttp://a.com/,n\n",
      { .url = "1", .extra = { "title" }, .may_lack = true },
      "csv with a header; url column: link to; time column: none; no column: title (null)",
      "http://a.com/@~#~+~; " },
    { DX_RECORD_CSV,
      "http://a.com/,n\nhttp://b.com/,n\n",
      { .url = "1", .extra = { "title" }, .may_lack = true, .header = DX_HEADER_YES },
      "csv with a header; url column: http://a.com/; time column: none; no column: title (null)",
      "http://b.com/@~#~+~; " },
    { DX_RECORD_CSV,
      "x.y,n\nhttp://a.com/,n\n",
      { .url = "x.y", .extra = { "title" }, .may_lack = true },
      "csv with a header; url column: x.y; time column: none; no column: title (null)",
      "http://a.com/@~#~+~; " },
    { DX_RECORD_CSV,
      "http://a.com/,b\n",
      { .url = "1", .extra = { "3" }, .may_lack = true },
      NULL,
      "there is no column 3" },
    { DX_RECORD_CSV,
      "url,final\nhttp://a.com/,n\n",
      { .extra = { "final" }, .canonical = 1 },
      "csv with a header; url column: url; time column: none",
      "http://a.com/@~#~+n; " },
    /* CDX: by a header, or by the number of fields */
    { DX_RECORD_CDX,
      " CDX N b a m s k S V g\ncom,a)/ 20240102030405 http://a.com/ text/html 200 AAA 9 7 f.gz\n",
      { 0 },
      "cdx; url column: original; time column: timestamp",
      "http://a.com/@20240102030405#~; " },
    { DX_RECORD_CDX,
      "com,a)/ 20240102030405 http://a.com/ text/html 200 AAA 9\n",
      { .extra = { "statuscode", "digest" } },
      "cdx; url column: original; time column: timestamp",
      "http://a.com/@20240102030405#~+200+AAA; " },
    { DX_RECORD_CDX,
      "com,a)/ 20240102030405 http://a.com/ text/html 200 AAA 9\n",
      { .no_ts = true, .dataset = "mimetype" },
      "cdx; url column: original; time column: none; dataset column: mimetype",
      "http://a.com/@~#text/html; " },
    { DX_RECORD_CDX,
      "com,a)/ 20240102030405 http://a.com/ text/html 200 AAA 9\n",
      { .url = "3", .ts = "2" },
      "cdx; url column: 3; time column: 2",
      "http://a.com/@20240102030405#~; " },
    { DX_RECORD_CDX,
      "com,a)/ 20240102030405 http://a.com/ text/html 200 AAA 9\n",
      { .url = "8" },
      NULL,
      "in: the lines have no field '8'; they have 7: urlkey, timestamp, original, mimetype, "
      "statuscode, digest" },
    { DX_RECORD_CDX,
      "com,a)/ 20240102030405 http://a.com/ text/html 200 AAA 9\n",
      { .url = "nothing" },
      NULL,
      "in: the lines have no field 'nothing'" },
    { DX_RECORD_CDX,
      "com,a)/ 20240102030405 http://a.com/ text/html 200 AAA 9\n",
      { .extra = { "robotflags", "x" }, .may_lack = true },
      "cdx; url column: original; time column: timestamp; no column: robotflags, x (null)",
      "http://a.com/@20240102030405#~+~+~; " },
    { DX_RECORD_CDX,
      "com,a)/ 20240102030405 http://a.com/ text/html 200 AAA 9\n",
      { .extra = { "9" }, .may_lack = true },
      NULL,
      "have no field '9'" },
    { DX_RECORD_CDX,
      "com,a)/ 20240102030405 http://a.com/ text/html 200 AAA 9\n",
      { .extra = { "robotflags" }, .optional = 1 },
      "cdx; url column: original; time column: timestamp; no column: robotflags (null)",
      "http://a.com/@20240102030405#~+~; " },
    { DX_RECORD_CDX,
      "com,a)/ 20240102030405 http://a.com/b c text/html 200 AAA 9\ncom,a)/ 20240102030405 "
      "http://a.com/ text/html - AAA 9\n",
      { 0 },
      "cdx; url column: original; time column: timestamp",
      "!record_malformed; http://a.com/@20240102030405#~; " },
    { DX_RECORD_CDX,
      "com,a)/ 20240102030405 http://a.com/ text/html 200\n",
      { 0 },
      NULL,
      "in: a CDX index without a header, and of none of the usual numbers of fields (7, 9, 10, 11, "
      "14)" },
    { DX_RECORD_CDX,
      "com,a)/ 20240102030405 http://a.com/ text/html 200 AAA 9\ncom,b)/ 20240102030405 "
      "http://b.com/\ncom,b)/ 2024\n",
      { 0 },
      "cdx; url column: original; time column: timestamp",
      "http://a.com/@20240102030405#~; http://b.com/@20240102030405#~; !column_missing; " },
    /* which of two parts has the blank: only the type says that all is shifted; and not in a line of as many fields */
    { DX_RECORD_CDX,
      "com,a)/ 20240102030405 http://a.com/ text/html 200 AAA 9\ncom,a)/ 20240102030405 "
      "http://a.com/b 301 200 AAA 9 x\n"
      "com,a)/ 20240102030405 http://a.com/ unk 200 AAA 9\n",
      { 0 },
      "cdx; url column: original; time column: timestamp",
      "http://a.com/@20240102030405#~; !record_malformed; http://a.com/@20240102030405#~; " },
    /* CDX as JSON rows */
    { DX_RECORD_CDX_JSON,
      "[\"urlkey\",\"original\",\"timestamp\"]\n[\"com,a)/\",\"http://a.com/"
      "\",\"2024\"]\n[\"com,b)/\",\"http://b.com/\",null]\n",
      { 0 },
      "cdx-json with a header; url column: original; time column: timestamp",
      "http://a.com/@2024#~; http://b.com/@~#~; " },
    { DX_RECORD_CDX_JSON,
      "{\"original\":1}\n",
      { 0 },
      NULL,
      "in: the header line is not an array of names" },
    /* JSON: members, objects in strings, arrays */
    { DX_RECORD_JSONL,
      "{\"url\":\"http://a.com/\",\"date\":null}\n{\"url\":\"http://b.com/"
      "\",\"date\":\"7\"}\n{\"date\":\"7\"}\n[]\n",
      { 0 },
      "jsonl; url column: url; time column: date",
      "http://a.com/@#~; http://b.com/@7#~; !column_missing; !record_malformed; " },
    { DX_RECORD_JSONL,
      "{\"x\":{\"y\":1,\"a.b\":2},\"z\":2}\n",
      { 0 },
      NULL,
      "in: cannot tell which member is the URL; give --url-column; the first record has: x.y, "
      "x.\"a.b\", z" },
    { DX_RECORD_JSONL,
      "{\"x\":1}\n{\"y\":1}\n",
      { .names = true },
      NULL,
      "in: no record of the first 2 has a URL in the profile's columns target, link; give "
      "--url-column, or leave the file out with --exclude; "
      "the first record has: x" },
    { DX_RECORD_JSONL,
      "{\"x\":1}\n",
      { .names = true, .url_may_lack = true },
      "jsonl; without URLs, passed over: no columns target, link",
      NULL },
    { DX_RECORD_JSONL,
      "{\"x\":1}\n",
      { .url = "u", .ts = "t", .dataset = "d" },
      "jsonl; url column: u; time column: t; dataset column: d; no record of the first 1 has a "
      "value of 'u'; the first has: x",
      "!column_missing; " },
    { DX_RECORD_JSONL,
      "{\"x\":1,\"u\":\"http://a.com/\"}\n",
      { .url = "u", .ts = "t" },
      "jsonl; url column: u; time column: t; no record of the first 1 has a value of 't'; the "
      "first has: x, u",
      "http://a.com/@~#~; " },
    { DX_RECORD_JSONL,
      "{\"u\":\"http://a.com/\"}\n",
      { .url = "u", .dataset = "s" },
      "jsonl; url column: u; time column: none; dataset column: s; no record of the first 1 has a "
      "value of 's'; the first has: u",
      "http://a.com/@~#~; " },
    { DX_RECORD_JSONL,
      "\"http://a.com/\"\n\"http://b.com/\" "
      "\r\n\"\\u0061:\\/\\/b\"\n\"broken\n{\"url\":\"http://c.com/\"}\n",
      { 0 },
      "jsonl; url column: url; time column: none",
      "http://a.com/@~#~; http://b.com/@~#~; a://b@~#~; !record_malformed; http://c.com/@~#~; " },
    { DX_RECORD_JSONL,
      "\"http://a.com/\"\n",
      { 0 },
      "jsonl; url column: the strings; time column: none",
      "http://a.com/@~#~; " },
    { DX_RECORD_JSONL,
      "\"http://a.com/\"\n",
      { .url = "u" },
      "jsonl; url column: u; time column: none",
      "!column_missing; " },
    { DX_RECORD_JSONL,
      "{\"m\":\" {\\\"u\\\": \\\"http://a.com/\\\", \\\"t\\\": "
      "7}\"}\n{\"m\":\"{\\\"u\\\"\"}\n{\"m\":\"x\"}\n",
      { .url = "m.u", .ts = "m.t" },
      "jsonl; url column: m.u; time column: m.t",
      "http://a.com/@7#~; !column_missing; !column_missing; " },
    { DX_RECORD_JSONL,
      "{\"i\":[{\"u\":\"http://a.com/\",\"t\":1,\"s\":\"x\"},{\"u\":\"http://b.com/"
      "\",\"t\":2},{\"t\":3}],\"k\":[1,[\"b\\n\",null]]}\n",
      { .url = "i.u", .ts = "i.t", .dataset = "i.s", .extra = { "k" } },
      "jsonl; url column: i.u; time column: i.t; dataset column: i.s",
      "http://a.com/@1#x+[1,[\"b\\n\",null]]; http://b.com/@2#~+[1,[\"b\\n\",null]]; "
      "!column_missing; " },
    { DX_RECORD_JSONL,
      "{\"i\":[\"http://a.com/\",[\"http://b.com/\"],7,{}],\"t\":5,\"s\":\"x\"}\n",
      { .url = "i", .ts = "t", .dataset = "s", .prefix = "p-" },
      "jsonl; url column: i; time column: t; dataset: p-{s}",
      "http://a.com/@5#p-x; http://b.com/@5#p-x; !column_missing; !column_missing; " },
    { DX_RECORD_JSONL,
      "{\"i\":[],\"j\":1}\n{\"i\":[ \t]}\n",
      { .url = "i" },
      "jsonl; url column: i; time column: none",
      "end; end; " },
    { DX_RECORD_JSONL,
      "{\"i\":[ 1 , {\"u\" : \"http://a.com/\"}\t,\r[ {\"u\":\"http://b.com/\"} ] ]}\n",
      { .url = "i.u" },
      "jsonl; url column: i.u; time column: none",
      "!column_missing; http://a.com/@~#~; http://b.com/@~#~; " },
    { DX_RECORD_JSONL,
      "{\"i\":[{\"j\":[{\"u\":\"http://a.com/\",\"n\":[1,2]},{\"u\":\"http://b.com/"
      "\"}],\"t\":4}],\"o\":[{\"p\":[{\"q\":1},{\"q\":\"x\"},{}]},[{\"p\":{\"q\":true}}]]}\n",
      { .url = "i.j.u", .ts = "t", .extra = { "i.j.n", "o.p.q" } },
      "jsonl; url column: i.j.u; time column: t; no record of the first 1 has a value of 't'; the "
      "first has: i, o",
      "http://a.com/@~#~+[1,2]+[[1,\"x\",null],[true]]; "
      "http://b.com/@~#~+~+[[1,\"x\",null],[true]]; " },
    /* a time in another array: which one holds is not known */
    { DX_RECORD_JSONL,
      "{\"u\":\"http://a.com/\",\"d\":[{\"t\":1},{\"t\":2}]}\n",
      { .url = "u", .ts = "d.t" },
      "jsonl; url column: u; time column: d.t",
      "http://a.com/@[{\"t\":1},{\"t\":2}]#~; " },
    { DX_RECORD_JSONL,
      "{\"I\":[{\"URL\":\"http://a.com/\",\"Date\":3}],\"date\":9}\n",
      { .ts = "date" },
      NULL,
      "cannot tell which member is the URL" },
    /* arrays in each other: as many as are read, and one more */
    { DX_RECORD_JSONL,
      "{\"i\":[[[[[[[[[[[[[[[[\"http://a.com/\"]]]]]]]]]]]]]]]]}\n{\"i\":[[[[[[[[[[[[[[[[[\"http://"
      "a.com/\"]]]]]]]]]]]]]]]]]}\n",
      { .url = "i" },
      "jsonl; url column: i; time column: none",
      "http://a.com/@~#~; !record_malformed; " },
    { DX_RECORD_JSONL,
      "{\"url\":\"http://a.com/\",\"i\":[[[[[[[[[[[[[[[[[{\"q\":1}]]]]]]]]]]]]]]]]]}\n",
      { .extra = { "i.q" } },
      "jsonl; url column: url; time column: none",
      "!record_malformed; " },
    { DX_RECORD_JSONL,
      "{\"url\":\"http://a.com/\",\"a\":{\"b\":2}}\n",
      { .extra = { "a.b", "x=a" } },
      "jsonl; url column: url; time column: none",
      "http://a.com/@~#~+2+{\"b\":2}; " },
    { DX_RECORD_JSONL, "{\"url\":\"http://a.com/\"}\n", { .extra = { "a..b" } }, NULL, "a..b" },
    { DX_RECORD_JSONL, "{\"url\":\"http://a.com/\"}\n", { .extra = { "\"a" } }, NULL, "\"a" },
    /* CDXJ: key, time, JSON */
    { DX_RECORD_CDXJ,
      "com,a)/ 20240102030405 "
      "{\"url\":\"http://a.com/\",\"status\":\"-\",\"mime\":\"text/html\"}\ncom,b)/ 2024 x\n",
      { .extra = { "status", "mime" } },
      "cdxj; url column: url; time column: in front of the JSON",
      "http://a.com/@20240102030405#~+~+text/html; !record_malformed; " },
    { DX_RECORD_CDXJ,
      "com,a)/ 20240102030405 {\"url\":\"http://a.com/\",\"ts\":\"7\"}\n",
      { .ts = "ts" },
      "cdxj; url column: url; time column: ts",
      "http://a.com/@7#~; " },
    { DX_RECORD_CDXJ,
      "com,a)/ 20240102030405 {\"url\":\"http://a.com/\",\"ts\":\"7\"}\n",
      { .no_ts = true },
      "cdxj; url column: url; time column: none",
      "http://a.com/@~#~; " },
    { DX_RECORD_CDXJ,
      "com,a)/ 20240102030405 {\"link\":\"http://a.com/\"}\n",
      { 0 },
      NULL,
      "in: cannot tell which member is the URL; give --url-column; the first record has: link" },
};

static void put_field(struct dx_buf *out, const char *sign, struct dx_span s)
{
    dx_buf_str(out, sign);
    if (s.data == NULL)
        dx_buf_u8(out, '~');
    dx_buf_append(out, s.data, s.size);
}

static void put_row(struct dx_buf *out, const struct dx_columns *cols, const struct dx_fields *f,
                    int why)
{
    if (why == DX_COLUMNS_END) {
        dx_buf_str(out, "end; ");
        return;
    }
    if (why != 0) {
        dx_buf_fmt(out, "!%s; ", dx_row_reject_name(why));
        return;
    }
    put_field(out, "", f->url);
    put_field(out, "@", f->ts);
    put_field(out, "#", f->dataset);
    for (size_t i = 0; i < cols->extra_count; i++)
        put_field(out, "+", f->extra[i]);
    dx_buf_str(out, "; ");
}

static size_t cut_records(const char *text, struct dx_span *record)
{
    size_t count = 0;

    for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1)
        record[count++] = dx_span_of((const uint8_t *)text, (size_t)(end - text));
    return count;
}

static void fill_want(const struct row *row, struct dx_columns_want *want)
{
    *want = (struct dx_columns_want){ .url = row->want.url,
                                      .ts = row->want.ts,
                                      .dataset = row->want.dataset,
                                      .dataset_prefix = row->want.prefix,
                                      .header = row->want.header,
                                      .no_ts = row->want.no_ts,
                                      .extras_may_lack = row->want.may_lack,
                                      .extra_optional = row->want.optional,
                                      .canonical = row->want.canonical,
                                      .url_names = row->want.names ? profile_names : NULL,
                                      .url_may_lack = row->want.url_may_lack };
    for (size_t i = 0; i < EXTRAS_MAX && row->want.extra[i] != NULL; i++)
        dx_columns_want_extra(want, row->want.extra[i]);
}

/* Resolves the columns and picks all rows, as ingest does. */
static int read_input(const struct row *row, struct dx_buf *found, struct dx_buf *picked,
                      struct dx_error *err)
{
    struct dx_span record[RECORDS_MAX];
    struct dx_columns_sample sample = { .record = record, .count = cut_records(row->text, record) };
    struct dx_columns *cols = calloc(1, sizeof *cols);
    struct dx_columns_want want;
    struct dx_fields f = { .split = NULL };
    bool cdx_head;
    int rc;

    fill_want(row, &want);
    cdx_head = row->format == DX_RECORD_CDX && dx_cdx_is_header(record[0]);
    if (cdx_head) {
        sample.header = record[0];
        sample.record++;
        sample.count--;
    }
    rc = cols == NULL ? dx_no_memory(err, "columns") : dx_columns_want_check(&want, err);
    if (rc == DX_OK)
        rc = dx_columns_resolve(cols, &want, row->format, &sample, "in", err);
    if (rc == DX_OK)
        rc = dx_fields_init(&f, err);
    if (rc == DX_OK) {
        dx_columns_describe(cols, &want, found);
        for (size_t i = cols->header; rc == DX_OK && !cols->no_url && i < sample.count; i++) {
            int why = dx_columns_pick(cols, sample.record[i], &f);

            do {
                if (why == DX_E_NOMEM)
                    rc = dx_no_memory(err, "a record");
                else
                    put_row(picked, cols, &f, why);
            } while (rc == DX_OK && f.list.is_open &&
                     (why = dx_columns_more(cols, &f)) != DX_COLUMNS_END);
        }
        dx_fields_release(&f);
    }
    dx_columns_want_release(&want);
    free(cols);
    return rc;
}

static void test_rows(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        struct dx_buf found = DX_BUF_INIT(1 << 16), picked = DX_BUF_INIT(1 << 16);
        struct dx_error err = DX_ERROR_INIT;
        int rc = read_input(row, &found, &picked, &err);

        dx_buf_u8(&found, 0);
        dx_buf_u8(&picked, 0);
        if (rc < 0)
            CHECK(row->found == NULL && strstr(err.text, row->rows) != NULL, "row %zu, %s: %s", i,
                  row->text, err.text);
        else
            CHECK(row->found != NULL && strcmp((const char *)found.data, row->found) == 0,
                  "row %zu, %s: %s", i, row->text, (const char *)found.data);
        if (rc == DX_OK && row->found != NULL)
            CHECK(strcmp((const char *)picked.data, row->rows != NULL ? row->rows : "") == 0,
                  "row %zu, %s: %s", i, row->text, (const char *)picked.data);
        dx_buf_release(&found);
        dx_buf_release(&picked);
    }
}

/* Inputs of one run agree on what a column is called; a name that no column of Parquet can have is refused. */
static void test_names_of_extras(void)
{
    static char long_name[300] = "url,";
    static const struct row first = {
        DX_RECORD_CSV, "url,a\nu,1\n", { .extra = { "2" } }, NULL, NULL
    };
    struct dx_columns_want want;
    struct dx_columns *cols = malloc(sizeof *cols);
    struct dx_error err = DX_ERROR_INIT;
    const char *heads[] = { "url,a", "url,b", "url,a\0b", long_name };
    const size_t sizes[] = { 5, 5, 7, 260 };
    const char *says[] = { NULL,
                           "other: column 2 is called 'b' here and 'a' in an input before; ingest "
                           "them in runs of their own",
                           "other: column 2 has no usable name",
                           "other: column 2 has no usable name" };

    memset(long_name + 4, 'n', 256);
    if (cols == NULL)
        abort();
    fill_want(&first, &want);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        const struct dx_span record = dx_span_of((const uint8_t *)heads[i], sizes[i]);
        const struct dx_columns_sample sample = { .record = &record, .count = 1 };
        int rc = dx_columns_resolve(cols, &want, DX_RECORD_CSV, &sample, "other", &err);

        CHECK((rc == DX_OK) == (says[i] == NULL) &&
                  (rc == DX_OK || strstr(err.text, says[i]) != NULL),
              "head %zu: %d %s", i, rc, err.text);
    }
    dx_columns_want_release(&want);
    free(cols);
}

/* What a message lists of a record with many members is cut; of one that is larger than a sample nothing is listed. */
static void test_many_members(void)
{
    struct dx_buf line = DX_BUF_INIT(1 << 20), found = DX_BUF_INIT(1 << 16),
                  picked = DX_BUF_INIT(1 << 16);
    struct row row = { .format = DX_RECORD_JSONL, .text = NULL };

    for (int members = 100; members <= 10000; members *= 100) {
        struct dx_error err = DX_ERROR_INIT;

        dx_buf_clear(&line);
        for (int i = 0; i < members; i++)
            dx_buf_fmt(&line, "%s\"member%04d\":%d", i == 0 ? "{" : ",", i, i);
        dx_buf_append(&line, "}\n", 3);
        row.text = (const char *)line.data;
        CHECK(read_input(&row, &found, &picked, &err) == DX_E_INVALID &&
                  (strstr(err.text, "the first record has: member0000, member0001") != NULL) ==
                      (members == 100) &&
                  (strstr(err.text, "...") != NULL) == (members == 100),
              "%d members: %s", members, err.text);
    }
    dx_buf_release(&line);
    dx_buf_release(&found);
    dx_buf_release(&picked);
}

static int read_again(void *ctx, struct dx_error *err)
{
    struct dx_buf found = DX_BUF_INIT(1 << 16), picked = DX_BUF_INIT(1 << 16);
    int rc = read_input(ctx, &found, &picked, err);

    if (rc == DX_OK && (found.failed || picked.failed))
        rc = dx_no_memory(err, "test");
    dx_buf_release(&found);
    dx_buf_release(&picked);
    return rc;
}

static void test_no_memory(void)
{
    static struct row all[] = {
        { DX_RECORD_CSV,
          "url,\"a\"\"b\",host,set\nhttp://a.com/,\"x\"\"y\",h,s\n",
          { .extra = { "host", "title" },
            .may_lack = true,
            .dataset = "set",
            .prefix = "p-",
            .ts = "2" },
          NULL,
          NULL },
        { DX_RECORD_CDX,
          "com,a)/ 20240102030405 http://a.com/ text/html 200 AAA 9\n",
          { .extra = { "robotflags", "mimetype" }, .may_lack = true, .dataset = "digest" },
          NULL,
          NULL },
        { DX_RECORD_JSONL,
          "{\"i\":[{\"u\":\"http:\\/\\/a.com/"
          "\",\"s\":\"\\u0061\",\"n\":[1,\"\\u0062\"]}],\"o\":[{\"q\":\"\\u0061\"}]}\n",
          { .url = "i.u", .ts = "t", .dataset = "i.s", .prefix = "p-", .extra = { "i.n", "o.q" } },
          NULL,
          NULL },
        { DX_RECORD_JSONL, "\"http:\\/\\/a.com/\"\n", { 0 }, NULL, NULL },
        { DX_RECORD_CDX_JSON,
          "[\"original\",\"\\u0061\"]\n[\"http:\\/\\/a.com/\",\"1\"]\n",
          { .extra = { "a" } },
          NULL,
          NULL },
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) /* names in messages are a courtesy */
        failures += (int)fail_alloc_each(all[i].text, FAIL_ALLOC_GOES_ON | 100, read_again,
                                         &all[i]);
}

int main(void)
{
    test_rows();
    test_names_of_extras();
    test_many_members();
    test_no_memory();
    return failures > 0;
}
