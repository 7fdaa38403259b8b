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

/* Until others are kept open, only the current version has a name here. */
static int pin_by_name(void *from, const char *name, struct dx_version **v,
                       struct dx_problem *problem)
{
    struct dx_version *current = dx_current_pin(from);
    uint32_t sequence = 0;
    int rc = 1;

    if (strcmp(dx_version_name(current), name) == 0) {
        *v = current;
        return rc;
    }
    if (!dx_version_name_ok(dx_span_str(name), &sequence))
        rc = dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-version", "No such version",
                            "'%s' is no name of a version; /v1/versions lists them", name);
    else if (sequence > current->manifest.sequence)
        rc = dx_problem_set(problem, DX_PROBLEM_UNAVAILABLE, "version-newer",
                            "This server does not have this version yet",
                            "version %s is newer than %s, which is the newest that this server has "
                            "loaded; ask again in a second",
                            name, dx_version_name(current));
    else
        rc = dx_problem_set(problem, DX_PROBLEM_GONE, "version-gone", "This version is gone",
                            "version %s is not served any more; begin again, on the current one",
                            name);
    dx_version_unpin(current);
    return rc;
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
        .pin_named = pin_by_name,
        .bring = pin_by_name,
        .cursor_key = DX_CURSOR_KEY_INIT,
        .cursor_life_s = DX_CURSOR_LIFE_S,
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
