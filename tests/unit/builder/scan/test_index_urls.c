/* SPDX-License-Identifier: Apache-2.0
 * Places of URLs from rows of files to pages: against a naive list, with much memory and little,
 * with ids that are equal, twins of schemes, and rows over several row groups.
 */
#include "builder/scan/index_urls.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "builder/lake/lake_file.h"
#include "builder/scan/index_scan.h"
#include "builder/sort/spill_sort.h"
#include "canon/ids.h"
#include "format/core/zseek.h"
#include "tests/support/damage.h"

#define FILES 60 /* a URL of all of them is in more places than a sort of the least memory holds */
#define GROUPS 3
#define GROUP_ROWS 300 /* a unit, and a bit of one */
#define PLACES_MAX (FILES * GROUPS * GROUP_ROWS)

static unsigned failures;
static struct dx_url_place want[PLACES_MAX];
static size_t want_count;
static struct dx_index_file files[FILES];
static uint64_t first_group[FILES];

static int by_place(const void *a, const void *b)
{
    return dx_url_place_compare(a, b);
}

static void must(int rc, const struct dx_error *err)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

struct url_row {
    char path[24];
    const char *scheme;
};

/* Some rows of one page, of up to three schemes that come by turns. */
static size_t make_rows(uint64_t *random, unsigned pages, struct url_row *rows, size_t max)
{
    static const char *const schemes[] = { "http", "https", "ftp" };
    size_t n = 0;

    for (unsigned page = 0; n < max; page++) {
        uint64_t repeat = random_below(random, 12) == 0 ? 1 + random_below(random, 60) : 1;

        page += (unsigned)random_below(random, pages);
        for (; repeat > 0 && n < max; repeat--, n++) {
            (void)snprintf(rows[n].path, sizeof rows[n].path, "/%06u", page);
            rows[n].scheme = schemes[random_below(random, 3)];
        }
    }
    return n;
}

static uint64_t id_of(const struct url_row *row)
{
    char text[80];
    int n = snprintf(text, sizeof text, "%s://a.example%s", row->scheme, row->path);

    return dx_url_id(dx_span_of((const uint8_t *)text, (size_t)n));
}

/* The list as the manual says it: of each URL of the file the unit of its first row, and where it goes on behind that, how far
 * the last is. */
static void expect_file(uint32_t file, const struct url_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t last = i;
        bool first = true;

        /* Paths ascend. */
        for (size_t k = i; first && k > 0 && strcmp(rows[k - 1].path, rows[i].path) == 0; k--)
            first = rows[k - 1].scheme != rows[i].scheme;
        for (size_t k = i + 1; k < n && strcmp(rows[k].path, rows[i].path) == 0; k++)
            last = rows[k].scheme == rows[i].scheme ? k : last;
        if (first) {
            struct dx_url_place *p = &want[want_count++];
            bool within = i / GROUP_ROWS == last / GROUP_ROWS &&
                          i % GROUP_ROWS / DX_URL_UNIT == last % GROUP_ROWS / DX_URL_UNIT;

            *p = (struct dx_url_place){ .id = dx_url_id_kept(id_of(&rows[i])),
                                        .group = first_group[file] + i / GROUP_ROWS,
                                        .row = i % GROUP_ROWS / DX_URL_UNIT * DX_URL_UNIT };
            p->rows = within ? 0 : i % GROUP_ROWS - p->row + last - i + 1;
        }
    }
}

static void tell_file(struct dx_index_urls_lane *lane, uint32_t file, const struct url_row *rows,
                      size_t n)
{
    struct dx_url_run run = { 0 };
    struct dx_error err = DX_ERROR_INIT;

    for (size_t i = 0; i < n; i++) {
        const struct dx_lake_row row = { .scheme = dx_span_str(rows[i].scheme),
                                         .host = dx_span_str("a.example"),
                                         .path_query = dx_span_str(rows[i].path) };
        const struct dx_url_row at = { .file_id = file,
                                       .row_group = (uint32_t)(i / GROUP_ROWS),
                                       .row_in_group = i % GROUP_ROWS,
                                       .row_in_file = i,
                                       .same_page = i > 0 &&
                                                    strcmp(rows[i].path, rows[i - 1].path) == 0 };

        must(dx_index_urls_row(lane, &run, &row, &at, &err), &err);
    }
    must(dx_index_urls_end(lane, &run, &err), &err);
}

static int keep(void *ctx, struct dx_span bytes, struct dx_error *err)
{
    (void)err;
    dx_buf_append(ctx, bytes.data, bytes.size);
    return DX_OK;
}

/* What the pages of the file say, in order. */
static void read_back(struct dx_cold *c, struct dx_buf *stored, const char *what)
{
    struct dx_zstd_decoder *decoder = dx_zstd_decoder_new();
    struct dx_error err = DX_ERROR_INIT;
    struct dx_cold_page page;
    size_t at = 0;
    int rc = 1;

    for (uint32_t i = 0; (rc = dx_cold_page(c, DX_COLD_URL_IDS, i, &page, &err)) == 1; i++) {
        uint8_t *plain = malloc(page.plain_size);
        struct dx_url_page u;
        struct dx_url_place got;

        must(dx_cold_decode(c, &page, decoder, 0,
                            dx_span_of(stored->data + page.offset, page.stored_size), plain, &err),
             &err);
        must(dx_url_page_open(&u, c, &page, dx_span_of(plain, page.plain_size), "x", &err), &err);
        while ((rc = dx_url_page_next(&u, &got, &err)) == 1) {
            EXPECT(at < want_count && by_place(&got, &want[at]) == 0 && got.rows == want[at].rows,
                   "%s: place %zu of %zu", what, at, want_count);
            at++;
        }
        must(rc, &err);
        free(plain);
    }
    must(rc, &err);
    EXPECT(at == want_count, "%s: %zu of %zu places", what, at, want_count);
    dx_zstd_decoder_free(&decoder);
}

static void write_back(struct dx_index_urls *urls, size_t memory, bool spills, const char *what)
{
    const struct dx_index_lake lake = { .files = files, .file_count = FILES };
    struct dx_build_id build = { { 3 } };
    struct dx_cold_writer writers[DX_COLD_FILES];
    struct dx_buf stored[DX_COLD_FILES];
    struct dx_buf directory = DX_BUF_INIT(1 << 24);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_cold c;

    for (unsigned f = 0; f < DX_COLD_FILES; f++) {
        dx_buf_init(&stored[f], 1 << 24);
        must(dx_cold_writer_begin(&writers[f], (enum dx_cold_file)f, &build, 1, keep, &stored[f],
                                  &err),
             &err);
    }
    must(dx_index_urls_write(urls, &lake, &writers[DX_COLD_URL_IDS], memory, &err), &err);
    EXPECT(urls->places == want_count, "%s: %llu places", what, (unsigned long long)urls->places);
    EXPECT((urls->spilled_bytes > 0) == spills, "%s: %llu bytes were on the disk", what,
           (unsigned long long)urls->spilled_bytes);
    for (unsigned f = 0; f < DX_COLD_FILES; f++)
        must(dx_cold_writer_end(&writers[f], &err), &err);
    must(dx_cold_directory_write(writers, &build, keep, &directory, &err), &err);
    must(dx_cold_open(&c, dx_span_of(directory.data, directory.size), 0, "x", &err), &err);
    read_back(&c, &stored[DX_COLD_URL_IDS], what);
    dx_cold_close(&c);
    dx_buf_release(&directory);
    for (unsigned f = 0; f < DX_COLD_FILES; f++) {
        dx_cold_writer_release(&writers[f]);
        dx_buf_release(&stored[f]);
    }
}

/* A record of the scan names a row group that its file does not have, by what the lake says of it. */
static void refuse_group(struct dx_index_urls *urls, size_t memory, const char *what)
{
    const struct dx_index_lake lake = { .files = files, .file_count = FILES };
    struct dx_build_id build = { { 3 } };
    struct dx_cold_writer writer;
    struct dx_buf stored = DX_BUF_INIT(1 << 24);
    struct dx_error err = DX_ERROR_INIT;

    files[FILES - 1].row_groups--;
    must(dx_cold_writer_begin(&writer, DX_COLD_URL_IDS, &build, 1, keep, &stored, &err), &err);
    EXPECT(dx_index_urls_write(urls, &lake, &writer, memory, &err) == DX_E_CORRUPT &&
               strstr(err.text, "file 59 has no row group") != NULL,
           "%s: %d %s", what, err.code, err.text);
    dx_cold_writer_release(&writer);
    dx_buf_release(&stored);
}

/* pages: how far apart, so how many URLs are the same in several files. */
static void check(unsigned pages, size_t memory, bool is_sound, const char *what)
{
    static struct url_row rows[GROUPS * GROUP_ROWS];
    uint64_t random = pages;
    struct dx_index_urls_lane *lanes[2];
    struct dx_index_urls *urls;
    struct dx_error err = DX_ERROR_INIT;
    uint64_t groups = 0;

    want_count = 0;
    must(dx_index_urls_new(&urls, ".", memory, &err), &err);
    must(dx_index_urls_lane_new(&lanes[0], urls, &err), &err);
    must(dx_index_urls_lane_new(&lanes[1], urls, &err), &err);
    for (uint32_t f = 0; f < FILES; f++) {
        size_t n = f == 4 ? 0 : 1 + random_below(&random, GROUPS * GROUP_ROWS);

        first_group[f] = groups;
        n = n == 0 ? 0 : make_rows(&random, pages, rows, n);
        files[f] = (struct dx_index_file){ .path = f == 4 ? NULL : (char *)(uintptr_t) "f",
                                           .row_groups = (uint32_t)((n + GROUP_ROWS - 1) /
                                                                    GROUP_ROWS) };
        groups += files[f].row_groups;
        expect_file(f, rows, n);
        tell_file(lanes[f % 2], f, rows, n);
    }
    qsort(want, want_count, sizeof *want, by_place);
    for (unsigned i = 0; i < 2; i++) {
        must(dx_index_urls_lane_end(lanes[i], &err), &err);
        dx_index_urls_lane_free(&lanes[i]);
    }
    if (is_sound)
        write_back(urls, memory, memory < 1 << 20, what);
    else
        refuse_group(urls, memory, what);
    dx_index_urls_free(&urls);
}

/* Lakes of other writers have rows of several MiB: they have a place as others have. */
static void check_long(void)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_index_urls *urls;
    struct dx_index_urls_lane *lane;
    struct dx_url_run run = { 0 };
    uint8_t *path = malloc(DX_LAKE_ROW_BYTES_MAX);
    const struct dx_url_row at = { .row_group = 0 };
    struct dx_lake_row row = { .scheme = dx_span_str("https"), .host = dx_span_str("a.example") };

    if (path == NULL)
        exit(1);
    memset(path, '/', DX_LAKE_ROW_BYTES_MAX);
    row.path_query = dx_span_of(path, DX_LAKE_ROW_BYTES_MAX - row.scheme.size - row.host.size);
    must(dx_index_urls_new(&urls, ".", 1 << 20, &err), &err);
    must(dx_index_urls_lane_new(&lane, urls, &err), &err);
    must(dx_index_urls_row(lane, &run, &row, &at, &err), &err);
    must(dx_index_urls_end(lane, &run, &err), &err);
    must(dx_index_urls_lane_end(lane, &err), &err);
    dx_index_urls_lane_free(&lane);
    dx_index_urls_free(&urls);
    free(path);
}

int main(void)
{
    char folder[] = "/tmp/dx_index_urls.XXXXXX";

    if (mkdtemp(folder) == NULL || chdir(folder) != 0)
        return 1;
    check(1000, 1 << 24, true, "URLs apart");
    check(1, 1 << 24, true, "the same URLs in all files");
    check(1, DX_SPILL_LANE_MIN, true, "sorted on the disk");
    check(30, DX_SPILL_LANE_MIN, true, "sorted on the disk, apart");
    check(1, 1 << 24, false, "a row group less");
    check(1, DX_SPILL_LANE_MIN, false, "a row group less, sorted on the disk");
    check_long();
    return chdir("/") == 0 && rmdir(folder) == 0 && failures == 0 ? 0 : 1;
}
