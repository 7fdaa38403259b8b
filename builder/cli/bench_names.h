/* SPDX-License-Identifier: Apache-2.0
 * bench_names.h - what `domaindex bench` asks: request targets from names of a file or of the server itself.
 *
 *   struct dx_bench_names n = { .pattern = "/index/v1/domain/{}", .max = 10000, .seed = 1 };
 *   rc = dx_bench_names_read(&n, "names.txt", &err);                     or
 *   rc = dx_bench_names_fetch(&n, "http://127.0.0.1:8080/index", &err);
 *   n.lines, n.count                                                     a target a line, n.max at most
 *   dx_bench_names_release(&n);
 *
 * Each {} of the pattern is the name, percent-encoded. A file has a name a line, up to a tab; the first is the most
 * popular one. Names of the server are its first n.max by GET /v1/domains, in an order of chance that the seed repeats,
 * so that popular ones are not neighbours in the index. One thread.
 */
#ifndef DX_BUILDER_CLI_BENCH_NAMES_H
#define DX_BUILDER_CLI_BENCH_NAMES_H

#include "base/buf.h"

struct dx_bench_names {
    const char *pattern;               /* begins with a slash */
    const char *token;                 /* that the server is asked with, or NULL */
    const char *ca_file, *unix_socket; /* as http_call.h has them */
    bool insecure;
    uint64_t max;
    uint64_t seed;
    struct dx_buf lines;
    uint64_t count;
};

/* The first line of a file into `token`, without what ends it: visible characters of ASCII. */
#define DX_BENCH_TOKEN 1024
int dx_bench_token_read(const char *path, char token[DX_BENCH_TOKEN], struct dx_error *err);

int dx_bench_names_read(struct dx_bench_names *n, const char *path, struct dx_error *err);
int dx_bench_names_fetch(struct dx_bench_names *n, const char *url, struct dx_error *err);
void dx_bench_names_release(struct dx_bench_names *n);

#endif
