/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/command.h"
#include "builder/progress.h"
#include "builder/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MEMORY_MIN (64u << 20)

enum { OPT_ROOT, OPT_VERSION, OPT_DEEP, OPT_MEMORY, OPT_THREADS, OPT_COUNT };

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL, "where the lake and the index live" },
    [OPT_VERSION] = { "version", "VERSION", NULL, "check this version, not the current one" },
    [OPT_DEEP] = { "deep", NULL, NULL,
                   "read the lake too, make all answers anew and compare them with the index" },
    [OPT_MEMORY] = { "memory", "SIZE", "1G", "memory budget of --deep" },
    [OPT_THREADS] = { "threads", "N", "2", "threads that read the lake" },
};

static void print_found(void *ctx, const char *text)
{
    struct dx_progress *p = ctx;

    dx_progress_end(p);
    printf("damage: %s\n", text);
}

static void print_phase(void *ctx, const char *name)
{
    struct dx_progress *p = ctx;

    dx_progress_end(p);
    dx_progress_phase(p, name, "", 0);
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "%s\n", name);
}

static int run(const struct dx_options *o)
{
    struct dx_progress progress;
    struct dx_verify_result result;
    struct dx_error err = DX_ERROR_INIT;
    const char *tmp = getenv("TMPDIR");
    uint64_t memory = 0;
    uint64_t threads = 0;
    int rc = dx_options_size(o, OPT_MEMORY, MEMORY_MIN, UINT64_MAX / 4, &memory, &err);

    if (rc == DX_OK)
        rc = dx_options_number(o, OPT_THREADS, 1, 256, &threads, &err);
    if (rc == DX_OK && dx_options_text(o, OPT_ROOT) == NULL)
        rc = dx_fail(&err, DX_E_INVALID, "--root is missing");
    if (rc == DX_OK && o->operand_count > 0)
        rc = dx_fail(&err, DX_E_INVALID, "'%s': no operands are taken", o->operand[0]);
    if (rc < 0) {
        fprintf(stderr, "domaindex verify: %s\n", err.text);
        return DX_EXIT_USAGE;
    }
    dx_progress_init(&progress, STDERR_FILENO);
    rc = dx_verify(&(struct dx_verify_options){ .root = dx_options_text(o, OPT_ROOT),
                                                .version = dx_options_text(o, OPT_VERSION),
                                                .deep = dx_options_has(o, OPT_DEEP),
                                                .tmp_dir = tmp == NULL ? "/tmp" : tmp,
                                                .memory = (size_t)memory,
                                                .threads = (unsigned)threads,
                                                .found = print_found,
                                                .phase = print_phase,
                                                .ctx = &progress },
                   &result, &err);
    dx_progress_end(&progress);
    if (rc < 0) {
        fprintf(stderr, "domaindex verify: %s\n", err.text);
        return DX_EXIT_REFUSED;
    }
    if (result.damages > 0) {
        printf("%s%s: %llu damages\n", result.version[0] == '\0' ? "manifest" : "version ",
               result.version, (unsigned long long)result.damages);
        return DX_EXIT_DAMAGED;
    }
    printf("version %s: sound. %llu files, %llu bytes; %llu domains, %llu pairs, %llu rows in %llu "
           "lake files%s\n",
           result.version, (unsigned long long)result.files, (unsigned long long)result.bytes,
           (unsigned long long)result.domains, (unsigned long long)result.pairs,
           (unsigned long long)result.rows, (unsigned long long)result.lake_files,
           dx_options_has(o, OPT_DEEP) ? ", each row read and counted anew" : "");
    return DX_EXIT_DONE;
}

const struct dx_command dx_command_verify = {
    .name = "verify",
    .synopsis = "--root ROOT [--version VERSION] [--deep]",
    .summary = "reads every byte of a version and says what contradicts what",
    .description =
        "Checks sizes, hashes and block checksums of all files of the version, their structure, "
        "and "
        "every fact that two files both tell: names, sets, counts, postings, page places, totals. "
        "With --deep it also reads all rows of the lake, makes every count and posting anew and "
        "compares. Each damage is one line; the exit code is 0 when all is sound, 3 when damage "
        "was "
        "found, 1 when the check could not be made. Temporary files go to TMPDIR.",
    .example = "domaindex verify --root ./quickstart-root --deep",
    .options = options_table,
    .option_count = OPT_COUNT,
    .run = run,
};
