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

struct dx_answers dx_answers_of(struct dx_current *current)
{
    return (struct dx_answers){
        .from = current,
        .pin = pin_current,
        .unpin = dx_version_unpin,
        .version_name = dx_version_name,
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
