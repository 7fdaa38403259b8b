/* SPDX-License-Identifier: Apache-2.0
 * test_input_list.c - which files folders, patterns and lists stand for, what is left out, what is refused; also while memory runs out.
 */
#include "builder/input/files/input_list.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "tests/runner/fail_alloc.h"
#include "tests/support/fail.h"

#define OPERANDS_MAX 4
#define LONG_PART 1100 /* more than a name of a file has */

static int failures;

static void put(const char *path, const char *text)
{
    char folder[256];
    FILE *f;

    for (size_t i = 0; path[i] != '\0'; i++)
        if (path[i] == '/') {
            (void)snprintf(folder, sizeof folder, "%.*s", (int)i, path);
            (void)mkdir(folder, 0700);
        }
    f = fopen(path, "we");
    if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0)
        abort();
}

static void link_to(const char *target, const char *path)
{
    if (symlink(target, path) != 0)
        abort();
}

static void make_files(void)
{
    static const char *const names[] = {
        /* what writers and hubs leave beside data */
        "data/a.jsonl",
        "data/b.jsonl.gz",
        "data/.hidden",
        "data/_SUCCESS",
        "data/README.md",
        "data/readme",
        "data/LICENSE.txt",
        "data/a.jsonl.crc",
        "data/a.jsonl.MD5",
        "data/a.jsonl.sha256",
        "data/SHA256SUMS",
        "data/bookcorpus.py",
        "data/x.loc",
        "data/dataset_infos.json",
        "data/_temporary/c.jsonl",
        "data/.cache/d.jsonl",
        "data/deep/e.jsonl",
        "data/crc",
        /* Parquet and others */
        "mixed/1.parquet",
        "mixed/2.parquet",
        "mixed/notes.txt",
        /* for patterns */
        "crawl/2023/warc/x.gz",
        "crawl/2023/wat/y.gz",
        "crawl/2024/warc/x.gz",
        "crawl/2024/.tmp/x.gz",
        "crawl/2024/_old/x.gz",
        "crawl/x.gz",
        "crawl/star*.txt",
        /* two folders called blobs: of a cache of Hugging Face, and another */
        "hub/blobs/1",
        "hub/refs/main",
        "hub/snapshots/one/1.txt",
        "plain/blobs/1.txt",
        "two/blobs/1",
        "two/refs/main",
        "two/snapshots/one/1.txt",
        "two/snapshots/two/1.txt",
        "norefs/snapshots/one/1.txt",
        "norefs/snapshots/two/1.txt",
        "empty/README.md",
    };
    char line[9000];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        put(names[i], "http://a.com/\n");
    (void)mkdir("links", 0700);
    link_to("../data/deep", "links/folder");
    link_to("../data/a.jsonl", "links/file.jsonl");
    link_to("nowhere", "links/broken");
    link_to("loop", "links/loop");
    (void)mkdir("closed", 0700);
    (void)mkdir("closed/inside", 0);
    put("list", "# a comment\n\n  data/a.jsonl \r\n\tdata/deep/\n");
    put("list.deep", "data/a.jsonl\ndata/b.jsonl.gz\n");
    put("list.itself", "@list\n");
    put("list.missing", "data/a.jsonl\nmissing-*\n");
    memset(line, 'x', sizeof line);
    line[8192] = '\n';
    line[8193] = '\0';
    put("list.long", line);
    line[8191] = '\n';
    line[8192] = '\0';
    put("list.longest", line);
    {
        FILE *f = fopen("list.nul", "we");

        if (f == NULL || fwrite("a\nb\0c\n", 1, 6, f) != 6 || fclose(f) != 0)
            abort();
    }
    put("cluster/cdx-0.gz", "12345678");
    put("cluster/cluster.idx", "com,a)/ 20240102030405\tcdx-0.gz\t0\t8\t1\n");
    put("elsewhere/cluster.idx", "com,a)/ 20240102030405\tcdx-0.gz\t0\t8\t1\n");
    put("elsewhere/cluster.loc", "other.gz\tfar/other.gz\ncdx-0.gz\tnot/here.gz\tfar/cdx-0.gz\n");
    put("elsewhere/far/cdx-0.gz", "12345678");
    put("astray/cluster.idx", "com,a)/ 20240102030405\tcdx-0.gz\t0\t8\t1\n");
    put("astray/cluster.loc", "cdx-0.gz\t../cluster/cdx-0.gz\n");
    put("lacks/cluster.idx", "com,a)/ 20240102030405\tcdx-1.gz\t0\t8\t1\n");
    put("lacks/cdx-0.gz", "12345678");
    put("{a,b}.txt", "");
    put("b[{c,d}.txt", "");
    put("@file", "");
    put("odd:", "");
    put("s[1].txt", "");
}

struct row {
    const char *operand[OPERANDS_MAX];
    const char *want; /* paths, each with a blank behind it; NULL: refused */
    const char *said; /* in the message, or why one is left out */
    size_t left_out;
    const char *include, *exclude, *base;
};

static const struct row rows[] = {
    /* folders */
    { { "data" },
      "data/a.jsonl data/b.jsonl.gz data/crc data/deep/e.jsonl ",
      NULL,
      14,
      NULL,
      NULL,
      NULL },
    { { "data/" },
      "data/a.jsonl data/b.jsonl.gz data/crc data/deep/e.jsonl ",
      NULL,
      14,
      NULL,
      NULL,
      NULL },
    { { "data" }, "data/a.jsonl data/deep/e.jsonl ", NULL, 16, "*.jsonl", NULL, NULL },
    { { "data" }, "data/a.jsonl ", NULL, 17, "*.jsonl", "deep/*", NULL },
    { { "data" }, "data/a.jsonl data/deep/e.jsonl ", NULL, 16, NULL, "b.*,crc", NULL },
    { { "data" }, "data/b.jsonl.gz data/crc ", NULL, 16, "crc,*.gz", NULL, NULL },
    { { "data" }, NULL, "--include and --exclude leave out what it has", 0, "*.csv", NULL, NULL },
    { { "empty" }, NULL, "empty: a folder without a file to read", 0, NULL, NULL, NULL },
    { { "mixed" },
      "mixed/1.parquet mixed/2.parquet ",
      "mixed/notes.txt: its name is not that of a Parquet file, as others are",
      1,
      NULL,
      NULL,
      NULL },
    { { "mixed" }, "mixed/notes.txt ", NULL, 2, NULL, "*.parquet", NULL },
    { { "mixed/notes.txt" }, "mixed/notes.txt ", NULL, 0, "*.parquet", NULL, NULL },
    { { "links" },
      "links/file.jsonl ",
      "links/broken: a link to something else than a file is not followed",
      3,
      NULL,
      NULL,
      NULL },
    { { "links/folder" }, "links/folder/e.jsonl ", NULL, 0, NULL, NULL, NULL },
    { { "hub" }, "hub/snapshots/one/1.txt ", NULL, 2, NULL, NULL, NULL },
    { { "plain" }, "plain/blobs/1.txt ", NULL, 0, NULL, NULL, NULL },
    { { "two" }, NULL, "two/snapshots: has several revisions", 0, NULL, NULL, NULL },
    { { "two/snapshots/two" }, "two/snapshots/two/1.txt ", NULL, 0, NULL, NULL, NULL },
    { { "norefs" },
      "norefs/snapshots/one/1.txt norefs/snapshots/two/1.txt ",
      NULL,
      0,
      NULL,
      NULL,
      NULL },
    /* patterns */
    { { "crawl/*/warc/x.gz" },
      "crawl/2023/warc/x.gz crawl/2024/warc/x.gz ",
      NULL,
      0,
      NULL,
      NULL,
      NULL },
    { { "crawl/202[34]/warc" },
      "crawl/2023/warc/x.gz crawl/2024/warc/x.gz ",
      NULL,
      0,
      NULL,
      NULL,
      NULL },
    { { "crawl/star*.txt" }, "crawl/star*.txt ", NULL, 0, NULL, NULL, NULL },
    { { "s[1].txt" }, "s[1].txt ", NULL, 0, NULL, NULL, NULL },
    { { "crawl/*.bz2" }, NULL, "crawl/*.bz2: no file has that name", 0, NULL, NULL, NULL },
    { { "crawl/**/x.gz" },
      "crawl/2023/warc/x.gz crawl/2024/warc/x.gz crawl/x.gz ",
      NULL,
      2,
      NULL,
      NULL,
      NULL },
    { { "**/wat/y.gz" }, "./crawl/2023/wat/y.gz ", NULL, SIZE_MAX, NULL, NULL, NULL },
    { { "crawl/**/2024/**/x.gz" }, "crawl/2024/warc/x.gz ", NULL, 2, NULL, NULL, NULL },
    { { "crawl/**/warc" },
      "crawl/2023/warc/x.gz crawl/2024/warc/x.gz ",
      NULL,
      2,
      NULL,
      NULL,
      NULL },
    { { "crawl/202?/**" },
      "crawl/2023/warc/x.gz crawl/2023/wat/y.gz crawl/2024/warc/x.gz ",
      NULL,
      2,
      NULL,
      NULL,
      NULL },
    { { "hub/**/*.txt" }, "hub/snapshots/one/1.txt ", NULL, 2, NULL, NULL, NULL },
    { { "crawl/**/z.gz" }, NULL, "crawl/**/z.gz: no file has that name", 0, NULL, NULL, NULL },
    { { "nowhere/**" }, NULL, "nowhere/**: no file has that name", 0, NULL, NULL, NULL },
    /* lists */
    { { "@list" }, "data/a.jsonl data/deep/e.jsonl ", NULL, 0, NULL, NULL, NULL },
    { { "@list.deep" }, "./data/a.jsonl ./data/b.jsonl.gz ", NULL, 0, NULL, NULL, "." },
    { { "@list", "crawl/x.gz" },
      "data/a.jsonl data/deep/e.jsonl crawl/x.gz ",
      NULL,
      0,
      NULL,
      NULL,
      NULL },
    { { "@list.itself" }, NULL, "list.itself: line 1: @list: a list cannot", 0, NULL, NULL, NULL },
    { { "@list.missing" }, NULL, "list.missing: line 2: missing-*: no file", 0, NULL, NULL, NULL },
    { { "@list.long" }, NULL, "line 1: a line of more than 8192 bytes", 0, NULL, NULL, NULL },
    { { "@list.longest" }, NULL, NULL, 0, NULL, NULL, NULL },
    { { "@list.nul" },
      NULL,
      "line 2: a line with a NUL byte: is this a list?",
      0,
      NULL,
      NULL,
      NULL },
    { { "@nowhere" }, NULL, "nowhere", 0, NULL, NULL, NULL },
    { { "@file" }, "@file ", NULL, 0, NULL, NULL, NULL },
    /* cluster indexes */
    { { "cluster" }, "cluster/cdx-0.gz=8 ", NULL, 1, NULL, NULL, NULL },
    { { "crawl/x.gz", "cluster" }, "crawl/x.gz cluster/cdx-0.gz=8 ", NULL, 1, NULL, NULL, NULL },
    { { "cluster/cluster.idx" }, "cluster/cdx-0.gz=8 ", NULL, 0, NULL, NULL, NULL },
    { { "elsewhere/cluster.idx" }, "elsewhere/far/cdx-0.gz=8 ", NULL, 0, NULL, NULL, NULL },
    { { "astray/cluster.idx" },
      NULL,
      "a shard's path is relative to the index, without '..'",
      0,
      NULL,
      NULL,
      NULL },
    { { "lacks/cluster.idx" }, NULL, "the shard cdx-1.gz is not there", 0, NULL, NULL, NULL },
    { { "lacks" }, NULL, "the shard cdx-1.gz is not there", 0, NULL, NULL, NULL },
    { { "elsewhere" }, "elsewhere/far/cdx-0.gz=8 ", NULL, 2, NULL, NULL, NULL },
    /* addresses and shells */
    { { "hf://datasets/a/b" }, NULL, "hf:// is not read", 0, NULL, NULL, NULL },
    { { "ftp://a.com/b" }, NULL, "such an address is not read", 0, NULL, NULL, NULL },
    { { "https://a.com/b.gz" }, "https://a.com/b.gz ", NULL, 0, NULL, NULL, NULL },
    { { "https://a.com/b/" }, NULL, "only s3:// can be listed", 0, NULL, NULL, NULL },
    { { "s3://bucket*/b" }, NULL, "a bucket has no pattern", 0, NULL, NULL, NULL },
    { { "s3://bucket/{a,b}.gz" }, NULL, "braces are for a shell", 0, NULL, NULL, NULL },
    { { "data/{a,b}.jsonl" }, NULL, "braces are for a shell", 0, NULL, NULL, NULL },
    { { "{a,b}.txt" }, "{a,b}.txt ", NULL, 0, NULL, NULL, NULL },
    { { "https://a.com/{a,b}" }, "https://a.com/{a,b} ", NULL, 0, NULL, NULL, NULL },
    { { "b[[]{c,d}.txt" }, NULL, "braces are for a shell", 0, NULL, NULL, NULL },
    { { "{a}.txt" }, "{a}.txt ", NULL, 0, NULL, NULL, NULL },
    { { "a,{b.txt" }, "a,{b.txt ", NULL, 0, NULL, NULL, NULL },
    { { "a{b,c.txt" }, "a{b,c.txt ", NULL, 0, NULL, NULL, NULL },
};

/* "a,b" as the patterns that a command line gives; the text is cut in place. */
static void split_patterns(char *text, const char **out)
{
    char *save = NULL;
    size_t n = 0;

    for (char *p = strtok_r(text, ",", &save); p != NULL; p = strtok_r(NULL, ",", &save))
        out[n++] = p;
    out[n] = NULL;
}

static int make_list(const struct row *row, struct dx_input_list *list, struct dx_error *err)
{
    const char *include[8] = { NULL }, *exclude[8] = { NULL };
    const struct dx_input_filter filter = { row->include != NULL ? include : NULL, exclude,
                                            row->base };
    char in[64], ex[64];
    size_t count = 0;

    (void)snprintf(in, sizeof in, "%s", row->include != NULL ? row->include : "");
    (void)snprintf(ex, sizeof ex, "%s", row->exclude != NULL ? row->exclude : "");
    split_patterns(in, include);
    split_patterns(ex, exclude);
    while (count < OPERANDS_MAX && row->operand[count] != NULL)
        count++;
    return dx_input_list_make(list, row->operand, count, &filter, err);
}

static void put_paths(const struct dx_input_list *l, struct dx_buf *out)
{
    dx_buf_clear(out);
    for (size_t i = 0; i < l->count; i++) {
        dx_buf_str(out, l->path[i]);
        if (l->size[i] > 0)
            dx_buf_fmt(out, "=%llu", (unsigned long long)l->size[i]);
        dx_buf_u8(out, ' ');
    }
    dx_buf_u8(out, 0);
}

static void test_rows(void)
{
    struct dx_buf got = DX_BUF_INIT(1 << 16);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        struct dx_error err = DX_ERROR_INIT;
        struct dx_input_list list;
        int rc = make_list(row, &list, &err);
        char odd[300] = "";

        if (rc < 0) {
            CHECK(row->want == NULL, "%s: refused: %s", row->operand[0], err.text);
            CHECK(row->said == NULL || strstr(err.text, row->said) != NULL, "%s: says %s",
                  row->operand[0], err.text);
            CHECK(list.path == NULL && list.count == 0, "%s: paths are left", row->operand[0]);
            continue;
        }
        put_paths(&list, &got);
        if (list.odd != NULL)
            (void)snprintf(odd, sizeof odd, "%s: %s", list.odd, list.odd_why);
        CHECK(row->want == NULL || strcmp((const char *)got.data, row->want) == 0, "%s: %s",
              row->operand[0], (const char *)got.data);
        CHECK(row->want != NULL || row->said == NULL, "%s: not refused: %s", row->operand[0],
              (const char *)got.data);
        CHECK(row->left_out == SIZE_MAX || list.left_out == row->left_out, "%s: %zu are left out",
              row->operand[0], list.left_out);
        CHECK(row->want == NULL || strcmp(odd, row->said != NULL ? row->said : "") == 0,
              "%s: odd: %s", row->operand[0], odd);
        dx_input_list_release(&list);
    }
    dx_buf_release(&got);
}

/* A name in a pattern that no file can have matches nothing. */
static void test_long_name(void)
{
    char pattern[LONG_PART + 32];
    const char *operand = pattern;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_input_list list;
    int n = snprintf(pattern, sizeof pattern, "crawl/**/");

    memset(pattern + n, 'x', LONG_PART);
    pattern[n + LONG_PART] = '\0';
    CHECK(dx_input_list_make(&list, &operand, 1, NULL, &err) == DX_E_NOT_FOUND, "a long name: %s",
          err.text);
    /* without an error to fill it fails all the same */
    CHECK(dx_input_list_make(&list, &operand, 1, NULL, NULL) == DX_E_NOT_FOUND, "no error given");
}

static void test_closed_folder(void)
{
    static const char *const operands[] = { "closed", "closed/**/x.gz", "closed/inside/*" };

    if (geteuid() == 0)
        return; /* root may read all */
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++) {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_input_list list;

        CHECK(dx_input_list_make(&list, operands + i, 1, NULL, &err) == DX_E_IO &&
                  strstr(err.text, "cannot list") != NULL,
              "%s: %s", operands[i], err.text);
    }
}

static void test_once(void)
{
    static const struct {
        const char *operand[2];
        bool twice;
    } pairs[] = {
        { { "data/a.jsonl", "data/b.jsonl.gz" }, false },
        { { "data/a.jsonl", "./data/a.jsonl" }, true },
        { { "data/a.jsonl", "links/file.jsonl" }, true }, /* by a link */
        { { "https://a.com/x", "https://a.com/x" }, true },
        { { "https://a.com/x", "https://a.com/y" }, false },
        { { "missing", "missing" }, true }, /* opening it is what fails */
        { { "missing", "data/a.jsonl" }, false },
        { { "data", "data/deep/e.jsonl" }, true },
    };

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_input_list list;
        int rc = dx_input_list_make(&list, pairs[i].operand, 2, NULL, &err);

        CHECK(rc == DX_OK, "%s: %s", pairs[i].operand[0], err.text);
        if (rc < 0)
            continue;
        rc = dx_input_list_check_once(&list, &err);
        CHECK((rc == DX_E_INVALID && strstr(err.text, "are the same") != NULL) == pairs[i].twice,
              "%s %s: %d %s", pairs[i].operand[0], pairs[i].operand[1], rc, err.text);
        dx_input_list_release(&list);
    }
}

static int make_and_check(void *ctx, struct dx_error *err)
{
    struct dx_input_list list;
    int rc = make_list(ctx, &list, err);

    if (rc == DX_OK)
        rc = dx_input_list_check_once(&list, err);
    dx_input_list_release(&list);
    return rc;
}

static void test_no_memory(void)
{
    static struct row many[] = {
        { .operand = { "data", "crawl/**/x.gz", "mixed" }, .exclude = "b.*" },
        { .operand = { "@list", "crawl/202?/**" } },
        { .operand = { "cluster", "elsewhere/cluster.idx", "links" } },
        { .operand = { "@list.deep", "crawl/202[34]/wa?/*.gz" }, .base = "." },
    };

    for (size_t i = 0; i < sizeof many / sizeof *many;
         i++) /* the name of an odd file is a courtesy */
        failures += (int)fail_alloc_each(many[i].operand[0], FAIL_ALLOC_GOES_ON | 200,
                                         make_and_check, &many[i]);
}

int main(void)
{
    char dir[] = "/tmp/test_input_list.XXXXXX";
    struct dx_error err = DX_ERROR_INIT;

    if (mkdtemp(dir) == NULL || chdir(dir) != 0)
        abort();
    make_files();
    test_rows();
    test_long_name();
    test_closed_folder();
    test_once();
    test_no_memory();
    (void)chmod("closed/inside", 0700);
    if (chdir("/") != 0 || dx_dir_remove(dir, &err) < 0)
        FAIL("%s: %s", dir, err.text);
    return failures > 0;
}
