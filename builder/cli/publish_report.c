/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/cli/publish_report.h"

#include <stdio.h>
#include <string.h>

#include "base/command/process.h"
#include "base/json_out.h"
#include "base/log.h"
#include "builder/publish/publish.h"
#include "builder/root/progress.h"

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
               per(bytes, e->part.domains), per(bytes, e->part.pairs));
}

void dx_publish_report(const struct dx_manifest_version *e, uint64_t lake_bytes, struct dx_buf *out)
{
    struct row rows[] = {
        { DX_FILE_DOMAINS_DICT, 0 },
        { DX_FILE_DOMAINS_MPHF, 0 },
        { DX_FILE_MEMBERSHIP, 0 },
        { DX_FILE_COUNTS, 0 },
        { DX_FILE_DATASET_DOMAINS, 0 },
        { "postings.idx.zst", 0 },
        { "postings.dat.zst", 0 },
        { DX_FILE_POSTINGS_DIR, 0 },
        { DX_FILE_FACTS, 0 },
        { DX_FILE_SKETCHES, 0 },
        { DX_FILE_URL_IDS, 0 },
        { DX_FILE_COLD, 0 },
        { DX_FILE_FILES_TSV, 0 },
        { DX_FILE_PAGES, 0 },
        { DX_FILE_DATASETS, 0 },
        { DX_FILE_PSL, 0 },
        { DX_FILE_TAGS, 0 },
        { DX_FILE_DEAD, 0 },
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
    dx_buf_fmt(out, ", rows %s", dx_progress_count(e->rows - e->pages, count));
    dx_buf_fmt(out, ", URLs %s", dx_progress_count(e->urls - e->pages, count));
    if (e->pages > 0)
        dx_buf_fmt(out, ", pages of datasets of counts %s", dx_progress_count(e->pages, count));
    dx_buf_fmt(out, ", lake files %s\n", dx_progress_count(e->lake_files, count));
    if (e->part_count > 0) {
        dx_buf_fmt(out, "parts %zu; of the new one: domains %s", e->part_count + 1,
                   dx_progress_count(e->part.domains, count));
        dx_buf_fmt(out, ", pairs %s\n", dx_progress_count(e->part.pairs, count));
    }
    dx_buf_fmt(out, "  %-24s %14s %10s %10s\n", "file", "bytes", "B/domain", "B/pair");
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (rows[k].bytes > 0) /* tags.dxt may be missing */
            report_row(e, rows[k].name, rows[k].bytes, out);
    report_row(e, "index", total, out);
    dx_buf_fmt(out, "  %-24s %14llu %10.3f B/URL %.3f B/row\n", "lake",
               (unsigned long long)lake_bytes, per(lake_bytes, e->urls - e->pages),
               per(lake_bytes, e->rows - e->pages));
}

void dx_publish_report_held(const struct dx_manifest_version *e, const struct dx_index_stats *s,
                            struct dx_buf *out)
{
    char count[32];

    dx_buf_fmt(out, "held: facts %.3f B/pair and sketches %.3f before compression",
               per(s->facts_bytes, e->part.pairs), per(s->sketches_bytes, e->part.pairs));
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

static void report_files(const char *command, const char *what, const struct dx_left_out *files)
{
    const char *at = (const char *)files->text.data;
    const char *end = files->text.size == 0 ? at : at + files->text.size;

    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));

        (void)dx_line_print(stderr, "%s: %s: %.*s", command, what, (int)(stop - at), at);
        at = stop + 1;
    }
}

void dx_publish_report_damaged(const char *command, const struct dx_left_out *damaged)
{
    report_files(command, "damaged", damaged);
    if (damaged->count > 0)
        (void)dx_line_print(
            stderr,
            "%s: %llu file%s of the lake damaged, missing or not to be rewritten; their datasets "
            "stay as they are, with "
            "their suppressed rows. Restore what is named, or take the datasets out ('domaindex "
            "remove', 'domaindex "
            "ingest --replace'), then compact again; 'domaindex verify --deep' finds others",
            command, (unsigned long long)damaged->count, dx_plural(damaged->count));
}

void dx_publish_report_left_out(const char *command, const struct dx_left_out *left)
{
    report_files(command, "left out", left);
    if (left->count > 0)
        (void)dx_line_print(
            stderr,
            "%s: %llu file%s of the lake left out of the version, which has all others; correct or "
            "remove what is named, then publish again",
            command, (unsigned long long)left->count, dx_plural(left->count));
}

void dx_publish_report_rows_twice(const char *command, const struct dx_publish_result *r)
{
    if (r->rows_twice > 0)
        (void)dx_line_print(
            stderr,
            "%s: %llu row%s twice, the first of %s: files came together that ingest "
            "could not compare (missing files that are back, or a rollback during an "
            "ingest); 'domaindex compact' leaves the second one out",
            command, (unsigned long long)r->rows_twice, dx_plural(r->rows_twice), r->twice);
}

void dx_publish_report_rows_left_out(const char *command, const struct dx_publish_result *r)
{
    if (r->rows_left_out == 0)
        return;
    (void)dx_line_print(
        stderr, "%s: rows of foreign lake files left out: %llu, of which read now: %llu", command,
        (unsigned long long)r->rows_left_out, (unsigned long long)r->rows_left_out_now);
    if (r->rows_left_out_now > 0)
        (void)dx_line_print(stderr, "%s: first row left out: %s", command, r->first_left_out);
}

static void json_files(const struct dx_left_out *files, struct dx_json *j)
{
    struct dx_span rest = dx_span_of(files->text.data, files->text.size);

    dx_json_array(j);
    while (rest.size > 0) {
        const uint8_t *stop = memchr(rest.data, '\n', rest.size);
        size_t size = (size_t)(stop - rest.data);

        dx_json_text(j, dx_span_of(rest.data, size));
        rest = dx_span_of(stop + 1, rest.size - size - 1);
    }
    dx_json_end(j);
}

void dx_publish_report_json_left_out(const struct dx_left_out *left, struct dx_json *j)
{
    dx_json_key_u64(j, "files_left_out", left->count);
    dx_json_key(j, "left_out");
    json_files(left, j);
}

void dx_publish_report_json_damaged(const struct dx_left_out *damaged, struct dx_json *j)
{
    dx_json_key_u64(j, "files_damaged", damaged->count);
    dx_json_key(j, "damaged");
    json_files(damaged, j);
}

/* What the version has; its files below index/ are those of its own part. */
static void json_version(const struct dx_manifest_version *e, struct dx_json *j)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < e->file_count; i++)
        bytes += e->files[i].size;
    dx_json_key_u64(j, "domains", e->domains);
    dx_json_key_u64(j, "datasets", e->datasets);
    dx_json_key_u64(j, "pairs", e->pairs);
    dx_json_key_u64(j, "rows", e->rows - e->pages);
    dx_json_key_u64(j, "urls", e->urls - e->pages);
    if (e->pages > 0)
        dx_json_key_u64(j, "page_count", e->pages);
    dx_json_key_u64(j, "lake_files", e->lake_files);
    dx_json_key_u64(j, "parts", e->part_count + 1);
    dx_json_key_u64(j, "index_bytes", bytes);
}

static double sum(const double *seconds)
{
    double all = 0;

    for (int i = 0; i < DX_PUBLISH_PHASES; i++)
        all += seconds[i];
    return all;
}

void dx_publish_report_json(const struct dx_publish_result *r, struct dx_json *j)
{
    const struct dx_manifest_version *entry = dx_manifest_find(&r->manifest, r->version);

    dx_json_key(j, "version");
    dx_json_str(j, r->version);
    dx_json_key(j, "unchanged");
    dx_json_bool(j, r->unchanged);
    dx_json_key(j, "incremental");
    dx_json_bool(j, r->incremental);
    dx_json_key(j, "complete");
    dx_json_bool(j, r->left_out.count == 0 && r->damaged.count == 0 && r->rows_twice == 0);
    if (entry != NULL)
        json_version(entry, j);
    dx_json_key_u64(j, "files_scanned", r->files_scanned);
    dx_json_key_u64(j, "rows_scanned", r->rows_scanned);
    dx_json_key_u64(j, "files_missing", r->files_missing);
    dx_json_key_u64(j, "rows_left_out", r->rows_left_out);
    dx_json_key_u64(j, "rows_twice", r->rows_twice);
    dx_json_key_u64(j, "lake_bytes", r->lake_bytes);
    dx_publish_report_json_left_out(&r->left_out, j);
    dx_json_key(j, "seconds");
    dx_json_double(j, sum(r->seconds));
    dx_json_key(j, "cpu_seconds");
    dx_json_double(j, sum(r->cpu_s));
    dx_json_key_u64(j, "peak_memory_bytes", dx_process_peak());
}
