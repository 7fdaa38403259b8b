/* SPDX-License-Identifier: Apache-2.0
 * answer_names.h - many names at once: for each, the datasets that contain its domain and the
 * counts.
 *
 *   struct dx_names_ask ask = { .format = DX_NAMES_NDJSON };
 *   rc = dx_names_new(&n, &view, &ask, &problem);      1; 0 and <0 as query/answers/answer.h
 *   dx_names_begin(n, &out);                       the head of a table
 *   while (there are names) {
 *       while (there are names && dx_names_add(n, &name)) ...      false: no room, write first
 *       do
 *           rc = dx_names_write(n, &out, out_max, &problem);       appends
 *           ... DX_NAMES_MORE: send what is in out, clear it, call again; <0: see below
 *       while (rc == DX_NAMES_MORE);
 *   }
 *   dx_names_end(n, &out);                         the summary
 *   dx_names_free(&n);
 *
 * Names are canonicalised when they are added and looked up together, so that one's loads of memory
 * run beside another's. What suppressions say is asked for each when its answer is written.
 *
 * out_max: no further answer is begun when out has so many bytes; one answer is as large as its
 * datasets are many. After an error what write appended is whole answers, and calling again goes on
 * with the name that failed: DX_E_BUSY (its suppressed rows are being read) will pass by itself.
 *
 * What `view` has must be held until free. Everything comes from it and the suppressions that hold;
 * mapped memory only, except where the caller reads suppressed rows (DX_SUPPRESSIONS_LIVE_WAIT).
 * One thread at a time.
 */
#ifndef DX_QUERY_ANSWERS_ANSWER_NAMES_H
#define DX_QUERY_ANSWERS_ANSWER_NAMES_H

#include "base/buf.h"
#include "format/text/name_list.h"
#include "query/view/problem.h"

#define DX_NAMES_BATCH 256        /* names that are looked up together */
#define DX_NAMES_COLUMNS_MAX 2000 /* datasets of a matrix */
#define DX_NAMES_MORE 2

struct dx_names;
struct dx_version;
struct dx_view;

enum dx_names_format {
    DX_NAMES_NDJSON, /* a line of JSON a name, and the summary */
    DX_NAMES_CSV,    /* a line a (name, dataset); one with empty columns for a name without */
    DX_NAMES_MATRIX  /* CSV with a line a name and a column a dataset */
};

struct dx_names_ask {
    enum dx_names_format format;
    struct dx_span datasets; /* columns of a matrix: ids, commas between them; data NULL: all */
};

struct dx_names_counts {
    uint64_t names, found, absent, withheld, rejected;
};

int dx_names_new(struct dx_names **n, const struct dx_view *view, const struct dx_names_ask *ask,
                 struct dx_problem *problem);
void dx_names_free(struct dx_names **n);

void dx_names_begin(struct dx_names *n, struct dx_buf *out);
bool dx_names_add(struct dx_names *n, const struct dx_name *name);
int dx_names_write(struct dx_names *n, struct dx_buf *out, size_t out_max,
                   struct dx_problem *problem);
void dx_names_end(struct dx_names *n, struct dx_buf *out);

struct dx_names_counts dx_names_counts_of(const struct dx_names *n);

/* "ndjson", "csv", "matrix" */
bool dx_names_format_parse(struct dx_span text, enum dx_names_format *format);

#endif
