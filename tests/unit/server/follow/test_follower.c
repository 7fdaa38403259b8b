/* SPDX-License-Identifier: Apache-2.0
 * What a follower logs: news, a failure when its words change or when it was asked for, and the
 * first success after one; and at which pace it looks.
 */
#include "server/follow/follower.h"
#include "tests/support/fail.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures;

/* What the looks find, one after the other: news, nothing, or a failure by its letter. A look behind the last one, which may
 * come before the follower is stopped, finds what the last one found, but no news again. */
struct plan {
    const char *finds;
    atomic_int looks;
};

static int look(void *of, bool asked, struct dx_error *err)
{
    struct plan *p = of;
    int n = atomic_load(&p->looks);
    bool is_over = p->finds[n] == '\0';
    char c = p->finds[is_over ? n - 1 : n];

    (void)asked;
    atomic_store(&p->looks, is_over ? n : n + 1);
    return c == 'n' ? !is_over : c == '.' ? 0 : dx_fail(err, DX_E_IO, "why %c", c);
}

static int describe(void *of, int rc, char text[DX_WATCHED_TEXT])
{
    const struct plan *p = of;
    int n = atomic_load(&p->looks);

    (void)snprintf(text, DX_WATCHED_TEXT, rc < 0 ? "failed" : "fine");
    return rc < 0 ? (p->finds[n - 1] == 'q' ? -1 : 2) : 0;
}

static const struct dx_watched thing = { "thing", 2, look, describe };

static bool looked(const struct plan *p, int times)
{
    for (int i = 0; i < 60000 && atomic_load(&p->looks) < times; i++)
        (void)usleep(1000);
    return atomic_load(&p->looks) == times;
}

/* Takes standard error; out: the lines' texts behind the level, each with a '|'. */
static void follow(const char *finds, bool by_asking, char *out, size_t size)
{
    struct plan plan = { .finds = finds };
    struct dx_follower *f = NULL;
    struct dx_error err = DX_ERROR_INIT;
    char line[1000];
    FILE *lines = tmpfile();
    int before = dup(STDERR_FILENO);
    int rc;

    (void)dup2(fileno(lines), STDERR_FILENO);
    if (by_asking)
        rc = dx_follower_start(&f, &thing, &plan, true, 0, &err);
    else if (finds[0] == 'n')
        rc = dx_follower_start(&f, &thing, &plan, false, 3600 * 1000, &err);
    else
        rc = dx_follower_start_each(&f, &thing, &plan, 1, 1, &err);
    for (int i = 0; by_asking && i < (int)strlen(finds); i++) {
        dx_follower_ask(f);
        if (!looked(&plan, i + 1))
            FAIL("%s: not looked when asked", finds);
    }
    if (rc < 0 || !looked(&plan, (int)strlen(finds)) || !dx_follower_stop(&f) || f != NULL)
        FAIL("%s: %d looks, %s", finds, plan.looks, err.text);
    (void)dup2(before, STDERR_FILENO);
    (void)close(before);
    rewind(lines);
    out[0] = '\0';
    while (fgets(line, sizeof line, lines) != NULL) {
        const char *at = strstr(line, "thing: ");

        line[strcspn(line, "\n")] = '\0';
        (void)snprintf(out + strlen(out), size - strlen(out), "%s|",
                       at == NULL ? line : at + strlen("thing: "));
    }
    (void)fclose(lines);
}

static const struct {
    const char *finds;
    bool by_asking;
    const char *lines;
} rows[] = {
    { "n..n", false, "fine|fine|" },
    { "....", false, "" },
    { "aaa", false, "failed: why a|" },
    { "aab.a..", false, "failed: why a|failed: why b|fine|failed: why a|fine|" },
    { ".qq.", false, "fine|" }, /* not worth a line, but its end is */
    { "aa", true, "failed: why a|failed: why a|" },
    { ".", true, "" },
    { "n", true, "fine|" },
};

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char lines[2000];

        follow(rows[i].finds, rows[i].by_asking, lines, sizeof lines);
        if (strcmp(lines, rows[i].lines) != 0)
            FAIL("%s: '%s', not '%s'", rows[i].finds, lines, rows[i].lines);
    }
    return failures > 0;
}
