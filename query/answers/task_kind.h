/* SPDX-License-Identifier: Apache-2.0
 * task_kind.h - what a task of query/answers/task.h does, for those who make tasks of their own.
 *
 *   struct my_task { struct dx_task task; ... };               task: the first member
 *   static const struct dx_task_kind kind = { step, fetched, reading, release };
 *   my = calloc(1, sizeof *my);
 *   if (my == NULL)
 *       return dx_task_no_memory(problem);
 *   my->task.kind = &kind;
 *   rc = ... what is known without reading, then step(&my->task, body, problem) ...
 *   return dx_task_begun(&my->task, rc, out);             keeps it if it waits, else lets it go
 *
 * step goes on as far as it can: DX_TASK_WAITS, or as query/answers/answer.h. fetched takes what
 * came of what it waited for; NULL: there is nothing to take. reading: what is waited for now.
 * release frees what the task has, and it. A task is for one thread at a time.
 */
#ifndef DX_QUERY_ANSWERS_TASK_KIND_H
#define DX_QUERY_ANSWERS_TASK_KIND_H

#include "query/answers/task.h"

struct dx_task_kind {
    int (*step)(struct dx_task *task, struct dx_buf *body, struct dx_problem *problem);
    int (*fetched)(struct dx_task *task, int rc, struct dx_error *err);
    struct dx_read_batch *(*reading)(struct dx_task *task);
    void (*release)(struct dx_task *task);
};

struct dx_task {
    const struct dx_task_kind *kind;
    /* of the step at work: set by the function that begins a task, and by dx_task_resume */
    struct dx_answer_summary *summary;
};

int dx_task_no_memory(struct dx_problem *problem);
int dx_task_begun(struct dx_task *task, int rc, struct dx_task **out);

#endif
