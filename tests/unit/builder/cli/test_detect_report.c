/* SPDX-License-Identifier: Apache-2.0
 * test_detect_report.c - what `ingest --detect` finds in small files, and the command that it prints for them.
 */
#include "builder/cli/detect_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/runner/fail_alloc.h"
#include "tests/support/fail.h"

static int failures;

struct row {
    const char *name; /* of the file */
    const char *text;
    enum dx_record_format format;
    const char *profile;
    const char *report[6]; /* parts of it, in order */
    const char *command;   /* behind "domaindex ingest"; NULL: the input is not read */
};

static const struct row rows[] = {
    { "a.csv",
      "url,date,n\nhttp://a.com/,2024-01-02,1\nhttp://b.com/,2024-01-03,x\n",
      DX_RECORD_AUTO,
      NULL,
      { "format     csv, plain", "columns    3, named by a header", " url  (URLs)",
        " date  (times)", "first rows 2" },
      " --root ROOT --dataset a a.csv" },
    { "b c.csv",
      "a,b\n1,http://a.com/page\n2,http://b.com/page\n",
      DX_RECORD_AUTO,
      NULL,
      { "columns    2, named by a header", "(URLs)", "url        b", "time       none" },
      " --root ROOT --dataset 'b c' --url-column b 'b c.csv'" },
    { "it's.txt",
      "http://a.com/\nhttp://b.com/\n",
      DX_RECORD_AUTO,
      NULL,
      { "format     list" },
      " --root ROOT --dataset 'it'\\''s' 'it'\\''s.txt'" },
    { "tab\tand\\back'.txt",
      "http://a.com/\n",
      DX_RECORD_AUTO,
      NULL,
      { "format     list" },
      " --root ROOT --dataset NAME $'tab\\011and\\\\back\\'.txt'" },
    { "-n.txt",
      "http://a.com/\n",
      DX_RECORD_AUTO,
      NULL,
      { "format     list" },
      " --root ROOT --dataset -n -- -n.txt" },
    { "n.jsonl",
      "{\"\":1,\"a.b\":{\"c\":\"http://a.com/"
      "page\"},\"t\":1704164645,\"m\":1,\"x\":null,\"l\":[1]}\n"
      "{\"a.b\":{\"c\":\"http://b.com/page\"},\"t\":1704164646,\"m\":\"y\",\"f\":1.5,\"b\":true}\n",
      DX_RECORD_AUTO,
      NULL,
      { "number          \"\"", "\"a.b\".c  (URLs)", "mixed           m", "null            x",
        "list            l", "boolean         b" },
      " --root ROOT --dataset n --url-column '\"a.b\".c' n.jsonl" },
    { "x.jsonl",
      "{\"a\":1}\n{\"a\":2}\n",
      DX_RECORD_AUTO,
      NULL,
      { "not read   x.jsonl: cannot tell which member is the URL" },
      NULL },
    { "e.txt", "", DX_RECORD_AUTO, NULL, { "not read   e.txt: has no record" }, NULL },
    { "c.json",
      "[1,2]\n",
      DX_RECORD_JSONL,
      NULL,
      { "not read   c.json: none of the first 1 records has a URL" },
      NULL },
    { "w.warc",
      "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.com/\r\nContent-Length: "
      "2\r\n\r\nok\r\n\r\n",
      DX_RECORD_AUTO,
      NULL,
      { "format     warc, plain", "profile    warc", "first rows 1" },
      " --root ROOT --profile warc --dataset w w.warc" },
    { "w.wet",
      "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: http://a.com/\r\nContent-Length: "
      "2\r\n\r\nok\r\n\r\n",
      DX_RECORD_AUTO,
      NULL,
      { "profile    wet" },
      " --root ROOT --profile wet --dataset w w.wet" },
    { "d.cdxj",
      "com,a)/ 20240102030405 {\"url\":\"http://a.com/\",\"mime\":\"text/html\"}\n",
      DX_RECORD_AUTO,
      NULL,
      { "format     cdxj", "profile    cdxj", "time       in front of the JSON",
        "content_type=text/html" },
      " --root ROOT --profile cdxj --dataset d d.cdxj" },
    { "p.csv",
      "url\nhttp://a.com/\n",
      DX_RECORD_CSV,
      "cdxj",
      { "format     csv", "profile    cdxj" },
      " --root ROOT --profile cdxj --dataset p --format csv p.csv" },
    /* what a profile takes of a row is shown behind its URL */
    { "f.jsonl",
      "{\"url\":\"http://a.com/"
      "\",\"date\":\"2024-01-02T03:04:05Z\",\"dump\":\"CC-1\",\"language\":\"en\"}\n"
      "{\"url\":\"http://b.com/\",\"date\":\"2024-01-03T03:04:05Z\"}\n",
      DX_RECORD_JSONL,
      "fineweb",
      { "first rows 2", "2024-01-02T03:04:05Z  http://a.com/  dataset=fineweb-CC-1  language=en\n",
        "2024-01-03T03:04:05Z  http://b.com/\n" },
      " --root ROOT --profile fineweb --format jsonl f.jsonl" },
    /* two fields of one name: the third one is the URL */
    { "t.csv",
      "a,a,b\n1,2,http://a.com/page\n3,4,http://b.com/page\n",
      DX_RECORD_AUTO,
      NULL,
      { "columns    2, named by a header", " b  (URLs)", "url        b" },
      " --root ROOT --dataset t --url-column b t.csv" },
    { "q.csv",
      "http://a.com/,x\n",
      DX_RECORD_LIST,
      NULL,
      { "format     list" },
      " --root ROOT --dataset q --format list q.csv" },
};

static int detect(const struct row *row, const char *operand, struct dx_buf *report,
                  struct dx_buf *command, struct dx_error *err)
{
    const struct dx_profile *profile = NULL;
    struct dx_detected *d = NULL;
    int rc = DX_OK;

    if (row->profile != NULL)
        rc = dx_profile_get(&profile, row->profile, err);
    if (rc == DX_OK)
        rc = dx_input_detect(&d, row->name, row->format, profile, err);
    if (d != NULL) {
        dx_detect_report(report, d, row->name, rc < 0 ? err->text : NULL);
        if (rc == DX_OK)
            dx_detect_command(command, d, row->name, NULL, &operand, 1);
    }
    dx_input_detect_free(&d);
    return rc < 0 || (!report->failed && !command->failed) ? rc : dx_no_memory(err, "test");
}

static void check_row(const struct row *row, int rc, const char *report, const char *command,
                      const struct dx_error *err)
{
    const char *at = report;

    for (size_t i = 0; i < sizeof row->report / sizeof *row->report && row->report[i] != NULL;
         i++) {
        const char *found = strstr(at, row->report[i]);

        CHECK(found != NULL, "%s: no '%s' in\n%s", row->name, row->report[i], at);
        if (found != NULL)
            at = found;
    }
    CHECK((rc == DX_OK) == (row->command != NULL), "%s: %d %s", row->name, rc, err->text);
    if (rc == DX_OK && row->command != NULL)
        CHECK(strncmp(command, "domaindex ingest", 16) == 0 &&
                  strncmp(command + 16, row->command, strlen(row->command)) == 0 &&
                  strcmp(command + 16 + strlen(row->command), "\n") == 0,
              "%s: %s", row->name, command);
}

static void test_rows(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_buf report = DX_BUF_INIT(1 << 20), command = DX_BUF_INIT(1 << 20);
        struct dx_error err = DX_ERROR_INIT;
        int rc;

        if (dx_file_replace(rows[i].name, dx_span_str(rows[i].text), &err) < 0)
            abort();
        rc = detect(&rows[i], rows[i].name, &report, &command, &err);
        dx_buf_u8(&report, 0);
        dx_buf_u8(&command, 0);
        check_row(&rows[i], rc, (const char *)report.data, (const char *)command.data, &err);
        dx_buf_release(&report);
        dx_buf_release(&command);
    }
}

/* More columns than are listed, and than are looked at; a name that is longer than names are shown. */
static void test_many_columns(void)
{
    static const struct {
        unsigned columns;
        bool json;
        const char *want[2];
    } files[] = {
        { 299, false, { "columns    299, named", "and 259 more" } },
        { 301, false, { "columns    301, named", "and 261 more" } },
        { 301, true, { "columns    301\n", "and 261 more" } },
    };

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const bool json = files[i].json;
        struct dx_buf text = DX_BUF_INIT(1 << 20), report = DX_BUF_INIT(1 << 20),
                      command = DX_BUF_INIT(1 << 20);
        const struct row row = { .name = json ? "many.jsonl" : "many.csv" };
        struct dx_error err = DX_ERROR_INIT;
        int rc;

        dx_buf_str(&text, json ? "{\"url\":\"http://a.com/page\"" : "url");
        for (unsigned k = 2; k < files[i].columns; k++)
            dx_buf_fmt(&text, json ? ",\"c%u\":1" : ",c%u", k);
        dx_buf_str(&text, json ? ",\"" : ",");
        for (unsigned k = 0; k < 200; k++)
            dx_buf_u8(&text, 'x');
        dx_buf_str(&text, json ? "\":1}\n" : "\nhttp://a.com/page,1\n");
        if (dx_file_replace(row.name, dx_span_of(text.data, text.size), &err) < 0)
            abort();
        rc = detect(&row, row.name, &report, &command, &err);
        dx_buf_u8(&report, 0);
        CHECK(rc == DX_OK, "%u columns: %s", files[i].columns, err.text);
        for (size_t k = 0; k < 2; k++)
            CHECK(strstr((const char *)report.data, files[i].want[k]) != NULL, "%u columns: %s",
                  files[i].columns, (const char *)report.data);
        dx_buf_release(&text);
        dx_buf_release(&report);
        dx_buf_release(&command);
    }
}

static int detect_again(void *ctx, struct dx_error *err)
{
    const struct row *row = ctx;
    struct dx_buf report = DX_BUF_INIT(1 << 20), command = DX_BUF_INIT(1 << 20);
    int rc = detect(row, row->name, &report, &command, err);

    dx_buf_release(&report);
    dx_buf_release(&command);
    return rc;
}

/* Files that are read, while memory runs out. */
static void test_no_memory(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct row row = rows[i];

        if (row.command != NULL)
            failures += (int)fail_alloc_each(row.name, FAIL_ALLOC_GOES_ON | 40, detect_again, &row);
    }
}

int main(void)
{
    char dir[] = "/tmp/test_detect_report.XXXXXX";

    if (mkdtemp(dir) == NULL || chdir(dir) != 0)
        abort();
    test_rows();
    test_many_columns();
    test_no_memory();
    if (chdir("/") != 0 || dx_dir_remove(dir, NULL) < 0)
        FAIL("%s is left", dir);
    return failures > 0;
}
