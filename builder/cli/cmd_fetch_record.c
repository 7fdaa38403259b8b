/* SPDX-License-Identifier: Apache-2.0
 * cmd_fetch_record.c - domaindex fetch-record: from a URL or a locator to the record it came from.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_in.h"
#include "base/json_out.h"
#include "base/log.h"
#include "builder/cli/command.h"
#include "builder/input/located/located_record.h"
#include "builder/root/opened_version.h"
#include "format/version/url_ids.h"
#include "query/answers/answer.h"
#include "query/answers/task.h"
#include "query/rows/listing.h"
#include "query/view/view.h"

#define ANSWER_MAX (256u << 20)
#define TEXT_MAX (64u << 20) /* a page of the lake may be as large */
#define RECORD_MAX ((uint64_t)1 << 31)

enum {
    OPT_ROOT,
    OPT_VERSION,
    OPT_DATASET,
    OPT_BASE,
    OPT_URL,
    OPT_DECOMPRESS,
    OPT_LIST,
    OPT_MAX_BYTES,
    OPT_CACHE_DIR,
    OPT_COUNT
};

/* A row of the asked URL that has a locator; texts are those of the answer. */
struct place {
    const char *locator;
    const char *ts; /* NULL: none */
    const char *dataset;
    const char *url; /* canonical */
    const char *raw_url, *requested_url;
};

struct fetching {
    const char *asked;
    bool is_list;
    uint64_t max_bytes;
    const char *base;
    struct dx_opened_version opened;
    struct place found;
    uint64_t rows, located;
};

#define AT(member) DX_OPT_PLACE(struct fetching, member)

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL,
                   "where the lake and the index live; needed for a URL, not for a locator",
                   DX_OPT_ONE_TEXT },
    [OPT_VERSION] = { "version", "VERSION", NULL, "look in this version, not in the current one",
                      DX_OPT_ONE_TEXT },
    [OPT_DATASET] = { "dataset", "NAME", NULL, "only rows of this dataset, by name or number",
                      DX_OPT_ONE_TEXT },
    [OPT_BASE] = { "base", "DIR|URL", ".",
                   "what the files of locators lie below; a locator that leads elsewhere is "
                   "refused; http(s)://... and s3://bucket/prefix too",
                   DX_OPT_ONE_TEXT, AT(base) },
    [OPT_URL] = { "url", "URL", NULL, "with a locator: the record must be of this URL",
                  DX_OPT_TEXT },
    [OPT_DECOMPRESS] = { "decompress", NULL, NULL,
                         "print a WARC record decompressed, not as its file stores it",
                         DX_OPT_FLAG },
    [OPT_LIST] = { "list", NULL, NULL,
                   "print dataset, time and locator of all rows of the URL as lines of JSON, and "
                   "fetch nothing",
                   DX_OPT_FLAG, AT(is_list) },
    [OPT_MAX_BYTES] = { "max-bytes", "SIZE", "64M",
                        "at most so much is read for a record, and at most so much becomes of it",
                        DX_OPT_SIZE(4096, RECORD_MAX), AT(max_bytes) },
    [OPT_CACHE_DIR] = DX_OPTION_CACHE_DIR,
};

/* NULL where it is null. */
static const char *text_of(struct dx_json_in *in, const struct dx_json_node *object,
                           const char *member)
{
    return dx_json_in_null(object, member) ? NULL : dx_json_in_str(in, object, member, TEXT_MAX);
}

static int print_place(const struct place *p, struct dx_error *err)
{
    struct dx_buf line = DX_BUF_INIT(1u << 20);
    struct dx_json j;

    dx_command_json_open(&j, &line);
    dx_json_key(&j, "dataset");
    dx_json_str(&j, p->dataset);
    dx_json_key(&j, "ts");
    p->ts != NULL ? dx_json_str(&j, p->ts) : dx_json_null(&j);
    dx_json_key(&j, "locator");
    p->locator != NULL ? dx_json_str(&j, p->locator) : dx_json_null(&j);
    dx_command_json_end(&j, &line);
    return dx_command_write(&line, err);
}

/* The latest time wins; of equal ones the first. Times of the API sort as text. */
static bool is_later(const struct place *a, const struct place *b)
{
    return b->locator == NULL || (a->ts != NULL && (b->ts == NULL || strcmp(a->ts, b->ts) > 0));
}

static int take_row(struct fetching *f, const struct place *row, struct dx_error *err)
{
    f->rows++;
    f->located += row->locator != NULL;
    if (row->locator != NULL && is_later(row, &f->found))
        f->found = *row;
    return f->is_list ? print_place(row, err) : DX_OK;
}

static void read_extras(struct dx_json_in *in, const struct dx_json_node *row, struct place *p)
{
    const struct dx_json_node *extra;
    struct dx_json_list l;

    dx_json_in_map(in, &l, row, "extras", DX_LISTING_EXTRAS_MAX);
    while ((extra = dx_json_in_next(in, &l)) != NULL)
        if (strcmp(l.key, DX_LOCATOR_COLUMN) == 0)
            p->locator = dx_json_in_entry_str(in, extra, TEXT_MAX);
        else if (strcmp(l.key, DX_REQUESTED_URL) == 0)
            p->requested_url = dx_json_in_entry_str(in, extra, TEXT_MAX);
}

/* Rows in the answer of GET /v1/url. */
static int take_rows(struct fetching *f, struct dx_json_in *in, const struct dx_json_node *answer,
                     const uint32_t *wanted, struct dx_error *err)
{
    const struct dx_json_node *dataset, *row;
    struct dx_json_list datasets, rows;
    int rc = DX_OK;

    dx_json_in_list(in, &datasets, answer, "datasets", UINT32_MAX);
    while (rc == DX_OK && (dataset = dx_json_in_next(in, &datasets)) != NULL) {
        bool is_other = wanted != NULL &&
                        dx_json_in_u64(in, dataset, "dataset_id", 0, UINT32_MAX) != *wanted;

        dx_json_in_list(in, &rows, dataset, "rows", DX_URL_LIMIT_MAX);
        while (rc == DX_OK && (row = dx_json_in_next(in, &rows)) != NULL) {
            struct place p = { .ts = text_of(in, row, "ts"),
                               .dataset = dx_json_in_str(in, dataset, "name", TEXT_MAX),
                               .url = dx_json_in_str(in, answer, "url", TEXT_MAX),
                               .raw_url = text_of(in, row, "raw_url") };

            read_extras(in, row, &p);
            if (in->rc == DX_OK && !is_other)
                rc = take_row(f, &p, err);
        }
    }
    return rc;
}

static int read_record(const struct fetching *f, const struct place *p, bool decompress,
                       struct dx_error *err)
{
    const char *const urls[DX_LOCATED_URLS_MAX] = { p->url, p->requested_url, p->raw_url };
    struct dx_buf out = DX_BUF_INIT((size_t)f->max_bytes + 1);
    struct dx_locator locator;
    struct dx_located_ask ask = { .locator = &locator,
                                  .base = f->base,
                                  .max_bytes = (size_t)f->max_bytes,
                                  .decompress = decompress,
                                  .canon = f->opened.canon };
    int rc = DX_OK;

    if (!dx_locator_parse(dx_span_str(p->locator), &locator))
        rc = dx_fail(err, DX_E_INVALID, "'%s' is not a locator (docs/FORMAT.md, 12.2)", p->locator);
    for (size_t i = 0; i < DX_LOCATED_URLS_MAX; i++)
        if (urls[i] != NULL)
            ask.url[ask.url_count++] = dx_span_str(urls[i]);
    if (rc == DX_OK)
        rc = dx_located_record_read(&ask, &out, err);
    if (rc == DX_OK && (fwrite(out.data, 1, out.size, stdout) != out.size || fflush(stdout) != 0))
        rc = dx_fail(err, DX_E_IO, "cannot write to standard output");
    dx_buf_release(&out);
    return rc;
}

static int open_root(struct fetching *f, const struct dx_options *o, struct dx_error *err)
{
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;

    options.mirror_dir = dx_options_text(o, OPT_CACHE_DIR);
    return dx_opened_version_open(&f->opened, dx_options_text(o, OPT_ROOT),
                                  dx_options_text(o, OPT_VERSION), &options, err);
}

static int choose(const struct fetching *f, struct dx_error *err)
{
    if (f->located == 0)
        return dx_fail(err, DX_E_NOT_FOUND,
                       "%s: none of its %llu rows has a locator; ingest with --locators (and "
                       "--replace, as rows that are there stay as they are)",
                       f->asked, (unsigned long long)f->rows);
    if (f->located > 1)
        (void)dx_line_print(
            stderr,
            "%llu rows have a locator; this is that of %s in dataset '%s'; --list shows all",
            (unsigned long long)f->located, f->found.ts != NULL ? f->found.ts : "no time",
            f->found.dataset);
    return DX_OK;
}

/* From the answer to the record, or to the list of its rows. */
static int follow_answer(struct fetching *f, const struct dx_options *o, struct dx_span answer,
                         const uint32_t *wanted, struct dx_error *err)
{
    struct dx_json_in in;
    const struct dx_json_node *top = dx_json_in_open(&in, answer, ANSWER_MAX,
                                                     "the answer of this URL");
    int rc = take_rows(f, &in, top, wanted, err);

    if (rc == DX_OK && in.rc == DX_OK && !f->is_list)
        rc = choose(f, err);
    if (rc == DX_OK && in.rc == DX_OK && !f->is_list)
        rc = read_record(f, &f->found, dx_options_has(o, OPT_DECOMPRESS), err);
    if (rc < 0) {
        (void)dx_json_in_close(&in, NULL);
        return rc;
    }
    return dx_json_in_close(&in, err);
}

static int fetch_url(struct fetching *f, const struct dx_options *o, struct dx_error *err)
{
    const char *wanted = dx_options_text(o, OPT_DATASET);
    struct dx_buf body = DX_BUF_INIT(ANSWER_MAX);
    struct dx_problem problem;
    uint32_t id = 0;
    int rc = open_root(f, o, err);

    if (rc == DX_OK && wanted != NULL)
        rc = dx_opened_version_dataset(&f->opened, wanted, &id, err);
    if (rc == DX_OK && dx_answer_url(DX_VIEW_ALL(f->opened.version), f->opened.canon,
                                     dx_span_str(f->asked), DX_URL_LIMIT_MAX, &body, &problem) != 1)
        rc = dx_fail(err, DX_E_NOT_FOUND, "%s: %s: %s", f->asked, problem.title, problem.detail);
    if (rc == DX_OK)
        rc = follow_answer(f, o, dx_span_of(body.data, body.size), wanted != NULL ? &id : NULL,
                           err);
    dx_buf_release(&body);
    return rc;
}

static int fetch_locator(struct fetching *f, const struct dx_options *o, struct dx_error *err)
{
    const struct place p = { .locator = f->asked, .url = dx_options_text(o, OPT_URL) };
    int rc = dx_options_text(o, OPT_ROOT) != NULL ? open_root(f, o, err) : DX_OK;

    return rc < 0 ? rc : read_record(f, &p, dx_options_has(o, OPT_DECOMPRESS), err);
}

static int read_options(struct fetching *f, const struct dx_options *o, bool *is_locator,
                        struct dx_error *err)
{
    struct dx_locator locator;
    int rc = dx_options_store(o, f, err);

    if (rc < 0)
        return rc;
    if (o->operand_count != 1)
        return dx_fail(err, DX_E_INVALID, "one URL or locator is expected");
    f->asked = o->operand[0];
    *is_locator = dx_locator_parse(dx_span_str(f->asked), &locator);
    if (*is_locator && (f->is_list || dx_options_has(o, OPT_DATASET)))
        return dx_fail(err, DX_E_INVALID, "--list and --dataset go with a URL, not with a locator");
    if (!*is_locator && dx_options_has(o, OPT_URL))
        return dx_fail(err, DX_E_INVALID, "--url goes with a locator");
    if (!*is_locator && dx_options_text(o, OPT_ROOT) == NULL)
        return dx_fail(err, DX_E_INVALID, "--root is missing; '%s' is not a locator", f->asked);
    return DX_OK;
}

static int run_fetch_record(const struct dx_options *o)
{
    struct fetching f = { .opened = { .version = NULL } };
    struct dx_error err = DX_ERROR_INIT;
    bool is_locator = false;
    int rc = read_options(&f, o, &is_locator, &err);

    if (rc < 0)
        return dx_command_fail("fetch-record", DX_EXIT_USAGE, &err);
    rc = is_locator ? fetch_locator(&f, o, &err) : fetch_url(&f, o, &err);
    dx_opened_version_close(&f.opened);
    return rc < 0 ? dx_command_fail("fetch-record", DX_EXIT_REFUSED, &err) : DX_EXIT_DONE;
}

const struct dx_command dx_command_fetch_record = {
    .name = "fetch-record",
    .synopsis = "[--base DIR|URL] [--decompress] (--root ROOT [--dataset NAME] [--list] URL | "
                "[--url URL] LOCATOR)",
    .summary = "print the record that a row came from",
    .description =
        "Leads from a URL, by the locator that 'ingest --locators' kept with its row, to the "
        "record "
        "it came from, and prints that: a WARC record as its file stores it (--decompress: "
        "decompressed), a row of a Parquet file as a line of JSON, or a line of text. Of several "
        "rows that have a locator the one with the latest time is taken; --list shows all. LOCATOR "
        "is such a locator itself, as fields=locator returns it: FILE#warc=OFFSET+LENGTH, "
        "FILE#row=GROUP:ROW, FILE#text=OFFSET+LENGTH or FILE#line=NUMBER.\n\n"
        "A WARC record and a line of plain text take one range read, on disks, https:// and "
        "s3://; a row of Parquet takes the footer and the pages up to the row; a line of "
        "compressed text is read from the beginning of the file.\n\n"
        "What is there must be of the URL: the WARC-Target-URI of the record equal in canonical "
        "form, or the URL somewhere in the row or line. If not, the file has changed since, and "
        "the exit code is 1. A locator may come from a stranger's lake, so it is followed below "
        "--base only: a folder, as long as it is not given the one that the command runs in, or an "
        "address. Paths in locators are taken from there on; '..', symbolic links that lead out, "
        "and addresses that do not begin with --base are refused.",
    .example = "domaindex fetch-record --root /srv/dx --base https://data.commoncrawl.org/ "
               "--decompress https://example.com/",
    .options = options_table,
    .option_count = OPT_COUNT,
    .run = run_fetch_record,
};
