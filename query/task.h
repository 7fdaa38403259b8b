/* SPDX-License-Identifier: Apache-2.0
 * task.h - an answer that has to read first, one step at a time.
 *
 *   rc = dx_task_urls(v, canon, asked, dataset_id, page, fields, deadline_ms, &task, &body, &p);
 *   while (rc == DX_TASK_WAITS) {
 *       struct dx_reading *r = dx_task_reading(task);
 *       rc = dx_reading_perform(r, &err);             or without blocking: query/reading.h
 *       rc = dx_task_resume(task, rc, &err, &body, &problem);
 *   }
 *   1, 0, <0: as query/answer.h
 *   dx_task_free(&task);                              also before the end; NULL is fine
 *
 * Steps only compute: they decode, check and write out. The version must stay pinned until free;
 * the canonicaliser is needed for the first step only. Steps of one task may be taken by several
 * threads, one after the other. task is NULL after an rc other than DX_TASK_WAITS from dx_task_urls.
 */
#ifndef DX_QUERY_TASK_H
#define DX_QUERY_TASK_H

#include "query/answer.h"
#include "query/reading.h"

enum { DX_TASK_WAITS = 2 };

struct dx_task;

/* GET /v1/domain/{d}/datasets/{id}/urls. deadline_ms: on the clock of dx_clock_ms, for all
 * that is waited for; 0: the source's own for each wave. */
int dx_task_urls(struct dx_version *v, struct dx_canon *canon, struct dx_span asked,
                 uint32_t dataset_id, struct dx_page_of page, unsigned fields, uint64_t deadline_ms,
                 struct dx_task **task, struct dx_buf *body, struct dx_problem *problem);

/* rc, err: of what the task waited for. */
int dx_task_resume(struct dx_task *task, int rc, struct dx_error *err, struct dx_buf *body,
                   struct dx_problem *problem);
struct dx_reading *dx_task_reading(struct dx_task *task);
void dx_task_free(struct dx_task **task);

#endif
