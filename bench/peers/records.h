/* SPDX-License-Identifier: Apache-2.0
 * records.h - what each store of the comparison is given: names, each with its datasets, counts
 * and times, and the questions.
 *
 *   records_write(path, &head, buf);               head, then records made by record_append
 *   records_open(&r, path, true);                  true: also where each record begins
 *   record_at(&r, i, &key, &value);                borrowed from the mapping
 *   n = value_decode(value, &r.head, pairs);       the datasets of a value, into room for PAIRS_MAX
 *   names_open(&n, path);                          a text of one name a line, as spans
 *
 * A record is a byte and the name, two bytes and the value; the value is varints: number of
 * datasets, and of each the step from the dataset before, URLs, rows beyond those, 0 or 1 + first
 * time and the last one's distance from it, in units from a base which the head has for all. Files
 * are made by bench_records on this machine and believed; what cannot be done ends the program.
 */
#ifndef DX_BENCH_PEERS_RECORDS_H
#define DX_BENCH_PEERS_RECORDS_H

#include "base/buf.h"
#include "base/map.h"
#include "format/core/counts.h"

#define PAIRS_MAX 4096 /* datasets of one name */
#define RECORDS_HEAD_SIZE 40

struct records_head {
    uint64_t count;
    uint64_t pairs;
    int64_t base_us;
    uint64_t unit_us;
};

struct records {
    struct records_head head;
    struct dx_map map;
    uint64_t *offsets; /* NULL: not asked for */
};

struct pairs {
    size_t count;
    uint32_t ids[PAIRS_MAX];
    struct dx_pair_count counts[PAIRS_MAX];
};

struct names {
    struct dx_map map;
    struct dx_span *name;
    size_t count;
};

__attribute__((noreturn)) void stop(const char *what, const char *why);

void record_append(struct dx_buf *out, const struct records_head *head, struct dx_span key,
                   const struct pairs *p);
void records_write(const char *path, const struct records_head *head, const struct dx_buf *body);
void records_open(struct records *r, const char *path, bool offsets);
void record_at(const struct records *r, uint64_t i, struct dx_span *key, struct dx_span *value);
void records_close(struct records *r);

void value_decode(struct dx_span value, const struct records_head *head, struct pairs *p);

void names_open(struct names *n, const char *path);
void names_close(struct names *n);

#endif
