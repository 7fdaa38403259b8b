/* SPDX-License-Identifier: Apache-2.0
 * facts.h - hosts and top paths of one (domain, dataset): what facts.dat.zst has of it.
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
 * One thread at a time. Pages of many: pair_pages.h. From rows: pair_tally.h, which writes by
 *
 *   dx_facts_writer_init(&w);
 *   dx_facts_writer_begin(&w, domain);                       domain: borrowed until end
 *   rc = dx_facts_writer_host(&w, &fact, &err);              ascending, with all counts
 *   rc = dx_facts_writer_path(&w, kind, &fact, &err);        best first
 *   rc = dx_facts_writer_end(&w, path_count or NULL, &out, &err);     NULL: without paths; appends
 *   dx_facts_writer_release(&w);
 */
#ifndef DX_FORMAT_VERSION_FACTS_H
#define DX_FORMAT_VERSION_FACTS_H

#include "base/buf.h"
#include "base/bytes.h"
#include "format/core/counts.h"
#include "format/version/cold.h"
#include "format/version/pair_pages.h"

#define DX_FACTS_ROWS 4096               /* of a pair; over it, paths are stored */
#define DX_FACTS_PATHS_MAX 256           /* of each kind */
#define DX_FACTS_HOST_MAX (8u << 20)     /* bytes of a host; ours have 8192, a row has no more */
#define DX_FACTS_HOSTS_BYTES (48u << 20) /* of a pair; beyond it only their number is kept */
#define DX_FACTS_PATHS_BYTES (7u << 20)  /* of each kind; else none are stored */
#define DX_FACTS_BYTES_MAX (DX_FACTS_HOSTS_BYTES + 2 * DX_FACTS_PATHS_BYTES + 256)

enum dx_paths { DX_PATHS_EXACT, DX_PATHS_SECTION, DX_PATHS_KINDS };

struct dx_fact {
    struct dx_span host;
    struct dx_span path; /* of paths and sections; "/..." */
    uint64_t url_count;  /* distinct URLs */
    uint64_t row_count;
};

/* Most URLs first, then most rows, then by host and path: below 0 if a comes before b. */
int dx_fact_compare(const struct dx_fact *a, const struct dx_fact *b);

/* Where a list of hosts or paths is read. */
struct dx_facts_list {
    struct dx_bytes bytes;
    uint64_t count;
    uint64_t left;      /* entries */
    uint64_t urls_left; /* of the pair */
    uint64_t rows_left;
    struct dx_buf texts[2]; /* hosts of the last entry and of the one before */
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

struct dx_facts_writer {
    struct dx_span domain;
    struct dx_buf hosts;
    struct dx_buf last_host;
    uint64_t host_count;
    uint64_t last_urls; /* of last_host: written when another one follows */
    uint64_t last_rows;
    uint64_t first_urls; /* of the first of two */
    uint64_t first_rows;
    unsigned plain_hosts; /* how many of them are the domain or www. before it */
    bool hosts_lost;
    struct dx_buf paths[DX_PATHS_KINDS];
    struct dx_buf path_hosts[DX_PATHS_KINDS]; /* of the last one */
    uint64_t path_urls[DX_PATHS_KINDS];
    uint32_t listed[DX_PATHS_KINDS];
};

void dx_facts_writer_init(struct dx_facts_writer *w);
void dx_facts_writer_begin(struct dx_facts_writer *w, struct dx_span domain);
int dx_facts_writer_host(struct dx_facts_writer *w, const struct dx_fact *host,
                         struct dx_error *err);
int dx_facts_writer_path(struct dx_facts_writer *w, enum dx_paths kind, const struct dx_fact *path,
                         struct dx_error *err);
int dx_facts_writer_end(struct dx_facts_writer *w, const uint64_t path_count[DX_PATHS_KINDS],
                        struct dx_buf *out, struct dx_error *err);
void dx_facts_writer_release(struct dx_facts_writer *w);

#endif
