/* SPDX-License-Identifier: Apache-2.0
 * bench_records - the records and the questions of bench/stores.py.
 *
 *   bench_records FOLDER COUNT         so many made-up names, in no order
 *   bench_records FOLDER --root ROOT   the domains of a published version, with what it says of them
 *
 * Writes FOLDER/records (records.h), FOLDER/hits and FOLDER/misses: names one a line, drawn evenly,
 * of those that are there and of strangers made by bench/names.h.
 *
 * A made-up name is in k datasets with probability ~ k^-2.4 (2.3 on average), which are drawn from
 * 1,000 by Zipf's law; URLs of a pair have a Pareto tail; times are seconds of ten years.
 */
#include "bench/names.h"
#include "bench/peers/records.h"
#include "loader/version.h"
#include "loader/version_walk.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUESTIONS (1u << 19)
#define DATASETS 1000
#define STRANGERS (UINT64_C(1) << 27) /* no dataset has names from here on */
#define SECONDS_BASE INT64_C(1420070400)
#define SECONDS_SPAN 315000000u

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* In (0, 1). */
static double unit(uint64_t *state)
{
    *state = mix(*state);
    return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static void make_pairs(uint64_t i, struct pairs *p)
{
    uint64_t state = mix(i ^ UINT64_C(0x5DEECE66D));
    size_t want = (size_t)fmin(200, pow(unit(&state), -1 / 1.4));
    size_t n = 0;

    for (size_t k = 0; k < want; k++)
        p->ids[k] = (uint32_t)exp(unit(&state) * log(DATASETS));
    qsort(p->ids, want, sizeof p->ids[0], compare_ids);
    for (size_t k = 0; k < want; k++) {
        if (n == 0 || p->ids[n - 1] != p->ids[k])
            p->ids[n++] = p->ids[k];
    }
    p->count = n;
    for (size_t k = 0; k < n; k++) {
        struct dx_pair_count *c = &p->counts[k];
        double span = unit(&state);

        c->url_count = (uint64_t)fmin(1e6, pow(unit(&state), -1 / 1.1));
        c->row_count = c->url_count + (uint64_t)((double)c->url_count * 0.1 * span);
        c->has_ts = true;
        c->first_us = (SECONDS_BASE + (int64_t)(unit(&state) * SECONDS_SPAN / 2)) * 1000000;
        c->last_us = c->first_us +
                     (c->row_count == 1 ? 0 : (int64_t)(span * SECONDS_SPAN / 2) * 1000000);
    }
}

static void make_records(struct records_head *head, uint64_t count, struct dx_buf *body)
{
    static struct pairs p;
    char name[NAME_ROOM];

    *head = (struct records_head){ count, 0, SECONDS_BASE * 1000000, 1000000 };
    for (uint64_t i = 0; i < count; i++) {
        size_t size = make_name(i, name);

        make_pairs(i, &p);
        head->pairs += p.count;
        record_append(body, head, dx_span_of(name, size), &p);
    }
}

static void copy_pairs(const struct dx_domain_pairs *from, struct pairs *to)
{
    if (from->count > PAIRS_MAX)
        stop("bench_records", "a domain has more datasets than there is room for");
    to->count = from->count;
    memcpy(to->ids, from->ids, from->count * sizeof to->ids[0]);
    memcpy(to->counts, from->counts, from->count * sizeof to->counts[0]);
}

static int walk(struct dx_version *v, struct records_head *head, struct dx_buf *body,
                struct dx_error *err)
{
    static struct pairs p;
    struct dx_version_walk w;
    int rc;

    *head = (struct records_head){ 0, 0, dx_version_own(v)->counts.totals.ts_base,
                                   dx_version_own(v)->counts.totals.ts_unit };
    dx_version_walk_begin(&w, v, 0);
    while ((rc = dx_version_walk_next(&w, err)) == 1) {
        uint8_t domain[DX_SURT_MAX];
        size_t size = dx_surt_domain(w.key, domain);

        rc = dx_version_walk_pairs(&w, err);
        if (rc < 0)
            break;
        copy_pairs(&w.pairs, &p);
        head->count++;
        head->pairs += p.count;
        record_append(body, head, dx_span_of(domain, size), &p);
    }
    dx_version_walk_end(&w);
    return rc;
}

static void read_root(struct records_head *head, const char *root, struct dx_buf *body)
{
    struct dx_version_options o = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_caches *caches = NULL;
    struct dx_version *v = NULL;

    if (dx_caches_new(&caches, &o, &err) < 0 ||
        dx_version_open_named(&v, root, NULL, caches, &o, &err) < 0 ||
        walk(v, head, body, &err) < 0)
        stop("bench_records", err.text);
    dx_version_unpin(v);
    dx_caches_free(&caches);
}

static FILE *begin(const char *folder, const char *name, char path[4096])
{
    FILE *out;

    (void)snprintf(path, 4096, "%s/%s", folder, name);
    out = fopen(path, "wb");
    if (out == NULL)
        stop(path, "cannot be written");
    return out;
}

static void write_questions(const char *folder, const struct records *r)
{
    char path[4096];
    char name[NAME_ROOM];
    FILE *hits = begin(folder, "hits", path);
    FILE *misses = begin(folder, "misses", path);

    for (uint64_t i = 0; i < QUESTIONS; i++) {
        struct dx_span key;
        struct dx_span value;

        record_at(r, mix(i + 12345) % r->head.count, &key, &value);
        (void)fprintf(hits, "%.*s\n", (int)key.size, (const char *)key.data);
        (void)make_name(STRANGERS + mix(i + 54321) % STRANGERS, name);
        (void)fprintf(misses, "%s\n", name);
    }
    if (fclose(hits) != 0 || fclose(misses) != 0)
        stop(folder, "cannot be written");
}

int main(int argc, char **argv)
{
    struct dx_buf body = DX_BUF_INIT(SIZE_MAX / 2);
    struct records_head head;
    struct records r;
    char path[4096];

    if (argc == 4 && strcmp(argv[2], "--root") == 0) {
        read_root(&head, argv[3], &body);
    } else if (argc == 3 && strtoull(argv[2], NULL, 10) > 0 &&
               strtoull(argv[2], NULL, 10) <= STRANGERS) {
        make_records(&head, strtoull(argv[2], NULL, 10), &body);
    } else {
        (void)fprintf(stderr, "usage: bench_records FOLDER COUNT | FOLDER --root ROOT\n");
        return 2;
    }
    (void)snprintf(path, sizeof path, "%s/records", argv[1]);
    records_write(path, &head, &body);
    dx_buf_release(&body);
    records_open(&r, path, true);
    write_questions(argv[1], &r);
    (void)printf("{\"count\": %llu, \"pairs\": %llu, \"bytes\": %zu}\n",
                 (unsigned long long)head.count, (unsigned long long)head.pairs, r.map.bytes.size);
    records_close(&r);
    return 0;
}
