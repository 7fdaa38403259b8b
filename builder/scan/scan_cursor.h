/* SPDX-License-Identifier: Apache-2.0
 * scan_cursor.h - the rows of one lake file in order, checked, and where those of a domain are.
 *
 *   struct dx_scan_cursor c;
 *   dx_scan_cursor_init(&c, &file, file_id);
 *   rc = dx_scan_cursor_open(&c, path, &err);
 *   while ((rc = dx_scan_cursor_next(&c, &err)) == 1) {       1 a row in c.row, 0 the end
 *       c.change                                              from the row before
 *       rc = dx_scan_cursor_run(&c, &err);                    the row goes into c.runs
 *   }
 *   dx_scan_cursor_close(&c);                                 safe at any time after init
 *
 * Refused, with file and row: what index_scan.h says (DX_E_INVALID where a row can be read and must
 * not be shown). c.runs are those since the caller cleared them. A place keeps (domain, host,
 * path_query) of a row to see how the next one follows. One thread at a time.
 */
#ifndef DX_BUILDER_SCAN_SCAN_CURSOR_H
#define DX_BUILDER_SCAN_SCAN_CURSOR_H

#include "base/buf.h"
#include "builder/lake/lake_scan.h"
#include "builder/scan/index_tags.h"
#include "builder/scan/index_urls.h"

#define DX_SCAN_SCHEME_MAX 32         /* bytes */
#define DX_SCAN_RUNS_MAX (512u << 20) /* bytes of struct dx_run */

struct dx_index_file;
struct dx_row_form;

enum dx_scan_change { DX_SCAN_SAME_URL, DX_SCAN_NEW_URL, DX_SCAN_NEW_DOMAIN };

/* The last row of a file, or of a merge: to see order and change. */
struct dx_scan_place {
    bool any;
    bool borrowed;                           /* the texts are the row's, else in text */
    struct dx_span domain, host, path_query; /* which may be compared while they are there */
    struct dx_buf text;
};

struct dx_scan_cursor {
    struct dx_lake_scan scan;
    const struct dx_index_file *file;
    struct dx_row_form *form; /* set after init: rows must be canonical; NULL: of any form */
    bool skips;               /* likewise: rows that are not are left out (lake_scan.h) */
    bool of_counts; /* likewise: a row is a host with its pages (format/text/host_pages.h) */
    uint32_t file_id;
    bool in_group;
    bool after_gap;       /* between the row and the one before it others were left out */
    uint64_t group_first; /* in the file: of the group */
    uint64_t row_in_group;
    uint64_t row_in_file;
    struct dx_lake_row row;
    size_t requested; /* 1 + the extra that is the requested URL; 0: the file has none */
    size_t tags;      /* likewise, the tags */
    unsigned change;  /* from the row before in this file: enum dx_scan_change */
    bool stray;       /* the row's key strays; kept by builder/scan/scan_merge.c */
    uint64_t strays;  /* rows so far of which that is so */
    struct dx_scan_place place;
    uint64_t domain_id;       /* of the place */
    struct dx_buf runs;       /* struct dx_run, of the current domain */
    struct dx_url_run urls;   /* for builder/scan/index_urls.h */
    struct dx_tag_run tagged; /* for builder/scan/index_tags.h */
};

/* How `row` follows the place: enum dx_scan_change, or -1 if it should stand before it. */
int dx_scan_place_change(const struct dx_scan_place *p, const struct dx_lake_row *row);
/* The row is the last one; keep copies its texts, before they go. */
void dx_scan_place_set(struct dx_scan_place *p, const struct dx_lake_row *row);
int dx_scan_place_keep(struct dx_scan_place *p, struct dx_error *err);

void dx_scan_cursor_init(struct dx_scan_cursor *c, const struct dx_index_file *file,
                         uint32_t file_id);
int dx_scan_cursor_open(struct dx_scan_cursor *c, const char *path, struct dx_error *err);
int dx_scan_cursor_next(struct dx_scan_cursor *c, struct dx_error *err);
int dx_scan_cursor_run(struct dx_scan_cursor *c, struct dx_error *err);
void dx_scan_cursor_close(struct dx_scan_cursor *c);

/* DX_E_INVALID that names file and row. */
int dx_scan_row_fail(const struct dx_scan_cursor *c, struct dx_error *err, const char *what);

#endif
