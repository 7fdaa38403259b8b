/* SPDX-License-Identifier: Apache-2.0
 * An ingest while memory runs out: it fails as a whole, no record is rejected for it, and the next
 * one has all rows.
 */
#include "builder/ingest/ingest.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "tests/runner/fail_alloc.h"

struct folder {
    char dir[40];
    char input[60];
    char psl[60];
    unsigned runs;
};

static int ingest(void *ctx, struct dx_error *err)
{
    struct folder *f = ctx;
    const char *input = f->input;
    struct dx_ingest_stats stats;
    char root[80];
    struct dx_ingest_options o = { .root = root,
                                   .dataset = "d",
                                   .format = DX_RECORD_CSV,
                                   .psl_path = f->psl,
                                   .memory_bytes = DX_INGEST_MEMORY_MIN,
                                   .threads = 1,
                                   .input = &input,
                                   .input_count = 1 };
    int rc;

    (void)snprintf(root, sizeof root, "%s/root%u", f->dir, f->runs++);
    rc = dx_ingest_run(&o, &stats, err);
    if (rc == DX_OK && stats.accepted != 100)
        rc = dx_fail(err, DX_E_CORRUPT, "%llu records of 100", (unsigned long long)stats.accepted);
    free(stats.rejects_path);
    return rc;
}

int main(void)
{
    struct folder f = { .dir = "/tmp/test_ingest_no_memory.XXXXXX" };
    struct dx_error err = DX_ERROR_INIT;
    size_t failures;
    FILE *out;

    if (mkdtemp(f.dir) == NULL)
        abort();
    (void)snprintf(f.input, sizeof f.input, "%s/a.csv", f.dir);
    (void)snprintf(f.psl, sizeof f.psl, "%s/psl.dat", f.dir);
    out = fopen(f.psl, "w");
    if (out == NULL || fputs("org\n", out) < 0 || fclose(out) != 0)
        abort();
    out = fopen(f.input, "w");
    if (out == NULL || fputs("url,date\n", out) < 0)
        abort();
    for (unsigned i = 0; i < 100; i++)
        (void)fprintf(out, "\"https://www.a%u.org/\"\"%u\",2024-01-02\n", i % 7, i);
    if (fclose(out) != 0)
        abort();
    failures = fail_alloc_each("ingest", FAIL_ALLOC_GOES_ON | 150, ingest, &f);
    (void)dx_dir_remove(f.dir, &err);
    return failures > 0;
}
