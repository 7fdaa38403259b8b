/* SPDX-License-Identifier: Apache-2.0
 * list_progress.h - whether a list of names goes on fast enough to keep its place when others need
 * it.
 *
 *   dx_list_progress_begin(&p, now_us);
 *   dx_list_progress_note(&p, bytes, now_us);      bytes so far, read and written; whenever it goes on
 *   slow = dx_list_progress_is_slow(&p, now_us);   its last note was a moment ago
 *
 * Each byte is worth its time at DX_LIST_BYTES_PER_S. A list has DX_LIST_CREDIT_US at the start,
 * saves up that much at most, and falls behind by that much at most: what counts is the last second
 * or two. An average over the whole life would let a list that was fast at first, and then waits
 * for its budget, hold its place for minutes. One thread: the loop's.
 */
#ifndef DX_SERVER_ENGINE_LIST_PROGRESS_H
#define DX_SERVER_ENGINE_LIST_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#define DX_LIST_BYTES_PER_S 65536
#define DX_LIST_CREDIT_US 1000000

struct dx_list_progress {
    uint64_t bytes;
    int64_t good_until_us;
};

void dx_list_progress_begin(struct dx_list_progress *p, int64_t now_us);
void dx_list_progress_note(struct dx_list_progress *p, uint64_t bytes, int64_t now_us);
bool dx_list_progress_is_slow(const struct dx_list_progress *p, int64_t now_us);

#endif
