/* SPDX-License-Identifier: Apache-2.0 */
#include "server/follow/follower.h"

#include "base/log.h"
#include "base/periodic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dx_follower {
    struct dx_periodic *thread;
    const struct dx_watched *what;
    void *of;
    /* Of the thread alone: */
    struct dx_period period;      /* at the pace of a fleet, */
    uint64_t period_ms, retry_ms; /* or these, where they are not 0 */
    bool failing;                 /* the last look failed */
    char said[DX_WATCHED_TEXT + 2 + sizeof(((struct dx_error *)0)->text)]; /* the last failure */
};

static void note_failure(struct dx_follower *f, int rc, bool asked, const struct dx_error *err)
{
    char text[DX_WATCHED_TEXT] = "";
    char line[sizeof f->said];
    int level = f->what->describe(f->of, rc, text);

    (void)snprintf(line, sizeof line, "%s: %s", text, err->text);
    if (level >= 0 && (asked || strcmp(line, f->said) != 0))
        dx_log((enum dx_log_level)level, "%s: %s", f->what->name, line);
    memcpy(f->said, line, sizeof line);
}

static void note_news(struct dx_follower *f, int rc)
{
    char text[DX_WATCHED_TEXT] = "";
    int level = f->what->describe(f->of, rc, text);

    if (level >= 0)
        dx_log((enum dx_log_level)level, "%s: %s", f->what->name, text);
    f->said[0] = '\0';
}

static uint64_t look(void *ctx, bool asked)
{
    struct dx_follower *f = ctx;
    struct dx_error err = DX_ERROR_INIT;
    int rc = f->what->look(f->of, asked, &err);

    if (rc < 0)
        note_failure(f, rc, asked, &err);
    else if (rc == 1 || f->failing)
        note_news(f, rc);
    f->failing = rc < 0;
    if (f->period_ms == 0)
        return dx_period_next(&f->period);
    return rc < 0 ? f->retry_ms : f->period_ms;
}

static int start(struct dx_follower **out, struct dx_follower of, uint64_t first_ms,
                 struct dx_error *err)
{
    struct dx_follower *f = malloc(sizeof *f);
    int rc;

    *out = NULL;
    if (f == NULL)
        return dx_no_memory(err, "%s", of.what->name);
    *f = of;
    rc = dx_periodic_start(&f->thread, of.what->name, first_ms, look, f, err);
    if (rc == DX_OK)
        *out = f;
    else
        free(f);
    return rc;
}

int dx_follower_start(struct dx_follower **out, const struct dx_watched *what, void *of,
                      bool remote, unsigned poll_ms, struct dx_error *err)
{
    struct dx_follower f = { .what = what, .of = of };

    dx_period_begin(&f.period, remote || poll_ms < what->local_ms ? poll_ms : what->local_ms);
    return start(out, f, dx_period_next(&f.period), err);
}

int dx_follower_start_each(struct dx_follower **out, const struct dx_watched *what, void *of,
                           uint64_t period_ms, uint64_t retry_ms, struct dx_error *err)
{
    const struct dx_follower f = {
        .what = what, .of = of, .period_ms = period_ms, .retry_ms = retry_ms
    };

    return start(out, f, period_ms, err);
}

void dx_follower_ask(struct dx_follower *f)
{
    dx_periodic_ask(f->thread);
}

bool dx_follower_stop(struct dx_follower **out)
{
    struct dx_follower *f = *out;

    if (f == NULL)
        return true;
    if (!dx_periodic_stop_soon(&f->thread))
        return false;
    free(f);
    *out = NULL;
    return true;
}
