/* SPDX-License-Identifier: Apache-2.0
 * index_urls.h - url_ids.dat.zst of a version in the making (format/version/url_ids.h).
 *
 *   rc = dx_index_urls_new(&u, tmp_dir, memory_bytes, &err);
 *
 * While files are scanned, a lane a thread and a run a file:
 *
 *   rc = dx_index_urls_lane_new(&lane, u, &err);
 *   rc = dx_index_urls_row(lane, &run, &row, &at, &err);      each row of the file, in order
 *   rc = dx_index_urls_end(lane, &run, &err);                 behind the last row of the file
 *   rc = dx_index_urls_lane_end(lane, &err);                  what the lane still holds
 *   dx_index_urls_lane_free(&lane);
 *
 * and after the scan, when all files of the lake are known:
 *
 *   rc = dx_index_urls_write(u, lake, writer, memory_bytes, &err);    pages of a begun writer
 *   u->places   u->spilled_bytes
 *   dx_index_urls_free(&u);
 *
 * Of rows that are one URL, one behind the other in a file or with another scheme of the same page
 * between them, one place is kept (format/version/url_place.h): 24 bytes, in one of 1024 streams by its id
 * (builder/sort/stream_spill.h). Write sorts stream by stream, one that is too large for
 * memory_bytes on the disk, and merges in the places of the base's files that stay (index_base.h);
 * those of files that went, or that were scanned again, are left out. What is written depends on
 * the rows alone.
 *
 * Lanes may be used side by side; they share u under its lock. Memory: that of the spool
 * (memory_bytes), 96 KiB a lane; of write memory_bytes, 16 bytes a file and what the walk over the
 * base needs.
 */
#ifndef DX_BUILDER_SCAN_INDEX_URLS_H
#define DX_BUILDER_SCAN_INDEX_URLS_H

#include <pthread.h>

#include "base/buf.h"
#include "format/version/url_ids.h"

struct dx_index_lake;
struct dx_index_urls_lane;
struct dx_lake_row;
struct dx_stream_spill;

#define DX_URL_RUN_SCHEMES 8 /* of one (host, path_query); canonical URLs have three */
#define DX_URL_RUN_SCHEME_MAX 32
#define DX_URL_RUN_REQUESTED 8 /* URLs that led to it, at hand; one more and all get their places */

struct dx_index_urls {
    uint64_t places;        /* written */
    uint64_t spilled_bytes; /* that were on the disk meanwhile */
    /* private */
    pthread_mutex_t lock; /* of the spool */
    struct dx_stream_spill *spool;
    char *tmp_dir;
};

/* Where a row stands. */
struct dx_url_row {
    uint32_t file_id;
    uint32_t row_group;
    uint64_t row_in_group;
    uint64_t row_in_file;
    /* the URL that led to this row, in canonical form; data NULL: its own */
    struct dx_span requested;
    uint64_t url_id; /* of the row's URL, where it was checked; 0: it is computed */
    bool same_page;  /* host and path_query are those of the row before, which stands next to it */
};

/* A place that may still grow. */
struct dx_url_run_place {
    uint64_t id;
    uint64_t row;         /* in the row group */
    uint64_t first, last; /* in the file */
    uint32_t row_group, last_group;
};

/* The URLs of the (host, path_query) at hand: zeroed before the first row of a file. */
struct dx_url_run {
    uint32_t file_id;
    size_t count;
    struct dx_url_run_url {
        struct dx_url_run_place place;
        uint32_t scheme_size;
        uint8_t scheme[DX_URL_RUN_SCHEME_MAX];
    } urls[DX_URL_RUN_SCHEMES];
    size_t requested_count;
    /* only the bits of an id that are kept */
    struct dx_url_run_place requested[DX_URL_RUN_REQUESTED];
};

int dx_index_urls_new(struct dx_index_urls **u, const char *tmp_dir, size_t memory_bytes,
                      struct dx_error *err);
void dx_index_urls_free(struct dx_index_urls **u);

int dx_index_urls_lane_new(struct dx_index_urls_lane **lane, struct dx_index_urls *u,
                           struct dx_error *err);
int dx_index_urls_row(struct dx_index_urls_lane *lane, struct dx_url_run *run,
                      const struct dx_lake_row *row, const struct dx_url_row *at,
                      struct dx_error *err);
int dx_index_urls_end(struct dx_index_urls_lane *lane, struct dx_url_run *run,
                      struct dx_error *err);
int dx_index_urls_lane_end(struct dx_index_urls_lane *lane, struct dx_error *err);
void dx_index_urls_lane_free(struct dx_index_urls_lane **lane);

int dx_index_urls_write(struct dx_index_urls *u, const struct dx_index_lake *lake,
                        struct dx_cold_writer *writer, size_t memory_bytes, struct dx_error *err);

#endif
