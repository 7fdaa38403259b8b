/* SPDX-License-Identifier: Apache-2.0
 * cmd_capacity.c - domaindex capacity: disk, memory and work space of an index that is not there yet.
 */
#include "builder/cli/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "builder/root/progress.h"
#include "format/version/url_ids.h"

#define JSON_MAX ((size_t)1 << 16)
#define MIB (UINT64_C(1) << 20)
#define COUNT_MAX (UINT64_C(1) << 44)

/* What is not given is guessed from domains, by the middle of the builds that bench/model.py compares. */
#define PAIRS_A_DOMAIN 1.14
#define URLS_A_PAIR 1.47

enum { OPT_DOMAINS, OPT_PAIRS, OPT_URLS, OPT_EXTRA, OPT_KEEP, OPT_MEMORY, OPT_JSON, OPT_COUNT };

static const struct dx_option table[OPT_COUNT] = {
    [OPT_DOMAINS] = { "domains", "N", NULL, "registered domains", DX_OPT_NUMBER(1, COUNT_MAX) },
    [OPT_PAIRS] = { "pairs", "N", NULL,
                    "(domain, dataset) pairs: datasets that a domain is in, over all domains; if "
                    "not given, 1.14 a domain",
                    DX_OPT_NUMBER(1, COUNT_MAX) },
    [OPT_URLS] = { "urls", "N", NULL,
                   "URLs, those of a domain in several datasets several times; if not given, 1.47 "
                   "a pair",
                   DX_OPT_NUMBER(1, COUNT_MAX) },
    [OPT_EXTRA] = { "extra-bytes", "N", "0", "bytes of extra columns a row, compressed",
                    DX_OPT_NUMBER(0, 1000000) },
    [OPT_KEEP] = { "keep", "N", "2", "versions that gc keeps", DX_OPT_NUMBER(1, 1000) },
    [OPT_MEMORY] = { "memory", "SIZE", "1G", "memory budget of ingest and publish",
                     DX_OPT_SIZE(MIB, UINT64_C(1) << 46) },
    [OPT_JSON] = DX_OPTION_JSON,
};

/* Bytes of the files of a part, measured: see docs/SCALE.md. */
static const struct {
    const char *name;
    bool mapped;
    double a_domain, a_pair, a_url;
} files[] = {
    { "domains.mphf", true, 4.34, 0, 0 },
    { "domains.dict", true, 8.1, 0, 0 },
    { "domain_to_datasets.roar", true, 0, 2.6, 0 },
    { "domain_counts.dxc", true, 0, 5.06, 0 },
    { "dataset_domains.dxt", true, 0, 1.1, 0 },
    { "postings.dxp", true, 0, 0.126, 0 },
    { "cold.dxp", true, 0, 0, 0.02 }, /* and its ids: bits_of_id */
    { "postings.idx.zst", false, 0, 0.42, 0 },
    { "postings.dat.zst", false, 0, 0, 2.4 },
    { "facts.dat.zst", false, 0, 0.33, 0 },
    { "sketches.dat.zst", false, 0, 7.53, 0 },
    { "url_ids.dat.zst", false, 0, 0, 1.7 },
};
#define FILE_COUNT (sizeof files / sizeof *files)
#define FIXED_BYTES 300000.0 /* suffix list, registry, list of files */
#define LAKE_A_URL 36.3
#define SORT_A_URL 45.0 /* what ingest and publish write where it does not fit into --memory */

struct estimate {
    double domains, pairs, urls;
    double lake, index, mapped, work;
    double of_file[FILE_COUNT];
    uint64_t server; /* memory: mapped twice, caches and what beside them is bounded */
    uint64_t keep, memory;
};

/* Of a list as format/version/url_id_list.h has it: those that the logarithm of `urls` leaves, and two. Between powers of
 * two the logarithm is a line. */
static double bits_of_id(double urls)
{
    unsigned whole = dx_bits_of_number((uint64_t)urls | 1) - 1;
    double left = DX_URL_ID_KEPT + 1 - (double)whole - urls / (double)(UINT64_C(1) << whole);

    return 1.9 + (left > 0 ? left : 0);
}

static void compute(struct estimate *e, uint64_t extra)
{
    e->index = FIXED_BYTES;
    for (size_t i = 0; i < FILE_COUNT; i++) {
        e->of_file[i] = files[i].a_domain * e->domains + files[i].a_pair * e->pairs +
                        files[i].a_url * e->urls;
        if (strcmp(files[i].name, "cold.dxp") == 0)
            e->of_file[i] += e->urls * bits_of_id(e->urls) / 8;
        e->index += e->of_file[i];
        e->mapped += files[i].mapped ? e->of_file[i] : 0;
    }
    e->lake = (LAKE_A_URL + (double)extra) * e->urls;
    e->work = SORT_A_URL * e->urls > (double)e->memory ? SORT_A_URL * e->urls : 0;
    /* docs/OPERATIONS.md: caches, --read-memory, --reply-memory, and 64 MiB. */
    e->server = (uint64_t)(2 * e->mapped) + (4 * 64 + 256 + 512 + 256 + 64) * MIB;
}

static void write_json(const struct estimate *e, struct dx_json *j)
{
    dx_json_key_u64(j, "domains", (uint64_t)e->domains);
    dx_json_key_u64(j, "pairs", (uint64_t)e->pairs);
    dx_json_key_u64(j, "urls", (uint64_t)e->urls);
    dx_json_key_u64(j, "lake_bytes", (uint64_t)e->lake);
    dx_json_key_u64(j, "index_bytes", (uint64_t)e->index);
    dx_json_key_u64(j, "mapped_bytes", (uint64_t)e->mapped);
    dx_json_key_u64(j, "disk_bytes", (uint64_t)(e->lake + (double)e->keep * e->index));
    dx_json_key_u64(j, "work_bytes", (uint64_t)e->work);
    dx_json_key_u64(j, "server_memory_bytes", e->server);
    dx_json_key(j, "files");
    dx_json_object(j);
    for (size_t i = 0; i < FILE_COUNT; i++)
        dx_json_key_u64(j, files[i].name, (uint64_t)e->of_file[i]);
    dx_json_end(j);
}

static void line(struct dx_buf *out, const char *what, double bytes, const char *why)
{
    char size[32];

    dx_buf_fmt(out, "%-26s %12s  %s\n", what, dx_progress_size((uint64_t)bytes, size), why);
}

static void write_text(const struct estimate *e, struct dx_buf *out)
{
    char text[64];

    dx_buf_fmt(out, "domains %.0f, pairs %.0f, URLs %.0f\n", e->domains, e->pairs, e->urls);
    line(out, "lake", e->lake, "Parquet files");
    line(out, "index", e->index, "a version in one part");
    line(out, "  mapped of it", e->mapped, "each server has it in memory, twice during a flip");
    (void)snprintf(text, sizeof text, "lake, and the index of %" PRIu64 " versions", e->keep);
    line(out, "disk or store", e->lake + (double)e->keep * e->index, text);
    line(out, "work space", e->work,
         e->work > 0 ? "files that ingest, or a publish of all, sorts in beyond --memory"
                     : "all of it is sorted within --memory");
    line(out, "memory of ingest, publish", (double)e->memory, "--memory");
    line(out, "memory of a server", (double)e->server,
         "mapped twice, caches, --read-memory, --reply-memory, 64 MiB");
}

/* DX_E_INVALID with a message where numbers contradict each other. */
static int read_numbers(const struct dx_options *options, struct estimate *e, struct dx_error *err)
{
    uint64_t domains = 0;
    uint64_t pairs = 0;
    uint64_t urls = 0;
    uint64_t extra = 0;
    int rc = dx_options_value(options, OPT_DOMAINS, &domains, err);

    if (rc == DX_OK && domains == 0)
        rc = dx_fail(err, DX_E_INVALID, "--domains N is needed");
    if (rc == DX_OK)
        rc = dx_options_value(options, OPT_PAIRS, &pairs, err);
    if (rc == DX_OK)
        rc = dx_options_value(options, OPT_URLS, &urls, err);
    if (rc == DX_OK)
        rc = dx_options_value(options, OPT_EXTRA, &extra, err);
    if (rc == DX_OK)
        rc = dx_options_value(options, OPT_KEEP, &e->keep, err);
    if (rc == DX_OK)
        rc = dx_options_value(options, OPT_MEMORY, &e->memory, err);
    if (rc != DX_OK)
        return rc;
    e->domains = (double)domains;
    e->pairs = pairs > 0 ? (double)pairs : PAIRS_A_DOMAIN * e->domains;
    e->urls = urls > 0 ? (double)urls : URLS_A_PAIR * e->pairs;
    if (e->pairs < e->domains)
        return dx_fail(err, DX_E_INVALID, "--pairs: each domain is in a dataset at least");
    if (e->urls < e->pairs)
        return dx_fail(err, DX_E_INVALID, "--urls: each pair has a URL at least");
    compute(e, extra);
    return DX_OK;
}

static int run_capacity(const struct dx_options *options)
{
    struct estimate e = { .domains = 0 };
    struct dx_buf out = DX_BUF_INIT(JSON_MAX);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_json j;
    int rc = dx_options_operands(options, 0, &err);

    if (rc == DX_OK)
        rc = read_numbers(options, &e, &err);
    if (rc != DX_OK)
        return dx_command_fail("capacity", DX_EXIT_USAGE, &err);
    if (!dx_options_has(options, OPT_JSON)) {
        write_text(&e, &out);
        return dx_command_print("capacity", DX_EXIT_DONE, &out);
    }
    dx_command_json_open(&j, &out);
    write_json(&e, &j);
    return dx_command_json_print("capacity", DX_EXIT_DONE, &j, &out);
}

const struct dx_command dx_command_capacity = {
    .name = "capacity",
    .synopsis = "--domains N [--pairs N] [--urls N] [--extra-bytes N] [--keep N] [--memory SIZE] "
                "[--json]",
    .summary = "estimate disk and memory before there is an index",
    .description =
        "Prints how large lake and index would be, what of it each server maps, and the memory and "
        "work space that building it takes. The bytes a domain, pair and URL are measured ones of "
        "URLs of some 40 letters; docs/SCALE.md says how far real builds are from them. "
        "'domaindex publish' prints the measured ones of your own data.",
    .example = "domaindex capacity --domains 100000000 --pairs 300000000 --urls 3000000000",
    .options = table,
    .option_count = OPT_COUNT,
    .run = run_capacity,
};
