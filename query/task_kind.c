/* SPDX-License-Identifier: Apache-2.0 */
#include "query/task_kind.h"

int dx_task_resume(struct dx_task *task, int rc, struct dx_error *err, struct dx_buf *body,
                   struct dx_problem *problem)
{
    return task->kind->resume(task, rc, err, body, problem);
}

struct dx_reading *dx_task_reading(struct dx_task *task)
{
    return task->kind->reading(task);
}

void dx_task_free(struct dx_task **task)
{
    if (*task != NULL)
        (*task)->kind->release(*task);
    *task = NULL;
}
