/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish_report.h"

#include <string.h>

#include "builder/progress.h"

struct row {
    const char *name; /* also the end of the names that count */
    uint64_t bytes;
};

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text);
    size_t m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

static double per(uint64_t bytes, uint64_t n)
{
    return n == 0 ? 0 : (double)bytes / (double)n;
}

static void report_row(const struct dx_manifest_version *e, const char *name, uint64_t bytes,
                       struct dx_buf *out)
{
    dx_buf_fmt(out, "  %-24s %14llu %10.3f %10.3f\n", name, (unsigned long long)bytes,
               per(bytes, e->domains), per(bytes, e->pairs));
}

void dx_publish_report(const struct dx_manifest_version *e, uint64_t lake_bytes, struct dx_buf *out)
{
    struct row rows[] = {
        { DX_FILE_DOMAINS_TXT, 0 }, { DX_FILE_DOMAINS_DICT, 0 }, { DX_FILE_DOMAINS_MPHF, 0 },
        { DX_FILE_MEMBERSHIP, 0 },  { DX_FILE_COUNTS, 0 },       { DX_FILE_DATASET_DOMAINS, 0 },
        { "postings.idx.zst", 0 },  { "postings.dat.zst", 0 },   { DX_FILE_POSTINGS_DIR, 0 },
        { DX_FILE_FACTS, 0 },       { DX_FILE_SKETCHES, 0 },     { DX_FILE_URL_IDS, 0 },
        { DX_FILE_COLD, 0 },        { DX_FILE_FILES_TSV, 0 },    { DX_FILE_PAGES, 0 },
        { DX_FILE_DATASETS, 0 },    { DX_FILE_PSL, 0 },          { DX_FILE_TAGS, 0 },
    };
    uint64_t total = 0;
    char count[32];

    for (size_t i = 0; i < e->file_count; i++) {
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
            if (ends_in(e->files[i].name, rows[k].name))
                rows[k].bytes += e->files[i].size;
        total += e->files[i].size;
    }
    dx_buf_fmt(out, "domains %s", dx_progress_count(e->domains, count));
    dx_buf_fmt(out, ", datasets %s", dx_progress_count(e->datasets, count));
    dx_buf_fmt(out, ", pairs %s", dx_progress_count(e->pairs, count));
    dx_buf_fmt(out, ", rows %s", dx_progress_count(e->rows, count));
    dx_buf_fmt(out, ", URLs %s", dx_progress_count(e->urls, count));
    dx_buf_fmt(out, ", lake files %s\n", dx_progress_count(e->lake_files, count));
    dx_buf_fmt(out, "  %-24s %14s %10s %10s\n", "file", "bytes", "B/domain", "B/pair");
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (rows[k].bytes > 0) /* tags.dxt may be missing */
            report_row(e, rows[k].name, rows[k].bytes, out);
    report_row(e, "index", total, out);
    dx_buf_fmt(out, "  %-24s %14llu %10.3f B/URL %.3f B/row\n", "lake",
               (unsigned long long)lake_bytes, per(lake_bytes, e->urls), per(lake_bytes, e->rows));
}

void dx_publish_report_held(const struct dx_manifest_version *e, const struct dx_index_stats *s,
                            struct dx_buf *out)
{
    char count[32];

    dx_buf_fmt(out, "held: facts %.3f B/pair and sketches %.3f before compression",
               per(s->facts_bytes, e->pairs), per(s->sketches_bytes, e->pairs));
    dx_buf_fmt(out, "; distinct URLs of %s domains in several datasets, %.3f B each",
               dx_progress_count(s->distinct_domains, count),
               per(s->distinct_bytes, s->distinct_domains));
    dx_buf_fmt(out, ", %s by estimate", dx_progress_count(s->distinct_estimates, count));
    dx_buf_fmt(out, "; places of URLs %s", dx_progress_count(s->url_places, count));
    if (s->tags.tags > 0) {
        dx_buf_fmt(out, "; tags %s", dx_progress_count(s->tags.tags, count));
        dx_buf_fmt(out, " of %s rows", dx_progress_count(s->tags.rows, count));
    }
    dx_buf_str(out, "\n");
}
