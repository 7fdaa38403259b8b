/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/cli/publish_command.h"

#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/periodic.h"
#include "builder/cli/command.h"
#include "builder/publish/publish_time.h"

#define TICK_MS 100

int dx_publish_command_take(const struct dx_options *options, struct dx_publish_options *o,
                            struct dx_error *err)
{
    int rc;

    if (o->root == NULL)
        return dx_fail(err, DX_E_INVALID, "--root ROOT is needed");
    rc = dx_options_operands(options, 0, err);
    if (rc == DX_OK)
        rc = dx_publish_time(&o->now_us, &o->fixed_time, err);
    if (o->threads == 0)
        o->threads = dx_command_cores(DX_PUBLISH_THREADS_MAX);
    return rc;
}

/* ---- the progress line, from the counters of a running publish ---- */

static uint64_t show(void *ctx, bool asked)
{
    struct dx_publish_screen *s = ctx;
    const char *const names[DX_PUBLISH_PHASES] = { "listing", s->scanning, "indexing", "uploading",
                                                   "checking" };
    static const char *const units[DX_PUBLISH_PHASES] = { "rows", "rows", "rows", "files",
                                                          "files" };
    int phase = atomic_load(&s->counters.phase);

    (void)asked;
    if (phase != s->phase)
        dx_progress_phase(&s->progress, names[phase], units[phase],
                          s->totals ? atomic_load(&s->counters.bytes_total) : 0);
    s->phase = phase;
    dx_progress_at(&s->progress, atomic_load(&s->counters.bytes), atomic_load(&s->counters.items));
    return TICK_MS;
}

void dx_publish_screen_open(struct dx_publish_screen *s)
{
    s->phase = -1;
    dx_progress_init(&s->progress, STDERR_FILENO);
    (void)dx_periodic_start(&s->ticker, "progress", 1, show, s, NULL); /* a courtesy */
}

void dx_publish_screen_close(struct dx_publish_screen *s)
{
    dx_periodic_stop(&s->ticker);
    dx_progress_end(&s->progress);
}

int dx_publish_command_end(const char *command, const char *version, bool complete)
{
    if (printf("%s\n", version) >= 0 && fflush(stdout) == 0)
        return complete ? DX_EXIT_DONE : DX_EXIT_REFUSED;
    (void)dx_line_print(stderr, "domaindex %s: version %s is published, but standard output failed",
                        command, version);
    return DX_EXIT_REFUSED;
}
