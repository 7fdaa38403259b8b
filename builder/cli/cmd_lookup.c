/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/json_out.h"
#include "base/log.h"
#include "builder/cli/command.h"
#include "builder/cli/lookup_names.h"
#include "builder/input/records/input_format.h"
#include "builder/root/opened_version.h"
#include "builder/root/progress.h"
#include "query/answers/answer.h"
#include "query/answers/task.h"
#include "query/rows/cursor.h"
#include "query/view/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_MAX (256u << 20) /* bytes of one answer */
#define LINE_MAX_BYTES (64u << 10)

#define LARGE (64u << 20) /* an object that is worth a line when it has come */

enum {
    OPT_ROOT,
    OPT_VERSION,
    OPT_DATASET,
    OPT_ALL_URLS,
    OPT_URL,
    OPT_TAG,
    OPT_OF,
    OPT_OFFSET,
    OPT_LIMIT,
    OPT_FIELDS,
    OPT_NAMES,
    OPT_INPUT,
    OPT_FORMAT,
    OPT_DATASETS,
    OPT_CACHE_DIR,
    OPT_MIRROR_POSTINGS,
    OPT_VERIFY,
    OPT_QUIET,
    OPT_JSON,
    OPT_COUNT
};

struct lookup {
    struct dx_version *version;
    struct dx_canon *canon;
    bool urls;
    bool all_urls;
    bool single_urls;
    bool tags;
    bool tag_rows;
    uint32_t dataset_id;
    struct dx_page_of page;
    unsigned fields;
    struct dx_buf body;
    uint64_t found, absent, failed;
    bool many; /* by query/answers/answer_names.h */
    struct dx_names_ask names;
    enum dx_name_list_format input;
};

#define AT(member) DX_OPT_PLACE(struct lookup, member)

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL, "where the lake and the index live", DX_OPT_ONE_TEXT },
    [OPT_VERSION] = { "version", "VERSION", NULL, "answer from this version, not the current one",
                      DX_OPT_ONE_TEXT },
    [OPT_DATASET] = { "dataset", "NAME|ID", NULL,
                      "list the URLs of the domain in this dataset; a word of digits is an id, "
                      "name:7 a name",
                      DX_OPT_ONE_TEXT },
    [OPT_ALL_URLS] = { "all-urls", NULL, NULL, "list the URLs of the domain in all datasets",
                       DX_OPT_FLAG, AT(all_urls) },
    [OPT_URL] = { "url", NULL, NULL, "what is given are URLs: where each stands, in all datasets",
                  DX_OPT_FLAG, AT(single_urls) },
    [OPT_TAG] = { "tag", NULL, NULL,
                  "what is given are tags: the domains that have each, or with --of urls the rows; "
                  "in all datasets, or in that of --dataset",
                  DX_OPT_FLAG, AT(tags) },
    [OPT_OF] = { "of", "DOMAINS|URLS", "domains", "with --tag", DX_OPT_CHOICE, AT(tag_rows) },
    [OPT_OFFSET] = { "offset", "N", "0", "rows to pass over, with --dataset or --all-urls",
                     DX_OPT_NUMBER(0, DX_OPTION_OPEN), AT(page.offset) },
    [OPT_LIMIT] = { "limit", "N", "1000",
                    "rows at most, with --dataset or --all-urls; of each dataset, with --url "
                    "(100); in a line, "
                    "with "
                    "--tag (1000)",
                    DX_OPT_NUMBER(1, DX_LIMIT_MAX), AT(page.limit) },
    [OPT_FIELDS] = { "fields", "LIST", "url_id,url,ts",
                     "of url_id, url, ts, raw_url, extras, title, content_type, tags, locator; "
                     "with "
                     "--dataset, --all-urls, or --tag "
                     "--of urls",
                     DX_OPT_TEXT },
    [OPT_NAMES] = { "names", "FILE", NULL,
                    "a list of names, '-' for standard input; plain, gzip, zstd, bzip2 or xz",
                    DX_OPT_TEXT },
    [OPT_INPUT] = { "input", "TEXT|CSV|NDJSON|JSON", NULL,
                    "of the list; text: a name a line; if not given what the name of FILE ends in "
                    "(.csv, .ndjson, .jsonl, .json), else text",
                    DX_OPT_CHOICE, AT(input) },
    [OPT_FORMAT] = { "format", "NDJSON|CSV|MATRIX", NULL,
                     "of the answer, as POST /v1/domains gives it", DX_OPT_CHOICE,
                     AT(names.format) },
    [OPT_DATASETS] = { "datasets", "IDS", NULL,
                       "columns of a matrix, with commas between them; else all", DX_OPT_TEXT },
    [OPT_CACHE_DIR] = DX_OPTION_CACHE_DIR,
    [OPT_MIRROR_POSTINGS] = { "mirror-postings", NULL, NULL,
                              "copy the postings of a remote root too", DX_OPT_FLAG },
    [OPT_VERIFY] = { "verify", NULL, NULL, "hash all local files of the index first", DX_OPT_FLAG },
    [OPT_QUIET] = DX_OPTION_QUIET,
    [OPT_JSON] = DX_OPTION_JSON_ANYWAY,
};

static void write_problem(struct lookup *l, struct dx_span asked, const struct dx_problem *p)
{
    struct dx_json j;

    dx_buf_clear(&l->body);
    dx_json_open(&j, &l->body);
    dx_json_object(&j);
    dx_json_key(&j, "asked");
    dx_json_text(&j, asked);
    dx_json_key(&j, "problem");
    dx_json_str(&j, p->slug);
    dx_json_key(&j, "title");
    dx_json_str(&j, p->title);
    dx_json_key(&j, "detail");
    dx_json_str(&j, p->detail);
    dx_json_end(&j);
}

/* A line of JSON; rc as query/answers/answer.h. */
static bool write_line(struct lookup *l, struct dx_span asked, int rc,
                       const struct dx_problem *problem)
{
    if (rc != 1)
        write_problem(l, asked, problem);
    dx_buf_u8(&l->body, '\n');
    if (l->body.failed) {
        (void)dx_line_print(stderr, "domaindex lookup: %.*s: out of memory%s%s", (int)asked.size,
                            (const char *)asked.data, rc == 1 ? "" : ": ",
                            rc == 1 ? "" : problem->detail);
        l->failed++;
        return true;
    }
    return fwrite(l->body.data, 1, l->body.size, stdout) == l->body.size;
}

/* A line for each page. */
static bool lookup_tag(struct lookup *l, struct dx_span tag)
{
    struct dx_cursor from = { .limit = 0 };
    struct dx_cursor next = { .limit = 0 };
    struct dx_tag_ask ask = { .tag = tag,
                              .urls = l->tag_rows,
                              .one_dataset = l->urls,
                              .dataset_id = l->dataset_id,
                              .limit = l->page.limit,
                              .fields = l->fields,
                              .next = &next };
    struct dx_problem problem;
    bool ok;
    int rc;

    do {
        struct dx_task *task;

        from = next;
        ask.paging.from = from.limit > 0 ? &from : NULL;
        dx_buf_clear(&l->body);
        rc = dx_task_tag(DX_VIEW_ALL(l->version), l->canon, &ask, &task, NULL, &l->body, &problem);
        rc = dx_task_finish(&task, rc, &l->body, &problem);
        ok = write_line(l, tag, rc, &problem);
    } while (ok && rc == 1 && next.kind == DX_CURSOR_TAG);
    *(rc == 1 ? &l->found : rc == 0 ? &l->absent : &l->failed) += 1;
    return ok;
}

static bool lookup_one(struct lookup *l, struct dx_span asked)
{
    struct dx_problem problem;
    int rc;

    if (l->tags)
        return lookup_tag(l, asked);
    dx_buf_clear(&l->body);
    rc = l->single_urls ? dx_answer_url(DX_VIEW_ALL(l->version), l->canon, asked, l->page.limit,
                                        &l->body, &problem)
         : l->all_urls  ? dx_answer_all_urls(DX_VIEW_ALL(l->version), l->canon, asked, l->page,
                                             l->fields, &l->body, &problem)
         : l->urls      ? dx_answer_urls(DX_VIEW_ALL(l->version), l->canon, asked, l->dataset_id,
                                         l->page, l->fields, &l->body, &problem)
                        : dx_answer_domain(DX_VIEW_ALL(l->version), l->canon, asked,
                                           DX_DOMAIN_FIELDS_ALL, &l->body, &problem);
    *(rc == 1 ? &l->found : rc == 0 ? &l->absent : &l->failed) += 1;
    return write_line(l, asked, rc, &problem);
}

/* A line without its end, cut to LINE_MAX_BYTES (no URL is that long, so a cut one is refused);
 * false: no more lines. */
static bool read_line(char *line, size_t *size)
{
    int c = getc_unlocked(stdin);

    *size = 0;
    if (c == EOF)
        return false;
    for (; c != EOF && c != '\n'; c = getc_unlocked(stdin))
        if (*size < LINE_MAX_BYTES)
            line[(*size)++] = (char)c;
    if (*size > 0 && line[*size - 1] == '\r')
        --*size;
    return true;
}

static int lookup_stdin(struct lookup *l, struct dx_error *err)
{
    char *line = malloc(LINE_MAX_BYTES);
    int rc = line != NULL ? DX_OK : dx_no_memory(err, "a line");
    size_t size;

    while (rc == DX_OK && read_line(line, &size))
        if (!lookup_one(l, dx_span_of(line, size)))
            rc = dx_fail_errno(err, errno, "standard output");
    free(line);
    return rc == DX_OK && ferror(stdin) != 0 ? dx_fail_errno(err, errno, "standard input") : rc;
}

/* ---- lists ---- */

static void say_rate(uint64_t ms, const struct dx_names_counts *n)
{
    char names[40];
    char rate[40];

    (void)dx_line_print(
        stderr, "%s names in %.1f s (%s/s): %llu found, %llu absent, %llu withheld, %llu rejected",
        dx_progress_count(n->names, names), (double)ms / 1000,
        dx_progress_count(n->names * 1000 / (ms > 0 ? ms : 1), rate), (unsigned long long)n->found,
        (unsigned long long)n->absent, (unsigned long long)n->withheld,
        (unsigned long long)n->rejected);
}

static enum dx_name_list_format list_format(const char *path)
{
    static const struct {
        const char *suffix;
        enum dx_name_list_format format;
    } named[] = { { ".csv", DX_NAME_LIST_CSV },
                  { ".ndjson", DX_NAME_LIST_NDJSON },
                  { ".jsonl", DX_NAME_LIST_NDJSON },
                  { ".json", DX_NAME_LIST_JSON } };

    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (dx_input_named(path, named[i].suffix))
            return named[i].format;
    return DX_NAME_LIST_TEXT;
}

static int lookup_list(struct dx_lookup_names *many, const struct dx_options *o, const char *path,
                       struct dx_error *err)
{
    if (!dx_options_has(o, OPT_INPUT))
        many->input = list_format(path);
    return dx_lookup_names_file(many, path, err);
}

/* The answer is whole, and says so of each line; but a list without a name is one read wrongly. */
static int check_any(const struct dx_lookup_names *many, const struct dx_options *o,
                     struct dx_error *err)
{
    const struct dx_names_counts *n = &many->counts;

    if (!dx_options_has(o, OPT_NAMES) || n->names == 0 || n->rejected < n->names)
        return DX_OK;
    return dx_fail(err, DX_E_INVALID,
                   "nothing in the list is a domain, host or URL; --input says what it is: text, "
                   "csv, ndjson or json");
}

static int lookup_lists(struct lookup *l, const struct dx_options *o, struct dx_error *err)
{
    struct dx_progress progress;
    uint64_t began_ms = dx_clock_ms();
    struct dx_lookup_names many = { .version = l->version,
                                    .ask = l->names,
                                    .input = l->input,
                                    .out = stdout,
                                    .progress = &progress };
    const char *path;
    int rc = dx_lookup_names_begin(&many, err);

    dx_progress_init(&progress, dx_options_has(o, OPT_QUIET) ? -1 : STDERR_FILENO);
    dx_progress_phase(&progress, "looking up", "names", 0);
    for (size_t i = 0; rc >= 0 && (path = dx_options_nth(o, OPT_NAMES, i)) != NULL; i++)
        rc = lookup_list(&many, o, path, err);
    for (size_t i = 0; rc >= 0 && i < o->operand_count; i++)
        rc = strcmp(o->operand[i], "-") == 0
                 ? lookup_list(&many, o, "-", err)
                 : dx_lookup_names_one(&many, dx_span_str(o->operand[i]), err);
    if (rc >= 0)
        rc = dx_lookup_names_end(&many, err);
    dx_progress_end(&progress);
    if (rc >= 0 && !dx_options_has(o, OPT_QUIET))
        say_rate(dx_clock_ms() - began_ms, &many.counts);
    if (rc >= 0)
        rc = check_any(&many, o, err);
    dx_lookup_names_release(&many);
    return rc;
}

static int parse_lists(struct lookup *l, const struct dx_options *o, struct dx_error *err)
{
    const char *datasets = dx_options_text(o, OPT_DATASETS);

    l->many = dx_options_has(o, OPT_FORMAT) || dx_options_has(o, OPT_NAMES);
    if (!l->many && (datasets != NULL || dx_options_has(o, OPT_INPUT)))
        return dx_fail(err, DX_E_INVALID, "--input and --datasets go with --names or --format");
    if (l->many && l->tags)
        return dx_fail(err, DX_E_INVALID, "--tag does not go with --names or --format");
    if (l->many && l->urls)
        return dx_fail(err, DX_E_INVALID,
                       "--dataset lists URLs, one name at a time; it does not go with "
                       "--names or --format");
    if (datasets != NULL)
        l->names.datasets = dx_span_str(datasets);
    return DX_OK;
}

static int parse_all_urls(const struct lookup *l, const struct dx_options *o, struct dx_error *err)
{
    if (l->all_urls && (l->urls || l->single_urls || l->tags || dx_options_has(o, OPT_NAMES) ||
                        dx_options_has(o, OPT_FORMAT)))
        return dx_fail(err, DX_E_INVALID,
                       "--all-urls does not go with --dataset, --url, --tag, --names or --format");
    return DX_OK;
}

static int parse_url(struct lookup *l, const struct dx_options *o, struct dx_error *err)
{
    if (!l->single_urls)
        return DX_OK;
    if (l->urls || dx_options_has(o, OPT_NAMES) || dx_options_has(o, OPT_FORMAT))
        return dx_fail(err, DX_E_INVALID,
                       "--url looks up URLs, in all datasets; it does not go with --dataset, "
                       "--names or --format");
    if (!dx_options_has(o, OPT_LIMIT))
        l->page.limit = DX_URL_LIMIT_DEFAULT;
    if (l->page.limit > DX_URL_LIMIT_MAX)
        return dx_fail(err, DX_E_INVALID, "--limit: at most %d with --url", DX_URL_LIMIT_MAX);
    return DX_OK;
}

static int parse_tag(struct lookup *l, const struct dx_options *o, struct dx_error *err)
{
    if (!l->tags)
        return dx_options_has(o, OPT_OF) ? dx_fail(err, DX_E_INVALID, "--of goes with --tag")
                                         : DX_OK;
    if (l->single_urls || dx_options_has(o, OPT_OFFSET))
        return dx_fail(err, DX_E_INVALID, "--tag does not go with --url or --offset");
    if (l->page.limit > DX_TAGS_LIMIT_MAX)
        return dx_fail(err, DX_E_INVALID, "--limit: at most %d with --tag", DX_TAGS_LIMIT_MAX);
    if (!dx_options_has(o, OPT_FIELDS))
        l->fields = DX_FIELDS_DEFAULT | DX_FIELD_TITLE | DX_FIELD_TAGS;
    return DX_OK;
}

static int read_options(struct lookup *l, const struct dx_options *o, struct dx_error *err)
{
    const char *fields = dx_options_text(o, OPT_FIELDS);
    struct dx_span bad;
    int rc = dx_options_store(o, l, err);

    l->urls = dx_options_has(o, OPT_DATASET);
    if (rc == DX_OK)
        rc = parse_all_urls(l, o, err);
    if (rc == DX_OK)
        rc = parse_url(l, o, err);
    if (rc == DX_OK && !dx_fields_parse(dx_span_str(fields), &l->fields, &bad))
        rc = dx_fail(err, DX_E_INVALID, "--fields: '%.*s' is not a field", (int)bad.size,
                     (const char *)bad.data);
    if (rc == DX_OK)
        rc = parse_tag(l, o, err);
    if (rc == DX_OK)
        rc = parse_lists(l, o, err);
    if (rc == DX_OK && dx_options_text(o, OPT_ROOT) == NULL)
        rc = dx_fail(err, DX_E_INVALID, "--root is missing");
    if (rc == DX_OK && o->operand_count == 0 && !dx_options_has(o, OPT_NAMES))
        rc = dx_fail(err, DX_E_INVALID, "no domain is given ('-' reads them from standard input)");
    return rc;
}

static int lookup_all(struct lookup *l, const struct dx_options *o, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; i < o->operand_count && rc == DX_OK; i++)
        if (strcmp(o->operand[i], "-") == 0)
            rc = lookup_stdin(l, err);
        else if (!lookup_one(l, dx_span_str(o->operand[i])))
            rc = dx_fail_errno(err, errno, "standard output");
    return rc == DX_OK && fflush(stdout) != 0 ? dx_fail_errno(err, errno, "standard output") : rc;
}

/* Nothing of a warm mirror, a line for a cold one, and more if it takes its time. */
static void tell(void *ctx, const struct dx_mirror_progress *p)
{
    char text[DX_MIRROR_LINE];
    bool at_end = p->object == NULL && p->objects_reused + p->objects_fetched == p->objects;

    (void)ctx;
    if (p->object != NULL ? p->size < LARGE : at_end && p->objects_fetched == 0)
        return;
    dx_mirror_progress_text(p, text);
    (void)dx_line_print(stderr, "%s", text);
}

/* A plain host name, whose canonical form keeps it, without a dot at its end. Size 0: anything else. */
static struct dx_span plain_name(const char *name)
{
    struct dx_span s = dx_span_str(name);
    size_t letters = 0;

    if (s.size > 0 && s.data[s.size - 1] == '.')
        s.size--;
    while (letters < s.size && (uint8_t)(s.data[s.size - 1 - letters] - 'a') < 26)
        letters++;
    return letters > 0 && (letters == s.size || s.data[s.size - 1 - letters] == '.') &&
                   strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-") >= s.size
               ? s
               : (struct dx_span){ NULL, 0 };
}

/* What both end with, label by label. */
static struct dx_span common_tail(struct dx_span a, struct dx_span b)
{
    size_t same = 0;
    size_t whole = 0; /* labels */

    while (same < a.size && same < b.size &&
           a.data[a.size - 1 - same] == b.data[b.size - 1 - same]) {
        if (a.data[a.size - 1 - same] == '.')
            whole = same;
        same++;
    }
    if ((same == a.size || a.data[a.size - 1 - same] == '.') &&
        (same == b.size || b.data[b.size - 1 - same] == '.'))
        whole = same;
    return dx_span_of(a.data + a.size - whole, whole);
}

/* What all that is asked ends with, if it is plain names with a last label in common; else of size 0. */
static struct dx_span tail_of_all(const struct lookup *l, const struct dx_options *o)
{
    struct dx_span tail = { NULL, 0 };

    for (size_t i = 0; i < o->operand_count; i++) {
        struct dx_span name = plain_name(o->operand[i]);

        tail = i == 0 ? name : common_tail(tail, name);
        if (tail.size == 0)
            break;
    }
    return l->many || l->tags || l->single_urls ? (struct dx_span){ NULL, 0 } : tail;
}

static int open_version(struct lookup *l, const struct dx_options *o,
                        struct dx_opened_version *opened, struct dx_error *err)
{
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    int rc;

    options.mirror_dir = dx_options_text(o, OPT_CACHE_DIR);
    options.mirror_postings = dx_options_has(o, OPT_MIRROR_POSTINGS);
    options.verify = dx_options_has(o, OPT_VERIFY);
    options.tell = dx_options_has(o, OPT_QUIET) ? NULL : tell;
    options.tail = tail_of_all(l, o);
    rc = dx_opened_version_open(opened, dx_options_text(o, OPT_ROOT),
                                dx_options_text(o, OPT_VERSION), &options, err);
    l->version = opened->version;
    l->canon = opened->canon;
    return rc;
}

/* Of a number that no dataset has each DOMAIN has its own line. */
static int take_dataset(struct lookup *l, const struct dx_opened_version *opened, const char *said,
                        struct dx_error *err)
{
    size_t digits = strspn(said, "0123456789");
    int rc = dx_opened_version_dataset(opened, said, &l->dataset_id, err);

    if (rc == DX_E_NOT_FOUND && said[digits] == '\0' && digits > 0 && digits <= 10 &&
        strtoull(said, NULL, 10) <= UINT32_MAX) {
        l->dataset_id = (uint32_t)strtoull(said, NULL, 10);
        *err = (struct dx_error)DX_ERROR_INIT;
        return DX_OK;
    }
    return rc < 0 ? dx_fail_in(err, "--dataset") : rc;
}

static int run_lookup(const struct dx_options *o)
{
    struct lookup l = { .body = DX_BUF_INIT(ANSWER_MAX) };
    struct dx_opened_version opened = { .version = NULL };
    struct dx_error err = DX_ERROR_INIT;
    int code = DX_EXIT_REFUSED;
    int rc = read_options(&l, o, &err);

    if (rc < 0)
        return dx_command_fail("lookup", DX_EXIT_USAGE, &err);
    rc = open_version(&l, o, &opened, &err);
    if (rc == DX_OK && l.urls)
        rc = take_dataset(&l, &opened, dx_options_text(o, OPT_DATASET), &err);
    if (rc == DX_OK && l.many) {
        rc = lookup_lists(&l, o, &err);
        code = rc < 0 ? DX_EXIT_REFUSED : DX_EXIT_DONE;
    }
    if (rc == DX_OK && !l.many)
        rc = lookup_all(&l, o, &err);
    if (rc < 0)
        (void)dx_command_fail("lookup", DX_EXIT_REFUSED, &err);
    else if (!l.many)
        code = l.absent + l.failed > 0 ? DX_EXIT_REFUSED : DX_EXIT_DONE;
    if (rc == DX_OK && l.found + l.absent + l.failed > 1 && !dx_options_has(o, OPT_QUIET))
        (void)dx_line_print(stderr, "%llu found, %llu absent, %llu failed",
                            (unsigned long long)l.found, (unsigned long long)l.absent,
                            (unsigned long long)l.failed);
    dx_opened_version_close(&opened);
    dx_buf_release(&l.body);
    return code;
}

const struct dx_command dx_command_lookup = {
    .name = "lookup",
    .synopsis = "--root ROOT [--version VERSION] ([--dataset NAME|ID | --all-urls] [--offset N] "
                "[--limit N] "
                "DOMAIN... | "
                "--url [--limit N] URL... | --tag [--of urls] [--dataset NAME|ID] [--limit N] "
                "TAG... | --names "
                "FILE [--input FORMAT] [--format FORMAT])",
    .summary = "the answers of the API without a server",
    .description =
        "Prints one line of JSON for each DOMAIN: what GET /v1/domain/DOMAIN answers, or with "
        "--dataset what GET /v1/domain/DOMAIN/datasets/ID/urls answers, with --all-urls what GET "
        "/v1/domain/DOMAIN/urls answers. DOMAIN may be a domain, a "
        "host or a whole URL; '-' reads one a line from standard input. With --url each URL is "
        "looked up "
        "itself, over all datasets, as by GET /v1/url. With --tag a line for each page of what GET "
        "/v1/tags/TAG answers, until there is no more. What is not in the index "
        "gives a line with \"problem\". The exit code is 0 when all were found, else 1.\n\n"
        "With --names or --format the answer is that of POST /v1/domains: a line of JSON a name "
        "and a "
        "summary, a CSV line for each dataset of each name, or a CSV matrix with a line a name and "
        "a "
        "column a dataset. Lists may be of any length; of CSV the column domain, host or url is "
        "read, "
        "else the first. The counts and the rate are printed on standard error; the exit code is "
        "0 when "
        "all names were answered, found or not, and what was written is whole, and 1 when nothing "
        "in a list is a name.\n\n"
        "ROOT is a directory, http://..., https://... or s3://bucket/prefix; domaindex(1) names "
        "the environment variables that remote ones are reached with. Of a remote root the small "
        "part of the index is copied to a local directory, verified, and used again by later "
        "versions as far as it has not changed; the rest is read by range. Several processes may "
        "share the directory, and it may be removed while none runs.",
    .example = "domaindex lookup --root ./quickstart-root github.com",
    .options = options_table,
    .option_count = OPT_COUNT,
    .run = run_lookup,
};
