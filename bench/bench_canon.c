/* SPDX-License-Identifier: Apache-2.0
 * bench_canon - ns a URL, by stage, over a file of URLs.
 *
 *   bench_canon FILE [column [psl]]      FILE: lines; column: of tab-separated ones, from 1
 *
 * Stages by themselves: the host of each canonical URL (canon/host), its domain by the suffix list
 * without the cache of hosts, its path and query again (they are canonical, so this is the common
 * way through them), ids; and all of it: dx_canon_url of the raw line, dx_canon_domain. CPU times,
 * the best of five passes over all lines; the sum is the same for two programs that agree.
 */
#include "base/buf.h"
#include "base/file.h"
#include "canon/host.h"
#include "canon/ids.h"
#include "canon/path_query.h"
#include "canon/psl.h"
#include "canon/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PASSES 5
#define FILE_MAX ((size_t)1 << 30)

struct line {
    struct dx_span raw;
    struct dx_span host;       /* of the canonical URL */
    struct dx_span path_query; /* the same */
};

struct bench {
    struct line *line;
    size_t count;
    struct dx_canon *canon;
    struct dx_psl *psl;
    struct dx_query_work *query;
    uint64_t sum;
};

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void time_url(struct bench *b, const struct line *l)
{
    struct dx_url url;
    enum dx_reject why;

    if (dx_canon_url(b->canon, l->raw, &url, &why) == 1)
        b->sum += url.url.size + url.domain.size;
}

static void time_domain(struct bench *b, const struct line *l)
{
    struct dx_span domain;
    enum dx_reject why;

    if (dx_canon_domain(b->canon, l->raw, &domain, &why) == 1)
        b->sum += domain.size;
}

static void time_host(struct bench *b, const struct line *l)
{
    static uint8_t out[DX_HOST_ROOM];
    struct dx_host host;
    enum dx_reject why;

    if (dx_host_parse(l->host, out, sizeof out, &host, &why))
        b->sum += host.text.size;
}

static void time_suffix(struct bench *b, const struct line *l)
{
    struct dx_span domain;

    if (dx_psl_domain(b->psl, l->host, &domain) == 1)
        b->sum += domain.size;
}

static void time_path(struct bench *b, const struct line *l)
{
    static uint8_t out[3 * DX_URL_MAX + 64];
    struct dx_span rest = l->path_query;
    uint8_t *end = dx_path_write(out, &rest);

    end = dx_query_write(b->query, end, &rest);
    b->sum += (uint64_t)(end - out);
}

static void time_ids(struct bench *b, const struct line *l)
{
    b->sum += dx_url_id(l->path_query) & 1;
    b->sum += dx_domain_id(l->host) & 1;
}

static void run(struct bench *b, const char *name,
                void (*stage)(struct bench *, const struct line *))
{
    double best = 1e300;

    for (int pass = 0; pass < PASSES; pass++) {
        double begin = now();

        b->sum = 0;
        for (size_t i = 0; i < b->count; i++)
            stage(b, &b->line[i]);
        best = now() - begin < best ? now() - begin : best;
    }
    printf("%-34s %8.1f ns   sum %llu\n", name, best / (double)b->count,
           (unsigned long long)b->sum);
}

static struct dx_span field_of(struct dx_span line, unsigned column)
{
    for (; column > 1; column--) {
        const uint8_t *tab = memchr(line.data, '\t', line.size);

        if (tab == NULL)
            return dx_span_of(line.data, 0);
        line.size -= (size_t)(tab + 1 - line.data);
        line.data = tab + 1;
    }
    if (memchr(line.data, '\t', line.size) != NULL)
        line.size = (size_t)((const uint8_t *)memchr(line.data, '\t', line.size) - line.data);
    return line;
}

/* Keeps the lines that have a canonical URL. */
static bool take(struct bench *b, struct dx_span raw, struct dx_buf *kept)
{
    struct dx_url url;
    enum dx_reject why;
    uint8_t *at;

    if (raw.size == 0 || dx_canon_url(b->canon, raw, &url, &why) != 1)
        return true;
    at = kept->data + kept->size; /* room for all was reserved: it does not move */
    if (kept->size + url.hostname.size + url.path_query.size > kept->capacity)
        return false;
    dx_buf_append(kept, url.hostname.data, url.hostname.size);
    dx_buf_append(kept, url.path_query.data, url.path_query.size);
    b->line[b->count++] = (struct line){ raw, dx_span_of(at, url.hostname.size),
                                         dx_span_of(at + url.hostname.size, url.path_query.size) };
    return true;
}

static bool cut(struct bench *b, struct dx_span text, unsigned column, struct dx_buf *kept)
{
    size_t lines = 1;

    for (size_t i = 0; i < text.size; i++)
        lines += text.data[i] == '\n';
    b->line = calloc(lines, sizeof *b->line);
    if (b->line == NULL || dx_buf_reserve(kept, text.size * 2 + 4096) == NULL)
        return false;
    while (text.size > 0) {
        const uint8_t *end = memchr(text.data, '\n', text.size);
        size_t n = end == NULL ? text.size : (size_t)(end - text.data);

        if (!take(b, field_of(dx_span_of(text.data, n), column), kept))
            return false;
        n += end != NULL;
        text = dx_span_from(text, n);
    }
    return true;
}

int main(int argc, char **argv)
{
    const char *list = argc > 3 ? argv[3] : "/usr/share/publicsuffix/public_suffix_list.dat";
    struct dx_buf text = DX_BUF_INIT(FILE_MAX);
    struct dx_buf kept = DX_BUF_INIT(4 * FILE_MAX);
    struct dx_buf psl = DX_BUF_INIT(64u << 20);
    struct dx_error err = DX_ERROR_INIT;
    struct bench b = { .count = 0 };

    if (argc < 2) {
        (void)fprintf(stderr, "bench_canon FILE [column [psl]]\n");
        return 2;
    }
    b.query = calloc(1, sizeof *b.query);
    if (b.query == NULL || dx_file_read(argv[1], FILE_MAX, &text, &err) < 0 ||
        dx_file_read(list, psl.max, &psl, &err) < 0 ||
        dx_psl_new(&b.psl, dx_span_of(psl.data, psl.size), &err) < 0 ||
        dx_canon_new(&b.canon, b.psl, &err) < 0 ||
        !cut(&b, dx_span_of(text.data, text.size), argc > 2 ? (unsigned)atoi(argv[2]) : 1, &kept)) {
        (void)fprintf(stderr, "bench_canon: %s\n", err.text);
        return 1;
    }
    printf("%zu URLs, CPU ns each\n", b.count);
    run(&b, "all: dx_canon_url", time_url);
    run(&b, "all: dx_canon_domain", time_domain);
    run(&b, "host", time_host);
    run(&b, "domain, without the cache of hosts", time_suffix);
    run(&b, "path and query", time_path);
    run(&b, "ids", time_ids);
    free(b.line);
    free(b.query);
    dx_canon_free(&b.canon);
    dx_psl_free(&b.psl);
    dx_buf_release(&text);
    dx_buf_release(&kept);
    dx_buf_release(&psl);
    return 0;
}
