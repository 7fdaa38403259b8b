/* SPDX-License-Identifier: Apache-2.0
 * facts.h - hosts and top paths of one (domain, dataset), and pages of them (facts.dat.zst).
 *
 *   rc = dx_facts_open(&f, bytes, domain, &counts, &err);           counts: of the pair, as stored
 *   while ((rc = dx_facts_host(&f, &host, &err)) == 1) ...          ascending by host (bytes)
 *   while ((rc = dx_facts_path(&f, DX_PATHS_EXACT, &path, &err)) == 1) ...   best first
 *   dx_facts_close(&f);
 *
 * A path is host and path without the query; a section is host and the first directory ("/wiki/"),
 * or "/" for what lies in none. Paths are there only for pairs of more than DX_FACTS_ROWS rows
 * (has_paths), the DX_FACTS_PATHS_MAX best of each kind: most URLs first, then most rows, then by
 * host and path. Counts are exact. What is read is checked while it is read: order, and that the
 * counts are those of the pair.
 *
 * bytes and domain are borrowed. The text of a fact is valid until the next call for the same kind.
 * One thread at a time.
 *
 * Pages (both of facts.dat.zst and sketches.dat.zst): entries of (ordinal, dataset_id, bytes), in
 * ascending order:
 *
 *   dx_pair_pages_begin(&w, &cold_writer);                          a writer that has begun (cold.h)
 *   rc = dx_pair_pages_add(&w, ordinal, dataset_id, bytes, &err);
 *   rc = dx_pair_pages_end(&w, &err);                               the last page; then dx_cold_writer_end
 *   dx_pair_pages_release(&w);
 *
 *   struct dx_pair_page p = dx_pair_page_of(&page, plain);
 *   while ((rc = dx_pair_page_next(&p, &ordinal, &dataset_id, &bytes, &err)) == 1) ...
 *   rc = dx_pair_page_find(&page, plain, ordinal, dataset_id, &bytes, &err);     1, 0, <0
 *
 * The pairs of one domain may lie in several pages, one behind the other: from
 * dx_cold_find(c, file, ordinal, 0) on, while page.key is not above the ordinal; where that finds
 * none, from page 0 on.
 */
#ifndef DX_FORMAT_FACTS_H
#define DX_FORMAT_FACTS_H

#include "base/buf.h"
#include "base/bytes.h"
#include "format/cold.h"
#include "format/counts.h"

#define DX_FACTS_ROWS 4096     /* of a pair; over it, paths are stored */
#define DX_FACTS_PATHS_MAX 256 /* of each kind */
#define DX_FACTS_HOSTS_BYTES \
    (48u << 20)                         /* of a pair's hosts; beyond it only their number is kept */
#define DX_FACTS_PATHS_BYTES (7u << 20) /* of its paths of one kind; else none are stored */
#define DX_FACTS_BYTES_MAX (DX_FACTS_HOSTS_BYTES + 2 * DX_FACTS_PATHS_BYTES + 256)

enum dx_paths { DX_PATHS_EXACT, DX_PATHS_SECTION, DX_PATHS_KINDS };

struct dx_fact {
    struct dx_span host;
    struct dx_span path; /* of paths and sections; "/..." */
    uint64_t url_count;  /* distinct URLs */
    uint64_t row_count;
};

/* Where a list of hosts or paths is read. */
struct dx_facts_list {
    struct dx_bytes bytes;
    uint64_t left;      /* entries */
    uint64_t urls_left; /* of the pair */
    uint64_t rows_left;
    struct dx_buf texts[2]; /* host of the last entry and of the one before */
    unsigned last;
    struct dx_fact fact; /* the last one */
};

struct dx_facts {
    bool has_hosts; /* false: they are too many to be stored */
    bool has_paths;
    uint64_t host_count;
    uint64_t path_count[DX_PATHS_KINDS]; /* distinct ones; 0 without has_paths */
    uint32_t listed[DX_PATHS_KINDS];     /* of them stored */
    uint64_t url_count;                  /* of the pair */
    uint64_t row_count;
    unsigned shape; /* the rest is private */
    struct dx_span domain;
    struct dx_facts_list hosts;
    struct dx_facts_list paths[DX_PATHS_KINDS];
};

int dx_facts_open(struct dx_facts *f, struct dx_span bytes, struct dx_span domain,
                  const struct dx_pair_count *counts, struct dx_error *err);
/* DX_E_UNSUPPORTED without has_hosts. */
int dx_facts_host(struct dx_facts *f, struct dx_fact *host, struct dx_error *err);
/* 0 at once without has_paths. */
int dx_facts_path(struct dx_facts *f, enum dx_paths kind, struct dx_fact *path,
                  struct dx_error *err);
void dx_facts_close(struct dx_facts *f);

struct dx_pair_pages {
    struct dx_cold_writer *out;
    struct dx_buf columns[4]; /* ordinals, dataset_ids, sizes, bytes of the open page */
    struct dx_buf plain;
    uint32_t entries; /* of the open page */
    uint64_t first_ordinal;
    uint32_t first_dataset_id;
    uint64_t last_ordinal;
    uint32_t last_dataset_id;
    bool any;
};

void dx_pair_pages_begin(struct dx_pair_pages *w, struct dx_cold_writer *out);
int dx_pair_pages_add(struct dx_pair_pages *w, uint64_t ordinal, uint32_t dataset_id,
                      struct dx_span bytes, struct dx_error *err);
int dx_pair_pages_end(struct dx_pair_pages *w, struct dx_error *err);
void dx_pair_pages_release(struct dx_pair_pages *w);

struct dx_pair_page {
    enum dx_cold_file file;
    uint32_t number;
    uint32_t left;
    bool first;
    bool failed;
    uint64_t ordinal;
    uint32_t dataset_id;
    struct dx_bytes columns[4];
};

struct dx_pair_page dx_pair_page_of(const struct dx_cold_page *page, struct dx_span plain);
int dx_pair_page_next(struct dx_pair_page *p, uint64_t *ordinal, uint32_t *dataset_id,
                      struct dx_span *bytes, struct dx_error *err);
int dx_pair_page_find(const struct dx_cold_page *page, struct dx_span plain, uint64_t ordinal,
                      uint32_t dataset_id, struct dx_span *bytes, struct dx_error *err);

#endif
