/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/answers.h"

#include "canon/url.h"
#include "loader/current.h"
#include "loader/hot_keys.h"
#include "loader/version.h"
#include "query/suppression/suppression_view.h"
#include "query/view/dataset_list.h"
#include "query/view/suppressed.h"

static struct dx_version *pin_current(void *from, struct dx_version *held)
{
    return dx_current_pin_again(from, held);
}

static bool is_current(void *from, struct dx_version *held)
{
    return dx_current_is(from, held);
}

static struct dx_version *pin_again(struct dx_version *held)
{
    dx_version_pin(held);
    return held;
}

static int gone(const char *name, struct dx_problem *problem)
{
    return dx_problem_set(problem, DX_PROBLEM_GONE, "version-gone", "This version is gone",
                          "version %s is not kept any more; begin again, on the current one", name);
}

static int pin_named(void *from, const char *name, struct dx_version **v,
                     struct dx_problem *problem)
{
    switch (dx_current_pin_named(from, name, v)) {
    case DX_PIN_HELD:
        return 1;
    case DX_PIN_NOT_OPEN:
        return DX_ASK_NOT_OPEN;
    case DX_PIN_NEWER:
        return dx_problem_set(problem, DX_PROBLEM_UNAVAILABLE, "version-newer",
                              "This server does not have this version yet",
                              "version %s is newer than all that this server has seen; ask again "
                              "in a second",
                              name);
    case DX_PIN_GONE:
        return gone(name, problem);
    case DX_PIN_UNKNOWN:
        break;
    }
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-version", "No such version",
                          "'%s' is neither name nor number of a version; /v1/versions lists "
                          "them",
                          name);
}

static int fetch(void *from, const char *name, struct dx_version **v, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_current_fetch(from, name, v, &err);

    if (rc == DX_OK)
        return 1;
    return rc == DX_E_NOT_FOUND ? gone(name, problem) : dx_problem_of_error(problem, &err);
}

static bool is_sound(void *from, struct dx_buf *words)
{
    struct dx_current_health health;

    dx_current_health(from, &health);
    if (!health.sound)
        dx_buf_str(words, health.text);
    return health.sound;
}

static __attribute__((noinline)) void say_damage(const struct dx_version *v,
                                                 struct dx_problem *problem)
{
    struct dx_error why = DX_ERROR_INIT;

    (void)dx_version_damage(v, &why);
    (void)dx_problem_set(problem, DX_PROBLEM_UNAVAILABLE, "index-changed",
                         "A file of the index was changed while it was served",
                         "%s. No answer is given rather than a wrong one. The server reopens the "
                         "version as soon as its files are whole: restore them, or publish again",
                         why.text);
}

static bool is_intact(struct dx_version *v, struct dx_problem *problem)
{
    bool intact = dx_version_intact(v);

    if (!intact)
        say_damage(v, problem);
    return intact;
}

static bool state(struct dx_version *v, uint64_t out[2])
{
    out[0] = v->serial;
    out[1] = dx_suppressed_turn(v);
    return out[1] % 2 == 0;
}

static void asked_again(struct dx_version *v, struct dx_span asked)
{
    dx_hot_keys_note(v->caches->hot, asked);
}

static struct dx_build_id build_of(const struct dx_version *v)
{
    return v->entry.build;
}

struct dx_answers dx_answers_of(struct dx_current *current)
{
    return (struct dx_answers){
        .from = current,
        .pin = pin_current,
        .is_current = is_current,
        .pin_again = pin_again,
        .unpin = dx_version_unpin,
        .pin_named = pin_named,
        .fetch = fetch,
        .cursor_key = DX_CURSOR_KEY_INIT,
        .cursor_life_s = DX_CURSOR_LIFE_S,
        .version_name = dx_version_name,
        .version_build = build_of,
        .intact = is_intact,
        .state = state,
        .asked_again = asked_again,
        .canon_new = dx_version_canon_new,
        .canon_free = dx_canon_free,
        .dataset_named = dx_dataset_find,
        .version_meant = dx_answer_version_meant,
        .names = dx_names_new,
        .urls_brief = true,
        .sound = is_sound,
    };
}
