/* SPDX-License-Identifier: Apache-2.0
 * facts.h - hosts and top paths of one (domain, dataset), and pages of them (facts.dat.zst).
 *
 *   rc = dx_facts_open(&f, bytes, domain, &counts, &err);        borrowed; all checked
 *   while ((rc = dx_facts_host(&f, &host, &err)) == 1) ...       ascending by host (bytes)
 *   while ((rc = dx_facts_path(&f, DX_PATHS_EXACT, &path, &err)) == 1) ...  best first
 *
 * A path is host and path without the query; a section is host and the first directory ("/wiki/"), or "/" for what lies in none.
 * Paths are there only for pairs of more than DX_FACTS_ROWS rows (has_paths), the DX_FACTS_PATHS_MAX best of each kind: most URLs first,
 * then most rows, then by host and path. Counts are exact.
 *
 * Pages (both of facts.dat.zst and sketches.dat.zst): entries of (ordinal, dataset_id, bytes), in order:
 *
 *   dx_pair_pages_begin(&w, &cold_writer);  rc = dx_pair_pages_add(&w, ordinal, dataset_id, bytes, &err);  rc = dx_pair_pages_end(&w, &err);
 *   struct dx_pair_page p = dx_pair_page_of(&page, plain);
 *   while ((rc = dx_pair_page_next(&p, &ordinal, &dataset_id, &bytes, &err)) == 1) ...
 */
#ifndef DX_FORMAT_FACTS_H
#define DX_FORMAT_FACTS_H

#include "base/buf.h"
#include "base/bytes.h"
#include "format/cold.h"
#include "format/counts.h"

#define DX_FACTS_ROWS 4096     /* of a pair; over it, paths are stored */
#define DX_FACTS_PATHS_MAX 256 /* of each kind */

enum dx_paths { DX_PATHS_EXACT, DX_PATHS_SECTION, DX_PATHS_KINDS };

struct dx_fact {
    struct dx_span host;
    struct dx_span path; /* of paths and sections; "/..." */
    uint64_t url_count;  /* distinct URLs */
    uint64_t row_count;
};

/* The rest of this header (struct dx_facts, readers, page writer and reader) is format's own; see the functions named above. */

#endif
