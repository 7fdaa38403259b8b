/* SPDX-License-Identifier: Apache-2.0 */
#include "server/answers.h"

#include "canon/url.h"
#include "loader/current.h"
#include "loader/version.h"
#include "server/metrics.h"

static struct dx_version *pin_current(void *from, struct dx_version *held)
{
    return dx_current_pin_again(from, held);
}

static bool is_sound(void *from, struct dx_buf *words)
{
    struct dx_current_health health;

    dx_current_health(from, &health);
    if (!health.sound)
        dx_buf_str(words, health.text);
    return health.sound;
}

static bool is_intact(struct dx_version *v, struct dx_problem *problem)
{
    struct dx_error why = DX_ERROR_INIT;

    if (dx_version_intact(v))
        return true;
    (void)dx_version_damage(v, &why);
    (void)dx_problem_set(problem, DX_PROBLEM_UNAVAILABLE, "index-changed",
                         "A file of the index was changed while it was served",
                         "%s. No answer is given rather than a wrong one. The server opens the "
                         "version anew as soon as its files are whole: restore them, or publish "
                         "again",
                         why.text);
    return false;
}

struct dx_answers dx_answers_of(struct dx_current *current)
{
    return (struct dx_answers){
        .from = current,
        .pin = pin_current,
        .unpin = dx_version_unpin,
        .version_name = dx_version_name,
        .intact = is_intact,
        .canon_new = dx_version_canon_new,
        .canon_free = dx_canon_free,
        .domain = dx_answer_domain,
        .urls = dx_task_urls,
        .datasets = dx_answer_datasets,
        .dataset = dx_answer_dataset,
        .normalize = dx_answer_normalize,
        .versions = dx_answer_versions,
        .fields_parse = dx_fields_parse,
        .metrics = dx_metrics_live,
        .sound = is_sound,
        .task_resume = dx_task_resume,
        .task_reading = dx_task_reading,
        .task_free = dx_task_free,
    };
}
