/* SPDX-License-Identifier: Apache-2.0
 * What is in the lake beside the current version: no damage, but to be known.
 */
#include "builder/check/verify.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"
#include "builder/lake/lake_snapshot.h"
#include "format/version/manifest.h"

#define NOTE_MAX 1024

static void say(const struct dx_verify *w, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void say(const struct dx_verify *w, const char *fmt, ...)
{
    char text[NOTE_MAX];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    w->options->note(w->options->ctx, text);
}

static void say_new(const struct dx_verify *w, const struct dx_lake_membership *n)
{
    for (size_t i = 0; i < n->list.count; i++)
        if (n->naming[i] == DX_LAKE_NEW) {
            say(w,
                "%zu lake file%s in no version: the next publish takes what it can read; first: %s",
                n->new_count, dx_plural(n->new_count), n->list.file[i].path);
            return;
        }
}

static void say_unknown(const struct dx_verify *w, const struct dx_lake_membership *n)
{
    if (n->unknown_count > 0)
        say(w,
            "%zu lake file%s of datasets that are not in registry.json, which no version takes; "
            "first: %s",
            n->unknown_count, dx_plural(n->unknown_count), n->list.file[n->unknown_first].path);
}

static void say_missing(const struct dx_verify *w, const struct dx_manifest_version *current,
                        const struct dx_lake_membership *n)
{
    if (current->missing_files == 0)
        return;
    say(w,
        "the version lacks %llu lake file%s by permission (publish --allow-missing); still not "
        "there: %zu%s%s",
        (unsigned long long)current->missing_files, dx_plural(current->missing_files),
        n->lacked.count, n->lacked.count > 0 ? ", first: " : ", and the next publish takes them",
        n->lacked.count > 0 ? n->lacked.file[0].path : "");
}

static void say_left_out(const struct dx_verify *w, const struct dx_manifest_version *current)
{
    if (current->rows_left_out > 0)
        say(w,
            "the version leaves out faulty rows of foreign lake files (publish --foreign-rows "
            "skip): %llu",
            (unsigned long long)current->rows_left_out);
}

void dx_verify_lake_notes(const struct dx_verify *w, const struct dx_manifest_version *current)
{
    struct dx_lake_snapshot now = DX_LAKE_SNAPSHOT_INIT;
    struct dx_error why = DX_ERROR_INIT;

    if (w->options->note == NULL || (!w->root.in_place && w->root.store == NULL))
        return;
    say_left_out(w, current);
    if (dx_lake_snapshot_open(&now, &w->root, &why) < 0) {
        say(w, "which files the lake has beside the version cannot be found out: %s", why.text);
        return;
    }
    say_new(w, &now.named);
    say_unknown(w, &now.named);
    say_missing(w, current, &now.named);
    if (now.named.unlisted_count > 0)
        say(w, "the store's listing lacks %zu lake file%s that can be read",
            now.named.unlisted_count, dx_plural(now.named.unlisted_count));
    dx_lake_snapshot_close(&now);
}
