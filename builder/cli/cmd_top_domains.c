/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "builder/cli/command.h"
#include "builder/root/opened_version.h"
#include "builder/root/progress.h"
#include "query/answers/top_domains.h"
#include "query/answers/top_rows.h"
#include "query/view/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Beyond the stored head of a ranking each read walks over the dataset's list, so it fetches many:
 * of 100 M domains 100 times. 40 bytes each. */
#define ROWS_MAX (1u << 20)
#define FLUSH_BYTES (256u << 10)

enum {
    OPT_ROOT,
    OPT_DATASET,
    OPT_SHARE,
    OPT_LIMIT,
    OPT_CSV,
    OPT_JSON,
    OPT_VERSION,
    OPT_CACHE_DIR,
    OPT_QUIET,
    OPT_COUNT
};

struct top {
    struct dx_opened_version opened;
    struct dx_top_domains ranking;
    struct dx_top_domain *rows;
    struct dx_progress progress;
    struct dx_buf out;
    bool csv;
    bool quiet;
    bool has_share;
    struct dx_share share;
    uint64_t limit;
    uint64_t count; /* of domains to print */
};

#define AT(member) DX_OPT_PLACE(struct top, member)

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL, "where the lake and the index live", DX_OPT_ONE_TEXT },
    [OPT_DATASET] = { "dataset", "NAME|ID", NULL, "the dataset", DX_OPT_ONE_TEXT },
    [OPT_SHARE] = { "share", "SHARE", NULL,
                    "the first so many of its domains, rounded up: 10%, 12.5%, 0.1", DX_OPT_TEXT },
    [OPT_LIMIT] = { "limit", "N", NULL, "at most so many domains", DX_OPT_NUMBER(1, DX_OPTION_OPEN),
                    AT(limit) },
    [OPT_CSV] = { "csv", NULL, NULL, "CSV with a line of names, not lines of JSON", DX_OPT_FLAG,
                  AT(csv) },
    [OPT_JSON] = DX_OPTION_JSON_ANYWAY,
    [OPT_VERSION] = { "version", "VERSION", NULL, "of this version, not the current one",
                      DX_OPT_ONE_TEXT },
    [OPT_CACHE_DIR] = DX_OPTION_CACHE_DIR,
    [OPT_QUIET] = DX_OPTION_QUIET,
};

static int read_options(struct top *t, const struct dx_options *o, struct dx_error *err)
{
    const char *share = dx_options_text(o, OPT_SHARE);

    t->has_share = share != NULL;
    t->limit = UINT64_MAX;
    if (dx_options_text(o, OPT_ROOT) == NULL || dx_options_text(o, OPT_DATASET) == NULL ||
        o->operand_count > 0)
        return dx_fail(err, DX_E_INVALID, "--root ROOT and --dataset NAME|ID are needed, no more");
    if (dx_options_has(o, OPT_CSV) && dx_options_has(o, OPT_JSON))
        return dx_fail(err, DX_E_INVALID, "--csv and --json: give one of them");
    if (t->has_share && !dx_share_parse(dx_span_str(share), &t->share))
        return dx_fail(err, DX_E_INVALID,
                       "--share: '%.60s' is neither a percentage, as 10%%, nor a fraction, as 0.1, "
                       "above 0 and at most all",
                       share);
    return dx_options_store(o, t, err);
}

static int open_ranking(struct top *t, const struct dx_options *o, struct dx_error *err)
{
    struct dx_problem problem;
    uint32_t id;
    int rc = dx_opened_version_dataset(&t->opened, dx_options_text(o, OPT_DATASET), &id, err);

    if (rc < 0)
        return rc;
    rc = dx_top_domains_open(&t->ranking, DX_VIEW_ALL(t->opened.version), t->opened.canon, id,
                             &problem);
    if (rc != 1)
        return dx_fail(err, rc < 0 ? (enum dx_code)rc : DX_E_LIMIT, "%s", problem.detail);
    t->count = t->has_share ? dx_share_select(t->share, t->ranking.domain_count)
                            : t->ranking.domain_count;
    if (t->count > t->limit)
        t->count = t->limit;
    return DX_OK;
}

static int flush(struct top *t, size_t above, struct dx_error *err)
{
    if (t->out.failed)
        return dx_buf_fail(&t->out, err, "top-domains");
    if (t->out.size <= above)
        return DX_OK;
    if (fwrite(t->out.data, 1, t->out.size, stdout) != t->out.size)
        return dx_fail(err, DX_E_IO, "standard output failed");
    dx_buf_clear(&t->out);
    return DX_OK;
}

static int print_row(struct top *t, const struct dx_top_domain *row, struct dx_error *err)
{
    int rc = t->csv ? dx_top_csv_row(&t->ranking, row, &t->out, err)
                    : dx_top_json_row(&t->ranking, row, &t->out, err);

    if (rc == DX_OK && !t->csv)
        dx_buf_u8(&t->out, '\n');
    return rc < 0 ? rc : flush(t, FLUSH_BYTES, err);
}

static int print_all(struct top *t, struct dx_error *err)
{
    uint64_t done = 0;
    int rc = DX_OK;

    t->rows = malloc((t->count < ROWS_MAX ? t->count + 1 : ROWS_MAX) * sizeof *t->rows);
    if (t->rows == NULL)
        return dx_no_memory(err, "top-domains");
    if (t->csv)
        dx_top_csv_head(&t->out);
    dx_progress_phase(&t->progress, "printing", "domains", 0);
    while (rc == DX_OK && done < t->count) {
        size_t n = t->count - done < ROWS_MAX ? (size_t)(t->count - done) : ROWS_MAX;

        rc = dx_top_domains_read(&t->ranking, done, n, t->rows, err);
        for (size_t i = 0; i < n && rc == DX_OK; i++) {
            rc = print_row(t, &t->rows[i], err);
            if (i % 1024 == 0)
                dx_progress_at(&t->progress, 0, done + i);
        }
        done += n;
    }
    return rc == DX_OK ? flush(t, 0, err) : rc;
}

static void say_totals(const struct top *t)
{
    char count[32];
    char of[32];
    char urls[32];

    (void)dx_line_print(
        stderr, "%s of %s domains of dataset %u (%s), which has %s %s in version %s",
        dx_progress_count(t->count, count), dx_progress_count(t->ranking.domain_count, of),
        (unsigned)t->ranking.dataset->dataset_id, t->ranking.dataset->name,
        dx_progress_count(t->ranking.url_count, urls),
        t->ranking.dataset->kind == DX_DATASET_COUNTS ? "pages" : "URLs",
        dx_version_name(t->opened.version));
}

static int run_top_domains(const struct dx_options *o)
{
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct top t = { .out = DX_BUF_INIT(2 * FLUSH_BYTES) };
    struct dx_error err = DX_ERROR_INIT;
    int rc = read_options(&t, o, &err);

    if (rc < 0)
        return dx_command_fail("top-domains", DX_EXIT_USAGE, &err);
    t.quiet = dx_options_has(o, OPT_QUIET);
    dx_progress_init(&t.progress, t.quiet ? -1 : STDERR_FILENO);
    options.mirror_dir = dx_options_text(o, OPT_CACHE_DIR);
    rc = dx_opened_version_open(&t.opened, dx_options_text(o, OPT_ROOT),
                                dx_options_text(o, OPT_VERSION), &options, &err);
    if (rc == DX_OK)
        rc = open_ranking(&t, o, &err);
    if (rc == DX_OK)
        rc = print_all(&t, &err);
    dx_progress_end(&t.progress);
    if (rc == DX_OK && fflush(stdout) != 0)
        rc = dx_fail(&err, DX_E_IO, "standard output failed");
    if (rc < 0)
        (void)dx_command_fail("top-domains", DX_EXIT_REFUSED, &err);
    else if (!t.quiet)
        say_totals(&t);
    free(t.rows);
    dx_top_domains_release(&t.ranking);
    dx_opened_version_close(&t.opened);
    dx_buf_release(&t.out);
    return rc == DX_OK ? DX_EXIT_DONE : DX_EXIT_REFUSED;
}

const struct dx_command dx_command_top_domains = {
    .name = "top-domains",
    .synopsis = "--root ROOT --dataset NAME|ID [--share 10%] [--limit N] [--csv]",
    .summary = "the domains of a dataset, those with the most URLs first",
    .description =
        "Prints a line for each domain of the dataset: its rank, the domain, its distinct URLs, "
        "and "
        "their share of the dataset's. Those with more URLs come first, equal ones in order of the "
        "index (that of their reversed labels); a rank is 1 and the number of domains with more "
        "URLs, so equal ones share it. --share prints the first so many of all domains, rounded "
        "up: "
        "a percentage with up to four decimals, or a fraction. Lines are JSON, or with --csv RFC "
        "4180. What suppressions hide is left out, and the ranking is that of what is left. Memory "
        "does not grow with the dataset.\n\n"
        "This is the table that the European Commission's template for the public summary of "
        "training content (AI Act, article 53(1)(d)) asks for of scraped data: the top 10 % of "
        "all domain names by the size of what was scraped; of small and medium enterprises the top "
        "5 "
        "%, or 1,000 domain names. Size is the number of distinct URLs here.\n\n"
        "ROOT is a directory, http://..., https://... or s3://bucket/prefix; domaindex(1) names "
        "the environment variables that remote ones are reached with.",
    .example = "domaindex top-domains --root ./quickstart-root --dataset 1 --share 10% --csv",
    .options = options_table,
    .option_count = OPT_COUNT,
    .run = run_top_domains,
};
