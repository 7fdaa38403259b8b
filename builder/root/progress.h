/* SPDX-License-Identifier: Apache-2.0
 * progress.h - how far a long command is, on standard error.
 *
 *   struct dx_progress p;
 *   dx_progress_init(&p, STDERR_FILENO);                      -1: nothing is shown
 *   dx_progress_phase(&p, "reading", "rows", total_bytes);    0: total unknown
 *   dx_progress_at(&p, done_bytes, done_items);               often; cheap
 *   dx_progress_end(&p);                                      before other output
 *
 * On a terminal one line is drawn over and over, after the first second; in a log a
 * whole line comes every ten seconds. Short runs print nothing. One thread at a time.
 *
 *   reading: 1.2 GiB of 3.4 GiB, 35 %, 41,000,000 rows, 812,000 rows/s, 24 MiB/s, 120 rejected, 0:02:41 left
 */
#ifndef DX_BUILDER_ROOT_PROGRESS_H
#define DX_BUILDER_ROOT_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dx_progress {
    int fd;
    bool terminal;
    bool drawn;
    const char *phase;
    const char *unit;
    uint64_t total_bytes;
    bool is_estimate;  /* total_bytes is */
    uint64_t rejected; /* shown if there are some; the caller's */
    int64_t begun_ms;
    int64_t next_ms;
};

void dx_progress_init(struct dx_progress *p, int fd);
void dx_progress_phase(struct dx_progress *p, const char *phase, const char *unit,
                       uint64_t total_bytes);
/* Of the phase, known now, or as good as can be said now. */
void dx_progress_total(struct dx_progress *p, uint64_t total_bytes, bool is_estimate);
void dx_progress_at(struct dx_progress *p, uint64_t bytes, uint64_t items);
void dx_progress_end(struct dx_progress *p);

#define DX_PROGRESS_LINE 240

/* The line's text without line end, of phase, unit, total and rejects of p; pure, for tests. */
size_t dx_progress_line(const struct dx_progress *p, uint64_t bytes, uint64_t items,
                        int64_t elapsed_ms, char out[DX_PROGRESS_LINE]);

/* "1.2 GiB", "812,000": for summaries too. */
const char *dx_progress_size(uint64_t bytes, char out[32]);
const char *dx_progress_count(uint64_t n, char out[32]);

#endif
