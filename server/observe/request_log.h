/* SPDX-License-Identifier: Apache-2.0
 * request_log.h - a line for each request, written beside the loops and never by them.
 *
 *   rc = dx_request_log_check(target, &err);            whether open could open or make it; makes nothing
 *   rc = dx_request_log_open(&log, &options, &err);     opens the file and starts the writer
 *   dx_request_log_put(log, ring, &record);             never waits, no system call
 *   dx_request_log_reopen(log);                         the file was moved away (SIGUSR1)
 *   dx_request_log_counts_read(log, &counts);
 *   clean = dx_request_log_close(&log);                 writes what is there, for a second at most
 *
 * Each loop has a ring of its own, which it alone fills and the writer alone empties. The writer
 * looks at them some times a second, so that no loop has to wake it. What does not fit a ring,
 * since the target is slow, full or blocked, is dropped and counted; so is what the target refuses.
 * A line that was torn by a full disk is ended before the next one.
 *
 * put: a ring is for one thread at a time. reopen and counts: any thread. The others: the owner,
 * after the last put. close false: the target hangs in a write; the thread and what it uses stay.
 */
#ifndef DX_SERVER_OBSERVE_REQUEST_LOG_H
#define DX_SERVER_OBSERVE_REQUEST_LOG_H

#include "server/observe/request_record.h"

#define DX_REQUEST_RING_BYTES \
    ((size_t)2 << 20) /* some 5,000 requests, of a hundredth of a second */

struct dx_request_log;

struct dx_request_log_options {
    const char *target; /* "stderr", or a file that is made or appended to */
    bool targets;       /* write what was asked */
    unsigned rings;
    size_t ring_bytes; /* of each; a power of two. 0: DX_REQUEST_RING_BYTES */
};

struct dx_request_log_counts {
    uint64_t written;
    uint64_t dropped;
    bool open; /* false: the file could not be opened again */
};

int dx_request_log_check(const char *target, struct dx_error *err);
int dx_request_log_open(struct dx_request_log **log, const struct dx_request_log_options *options,
                        struct dx_error *err);
void dx_request_log_put(struct dx_request_log *log, unsigned ring,
                        const struct dx_request_record *r);
void dx_request_log_reopen(struct dx_request_log *log);
void dx_request_log_counts_read(struct dx_request_log *log, struct dx_request_log_counts *counts);
bool dx_request_log_close(struct dx_request_log **log); /* NULL is fine */

#endif
