/* SPDX-License-Identifier: Apache-2.0
 * task_kind.h - what a task of query/task.h does, for those who make tasks of their own.
 *
 *   struct my_task { struct dx_task task; ... };               task: the first member
 *   static const struct dx_task_kind kind = { resume, reading, release };
 *   my->task.kind = &kind;
 *
 * resume as dx_task_resume; reading: what is waited for now; release frees what the task has, and it.
 */
#ifndef DX_QUERY_TASK_KIND_H
#define DX_QUERY_TASK_KIND_H

#include "query/task.h"

struct dx_task_kind {
    int (*resume)(struct dx_task *task, int rc, struct dx_error *err, struct dx_buf *body,
                  struct dx_problem *problem);
    struct dx_reading *(*reading)(struct dx_task *task);
    void (*release)(struct dx_task *task);
};

struct dx_task {
    const struct dx_task_kind *kind;
};

#endif
