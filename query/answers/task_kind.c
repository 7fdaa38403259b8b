/* SPDX-License-Identifier: Apache-2.0 */
#include "query/answers/task_kind.h"

int dx_task_resume(struct dx_task *task, int rc, struct dx_error *err,
                   struct dx_answer_summary *summary, struct dx_buf *body,
                   struct dx_problem *problem)
{
    if (task->kind->fetched != NULL)
        rc = task->kind->fetched(task, rc, err);
    task->summary = summary;
    return rc < 0 ? dx_problem_of_error(problem, err) : task->kind->step(task, body, problem);
}

int dx_task_finish(struct dx_task **task, int rc, struct dx_buf *body, struct dx_problem *problem)
{
    while (rc == DX_TASK_WAITS) {
        struct dx_error err = DX_ERROR_INIT;

        rc = dx_read_batch_perform(dx_task_reading(*task), &err);
        rc = dx_task_resume(*task, rc, &err, NULL, body, problem);
    }
    dx_task_free(task);
    return rc;
}

struct dx_read_batch *dx_task_reading(struct dx_task *task)
{
    return task->kind->reading(task);
}

void dx_task_free(struct dx_task **task)
{
    if (*task != NULL)
        (*task)->kind->release(*task);
    *task = NULL;
}

int dx_task_no_memory(struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;

    (void)dx_no_memory(&err, "answer");
    return dx_problem_of_error(problem, &err);
}

int dx_task_begun(struct dx_task *task, int rc, struct dx_task **out)
{
    *out = rc == DX_TASK_WAITS ? task : NULL;
    if (rc != DX_TASK_WAITS)
        task->kind->release(task);
    return rc;
}
